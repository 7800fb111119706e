//! Random projections: Gaussian for l2, Cauchy for l1, both cut into buckets of a width; and Gaussian hyperplanes for
//! the cosine distance, where only the side counts.

use super::hadamard::Hadamard;
use super::kernel::Matrix;
use super::path::Path;
use super::rng::Stream;
use super::{Buckets, floor};
use crate::error::{Code, Error, Result};
use crate::filter::params::{Family, Params};
use crate::pause::pause;
use crate::vector::{Vector, half};

/// A sparse vector is multiplied as such where less than one element in so many is set; else the dense product, which
/// gives the same bits, is faster.
const SPARSE: usize = 32;

const LAST_BUCKET: f64 = (1u64 << 62) as f64;

/// How a vector becomes numbers.
enum Linear {
    /// One row a function.
    Dense(Matrix),
    Fast(Hadamard),
}

/// The projections with their offsets.
pub struct Projection {
    linear: Linear,
    /// Offsets in units of the width: within a bucket, or for the ILBF anywhere among its Blooms, so that projections
    /// of data that spread little do not all crowd the same ones. The paper's aligned blocks go without.
    offsets: Vec<f64>,
    count: usize,
    width: f64,
    dims: usize,
    hashes: usize,
    path: Path,
}

impl Projection {
    pub fn new(params: &Params, dims: u32) -> Result<Self> {
        super::check_expansion(params, dims)?;
        let (tables, hashes, dims) = (params.tables as usize, params.hashes as usize, dims as usize);
        let count = params.projections() as usize;
        let linear = match params.family.is_fast() {
            true => Hadamard::new(params.seed, dims, count).map(Linear::Fast),
            false => Matrix::new(count, dims).map(Linear::Dense),
        };
        let mut linear = linear.ok_or_else(|| Error::new(Code::OutOfMemory, "out of memory"))?;
        let mut offsets = Vec::with_capacity(tables * hashes);
        let spread = if params.aligned { 1.0 } else { f64::from(params.blooms.max(1)) };
        for table in 0..tables {
            let mut stream = Stream::new(params.seed, table as u64);
            for hash in 0..hashes {
                offsets.push(stream.uniform() * spread);
                let Linear::Dense(matrix) = &mut linear else { continue };
                pause();
                for column in 0..dims {
                    let value = match params.family {
                        Family::Cauchy => stream.cauchy(),
                        _ => stream.gaussian(),
                    };
                    matrix.set(table * hashes + hash, column, value as f32);
                }
            }
        }
        Ok(Projection { linear, offsets, count, width: params.width, dims, hashes, path: Path::best() })
    }

    /// Whether projections are made by fast transforms.
    pub fn is_fast(&self) -> bool {
        matches!(self.linear, Linear::Fast(_))
    }

    pub fn bytes(&self) -> usize {
        let linear = match &self.linear {
            Linear::Dense(matrix) => matrix.bytes(),
            Linear::Fast(functions) => functions.bytes(),
        };
        linear + self.offsets.len() * size_of::<f64>()
    }

    /// Bucket numbers, with the place inside the bucket.
    pub fn buckets(&self, vector: &Vector, out: &mut Buckets) -> Result<()> {
        self.project(vector, out)?;
        match self.path {
            // SAFETY: a path is only handed out where the processor has it, and every AVX-512 processor has AVX2.
            #[cfg(target_arch = "x86_64")]
            Path::Avx2 | Path::Avx512 => unsafe {
                cut_avx2(&mut out.positions, &self.offsets, self.width, &mut out.values);
            },
            _ => cut(&mut out.positions, &self.offsets, self.width, &mut out.values, |x| floor(x) as f64),
        }
        Ok(())
    }

    /// Sides of the hyperplanes, with the signed distance from them.
    pub fn signs(&self, vector: &Vector, out: &mut Buckets) -> Result<()> {
        self.project(vector, out)?;
        check_direction(vector, &out.positions)?;
        for (key, y) in out.keys.iter_mut().zip(out.positions.chunks(self.hashes)) {
            *key = y.iter().fold(0, |key, &y| key << 1 | u64::from(y >= 0.0));
        }
        Ok(())
    }

    fn project(&self, vector: &Vector, out: &mut Buckets) -> Result<()> {
        out.positions.resize(self.count, 0.0);
        let y = &mut out.positions;
        let singles = &mut out.singles;
        match *vector {
            Vector::F32(x) | Vector::Dense(x) => return self.project_singles(x, y),
            Vector::Sparse { indices, values, .. } => {
                if let Linear::Dense(matrix) = &self.linear
                    && indices.len() * SPARSE < self.dims
                {
                    matrix.multiply_sparse(indices, values, y);
                    return finite(y, values);
                }
                singles.clear();
                singles.resize(self.dims, 0.0);
                indices.iter().zip(values).for_each(|(&i, &x)| singles[i as usize] = x);
            }
            Vector::F16(x) => {
                singles.clear();
                singles.extend(x.iter().map(|&x| half(x)));
            }
            Vector::F64(x) => return self.project_doubles(x, singles, y),
            _ => {
                load(vector, &mut out.doubles)?;
                return self.project_doubles(&out.doubles, singles, y);
            }
        }
        self.project_singles(singles, y)
    }

    fn project_singles(&self, x: &[f32], y: &mut [f64]) -> Result<()> {
        match &self.linear {
            Linear::Dense(matrix) => matrix.multiply(self.path, x, y),
            Linear::Fast(functions) => functions.project(self.path, x, y),
        }
        finite(y, x)
    }

    /// The same numbers hash alike whatever type carries them: what fits singles is taken as singles.
    fn project_doubles(&self, x: &[f64], singles: &mut Vec<f32>, y: &mut [f64]) -> Result<()> {
        if x.iter().all(|&x| f64::from(x as f32) == x) {
            singles.clear();
            singles.extend(x.iter().map(|&x| x as f32));
            return self.project_singles(singles, y);
        }
        match &self.linear {
            Linear::Dense(matrix) => matrix.multiply_double(self.path, x, y),
            Linear::Fast(functions) => functions.project(self.path, x, y),
        }
        finite(y, x)
    }
}

/// Cuts projections into buckets: their numbers, and the places inside.
#[inline(always)]
fn cut(y: &mut [f64], offsets: &[f64], width: f64, values: &mut [i64], floor: impl Fn(f64) -> f64) {
    for ((y, offset), value) in y.iter_mut().zip(offsets).zip(values) {
        // Vectors beyond 2^62 widths share the last bucket.
        let scaled = (*y / width + offset).clamp(-LAST_BUCKET, LAST_BUCKET);
        let whole = floor(scaled);
        *value = whole as i64;
        *y = scaled - whole;
    }
}

/// The same with instructions that round down; without them, that is a call.
///
/// SAFETY: the processor must have AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn cut_avx2(y: &mut [f64], offsets: &[f64], width: f64, values: &mut [i64]) {
    cut(y, offsets, width, values, f64::floor);
}

/// Refuses a zero vector, whose projections are all zero.
pub fn check_direction<T: Copy + Into<f64>>(vector: &Vector, projections: &[T]) -> Result<()> {
    if projections.iter().all(|&y| y.into() == 0.0) && is_zero(vector) {
        return Err(Error::zero_vector());
    }
    Ok(())
}

/// Whether a vector is all zeros. Asked only where all its projections are zero, which a few fast ones may be by chance.
fn is_zero(vector: &Vector) -> bool {
    match *vector {
        Vector::F32(x) | Vector::Dense(x) => x.iter().all(|&x| x == 0.0),
        Vector::F64(x) => x.iter().all(|&x| x == 0.0),
        Vector::F16(x) => x.iter().all(|&x| half(x) == 0.0),
        Vector::Sparse { values, .. } => values.iter().all(|&x| x == 0.0),
        Vector::Ints(x) => x.iter().all(|&x| x == 0),
        Vector::BigInts(x) => x.iter().all(|&x| x == 0),
        _ => false,
    }
}

/// Checks the result, and only where that is not finite the vector.
fn finite<T: Copy + Into<f64>>(y: &[f64], input: &[T]) -> Result<()> {
    if y.iter().all(|y| y.is_finite()) {
        return Ok(());
    }
    Err(not_finite(input))
}

/// Why projections of a vector are not finite.
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

/// Lays out whole numbers as doubles.
pub fn load(vector: &Vector, out: &mut Vec<f64>) -> Result<()> {
    out.clear();
    match *vector {
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
        out.values.resize(functions.count, 0);
        functions.buckets(vector, out).unwrap();
        (out.values.clone(), out.positions.iter().map(|y| y.to_bits()).collect())
    }

    #[test]
    fn every_path_cuts_alike() {
        let y: Vec<f64> = [0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 1e-300, -1e-300, 4.999, 1e15, -1e17, 1e30, -1e300].into();
        let offsets: Vec<f64> = (0..y.len()).map(|i| i as f64 / 13.0).collect();
        for width in [1.0, 0.3, 1e-5, 7e8] {
            let (mut plain, mut values) = (y.clone(), vec![0; y.len()]);
            cut(&mut plain, &offsets, width, &mut values, |x| floor(x) as f64);
            #[cfg(target_arch = "x86_64")]
            if std::arch::is_x86_feature_detected!("avx2") {
                let (mut fast, mut found) = (y.clone(), vec![0; y.len()]);
                // SAFETY: the processor was asked.
                unsafe { cut_avx2(&mut fast, &offsets, width, &mut found) };
                assert_eq!(found, values);
                assert_eq!(fast, plain);
            }
            assert!(plain.iter().all(|inside| (0.0..1.0).contains(inside)), "{plain:?}");
        }
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
