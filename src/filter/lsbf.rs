//! Locality-sensitive Bloom filter: L partitions that must all know the query, a verification filter that knows which
//! positions belong together, and the active overflow that tries the buckets next door (Hua and others, section 3).

use super::bits::{self, Body};
use super::params::Params;
use crate::hash::mix::mix;
use crate::hash::probe::{RANKS, Source, Walk};
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
pub fn add(params: &Params, positions: &[u64], body: &mut [u64]) -> u64 {
    let new: u64 = positions.iter().map(|&at| bits::set(body, at)).sum();
    if params.verify_bits == 0 {
        return new;
    }
    new + verification(params, positions).map(|at| bits::set(body, at)).sum::<u64>()
}

/// How many buckets the overflow looks to either side: t grows with theta.
pub fn steps(params: &Params, theta: f64) -> u32 {
    (f64::from(params.overflow) * theta).min(f64::from(crate::limits::MAX_OVERFLOW)) as u32
}

/// The answer, with an overflow of `steps` buckets. `own` are the query's positions, put back where they are changed.
pub fn member(
    params: &Params,
    hasher: &Hasher,
    buckets: &mut Buckets,
    own: &mut [u64],
    walk: &mut Walk,
    body: &(impl Body + ?Sized),
    steps: u32,
) -> bool {
    let mut misses = own.iter().enumerate().filter(|&(_, &at)| !bits::get(body, at));
    let (first, second) = (misses.next(), misses.next());
    match (first, second) {
        (None, _) if verified(params, own, body) => true,
        (_, Some(_)) => false,
        (Some((table, _)), None) => replaced(params, hasher, buckets, own, walk, body, table, steps),
        // All bits are set, but not by one member: a foreign bit may hide the one miss.
        (None, _) if params.robust => {
            (0..params.tables as usize).any(|table| replaced(params, hasher, buckets, own, walk, body, table, steps))
        }
        (None, _) => false,
    }
}

/// Whether a neighbour of one table completes a member.
fn replaced(
    params: &Params,
    hasher: &Hasher,
    buckets: &mut Buckets,
    own: &mut [u64],
    walk: &mut Walk,
    body: &(impl Body + ?Sized),
    table: usize,
    steps: u32,
) -> bool {
    let partition = params.partition();
    let at = own[table];
    for &single in walk.singles(params.hashes as usize, &hasher.of_table(table, 2 * steps as usize, buckets)) {
        let word = hasher.of_table(table, RANKS, buckets).word(single);
        let key = hasher.shifted_key(table, single.hash(), word, buckets);
        own[table] = table as u64 * partition + hasher.position(table, key, partition);
        if bits::get(body, own[table]) && verified(params, own, body) {
            own[table] = at;
            return true;
        }
    }
    own[table] = at;
    false
}
