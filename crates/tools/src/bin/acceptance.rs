//! The plot of `make demo`.
//!
//! ```text
//! acceptance POINTS FILE.svg
//! ```
//!
//! POINTS has three fields a line, tabs between: `measured`, `alone` (no second letter within 15 pixels) or `predicted`; how many
//! pixels differ; the share that passed. scripts/demo.sql writes it.

use lsbf_tools::plot::{Axis, Mark, Plot, Series};
use std::error::Error;

/// The points of one series.
fn points(text: &str, series: &str) -> Result<Vec<(f64, f64)>, Box<dyn Error>> {
    let mut points = Vec::new();
    for line in text.lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        let [name, pixels, share] = fields[..] else { return Err(format!("not three fields: {line}").into()) };
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
        title: "What passes the filter of A-Z, a-z and 0-9",
        x: Axis::linear("pixels between a character and the nearest of these, of 256", 0.0, 32.0),
        y: Axis::linear("share that passes", 0.0, 1.0),
        series: vec![
            Series::new("measured", 0, Mark::Dots, points(&text, "measured")?),
            Series::new("those far from a second one", 2, Mark::Rings, points(&text, "alone")?),
            Series::new("predicted for one near", 1, Mark::Line, points(&text, "predicted")?),
            Series::new("near: 4 pixels", 6, Mark::Dashed, vec![(4.0, 0.0), (4.0, 1.0)]),
        ],
    };
    std::fs::write(to, plot.svg())?;
    Ok(())
}
