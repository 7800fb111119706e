//! The body of a filter with few members: the positions of the bits set, in order, in place of all bits.
//!
//! The body is divided into buckets of 2^shift bits, two to four times as many as there are bits set to a bucket on average.
//! Of a position, the number of its bucket is given by its place in the list, and the rest is stored. A directory has, for
//! every bucket, the number of positions before it, so that a query finds a bit without searching the list.
//!
//! ```text
//! byte  0  4  shift
//!       4  4  number of buckets
//!       8  .  directory: for every bucket, and after the last one, the number of positions before it; 2 bytes each
//!       .  .  the rest of every position, in order: 2 bytes, or 4 bytes if shift is larger than 16
//!       .  .  zeros up to a multiple of 8
//! ```

use super::bits::Body;

/// The number of bits of a rest that is stored in two bytes.
const NARROW: u32 = 16;
/// Words of the list's own header.
const HEADER: usize = 1;
/// A bucket has at least one word of bits, so that no word is in two of them.
const MIN_SHIFT: u32 = 6;

/// Where the parts of a list are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    shift: u32,
    buckets: usize,
    count: usize,
}

impl Shape {
    /// The shape of a list of `count` bits set, of `words` words.
    pub fn new(words: u64, count: u64) -> Shape {
        let (bits, most) = (words * 64, (count / 2).max(1));
        let shift = bits.div_ceil(most).next_power_of_two().trailing_zeros().max(MIN_SHIFT);
        Shape { shift, buckets: bits.div_ceil(1 << shift) as usize, count: count as usize }
    }

    /// The shape that a stored list claims to have.
    fn read(words: &[u64], count: u64) -> Shape {
        let word = words.first().map_or(0, |&word| u64::from_le(word));
        Shape { shift: word as u32, buckets: (word >> 32) as usize, count: count as usize }
    }

    /// Bytes of a rest.
    fn width(self) -> usize {
        if self.shift > NARROW { 4 } else { 2 }
    }

    /// The number of words of the list.
    pub fn words(self) -> usize {
        HEADER + ((self.buckets + 1) * 2 + self.count * self.width()).div_ceil(8)
    }
}

/// A list of the positions of the bits set.
#[derive(Debug, Clone, Copy)]
pub struct Sparse<'a> {
    shift: u32,
    directory: &'a [[u8; 2]],
    rests: Rests<'a>,
}

#[derive(Debug, Clone, Copy)]
enum Rests<'a> {
    Narrow(&'a [[u8; 2]]),
    Wide(&'a [[u8; 4]]),
}

impl<'a> Sparse<'a> {
    /// The list of a filter without members.
    pub const EMPTY: Sparse<'static> = Sparse { shift: MIN_SHIFT, directory: &[], rests: Rests::Narrow(&[]) };

    /// A stored list of `count` positions; empty if the words are not a list.
    #[inline]
    pub fn new(words: &'a [u64], count: u64) -> Self {
        let shape = Shape::read(words, count);
        if shape.shift >= 64 || words.len() != shape.words() {
            return Sparse::EMPTY;
        }
        let (directory, rests) = bytemuck::cast_slice::<u64, u8>(&words[HEADER..]).split_at((shape.buckets + 1) * 2);
        let rests = match shape.width() {
            2 => Rests::Narrow(&rests.as_chunks().0[..shape.count]),
            _ => Rests::Wide(&rests.as_chunks().0[..shape.count]),
        };
        Sparse { shift: shape.shift, directory: directory.as_chunks().0, rests }
    }

    /// The number of positions.
    pub fn count(self) -> usize {
        match self.rests {
            Rests::Narrow(rests) => rests.len(),
            Rests::Wide(rests) => rests.len(),
        }
    }

    /// The positions, in ascending order.
    pub fn positions(self) -> impl Iterator<Item = u64> + Clone + 'a {
        let buckets = self.directory.len().saturating_sub(1) as u64;
        (0..buckets).flat_map(move |bucket| {
            let (first, last) = self.range(bucket);
            (first..last.min(self.count())).map(move |at| bucket << self.shift | self.rest(at))
        })
    }

    fn rest(self, at: usize) -> u64 {
        match self.rests {
            Rests::Narrow(rests) => u64::from(u16::from_le_bytes(rests[at])),
            Rests::Wide(rests) => u64::from(u32::from_le_bytes(rests[at])),
        }
    }

    /// Whether a bit is set.
    #[inline(always)]
    pub fn contains(self, at: u64) -> bool {
        let rest = at & ((1 << self.shift) - 1);
        let (first, last) = self.range(at >> self.shift);
        // The directory of a corrupt list may be wrong.
        match self.rests {
            Rests::Narrow(rests) => {
                let rest = (rest as u16).to_le_bytes();
                rests.get(first..last).is_some_and(|rests| rests.contains(&rest))
            }
            Rests::Wide(rests) => {
                let rest = (rest as u32).to_le_bytes();
                rests.get(first..last).is_some_and(|rests| rests.contains(&rest))
            }
        }
    }

    /// The places in the list that belong to a bucket.
    #[inline(always)]
    fn range(self, bucket: u64) -> (usize, usize) {
        let Some(&[first, last]) = self.directory.get(bucket as usize..).and_then(|ends| ends.first_chunk()) else {
            return (0, 0);
        };
        (usize::from(u16::from_le_bytes(first)), usize::from(u16::from_le_bytes(last)))
    }

    /// Calls a function with the rest of every position of a bucket.
    #[inline(always)]
    fn for_each_rest(self, bucket: u64, mut found: impl FnMut(u64)) {
        let (first, last) = self.range(bucket);
        match self.rests {
            Rests::Narrow(rests) => {
                let rests = rests.get(first..last).unwrap_or_default();
                rests.iter().for_each(|&rest| found(u64::from(u16::from_le_bytes(rest))));
            }
            Rests::Wide(rests) => {
                let rests = rests.get(first..last).unwrap_or_default();
                rests.iter().for_each(|&rest| found(u64::from(u32::from_le_bytes(rest))));
            }
        }
    }

    /// Calls a function with the positions within `start..start + count`, relative to `start`.
    #[inline(always)]
    fn for_each_within(self, start: u64, count: u64, mut found: impl FnMut(u64)) {
        for bucket in start >> self.shift..=(start + count - 1) >> self.shift {
            let base = (bucket << self.shift).wrapping_sub(start);
            self.for_each_rest(bucket, |rest| {
                let place = base.wrapping_add(rest);
                if place < count {
                    found(place);
                }
            });
        }
    }
}

impl Body for Sparse<'_> {
    #[inline(always)]
    fn word(&self, at: usize) -> u64 {
        let (start, mut word) = (at as u64 * 64, 0);
        let base = start & ((1 << self.shift) - 1);
        self.for_each_rest(start >> self.shift, |rest| {
            let place = rest.wrapping_sub(base);
            word |= u64::from(place < 64) << (place % 64);
        });
        word
    }

    fn prefetch(&self, _: usize) {}

    #[inline(always)]
    fn is_set(&self, at: u64) -> bool {
        self.contains(at)
    }

    #[inline(always)]
    fn any_of(&self, start: u64, count: u64, bits: u64, end: u64) -> u64 {
        let mut any = 0;
        let first = count.min((end - start) / bits);
        for (start, count) in [(start, first), (0, count - first)] {
            if count > 0 {
                self.for_each_within(start, count * bits, |place| any |= 1 << (place & (bits - 1)));
            }
        }
        any
    }

    #[inline(always)]
    fn all_set(&self, start: usize, positions: impl Iterator<Item = u64>) -> bool {
        let mut line = [0u64; 8];
        self.for_each_within(start as u64 * 64, 512, |place| line[(place / 64) as usize] |= 1 << (place % 64));
        let bit = |position: u64| line[(position / 64 % 8) as usize] >> (position % 64);
        positions.fold(1, |all, position| all & bit(position)) & 1 == 1
    }
}

/// Writes a list into zeroed memory of `shape`'s size. Positions are in ascending order.
pub fn write(shape: Shape, positions: impl Iterator<Item = u64>, to: &mut [u64]) {
    let (header, rest) = to.split_at_mut(HEADER);
    header[0] = (u64::from(shape.shift) | (shape.buckets as u64) << 32).to_le();
    let bytes = bytemuck::cast_slice_mut::<u64, u8>(rest);
    let (directory, rests) = bytes.split_at_mut((shape.buckets + 1) * 2);
    let (directory, width) = (directory.as_chunks_mut::<2>().0, shape.width());
    let (mut next, mask) = (0, (1u64 << shape.shift) - 1);
    let mut number = 0u16;
    for (position, to) in positions.zip(rests.chunks_exact_mut(width)) {
        let bucket = (position >> shape.shift) as usize;
        directory[next..=bucket].fill(number.to_le_bytes());
        next = bucket + 1;
        to.copy_from_slice(&(position & mask).to_le_bytes()[..width]);
        number += 1;
    }
    directory[next..].fill(number.to_le_bytes());
}

/// Whether these words are the list of the positions that are read from them, in order, in a body of `body_words` words.
pub fn is_canonical(body_words: u64, list: Sparse, words: &[u64]) -> bool {
    let shape = Shape::new(body_words, list.count() as u64);
    let mut expected = vec![0; shape.words()];
    write(shape, list.positions(), &mut expected);
    list.count() > 0 && expected == words
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mix::{mix, reduce};

    /// A list of random positions in a body of this many words, and the positions.
    fn random(words: u64, count: u64) -> (Vec<u64>, Vec<u64>) {
        let mut positions: Vec<u64> = (0..count).map(|i| reduce(mix(i, words), words * 64)).collect();
        positions.extend([0, words * 64 - 1]);
        positions.sort_unstable();
        positions.dedup();
        let shape = Shape::new(words, positions.len() as u64);
        let mut list = vec![0; shape.words()];
        write(shape, positions.iter().copied(), &mut list);
        (list, positions)
    }

    const SIZES: [(u64, u64); 8] =
        [(1, 1), (2, 5), (64, 40), (100, 400), (4096, 4000), (1 << 20, 3), (1 << 26, 30), ((1 << 26) - 3, 4000)];

    #[test]
    fn positions_are_read_as_they_were_written() {
        for (words, count) in SIZES {
            let (stored, positions) = random(words, count);
            let list = Sparse::new(&stored, positions.len() as u64);
            assert!(list.positions().eq(positions.iter().copied()), "{words} words, {count} bits");
            assert!(is_canonical(words, list, &stored));
            for &at in &positions {
                assert!(list.contains(at));
                let other = at ^ 1;
                assert_eq!(list.contains(other), positions.binary_search(&other).is_ok());
                let first = positions.partition_point(|&other| other < at / 64 * 64);
                let word = positions[first..].iter().take_while(|&&other| other / 64 == at / 64);
                assert_eq!(list.word((at / 64) as usize), word.fold(0, |word, at| word | 1 << (at % 64)));
            }
        }
    }

    #[test]
    fn groups_are_combined_as_in_words() {
        let (stored, positions) = random(60, 500);
        let list = Sparse::new(&stored, positions.len() as u64);
        let mut words = vec![0u64; 60];
        positions.iter().for_each(|&at| words[(at / 64) as usize] |= 1 << (at % 64));
        for bits in [8, 16, 32, 64] {
            let end = 60 * 64 - if bits < 64 { 64 } else { 0 };
            for start in (0..end).step_by(bits as usize) {
                for count in [1, 2, 3, 7] {
                    let mask = if bits == 64 { !0 } else { (1 << bits) - 1 };
                    let (ours, theirs) =
                        (list.any_of(start, count, bits, end), words[..].any_of(start, count, bits, end));
                    assert_eq!(ours & mask, theirs & mask, "{count} groups of {bits} bits from {start} on");
                }
            }
        }
    }

    #[test]
    fn a_corrupt_list_gives_wrong_answers_but_does_not_panic() {
        let (stored, positions) = random(64, 60);
        for at in 0..stored.len() {
            for bit in 0..64 {
                let mut corrupt = stored.clone();
                corrupt[at] ^= 1 << bit;
                let list = Sparse::new(&corrupt, positions.len() as u64);
                for word in 0..64 {
                    let _ = (list.word(word), list.contains(word as u64 * 64), list.all_set(word / 8 * 8, 0..512));
                }
                // What is checked before, in `list::check`.
                let in_order = list.positions().is_sorted_by(|a, b| a < b) && list.positions().all(|at| at < 64 * 64);
                assert!(
                    !in_order || !is_canonical(64, list, &corrupt) || list.positions().ne(positions.iter().copied())
                );
            }
        }
    }
}
