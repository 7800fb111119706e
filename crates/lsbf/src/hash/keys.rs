//! The keys of tables: a table's tuple of buckets, hashed to one word.

use super::Buckets;
use super::rng::Stream;
use crate::mix::{mix, reduce};
use crate::params::{Kind, Params};

/// Computes keys, and keeps those of the last vector.
pub struct Keys {
    hashes: usize,
    /// Whether the buckets are bits. The tuple itself is then the key, and it is hashed when a position is computed.
    is_binary: bool,
    /// One per table, so that equal tuples in different tables have unrelated keys.
    salts: Vec<u64>,
    /// One per hash if keys are the XOR of hashed buckets, so that another bucket is a single XOR; empty if the buckets
    /// of a key are mixed one after the other.
    hash_salts: Vec<u64>,
    keys: Vec<u64>,
}

impl Keys {
    /// Draws the salts of a filter.
    pub fn new(params: &Params) -> Keys {
        let (tables, hashes) = (params.tables as usize, params.hashes as usize);
        let mut stream = Stream::new(params.seed, u64::MAX);
        let salts: Vec<u64> = (0..tables).map(|_| stream.word()).collect();
        let of_hash = |at: usize| mix(salts[at / hashes], (at % hashes) as u64);
        let hash_salts = match params.kind {
            Kind::Probing => (0..tables * hashes).map(of_hash).collect(),
            _ => Vec::new(),
        };
        Keys { hashes, is_binary: params.family.is_binary(), hash_salts, keys: vec![0; tables], salts }
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
        (self.salts.capacity() + self.hash_salts.capacity() + self.keys.capacity()) * size_of::<u64>()
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

    /// Computes the key of one table, if keys are the XOR of hashed buckets.
    #[inline]
    pub fn make_one(&mut self, table: usize, buckets: Buckets) -> u64 {
        let key = match buckets {
            Buckets::Bits(tuples) => tuples[table],
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
