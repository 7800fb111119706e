//! The format of a filter, version 1 (docs/format.md), and the only file that knows bincode.
//!
//! bincode is no longer maintained and its 3.0 is not usable; the 2.0 line is pinned. What it writes here is small and
//! frozen by golden files, so that it can be replaced by a hand-written reader without a change of format.
//!
//! An image is a filter as it lies in memory, in 64-bit words. Its first four bytes belong to PostgreSQL (the length)
//! and are no part of the filter: text, binary and `bytea` forms start at byte 4.
//!
//! ```text
//! byte  0  4  length, PostgreSQL's
//!       4  4  "LSBF"
//!       8  1  version, 1
//!       9  1  flags: 1 has a body, 2 has a centre, 4 the body is a list
//!      10  2  zero
//!      12  4  length of the parameters
//!      16  4  dims, 0 while unknown
//!      20  4  with a list: registers of the member sketch that are set; otherwise zero
//!      24  8  bits set
//!      32  8  ILBF: sum over all Blooms of their bits set, squared; otherwise zero
//!      40  .  parameters (bincode), zeros to a multiple of 8
//!       .  1024  member sketch, only with a body; with a list, 2 bytes for each register set, zeros to a multiple of 8
//!       .  .  centre: dims singles, zeros to a multiple of 8, only with a centre
//!       .  .  bit words, only with a body; with a list, 4 bytes for each bit set, zeros to a multiple of 8
//! ```
//! All numbers are little endian. A filter has a body when it has members.

use super::kind::Counters;
use super::list::{self, Sparse};
use super::{count, ilbf, sketch};
use crate::error::{Code, Error, Result};
use crate::hash::check_expansion;
use crate::interrupt;
use crate::params::{Family, Kind, Params, Probing, check_dims};
use std::ops::DerefMut;

const MAGIC: u32 = u32::from_le_bytes(*b"LSBF");
const VERSION: u8 = 1;
const HAS_BODY: u8 = 1;
const HAS_CENTRE: u8 = 2;
const IS_SPARSE: u8 = 4;
/// Bytes before the parameters.
pub const FIXED: usize = 40;
/// Bytes of an image that belong to PostgreSQL.
pub const RESERVED: usize = 4;
const MAX_PARAMS: usize = 256;

fn config() -> impl bincode::config::Config {
    bincode::config::standard().with_little_endian().with_variable_int_encoding()
}

fn corrupt(why: impl std::fmt::Display) -> Error {
    Error::new(Code::Binary, format!("not a valid filter: {why}"))
}

/// The parameters as stored.
pub fn encode_params(params: &Params) -> Vec<u8> {
    const ALWAYS: &str = "plain numbers always encode";
    let mut bytes = bincode::serde::encode_to_vec(params, config()).expect(ALWAYS);
    if let Some(probing) = &params.probing {
        bytes.extend(bincode::serde::encode_to_vec(probing, config()).expect(ALWAYS));
    }
    bytes
}

/// Reads stored parameters: valid ones, written the one way they can be written.
pub fn decode_params(bytes: &[u8]) -> Result<Params> {
    let unreadable = |_| corrupt("the parameters cannot be read");
    let decoded: std::result::Result<(Params, usize), _> = bincode::serde::decode_from_slice(bytes, config());
    let (mut params, mut used) = decoded.map_err(unreadable)?;
    if params.kind == Kind::Probing {
        let decoded: std::result::Result<(Probing, usize), _> =
            bincode::serde::decode_from_slice(&bytes[used..], config());
        let (probing, more) = decoded.map_err(unreadable)?;
        params.probing = Some(probing);
        used += more;
    }
    if used != bytes.len() || encode_params(&params) != bytes {
        return Err(corrupt("the parameters are not in canonical form"));
    }
    params.validate().map_err(|e| corrupt(e.message))?;
    Ok(params)
}

/// Bytes of an image that are sure to hold everything before the centre and the bit words.
pub const FRONT: usize = (FIXED + MAX_PARAMS).next_multiple_of(8) + sketch::WORDS * 8;

/// Where things are in an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    pub has_body: bool,
    /// Whether the body is a list of the bits set.
    pub is_sparse: bool,
    pub has_centre: bool,
    pub params_len: usize,
    pub dims: u32,
    /// With a list: registers of the sketch that are set; otherwise zero.
    pub registers: u32,
    pub ones: u64,
    pub squares: u64,
}

fn bytes_of(image: &[u64]) -> &[u8] {
    bytemuck::cast_slice(image)
}

/// An image, or some of it, as bytes.
pub fn bytes_of_mut(image: &mut [u64]) -> &mut [u8] {
    bytemuck::cast_slice_mut(image)
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | u64::from(u32_at(bytes, at + 4)) << 32
}

impl Header {
    /// Reads the fixed part of an image that starts at its byte 0; the rest may be missing.
    #[inline]
    pub fn read(bytes: &[u8]) -> Result<Header> {
        if bytes.len() < FIXED {
            return Err(corrupt(format!("{} bytes are too few for a header", bytes.len().saturating_sub(RESERVED))));
        }
        if u32_at(bytes, 4) != MAGIC {
            return Err(corrupt("it does not begin with \"LSBF\""));
        }
        if bytes[8] != VERSION {
            return Err(corrupt(format!("version {} is unknown, this build reads version {VERSION}", bytes[8])));
        }
        let params_len = u32_at(bytes, 12) as usize;
        let (flags, registers) = (bytes[9], u32_at(bytes, 20));
        let is_sparse = flags & IS_SPARSE != 0;
        if flags & !(HAS_BODY | HAS_CENTRE | IS_SPARSE) != 0
            || bytes[10..12] != [0, 0]
            || is_sparse && flags & HAS_BODY == 0
            || (registers != 0) != is_sparse
        {
            return Err(corrupt("unknown flags"));
        }
        if params_len > MAX_PARAMS {
            return Err(corrupt(format!("parameters of {params_len} bytes")));
        }
        Ok(Header {
            has_body: flags & HAS_BODY != 0,
            is_sparse,
            has_centre: flags & HAS_CENTRE != 0,
            params_len,
            dims: u32_at(bytes, 16),
            registers,
            ones: u64_at(bytes, 24),
            squares: u64_at(bytes, 32),
        })
    }

    /// What is counted of the bits; `None` for a filter without members.
    #[inline]
    pub fn counters(&self) -> Option<Counters> {
        self.has_body.then_some(Counters { ones: self.ones, squares: self.squares })
    }

    /// The stored parameters of an image.
    pub fn params<'a>(&self, bytes: &'a [u8]) -> Result<&'a [u8]> {
        bytes.get(FIXED..FIXED + self.params_len).ok_or_else(|| corrupt("it ends within the parameters"))
    }

    /// Words before the body.
    #[inline]
    pub fn words(&self) -> usize {
        (FIXED + self.params_len).div_ceil(8)
    }

    /// Where the centre starts, if there is one.
    #[inline]
    fn centre_start(&self) -> usize {
        self.words()
            + match (self.has_body, self.is_sparse) {
                (false, _) => 0,
                (true, false) => sketch::WORDS,
                (true, true) => list::register_words(self.registers),
            }
    }

    /// Words of the whole image.
    #[inline]
    pub fn image_words(&self, params: &Params) -> usize {
        self.body_start()
            + match (self.has_body, self.is_sparse) {
                (false, _) => 0,
                (true, false) => params.body_words() as usize,
                (true, true) => list::position_words(self.ones),
            }
    }

    /// The header of a filter without members; with room for some if `has_body`.
    pub fn empty(params_len: usize, dims: u32, has_centre: bool, has_body: bool) -> Header {
        Header { has_body, is_sparse: false, has_centre, params_len, dims, registers: 0, ones: 0, squares: 0 }
    }

    /// Words before the bit words; all words of a filter without members.
    #[inline]
    pub fn body_start(&self) -> usize {
        self.centre_start() + if self.has_centre { centre_words(self.dims) } else { 0 }
    }
}

fn centre_words(dims: u32) -> usize {
    (dims as usize).div_ceil(2)
}

/// Words of an image with bit words, or without members.
pub fn image_words(params: &Params, params_len: usize, dims: u32, has_body: bool) -> usize {
    Header::empty(params_len, dims, params.centre() != 0, has_body).image_words(params)
}

/// What parameters keep of a centre: a hash that is never zero.
pub fn centre_hash(centre: &[f32]) -> u64 {
    let bytes: Vec<u8> = centre.iter().flat_map(|x| x.to_le_bytes()).collect();
    xxhash_rust::xxh3::xxh3_64(&bytes).max(1)
}

/// Writes what comes before sketch and bits into a zeroed image. The centre is empty where there is none.
pub fn write_front(image: &mut [u64], header: &Header, params: &[u8], centre: &[f32]) {
    set_counters(image, header.ones, header.squares);
    let bytes = bytes_of_mut(image);
    bytes[4..8].copy_from_slice(&MAGIC.to_le_bytes());
    bytes[8] = VERSION;
    let flags = [(header.has_body, HAS_BODY), (header.has_centre, HAS_CENTRE), (header.is_sparse, IS_SPARSE)];
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

/// Stores dims.
pub fn set_dims(image: &mut [u64], dims: u32) {
    bytes_of_mut(image)[16..20].copy_from_slice(&dims.to_le_bytes());
}

/// An image with its header read, once.
#[derive(Debug, Clone, Copy)]
pub struct View<'a> {
    pub header: Header,
    pub words: &'a [u64],
}

impl<'a> View<'a> {
    /// Checks as much of a stored image as reading its parameters relies on: pages can be damaged.
    #[inline]
    pub fn new(words: &'a [u64]) -> Result<View<'a>> {
        let bytes = bytes_of(words);
        let header = Header::read(bytes)?;
        header.params(bytes)?;
        Ok(View { header, words })
    }

    /// An image that is known to be valid.
    pub fn valid(words: &'a [u64]) -> View<'a> {
        View { header: header_of(words), words }
    }

    /// The stored parameters.
    #[inline]
    pub fn stored(&self) -> &'a [u8] {
        &bytes_of(self.words)[FIXED..FIXED + self.header.params_len]
    }

    /// Checks what merging relies on besides: all of it is there, and a list does not go beyond the words.
    pub fn check(&self, params: &Params) -> Result<()> {
        let header = &self.header;
        if self.words.len() != header.image_words(params) || header.has_centre != (params.centre() != 0) {
            return Err(corrupt("its length does not fit its parameters"));
        }
        self.check_list(params)
    }

    /// Checks that a list, of which all is there, does not go beyond the words.
    pub fn check_list(&self, params: &Params) -> Result<()> {
        match self.list().places().all(|place| place / 64 < params.body_words()) {
            true => Ok(()),
            false => Err(corrupt("its bits are beyond the end")),
        }
    }

    /// The member sketch.
    pub fn sketch(&self) -> Result<[u64; sketch::WORDS]> {
        let out_of_range = || corrupt("the member sketch is out of range");
        match (self.header.has_body, self.header.is_sparse) {
            (false, _) => Ok([0; sketch::WORDS]),
            (true, false) => self.words[self.header.words()..].first_chunk().copied().ok_or_else(out_of_range),
            (true, true) => sketch::unlisted(self.registers()).ok_or_else(out_of_range),
        }
    }

    /// The registers that are listed.
    pub fn registers(&self) -> impl Iterator<Item = u16> + 'a {
        let list = bytes_of(&self.words[self.header.words()..self.header.centre_start()]).as_chunks::<2>().0;
        list[..self.header.registers as usize].iter().map(|&entry| u16::from_le_bytes(entry))
    }

    /// The centre; empty where there is none.
    pub fn centre(&self) -> Result<Vec<f32>> {
        Ok(self.centre_bytes()?.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect())
    }

    /// The centre as it is stored.
    #[inline]
    pub fn centre_bytes(&self) -> Result<&'a [u8]> {
        if !self.header.has_centre {
            return Ok(&[]);
        }
        let words = self.words.get(self.header.centre_start()..self.header.body_start());
        let words = words.ok_or_else(|| corrupt("it ends within the centre"))?;
        Ok(&bytes_of(words)[..self.header.dims as usize * size_of::<f32>()])
    }

    /// The bits; no words where there are no members.
    #[inline]
    pub fn body(&self) -> Bits<'a> {
        match (self.header.has_body, self.header.is_sparse) {
            (false, _) => Bits::Words(&[]),
            (true, false) => Bits::Words(&self.words[self.header.body_start()..]),
            (true, true) => Bits::List(self.list()),
        }
    }

    /// The bits listed; none where there is no list.
    pub fn list(&self) -> Sparse<'a> {
        let (header, words) = (&self.header, self.words);
        match header.is_sparse {
            true => Sparse::new(bytes_of(&words[header.body_start()..]), header.ones),
            false => Sparse::new(&[], 0),
        }
    }

    /// Bits set in the verification filter of an LSBF.
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
    Words(&'a [u64]),
    List(Sparse<'a>),
}

/// The header of an image that is known to be valid.
pub fn header_of(image: &[u64]) -> Header {
    Header::read(bytes_of(image)).expect("an image inside is valid")
}

/// The stored parameters of an image that is known to be valid.
pub fn params_of(image: &[u64]) -> &[u8] {
    header_of(image).params(bytes_of(image)).expect("an image inside is valid")
}

/// An image as bytes, without PostgreSQL's part.
pub fn payload(image: &[u64]) -> &[u8] {
    &bytes_of(image)[RESERVED..]
}

/// Checks the dims a header claims against the parameters.
fn check_header_dims(params: &Params, header: &Header) -> Result<()> {
    if params.family == Family::MinHash {
        return if header.dims == 0 { Ok(()) } else { Err(corrupt("sets have no dims")) };
    }
    if header.dims == 0 {
        return if header.has_body { Err(corrupt("it has members but no dims")) } else { Ok(()) };
    }
    check_dims(u64::from(header.dims)).map_err(|e| corrupt(e.message))?;
    check_expansion(params, header.dims).map_err(|e| corrupt(e.message))
}

/// Makes an image from the bytes of its text, binary or bytea form, all of them checked, in zeroed memory of so many words
/// as are asked for. Few members may come as words; what is made is the one form they have.
pub fn read_payload<M>(payload: &[u8], allocate: impl Fn(usize) -> M) -> Result<M>
where
    M: DerefMut<Target = [u64]>,
{
    let mut image = allocate(check_length(payload)?);
    const STEP: usize = 4 << 20;
    for (to, from) in bytes_of_mut(&mut image)[RESERVED..].chunks_mut(STEP).zip(payload.chunks(STEP)) {
        interrupt::check();
        to.copy_from_slice(from);
    }
    interrupt::check();
    check_image(&image)?;
    interrupt::check();
    let view = View::new(&image)?;
    let params = decode_params(view.stored())?;
    Ok(list::folded(&params, &view, &view.centre()?, allocate)?.unwrap_or(image))
}

/// Checks what can be checked from the first bytes of a payload, and says how many words the image must have. Nothing
/// is allocated before this has agreed with the length given.
fn check_length(payload: &[u8]) -> Result<usize> {
    let mut start = [0u8; FIXED + MAX_PARAMS];
    let shown = payload.len().min(start.len() - RESERVED);
    start[RESERVED..RESERVED + shown].copy_from_slice(&payload[..shown]);
    let header = Header::read(&start[..RESERVED + shown])?;
    let params = decode_params(header.params(&start[..RESERVED + shown])?)?;
    check_header_dims(&params, &header)?;
    if header.has_centre != (params.centre() != 0) || header.has_centre && header.dims == 0 {
        return Err(corrupt("its centre is missing or not called for"));
    }
    if header.is_sparse && !list::is_sparse(&params, header.registers, header.ones) {
        return Err(corrupt("it has too many bits set for a list"));
    }
    let words = header.image_words(&params);
    let expected = words * 8 - RESERVED;
    if payload.len() != expected {
        return Err(corrupt(format!("it has {} bytes, its parameters call for {expected}", payload.len())));
    }
    Ok(words)
}

/// Checks an image completely; that its length is right was checked.
pub fn check_image(image: &[u64]) -> Result<()> {
    let bytes = bytes_of(image);
    let header = Header::read(bytes)?;
    let params = decode_params(header.params(bytes)?)?;
    if bytes[FIXED + header.params_len..header.words() * 8].iter().any(|&b| b != 0) {
        return Err(corrupt("padding is not zero"));
    }
    let view = View { header, words: image };
    check_centre(&params, &view)?;
    if !header.has_body {
        return match (header.ones, header.squares) {
            (0, 0) => Ok(()),
            _ => Err(corrupt("it has no members but bits set")),
        };
    }
    if header.is_sparse {
        return list::check(&params, &view).map_err(corrupt);
    }
    if !sketch::is_valid(&view.sketch()?) {
        return Err(corrupt("the member sketch is out of range"));
    }
    let body = &image[header.body_start()..];
    let (array, verify) = body.split_at(params.array_words() as usize);
    for (words, bits) in [(array, params.bits), (verify, params.verify_bits)] {
        let spare = (words.len() as u64 * 64 - bits) as u32;
        if spare > 0 && words.last().is_some_and(|w| u64::from_le(*w).leading_zeros() < spare) {
            return Err(corrupt("bits are set beyond the end"));
        }
    }
    let ones = count::ones(body);
    if ones != header.ones || ones == 0 {
        return Err(corrupt(format!("{} bits are said to be set, {ones} are", header.ones)));
    }
    if header.squares != ilbf::squares(&params, body) {
        return Err(corrupt("the load of its Blooms is wrong"));
    }
    Ok(())
}

/// Checks that the centre is the one the parameters speak of, and that nothing lies behind it.
fn check_centre(params: &Params, image: &View) -> Result<()> {
    let centre = image.centre()?;
    if centre.is_empty() {
        return Ok(());
    }
    if centre.iter().any(|x| !x.is_finite()) || centre_hash(&centre) != params.centre() {
        return Err(corrupt("its centre is not the one it was made with"));
    }
    let end = image.header.centre_start() * 8 + centre.len() * 4;
    match bytes_of(image.words)[end..image.header.body_start() * 8].iter().all(|&b| b == 0) {
        true => Ok(()),
        false => Err(corrupt("padding is not zero")),
    }
}
