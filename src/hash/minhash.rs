//! MinHash for the Jaccard distance: a hash is the least of the set's elements under a random order.

use super::Buckets;
use super::mix::mix;
use super::rng::Stream;
use crate::error::{Error, Result};
use crate::limits;
use crate::vector::Vector;

/// `tables x hashes` random orders, each named by a word.
pub struct MinHash {
    orders: Vec<u64>,
}

const NUMBER: u64 = 1;

/// The hash of an integer element.
#[inline]
pub fn number_element(value: i64) -> u64 {
    mix(NUMBER, value as u64)
}

/// The hash of a text element. Text that is an integer as PostgreSQL prints it counts as that integer, so that
/// `'{1,2}'`, `ARRAY[1,2]` and `ARRAY['1','2']` are the same set.
pub fn text_element(text: &str) -> u64 {
    match text.parse::<i64>() {
        Ok(value) if text.len() < 20 + 1 && is_canonical(text) => number_element(value),
        _ => xxhash_rust::xxh3::xxh3_64(text.as_bytes()),
    }
}

fn is_canonical(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    !text.starts_with('+') && (digits == "0" && text == "0" || !digits.starts_with('0'))
}

/// The set a bit string stands for: the numbers of its ones, from 0.
fn ones(bytes: &[u8]) -> impl Iterator<Item = u64> {
    let set = bytes.iter().enumerate().filter(|(_, byte)| **byte != 0);
    set.flat_map(|(at, &byte)| {
        let bits = (0..8).filter(move |bit| byte << bit & 0x80 != 0);
        bits.map(move |bit| number_element((at * 8 + bit) as i64))
    })
}

fn not_a_set(vector: &Vector) -> Error {
    Error::data(format!("{} is not a set", vector.type_name()))
}

/// The elements of a set, hashed.
pub fn elements(vector: &Vector) -> Result<Vec<u64>> {
    match vector {
        Vector::Ints(ints) => Ok(ints.iter().map(|&i| number_element(i64::from(i))).collect()),
        Vector::BigInts(ints) => Ok(ints.iter().map(|&i| number_element(i)).collect()),
        Vector::Hashed(hashes) => Ok(hashes.to_vec()),
        Vector::Bits { bytes, .. } | Vector::Bytes(bytes) => Ok(ones(bytes).collect()),
        other => Err(not_a_set(other)),
    }
}

impl MinHash {
    pub fn new(seed: u64, tables: usize, hashes: usize) -> Self {
        let mut orders = Vec::with_capacity(tables * hashes);
        for table in 0..tables {
            let mut stream = Stream::new(seed, table as u64);
            orders.extend((0..hashes).map(|_| stream.word()));
        }
        MinHash { orders }
    }

    pub fn hash(&self, vector: &Vector, out: &mut Buckets) -> Result<()> {
        match vector {
            Vector::Ints(ints) => self.minima(ints.len(), |i| number_element(i64::from(ints[i])), out),
            Vector::BigInts(ints) => self.minima(ints.len(), |i| number_element(ints[i]), out),
            Vector::Hashed(hashes) => self.minima(hashes.len(), |i| hashes[i], out),
            Vector::Bits { bytes, .. } | Vector::Bytes(bytes) => {
                let mut found = std::mem::take(&mut out.ones);
                found.clear();
                found.extend(ones(bytes));
                let result = self.minima(found.len(), |i| found[i], out);
                out.ones = found;
                result
            }
            other => Err(not_a_set(other)),
        }
    }

    fn minima(&self, len: usize, element: impl Fn(usize) -> u64, out: &mut Buckets) -> Result<()> {
        if len == 0 {
            return Err(Error::empty_set());
        }
        let most = limits::MAX_SET.min(limits::MAX_SET_WORK / self.orders.len());
        if len > most {
            let functions = self.orders.len();
            return Err(Error::too_large(format!(
                "set of {len} elements, the limit is {most} with {functions} hashes"
            )));
        }
        out.values.fill(-1);
        for i in 0..len {
            let element = element(i);
            for (value, &order) in out.values.iter_mut().zip(&self.orders) {
                *value = (*value as u64).min(mix(order, element)) as i64;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_as_text_are_numbers() {
        for n in [0, 1, -1, 42, i64::MIN, i64::MAX] {
            assert_eq!(text_element(&n.to_string()), number_element(n));
        }
        for text in ["01", "-0", "+1", " 1", "9223372036854775808", ""] {
            assert_eq!(text_element(text), xxhash_rust::xxh3::xxh3_64(text.as_bytes()), "{text}");
        }
    }
}
