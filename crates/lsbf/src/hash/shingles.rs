//! Shingles: a document as the set of its hashed runs of n characters or words.

use crate::error::{Error, Result};
use crate::interrupt;
use crate::limits;
use crate::memory;
use std::iter::once;
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
    let (spaced, n) = match unit {
        Unit::Characters => (spaced(text, char::is_whitespace)?, n as usize),
        Unit::Words => (spaced(text, |c| !c.is_alphanumeric())?, n as usize),
    };
    if spaced.is_empty() {
        return Ok(Vec::new());
    }
    let bytes = &spaced[..];
    let mut set = Set::default();
    // Units that begin where the one before ends, and units with a space between them.
    match unit {
        Unit::Characters if bytes.is_ascii() => set.add(bytes.len(), bytes.windows(n.min(bytes.len())))?,
        Unit::Characters => set.add(bytes.len(), runs(bytes, n, 0, |byte| byte & 0xc0 != 0x80))?,
        Unit::Words => set.add(bytes.len(), runs(bytes, n, 1, |byte| byte == b' '))?,
    }
    set.sorted()
}

/// The parts of a text between separators, with one space between them.
fn spaced(text: &str, is_separator: impl Fn(char) -> bool) -> Result<Vec<u8>> {
    let mut spaced = Vec::new();
    memory::reserve(&mut spaced, text.len() + 1)?;
    if !text.is_ascii() {
        for (at, part) in text.split(is_separator).filter(|part| !part.is_empty()).enumerate() {
            if at.is_multiple_of(STEP) {
                interrupt::check();
            }
            spaced.extend_from_slice(part.as_bytes());
            spaced.push(b' ');
        }
        spaced.pop();
        return Ok(spaced);
    }
    // ASCII, as the mask says, so that the compiler leaves out other tests.
    let separated = |byte: u8| if is_separator((byte & 0x7f) as char) { b' ' } else { byte };
    spaced.extend(text.bytes().map(separated));
    let (mut end, mut after_separator) = (0, true);
    for at in 0..spaced.len() {
        // Without branches, which would be mispredicted at the ends of words.
        let byte = spaced[at];
        let separates = byte == b' ';
        spaced[end] = byte;
        end += usize::from(!(separates & after_separator));
        after_separator = separates;
    }
    spaced.truncate(end - usize::from(end > 0 && after_separator));
    Ok(spaced)
}

/// All runs of `n` units, or the whole text if it has fewer. Between two units is a gap of `gap` bytes, the first of which is
/// recognized by `after`.
fn runs(text: &[u8], n: usize, gap: usize, after: impl Fn(u8) -> bool + Copy) -> impl Iterator<Item = &[u8]> {
    let gaps = move || (1..text.len()).filter(move |&at| after(text[at]));
    let starts = once(0).chain(gaps().map(move |at| at + gap));
    let ends = gaps().skip(n - 1).chain(once(text.len()));
    starts.zip(ends).map(|(start, end)| &text[start..end])
}

/// A set of hashes, in memory that is bounded by the largest set and not by the length of the text.
#[derive(Default)]
struct Set {
    hashes: Vec<i64>,
    /// The number of hashes that are sorted.
    sorted: usize,
}

impl Set {
    /// Adds shingles, of which there are at most `most`.
    fn add<'a>(&mut self, most: usize, shingles: impl Iterator<Item = &'a [u8]>) -> Result<()> {
        let mut hashes = shingles.map(hashed);
        loop {
            interrupt::check();
            if self.hashes.len() - self.sorted >= BLOCK {
                self.sort()?;
            }
            let before = self.hashes.len();
            memory::grow(&mut self.hashes, STEP.min(most))?;
            self.hashes.extend(hashes.by_ref().take(STEP));
            if self.hashes.len() - before < STEP {
                return Ok(());
            }
        }
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

fn hashed(bytes: &[u8]) -> i64 {
    xxh3_64(bytes) as i64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::rng::Stream;
    use std::collections::BTreeSet;

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

    /// Shingles by their definition.
    fn plain(text: &str, n: usize, unit: Unit) -> Vec<i64> {
        let (units, gap): (Vec<String>, &str) = match unit {
            Unit::Characters => {
                let spaced = text.split_whitespace().collect::<Vec<_>>().join(" ");
                (spaced.chars().map(String::from).collect(), "")
            }
            Unit::Words => {
                let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
                (words.map(String::from).collect(), " ")
            }
        };
        let runs = if units.is_empty() { Vec::new() } else { units.windows(n.min(units.len())).collect() };
        let hashes: BTreeSet<i64> = runs.iter().map(|run| hashed(run.join(gap).as_bytes())).collect();
        hashes.into_iter().collect()
    }

    #[test]
    fn shingles_of_random_texts_are_those_of_the_definition() {
        let pieces = [
            "a",
            "b",
            "Z",
            "7",
            "word",
            " ",
            " ",
            "  ",
            "\n",
            "\t \r\n",
            "\u{b}\u{c}",
            "\u{1c}",
            "\0",
            "\u{7f}",
            ",",
            "_",
            "-",
            "@",
            "[",
            "`",
            "{",
            "/",
            ":",
            "é",
            "ß",
            "Ω",
            "日本",
            "e\u{301}",
            "\u{85}",
            "\u{a0}",
            "\u{2009}",
            "\u{3000}",
            "\u{200b}",
            "🦀",
            "²",
        ];
        let ascii = pieces.iter().filter(|piece| piece.is_ascii()).count();
        let mut stream = Stream::new(1, 1);
        for trial in 0..4000 {
            let from = if trial % 2 == 0 { ascii } else { pieces.len() } as u64;
            let text: String = (0..stream.below(30)).map(|_| pieces[stream.below(from) as usize]).collect();
            for n in [1, 2, 3, 5, 9, 100] {
                for unit in [Unit::Characters, Unit::Words] {
                    assert_eq!(
                        shingles(&text, n, unit).unwrap(),
                        plain(&text, n as usize, unit),
                        "{text:?} {n} {unit:?}"
                    );
                }
            }
        }
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
