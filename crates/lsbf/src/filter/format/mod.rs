//! The format of a filter, version 1 (docs/format.md).
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

mod header;
mod params;
mod validate;
mod view;

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
/// Bytes before the parameters.
pub const FIXED: usize = 40;
/// Bytes of an image that belong to PostgreSQL.
pub const RESERVED: usize = 4;
const MAX_PARAMS: usize = 256;

/// Bytes of an image that are sure to hold everything before the centre and the bit words.
pub const FRONT: usize = (FIXED + MAX_PARAMS).next_multiple_of(8) + sketch::WORDS * 8;

fn corrupt(why: impl std::fmt::Display) -> Error {
    Error::new(Code::Binary, format!("not a valid filter: {why}"))
}

fn bytes_of(image: &[u64]) -> &[u8] {
    bytemuck::cast_slice(image)
}

/// An image, or a part of it, as bytes.
pub fn bytes_of_mut(image: &mut [u64]) -> &mut [u8] {
    bytemuck::cast_slice_mut(image)
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | u64::from(u32_at(bytes, at + 4)) << 32
}

/// An image as bytes, without PostgreSQL's part.
pub fn payload(image: &[u64]) -> &[u8] {
    &bytes_of(image)[RESERVED..]
}
