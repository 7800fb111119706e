//! The fixed part of a filter, which determines the layout of the rest.

use super::super::kind::Counters;
use super::super::lsqf::body::Parts;
use super::super::sparse::Shape;
use super::super::{list, sketch};
use super::{
    FIXED, HAS_BODY, HAS_CENTRE, IS_QUOTIENT, IS_SPARSE, MAGIC, MAX_PARAMS, RESERVED, VERSION, bytes_of, bytes_of_mut,
    corrupt, u32_at, u64_at,
};
use crate::error::Result;
use crate::params::{Kind, Layout, Params};

/// The header of an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Whether the filter has members, and thus a sketch and bits.
    pub has_body: bool,
    /// Whether the body is a list of the bits set.
    pub is_sparse: bool,
    /// Whether this is a quotient filter: it has no sketch, and its body has members instead of bits.
    pub is_quotient: bool,
    /// Whether the filter has a centre.
    pub has_centre: bool,
    /// The length of the stored parameters in bytes.
    pub params_len: usize,
    /// The dimensions; 0 for sets, or if not known yet.
    pub dims: u32,
    /// With a list: the number of registers of the sketch that are set; otherwise zero.
    pub registers: u32,
    /// The number of bits set; for quotient filters, the number of members.
    pub ones: u64,
    /// ILBF: the sum, over all small Bloom filters, of the square of the number of bits set.
    pub squares: u64,
}

impl Header {
    /// Reads the header from the first bytes of an image; the rest may be missing.
    #[inline]
    pub fn read(bytes: &[u8]) -> Result<Header> {
        if bytes.len() < FIXED {
            return Err(corrupt(format!("{} bytes are too few for a header", bytes.len().saturating_sub(RESERVED))));
        }
        if u32_at(bytes, 4) != MAGIC {
            return Err(corrupt("it does not begin with \"LSBF\""));
        }
        if bytes[8] != VERSION {
            return Err(corrupt(format!("version {} is not supported, expected version {VERSION}", bytes[8])));
        }
        let params_len = u32_at(bytes, 12) as usize;
        let (flags, registers) = (bytes[9], u32_at(bytes, 20));
        let (is_sparse, is_quotient) = (flags & IS_SPARSE != 0, flags & IS_QUOTIENT != 0);
        if flags & !(HAS_BODY | HAS_CENTRE | IS_SPARSE | IS_QUOTIENT) != 0
            || is_sparse && is_quotient
            || bytes[10..12] != [0, 0]
            || is_sparse && flags & HAS_BODY == 0
            || (registers != 0) != is_sparse
        {
            return Err(corrupt("invalid flags"));
        }
        if params_len > MAX_PARAMS {
            return Err(corrupt(format!("parameters of {params_len} bytes exceed the limit of {MAX_PARAMS}")));
        }
        Ok(Header {
            has_body: flags & HAS_BODY != 0,
            is_sparse,
            is_quotient,
            has_centre: flags & HAS_CENTRE != 0,
            params_len,
            dims: u32_at(bytes, 16),
            registers,
            ones: u64_at(bytes, 24),
            squares: u64_at(bytes, 32),
        })
    }

    /// The counters; `None` for a filter without members.
    #[inline]
    pub fn counters(&self) -> Option<Counters> {
        self.has_body.then_some(Counters { ones: self.ones, squares: self.squares })
    }

    /// The stored parameters of an image.
    pub fn params<'a>(&self, bytes: &'a [u8]) -> Result<&'a [u8]> {
        bytes.get(FIXED..FIXED + self.params_len).ok_or_else(|| corrupt("it is truncated within the parameters"))
    }

    /// The number of words before the sketch and the centre.
    #[inline]
    pub fn words(&self) -> usize {
        (FIXED + self.params_len).div_ceil(8)
    }

    /// The first word of the centre, if there is one.
    #[inline]
    pub(super) fn centre_start(&self) -> usize {
        self.words()
            + match (self.has_body && !self.is_quotient, self.is_sparse) {
                (false, _) => 0,
                (true, false) => sketch::WORDS,
                (true, true) => list::register_words(self.registers),
            }
    }

    /// The number of words of the whole image.
    #[inline]
    pub fn image_words(&self, params: &Params) -> usize {
        self.body_start()
            + match (self.has_body, self.is_sparse) {
                (false, _) => 0,
                _ if self.is_quotient => {
                    Layout::of(params, self.dims).map_or(0, |layout| Parts::new(&layout, self.ones).words() as usize)
                }
                (true, false) => params.body_words() as usize,
                (true, true) => Shape::new(params.body_words(), self.ones).words(),
            }
    }

    /// The header of a new filter with these parameters, without members.
    pub fn new(params: &Params, params_len: usize, dims: u32, has_centre: bool) -> Header {
        Header { is_quotient: params.kind == Kind::Lsqf, ..Header::empty(params_len, dims, has_centre, false) }
    }

    /// The header of a filter without members. With `has_body`, its image has space for sketch and bits.
    pub fn empty(params_len: usize, dims: u32, has_centre: bool, has_body: bool) -> Header {
        Header {
            has_body,
            is_sparse: false,
            is_quotient: false,
            has_centre,
            params_len,
            dims,
            registers: 0,
            ones: 0,
            squares: 0,
        }
    }

    /// The number of words before the bits: all words of a filter without members.
    #[inline]
    pub fn body_start(&self) -> usize {
        self.centre_start() + if self.has_centre { centre_words(self.dims) } else { 0 }
    }
}

fn centre_words(dims: u32) -> usize {
    (dims as usize).div_ceil(2)
}

/// The number of words of an image without members, or whose bits are words.
pub fn image_words(params: &Params, params_len: usize, dims: u32, has_body: bool) -> usize {
    Header::empty(params_len, dims, params.centre() != 0, has_body).image_words(params)
}

/// The hash of a centre that the parameters contain; never zero.
pub fn centre_hash(centre: &[f32]) -> u64 {
    let bytes: Vec<u8> = centre.iter().flat_map(|x| x.to_le_bytes()).collect();
    xxhash_rust::xxh3::xxh3_64(&bytes).max(1)
}

/// Writes the header, the parameters and the centre, which may be empty, into a zeroed image.
pub fn write_front(image: &mut [u64], header: &Header, params: &[u8], centre: &[f32]) {
    set_counters(image, header.ones, header.squares);
    let bytes = bytes_of_mut(image);
    bytes[4..8].copy_from_slice(&MAGIC.to_le_bytes());
    bytes[8] = VERSION;
    let flags = [
        (header.has_body, HAS_BODY),
        (header.has_centre, HAS_CENTRE),
        (header.is_sparse, IS_SPARSE),
        (header.is_quotient, IS_QUOTIENT),
    ];
    bytes[9] = flags.iter().map(|&(holds, flag)| if holds { flag } else { 0 }).sum();
    bytes[12..16].copy_from_slice(&(params.len() as u32).to_le_bytes());
    bytes[16..20].copy_from_slice(&header.dims.to_le_bytes());
    bytes[20..24].copy_from_slice(&header.registers.to_le_bytes());
    bytes[FIXED..FIXED + params.len()].copy_from_slice(params);
    for (to, x) in bytes[header.centre_start() * 8..].chunks_mut(4).zip(centre) {
        to.copy_from_slice(&x.to_le_bytes());
    }
}

/// Stores the counters.
pub fn set_counters(image: &mut [u64], ones: u64, squares: u64) {
    image[3] = ones.to_le();
    image[4] = squares.to_le();
}

/// Stores an entry of the list of registers.
pub(in crate::filter) fn set_register(image: &mut [u64], header: &Header, at: usize, entry: u16) {
    let list = bytes_of_mut(&mut image[header.words()..]).as_chunks_mut::<2>().0;
    list[at] = entry.to_le_bytes();
}

/// Stores dims.
pub fn set_dims(image: &mut [u64], dims: u32) {
    bytes_of_mut(image)[16..20].copy_from_slice(&dims.to_le_bytes());
}

/// The header of a validated image.
pub fn header_of(image: &[u64]) -> Header {
    Header::read(bytes_of(image)).expect("a validated image")
}

/// The stored parameters of a validated image.
pub fn params_of(image: &[u64]) -> &[u8] {
    header_of(image).params(bytes_of(image)).expect("a validated image")
}
