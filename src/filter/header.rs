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
//!       9  1  flags: 1 has a body, 2 has a centre
//!      10  2  zero
//!      12  4  length of the parameters
//!      16  4  dims, 0 while unknown
//!      20  4  zero
//!      24  8  bits set
//!      32  8  ILBF: sum over all Blooms of their bits set, squared; otherwise zero
//!      40  .  parameters (bincode), zeros to a multiple of 8
//!       .  1024  member sketch, only with a body
//!       .  .  centre: dims singles, zeros to a multiple of 8, only with a centre
//!       .  .  bit words, only with a body
//! ```
//! All numbers are little endian. A filter has a body when it has members.

use super::params::{Family, Kind, Params, Probing, check_dims};
use super::{count, ilbf, sketch};
use crate::error::{Code, Error, Result};
use crate::hash::check_expansion;

const MAGIC: u32 = u32::from_le_bytes(*b"LSBF");
const VERSION: u8 = 1;
const HAS_BODY: u8 = 1;
const HAS_CENTRE: u8 = 2;
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
    pub has_centre: bool,
    pub params_len: usize,
    pub dims: u32,
    pub ones: u64,
    pub squares: u64,
}

fn bytes_of(image: &[u64]) -> &[u8] {
    // SAFETY: any eight bytes are valid bytes, and u8 has no alignment.
    unsafe { std::slice::from_raw_parts(image.as_ptr().cast(), image.len() * 8) }
}

fn bytes_of_mut(image: &mut [u64]) -> &mut [u8] {
    // SAFETY: as above; every value of a byte is allowed in a word.
    unsafe { std::slice::from_raw_parts_mut(image.as_mut_ptr().cast(), image.len() * 8) }
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
        if bytes[9] & !(HAS_BODY | HAS_CENTRE) != 0 || bytes[10..12] != [0, 0] || u32_at(bytes, 20) != 0 {
            return Err(corrupt("unknown flags"));
        }
        if params_len > MAX_PARAMS {
            return Err(corrupt(format!("parameters of {params_len} bytes")));
        }
        Ok(Header {
            has_body: bytes[9] & HAS_BODY != 0,
            has_centre: bytes[9] & HAS_CENTRE != 0,
            params_len,
            dims: u32_at(bytes, 16),
            ones: u64_at(bytes, 24),
            squares: u64_at(bytes, 32),
        })
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
        self.words() + if self.has_body { sketch::WORDS } else { 0 }
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

/// Words of an image with or without a body.
pub fn image_words(params: &Params, params_len: usize, dims: u32, has_body: bool) -> usize {
    let has_centre = params.centre() != 0;
    let front = Header { has_body, has_centre, params_len, dims, ones: 0, squares: 0 }.body_start();
    if has_body { front + params.body_words() as usize } else { front }
}

/// What parameters keep of a centre: a hash that is never zero.
pub fn centre_hash(centre: &[f32]) -> u64 {
    let bytes: Vec<u8> = centre.iter().flat_map(|x| x.to_le_bytes()).collect();
    xxhash_rust::xxh3::xxh3_64(&bytes).max(1)
}

/// Writes the header of a filter without members into a zeroed image. The centre is empty where there is none.
pub fn write_empty(image: &mut [u64], params: &[u8], dims: u32, centre: &[f32], has_body: bool) {
    let has_centre = !centre.is_empty();
    let bytes = bytes_of_mut(image);
    bytes[4..8].copy_from_slice(&MAGIC.to_le_bytes());
    bytes[8] = VERSION;
    bytes[9] = if has_body { HAS_BODY } else { 0 } | if has_centre { HAS_CENTRE } else { 0 };
    bytes[12..16].copy_from_slice(&(params.len() as u32).to_le_bytes());
    bytes[16..20].copy_from_slice(&dims.to_le_bytes());
    bytes[FIXED..FIXED + params.len()].copy_from_slice(params);
    let start = Header { has_body, has_centre, params_len: params.len(), dims, ones: 0, squares: 0 }.centre_start() * 8;
    for (to, x) in bytes[start..].chunks_mut(4).zip(centre) {
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

    /// The stored parameters.
    #[inline]
    pub fn stored(&self) -> &'a [u8] {
        &bytes_of(self.words)[FIXED..FIXED + self.header.params_len]
    }

    /// The member sketch; empty where there are no members.
    pub fn sketch(&self) -> &'a [u64] {
        if self.header.has_body { &self.words[self.header.words()..][..sketch::WORDS] } else { &[] }
    }

    /// The centre; empty where there is none.
    pub fn centre(&self) -> Result<Vec<f32>> {
        if !self.header.has_centre {
            return Ok(Vec::new());
        }
        let words = self.words.get(self.header.centre_start()..self.header.body_start());
        let words = words.ok_or_else(|| corrupt("it ends within the centre"))?;
        let numbers = bytes_of(words).as_chunks::<4>().0;
        Ok(numbers.iter().take(self.header.dims as usize).map(|bytes| f32::from_le_bytes(*bytes)).collect())
    }

    /// The bit words; empty where there are no members.
    #[inline]
    pub fn body(&self) -> &'a [u64] {
        if self.header.has_body { &self.words[self.header.body_start()..] } else { &[] }
    }
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

/// Checks what can be checked from the first bytes of a payload, and says how many words the image must have. Nothing
/// is allocated before this has agreed with the length given.
pub fn check_length(payload: &[u8]) -> Result<usize> {
    let mut start = [0u8; FIXED + MAX_PARAMS];
    let shown = payload.len().min(start.len() - RESERVED);
    start[RESERVED..RESERVED + shown].copy_from_slice(&payload[..shown]);
    let header = Header::read(&start[..RESERVED + shown])?;
    let params = decode_params(header.params(&start[..RESERVED + shown])?)?;
    check_header_dims(&params, &header)?;
    if header.has_centre != (params.centre() != 0) || header.has_centre && header.dims == 0 {
        return Err(corrupt("its centre is missing or not called for"));
    }
    let words = image_words(&params, header.params_len, header.dims, header.has_body);
    let expected = words * 8 - RESERVED;
    if payload.len() != expected {
        return Err(corrupt(format!("it has {} bytes, its parameters call for {expected}", payload.len())));
    }
    Ok(words)
}

/// Checks an image completely; its length was checked by [`check_length`].
pub fn check_image(image: &[u64]) -> Result<()> {
    let bytes = bytes_of(image);
    let header = Header::read(bytes)?;
    let params = decode_params(header.params(bytes)?)?;
    if bytes[FIXED + header.params_len..header.words() * 8].iter().any(|&b| b != 0) {
        return Err(corrupt("padding is not zero"));
    }
    check_centre(&params, &View { header, words: image })?;
    if !header.has_body {
        return match (header.ones, header.squares) {
            (0, 0) => Ok(()),
            _ => Err(corrupt("it has no members but bits set")),
        };
    }
    let sketch_bytes = &bytes[header.words() * 8..][..sketch::WORDS * 8];
    if !sketch::is_valid(sketch_bytes) {
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
