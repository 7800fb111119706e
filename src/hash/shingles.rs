//! Documents as sets: every run of n characters or words, hashed.

use crate::error::{Error, Result};
use crate::limits;
use crate::memory;
use xxhash_rust::xxh3::xxh3_64;

/// What a shingle is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    Characters,
    Words,
}

impl Unit {
    pub fn parse(name: &str) -> Result<Unit> {
        match name.to_ascii_lowercase().as_str() {
            "character" => Ok(Unit::Characters),
            "word" => Ok(Unit::Words),
            _ => {
                Err(Error::parameter(format!("unknown unit \"{name}\"")).with_hint("The units are character and word."))
            }
        }
    }
}

/// Units of a shingle at most.
const MOST_UNITS: i64 = 100;
/// What a byte of text takes while it is hashed: its copy, where it starts, its hash, each in a list that doubles.
const BYTES: usize = 32;

/// The hashes of all runs of `n` units, in ascending order, each once. Spaces count as one space each run of them, and not
/// at the ends; words are runs of letters and digits. A text of fewer units is one shingle, one without any none.
pub fn shingles(text: &str, n: i64, unit: Unit) -> Result<Vec<i64>> {
    if !(1..=MOST_UNITS).contains(&n) {
        return Err(Error::parameter(format!("n must be between 1 and {MOST_UNITS}, not {n}")));
    }
    if text.len() > limits::MAX_TEXT {
        return Err(Error::too_large(format!("text of {} bytes, the limit is {}", text.len(), limits::MAX_TEXT)));
    }
    memory::check_room(text.len() * BYTES)?;
    let mut hashes = match unit {
        Unit::Characters => characters(text, n as usize),
        Unit::Words => words(text, n as usize),
    };
    hashes.sort_unstable();
    hashes.dedup();
    if hashes.len() > limits::MAX_SET {
        return Err(Error::too_large(format!("{} shingles, the limit is {}", hashes.len(), limits::MAX_SET)));
    }
    Ok(hashes)
}

fn characters(text: &str, n: usize) -> Vec<i64> {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let starts: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
    match starts.len() {
        1 => Vec::new(),
        count if count <= n => vec![hashed(text.as_bytes())],
        _ => starts.windows(n + 1).map(|run| hashed(&text.as_bytes()[run[0]..run[n]])).collect(),
    }
}

fn words(text: &str, n: usize) -> Vec<i64> {
    let words: Vec<&str> = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let run = |words: &[&str]| hashed(words.join(" ").as_bytes());
    match words.len() {
        0 => Vec::new(),
        count if count < n => vec![run(&words)],
        _ => words.windows(n).map(run).collect(),
    }
}

fn hashed(bytes: &[u8]) -> i64 {
    xxh3_64(bytes) as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_hashed_once_each() {
        let made = |text: &str, n: i64, unit: Unit| shingles(text, n, unit).unwrap();
        let mut expected: Vec<i64> = ["abc", "bca", "cab"].map(|run| hashed(run.as_bytes())).to_vec();
        expected.sort_unstable();
        assert_eq!(made("abcabcab", 3, Unit::Characters), expected);
        assert_eq!(made("  a\n b ", 3, Unit::Characters), [hashed(b"a b")]);
        assert_eq!(made("the cat, the cat", 2, Unit::Words).len(), 2);
        assert_eq!(made("dünn", 2, Unit::Characters).len(), 3);
        assert_eq!(made("ab", 5, Unit::Characters), [hashed(b"ab")]);
        assert_eq!(made("one", 3, Unit::Words), [hashed(b"one")]);
        assert!(made(" \t", 3, Unit::Characters).is_empty() && made("?!", 3, Unit::Words).is_empty());
        assert!(shingles("a", 0, Unit::Words).is_err() && shingles("a", 101, Unit::Words).is_err());
    }
}
