//! Exact distances of bit strings, strings and sets, to compare what a filter lets pass.

use crate::error::{Error, Result};
use crate::interrupt;
use crate::memory;
use crate::mix::mix;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::OnceLock;

/// The number of positions at which two strings of one length differ.
pub fn differing<T: PartialEq>(a: &[T], b: &[T]) -> Result<u64> {
    check_lengths("elements", a.len(), b.len())?;
    Ok(a.iter().zip(b).filter(|(a, b)| a != b).count() as u64)
}

/// The number of bits that differ in two bit strings of `len` bits, the rest of the last byte being 0.
pub fn differing_bits((a, a_len): (&[u8], usize), (b, b_len): (&[u8], usize)) -> Result<u64> {
    check_lengths("bits", a_len, b_len)?;
    Ok(ones_of(a, b, |a, b| a ^ b))
}

/// The number of characters that differ in two texts.
pub fn differing_characters(a: &str, b: &str) -> Result<u64> {
    if a.is_ascii() && b.is_ascii() {
        check_lengths("characters", a.len(), b.len())?;
        return differing(a.as_bytes(), b.as_bytes());
    }
    check_lengths("characters", a.chars().count(), b.chars().count())?;
    Ok(a.chars().zip(b.chars()).filter(|(a, b)| a != b).count() as u64)
}

fn check_lengths(what: &str, a: usize, b: usize) -> Result<()> {
    if a != b {
        return Err(Error::data(format!("different numbers of {what}: {a} and {b}")));
    }
    Ok(())
}

/// The number of ones of all words of two byte strings; the shorter one is padded with zeros.
fn ones_of(a: &[u8], b: &[u8], join: impl Fn(u64, u64) -> u64) -> u64 {
    let word = |bytes: &[u8], at: usize| match bytes.get(at..at + 8) {
        Some(word) => u64::from_ne_bytes(word.try_into().expect("eight bytes")),
        None => {
            let rest = bytes.get(at..).unwrap_or_default();
            let mut word = [0; 8];
            word[..rest.len()].copy_from_slice(rest);
            u64::from_ne_bytes(word)
        }
    };
    (0..a.len().max(b.len())).step_by(8).map(|at| u64::from(join(word(a, at), word(b, at)).count_ones())).sum()
}

/// The Jaccard distance of the sets of ones of two bit strings.
pub fn jaccard_of_bits(a: &[u8], b: &[u8]) -> f64 {
    jaccard(ones_of(a, b, |a, b| a & b), ones_of(a, b, |a, b| a | b))
}

/// 1 - common / all. An empty set is at distance 1 from every set, as it has nothing in common with any.
fn jaccard(common: u64, all: u64) -> f64 {
    if common == 0 { 1.0 } else { (all - common) as f64 / all as f64 }
}

/// An element of a set.
pub trait Element: Eq {
    /// A hash, given a random number.
    fn hash(&self, random: u64) -> u64;
}

impl Element for i32 {
    #[inline]
    fn hash(&self, random: u64) -> u64 {
        mix(random, *self as u64)
    }
}

impl Element for i64 {
    #[inline]
    fn hash(&self, random: u64) -> u64 {
        mix(random, *self as u64)
    }
}

impl Element for &str {
    #[inline]
    fn hash(&self, random: u64) -> u64 {
        xxhash_rust::xxh3::xxh3_64_with_seed(self.as_bytes(), random)
    }
}

/// A number that others cannot guess, so that nobody can choose elements whose places in a table are equal.
fn random() -> u64 {
    static RANDOM: OnceLock<u64> = OnceLock::new();
    *RANDOM.get_or_init(|| RandomState::new().build_hasher().finish())
}

/// The Jaccard distance of two sets of numbers. Sets in ascending order, as [`crate::hash::shingles`] returns them, are merged.
pub fn jaccard_of_numbers<T: Element + Ord + Copy>(a: &[T], b: &[T]) -> Result<f64> {
    let is_sorted = |set: &[T]| set.windows(2).fold(true, |all, pair| all & (pair[0] < pair[1]));
    if !is_sorted(a) || !is_sorted(b) {
        return jaccard_of_sets(a, b);
    }
    let common = common_of_sorted(a, b);
    Ok(jaccard(common, (a.len() + b.len()) as u64 - common))
}

/// Elements of a set in ascending order that are compared together, in the lanes of registers.
const BLOCK: usize = 4;

/// The number of common elements of two sets in ascending order.
fn common_of_sorted<T: Ord + Copy>(a: &[T], b: &[T]) -> u64 {
    let (mut i, mut j, mut common) = (0, 0, 0);
    // Each element of a block with each of the other set's block. Then the block that ends first is done with.
    while let (Some(x), Some(y)) = (a[i..].first_chunk::<BLOCK>(), b[j..].first_chunk::<BLOCK>()) {
        let mut found = [false; BLOCK];
        for y in y {
            for (found, x) in found.iter_mut().zip(x) {
                *found |= x == y;
            }
        }
        common += found.into_iter().map(u64::from).sum::<u64>();
        let order = x[BLOCK - 1].cmp(&y[BLOCK - 1]);
        i += BLOCK * usize::from(order.is_le());
        j += BLOCK * usize::from(order.is_ge());
    }
    while i < a.len() && j < b.len() {
        // Without branches, which would be mispredicted.
        let order = a[i].cmp(&b[j]);
        common += u64::from(order.is_eq());
        i += usize::from(order.is_le());
        j += usize::from(order.is_ge());
    }
    common
}

/// A place of a table of elements: nothing, or one more than the number of an element, and whether it is in both sets.
const EMPTY: u32 = 0;
const COMMON: u32 = 1 << 31;
/// Places of a table that is on the stack.
const SMALL: usize = 512;
/// Elements of large sets.
const MANY: usize = 1 << 20;
/// Elements between checks for interrupts.
const BETWEEN_CHECKS: usize = 1 << 12;

/// The Jaccard distance of two sets. Elements may be repeated, in any order.
pub fn jaccard_of_sets<T: Element>(a: &[T], b: &[T]) -> Result<f64> {
    let count = a.len() + b.len();
    if count >= COMMON as usize / 2 {
        return Err(Error::too_large(format!(
            "sets of {count} elements together exceed the limit of {}",
            COMMON / 2 - 1
        )));
    }
    // Most places stay empty, so that branches are predicted; of large sets, only half, to save memory.
    let places = (if count < MANY { 4 * count } else { 3 * count / 2 }).next_power_of_two().max(SMALL);
    let mut small = [EMPTY; SMALL];
    let mut large = Vec::new();
    if places > SMALL {
        memory::reserve(&mut large, places)?;
        while large.len() < places {
            interrupt::check();
            large.resize(places.min(large.len() + MANY), EMPTY);
        }
    }
    let table = if places > SMALL { &mut large[..] } else { &mut small[..] };
    let random = random();
    let (mut all, mut common) = (0, 0);
    for (at, element) in a.iter().chain(b).enumerate() {
        if at % BETWEEN_CHECKS == BETWEEN_CHECKS - 1 {
            interrupt::check();
        }
        let mut place = element.hash(random) as usize & (places - 1);
        loop {
            let found = table[place];
            if found == EMPTY {
                table[place] = at as u32 + 1;
                all += 1;
                break;
            }
            let other = (found & !COMMON) as usize - 1;
            let is_in_a = other < a.len();
            let equal = if is_in_a { &a[other] } else { &b[other - a.len()] };
            if element == equal {
                if is_in_a && at >= a.len() && found & COMMON == 0 {
                    table[place] |= COMMON;
                    common += 1;
                }
                break;
            }
            place = (place + 1) & (places - 1);
        }
    }
    Ok(jaccard(common, all))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::rng::Stream;
    use std::collections::HashSet;

    #[test]
    fn positions_that_differ_are_counted() {
        assert_eq!(differing(&[1, 2, 3], &[1, 5, 3]), Ok(1));
        assert_eq!(differing::<i32>(&[], &[]), Ok(0));
        assert_eq!(differing_characters("café", "cafe"), Ok(1));
        assert_eq!(differing_characters("müll", "mühe"), Ok(2));
        assert_eq!(differing_characters("abc", "abd"), Ok(1));
        let bytes: Vec<u8> = (0..=20).collect();
        let zeros = vec![0; bytes.len()];
        let ones: u32 = bytes.iter().map(|byte| byte.count_ones()).sum();
        assert_eq!(differing_bits((&bytes, 168), (&zeros, 168)), Ok(u64::from(ones)));
        for error in [differing(&[1], &[1, 2]), differing_characters("é", "ee"), differing_bits((&[0], 8), (&[0], 7))]
        {
            assert!(error.unwrap_err().message.starts_with("different numbers of "));
        }
    }

    #[test]
    fn sets_are_compared_exactly() {
        let mut s = Stream::new(1, 1);
        for size in [0, 1, 5, 43, 127, 128, 129, 300, 5000] {
            for range in [1, 10, 100, 10_000] {
                let mut set = || -> Vec<i64> { (0..s.below(size + 1)).map(|_| s.below(range) as i64 - 5).collect() };
                let (a, b) = (set(), set());
                let (x, y): (HashSet<_>, HashSet<_>) = (a.iter().collect(), b.iter().collect());
                let (common, all) = (x.intersection(&y).count() as f64, x.union(&y).count() as f64);
                let expected = if common == 0.0 { 1.0 } else { (all - common) / all };
                assert_eq!(jaccard_of_sets(&a, &b), Ok(expected), "{a:?} {b:?}");
                let sorted = |set: &HashSet<&i64>| {
                    let mut set: Vec<i64> = set.iter().map(|&&i| i).collect();
                    set.sort_unstable();
                    set
                };
                let (p, q) = (sorted(&x), sorted(&y));
                for (a, b) in [(&a, &b), (&p, &q), (&p, &b)] {
                    assert_eq!(jaccard_of_numbers(a, b), Ok(expected), "{a:?} {b:?}");
                }
                let narrow = |set: &[i64]| -> Vec<i32> { set.iter().map(|&i| i as i32).collect() };
                assert_eq!(jaccard_of_sets(&narrow(&a), &narrow(&b)), Ok(expected));
                let texts = |set: &[i64]| -> Vec<String> { set.iter().map(|i| i.to_string()).collect() };
                let (p, q) = (texts(&a), texts(&b));
                fn views(texts: &[String]) -> Vec<&str> {
                    texts.iter().map(|text| text.as_str()).collect()
                }
                assert_eq!(jaccard_of_sets(&views(&p), &views(&q)), Ok(expected));
                let bits = |set: &[i64]| {
                    let mut bytes = vec![0u8; 1252];
                    set.iter().for_each(|&i| bytes[(i + 5) as usize / 8] |= 1 << ((i + 5) % 8));
                    bytes
                };
                assert_eq!(jaccard_of_bits(&bits(&a), &bits(&b)), expected);
            }
        }
        assert_eq!(jaccard_of_bits(&[255], &[255, 0, 255]), 0.5);
        assert_eq!(jaccard_of_bits(&[], &[]), 1.0);
    }
}
