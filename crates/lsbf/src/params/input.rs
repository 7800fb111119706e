//! Which vectors a filter accepts, and how text is parsed.

use super::{Family, Metric, Params};
use crate::error::{Error, Result};
use crate::limits;
use crate::vector::Vector;
use crate::vector::text::{Parsed, parse_bits, parse_reals, parse_set};

/// A vector of a type that the filter accepts. Text has been parsed and the dimensions have been counted.
pub struct Input<'a> {
    vector: Vector<'a>,
    parsed: Option<Parsed>,
    /// Dimensions; 0 for sets.
    pub dims: u32,
}

impl Input<'_> {
    /// The vector.
    #[inline]
    pub fn vector(&self) -> Vector<'_> {
        match &self.parsed {
            None => self.vector,
            Some(parsed) => parsed.view(),
        }
    }

    /// Checks that the vector has `expected` dimensions.
    #[inline]
    pub fn check_dims(&self, params: &Params, expected: u32) -> Result<()> {
        if self.dims == expected { Ok(()) } else { Err(wrong_dims(params, expected, self.dims)) }
    }
}

/// The error for a vector with the wrong number of dimensions.
#[cold]
pub fn wrong_dims(params: &Params, expected: u32, given: u32) -> Error {
    Error::data(format!("expected {expected} {unit}, not {given}", unit = params.unit()))
        .with_hint("Use lsbf_info(filter) to see the parameters of the filter.")
}

impl Params {
    /// Parses text, checks the type of the vector and counts its dimensions.
    #[inline]
    pub fn input<'a>(&self, vector: &Vector<'a>) -> Result<Input<'a>> {
        let parsed = match vector {
            Vector::Text(text) => self.parse(text)?,
            _ => None,
        };
        let dims = self.dims_of(&parsed.as_ref().map_or(*vector, Parsed::view))?;
        Ok(Input { vector: *vector, parsed, dims })
    }

    /// Whether vectors are bit strings.
    pub fn takes_bits(&self) -> bool {
        self.metric == Metric::Hamming && !self.family.has_symbols()
    }

    /// Parses the text form of the metric's vectors; `None` if the text itself is the vector.
    fn parse(&self, text: &str) -> Result<Option<Parsed>> {
        match self.family {
            family if family.has_symbols() => Ok(None),
            _ if self.takes_bits() => parse_bits(text).map(Some),
            Family::MinHash => parse_set(text).map(Some),
            _ => parse_reals(text).map(Some),
        }
    }

    /// The dimensions of a vector; 0 for sets, which have none. A type that the filter does not accept is an error.
    #[inline]
    fn dims_of(&self, vector: &Vector) -> Result<u32> {
        match self.length_of(vector) {
            None => Err(self.wrong_type(vector)),
            Some(_) if self.family == Family::MinHash => Ok(0),
            Some(0) => Err(self.empty()),
            Some(dims) if dims > limits::MAX_DIMS as usize => {
                Err(Error::too_large(format!("{dims} dimensions exceed the limit of {}", limits::MAX_DIMS)))
            }
            Some(dims) => Ok(dims as u32),
        }
    }

    /// The number of elements of a vector; `None` if the filter does not accept its type.
    #[inline]
    fn length_of(&self, vector: &Vector) -> Option<usize> {
        match *vector {
            Vector::F32(x) | Vector::Dense(x) if self.takes_numbers() => Some(x.len()),
            Vector::F64(x) if self.takes_numbers() => Some(x.len()),
            Vector::F16(x) if self.takes_numbers() => Some(x.len()),
            Vector::Sparse { dims, .. } if self.takes_numbers() => Some(dims),
            Vector::Ints(x) if !self.takes_bits() => Some(x.len()),
            Vector::BigInts(x) if self.takes_numbers() || self.family == Family::MinHash => Some(x.len()),
            Vector::Bits { len, .. } if self.takes_bits() || self.family == Family::MinHash => Some(len),
            Vector::Bytes(bytes) if self.takes_bits() || self.family == Family::MinHash => Some(bytes.len() * 8),
            Vector::Bytes(bytes) if self.family.has_symbols() => Some(bytes.len()),
            Vector::Text(text) if self.family.has_symbols() && text.is_ascii() => Some(text.len()),
            Vector::Text(text) if self.family.has_symbols() => Some(text.chars().count()),
            Vector::Hashed(x) if self.family == Family::MinHash => Some(x.len()),
            _ => None,
        }
    }

    fn takes_numbers(&self) -> bool {
        self.family.projects() && !self.takes_bits()
    }

    #[cold]
    fn wrong_type(&self, vector: &Vector) -> Error {
        let (kind, metric, given) = (self.kind.name(), self.metric.name(), vector.type_name());
        Error::data(format!("{kind} filter for metric {metric} does not accept values of type {given}"))
            .with_hint(format!("It accepts {}.", self.input_types()))
    }

    #[cold]
    fn empty(&self) -> Error {
        let what = match self.family {
            _ if self.takes_bits() => "bit string",
            family if family.has_symbols() => "string",
            _ => "vector",
        };
        Error::data(format!("{what} must not be empty"))
    }

    /// The SQL types that a filter accepts.
    fn input_types(&self) -> &'static str {
        match self.family {
            _ if self.takes_bits() => "bit, bit varying or bytea",
            family if family.has_symbols() => "text, integer[] or bytea (strings over an alphabet)",
            Family::MinHash => {
                "integer[], bigint[] or text[] (sets), or bit, bit varying or bytea (the set of positions of 1 bits)"
            }
            _ => "real[], double precision[], other numeric arrays or a vector type of pgvector",
        }
    }

    /// What error messages call the dimensions.
    fn unit(&self) -> &'static str {
        match self.family {
            _ if self.takes_bits() => "bits",
            family if family.has_symbols() => "symbols",
            _ => "dimensions",
        }
    }
}
