//! The parts of `make quality` that are not SQL: members, queries with their exact distances, and the page of the
//! results.
//!
//! ```text
//! quality sets                                 one line per set: name, column type, metric, near, file of real rows
//! quality members SET ROWS [FILE.npy]          rows (integer, vector or bit) in COPY's binary format
//! quality queries SET ROWS FAR [FILE.npy]      queries (integer, kind, distance of the nearest member, vector or bit)
//! quality report FIGURES OUT                   reads the measurements, writes OUT/quality.md and its plots
//! ```

mod figures;
mod nearest;
mod report;
mod rows;
mod sets;

use std::io::{Error, Result};

fn usage() -> Error {
    Error::other("see crates/tools/src/bin/quality/main.rs for the usage")
}

fn number<T: std::str::FromStr>(word: Option<&str>) -> Result<T> {
    word.and_then(|w| w.parse().ok()).ok_or_else(usage)
}

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let word = |n: usize| words.get(n).map(String::as_str);
    let set = || sets::find(word(1).ok_or_else(usage)?).ok_or_else(usage);
    match word(0) {
        Some("sets") => {
            sets::list();
            Ok(())
        }
        Some("members") => set()?.write_members(number(word(2))?, word(3)),
        Some("queries") => set()?.write_queries(number(word(2))?, number(word(3))?, word(4)),
        Some("report") => report::write(word(1).ok_or_else(usage)?.as_ref(), word(2).ok_or_else(usage)?.as_ref()),
        _ => Err(usage()),
    }
}
