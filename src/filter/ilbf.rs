//! Integer-granularity locality-sensitive Bloom filter: m small Bloom filters, k projections that choose among them,
//! and one id a member, written into the k chosen ones. A query ORs the Blooms around each projection and counts, slot
//! by slot, how many of the k know it (Qian and others, section II).
//!
//! Centred windows (the default) read the Blooms whose bucket meets [y - theta w/2, y + theta w/2], which allows every
//! real theta. Aligned blocks are the paper's.

use super::bits::{Body, BodyMut};
use super::count;
use super::params::{Kind, Params, shown};
use crate::error::{Error, Result};
use crate::hash::mix::{mix, reduce};
use crate::hash::{Buckets, floor};
use crate::limits;
use crate::pause::pause;

const MAX_WORDS: usize = limits::MAX_SLOTS as usize / 64;
/// Bits of a counter: up to 255 tables.
const PLANES: usize = 8;

/// What a query needs besides its buckets; kept between rows.
pub struct Scratch {
    /// Where the first Bloom starts that a query reads for each projection, and how many it reads.
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
fn slots(params: &Params, id: u64, out: &mut [u64; limits::MAX_BLOOM_HASHES as usize]) -> usize {
    let (wanted, mut found, mut draw) = (params.bloom_hashes as usize, 0, 0);
    while found < wanted {
        let slot = reduce(mix(id, draw), u64::from(params.slots));
        draw += 1;
        if !out[..found].contains(&slot) {
            out[found] = slot;
            found += 1;
        }
    }
    found
}

/// Where the Bloom of each projection starts, all on their way into the cache.
pub fn starts(params: &Params, buckets: &Buckets, body: &(impl Body + ?Sized), out: &mut Vec<u64>) {
    out.clear();
    out.extend(buckets.values.iter().map(|&bucket| {
        let start = modulo(bucket, i64::from(params.blooms)) as u64 * u64::from(params.slots);
        body.prefetch((start / 64) as usize);
        start
    }));
}

/// Writes a member's id into its k Blooms; returns how many bits were new and by how much the squares grew.
pub fn add(params: &Params, starts: &[u64], id: u64, body: &mut (impl BodyMut + ?Sized)) -> (u64, u64) {
    let mut own = [0; limits::MAX_BLOOM_HASHES as usize];
    let found = slots(params, id, &mut own);
    let own = &own[..found];
    let (mut new, mut squares) = (0, 0);
    for &start in starts {
        let before = ones(params, body, start);
        let added: u64 = own.iter().map(|slot| body.set(start + slot)).sum();
        new += added;
        squares += added * (2 * before + added);
    }
    (new, squares)
}

/// Sets one bit; whether it was new, and by how much the squares grew.
pub fn set(params: &Params, at: u64, body: &mut (impl BodyMut + ?Sized)) -> (u64, u64) {
    let before = ones(params, body, at - at % u64::from(params.slots));
    let new = body.set(at);
    (new, new * (2 * before + 1))
}

/// Bits set in one Bloom.
fn ones(params: &Params, body: &(impl Body + ?Sized), start: u64) -> u64 {
    let first = (start / 64) as usize;
    let words = (first..first + params.slots.div_ceil(64) as usize).map(|at| body.word(at));
    words.map(|word| u64::from((word >> (start % 64) & mask(params)).count_ones())).sum()
}

/// Sum over all Blooms of their bits set, squared; 0 for other kinds. The words are those of whole Blooms.
pub fn squares(params: &Params, words: &[u64]) -> u64 {
    if params.kind == Kind::Ilbf { count::squares(words, params.slots) } else { 0 }
}

/// The Bloom of a bucket; most buckets lie within 0..blooms, and the division is for the others.
#[inline(always)]
fn modulo(bucket: i64, blooms: i64) -> i64 {
    if (0..blooms).contains(&bucket) { bucket } else { bucket.rem_euclid(blooms) }
}

/// What a query reads around a projection at theta.
struct Window {
    blooms: i64,
    /// The paper's blocks, of so many buckets.
    aligned: Option<i64>,
    /// Half of theta: whole buckets, and the rest.
    whole: i64,
    rest: f64,
}

impl Window {
    fn new(params: &Params, theta: f64) -> Window {
        let half = theta / 2.0;
        let whole = floor(half);
        Window {
            blooms: i64::from(params.blooms),
            aligned: params.aligned.then_some(theta as i64),
            whole,
            rest: half - whole as f64,
        }
    }

    /// The first Bloom and the number of Blooms, for a projection that lies `inside` its bucket.
    #[inline(always)]
    fn around(&self, bucket: i64, inside: f64) -> (u64, u64) {
        let own = modulo(bucket, self.blooms);
        if let Some(width) = self.aligned {
            let first = own - own % width;
            return (first as u64, width.min(self.blooms - first) as u64);
        }
        let below = self.whole + i64::from(inside < self.rest);
        let above = self.whole + i64::from(inside + self.rest >= 1.0);
        (modulo(own - below, self.blooms) as u64, (below + 1 + above).min(self.blooms) as u64)
    }
}

/// Aligned blocks are defined for whole theta only.
pub fn check_theta(params: &Params, theta: f64) -> Result<()> {
    if params.aligned && theta.fract() != 0.0 {
        return Err(Error::parameter(format!("theta must be a whole number for aligned blooms, not {}", shown(theta)))
            .with_hint("Build the filter without blooms_aligned to ask for any theta."));
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
    let window = Window::new(params, theta);
    scratch.windows.clear();
    scratch.windows.extend(buckets.values.iter().zip(&buckets.positions).map(|(&bucket, &inside)| {
        let (first, count) = window.around(bucket, inside);
        let start = first * u64::from(params.slots);
        body.prefetch((start / 64) as usize);
        (start, count)
    }));
    // So many planes that they stay in registers, where 31 tables are enough.
    match params.tables {
        ..32 => agreeing::<5>(params, body, scratch),
        _ => agreeing::<PLANES>(params, body, scratch),
    }
}

fn agreeing<const USED: usize>(params: &Params, body: &(impl Body + ?Sized), scratch: &mut Scratch) -> u32 {
    let words = params.slots.div_ceil(64) as usize;
    if words == 1 {
        let planes = [tally::<USED>(params, body, &scratch.windows, 0)];
        return kth_largest(&planes, &mut [0], &mut [!0], params.bloom_hashes);
    }
    let Scratch { windows, planes, above, equal } = scratch;
    let kept = planes.as_flattened_mut().as_chunks_mut::<USED>().0[..words].iter_mut().enumerate();
    kept.for_each(|(word, planes)| {
        // Wide windows of many words take seconds.
        pause();
        *planes = tally(params, body, windows, word);
    });
    above[..words].fill(0);
    equal[..words].fill(!0);
    let planes = &planes.as_flattened().as_chunks::<USED>().0[..words];
    kth_largest(planes, &mut above[..words], &mut equal[..words], params.bloom_hashes)
}

/// Counts, slot by slot in one word, the projections that know the slot: bit `i` of all counters is in plane `i`.
#[inline(always)]
fn tally<const USED: usize>(
    params: &Params,
    body: &(impl Body + ?Sized),
    windows: &[(u64, u64)],
    word: usize,
) -> [u64; USED] {
    let slots = u64::from(params.slots);
    let mask = mask(params);
    let mut planes = [0; USED];
    for &(start, count) in windows {
        let (mut at, mut carry) = (start, 0);
        for _ in 0..count {
            carry |= body.word((at / 64) as usize + word) >> (at % 64);
            at += slots;
            at = if at == params.bits { 0 } else { at };
        }
        carry &= mask;
        for plane in &mut planes {
            (*plane, carry) = (*plane ^ carry, *plane & carry);
        }
    }
    planes
}

/// The bits of a word that belong to one Bloom.
#[inline(always)]
fn mask(params: &Params) -> u64 {
    if params.slots >= 64 { !0 } else { (1 << params.slots) - 1 }
}

/// Finds the value bit by bit, highest first: a bit is set if at least k' counters reach the value with it. `above` are
/// the counters that are larger for sure, none at first, `equal` those that agree so far, all at first.
#[inline(always)]
fn kth_largest<const USED: usize>(planes: &[[u64; USED]], above: &mut [u64], equal: &mut [u64], k: u32) -> u32 {
    let mut value = 0;
    for bit in (0..USED).rev() {
        let counters = planes.iter().zip(&*above).zip(&*equal);
        let reach: u32 = counters.map(|((planes, above), equal)| (above | equal & planes[bit]).count_ones()).sum();
        let take = reach >= k;
        for ((planes, above), equal) in planes.iter().zip(&mut *above).zip(&mut *equal) {
            let plane = planes[bit];
            if take {
                *equal &= plane;
            } else {
                *above |= *equal & plane;
                *equal &= !plane;
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
            let mut planes = [[0; 5]; 2];
            for (slot, &count) in counts.iter().enumerate() {
                for (bit, plane) in planes[slot / 64].iter_mut().enumerate() {
                    *plane |= u64::from(count >> bit & 1) << (slot % 64);
                }
            }
            state = mix(state, round);
            let k = (state % 20 + 1) as u32;
            let mut sorted = counts.clone();
            sorted.sort_unstable_by(|a, b| b.cmp(a));
            assert_eq!(kth_largest(&planes, &mut [0; 2], &mut [!0; 2], k), sorted[k as usize - 1]);
        }
    }
}
