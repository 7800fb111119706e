//! The keys of tables: a table's tuple of buckets, hashed to one word.

use super::Buckets;
use super::isa::{Isa, Task, run};
use super::path::Path;
use super::rng::Stream;
use crate::mix::{mix, reduce};
use crate::params::{Family, Kind, Params};

/// Computes keys, and keeps those of the last vector.
pub struct Keys {
    path: Path,
    hashes: usize,
    /// Whether the buckets are bits. The tuple itself is then the key, and it is hashed when a position is computed.
    is_binary: bool,
    /// One per table, so that equal tuples in different tables have unrelated keys.
    salts: Vec<u64>,
    /// One per hash if keys are the XOR of hashed buckets, so that another bucket is a single XOR; empty if the buckets
    /// of a key are mixed one after the other.
    hash_salts: Vec<u64>,
    /// One per hash, and one more for an odd number of them, if keys are sums of products of pairs of minima.
    adders: Vec<u32>,
    keys: Vec<u64>,
}

impl Keys {
    /// Draws the salts of a filter.
    pub fn new(params: &Params) -> Keys {
        // Blocks of a key are combined to one hash.
        let hashes = if params.family.has_blocks() { 1 } else { params.hashes as usize };
        let tables = params.tables as usize;
        let mut stream = Stream::new(params.seed, u64::MAX);
        let salts: Vec<u64> = (0..tables).map(|_| stream.word()).collect();
        let of_hash = |at: usize| mix(salts[at / hashes], (at % hashes) as u64);
        let (mut hash_salts, mut adders) = (Vec::new(), Vec::new());
        match (params.kind, params.family) {
            // These have no alternatives.
            (Kind::Probing, Family::MinHash) => {
                let padded = hashes.next_multiple_of(2);
                let adder = |at: usize| mix(salts[at / padded], (at % padded) as u64) as u32;
                adders.extend((0..tables * padded).map(adder));
            }
            (Kind::Probing, _) => hash_salts.extend((0..tables * hashes).map(of_hash)),
            _ => {}
        }
        let path = Path::best();
        Keys { path, hashes, is_binary: params.family.is_binary(), hash_salts, adders, keys: vec![0; tables], salts }
    }

    /// The number of hashes per table.
    pub fn hashes(&self) -> usize {
        self.hashes
    }

    /// The number of tables.
    pub fn tables(&self) -> usize {
        self.salts.len()
    }

    /// Bytes of memory held.
    pub fn bytes(&self) -> usize {
        let words = self.salts.capacity() + self.hash_salts.capacity() + self.keys.capacity();
        words * size_of::<u64>() + self.adders.capacity() * size_of::<u32>()
    }

    /// The keys of the last vector.
    #[inline]
    pub fn all(&self) -> &[u64] {
        &self.keys
    }

    /// Computes the keys of all tables.
    #[inline]
    pub fn make(&mut self, buckets: Buckets) {
        match buckets {
            Buckets::Bits(tuples) => self.keys.copy_from_slice(tuples),
            Buckets::Numbers(minima) if !self.adders.is_empty() => {
                let Keys { hashes, salts, adders, keys, .. } = self;
                run(self.path, Sums { hashes: *hashes, salts, adders, minima, keys });
            }
            Buckets::Numbers(_) if !self.hash_salts.is_empty() => {
                (0..self.tables()).for_each(|table| _ = self.make_one(table, buckets));
            }
            Buckets::Numbers(numbers) => {
                // All tables in the inner loop: their chains of multiplications are independent.
                self.keys.copy_from_slice(&self.salts);
                for hash in 0..self.hashes {
                    let numbers = numbers[hash..].iter().step_by(self.hashes);
                    self.keys.iter_mut().zip(numbers).for_each(|(key, &number)| *key = mix(*key, number as u64));
                }
            }
        }
    }

    /// Computes the key of one table, unless buckets are mixed one after the other.
    #[inline]
    pub fn make_one(&mut self, table: usize, buckets: Buckets) -> u64 {
        let key = match buckets {
            Buckets::Bits(tuples) => tuples[table],
            Buckets::Numbers(minima) if !self.adders.is_empty() => {
                let padded = self.hashes.next_multiple_of(2);
                let minima = &minima[table * self.hashes..][..self.hashes];
                mix(self.salts[table], sum_of_products(minima, &self.adders[table * padded..][..padded]))
            }
            Buckets::Numbers(numbers) => {
                let hashes = table * self.hashes..(table + 1) * self.hashes;
                let pairs = self.hash_salts[hashes.clone()].iter().zip(&numbers[hashes]);
                pairs.fold(self.salts[table], |key, (&salt, &number)| key ^ mix(salt, number as u64))
            }
        };
        self.keys[table] = key;
        key
    }

    /// The word to XOR into a key to replace the bucket of the `at`-th hash by another one; binary buckets are flipped.
    /// Only for keys that are the XOR of hashed buckets.
    #[inline]
    pub fn exchange(&self, at: usize, buckets: Buckets, other: impl FnOnce(i64) -> i64) -> u64 {
        match buckets {
            Buckets::Bits(_) => 1 << (self.hashes - 1 - at % self.hashes),
            Buckets::Numbers(numbers) => {
                let (salt, own) = (self.hash_salts[at], numbers[at]);
                mix(salt, own as u64) ^ mix(salt, other(own) as u64)
            }
        }
    }

    /// The key of a table with the bucket of one hash replaced, for keys whose buckets are mixed one after the other.
    pub fn exchanged(&self, table: usize, hash: usize, buckets: Buckets, other: impl Fn(i64) -> i64) -> u64 {
        match buckets {
            Buckets::Bits(tuples) => tuples[table] ^ 1 << (self.hashes - 1 - hash),
            Buckets::Numbers(numbers) => {
                let tuple = numbers[table * self.hashes..][..self.hashes].iter().enumerate();
                tuple.fold(self.salts[table], |key, (at, &number)| {
                    mix(key, if at == hash { other(number) } else { number } as u64)
                })
            }
        }
    }

    /// The position of a key in a partition of `bits` bits.
    #[inline]
    pub fn position(&self, table: usize, key: u64, bits: u64) -> u64 {
        if !self.is_binary {
            reduce(key, bits)
        } else if self.hashes < 64 && bits == 1 << self.hashes {
            // V = [m'] of the DSBF paper: the sampled bits are the position "in the natural way".
            key
        } else {
            reduce(mix(self.salts[table], key), bits)
        }
    }

    /// A key whose bits are well mixed, which those of binary buckets are not.
    #[inline]
    pub fn mixed(&self, table: usize, key: u64) -> u64 {
        if self.is_binary { mix(self.salts[table], key) } else { key }
    }
}

/// Keys of minima.
struct Sums<'a> {
    hashes: usize,
    salts: &'a [u64],
    adders: &'a [u32],
    minima: &'a [i64],
    keys: &'a mut [u64],
}

impl Task for Sums<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let adders = self.adders.chunks_exact(self.hashes.next_multiple_of(2));
        let tables = self.minima.chunks_exact(self.hashes).zip(adders);
        for ((key, &salt), (minima, adders)) in self.keys.iter_mut().zip(self.salts).zip(tables) {
            *key = mix(salt, sum_of_products(minima, adders));
        }
    }
}

/// The sum of the products of pairs of minima, to each of which a random number is added, modulo 2^64 (the hash NH): two
/// tuples of minima have the same sum with a probability of 2^-32.
#[inline(always)]
fn sum_of_products(minima: &[i64], adders: &[u32]) -> u64 {
    let word = |minimum: i64, adder: u32| u64::from((minimum as u32).wrapping_add(adder));
    let (pairs, rest) = minima.as_chunks::<2>();
    let mut sum = 0u64;
    for (&[a, b], &[c, d]) in pairs.iter().zip(adders.as_chunks::<2>().0) {
        sum = sum.wrapping_add(word(a, c) * word(b, d));
    }
    match (rest, adders) {
        (&[a], &[.., c, d]) => sum.wrapping_add(word(a, c) * u64::from(d)),
        _ => sum,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::{Metric, Probing};

    /// Keys of minima are as different as random words: of many tuples that differ in one minimum, none have the same key,
    /// and the keys' highest bits, which choose a line, are uniform.
    #[test]
    fn keys_of_minima_are_spread_evenly() {
        const TUPLES: usize = 64_000;
        const LINES: usize = 64;
        for hashes in [1, 2, 3, 10] {
            let probing = Some(Probing { probes: 1, blocks: 0 });
            let params = Params {
                probing,
                hashes,
                tables: 2,
                ..Params::example(Kind::Probing, Metric::Jaccard, Family::MinHash)
            };
            let mut keys = Keys::new(&params);
            let mut minima: Vec<i64> = (0..2 * i64::from(hashes)).map(|at| 1000 + at * at).collect();
            let mut found = std::collections::HashSet::new();
            let mut lines = [0.0; LINES];
            for tuple in 0..TUPLES {
                // Minima of large sets are small numbers.
                minima[tuple % hashes as usize] = 7 * tuple as i64;
                keys.make(Buckets::Numbers(&minima));
                let key = keys.all()[0];
                assert!(found.insert(key), "{hashes} hashes, tuple {tuple}");
                assert_eq!(keys.make_one(0, Buckets::Numbers(&minima)), key);
                lines[reduce(key, LINES as u64) as usize] += 1.0;
            }
            let expected = (TUPLES / LINES) as f64;
            let deviation: f64 = lines.iter().map(|count| (count - expected) * (count - expected) / expected).sum();
            // A chi-square number with 63 degrees of freedom has mean 63 and standard deviation 11.2.
            assert!((deviation - 63.0).abs() < 4.0 * 11.2, "{hashes} hashes: {deviation}");
        }
    }
}
