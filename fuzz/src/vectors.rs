//! Vectors of every type that filters accept.

use lsbf::hash::rng::Stream;
use lsbf::params::{Family, Kind, Params};
use lsbf::vector::{Vector, f16};

/// A vector that owns its elements.
#[derive(Debug, Clone)]
pub enum Value {
    F32(Vec<f32>),
    F64(Vec<f64>),
    Dense(Vec<f32>),
    F16(Vec<f16>),
    Sparse(usize, Vec<i32>, Vec<f32>),
    Bits(Vec<u8>, usize),
    Bytes(Vec<u8>),
    Text(String),
    Ints(Vec<i32>),
    BigInts(Vec<i64>),
    Hashed(Vec<u64>),
}

impl Value {
    pub fn view(&self) -> Vector<'_> {
        match self {
            Value::F32(x) => Vector::F32(x),
            Value::F64(x) => Vector::F64(x),
            Value::Dense(x) => Vector::Dense(x),
            Value::F16(x) => Vector::F16(x),
            Value::Sparse(dims, indices, values) => Vector::Sparse { dims: *dims, indices, values },
            Value::Bits(bytes, len) => Vector::Bits { bytes, len: *len },
            Value::Bytes(bytes) => Vector::Bytes(bytes),
            Value::Text(text) => Vector::Text(text),
            Value::Ints(x) => Vector::Ints(x),
            Value::BigInts(x) => Vector::BigInts(x),
            Value::Hashed(x) => Vector::Hashed(x),
        }
    }

    /// Bytes interpreted as a type. As PostgreSQL and pgvector guarantee, the last byte of a bit string is padded with
    /// zeros, and a sparse vector has ascending indices below its dimensions.
    pub fn read(type_: u8, dims: usize, bytes: &[u8]) -> Value {
        fn numbers<const N: usize, T>(bytes: &[u8], read: impl Fn([u8; N]) -> T) -> Vec<T> {
            bytes.as_chunks().0.iter().map(|chunk| read(*chunk)).collect()
        }
        match type_ % 11 {
            0 => Value::F32(numbers(bytes, f32::from_le_bytes)),
            1 => Value::F64(numbers(bytes, f64::from_le_bytes)),
            2 => Value::Dense(numbers(bytes, f32::from_le_bytes)),
            3 => Value::F16(numbers(bytes, f16::from_le_bytes)),
            4 => {
                let values: Vec<f32> = numbers(bytes, f32::from_le_bytes);
                let count = values.len().min(dims);
                Value::Sparse(dims, (0..count as i32).collect(), values[..count].to_vec())
            }
            5 => {
                let (mut bytes, len) = (bytes.to_vec(), if bytes.len() * 8 < dims { bytes.len() * 8 } else { dims });
                bytes.truncate(len.div_ceil(8));
                if let Some(last) = bytes.last_mut() {
                    *last &= (0xff00u16 >> ((len + 7) % 8 + 1)) as u8;
                }
                Value::Bits(bytes, len)
            }
            6 => Value::Bytes(bytes.to_vec()),
            7 => Value::Text(String::from_utf8_lossy(bytes).into_owned()),
            8 => Value::Ints(numbers(bytes, i32::from_le_bytes)),
            9 => Value::BigInts(numbers(bytes, i64::from_le_bytes)),
            _ => Value::Hashed(numbers(bytes, u64::from_le_bytes)),
        }
    }

    /// A vector that a filter accepts.
    pub fn fitting(params: &Params, dims: usize, stream: &mut Stream) -> Value {
        match params.family {
            _ if params.takes_bits() => {
                let bytes: Vec<u8> = (0..dims.div_ceil(8)).map(|_| stream.word() as u8).collect();
                Value::read(5, dims, &bytes)
            }
            family if family.has_symbols() => Value::Ints((0..dims).map(|_| stream.word() as i32).collect()),
            Family::MinHash => Value::BigInts((0..7).map(|_| stream.word() as i64).collect()),
            _ => {
                // Vectors that are long compared with near are rejected by quotient filters.
                let size = if params.kind == Kind::Lsqf { params.near.clamp(1e-3, 1.0) } else { 1.0 };
                Value::F64((0..dims).map(|_| stream.gaussian() * 100.0 * size).collect())
            }
        }
    }
}
