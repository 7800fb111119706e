//! The plot of `make demo`.
//!
//! ```text
//! acceptance POINTS FILE.svg
//! ```
//!
//! POINTS has three tab-separated fields per line: the series, which is `measured`, `alone` (no second member within 15
//! pixels) or `predicted`; the number of pixels that differ; and the fraction that passed. scripts/demo.sql writes it.

use lsbf_tools::plot::{Axis, Mark, Plot, Series};
use std::error::Error;

/// The points of one series.
fn points(text: &str, series: &str) -> Result<Vec<(f64, f64)>, Box<dyn Error>> {
    let mut points = Vec::new();
    for line in text.lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        let [name, pixels, share] = fields[..] else { return Err(format!("expected three fields: {line}").into()) };
        if name == series {
            points.push((pixels.parse()?, share.parse()?));
        }
    }
    if points.is_empty() { Err(format!("no points of {series}").into()) } else { Ok(points) }
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [from, to] = &arguments[..] else { return Err("usage: acceptance POINTS FILE.svg".into()) };
    let text = std::fs::read_to_string(from)?;
    let plot = Plot {
        title: "Characters that pass a filter of A-Z, a-z and 0-9",
        x: Axis::linear("pixels (of 256) that differ from the nearest member", 0.0, 32.0),
        y: Axis::linear("fraction that passes", 0.0, 1.0),
        series: vec![
            Series::new("measured", 0, Mark::Dots, points(&text, "measured")?),
            Series::new("with only one near member", 2, Mark::Rings, points(&text, "alone")?),
            Series::new("predicted for one member", 1, Mark::Line, points(&text, "predicted")?),
            Series::new("near: 4 pixels", 6, Mark::Dashed, vec![(4.0, 0.0), (4.0, 1.0)]),
        ],
    };
    std::fs::write(to, plot.svg())?;
    Ok(())
}
