//! The format of a filter, version 1 (docs/format.md).
//!
//! An image is a filter in memory, as 64-bit words. Its first four bytes are PostgreSQL's length word and not part of
//! the filter: the text, binary and `bytea` forms start at byte 4.
//!
//! ```text
//! byte  0  4  length word of PostgreSQL
//!       4  4  "LSBF"
//!       8  1  version, 1
//!       9  1  flags: 1 has a body, 2 has a centre, 4 the body is a list, 8 quotient filter
//!      10  2  zero
//!      12  4  length of the parameters
//!      16  4  dims, 0 for sets and if not known yet
//!      20  4  with a list: number of registers of the member sketch that are set; otherwise zero
//!      24  8  number of bits set; quotient filter: number of members
//!      32  8  ILBF: sum over all small Bloom filters of the square of the number of bits set; otherwise zero
//!      40  .  parameters (bincode), padded with zeros to a multiple of 8
//!       .  1024  member sketch, only with a body, not in a quotient filter; with a list, 2 bytes per register set, padded to a multiple of 8
//!       .  .  centre, only if there is one: dims single-precision numbers, padded to a multiple of 8
//!       .  .  bit words, only with a body; with a list, 4 bytes per bit set, padded to a multiple of 8; quotient filter: its
//!             members, see `filter/lsqf/body.rs`
//! ```
//! All numbers are little endian. A filter has a body if it has members.

mod header;
mod params;
mod validate;
mod view;

pub(super) use header::set_register;
pub use header::{Header, centre_hash, header_of, image_words, params_of, set_counters, set_dims, write_front};
pub use params::{decode_params, encode_params};
pub use validate::{check_image, read_payload};
pub use view::{Bits, View};

use super::sketch;
use crate::error::{Code, Error};

const MAGIC: u32 = u32::from_le_bytes(*b"LSBF");
const VERSION: u8 = 1;
const HAS_BODY: u8 = 1;
const HAS_CENTRE: u8 = 2;
const IS_SPARSE: u8 = 4;
const IS_QUOTIENT: u8 = 8;
/// Bytes before the parameters.
pub const FIXED: usize = 40;
/// Bytes of PostgreSQL's length word.
pub const RESERVED: usize = 4;
const MAX_PARAMS: usize = 256;

/// An upper bound for the number of bytes before the centre and the bits.
pub const FRONT: usize = (FIXED + MAX_PARAMS).next_multiple_of(8) + sketch::WORDS * 8;

fn corrupt(why: impl std::fmt::Display) -> Error {
    Error::new(Code::Binary, format!("not a valid filter: {why}"))
}

fn bytes_of(image: &[u64]) -> &[u8] {
    bytemuck::cast_slice(image)
}

/// An image or a part of it, as bytes.
pub fn bytes_of_mut(image: &mut [u64]) -> &mut [u8] {
    bytemuck::cast_slice_mut(image)
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | u64::from(u32_at(bytes, at + 4)) << 32
}

/// An image as bytes, without PostgreSQL's length word.
pub fn payload(image: &[u64]) -> &[u8] {
    &bytes_of(image)[RESERVED..]
}
