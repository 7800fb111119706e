//! Counts, for every slot, the projections that have the slot set in a Bloom around them.
//!
//! Centred windows (the default) read the Blooms whose bucket intersects [y - theta w/2, y + theta w/2], for any real
//! theta. Aligned blocks are those of the paper.

use crate::filter::bits::Body;
use crate::hash::floor;
use crate::interrupt;
use crate::limits;
use crate::params::Params;

const MAX_WORDS: usize = limits::MAX_SLOTS as usize / 64;
/// Bits of a counter: up to 255 tables.
const PLANES: usize = 8;

/// Scratch memory, kept between queries.
pub struct Scratch {
    /// For each projection, the first bit of the first Bloom to read, and the number of Blooms to read.
    windows: Vec<(u64, u64)>,
    /// One counter per slot, bit-sliced: plane i has bit i of 64 counters.
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

/// The Bloom of a bucket. Most buckets are within `0..blooms`, which saves the division.
#[inline(always)]
pub fn modulo(bucket: i64, blooms: i64) -> i64 {
    if (0..blooms).contains(&bucket) { bucket } else { bucket.rem_euclid(blooms) }
}

/// The Blooms to read around a projection.
struct Window {
    blooms: i64,
    /// The number of buckets of an aligned block.
    aligned: Option<i64>,
    /// Half of theta, split into whole buckets and a fraction.
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

    /// The first Bloom and the number of Blooms to read, for a projection at position `fraction` of its bucket.
    #[inline(always)]
    fn around(&self, bucket: i64, fraction: f64) -> (u64, u64) {
        let own = modulo(bucket, self.blooms);
        if let Some(width) = self.aligned {
            let first = own - own % width;
            return (first as u64, width.min(self.blooms - first) as u64);
        }
        let below = self.whole + i64::from(fraction < self.rest);
        let above = self.whole + i64::from(fraction + self.rest >= 1.0);
        (modulo(own - below, self.blooms) as u64, (below + 1 + above).min(self.blooms) as u64)
    }
}

/// The votes of a query: the k'-th largest counter. A projection is given by its bucket and its position within the
/// bucket.
pub fn votes(
    params: &Params,
    projections: impl Iterator<Item = (i64, f64)>,
    body: &(impl Body + ?Sized),
    theta: f64,
    scratch: &mut Scratch,
) -> u32 {
    let window = Window::new(params, theta);
    scratch.windows.clear();
    scratch.windows.extend(projections.map(|(bucket, fraction)| {
        let (first, count) = window.around(bucket, fraction);
        let start = first * u64::from(params.slots);
        body.prefetch((start / 64) as usize);
        (start, count)
    }));
    // Five planes fit into registers and can count up to 31 tables.
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
        // Wide windows with many slots can take seconds.
        interrupt::check();
        *planes = tally(params, body, windows, word);
    });
    above[..words].fill(0);
    equal[..words].fill(!0);
    let planes = &planes.as_flattened().as_chunks::<USED>().0[..words];
    kth_largest(planes, &mut above[..words], &mut equal[..words], params.bloom_hashes)
}

/// Counts, for the 64 slots of one word, the projections that have the slot set. Plane `i` has bit `i` of all counters.
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
        let mut carry = match slots {
            ..=64 => body.any_of(start, count, slots, params.bits),
            // The word of each Bloom.
            _ => {
                let (mut at, mut any) = (start, 0);
                for _ in 0..count {
                    any |= body.word((at / 64) as usize + word);
                    at += slots;
                    at = if at == params.bits { 0 } else { at };
                }
                any
            }
        };
        carry &= mask;
        for plane in &mut planes {
            (*plane, carry) = (*plane ^ carry, *plane & carry);
        }
    }
    planes
}

/// A mask of the bits of a word that belong to one Bloom.
#[inline(always)]
pub fn mask(params: &Params) -> u64 {
    if params.slots >= 64 { !0 } else { (1 << params.slots) - 1 }
}

/// Finds the k-th largest counter bit by bit, most significant first: a bit is set if at least k counters reach the
/// value that has it set. `above` marks the counters known to be larger (initially none), and `equal` those that agree
/// with the bits found so far (initially all).
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
    use crate::mix::mix;

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
