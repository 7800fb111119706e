//! Sets as the hashes of their elements.

use super::Vector;
use crate::error::{Error, Result};
use crate::mix::mix;
use xxhash_rust::xxh3::xxh3_64;

const NUMBER: u64 = 1;

/// The hash of an integer element.
#[inline]
pub fn number_element(value: i64) -> u64 {
    mix(NUMBER, value as u64)
}

/// The hash of a text element. Text that is PostgreSQL's output of an integer is hashed as that integer, so that
/// `'{1,2}'`, `ARRAY[1,2]` and `ARRAY['1','2']` are the same set.
#[inline]
pub fn text_element(text: &str) -> u64 {
    // Most texts are recognized by their first byte.
    match text.as_bytes().first() {
        Some(b'0'..=b'9' | b'-') => digits_element(text),
        _ => xxh3_64(text.as_bytes()),
    }
}

/// The hash of a text element that may be an integer.
fn digits_element(text: &str) -> u64 {
    match text.parse::<i64>() {
        Ok(value) if is_canonical(text) => number_element(value),
        _ => xxh3_64(text.as_bytes()),
    }
}

fn is_canonical(text: &str) -> bool {
    text == "0" || !text.strip_prefix('-').unwrap_or(text).starts_with('0')
}

/// Calls a function with the elements of the set that a bit string represents: the positions of its 1 bits, counted from 0.
#[inline(always)]
pub fn for_each_one(bytes: &[u8], mut one: impl FnMut(usize)) {
    let (words, rest) = bytes.as_chunks::<8>();
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    for (at, word) in words.iter().chain(std::iter::once(&last)).enumerate() {
        let mut word = u64::from_be_bytes(*word);
        while word != 0 {
            let zeros = word.leading_zeros() as usize;
            one(at * 64 + zeros);
            word ^= 1 << (63 - zeros);
        }
    }
}

/// The error for a vector that is not a set.
pub fn not_a_set(vector: &Vector) -> Error {
    Error::data(format!("{} is not a set", vector.type_name()))
}

/// The hashes of the elements of a set.
pub fn elements(vector: &Vector) -> Result<Vec<u64>> {
    match vector {
        Vector::Ints(ints) => Ok(ints.iter().map(|&i| number_element(i64::from(i))).collect()),
        Vector::BigInts(ints) => Ok(ints.iter().map(|&i| number_element(i)).collect()),
        Vector::Hashed(hashes) => Ok(hashes.to_vec()),
        Vector::Bits { bytes, .. } | Vector::Bytes(bytes) => {
            let mut elements = Vec::new();
            for_each_one(bytes, |at| elements.push(number_element(at as i64)));
            Ok(elements)
        }
        other => Err(not_a_set(other)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::rng::Stream;

    #[test]
    fn integers_written_as_text_are_hashed_as_integers() {
        for n in [0, 1, -1, 42, i64::MIN, i64::MAX] {
            assert_eq!(text_element(&n.to_string()), number_element(n));
        }
        for text in
            ["01", "007", "-0", "-007", "+1", " 1", "1 ", "-", "--1", "9223372036854775808", "-9223372036854775809", ""]
        {
            assert_eq!(text_element(text), xxh3_64(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn random_texts_are_hashed_as_integers_only_if_integers_are_printed_so() {
        let pieces = ["0", "1", "7", "9", "00", "-", "+", " ", "a", "é", "٣", ".", "922337203685477580", "_"];
        let mut stream = Stream::new(1, 1);
        for _ in 0..50_000 {
            let text: String =
                (0..stream.below(6)).map(|_| pieces[stream.below(pieces.len() as u64) as usize]).collect();
            let integer = text.parse::<i64>().ok().filter(|value| value.to_string() == text);
            let expected = integer.map_or_else(|| xxh3_64(text.as_bytes()), number_element);
            assert_eq!(text_element(&text), expected, "{text}");
        }
    }
}
