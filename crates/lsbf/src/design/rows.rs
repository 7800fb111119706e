//! The rows of a sample.

use crate::error::{Error, Result};
use crate::limits;
use crate::memory;
use crate::params::{Metric, Params};
use crate::vector::dense::{Dense, not_finite};
use crate::vector::{Vector, set};

/// Rows of one type.
#[derive(Debug, Clone)]
pub enum Rows {
    /// Vectors, one after the other.
    Reals { dims: usize, values: Vec<f32> },
    /// Bit strings, one after the other.
    Bits { len: usize, bytes: Vec<u8> },
    /// Strings over an alphabet.
    Letters { len: usize, letters: Vec<u32> },
    /// Sets of hashed elements, each in ascending order.
    Sets(Vec<Vec<u64>>),
}

impl Rows {
    /// No rows yet, for a metric.
    pub fn new(metric: Metric, symbols: bool) -> Rows {
        match metric {
            Metric::Hamming if symbols => Rows::Letters { len: 0, letters: Vec::new() },
            Metric::Hamming => Rows::Bits { len: 0, bytes: Vec::new() },
            Metric::Jaccard => Rows::Sets(Vec::new()),
            _ => Rows::Reals { dims: 0, values: Vec::new() },
        }
    }

    /// Dimensions; 0 for sets and where there is no row.
    pub fn dims(&self) -> usize {
        match self {
            Rows::Reals { dims, .. } => *dims,
            Rows::Bits { len, .. } | Rows::Letters { len, .. } => *len,
            Rows::Sets(_) => 0,
        }
    }

    pub fn len(&self) -> usize {
        match self {
            Rows::Reals { dims, values } => values.len().checked_div(*dims).unwrap_or(0),
            Rows::Bits { len, bytes } => bytes.len().checked_div(len.div_ceil(8)).unwrap_or(0),
            Rows::Letters { len, letters } => letters.len().checked_div(*len).unwrap_or(0),
            Rows::Sets(sets) => sets.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes that a row like this one takes.
    pub fn row_bytes(vector: &Vector) -> usize {
        match *vector {
            Vector::F32(x) | Vector::Dense(x) => x.len() * 4,
            Vector::F64(x) => x.len() * 4,
            Vector::F16(x) => x.len() * 4,
            Vector::Sparse { dims, .. } => dims * 4,
            // They are studied as vectors.
            Vector::Bits { bytes, .. } | Vector::Bytes(bytes) => bytes.len() * 32,
            Vector::Text(text) => text.len() * 8,
            Vector::Ints(x) => x.len() * 8,
            Vector::BigInts(x) => x.len() * 8,
            Vector::Hashed(x) => x.len() * 8,
        }
    }

    /// The bytes that the `at`-th row takes, as [`Rows::row_bytes`] counts them.
    pub fn bytes_of(&self, at: usize) -> usize {
        match self {
            Rows::Reals { dims, .. } => dims * 4,
            Rows::Bits { len, .. } => len.div_ceil(8) * 32,
            Rows::Letters { len, .. } => len * 8,
            Rows::Sets(sets) => sets[at].len() * 8,
        }
    }

    /// Calls a function with a row.
    pub fn show<T>(&self, at: usize, to: impl FnOnce(&Vector) -> T) -> T {
        match self {
            Rows::Reals { dims, values } => to(&Vector::F32(&values[at * dims..][..*dims])),
            Rows::Bits { len, bytes } => {
                let width = len.div_ceil(8);
                to(&Vector::Bits { bytes: &bytes[at * width..][..width], len: *len })
            }
            Rows::Letters { len, letters } => {
                let row: Vec<i32> = letters[at * len..][..*len].iter().map(|&letter| letter as i32).collect();
                to(&Vector::Ints(&row))
            }
            Rows::Sets(sets) => to(&Vector::Hashed(&sets[at])),
        }
    }

    /// Adds a row, or replaces the `at`-th.
    pub fn put(&mut self, params: &Params, vector: &Vector, at: Option<usize>) -> Result<()> {
        let input = params.input(vector)?;
        if !self.is_empty() {
            input.check_dims(params, self.dims() as u32)?;
        }
        let (vector, dims) = (&input.vector(), input.dims as usize);
        match self {
            Rows::Reals { dims: known, values } => {
                *known = dims;
                let row = reals(vector)?;
                if params.metric == Metric::Cosine {
                    return put(values, &to_length_one(row)?, at);
                }
                put(values, &row, at)
            }
            Rows::Bits { len, bytes } => {
                *len = dims;
                match vector {
                    Vector::Bits { bytes: row, .. } | Vector::Bytes(row) => put(bytes, row, at),
                    _ => Ok(()),
                }
            }
            Rows::Letters { len, letters } => {
                *len = dims;
                let row: Vec<u32> = match *vector {
                    Vector::Text(text) => text.chars().map(u32::from).collect(),
                    Vector::Ints(ints) => ints.iter().map(|&i| i as u32).collect(),
                    Vector::Bytes(bytes) => bytes.iter().map(|&b| u32::from(b)).collect(),
                    _ => Vec::new(),
                };
                put(letters, &row, at)
            }
            Rows::Sets(sets) => {
                let mut set = set::elements(vector)?;
                if set.is_empty() {
                    return Err(Error::empty_set());
                }
                if set.len() > limits::MAX_SET {
                    return Err(Error::too_large(format!(
                        "set of {} elements, the limit is {}",
                        set.len(),
                        limits::MAX_SET
                    )));
                }
                set.sort_unstable();
                set.dedup();
                match at {
                    Some(at) => sets[at] = set,
                    None => sets.push(set),
                }
                Ok(())
            }
        }
    }
}

fn put<T: Copy>(rows: &mut Vec<T>, row: &[T], at: Option<usize>) -> Result<()> {
    match at {
        Some(at) => rows[at * row.len()..][..row.len()].copy_from_slice(row),
        None => {
            memory::grow(rows, row.len())?;
            rows.extend_from_slice(row);
        }
    }
    Ok(())
}

fn reals(vector: &Vector) -> Result<Vec<f32>> {
    let mut dense = Dense::default();
    let row = dense.rounded(vector)?;
    if row.iter().all(|x| x.is_finite()) { Ok(row.to_vec()) } else { Err(not_finite(row)) }
}

fn to_length_one(row: Vec<f32>) -> Result<Vec<f32>> {
    let length = libm::sqrt(row.iter().map(|&x| f64::from(x) * f64::from(x)).sum());
    if length == 0.0 {
        return Err(Error::zero_vector());
    }
    Ok(row.iter().map(|&x| (f64::from(x) / length) as f32).collect())
}
