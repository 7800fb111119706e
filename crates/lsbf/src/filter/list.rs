//! Few members: the places of the bits set, as a list. A filter made for a million members that has three is as small as
//! they are, and answers as the words would.
//!
//! Which form a filter has depends on nothing but its members, so that equal filters have equal bytes however they came
//! about. Members only ever come in addition: a list becomes words once.

use super::bits::{Body, BodyMut};
use super::format::{Header, View, bytes_of_mut, write_front};
use super::kind::Counters;
use super::{ilbf, sketch};
use crate::error::Result;
use crate::params::{Kind, Params};
use std::ops::DerefMut;

/// Bits a list may have, 64 kB of them: a new member copies all of it, which costs more than hashing it does, but a group of
/// some hundred members then takes that and not the megabytes of its capacity.
const MOST: u64 = 1 << 14;

/// Words that so many listed registers of the sketch take.
pub fn register_words(count: u32) -> usize {
    (count as usize).div_ceil(4)
}

/// Words that so many listed bits take.
pub fn position_words(count: u64) -> usize {
    count.div_ceil(2) as usize
}

/// Whether a filter with so many registers and bits set is a list: where that takes at most half of the words' size.
pub fn is_sparse(params: &Params, registers: u32, ones: u64) -> bool {
    let words = sketch::WORDS + params.body_words() as usize;
    ones <= MOST && 2 * (register_words(registers) + position_words(ones)) <= words
}

/// The places of the bits set, in order.
#[derive(Debug, Clone, Copy)]
pub struct Sparse<'a> {
    places: &'a [[u8; 4]],
}

impl<'a> Sparse<'a> {
    /// Reads a list of `count` places.
    pub fn new(bytes: &'a [u8], count: u64) -> Self {
        Sparse { places: &bytes.as_chunks().0[..count as usize] }
    }

    /// The places.
    pub fn places(self) -> impl Iterator<Item = u64> + Clone + 'a {
        self.places.iter().map(|&place| value(place))
    }

    /// Whether a bit is set.
    pub fn contains(self, at: u64) -> bool {
        self.within(at, 1).next().is_some()
    }

    /// The places among the `count` ones from `start` on, counted from there.
    #[inline]
    fn within(self, start: u64, count: u64) -> impl Iterator<Item = u64> {
        let first = self.places.partition_point(|&place| value(place) < start);
        self.places[first..].iter().map(move |&place| value(place) - start).take_while(move |&place| place < count)
    }
}

fn value(place: [u8; 4]) -> u64 {
    u64::from(u32::from_le_bytes(place))
}

impl Body for Sparse<'_> {
    fn word(&self, at: usize) -> u64 {
        self.within(at as u64 * 64, 64).fold(0, |word, place| word | 1 << place)
    }

    fn prefetch(&self, _: usize) {}

    fn all_set(&self, start: usize, places: impl Iterator<Item = u64>) -> bool {
        let mut line = [0u64; 8];
        for place in self.within(start as u64 * 64, 512) {
            line[(place / 64) as usize] |= 1 << (place % 64);
        }
        let bit = |place: u64| line[(place / 64 % 8) as usize] >> (place % 64);
        places.fold(1, |all, place| all & bit(place)) & 1 == 1
    }
}

/// A list, and what is added to it.
pub struct Growing<'a> {
    pub list: Sparse<'a>,
    /// New places, in order.
    pub new: Vec<u64>,
}

impl Body for Growing<'_> {
    fn word(&self, at: usize) -> u64 {
        let start = at as u64 * 64;
        let first = self.new.partition_point(|&place| place < start);
        let new = self.new[first..].iter().take_while(|&&place| place < start + 64);
        new.fold(self.list.word(at), |word, place| word | 1 << (place % 64))
    }

    fn prefetch(&self, _: usize) {}
}

impl BodyMut for Growing<'_> {
    fn set(&mut self, at: u64) -> u64 {
        match self.new.binary_search(&at) {
            Err(place) if !self.list.contains(at) => {
                self.new.insert(place, at);
                1
            }
            _ => 0,
        }
    }
}

/// What a filter with members consists of besides its parameters and centre.
pub struct Content<'a> {
    pub counters: Counters,
    pub sketch: [u64; sketch::WORDS],
    /// The bits set, as many as the counters say: a list, and others, in order.
    pub list: Sparse<'a>,
    pub new: &'a [u64],
}

impl Content<'_> {
    /// Writes a filter in the form it has to have, into zeroed memory of so many words as are asked for.
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
            for place in self.list.places().chain(self.new.iter().copied()) {
                body.set(place);
            }
        }
        image
    }

    /// Most of a list stays as it is: what lies between two new places is copied in one piece.
    fn write_list(&self, mut to: &mut [[u8; 4]]) {
        let mut left = self.list.places;
        for &new in self.new {
            let (before, after) = left.split_at(left.partition_point(|&place| value(place) < new));
            let (copy, rest) = to.split_at_mut(before.len());
            copy.copy_from_slice(before);
            let (place, rest) = rest.split_first_mut().expect("there is room for all");
            *place = (new as u32).to_le_bytes();
            (left, to) = (after, rest);
        }
        to[..left.len()].copy_from_slice(left);
    }
}

/// What comes before the members.
#[derive(Clone, Copy)]
pub struct Front<'a> {
    pub stored: &'a [u8],
    pub dims: u32,
    pub centre: &'a [f32],
}

/// The union of two lists; none where it is the first one.
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
    for place in theirs.list().places() {
        counters += set(params, place, &mut body);
    }
    if body.new.is_empty() && sketch == ours.sketch()? {
        return Ok(None);
    }
    let front = Front { stored: ours.stored(), dims: ours.header.dims, centre };
    Ok(Some(Content { counters, sketch, list: body.list, new: &body.new }.write(params, front, allocate)))
}

/// Sets a bit; whether it was new, and by how much the squares grew.
pub fn set(params: &Params, at: u64, body: &mut (impl BodyMut + ?Sized)) -> Counters {
    match params.kind {
        Kind::Ilbf => ilbf::set(params, at, body),
        _ => Counters { ones: body.set(at), squares: 0 },
    }
}

/// A filter of words as a list, where it has to be one.
pub fn folded<M>(params: &Params, filter: &View, centre: &[f32], allocate: impl FnOnce(usize) -> M) -> Result<Option<M>>
where
    M: DerefMut<Target = [u64]>,
{
    let (header, sketch) = (&filter.header, filter.sketch()?);
    let registers = sketch::count(&sketch);
    if !header.has_body || header.is_sparse || !is_sparse(params, registers, header.ones) {
        return Ok(None);
    }
    let mut places = Vec::with_capacity(header.ones as usize);
    for (at, &word) in filter.words[header.body_start()..].iter().enumerate() {
        let mut left = u64::from_le(word);
        while left != 0 {
            places.push(at as u64 * 64 + u64::from(left.trailing_zeros()));
            left &= left - 1;
        }
    }
    let front = Front { stored: filter.stored(), dims: header.dims, centre };
    let content =
        Content { counters: header.counters().unwrap_or_default(), sketch, list: filter.list(), new: &places };
    Ok(Some(content.write(params, front, allocate)))
}

/// Whether something lies behind so many entries of a list, in the word that has the last one.
fn has_rest(words: &[u64], count: u64, in_word: u64) -> bool {
    let used = count % in_word * (64 / in_word);
    used > 0 && u64::from_le(words[(count / in_word) as usize]) >> used != 0
}

/// Why a list is not valid, if it is not. All of its bytes are there.
pub fn check(params: &Params, filter: &View) -> std::result::Result<(), &'static str> {
    let header = &filter.header;
    if header.ones == 0 {
        return Err("it has members but no bits set");
    }
    let (registers, places) = (filter.registers(), filter.list());
    if sketch::unlisted(registers).is_none() {
        return Err("the member sketch is out of range");
    }
    if has_rest(&filter.words[header.words()..], header.registers.into(), 4)
        || has_rest(&filter.words[header.body_start()..], header.ones, 2)
    {
        return Err("padding is not zero");
    }
    let array = params.array_words() * 64;
    let exists = |at: u64| if at < array { at < params.bits } else { at - array < params.verify_bits };
    if !places.places().is_sorted_by(|a, b| a < b) || !places.places().all(exists) {
        return Err("its bits are not in order or beyond the end");
    }
    if header.squares != squares(params, places) {
        return Err("the load of its Blooms is wrong");
    }
    Ok(())
}

/// Sum over all Blooms of their bits set, squared; 0 for other kinds.
fn squares(params: &Params, list: Sparse) -> u64 {
    if params.kind != Kind::Ilbf {
        return 0;
    }
    let (mut squares, mut last, mut ones) = (0, None, 0);
    for place in list.places() {
        let bloom = Some(place / u64::from(params.slots));
        ones = if bloom == last { ones + 1 } else { 1 };
        last = bloom;
        // The square of n is the sum of the first n odd numbers.
        squares += 2 * ones - 1;
    }
    squares
}

/// Bits set in the verification filter of an LSBF.
pub fn verify_ones(params: &Params, list: Sparse) -> u64 {
    let array = params.array_words() * 64;
    list.places().filter(|&place| place >= array).count() as u64
}

#[cfg(test)]
mod tests {
    use super::super::bits;
    use super::*;

    #[test]
    fn a_list_answers_as_its_words_do() {
        let places: Vec<u64> = (0..400u64).map(|i| crate::mix::mix(i, 3) % 4096).collect();
        let mut words = [0u64; 64];
        let mut growing = Growing { list: Sparse::new(&[], 0), new: Vec::new() };
        for &place in &places {
            assert_eq!(growing.set(place), words.set(place));
        }
        let bytes: Vec<u8> = growing.new.iter().flat_map(|&place| (place as u32).to_le_bytes()).collect();
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
