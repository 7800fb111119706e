//! Integer-granularity locality-sensitive Bloom filter: m small Bloom filters, k projections that choose among them,
//! and one id a member, written into the k chosen ones. A query ORs the Blooms around each projection and counts, slot
//! by slot, how many of the k know it (Qian and others, section II).
//!
//! Centred windows (the default) read the Blooms whose bucket meets [y - theta w/2, y + theta w/2], which allows every
//! real theta. Aligned blocks are the paper's.

use super::bits::Body;
use super::params::{Kind, Params, shown};
use crate::error::{Error, Result};
use crate::hash::mix::{mix, reduce};
use crate::hash::{Buckets, floor};

const MAX_WORDS: usize = crate::limits::MAX_SLOTS as usize / 64;
/// Bits of a counter: up to 255 tables.
const PLANES: usize = 8;

/// What a query needs besides its buckets; kept between rows.
pub struct Scratch {
    /// The first Bloom that a query reads for each projection, and how many.
    windows: Vec<(u64, u64)>,
    /// One counter a slot, one bit of each in a plane, word by word.
    planes: [[u64; PLANES]; MAX_WORDS],
    above: [u64; MAX_WORDS],
    equal: [u64; MAX_WORDS],
}

impl Default for Scratch {
    fn default() -> Self {
        let none = [0; MAX_WORDS];
        Scratch { windows: Vec::new(), planes: [[0; PLANES]; MAX_WORDS], above: none, equal: none }
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
    let words = params.slots.div_ceil(64) as usize;
    (0..words).map(|word| u64::from(part(params, body, bloom, word).count_ones())).sum()
}

/// Sum over all Blooms of their bits set, squared; 0 for other kinds.
pub fn squares(params: &Params, body: &[u64]) -> u64 {
    if params.kind != Kind::Ilbf {
        return 0;
    }
    (0..u64::from(params.blooms)).map(|bloom| ones(params, body, bloom).pow(2)).sum()
}

/// The Bloom of a bucket; most buckets lie within 0..blooms, and the division is for the others.
#[inline]
fn modulo(bucket: i64, blooms: u32) -> u64 {
    if (0..i64::from(blooms)).contains(&bucket) { bucket as u64 } else { bucket.rem_euclid(i64::from(blooms)) as u64 }
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
pub fn votes(
    params: &Params,
    buckets: &Buckets,
    body: &(impl Body + ?Sized),
    theta: f64,
    scratch: &mut Scratch,
) -> u32 {
    let words = params.slots.div_ceil(64) as usize;
    let used = (u32::BITS - params.tables.leading_zeros()) as usize;
    scratch.windows.clear();
    for (&bucket, &inside) in buckets.values.iter().zip(&buckets.positions) {
        let window = window(params, bucket, inside, theta);
        body.prefetch((window.0 * u64::from(params.slots) / 64) as usize);
        scratch.windows.push(window);
    }
    for (word, planes) in scratch.planes[..words].iter_mut().enumerate() {
        *planes = count(params, body, &scratch.windows, word, used);
    }
    kth_largest(scratch, used, words, params.bloom_hashes)
}

/// Counts, slot by slot in one word, the projections that know the slot: bit `i` of all counters is in plane `i`.
#[inline(always)]
fn count(
    params: &Params,
    body: &(impl Body + ?Sized),
    windows: &[(u64, u64)],
    word: usize,
    used: usize,
) -> [u64; PLANES] {
    let blooms = u64::from(params.blooms);
    let mut planes = [0; PLANES];
    for &(first, count) in windows {
        let mut carry = 0;
        for bloom in first..first + count {
            let bloom = if bloom < blooms { bloom } else { bloom - blooms };
            carry |= part(params, body, bloom, word);
        }
        for plane in &mut planes[..used] {
            (*plane, carry) = (*plane ^ carry, *plane & carry);
        }
    }
    planes
}

/// A word of a Bloom; all of it where that is less than a word.
#[inline(always)]
fn part(params: &Params, body: &(impl Body + ?Sized), bloom: u64, word: usize) -> u64 {
    let at = bloom * u64::from(params.slots);
    if params.slots >= 64 {
        return body.word((at / 64) as usize + word);
    }
    body.word((at / 64) as usize) >> (at % 64) & ((1 << params.slots) - 1)
}

/// Finds the value bit by bit, highest first: a bit is set if at least k' counters reach the value with it.
fn kth_largest(scratch: &mut Scratch, used: usize, words: usize, k: u32) -> u32 {
    let Scratch { planes, above, equal, .. } = scratch;
    above[..words].fill(0);
    equal[..words].fill(!0);
    let mut value = 0;
    for bit in (0..used).rev() {
        let reach: u32 = (0..words).map(|w| (above[w] | equal[w] & planes[w][bit]).count_ones()).sum();
        let take = reach >= k;
        for w in 0..words {
            let plane = planes[w][bit];
            if take {
                equal[w] &= plane;
            } else {
                above[w] |= equal[w] & plane;
                equal[w] &= !plane;
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
            let mut scratch = Scratch::default();
            for (slot, &count) in counts.iter().enumerate() {
                for (bit, plane) in scratch.planes[slot / 64][..5].iter_mut().enumerate() {
                    *plane |= u64::from(count >> bit & 1) << (slot % 64);
                }
            }
            state = mix(state, round);
            let k = (state % 20 + 1) as u32;
            let mut sorted = counts.clone();
            sorted.sort_unstable_by(|a, b| b.cmp(a));
            assert_eq!(kth_largest(&mut scratch, 5, 2, k), sorted[k as usize - 1]);
        }
    }
}
