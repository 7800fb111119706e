//! The parts of `make bench` that are not SQL: rows to load, filters with any number of members, and the scaling study.
//!
//! ```text
//! bench vectors ROWS DIMS [FILE.npy]         rows (integer, vector) in COPY's binary format
//! bench bits ROWS DIMS [FILE.npy]            rows (integer, varbit)
//! bench random ROWS DIMS [SEED]              rows (integer, vector) like the members of the filters below, which have seed 1
//! bench planted ROWS DIMS NEAR               rows (integer, integer, vector): one in 20 is at NEAR from an earlier one
//! bench filter KIND MEMBERS DIMS             one row (text, integer, lsbf): a filter with random members
//! bench member KIND ROWS                     queries a filter ROWS times; with KIND distance, computes distances
//! bench lists                                queries of lists compared with words
//! bench scaling                              writes docs/scaling.md and its plots
//! ```

mod lists;
mod planted;
mod scaling;

use lsbf_tools::copy::Copy;
use lsbf_tools::{data, filters};
use std::io::{Error, Result};

fn usage() -> Error {
    Error::other("see crates/tools/src/bin/bench/main.rs for the usage")
}

fn number(word: Option<&str>) -> Result<usize> {
    word.and_then(|w| w.parse().ok()).ok_or_else(usage)
}

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let word = |n: usize| words.get(n).map(String::as_str);
    match word(0) {
        Some("vectors") => {
            let mut copy = Copy::to_stdout()?;
            data::vectors(number(word(1))?, number(word(2))?, word(3), |id, x| copy.vector(id, x))?;
            copy.end()
        }
        Some("bits") => {
            let mut copy = Copy::to_stdout()?;
            data::bits(number(word(1))?, number(word(2))?, word(3), |id, bytes| copy.bits(id, bytes))?;
            copy.end()
        }
        Some("random") => {
            let (rows, dims) = (number(word(1))?, number(word(2))?);
            let seed = word(3).map_or(Ok(2), |_| number(word(3)))? as u64;
            let (mut copy, mut draw) = (Copy::to_stdout()?, filters::Draw::new(seed, dims));
            (0..rows).try_for_each(|id| copy.vector(id, draw.reals()))?;
            copy.end()
        }
        Some("planted") => {
            let near = word(3).and_then(|w| w.parse().ok()).ok_or_else(usage)?;
            let mut copy = Copy::to_stdout()?;
            planted::rows(number(word(1))?, number(word(2))?, near, |id, source, x| copy.planted(id, source, x))?;
            copy.end()
        }
        Some("filter") => {
            let (kind, members, dims) = (word(1).ok_or_else(usage)?, number(word(2))?, number(word(3))?);
            let (_, filter) = filters::random(kind, members, dims).ok_or_else(usage)?;
            let mut copy = Copy::to_stdout()?;
            copy.filter(kind, members, &filter)?;
            copy.end()
        }
        Some("member") => filters::query(word(1).ok_or_else(usage)?, number(word(2))?).ok_or_else(usage),
        Some("lists") => {
            lists::print();
            Ok(())
        }
        Some("scaling") => scaling::write(),
        _ => Err(usage()),
    }
}
