//! Random projections of vectors: by a dense matrix of Gaussian or Cauchy numbers, or by fast transforms.

use super::hadamard::Hadamard;
use super::kernel::Matrix;
use super::path::Path;
use super::rng::Stream;
use crate::error::{Code, Error, Result};
use crate::interrupt;
use crate::params::{Family, Params};
use crate::vector::Vector;
use crate::vector::dense::{Dense, Numbers, is_zero, not_finite};

/// The sparse product is used for vectors with fewer than one nonzero element in this many; otherwise the dense
/// product, which gives the same bits, is faster.
const SPARSE: usize = 32;

enum Map {
    /// One row per projection.
    Dense(Matrix),
    Fast(Hadamard),
}

/// The random projections of a filter.
pub struct Linear {
    map: Map,
    dims: usize,
    path: Path,
    dense: Dense,
    /// The projections of the last vector.
    pub projections: Vec<f64>,
}

impl Linear {
    /// Expands the projections of a filter, and the offsets of their buckets, which are uniform in [0, 1).
    pub fn new(params: &Params, dims: u32) -> Result<(Self, Vec<f64>)> {
        super::check_expansion(params, dims)?;
        let (tables, hashes, dims) = (params.tables as usize, params.hashes as usize, dims as usize);
        let count = params.projections() as usize;
        let map = match params.family.is_fast() {
            true => Hadamard::new(params.seed, dims, count).map(Map::Fast),
            false => Matrix::new(count, dims).map(Map::Dense),
        };
        let mut map = map.ok_or_else(|| Error::new(Code::OutOfMemory, "out of memory"))?;
        let mut offsets = Vec::with_capacity(tables * hashes);
        for table in 0..tables {
            let mut stream = Stream::new(params.seed, table as u64);
            for hash in 0..hashes {
                offsets.push(stream.uniform());
                let Map::Dense(matrix) = &mut map else { continue };
                interrupt::check();
                for column in 0..dims {
                    let value = match params.family {
                        Family::Cauchy => stream.cauchy(),
                        _ => stream.gaussian(),
                    };
                    matrix.set(table * hashes + hash, column, value as f32);
                }
            }
        }
        let projections = vec![0.0; count];
        Ok((Linear { map, dims, path: Path::best(), dense: Dense::default(), projections }, offsets))
    }

    /// Whether projections are computed by fast transforms.
    pub fn is_fast(&self) -> bool {
        matches!(self.map, Map::Fast(_))
    }

    /// The instruction set in use.
    pub fn path(&self) -> Path {
        self.path
    }

    /// Bytes of memory held.
    pub fn bytes(&self) -> usize {
        let map = match &self.map {
            Map::Dense(matrix) => matrix.bytes(),
            Map::Fast(functions) => functions.bytes(),
        };
        map + self.dense.bytes() + self.projections.capacity() * size_of::<f64>()
    }

    /// Projects a vector.
    #[inline]
    pub fn project(&mut self, vector: &Vector) -> Result<()> {
        let Linear { map, dims, path, dense, projections: y } = self;
        if let (Vector::Sparse { indices, values, .. }, Map::Dense(matrix)) = (vector, &*map)
            && indices.len() * SPARSE < *dims
        {
            matrix.multiply_sparse(indices, values, y);
            return finite(y, values);
        }
        match (dense.exact(vector)?, &*map) {
            (Numbers::Singles(x), Map::Dense(matrix)) => {
                matrix.multiply(*path, x, y);
                finite(y, x)
            }
            (Numbers::Singles(x), Map::Fast(functions)) => {
                functions.project(*path, x, y);
                finite(y, x)
            }
            (Numbers::Doubles(x), Map::Dense(matrix)) => {
                matrix.multiply_double(*path, x, y);
                finite(y, x)
            }
            (Numbers::Doubles(x), Map::Fast(functions)) => {
                functions.project(*path, x, y);
                finite(y, x)
            }
        }
    }
}

/// Checks that the projections are finite. The vector is inspected only if they are not.
#[inline]
fn finite<T: Copy + Into<f64>>(y: &[f64], input: &[T]) -> Result<()> {
    if y.iter().all(|y| y.is_finite()) { Ok(()) } else { Err(not_finite(input)) }
}

/// Rejects a zero vector. All of its projections are zero, which is almost never the case for other vectors.
pub fn check_direction(vector: &Vector, projections: &[f64]) -> Result<()> {
    if projections.iter().all(|&y| y == 0.0) && is_zero(vector) {
        return Err(Error::zero_vector());
    }
    Ok(())
}
