//! Filters with few members store the sorted positions of the bits set instead of all bits, so that their size depends
//! on the number of members and not on the capacity.
//!
//! The form of a filter depends only on its parameters and its set of members, so that equal filters have equal bytes.
//! Members are never removed, so that a list becomes words at most once.

use super::bits::{Body, BodyMut};
use super::format::{Header, View, write_front};
use super::kind::Counters;
use super::sparse::{self, Shape, Sparse};
use super::{ilbf, sketch};
use crate::error::{Error, Result};
use crate::limits;
use crate::params::{Kind, Params};
use std::ops::DerefMut;

/// The number of words of a list of `count` sketch registers.
pub fn register_words(count: u32) -> usize {
    (count as usize).div_ceil(4)
}

/// Whether a filter with these numbers of registers and bits set is stored as a list: if that takes at most half the
/// space.
pub fn is_sparse(params: &Params, registers: u32, ones: u64) -> bool {
    let words = sketch::WORDS + params.body_words() as usize;
    ones <= limits::MAX_LISTED
        && 2 * (register_words(registers) + Shape::new(params.body_words(), ones).words()) <= words
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

/// The positions that one member sets: the body of an empty filter to which it is added.
#[derive(Debug, Default)]
pub struct Gathered {
    /// The positions, in the order in which they were set. Some may be set twice.
    pub positions: Vec<u64>,
}

impl Body for Gathered {
    fn word(&self, _: usize) -> u64 {
        0
    }

    fn prefetch(&self, _: usize) {}
}

impl BodyMut for Gathered {
    #[inline]
    fn set(&mut self, at: u64) -> u64 {
        self.positions.push(at);
        1
    }
}

/// The header of a filter with these numbers of registers and bits set.
pub fn header_of(params: &Params, front: Front, registers: u32, counters: Counters) -> Header {
    let is_sparse = is_sparse(params, registers, counters.ones);
    Header {
        has_body: true,
        is_sparse,
        is_quotient: false,
        has_centre: !front.centre.is_empty(),
        params_len: front.stored.len(),
        dims: front.dims,
        registers: if is_sparse { registers } else { 0 },
        ones: counters.ones,
        squares: counters.squares,
    }
}

/// Writes a filter whose members have these registers and positions, both in order and without duplicates.
pub fn write_members<M>(
    params: &Params,
    front: Front,
    registers: &[u16],
    positions: &[u32],
    allocate: impl FnOnce(usize) -> M,
) -> Result<M>
where
    M: DerefMut<Target = [u64]>,
{
    let sketch = sketch::unlisted(registers.iter().copied()).ok_or_else(|| Error::data("invalid registers"))?;
    let positions: Vec<u64> = positions.iter().map(|&position| position.into()).collect();
    let squares = squares(params, positions.iter().copied());
    let counters = Counters { ones: positions.len() as u64, squares };
    Ok(Content { counters, sketch, list: Sparse::EMPTY, new: &positions }.write(params, front, allocate))
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
        let header = header_of(params, front, sketch::count(&self.sketch), self.counters);
        let mut image = allocate(header.image_words(params));
        write_front(&mut image, &header, front.stored, front.centre);
        let (before, body) = image.split_at_mut(header.body_start());
        let sketch = &mut before[header.words()..];
        if header.is_sparse {
            for (number, entry) in sketch::listed(&self.sketch).enumerate() {
                sketch[number / 4] |= (u64::from(entry) << (number % 4 * 16)).to_le();
            }
            sparse::write(Shape::new(params.body_words(), header.ones), merged(self.list.positions(), self.new), body);
        } else {
            sketch[..sketch::WORDS].copy_from_slice(&self.sketch);
            for position in self.list.positions().chain(self.new.iter().copied()) {
                body.set(position);
            }
        }
        image
    }
}

/// The positions of a list and other ones, all in ascending order.
fn merged<'a>(list: impl Iterator<Item = u64> + 'a, new: &'a [u64]) -> impl Iterator<Item = u64> + 'a {
    let (mut list, mut new) = (list.peekable(), new.iter().copied().peekable());
    std::iter::from_fn(move || match (list.peek(), new.peek()) {
        (Some(listed), Some(added)) if added < listed => new.next(),
        (Some(_), _) => list.next(),
        (None, _) => new.next(),
    })
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

/// Sets the bits of a list, whose positions have been checked, in words that are zero.
pub fn expand(filter: &View, words: &mut [u64]) {
    filter.list().positions().for_each(|at| _ = words.set(at));
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
    if has_padding(&filter.words[header.words()..], header.registers.into(), 4) {
        return Err("padding is not zero");
    }
    let array = params.array_words() * 64;
    let exists = |at: u64| if at < array { at < params.bits } else { at - array < params.verify_bits };
    if positions.positions().count() as u64 != header.ones
        || !positions.positions().is_sorted_by(|a, b| a < b)
        || !positions.positions().all(exists)
    {
        return Err("its bits are not in order or beyond the end");
    }
    if !sparse::is_canonical(params.body_words(), positions, &filter.words[header.body_start()..]) {
        return Err("the directory of its bits is wrong");
    }
    if header.squares != squares(params, positions.positions()) {
        return Err("the load of its Bloom filters is wrong");
    }
    Ok(())
}

/// ILBF: the sum, over all small Bloom filters, of the square of the number of bits set; 0 for other kinds.
fn squares(params: &Params, positions: impl Iterator<Item = u64>) -> u64 {
    if params.kind != Kind::Ilbf {
        return 0;
    }
    let (mut squares, mut last, mut ones) = (0, None, 0);
    for position in positions {
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
        let mut growing = Growing { list: Sparse::EMPTY, new: Vec::new() };
        for &position in &positions {
            assert_eq!(growing.set(position), words.set(position));
        }
        let shape = Shape::new(64, growing.new.len() as u64);
        let mut stored = vec![0; shape.words()];
        sparse::write(shape, growing.new.iter().copied(), &mut stored);
        let list = Sparse::new(&stored, growing.new.len() as u64);
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
