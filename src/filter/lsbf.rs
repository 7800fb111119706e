//! Locality-sensitive Bloom filter: L partitions that must all know the query, a verification filter that knows which
//! positions belong together, and the active overflow that tries the buckets next door (Hua and others, section 3).

use super::bits::{self, Body, BodyMut};
use super::params::Params;
use crate::hash::mix::mix;
use crate::hash::probe::{Source, Walk};
use crate::hash::{Buckets, Hasher};

/// The signature of a member: its positions in all partitions, mixed.
fn signature(positions: &[u64]) -> u64 {
    positions.iter().fold(0, |key, &position| mix(key, position))
}

/// The bits of the verification filter that a member has, counted from the start of the body.
fn verification(params: &Params, positions: &[u64]) -> impl Iterator<Item = u64> {
    let start = params.array_words() * 64;
    bits::bloom_positions(signature(positions), params.bloom_hashes, params.verify_bits).map(move |at| start + at)
}

fn verified(params: &Params, positions: &[u64], body: &(impl Body + ?Sized)) -> bool {
    params.verify_bits == 0 || verification(params, positions).all(|at| bits::get(body, at))
}

/// Sets a member's bits; returns how many were new.
pub fn add(params: &Params, positions: &[u64], body: &mut (impl BodyMut + ?Sized)) -> u64 {
    let new: u64 = positions.iter().map(|&at| body.set(at)).sum();
    if params.verify_bits == 0 {
        return new;
    }
    new + verification(params, positions).map(|at| body.set(at)).sum::<u64>()
}

/// How many buckets the overflow looks to either side: t grows with theta.
pub fn steps(params: &Params, theta: f64) -> u32 {
    (f64::from(params.overflow) * theta).min(f64::from(crate::limits::MAX_OVERFLOW)) as u32
}

/// A query that was hashed, with an overflow of `steps` buckets.
pub struct Query<'a> {
    pub params: &'a Params,
    pub hasher: &'a Hasher,
    pub buckets: &'a Buckets,
    pub steps: u32,
}

impl Query<'_> {
    /// The answer. `own` are the query's positions, put back where they are changed.
    pub fn member(&self, own: &mut [u64], walk: &mut Walk, body: &(impl Body + ?Sized)) -> bool {
        let mut misses = own.iter().enumerate().filter(|&(_, &at)| !bits::get(body, at));
        let (first, second) = (misses.next(), misses.next());
        match (first, second) {
            (None, _) if verified(self.params, own, body) => true,
            (_, Some(_)) => false,
            (Some((table, _)), None) => self.replaced(own, walk, body, table),
            // All bits are set, but not by one member: a foreign bit may hide the one miss.
            (None, _) if self.params.robust => {
                (0..self.params.tables as usize).any(|table| self.replaced(own, walk, body, table))
            }
            (None, _) => false,
        }
    }

    /// Whether a neighbour of one table completes a member.
    fn replaced(&self, own: &mut [u64], walk: &mut Walk, body: &(impl Body + ?Sized), table: usize) -> bool {
        let partition = self.params.partition();
        let at = own[table];
        let source = self.hasher.of_table(table, 2 * self.steps as usize, self.buckets);
        let found = walk.singles(self.params.hashes as usize, &source).iter().any(|&single| {
            let key = self.hasher.shifted_key(table, single.hash(), source.word(single), self.buckets);
            own[table] = table as u64 * partition + self.hasher.position(table, key, partition);
            bits::get(body, own[table]) && verified(self.params, own, body)
        });
        own[table] = at;
        found
    }
}
