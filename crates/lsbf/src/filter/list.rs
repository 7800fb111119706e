//! Filters with few members store the sorted positions of the bits set instead of all bits, so that their size depends
//! on the number of members and not on the capacity.
//!
//! The form of a filter depends only on its parameters and its set of members, so that equal filters have equal bytes.
//! Members are never removed, so that a list becomes words at most once.

use super::bits::{Body, BodyMut};
use super::format::{Header, View, bytes_of_mut, write_front};
use super::kind::Counters;
use super::{ilbf, sketch};
use crate::error::Result;
use crate::limits;
use crate::params::{Kind, Params};
use std::ops::DerefMut;

/// The number of words of a list of `count` sketch registers.
pub fn register_words(count: u32) -> usize {
    (count as usize).div_ceil(4)
}

/// The number of words of a list of `count` positions.
pub fn position_words(count: u64) -> usize {
    count.div_ceil(2) as usize
}

/// Whether a filter with these numbers of registers and bits set is stored as a list: if that takes at most half the
/// space.
pub fn is_sparse(params: &Params, registers: u32, ones: u64) -> bool {
    let words = sketch::WORDS + params.body_words() as usize;
    ones <= limits::MAX_LISTED && 2 * (register_words(registers) + position_words(ones)) <= words
}

/// A sorted list of the positions of the bits set.
#[derive(Debug, Clone, Copy)]
pub struct Sparse<'a> {
    positions: &'a [[u8; 4]],
}

impl<'a> Sparse<'a> {
    /// A list of `count` stored positions.
    pub fn new(bytes: &'a [u8], count: u64) -> Self {
        Sparse { positions: &bytes.as_chunks().0[..count as usize] }
    }

    /// The positions, in ascending order.
    pub fn positions(self) -> impl Iterator<Item = u64> + Clone + 'a {
        self.positions.iter().map(|&position| value(position))
    }

    /// Whether a bit is set.
    pub fn contains(self, at: u64) -> bool {
        self.within(at, 1).next().is_some()
    }

    /// The positions within `start..start + count`, relative to `start`.
    #[inline]
    fn within(self, start: u64, count: u64) -> impl Iterator<Item = u64> {
        let first = self.positions.partition_point(|&position| value(position) < start);
        // The list of a corrupt filter may be out of order.
        self.positions[first..]
            .iter()
            .map(move |&position| value(position).wrapping_sub(start))
            .take_while(move |&position| position < count)
    }
}

fn value(position: [u8; 4]) -> u64 {
    u64::from(u32::from_le_bytes(position))
}

impl Body for Sparse<'_> {
    fn word(&self, at: usize) -> u64 {
        self.within(at as u64 * 64, 64).fold(0, |word, position| word | 1 << position)
    }

    fn prefetch(&self, _: usize) {}

    fn all_set(&self, start: usize, positions: impl Iterator<Item = u64>) -> bool {
        let mut line = [0u64; 8];
        for position in self.within(start as u64 * 64, 512) {
            line[(position / 64) as usize] |= 1 << (position % 64);
        }
        let bit = |position: u64| line[(position / 64 % 8) as usize] >> (position % 64);
        positions.fold(1, |all, position| all & bit(position)) & 1 == 1
    }
}

/// A list together with the positions that are being added to it.
pub struct Growing<'a> {
    /// The existing list.
    pub list: Sparse<'a>,
    /// The new positions, in ascending order.
    pub new: Vec<u64>,
}

impl Body for Growing<'_> {
    fn word(&self, at: usize) -> u64 {
        let start = at as u64 * 64;
        let first = self.new.partition_point(|&position| position < start);
        let new = self.new[first..].iter().take_while(|&&position| position < start + 64);
        new.fold(self.list.word(at), |word, position| word | 1 << (position % 64))
    }

    fn prefetch(&self, _: usize) {}
}

impl BodyMut for Growing<'_> {
    fn set(&mut self, at: u64) -> u64 {
        match self.new.binary_search(&at) {
            Err(position) if !self.list.contains(at) => {
                self.new.insert(position, at);
                1
            }
            _ => 0,
        }
    }
}

/// The content of a filter with members.
pub struct Content<'a> {
    /// The counters.
    pub counters: Counters,
    /// The member sketch.
    pub sketch: [u64; sketch::WORDS],
    /// The positions of bits set that are already a list.
    pub list: Sparse<'a>,
    /// The other positions of bits set, in ascending order.
    pub new: &'a [u64],
}

impl Content<'_> {
    /// Writes a filter, as a list or as words, into zeroed memory from `allocate`, which takes the number of words.
    pub fn write<M>(self, params: &Params, front: Front, allocate: impl FnOnce(usize) -> M) -> M
    where
        M: DerefMut<Target = [u64]>,
    {
        let Counters { ones, squares } = self.counters;
        let registers = sketch::count(&self.sketch);
        let is_sparse = is_sparse(params, registers, ones);
        let header = Header {
            has_body: true,
            is_sparse,
            is_quotient: false,
            has_centre: !front.centre.is_empty(),
            params_len: front.stored.len(),
            dims: front.dims,
            registers: if is_sparse { registers } else { 0 },
            ones,
            squares,
        };
        let mut image = allocate(header.image_words(params));
        write_front(&mut image, &header, front.stored, front.centre);
        let (before, body) = image.split_at_mut(header.body_start());
        let sketch = &mut before[header.words()..];
        if is_sparse {
            for (number, entry) in sketch::listed(&self.sketch).enumerate() {
                sketch[number / 4] |= (u64::from(entry) << (number % 4 * 16)).to_le();
            }
            self.write_list(bytes_of_mut(body).as_chunks_mut().0);
        } else {
            sketch[..sketch::WORDS].copy_from_slice(&self.sketch);
            for position in self.list.positions().chain(self.new.iter().copied()) {
                body.set(position);
            }
        }
        image
    }

    /// Writes the merged list. Most of it is unchanged: the positions between two new ones are copied at once.
    fn write_list(&self, mut to: &mut [[u8; 4]]) {
        let mut left = self.list.positions;
        for &new in self.new {
            let (before, after) = left.split_at(left.partition_point(|&position| value(position) < new));
            let (copy, rest) = to.split_at_mut(before.len());
            copy.copy_from_slice(before);
            let (position, rest) = rest.split_first_mut().expect("room for all positions");
            *position = (new as u32).to_le_bytes();
            (left, to) = (after, rest);
        }
        to[..left.len()].copy_from_slice(left);
    }
}

/// The part of a filter that does not depend on its members.
#[derive(Clone, Copy)]
pub struct Front<'a> {
    /// The parameters as stored.
    pub stored: &'a [u8],
    /// The dimensions.
    pub dims: u32,
    /// The centre; empty if there is none.
    pub centre: &'a [f32],
}

/// The union of two filters that are lists; `None` if it equals the first one.
pub fn union<M>(
    params: &Params,
    (ours, theirs): (&View, &View),
    centre: &[f32],
    allocate: impl FnOnce(usize) -> M,
) -> Result<Option<M>>
where
    M: DerefMut<Target = [u64]>,
{
    let mut sketch = ours.sketch()?;
    sketch::merge(&mut sketch, &theirs.sketch()?);
    let mut body = Growing { list: ours.list(), new: Vec::new() };
    let mut counters = ours.header.counters().unwrap_or_default();
    for position in theirs.list().positions() {
        counters += set(params, position, &mut body);
    }
    if body.new.is_empty() && sketch == ours.sketch()? {
        return Ok(None);
    }
    let front = Front { stored: ours.stored(), dims: ours.header.dims, centre };
    Ok(Some(Content { counters, sketch, list: body.list, new: &body.new }.write(params, front, allocate)))
}

/// Sets a bit; returns by how much the counters grew.
pub fn set(params: &Params, at: u64, body: &mut (impl BodyMut + ?Sized)) -> Counters {
    match params.kind {
        Kind::Ilbf => ilbf::set(params, at, body),
        _ => Counters { ones: body.set(at), squares: 0 },
    }
}

/// Converts a filter from words to a list; `None` if it must not be one.
pub fn to_list<M>(
    params: &Params,
    filter: &View,
    centre: &[f32],
    allocate: impl FnOnce(usize) -> M,
) -> Result<Option<M>>
where
    M: DerefMut<Target = [u64]>,
{
    let (header, sketch) = (&filter.header, filter.sketch()?);
    let registers = sketch::count(&sketch);
    if !header.has_body || header.is_sparse || !is_sparse(params, registers, header.ones) {
        return Ok(None);
    }
    let mut positions = Vec::with_capacity(header.ones as usize);
    for (at, &word) in filter.words[header.body_start()..].iter().enumerate() {
        let mut left = u64::from_le(word);
        while left != 0 {
            positions.push(at as u64 * 64 + u64::from(left.trailing_zeros()));
            left &= left - 1;
        }
    }
    let front = Front { stored: filter.stored(), dims: header.dims, centre };
    let content =
        Content { counters: header.counters().unwrap_or_default(), sketch, list: filter.list(), new: &positions };
    Ok(Some(content.write(params, front, allocate)))
}

/// Whether the last word of a list of `count` entries has nonzero padding.
fn has_padding(words: &[u64], count: u64, per_word: u64) -> bool {
    let used = count % per_word * (64 / per_word);
    used > 0 && u64::from_le(words[(count / per_word) as usize]) >> used != 0
}

/// Validates a filter that is a list and has the right length.
pub fn check(params: &Params, filter: &View) -> std::result::Result<(), &'static str> {
    let header = &filter.header;
    if header.ones == 0 {
        return Err("it has members but no bits set");
    }
    let (registers, positions) = (filter.registers(), filter.list());
    if sketch::unlisted(registers).is_none() {
        return Err("the member sketch is invalid");
    }
    if has_padding(&filter.words[header.words()..], header.registers.into(), 4)
        || has_padding(&filter.words[header.body_start()..], header.ones, 2)
    {
        return Err("padding is not zero");
    }
    let array = params.array_words() * 64;
    let exists = |at: u64| if at < array { at < params.bits } else { at - array < params.verify_bits };
    if !positions.positions().is_sorted_by(|a, b| a < b) || !positions.positions().all(exists) {
        return Err("its bits are not in order or beyond the end");
    }
    if header.squares != squares(params, positions) {
        return Err("the load of its Bloom filters is wrong");
    }
    Ok(())
}

/// ILBF: the sum, over all small Bloom filters, of the square of the number of bits set; 0 for other kinds.
fn squares(params: &Params, list: Sparse) -> u64 {
    if params.kind != Kind::Ilbf {
        return 0;
    }
    let (mut squares, mut last, mut ones) = (0, None, 0);
    for position in list.positions() {
        let bloom = Some(position / u64::from(params.slots));
        ones = if bloom == last { ones + 1 } else { 1 };
        last = bloom;
        // The square of n is the sum of the first n odd numbers.
        squares += 2 * ones - 1;
    }
    squares
}

/// The number of bits set in the verification filter of an LSBF.
pub fn verify_ones(params: &Params, list: Sparse) -> u64 {
    let array = params.array_words() * 64;
    list.positions().filter(|&position| position >= array).count() as u64
}

#[cfg(test)]
mod tests {
    use super::super::bits;
    use super::*;

    #[test]
    fn a_list_and_words_give_the_same_answers() {
        let positions: Vec<u64> = (0..400u64).map(|i| crate::mix::mix(i, 3) % 4096).collect();
        let mut words = [0u64; 64];
        let mut growing = Growing { list: Sparse::new(&[], 0), new: Vec::new() };
        for &position in &positions {
            assert_eq!(growing.set(position), words.set(position));
        }
        let bytes: Vec<u8> = growing.new.iter().flat_map(|&position| (position as u32).to_le_bytes()).collect();
        let list = Sparse::new(&bytes, growing.new.len() as u64);
        for at in 0..64 {
            assert_eq!((list.word(at), growing.word(at)), (words[..].word(at), words[..].word(at)));
        }
        for at in 0..4096 {
            assert_eq!(
                (list.contains(at), bits::is_set(&list, at)),
                (bits::is_set(&words[..], at), bits::is_set(&words[..], at))
            );
        }
        for start in (0..64).step_by(8) {
            for (a, b) in (0..64).flat_map(|a| [(a, 7 * a % 512), (8 * a, 500)]) {
                let both = || [a, b].into_iter();
                assert_eq!(list.all_set(start, both()), words[..].all_set(start, both()));
            }
        }
    }
}
