//! Locality-sensitive Bloom filter: L partitions that must all know the query, a verification filter that knows which
//! positions belong together, and the active overflow that tries the buckets next door (Hua and others, section 3).

use super::bits;
use super::params::Params;
use crate::hash::mix::mix;
use crate::hash::{Buckets, Hasher};

/// What a query needs besides its buckets; kept between rows.
#[derive(Default)]
pub struct Scratch {
    positions: Vec<u64>,
}

fn positions(params: &Params, hasher: &Hasher, buckets: &Buckets, out: &mut Vec<u64>) {
    let partition = params.partition();
    out.clear();
    for table in 0..params.tables as usize {
        let key = buckets.keys[table];
        out.push(table as u64 * partition + hasher.position(table, key, partition));
    }
}

/// The signature of a member: its positions in all partitions, mixed.
fn signature(positions: &[u64]) -> u64 {
    positions.iter().fold(0, |key, &position| mix(key, position))
}

fn verified(params: &Params, positions: &[u64], body: &[u64]) -> bool {
    if params.verify_bits == 0 {
        return true;
    }
    let verify = &body[params.array_words() as usize..];
    bits::bloom_positions(signature(positions), params.bloom_hashes, params.verify_bits).all(|at| bits::get(verify, at))
}

/// Sets a member's bits; returns how many were new.
pub fn add(params: &Params, hasher: &Hasher, buckets: &Buckets, scratch: &mut Scratch, body: &mut [u64]) -> u64 {
    positions(params, hasher, buckets, &mut scratch.positions);
    let mut new: u64 = scratch.positions.iter().map(|&at| bits::set(body, at)).sum();
    if params.verify_bits > 0 {
        let verify = &mut body[params.array_words() as usize..];
        let key = signature(&scratch.positions);
        new += bits::bloom_positions(key, params.bloom_hashes, params.verify_bits)
            .map(|at| bits::set(verify, at))
            .sum::<u64>();
    }
    new
}

/// The tables that know the query's own position.
pub fn votes(params: &Params, hasher: &Hasher, buckets: &Buckets, scratch: &mut Scratch, body: &[u64]) -> u32 {
    positions(params, hasher, buckets, &mut scratch.positions);
    scratch.positions.iter().map(|&at| u32::from(bits::get(body, at))).sum()
}

/// How many buckets the overflow looks to either side: t grows with theta.
pub fn steps(params: &Params, theta: f64) -> u32 {
    (f64::from(params.overflow) * theta).min(f64::from(crate::limits::MAX_OVERFLOW)) as u32
}

/// The answer, with an overflow of `steps` buckets.
pub fn member(
    params: &Params,
    hasher: &Hasher,
    buckets: &mut Buckets,
    scratch: &mut Scratch,
    body: &[u64],
    steps: u32,
) -> bool {
    positions(params, hasher, buckets, &mut scratch.positions);
    let own = &mut scratch.positions;
    let mut misses = own.iter().enumerate().filter(|&(_, &at)| !bits::get(body, at));
    let (first, second) = (misses.next(), misses.next());
    match (first, second) {
        (None, _) if verified(params, own, body) => true,
        (_, Some(_)) => false,
        (Some((table, _)), None) => replaced(params, hasher, buckets, own, body, table, steps),
        // All bits are set, but not by one member: a foreign bit may hide the one miss.
        (None, _) if params.robust => {
            (0..params.tables as usize).any(|table| replaced(params, hasher, buckets, own, body, table, steps))
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
    body: &[u64],
    table: usize,
    steps: u32,
) -> bool {
    let partition = params.partition();
    let at = own[table];
    for i in 0..hasher.neighbours(table, steps, buckets).len() {
        let key = hasher.shifted_key(table, i, buckets);
        own[table] = table as u64 * partition + hasher.position(table, key, partition);
        if bits::get(body, own[table]) && verified(params, own, body) {
            own[table] = at;
            return true;
        }
    }
    own[table] = at;
    false
}
