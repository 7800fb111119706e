//! Complete validation of filters from untrusted sources.

use super::super::{count, ilbf, list, lsqf, sketch};
use super::{FIXED, Header, MAX_PARAMS, RESERVED, View, bytes_of, bytes_of_mut, centre_hash, corrupt, decode_params};
use crate::error::Result;
use crate::hash::check_expansion;
use crate::interrupt;
use crate::limits::MAX_BYTES;
use crate::params::{Family, Kind, Params, check_dims};
use std::ops::DerefMut;

/// Checks the dims of a header.
fn check_header_dims(params: &Params, header: &Header) -> Result<()> {
    if params.family == Family::MinHash {
        return if header.dims == 0 { Ok(()) } else { Err(corrupt("sets have no dims")) };
    }
    if header.dims == 0 {
        return match (header.has_body, params.family.has_blocks()) {
            (true, _) => Err(corrupt("it has members but no dims")),
            (_, true) => Err(corrupt("it has blocks but no dims")),
            _ => Ok(()),
        };
    }
    check_dims(u64::from(header.dims)).map_err(|e| corrupt(e.message))?;
    check_expansion(params, header.dims).map_err(|e| corrupt(e.message))
}

/// Validates the bytes of a text, binary or bytea form and copies them into zeroed memory from `allocate`, which takes
/// the number of words. A filter whose bits are given as words is converted to a list if it must be one.
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
    if view.header.is_quotient {
        return Ok(image);
    }
    let params = decode_params(view.stored())?;
    Ok(list::to_list(&params, &view, &view.centre()?, allocate)?.unwrap_or(image))
}

/// Checks header and parameters; returns the number of words of the image. Nothing is allocated before the length of
/// the payload has been compared with it.
fn check_length(payload: &[u8]) -> Result<usize> {
    let mut start = [0u8; FIXED + MAX_PARAMS];
    let shown = payload.len().min(start.len() - RESERVED);
    start[RESERVED..RESERVED + shown].copy_from_slice(&payload[..shown]);
    let header = Header::read(&start[..RESERVED + shown])?;
    let params = decode_params(header.params(&start[..RESERVED + shown])?)?;
    check_header_dims(&params, &header)?;
    if header.has_centre != (params.centre() != 0) || header.has_centre && header.dims == 0 {
        return Err(corrupt("its centre is missing or unexpected"));
    }
    if header.is_quotient != (params.kind == Kind::Lsqf) || header.is_quotient && header.ones > MAX_BYTES * 8 {
        return Err(corrupt("invalid flags"));
    }
    if header.is_sparse && !list::is_sparse(&params, header.registers, header.ones) {
        return Err(corrupt("it has too many bits set for a list"));
    }
    let words = header.image_words(&params);
    let expected = words * 8 - RESERVED;
    if payload.len() != expected {
        return Err(corrupt(format!("it has {} bytes, but its parameters require {expected}", payload.len())));
    }
    Ok(words)
}

/// Validates an image completely, except for its length.
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
    if header.is_quotient {
        return match (header.ones, header.squares) {
            (1.., 0) => lsqf::change::check(&params, &view).map_err(corrupt),
            _ => Err(corrupt("its counters are wrong")),
        };
    }
    if !sketch::is_valid(&view.sketch()?) {
        return Err(corrupt("the member sketch is invalid"));
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
        return Err(corrupt(format!("its header counts {} bits set, but {ones} are set", header.ones)));
    }
    if header.squares != ilbf::squares(&params, body) {
        return Err(corrupt("the load of its Bloom filters is wrong"));
    }
    Ok(())
}

/// Checks that the centre matches its hash in the parameters, and that its padding is zero.
fn check_centre(params: &Params, image: &View) -> Result<()> {
    let centre = image.centre()?;
    if centre.is_empty() {
        return Ok(());
    }
    if centre.iter().any(|x| !x.is_finite()) || centre_hash(&centre) != params.centre() {
        return Err(corrupt("its centre does not match its parameters"));
    }
    let end = image.header.centre_start() * 8 + centre.len() * 4;
    match bytes_of(image.words)[end..image.header.body_start() * 8].iter().all(|&b| b == 0) {
        true => Ok(()),
        false => Err(corrupt("padding is not zero")),
    }
}
