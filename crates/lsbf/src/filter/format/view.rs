//! A borrowed filter with its decoded header.

use super::super::sparse::Sparse;
use super::super::{count, list, sketch};
use super::{FIXED, Header, bytes_of, corrupt, header_of};
use crate::error::Result;
use crate::params::{Kind, Params};

/// A borrowed image with its decoded header.
#[derive(Debug, Clone, Copy)]
pub struct View<'a> {
    /// The header.
    pub header: Header,
    /// The words of the image, which may end before the bits.
    pub words: &'a [u64],
}

impl<'a> View<'a> {
    /// A view of a stored image, which may be corrupt. Only what reading the parameters relies on is checked.
    #[inline]
    pub fn new(words: &'a [u64]) -> Result<View<'a>> {
        let bytes = bytes_of(words);
        let header = Header::read(bytes)?;
        header.params(bytes)?;
        Ok(View { header, words })
    }

    /// A view of a validated image.
    pub fn valid(words: &'a [u64]) -> View<'a> {
        View { header: header_of(words), words }
    }

    /// The stored parameters.
    #[inline]
    pub fn stored(&self) -> &'a [u8] {
        &bytes_of(self.words)[FIXED..FIXED + self.header.params_len]
    }

    /// Checks what merging relies on: the image is complete, and no listed position is beyond the end.
    pub fn check(&self, params: &Params) -> Result<()> {
        let header = &self.header;
        if self.words.len() != header.image_words(params)
            || header.has_centre != (params.centre() != 0)
            || header.is_quotient != (params.kind == Kind::Lsqf)
        {
            return Err(corrupt("its length does not match its parameters"));
        }
        self.check_list(params)
    }

    /// Checks that the listed positions are complete, in order, and not beyond the end.
    pub fn check_list(&self, params: &Params) -> Result<()> {
        if !self.header.is_sparse {
            return Ok(());
        }
        let positions = self.list().positions();
        match positions.clone().count() as u64 == self.header.ones
            && positions.clone().is_sorted_by(|a, b| a < b)
            && positions.last().is_none_or(|last| last / 64 < params.body_words())
        {
            true => Ok(()),
            false => Err(corrupt("its bits are not in order or beyond the end")),
        }
    }

    /// The number of members: an estimate, except for quotient filters.
    pub fn members(&self) -> Result<u64> {
        match (self.header.has_body, self.header.is_quotient) {
            (false, _) => Ok(0),
            (true, true) => Ok(self.header.ones),
            (true, false) => Ok(sketch::estimate(&self.sketch()?)),
        }
    }

    /// The member sketch; empty for quotient filters.
    pub fn sketch(&self) -> Result<[u64; sketch::WORDS]> {
        let invalid = || corrupt("the member sketch is invalid");
        match (self.header.has_body && !self.header.is_quotient, self.header.is_sparse) {
            (false, _) => Ok([0; sketch::WORDS]),
            (true, false) => self.words[self.header.words()..].first_chunk().copied().ok_or_else(invalid),
            (true, true) => sketch::unlisted(self.registers()).ok_or_else(invalid),
        }
    }

    /// The listed registers of the sketch.
    pub fn registers(&self) -> impl Iterator<Item = u16> + 'a {
        self.register_list().iter().map(|&entry| u16::from_le_bytes(entry))
    }

    /// The listed registers, as stored.
    pub fn register_list(&self) -> &'a [[u8; 2]] {
        let list = bytes_of(&self.words[self.header.words()..self.header.centre_start()]).as_chunks::<2>().0;
        &list[..self.header.registers as usize]
    }

    /// The centre; empty if there is none.
    pub fn centre(&self) -> Result<Vec<f32>> {
        Ok(self.centre_bytes()?.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect())
    }

    /// The centre as stored.
    #[inline]
    pub fn centre_bytes(&self) -> Result<&'a [u8]> {
        if !self.header.has_centre {
            return Ok(&[]);
        }
        let words = self.words.get(self.header.centre_start()..self.header.body_start());
        let words = words.ok_or_else(|| corrupt("it is truncated within the centre"))?;
        Ok(&bytes_of(words)[..self.header.dims as usize * size_of::<f32>()])
    }

    /// The bits; no words if there are no members.
    #[inline]
    pub fn body(&self) -> Bits<'a> {
        match (self.header.has_body, self.header.is_sparse) {
            (false, _) => Bits::Words(&[]),
            (true, false) => Bits::Words(&self.words[self.header.body_start()..]),
            (true, true) => Bits::List(self.list()),
        }
    }

    /// The list of bits set; empty if the bits are words.
    pub fn list(&self) -> Sparse<'a> {
        let (header, words) = (&self.header, self.words);
        match header.is_sparse {
            true => Sparse::new(&words[header.body_start()..], header.ones),
            false => Sparse::EMPTY,
        }
    }

    /// The number of bits set in the verification filter of an LSBF.
    pub fn verify_ones(&self, params: &Params) -> u64 {
        match self.body() {
            Bits::Words(words) => count::ones(&words[params.array_words() as usize..]),
            Bits::List(list) => list::verify_ones(params, list),
        }
    }
}

/// The two forms of a body.
#[derive(Debug, Clone, Copy)]
pub enum Bits<'a> {
    /// All bits, in little-endian words.
    Words(&'a [u64]),
    /// The positions of the bits set.
    List(Sparse<'a>),
}
