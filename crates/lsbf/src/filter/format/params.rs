//! The stored form of the parameters.
//!
//! This is the only file that uses bincode, which is no longer maintained: its version is pinned to 2.0. Golden files
//! freeze what it writes, so that hand-written code can replace it without a change of format.

use super::corrupt;
use crate::error::Result;
use crate::params::{Kind, Params, Probing, Quotient};

fn config() -> impl bincode::config::Config {
    bincode::config::standard().with_little_endian().with_variable_int_encoding()
}

/// The parameters as stored.
pub fn encode_params(params: &Params) -> Vec<u8> {
    const ALWAYS: &str = "numbers can always be encoded";
    let mut bytes = bincode::serde::encode_to_vec(params, config()).expect(ALWAYS);
    if let Some(probing) = &params.probing {
        bytes.extend(bincode::serde::encode_to_vec(probing, config()).expect(ALWAYS));
    }
    if let Some(quotient) = &params.quotient {
        bytes.extend(bincode::serde::encode_to_vec(quotient, config()).expect(ALWAYS));
    }
    bytes
}

/// Reads and validates stored parameters, which must be in canonical form.
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
    if params.kind == Kind::Lsqf {
        let decoded: std::result::Result<(Quotient, usize), _> =
            bincode::serde::decode_from_slice(&bytes[used..], config());
        let (quotient, more) = decoded.map_err(unreadable)?;
        params.quotient = Some(quotient);
        used += more;
    }
    if used != bytes.len() || encode_params(&params) != bytes {
        return Err(corrupt("the parameters are not in canonical form"));
    }
    params.validate().map_err(|e| corrupt(e.message))?;
    Ok(params)
}
