//! Integer-granularity locality-sensitive Bloom filter: m small Bloom filters, k projections that choose among them,
//! and one id a member, written into the k chosen ones. A query ORs the Blooms around each projection and counts, slot
//! by slot, how many of the k know it (Qian and others, section II).
//!
//! Centred windows (the default) read the Blooms whose bucket meets [y - theta w/2, y + theta w/2], which allows every
//! real theta. Aligned blocks are the paper's.

use super::params::{Kind, Params, shown};
use crate::error::{Error, Result};
use crate::hash::mix::{mix, reduce};
use crate::hash::{Buckets, floor};

const MAX_WORDS: usize = crate::limits::MAX_SLOTS as usize / 64;
/// Bits of a counter: up to 255 tables.
const PLANES: usize = 8;

/// The counters of a query, one bit of each in a plane; kept between rows.
pub struct Counters {
    planes: [[u64; MAX_WORDS]; PLANES],
    sum: [u64; MAX_WORDS],
    above: [u64; MAX_WORDS],
    equal: [u64; MAX_WORDS],
}

impl Default for Counters {
    fn default() -> Self {
        let none = [0; MAX_WORDS];
        Counters { planes: [none; PLANES], sum: none, above: none, equal: none }
    }
}

/// The k' distinct slots of an id.
fn slots(params: &Params, id: u64, mut visit: impl FnMut(u64)) {
    let mut seen = [0u64; MAX_WORDS];
    let (mut found, mut draw) = (0, 0);
    while found < params.bloom_hashes {
        let slot = reduce(mix(id, draw), u64::from(params.slots));
        draw += 1;
        let (word, bit) = ((slot / 64) as usize, 1 << (slot % 64));
        if seen[word] & bit == 0 {
            seen[word] |= bit;
            found += 1;
            visit(slot);
        }
    }
}

/// Writes a member's id into its k Blooms; returns how many bits were new and by how much the squares grew.
pub fn add(params: &Params, buckets: &Buckets, id: u64, body: &mut [u64]) -> (u64, u64) {
    let (mut new, mut squares) = (0, 0);
    for &bucket in &buckets.values {
        let bloom = modulo(bucket, params.blooms);
        let before = ones(params, body, bloom);
        let mut added = 0;
        slots(params, id, |slot| added += super::bits::set(body, bloom * u64::from(params.slots) + slot));
        new += added;
        squares += added * (2 * before + added);
    }
    (new, squares)
}

/// Bits set in one Bloom.
fn ones(params: &Params, body: &[u64], bloom: u64) -> u64 {
    let mut sum = [0u64; MAX_WORDS];
    let words = (params.slots as usize).div_ceil(64);
    or_bloom(params, body, bloom, &mut sum[..words]);
    sum[..words].iter().map(|w| u64::from(w.count_ones())).sum()
}

/// Sum over all Blooms of their bits set, squared; 0 for other kinds.
pub fn squares(params: &Params, body: &[u64]) -> u64 {
    if params.kind != Kind::Ilbf {
        return 0;
    }
    (0..u64::from(params.blooms)).map(|bloom| ones(params, body, bloom).pow(2)).sum()
}

/// The Bloom of a bucket; a 32-bit division where that does.
#[inline]
fn modulo(bucket: i64, blooms: u32) -> u64 {
    match u32::try_from(bucket) {
        Ok(bucket) => u64::from(bucket % blooms),
        Err(_) => bucket.rem_euclid(i64::from(blooms)) as u64,
    }
}

/// The first bucket and the number of buckets a query reads around one projection.
fn window(params: &Params, bucket: i64, inside: f64, theta: f64) -> (u64, u64) {
    let blooms = i64::from(params.blooms);
    let own = modulo(bucket, params.blooms) as i64;
    if params.aligned {
        let width = theta as i64;
        let first = own - own % width;
        return (first as u64, width.min(blooms - first) as u64);
    }
    let below = floor(inside - theta / 2.0);
    let above = floor(inside + theta / 2.0);
    let count = (above - below + 1).min(blooms);
    // Most windows lie whole within 0..blooms; the division is for the others.
    let first = own + below;
    let first = if first < 0 { first.rem_euclid(blooms) } else { first };
    (first as u64, count as u64)
}

/// Aligned blocks are defined for whole theta only.
pub fn check_theta(params: &Params, theta: f64) -> Result<()> {
    if params.aligned && theta.fract() != 0.0 {
        return Err(Error::parameter(format!("theta must be a whole number for aligned blooms, not {}", shown(theta)))
            .with_hint("build the filter without blooms_aligned to ask for any theta"));
    }
    Ok(())
}

/// The k'-th largest of the counters: how many projections agree on at least k' slots.
pub fn votes(params: &Params, buckets: &Buckets, body: &[u64], theta: f64, counters: &mut Counters) -> u32 {
    let words = (params.slots as usize).div_ceil(64);
    let used = (u32::BITS - params.tables.leading_zeros()) as usize;
    for plane in &mut counters.planes[..used] {
        plane[..words].fill(0);
    }
    for (&bucket, &inside) in buckets.values.iter().zip(&buckets.positions) {
        let sum = &mut counters.sum[..words];
        sum.fill(0);
        let (first, count) = window(params, bucket, inside, theta);
        for i in 0..count {
            let bloom = first + i;
            let bloom = if bloom < u64::from(params.blooms) { bloom } else { bloom - u64::from(params.blooms) };
            or_bloom(params, body, bloom, sum);
        }
        for (word, &bits) in sum.iter().enumerate() {
            let mut carry = bits;
            for plane in &mut counters.planes[..used] {
                let next = plane[word] & carry;
                plane[word] ^= carry;
                carry = next;
            }
        }
    }
    kth_largest(counters, used, words, params.bloom_hashes)
}

#[inline]
fn or_bloom(params: &Params, body: &[u64], bloom: u64, sum: &mut [u64]) {
    if params.slots >= 64 {
        let start = (bloom * u64::from(params.slots) / 64) as usize;
        for (to, from) in sum.iter_mut().zip(&body[start..]) {
            *to |= u64::from_le(*from);
        }
    } else {
        let at = bloom * u64::from(params.slots);
        let mask = (1u64 << params.slots) - 1;
        sum[0] |= u64::from_le(body[(at / 64) as usize]) >> (at % 64) & mask;
    }
}

/// Finds the value bit by bit, highest first: a bit is set if at least k' counters reach the value with it.
fn kth_largest(counters: &mut Counters, used: usize, words: usize, k: u32) -> u32 {
    let Counters { planes, above, equal, .. } = counters;
    above[..words].fill(0);
    equal[..words].fill(!0);
    let mut value = 0;
    for (bit, plane) in planes[..used].iter().enumerate().rev() {
        let reach: u32 = (0..words).map(|w| (above[w] | equal[w] & plane[w]).count_ones()).sum();
        let take = reach >= k;
        for w in 0..words {
            if take {
                equal[w] &= plane[w];
            } else {
                above[w] |= equal[w] & plane[w];
                equal[w] &= !plane[w];
            }
        }
        value |= u32::from(take) << bit;
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kth_largest_agrees_with_sorting() {
        let mut state = 7u64;
        for round in 0..200u64 {
            let counts: Vec<u32> = (0..128).map(|i| (mix(round, i) % 17) as u32).collect();
            let mut counters = Counters::default();
            let planes = &mut counters.planes[..5];
            for (slot, &count) in counts.iter().enumerate() {
                for (bit, plane) in planes.iter_mut().enumerate() {
                    plane[slot / 64] |= u64::from(count >> bit & 1) << (slot % 64);
                }
            }
            state = mix(state, round);
            let k = (state % 20 + 1) as u32;
            let mut sorted = counts.clone();
            sorted.sort_unstable_by(|a, b| b.cmp(a));
            assert_eq!(kth_largest(&mut counters, 5, 2, k), sorted[k as usize - 1]);
        }
    }
}
