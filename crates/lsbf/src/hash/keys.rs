//! The keys of tables: the tuple of a table's buckets as one word.

use super::Buckets;
use super::rng::Stream;
use crate::mix::{mix, reduce};
use crate::params::{Kind, Params};

/// Makes keys, and holds those of the vector hashed last.
pub struct Keys {
    hashes: usize,
    /// Whether the buckets are bits: then the tuple itself is the key, and is mixed where a position is made of it.
    is_binary: bool,
    /// One per table, so that equal tuples in two tables are unrelated.
    salts: Vec<u64>,
    /// One per hash where keys are XORed together from their buckets, so that a changed bucket costs one XOR; empty
    /// where keys are mixed hash by hash.
    hash_salts: Vec<u64>,
    keys: Vec<u64>,
}

impl Keys {
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

    /// The hashes of a table.
    pub fn hashes(&self) -> usize {
        self.hashes
    }

    /// The number of tables.
    pub fn tables(&self) -> usize {
        self.salts.len()
    }

    /// The bytes it holds.
    pub fn bytes(&self) -> usize {
        (self.salts.capacity() + self.hash_salts.capacity() + self.keys.capacity()) * size_of::<u64>()
    }

    /// The keys made last.
    #[inline]
    pub fn all(&self) -> &[u64] {
        &self.keys
    }

    /// Makes the keys of all tables.
    #[inline]
    pub fn make(&mut self, buckets: Buckets) {
        match buckets {
            Buckets::Bits(tuples) => self.keys.copy_from_slice(tuples),
            Buckets::Numbers(_) if !self.hash_salts.is_empty() => {
                (0..self.tables()).for_each(|table| _ = self.make_one(table, buckets));
            }
            Buckets::Numbers(numbers) => {
                // Hash by hash, so that no table's mixing waits for another's.
                self.keys.copy_from_slice(&self.salts);
                for hash in 0..self.hashes {
                    let numbers = numbers[hash..].iter().step_by(self.hashes);
                    self.keys.iter_mut().zip(numbers).for_each(|(key, &number)| *key = mix(*key, number as u64));
                }
            }
        }
    }

    /// Makes the key of one table, where keys are XORed together.
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

    /// What is XORed into a key to exchange the bucket of the `at`-th hash for another one; for binary buckets, to flip
    /// it. Where keys are mixed hash by hash, there is no such word.
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

    /// The key of a table with the bucket of one hash exchanged, where keys are mixed hash by hash.
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

    /// The position that a key has in a partition of `bits` bits.
    #[inline]
    pub fn position(&self, table: usize, key: u64, bits: u64) -> u64 {
        if !self.is_binary {
            reduce(key, bits)
        } else if self.hashes < 64 && bits == 1 << self.hashes {
            // V = [m']: the sampled bits are the position "in the natural way".
            key
        } else {
            reduce(mix(self.salts[table], key), bits)
        }
    }

    /// A key with all of its bits mixed: those of binary buckets are not yet.
    #[inline]
    pub fn mixed(&self, table: usize, key: u64) -> u64 {
        if self.is_binary { mix(self.salts[table], key) } else { key }
    }
}
