//! Random projections: Gaussian for l2, Cauchy for l1, both cut into buckets of a width; and Gaussian hyperplanes for
//! the cosine distance, where only the side counts.

use super::kernel::{Path, multiply_double, multiply_sparse, padded};
use super::rng::Stream;
use super::{Buckets, floor};
use crate::error::{Code, Error, Result};
use crate::filter::params::{Family, Params};
use crate::vector::{Vector, half};

/// A sparse vector is multiplied as such where less than one element in so many is set; else the dense product, which
/// gives the same bits, is faster.
const SPARSE: usize = 32;

const LAST_BUCKET: f64 = (1u64 << 62) as f64;

/// The projection matrix with its offsets.
pub struct Projection {
    /// One row a function, padded with zeros.
    matrix: Vec<f32>,
    /// Offsets in units of the width: within a bucket, or for the ILBF anywhere among its Blooms, so that projections
    /// of data that spread little do not all crowd the same ones. The paper's aligned blocks go without.
    offsets: Vec<f64>,
    width: f64,
    dims: usize,
    hashes: usize,
    path: Path,
}

impl Projection {
    pub fn new(params: &Params, dims: u32) -> Result<Self> {
        super::check_expansion(params, dims)?;
        let (tables, hashes, dims) = (params.tables as usize, params.hashes as usize, dims as usize);
        let row = padded(dims);
        let mut matrix = Vec::new();
        let size = row * tables * hashes;
        matrix.try_reserve_exact(size).map_err(|_| Error::new(Code::OutOfMemory, "out of memory"))?;
        matrix.resize(size, 0.0f32);
        let mut offsets = Vec::with_capacity(tables * hashes);
        let spread = if params.aligned { 1.0 } else { f64::from(params.blooms.max(1)) };
        for table in 0..tables {
            let mut stream = Stream::new(params.seed, table as u64);
            for hash in 0..hashes {
                offsets.push(stream.uniform() * spread);
                for value in &mut matrix[(table * hashes + hash) * row..][..dims] {
                    *value = match params.family {
                        Family::Cauchy => stream.cauchy(),
                        _ => stream.gaussian(),
                    } as f32;
                }
            }
        }
        let path = Path::available().pop().unwrap_or(Path::Plain);
        Ok(Projection { matrix, offsets, width: params.width, dims, hashes, path })
    }

    pub fn bytes(&self) -> usize {
        self.matrix.len() * size_of::<f32>() + self.offsets.len() * size_of::<f64>()
    }

    /// Bucket numbers, with the place inside the bucket.
    pub fn buckets(&self, vector: &Vector, out: &mut Buckets) -> Result<()> {
        self.project(vector, out)?;
        for ((y, value), offset) in out.positions.iter_mut().zip(&mut out.values).zip(&self.offsets) {
            // Vectors beyond 2^62 widths share the last bucket.
            let scaled = (*y / self.width + offset).clamp(-LAST_BUCKET, LAST_BUCKET);
            *value = floor(scaled);
            *y = scaled - *value as f64;
        }
        Ok(())
    }

    /// Sides of the hyperplanes, with the signed distance from them.
    pub fn signs(&self, vector: &Vector, out: &mut Buckets) -> Result<()> {
        self.project(vector, out)?;
        // Only a zero vector lies in all planes at once.
        if out.positions.iter().all(|&y| y == 0.0) {
            return Err(Error::data("a zero vector has no direction, so no cosine distance"));
        }
        for (key, y) in out.keys.iter_mut().zip(out.positions.chunks(self.hashes)) {
            *key = y.iter().fold(0, |key, &y| key << 1 | u64::from(y >= 0.0));
        }
        Ok(())
    }

    fn project(&self, vector: &Vector, out: &mut Buckets) -> Result<()> {
        out.positions.resize(self.offsets.len(), 0.0);
        let (singles, doubles, y) = (&mut out.singles, &mut out.doubles, &mut out.positions);
        let width = padded(self.dims);
        match *vector {
            Vector::F32(x) | Vector::Dense(x) if self.dims == width => {
                self.path.multiply(&self.matrix, x, y);
                return finite(y, x);
            }
            Vector::F32(x) | Vector::Dense(x) => {
                singles.clear();
                singles.extend_from_slice(x);
            }
            Vector::Sparse { indices, values, .. } if indices.len() * SPARSE < self.dims => {
                multiply_sparse(&self.matrix, width, indices, values, y);
                return finite(y, values);
            }
            Vector::Sparse { indices, values, .. } => {
                singles.clear();
                singles.resize(width, 0.0);
                indices.iter().zip(values).for_each(|(&i, &x)| singles[i as usize] = x);
            }
            Vector::F16(x) => {
                singles.clear();
                singles.extend(x.iter().map(|&x| half(x)));
            }
            _ => {
                load(vector, doubles)?;
                // The same numbers hash alike whatever type carries them: what fits singles is taken as singles.
                singles.clear();
                singles.extend(doubles.iter().map(|&x| x as f32));
                if singles.iter().zip(&*doubles).any(|(&s, &d)| f64::from(s) != d) {
                    doubles.resize(width, 0.0);
                    multiply_double(&self.matrix, doubles, y);
                    return finite(y, doubles);
                }
            }
        }
        singles.resize(width, 0.0);
        self.path.multiply(&self.matrix, singles, y);
        finite(y, singles)
    }
}

/// Checks the result, and only where that is not finite the vector.
fn finite<T: Copy + Into<f64>>(y: &[f64], input: &[T]) -> Result<()> {
    if y.iter().all(|y| y.is_finite()) {
        return Ok(());
    }
    let mut input = input.iter().map(|&x| x.into());
    if input.clone().any(f64::is_nan) {
        Err(Error::data("vector contains NaN"))
    } else if input.any(f64::is_infinite) {
        Err(Error::data("vector contains infinity"))
    } else {
        Err(Error::data("vector is too large to be projected"))
    }
}

/// Lays out a vector as doubles.
fn load(vector: &Vector, out: &mut Vec<f64>) -> Result<()> {
    out.clear();
    match *vector {
        Vector::F64(x) => out.extend_from_slice(x),
        Vector::Ints(x) => out.extend(x.iter().map(|&x| f64::from(x))),
        Vector::BigInts(x) => out.extend(x.iter().map(|&x| x as f64)),
        other => return Err(Error::data(format!("cannot project {}", other.type_name()))),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter::params::{Kind, Metric};
    use crate::theory::design::{Spec, parameters};

    fn hashed(functions: &Projection, vector: &Vector, out: &mut Buckets) -> (Vec<i64>, Vec<u64>) {
        out.values.resize(functions.offsets.len(), 0);
        functions.buckets(vector, out).unwrap();
        (out.values.clone(), out.positions.iter().map(|y| y.to_bits()).collect())
    }

    #[test]
    fn equal_vectors_of_every_type_have_the_same_buckets() {
        for dims in [3usize, 16, 100] {
            let spec = Spec { dims: Some(dims as i64), capacity: Some(100), near: Some(1.0), ..Spec::default() };
            let functions =
                Projection::new(&parameters(Kind::Lsbf, Metric::L2, &spec).unwrap().0, dims as u32).unwrap();
            // One memory for all, as in a statement: what a vector leaves there must not show in the next.
            let mut out = Buckets::default();
            for step in [1, 2, 7, 50] {
                let halfs: Vec<u16> =
                    (0..dims).map(|i| if i % step == 0 { 0x3c00 + 37 * i as u16 } else { 0 }).collect();
                let floats: Vec<f32> = halfs.iter().map(|&h| half(h)).collect();
                let doubles: Vec<f64> = floats.iter().map(|&x| f64::from(x)).collect();
                let indices: Vec<i32> = (0..dims as i32).step_by(step).collect();
                let values: Vec<f32> = indices.iter().map(|&i| floats[i as usize]).collect();
                let expected = hashed(&functions, &Vector::F64(&doubles), &mut out);
                for vector in [
                    Vector::Sparse { dims, indices: &indices, values: &values },
                    Vector::F32(&floats),
                    Vector::Dense(&floats),
                    Vector::F16(&halfs),
                ] {
                    hashed(&functions, &Vector::F16(&vec![0x7bff; dims]), &mut out);
                    assert_eq!(hashed(&functions, &vector, &mut out), expected, "{vector:?}");
                }
            }
        }
    }
}
