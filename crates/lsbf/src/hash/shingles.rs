//! Shingles: a document as the set of its hashed runs of n characters or words.

use crate::error::{Error, Result};
use crate::interrupt;
use crate::limits;
use crate::memory;
use std::collections::VecDeque;
use xxhash_rust::xxh3::xxh3_64;

/// The unit of shingles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Runs of characters.
    Characters,
    /// Runs of words.
    Words,
}

impl Unit {
    /// The unit with this name in SQL.
    pub fn parse(name: &str) -> Result<Unit> {
        match name.to_ascii_lowercase().as_str() {
            "character" => Ok(Unit::Characters),
            "word" => Ok(Unit::Words),
            _ => Err(Error::parameter(format!("unrecognized unit \"{name}\""))
                .with_hint("Valid units are character and word.")),
        }
    }
}

/// The maximum number of units per shingle.
const MAX_UNITS: i64 = 100;
/// The number of unsorted hashes after which they are sorted and deduplicated.
const BLOCK: usize = limits::MAX_SET;
/// The number of hashes after which interrupts are checked.
const STEP: usize = 1 << 14;

/// The distinct hashes of all runs of `n` units, in ascending order. Runs of white space count as one space, and white
/// space at the ends is ignored; words are runs of letters and digits. A text of fewer than `n` units is a single
/// shingle, and one without units has none.
pub fn shingles(text: &str, n: i64, unit: Unit) -> Result<Vec<i64>> {
    if !(1..=MAX_UNITS).contains(&n) {
        return Err(Error::parameter(format!("n must be between 1 and {MAX_UNITS}, not {n}")));
    }
    if text.len() > limits::MAX_TEXT {
        return Err(Error::too_large(format!(
            "text of {} bytes exceeds the limit of {}",
            text.len(),
            limits::MAX_TEXT
        )));
    }
    let mut set = Set::default();
    match unit {
        Unit::Characters => characters(text, n as usize, &mut set)?,
        Unit::Words => words(text, n as usize, &mut set)?,
    }
    set.sorted()
}

/// A set of hashes, in memory that is bounded by the largest set and not by the length of the text.
#[derive(Default)]
struct Set {
    hashes: Vec<i64>,
    /// The number of hashes that are sorted.
    sorted: usize,
}

impl Set {
    fn add(&mut self, shingle: &[u8]) -> Result<()> {
        if self.hashes.len() - self.sorted >= BLOCK {
            self.sort()?;
        }
        if self.hashes.len().is_multiple_of(STEP) {
            interrupt::check();
            memory::grow(&mut self.hashes, STEP)?;
        }
        self.hashes.push(hashed(shingle));
        Ok(())
    }

    fn sort(&mut self) -> Result<()> {
        self.hashes.sort_unstable();
        self.hashes.dedup();
        self.sorted = self.hashes.len();
        match self.sorted > limits::MAX_SET {
            true => Err(Error::too_large(format!("text has more than {} distinct shingles", limits::MAX_SET))),
            false => Ok(()),
        }
    }

    fn sorted(mut self) -> Result<Vec<i64>> {
        self.sort()?;
        Ok(self.hashes)
    }
}

fn characters(text: &str, n: usize, set: &mut Set) -> Result<()> {
    let mut spaced = String::new();
    for (at, word) in text.split_whitespace().enumerate() {
        if at.is_multiple_of(STEP) {
            interrupt::check();
        }
        memory::grow_text(&mut spaced, word.len() + 1)?;
        if at > 0 {
            spaced.push(' ');
        }
        spaced.push_str(word);
    }
    let bytes = spaced.as_bytes();
    // The starts and ends of all runs of n characters.
    let mut starts = spaced.char_indices().map(|(at, _)| at);
    let ends = spaced.char_indices().map(|(at, c)| at + c.len_utf8()).skip(n - 1);
    let mut any = false;
    for end in ends {
        any = true;
        set.add(&bytes[starts.next().unwrap_or(0)..end])?;
    }
    if !any && !bytes.is_empty() {
        set.add(bytes)?;
    }
    Ok(())
}

fn words(text: &str, n: usize, set: &mut Set) -> Result<()> {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let mut run = VecDeque::with_capacity(n);
    let mut shingle = String::new();
    let mut any = false;
    for word in words {
        if run.len() == n {
            run.pop_front();
        }
        run.push_back(word);
        if run.len() == n {
            any = true;
            set.add(joined(&run, &mut shingle)?)?;
        }
    }
    if !any && !run.is_empty() {
        set.add(joined(&run, &mut shingle)?)?;
    }
    Ok(())
}

/// Words joined by spaces, in reused memory.
fn joined<'a>(words: &VecDeque<&str>, out: &'a mut String) -> Result<&'a [u8]> {
    out.clear();
    for (at, word) in words.iter().enumerate() {
        memory::grow_text(out, word.len() + 1)?;
        if at > 0 {
            out.push(' ');
        }
        out.push_str(word);
    }
    Ok(out.as_bytes())
}

fn hashed(bytes: &[u8]) -> i64 {
    xxh3_64(bytes) as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_distinct_run_is_hashed_once() {
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
        assert_eq!(made("abcde", 5, Unit::Characters), [hashed(b"abcde")]);
        assert_eq!(made("abcd", 5, Unit::Characters), [hashed(b"abcd")]);
        assert!(shingles("a", 0, Unit::Words).is_err() && shingles("a", 101, Unit::Words).is_err());
    }

    #[test]
    fn many_runs_are_sorted_in_blocks() {
        // 2.5 million runs of two digits, at most 100 of them distinct.
        let text: String = (0..2_500_000u64).map(|i| char::from(b'0' + (i * i / 7 % 10) as u8)).collect();
        let made = shingles(&text, 2, Unit::Characters).unwrap();
        assert!(made.len() <= 100 && made.is_sorted());
        let different: String = (0..400_000u32).map(|i| format!("{i:06}")).collect();
        let error = shingles(&different, 12, Unit::Characters).unwrap_err();
        assert_eq!(error.message, "text has more than 1048576 distinct shingles");
    }
}
