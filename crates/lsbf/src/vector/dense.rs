//! Conversion of sparse vectors, half-precision numbers, integers and bits to contiguous single- or double-precision
//! numbers.

use super::Vector;
use crate::error::{Error, Result};
use half::slice::HalfFloatSliceExt;

/// Scratch memory for converted vectors, kept between rows.
#[derive(Default)]
pub struct Dense {
    singles: Vec<f32>,
    doubles: Vec<f64>,
}

/// The numbers of a vector.
pub enum Numbers<'a> {
    Singles(&'a [f32]),
    Doubles(&'a [f64]),
}

impl Dense {
    /// Bytes of memory held.
    pub fn bytes(&self) -> usize {
        self.singles.capacity() * size_of::<f32>() + self.doubles.capacity() * size_of::<f64>()
    }

    /// The numbers of a vector without loss. Vectors that single precision can represent become single precision,
    /// whatever their type, so that equal vectors of different types are hashed alike.
    #[inline]
    pub fn exact<'a>(&'a mut self, vector: &Vector<'a>) -> Result<Numbers<'a>> {
        match *vector {
            Vector::F32(x) | Vector::Dense(x) => Ok(Numbers::Singles(x)),
            Vector::F64(x) => Ok(self.narrowed(x)),
            Vector::Ints(_) | Vector::BigInts(_) => {
                let mut doubles = std::mem::take(&mut self.doubles);
                integers(vector, &mut doubles)?;
                self.doubles = doubles;
                let Dense { singles, doubles } = self;
                Ok(narrowed(doubles, singles))
            }
            _ => Ok(Numbers::Singles(self.rounded(vector)?)),
        }
    }

    fn narrowed<'a>(&'a mut self, x: &'a [f64]) -> Numbers<'a> {
        narrowed(x, &mut self.singles)
    }

    /// The numbers of a vector rounded to single precision. The bits of a bit string become zeros and ones, so that the
    /// squared l2 distance of two bit strings is the number of bits in which they differ.
    #[inline]
    pub fn rounded<'a>(&'a mut self, vector: &Vector<'a>) -> Result<&'a [f32]> {
        let singles = &mut self.singles;
        match *vector {
            Vector::F32(x) | Vector::Dense(x) => return Ok(x),
            Vector::F64(x) => {
                singles.clear();
                singles.extend(x.iter().map(|&x| x as f32));
            }
            Vector::F16(x) => {
                singles.resize(x.len(), 0.0);
                x.convert_to_f32_slice(singles);
            }
            Vector::Sparse { dims, indices, values } => {
                singles.clear();
                singles.resize(dims, 0.0);
                indices.iter().zip(values).for_each(|(&i, &x)| singles[i as usize] = x);
            }
            Vector::Bits { bytes, len } => unpack(bytes, len, singles),
            Vector::Bytes(bytes) => unpack(bytes, bytes.len() * 8, singles),
            _ => {
                integers(vector, &mut self.doubles)?;
                singles.clear();
                singles.extend(self.doubles.iter().map(|&x| x as f32));
            }
        }
        Ok(&self.singles)
    }
}

fn narrowed<'a>(x: &'a [f64], singles: &'a mut Vec<f32>) -> Numbers<'a> {
    if !x.iter().all(|&x| f64::from(x as f32) == x) {
        return Numbers::Doubles(x);
    }
    singles.clear();
    singles.extend(x.iter().map(|&x| x as f32));
    Numbers::Singles(singles)
}

fn integers(vector: &Vector, out: &mut Vec<f64>) -> Result<()> {
    out.clear();
    match *vector {
        Vector::Ints(x) => out.extend(x.iter().map(|&x| f64::from(x))),
        Vector::BigInts(x) => out.extend(x.iter().map(|&x| x as f64)),
        other => return Err(Error::data(format!("cannot project values of type {}", other.type_name()))),
    }
    Ok(())
}

fn unpack(bytes: &[u8], len: usize, singles: &mut Vec<f32>) {
    singles.clear();
    for &byte in bytes {
        singles.extend_from_slice(&std::array::from_fn::<f32, 8, _>(|bit| f32::from(byte >> (7 - bit) & 1)));
    }
    singles.truncate(len);
}

/// Whether a numeric vector is all zeros.
pub fn is_zero(vector: &Vector) -> bool {
    match *vector {
        Vector::F32(x) | Vector::Dense(x) => x.iter().all(|&x| x == 0.0),
        Vector::F64(x) => x.iter().all(|&x| x == 0.0),
        Vector::F16(x) => x.iter().all(|x| x.to_f32() == 0.0),
        Vector::Sparse { values, .. } => values.iter().all(|&x| x == 0.0),
        Vector::Ints(x) => x.iter().all(|&x| x == 0),
        Vector::BigInts(x) => x.iter().all(|&x| x == 0),
        _ => false,
    }
}

/// The error for a vector whose projections are not finite.
#[cold]
pub fn not_finite<T: Copy + Into<f64>>(input: &[T]) -> Error {
    let mut input = input.iter().map(|&x| x.into());
    Error::data(if input.clone().any(f64::is_nan) {
        "vector contains NaN"
    } else if input.any(f64::is_infinite) {
        "vector contains infinity"
    } else {
        "vector is too large to be projected"
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use half::f16;

    #[test]
    fn equal_vectors_of_different_types_convert_to_the_same_numbers() {
        let halves = [0x3c00u16, 0xc000, 0x7bff, 0x0001, 0].map(f16::from_bits);
        let expected = [1.0f32, -2.0, 65504.0, 5.9604645e-8, 0.0];
        let doubles = expected.map(f64::from);
        let (mut a, mut b) = (Dense::default(), Dense::default());
        assert_eq!(a.rounded(&Vector::F16(&halves)).unwrap(), expected);
        assert!(matches!(b.exact(&Vector::F64(&doubles)).unwrap(), Numbers::Singles(x) if x == expected));
        let sparse = Vector::Sparse { dims: 5, indices: &[0, 1, 2, 3], values: &expected[..4] };
        assert_eq!(a.rounded(&sparse).unwrap(), expected);
        assert!(matches!(b.exact(&Vector::Ints(&[1, -2])).unwrap(), Numbers::Singles(x) if *x == [1.0, -2.0]));
        assert!(matches!(b.exact(&Vector::Ints(&[i32::MAX])).unwrap(), Numbers::Doubles(_)));
        assert_eq!(a.rounded(&Vector::Bits { bytes: &[0b1010_0000], len: 3 }).unwrap(), [1.0, 0.0, 1.0]);
    }
}
