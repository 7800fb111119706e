//! The rows of a sample.

use crate::error::{Error, Result};
use crate::limits;
use crate::memory;
use crate::params::{Metric, Params};
use crate::vector::dense::{Dense, not_finite};
use crate::vector::{Vector, set};

/// Sampled rows, all of the same type.
#[derive(Debug, Clone)]
pub enum Rows {
    /// Vectors, one after the other.
    Reals {
        /// The dimensions of a row.
        dims: usize,
        /// The elements of all rows.
        values: Vec<f32>,
    },
    /// Bit strings, one after the other.
    Bits {
        /// The number of bits of a row.
        len: usize,
        /// The bits of all rows, each padded to whole bytes.
        bytes: Vec<u8>,
    },
    /// Strings over an alphabet, one after the other.
    Symbols {
        /// The number of symbols of a row.
        len: usize,
        /// The symbols of all rows.
        symbols: Vec<u32>,
    },
    /// Sets of hashed elements, each in ascending order.
    Sets(Vec<Vec<u64>>),
}

impl Rows {
    /// An empty sample for a metric.
    pub fn new(metric: Metric, symbols: bool) -> Rows {
        match metric {
            Metric::Hamming if symbols => Rows::Symbols { len: 0, symbols: Vec::new() },
            Metric::Hamming => Rows::Bits { len: 0, bytes: Vec::new() },
            Metric::Jaccard => Rows::Sets(Vec::new()),
            _ => Rows::Reals { dims: 0, values: Vec::new() },
        }
    }

    /// The dimensions of the rows; 0 for sets, or if there are no rows.
    pub fn dims(&self) -> usize {
        match self {
            Rows::Reals { dims, .. } => *dims,
            Rows::Bits { len, .. } | Rows::Symbols { len, .. } => *len,
            Rows::Sets(_) => 0,
        }
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        match self {
            Rows::Reals { dims, values } => values.len().checked_div(*dims).unwrap_or(0),
            Rows::Bits { len, bytes } => bytes.len().checked_div(len.div_ceil(8)).unwrap_or(0),
            Rows::Symbols { len, symbols } => symbols.len().checked_div(*len).unwrap_or(0),
            Rows::Sets(sets) => sets.len(),
        }
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of bytes that a row takes in the sample.
    pub fn row_bytes(vector: &Vector) -> usize {
        match *vector {
            Vector::F32(x) | Vector::Dense(x) => x.len() * 4,
            Vector::F64(x) => x.len() * 4,
            Vector::F16(x) => x.len() * 4,
            Vector::Sparse { dims, .. } => dims * 4,
            // They are analyzed as vectors of zeros and ones.
            Vector::Bits { bytes, .. } | Vector::Bytes(bytes) => bytes.len() * 32,
            Vector::Text(text) => text.len() * 8,
            Vector::Ints(x) => x.len() * 8,
            Vector::BigInts(x) => x.len() * 8,
            Vector::Hashed(x) => x.len() * 8,
        }
    }

    /// The number of bytes of the `at`-th row, as counted by [`Rows::row_bytes`].
    pub fn bytes_of(&self, at: usize) -> usize {
        match self {
            Rows::Reals { dims, .. } => dims * 4,
            Rows::Bits { len, .. } => len.div_ceil(8) * 32,
            Rows::Symbols { len, .. } => len * 8,
            Rows::Sets(sets) => sets[at].len() * 8,
        }
    }

    /// Calls a function with the `at`-th row.
    pub fn with_row<T>(&self, at: usize, call: impl FnOnce(&Vector) -> T) -> T {
        match self {
            Rows::Reals { dims, values } => call(&Vector::F32(&values[at * dims..][..*dims])),
            Rows::Bits { len, bytes } => {
                let width = len.div_ceil(8);
                call(&Vector::Bits { bytes: &bytes[at * width..][..width], len: *len })
            }
            Rows::Symbols { len, symbols } => {
                let row: Vec<i32> = symbols[at * len..][..*len].iter().map(|&symbol| symbol as i32).collect();
                call(&Vector::Ints(&row))
            }
            Rows::Sets(sets) => call(&Vector::Hashed(&sets[at])),
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
            Rows::Reals { dims: current, values } => {
                *current = dims;
                let row = reals(vector)?;
                if params.metric == Metric::Cosine {
                    return put(values, &normalized(row)?, at);
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
            Rows::Symbols { len, symbols } => {
                *len = dims;
                let row: Vec<u32> = match *vector {
                    Vector::Text(text) => text.chars().map(u32::from).collect(),
                    Vector::Ints(ints) => ints.iter().map(|&i| i as u32).collect(),
                    Vector::Bytes(bytes) => bytes.iter().map(|&b| u32::from(b)).collect(),
                    _ => Vec::new(),
                };
                put(symbols, &row, at)
            }
            Rows::Sets(sets) => {
                let mut set = set::elements(vector)?;
                if set.is_empty() {
                    return Err(Error::empty_set());
                }
                if set.len() > limits::MAX_SET {
                    return Err(Error::too_large(format!(
                        "set of {} elements exceeds the limit of {}",
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

fn normalized(row: Vec<f32>) -> Result<Vec<f32>> {
    let length = libm::sqrt(row.iter().map(|&x| f64::from(x) * f64::from(x)).sum());
    if length == 0.0 {
        return Err(Error::zero_vector());
    }
    Ok(row.iter().map(|&x| (f64::from(x) / length) as f32).collect())
}
