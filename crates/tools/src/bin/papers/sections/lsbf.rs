//! The LSBF with each of its schemes.

use crate::report::{Report, cell, rate};
use lsbf_tools::experiments::lsbf::{Accepted, SHAPES, Scheme, acceptance, smallest_ratio};
use lsbf_tools::plot::{Axis, Mark, Plot, Series};

const FILTERS: usize = 20;
const QUERIES: usize = 5_000;
const DISTANCES: [f64; 13] = [0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0, 32.0];
/// The distances that the tables show.
const SHOWN: [f64; 7] = [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0];

pub fn write(report: &mut Report) {
    report.add("## Locality-sensitive Bloom filter: the effect of each scheme");
    report.add(
        "The paper reports no rates, so that its schemes are compared with theory only: the acceptance of a vector by \
         the distance of its nearest member, in units of R. 10000 members of 20 dimensions, uniform in a cube of side \
         10^9 R; 40000 bits per table (a fill of 0.22); a verification filter of 8 hashes and optimal size (a rate of \
         0.0039); 20 filters with 5000 queries each. A neighbour of a table is its tuple with one of the M buckets \
         shifted by one.",
    );
    for (shape, (name, title)) in SHAPES.into_iter().zip([
        ("lsbf-acceptance-7-10", "L = 7, M = 10, width 100 R"),
        ("lsbf-acceptance-4-4", "L = 4, M = 4, width 20 R"),
    ]) {
        let found: Vec<Vec<Accepted>> = Scheme::ALL
            .into_iter()
            .map(|scheme| acceptance(shape, scheme, &DISTANCES, FILTERS, QUERIES, &report.progress(scheme.name())))
            .collect();
        report.add(&format!("### {title}"));
        report.add("Theory / measured, and the largest deviation of the row:");
        let rows: Vec<_> = (0..DISTANCES.len()).filter(|&i| SHOWN.contains(&DISTANCES[i])).collect();
        let rows: Vec<_> = rows.into_iter().map(|i| row(report, DISTANCES[i], &found, i)).collect();
        let head: Vec<&str> = ["distance"].into_iter().chain(Scheme::ALL.map(Scheme::name)).chain(["dev."]).collect();
        report.table(&head, &rows);
        report.plot(name, &figure(title, &found));
    }
    ratios(report);
}

fn row(report: &mut Report, distance: f64, found: &[Vec<Accepted>], i: usize) -> Vec<String> {
    let mut row = vec![format!("{distance} R")];
    let mut worst: f64 = 0.0;
    for scheme in found {
        let Accepted { count, predicted, .. } = scheme[i];
        let deviation = count.deviation(predicted);
        report.deviation("LSBF, all schemes", deviation);
        worst = if deviation.abs() > worst.abs() { deviation } else { worst };
        row.push(format!("{} / {}", rate(predicted), rate(count.rate())));
    }
    row.push(format!("{worst:+.1}"));
    row
}

fn figure(title: &'static str, found: &[Vec<Accepted>]) -> Plot {
    let mut series = Vec::new();
    for ((colour, scheme), accepted) in Scheme::ALL.into_iter().enumerate().zip(found).rev() {
        let theory = accepted.iter().map(|a| (a.distance, a.predicted)).collect();
        let measured = accepted.iter().map(|a| (a.distance, a.count.rate())).collect();
        series.push(Series::new(format!("{}, theory", scheme.name()), colour, Mark::Line, theory));
        series.push(Series::new("measured", colour, Mark::Dots, measured));
    }
    Plot { title, x: Axis::log("distance / R", 0.25, 32.0), y: Axis::linear("accepted", 0.0, 1.0), series }
}

fn ratios(report: &mut Report) {
    report.add("### Smallest ratio of far to near");
    report.add(
        "The smallest far / near with at most 5 % false negatives and 1 % false positives, over all L up to 16, M up \
         to 16 and widths, at the same fill, with the rates of that shape (theory / measured). An AND over L x M \
         hashes cannot distinguish closer distances; voting can (DSBF, ILBF).",
    );
    let mut rows = Vec::new();
    for scheme in Scheme::ALL {
        let (shape, far) = smallest_ratio(scheme);
        let found = acceptance(shape, scheme, &[1.0, far], FILTERS, QUERIES, &report.progress(scheme.name()));
        let rates = |theory: f64, measured: f64| format!("{} / {}", rate(theory), rate(measured));
        rows.push(vec![
            cell(scheme.name()),
            format!("{far:.0}"),
            format!("L {}, M {}, width {:.0} R", shape.tables, shape.hashes, shape.width),
            rates(1.0 - found[0].predicted, 1.0 - found[0].count.rate()),
            rates(found[1].predicted, found[1].count.rate()),
        ]);
    }
    report.table(&["scheme", "far / near", "shape", "FN at near", "FP at far"], &rows);
}
