//! Table 1 and Figures 1 and 2 of the DSBF paper.

use crate::report::{Report, cell, rate};
use lsbf_tools::experiments::dsbf::{Convention, MAX_TABLES, Masks, Outcome, SETTINGS, Setting, run};
use lsbf_tools::plot::{Axis, Mark, Plot, Series};

const FILTERS: usize = 10;
const QUERIES: usize = 50_000;

pub fn write(report: &mut Report) {
    report.add("## Distance-sensitive Bloom filter: Table 1, Figures 1 and 2");
    report.add(
        "As in the paper: random strings of 65536 bits, 10 filters per setting, and 50000 near and 50000 far queries \
         per filter. A query is a random member in which a fraction epsilon (near) or delta (far) of the bits is \
         chosen and changed. The sampled bits of a table are the position in its partition, so that a partition has \
         2^l' bits. A query passes if at least ceil(t) tables match.",
    );
    report.add(
        "According to the text of the paper, the chosen bits are *flipped*. Its numbers are reproduced if they are \
         *redrawn* instead, so that half of them change and the distances are epsilon/2 and delta/2. For each setting, \
         the first table is for redrawn bits, and the second one for flipped bits, which is what `near` and `far` mean \
         in this library. Theory: B ~ Bin(k, q), q(d) = 1 - (1 - (1-d)^l') (1 - 2^-l')^(n-1). Deviations are in \
         standard errors of 500000 queries.",
    );
    for (setting, names) in SETTINGS.iter().zip([["dsbf-figure-1", "dsbf-true-a"], ["dsbf-figure-2", "dsbf-true-b"]]) {
        let label = if setting.name == "a" { "DSBF (a)" } else { "DSBF (b)" };
        let outcome = run(setting, FILTERS, QUERIES, Masks::Fresh, &report.progress(label));
        report.add(&format!(
            "### ({}) n = {}, epsilon = {}, delta = {}, l' = {}",
            setting.name, setting.members, setting.near, setting.far, setting.hashes
        ));
        table(report, setting, &outcome);
        flipped_table(report, setting, &outcome);
        let titles = match setting.name {
            "a" => ["Figure 1: bits redrawn, n = 1000", "Bits flipped, n = 1000"],
            _ => ["Figure 2: bits redrawn, n = 10000", "Bits flipped, n = 10000"],
        };
        for ((convention, name), title) in Convention::ALL.into_iter().zip(names).zip(titles) {
            report.plot(name, &figure(setting, &outcome, convention, title));
        }
    }
}

fn table(report: &mut Report, setting: &Setting, outcome: &Outcome) {
    let mut rows = Vec::new();
    for (k, paper_positives, paper_negatives) in setting.table {
        let (positives, negatives) = setting.theory(k, Convention::Redrawn);
        let mut row = vec![cell(k), cell(setting.threshold(k))];
        for (paper, theory, measured) in [
            (paper_positives, positives, outcome.positives(Convention::Redrawn, k)),
            (paper_negatives, negatives, outcome.negatives(Convention::Redrawn, k)),
        ] {
            let deviation = report.deviation("DSBF, bits redrawn", measured.deviation(theory));
            row.extend([rate(paper), rate(theory), rate(measured.rate()), deviation]);
        }
        rows.push(row);
    }
    let head = ["k", "ceil(t)", "FP paper", "theory", "measured", "dev.", "FN paper", "theory", "measured", "dev."];
    report.table(&head, &rows);
}

fn flipped_table(report: &mut Report, setting: &Setting, outcome: &Outcome) {
    report.add("The same with flipped bits:");
    let mut rows = Vec::new();
    for (k, ..) in setting.table {
        let (positives, negatives) = setting.theory(k, Convention::Flipped);
        let mut row = vec![cell(k)];
        for (theory, measured) in [
            (positives, outcome.positives(Convention::Flipped, k)),
            (negatives, outcome.negatives(Convention::Flipped, k)),
        ] {
            let deviation = report.deviation("DSBF, bits flipped", measured.deviation(theory));
            row.extend([rate(theory), rate(measured.rate()), deviation]);
        }
        rows.push(row);
    }
    report.table(&["k", "FP theory", "measured", "dev.", "FN theory", "measured", "dev."], &rows);
}

fn figure(setting: &Setting, outcome: &Outcome, convention: Convention, title: &'static str) -> Plot {
    let all = |value: &dyn Fn(usize) -> f64| (1..=MAX_TABLES).map(|k| (k as f64, value(k))).collect::<Vec<_>>();
    let mut series = vec![
        Series::new("false positives, theory", 1, Mark::Line, all(&|k| setting.theory(k, convention).0)),
        Series::new("false positives, measured", 1, Mark::Dots, all(&|k| outcome.positives(convention, k).rate())),
        Series::new("false negatives, theory", 0, Mark::Line, all(&|k| setting.theory(k, convention).1)),
        Series::new("false negatives, measured", 0, Mark::Dots, all(&|k| outcome.negatives(convention, k).rate())),
    ];
    if convention == Convention::Redrawn {
        let paper = |pick: &dyn Fn(&(usize, f64, f64)) -> f64| {
            setting.table.iter().map(|row| (row.0 as f64, pick(row))).collect::<Vec<_>>()
        };
        series.push(Series::new("false positives, paper", 1, Mark::Rings, paper(&|row| row.1)));
        series.push(Series::new("false negatives, paper", 0, Mark::Rings, paper(&|row| row.2)));
        // Draw rings under dots, so that both are visible if they agree.
        series.rotate_right(2);
    }
    Plot { title, x: Axis::linear("tables k", 0.0, MAX_TABLES as f64), y: Axis::log("rate", 1e-6, 1.0), series }
}
