//! Table 1 and Figures 1 and 2 of the DSBF paper.

use crate::report::{Report, cell, rate};
use lsbf_tools::experiments::dsbf::{Convention, MOST, Masks, Outcome, SETTINGS, Setting, run};
use lsbf_tools::plot::{Axis, Mark, Plot, Series};

const FILTERS: usize = 10;
const QUERIES: usize = 50_000;

pub fn write(report: &mut Report) {
    report.say("## Distance-sensitive Bloom filter: Table 1, Figures 1 and 2");
    report.say(
        "As in the paper: random strings of 65536 bits, 10 filters for each setting, and for each 50000 near and 50000 \
         far queries, each made from a random member by choosing an epsilon (delta) share of its bits, all different. \
         Positions are the sampled bits themselves, so that a partition has 2^l' bits. A query passes when at least \
         ceil(t) tables hit.",
    );
    report.say(
        "The paper says that the chosen bits are *flipped*. Its numbers come out when they are *drawn again*, so that \
         half of them change and the distances are epsilon/2 and delta/2. The table shows that reading; the rates for \
         bits that really flip follow, and they are what `near` and `far` mean here. Law: B ~ Bin(k, q), \
         q(d) = 1 - (1 - (1-d)^l') (1 - 2^-l')^(n-1). Deviations are from the law, in standard errors of 500000 \
         queries.",
    );
    for (setting, names) in SETTINGS.iter().zip([["dsbf-figure-1", "dsbf-true-a"], ["dsbf-figure-2", "dsbf-true-b"]]) {
        let label = if setting.name == "a" { "DSBF (a)" } else { "DSBF (b)" };
        let outcome = run(setting, FILTERS, QUERIES, Masks::Fresh, &report.progress(label));
        report.say(&format!(
            "### ({}) n = {}, epsilon = {}, delta = {}, l' = {}",
            setting.name, setting.members, setting.near, setting.far, setting.hashes
        ));
        table(report, setting, &outcome);
        flipped_table(report, setting, &outcome);
        let titles = match setting.name {
            "a" => ["Figure 1: bits drawn again, n = 1000", "Bits flipped, n = 1000"],
            _ => ["Figure 2: bits drawn again, n = 10000", "Bits flipped, n = 10000"],
        };
        for ((convention, name), title) in Convention::ALL.into_iter().zip(names).zip(titles) {
            report.plot(name, &figure(setting, &outcome, convention, title));
        }
    }
}

fn table(report: &mut Report, setting: &Setting, outcome: &Outcome) {
    let mut rows = Vec::new();
    for (k, paper_positives, paper_negatives) in setting.table {
        let (positives, negatives) = setting.law(k, Convention::Redrawn);
        let mut row = vec![cell(k), cell(setting.threshold(k))];
        for (paper, law, ours) in [
            (paper_positives, positives, outcome.positives(Convention::Redrawn, k)),
            (paper_negatives, negatives, outcome.negatives(Convention::Redrawn, k)),
        ] {
            let deviation = report.deviation("DSBF, bits drawn again", ours.deviation(law));
            row.extend([rate(paper), rate(law), rate(ours.rate()), deviation]);
        }
        rows.push(row);
    }
    let head = ["k", "ceil(t)", "FP paper", "law", "ours", "dev.", "FN paper", "law", "ours", "dev."];
    report.table(&head, &rows);
}

fn flipped_table(report: &mut Report, setting: &Setting, outcome: &Outcome) {
    report.say("The same with bits that really flip:");
    let mut rows = Vec::new();
    for (k, ..) in setting.table {
        let (positives, negatives) = setting.law(k, Convention::Flipped);
        let mut row = vec![cell(k)];
        for (law, ours) in [
            (positives, outcome.positives(Convention::Flipped, k)),
            (negatives, outcome.negatives(Convention::Flipped, k)),
        ] {
            let deviation = report.deviation("DSBF, bits flipped", ours.deviation(law));
            row.extend([rate(law), rate(ours.rate()), deviation]);
        }
        rows.push(row);
    }
    report.table(&["k", "FP law", "ours", "dev.", "FN law", "ours", "dev."], &rows);
}

fn figure(setting: &Setting, outcome: &Outcome, convention: Convention, title: &'static str) -> Plot {
    let all = |value: &dyn Fn(usize) -> f64| (1..=MOST).map(|k| (k as f64, value(k))).collect::<Vec<_>>();
    let mut series = vec![
        Series::new("false positives, law", 1, Mark::Line, all(&|k| setting.law(k, convention).0)),
        Series::new("false positives, ours", 1, Mark::Dots, all(&|k| outcome.positives(convention, k).rate())),
        Series::new("false negatives, law", 0, Mark::Line, all(&|k| setting.law(k, convention).1)),
        Series::new("false negatives, ours", 0, Mark::Dots, all(&|k| outcome.negatives(convention, k).rate())),
    ];
    if convention == Convention::Redrawn {
        let paper = |pick: &dyn Fn(&(usize, f64, f64)) -> f64| {
            setting.table.iter().map(|row| (row.0 as f64, pick(row))).collect::<Vec<_>>()
        };
        series.push(Series::new("false positives, paper", 1, Mark::Rings, paper(&|row| row.1)));
        series.push(Series::new("false negatives, paper", 0, Mark::Rings, paper(&|row| row.2)));
        // Rings under dots: both can be seen where they agree.
        series.rotate_right(2);
    }
    Plot { title, x: Axis::linear("tables k", 0.0, MOST as f64), y: Axis::log("rate", 1e-6, 1.0), series }
}
