//! Access to the bits of a filter, which are stored in little-endian words.

use crate::mix::{mix, reduce};
use crate::prefetch::prefetch;

/// Read access to the bits of a filter, in any form.
pub trait Body {
    /// A word in native byte order.
    fn word(&self, at: usize) -> u64;

    /// Prefetches a word.
    fn prefetch(&self, at: usize);

    /// A word and the next one.
    #[inline(always)]
    fn pair(&self, at: usize) -> [u64; 2] {
        [self.word(at), self.word(at + 1)]
    }

    /// Whether a bit is set.
    #[inline(always)]
    fn is_set(&self, at: u64) -> bool {
        self.word((at / 64) as usize) >> (at % 64) & 1 == 1
    }

    /// The 64 bits from a position on, which may be in two words.
    #[inline(always)]
    fn bits(&self, at: u64) -> u64 {
        bits_of(self.pair((at / 64) as usize), at)
    }

    /// Combines `count` groups of `bits` bits each, of which 64 is a multiple, with a bitwise or. The first group starts at
    /// `start`; the group after the one that ends at `end` is the first one of the body.
    #[inline(always)]
    fn any_of(&self, start: u64, count: u64, bits: u64, end: u64) -> u64 {
        let (mut at, mut any) = (start, 0);
        for _ in 0..count {
            any |= self.word((at / 64) as usize) >> (at % 64);
            at += bits;
            at = if at == end { 0 } else { at };
        }
        any
    }

    /// Whether all of these bits of the cache line of eight words at `start` are set.
    #[inline(always)]
    fn all_set(&self, start: usize, places: impl Iterator<Item = u64>) -> bool {
        let bit = |place: u64| self.word(start + (place / 64) as usize) >> (place % 64);
        places.fold(1, |all, place| all & bit(place)) & 1 == 1
    }
}

/// The 64 bits from a position on, in these words.
#[inline(always)]
pub fn bits_of([low, high]: [u64; 2], at: u64) -> u64 {
    let shift = at % 64;
    // Shift in two steps, because a shift by 64 overflows.
    low >> shift | high << 1 << (63 - shift)
}

impl Body for [u64] {
    #[inline(always)]
    fn word(&self, at: usize) -> u64 {
        u64::from_le(self[at])
    }

    #[inline(always)]
    fn pair(&self, at: usize) -> [u64; 2] {
        // One bounds check for both words.
        self[at..at + 2].as_array::<2>().expect("two words").map(u64::from_le)
    }

    #[inline(always)]
    fn prefetch(&self, at: usize) {
        prefetch(self.as_ptr().addr().wrapping_add(at * size_of::<u64>()));
    }

    #[inline(always)]
    fn all_set(&self, start: usize, places: impl Iterator<Item = u64>) -> bool {
        // One bounds check for all bits.
        let line: &[u64; 8] = self[start..start + 8].as_array().expect("eight words");
        let bit = |place: u64| u64::from_le(line[(place / 64 % 8) as usize]) >> (place % 64);
        places.fold(1, |all, place| all & bit(place)) & 1 == 1
    }
}

/// The words of a filter that is stored elsewhere and fetched on demand.
pub trait Fetch {
    /// A word in native byte order.
    fn word(&self, at: usize) -> u64;
}

impl Body for dyn Fetch + '_ {
    fn word(&self, at: usize) -> u64 {
        Fetch::word(self, at)
    }

    fn prefetch(&self, _: usize) {}
}

/// Write access to the bits of a filter.
pub trait BodyMut: Body {
    /// Sets a bit; returns 1 if it was not set before, otherwise 0.
    fn set(&mut self, at: u64) -> u64;
}

impl BodyMut for [u64] {
    #[inline(always)]
    fn set(&mut self, at: u64) -> u64 {
        set_in(&mut self[(at / 64) as usize], at)
    }
}

/// Sets a bit in its stored word; returns 1 if it was not set before, otherwise 0.
#[inline(always)]
pub fn set_in(word: &mut u64, at: u64) -> u64 {
    let bit = (1u64 << (at % 64)).to_le();
    let new = *word & bit == 0;
    *word |= bit;
    u64::from(new)
}

/// Sets bits; returns the number of bits that were not set before.
#[inline(always)]
pub fn set_all(body: &mut (impl BodyMut + ?Sized), positions: &[u64]) -> u64 {
    positions.iter().map(|&at| body.set(at)).sum()
}

/// Whether a bit is set.
#[inline(always)]
pub fn is_set(body: &(impl Body + ?Sized), at: u64) -> bool {
    body.is_set(at)
}

/// The positions of a key in a Bloom filter of `bits` bits, by double hashing.
#[inline(always)]
pub fn bloom_positions(key: u64, hashes: u32, bits: u64) -> impl Iterator<Item = u64> {
    let step = mix(key, 1) | 1;
    (0..u64::from(hashes)).map(move |i| reduce(key.wrapping_add(i.wrapping_mul(step)), bits))
}
