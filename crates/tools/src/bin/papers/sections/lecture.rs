//! The amplification table of the lecture.

use crate::report::{Report, cell, rate};
use lsbf_tools::experiments::lecture::{FIGURE, amplified, and_or, or_and};
use lsbf_tools::plot::{Axis, Mark, Plot, Series};

const PAIRS: usize = 200_000;

pub fn write(report: &mut Report) {
    report.add("## Amplification (the lecture's Figure 1)");
    report.add(
        "A 4-way AND followed by a 4-way OR, 1 - (1 - p^4)^4, and the reverse, (1 - (1 - p)^4)^4. Measured with 200000 \
         pairs of strings that agree in a fraction p of their bits, each pair with four tables of four sampled bits. \
         AND-OR requires a table in which all bits are equal, OR-AND an equal bit in every table.",
    );
    let mut rows = Vec::new();
    let (mut ands, mut ors) = (Vec::new(), Vec::new());
    for (p, lecture_and, lecture_or) in FIGURE {
        let (first, second) = amplified(p, PAIRS, &report.progress("amplification"));
        let mut row = vec![cell(p)];
        for (lecture, theory, measured) in [(lecture_and, and_or(p), first), (lecture_or, or_and(p), second)] {
            let deviation = report.deviation("amplification", measured.deviation(theory));
            row.extend([format!("{lecture:.4}"), format!("{theory:.4}"), rate(measured.rate()), deviation]);
        }
        ands.push((p, first.rate()));
        ors.push((p, second.rate()));
        rows.push(row);
    }
    let head = ["p", "AND-OR lecture", "theory", "measured", "dev.", "OR-AND lecture", "theory", "measured", "dev."];
    report.table(&head, &rows);
    let curve = |p: fn(f64) -> f64| (0..=100).map(|i| (f64::from(i) / 100.0, p(f64::from(i) / 100.0))).collect();
    report.plot(
        "lecture-amplification",
        &Plot {
            title: "Amplification of p",
            x: Axis::linear("p of one hash", 0.0, 1.0),
            y: Axis::linear("p of the combination", 0.0, 1.0),
            series: vec![
                Series::new("OR of 4, AND of 4, theory", 1, Mark::Line, curve(or_and)),
                Series::new("OR of 4, AND of 4, measured", 1, Mark::Dots, ors),
                Series::new("AND of 4, OR of 4, theory", 0, Mark::Line, curve(and_or)),
                Series::new("AND of 4, OR of 4, measured", 0, Mark::Dots, ands),
                Series::new("one hash", 6, Mark::Dashed, vec![(0.0, 0.0), (1.0, 1.0)]),
            ],
        },
    );
}
