//! Cross-polytope hashes: of D projections of a vector, the one that is largest in size, and its sign. Among the hashes of
//! directions it is the one that tells near from far best (Andoni and others 2015); the projections come from fast
//! transforms. The next larger ones are what a near vector is likely to have instead.
//!
//! Everything is done in single precision: vectors of doubles are rounded first.

use super::hadamard::Hadamard;
use super::path::Path;
use super::probe::{Alternative, RANKS};
use super::{Buckets, projection};
use crate::error::{Code, Error, Result};
use crate::filter::params::{Metric, Params};
use crate::vector::{Vector, half};

/// A corner is a projection's size, with its number and sign in the lowest bits: one comparison orders sizes, and no two
/// are equal.
const NAME: u32 = 0xff;
/// The size of infinity.
const INFINITE: u32 = 0x7f80_0000;

/// Random rotations, and where they take the centre.
pub struct Polytopes {
    rotations: Hadamard,
    /// Projections of the centre; empty where there is none.
    centre: Vec<f32>,
    metric: Metric,
    count: usize,
    dims: usize,
    path: Path,
}

impl Polytopes {
    /// The centre is empty where there is none.
    pub fn new(params: &Params, dims: u32, centre: &[f32]) -> Result<Self> {
        super::check_expansion(params, dims)?;
        let count = params.projections() as usize;
        let rotations = Hadamard::new(params.seed, dims as usize, count);
        let rotations = rotations.ok_or_else(|| Error::new(Code::OutOfMemory, "out of memory"))?;
        let mut made = Polytopes {
            rotations,
            centre: Vec::new(),
            metric: params.metric,
            count,
            dims: params.polytope() as usize,
            path: Path::best(),
        };
        if !centre.is_empty() {
            if centre.len() != dims as usize {
                let given = centre.len();
                return Err(Error::new(Code::Parameter, format!("centre has {given} dimensions, not {dims}")));
            }
            let mut projected = vec![0.0; count];
            made.rotations.project_singles(made.path, centre, &mut projected);
            made.centre = projected;
        }
        Ok(made)
    }

    pub fn bytes(&self) -> usize {
        self.rotations.bytes() + self.centre.len() * size_of::<f32>()
    }

    /// The nearest corner of every hash, with what [`Polytopes::alternatives`] needs.
    pub fn corners(&self, vector: &Vector, out: &mut Buckets) -> Result<()> {
        let mut singles = std::mem::take(&mut out.singles);
        let found = match *vector {
            Vector::F32(x) | Vector::Dense(x) => self.corners_of(x, out),
            _ => load(vector, &mut singles, &mut out.doubles).and_then(|()| self.corners_of(&singles, out)),
        };
        out.singles = singles;
        found
    }

    fn corners_of(&self, x: &[f32], out: &mut Buckets) -> Result<()> {
        out.rotated.resize(self.count, 0.0);
        self.rotations.project_singles(self.path, x, &mut out.rotated);
        if self.metric == Metric::Cosine {
            projection::check_direction(&Vector::F32(x), &out.rotated)?;
        }
        if !self.centre.is_empty() {
            let scale = match self.metric {
                Metric::Cosine => (1.0 / length(x)) as f32,
                _ => 1.0,
            };
            out.rotated.iter_mut().zip(&self.centre).for_each(|(y, centre)| *y = *y * scale - centre);
        }
        out.corners.resize(self.count, 0);
        out.tops.resize(self.count / self.dims, 0);
        name(self.path, &out.rotated, &mut out.corners, self.dims, &mut out.tops);
        if out.tops.iter().any(|&top| top >= INFINITE) {
            return Err(projection::not_finite(x));
        }
        out.values.iter_mut().zip(&out.tops).for_each(|(value, &top)| *value = i64::from(top & NAME));
        Ok(())
    }

    /// What a table's costs are measured in: one over the largest of its projections.
    pub fn unit(&self, hashes: std::ops::Range<usize>, out: &Buckets) -> f32 {
        let largest = size(out.tops[hashes].iter().copied().max().unwrap_or(0));
        if largest > f32::MIN_POSITIVE * 16.0 { 1.0 / largest } else { 0.0 }
    }

    /// The corners of a hash that are little smaller than the largest one; how much, in units, is their cost.
    #[inline]
    pub fn alternatives(
        &self,
        at: usize,
        hash: usize,
        unit: f32,
        bound: f32,
        buckets: &Buckets,
        out: &mut Vec<Alternative>,
    ) {
        let corners = &buckets.corners[at * self.dims..][..self.dims];
        let top = buckets.tops[at];
        // Roughly first: a little below the smallest size that is cheap enough.
        let gap = bound / unit * 1.001;
        let least = (size(top) - gap).max(0.0).to_bits() & !NAME;
        let start = out.len();
        let mut large = at_least(self.path, corners, least);
        while large != 0 {
            let corner = corners[large.trailing_zeros() as usize];
            large &= large - 1;
            let gap = (size(top) - size(corner)) * unit;
            if corner != top && gap < bound {
                out.push(Alternative::new(gap, hash, (corner & NAME) as i16));
            }
        }
        if out.len() > start + RANKS {
            out[start..].sort_unstable();
            out.truncate(start + RANKS);
        }
    }
}

/// Lays out a vector as singles.
fn load(vector: &Vector, singles: &mut Vec<f32>, doubles: &mut Vec<f64>) -> Result<()> {
    singles.clear();
    match *vector {
        Vector::F16(x) => singles.extend(x.iter().map(|&x| half(x))),
        Vector::Sparse { dims, indices, values } => {
            singles.resize(dims, 0.0);
            indices.iter().zip(values).for_each(|(&i, &x)| singles[i as usize] = x);
        }
        Vector::F64(x) => singles.extend(x.iter().map(|&x| x as f32)),
        _ => {
            projection::load(vector, doubles)?;
            singles.extend(doubles.iter().map(|&x| x as f32));
        }
    }
    Ok(())
}

/// The length of a vector, summed in one fixed order: eight running sums of squares, in doubles.
fn length(x: &[f32]) -> f64 {
    let mut sums = [0.0f64; 8];
    let (whole, rest) = x.as_chunks::<8>();
    for x in whole {
        sums.iter_mut().zip(x).for_each(|(sum, &x)| *sum += f64::from(x) * f64::from(x));
    }
    sums.iter_mut().zip(rest).for_each(|(sum, &x)| *sum += f64::from(x) * f64::from(x));
    sums.iter().sum::<f64>().sqrt()
}

/// The size of a projection, to some 15 bits.
#[inline(always)]
fn size(corner: u32) -> f32 {
    f32::from_bits(corner & !NAME)
}

#[inline(always)]
fn name_plain(y: &[f32], corners: &mut [u32], dims: usize, tops: &mut [u32]) {
    for ((y, corners), top) in y.chunks_exact(dims).zip(corners.chunks_exact_mut(dims)).zip(tops) {
        let mut largest = 0;
        for ((i, y), corner) in (0u32..).zip(y).zip(corners) {
            let bits = y.to_bits();
            *corner = bits & 0x7fff_ffff & !NAME | i << 1 | bits >> 31;
            largest = largest.max(*corner);
        }
        *top = largest;
    }
}

/// Names the corners of all hashes, and finds the largest of each.
fn name(path: Path, y: &[f32], corners: &mut [u32], dims: usize, tops: &mut [u32]) {
    match path {
        // SAFETY: a path is only handed out where the processor has it, and every AVX-512 processor has AVX2.
        #[cfg(target_arch = "x86_64")]
        Path::Avx2 | Path::Avx512 => unsafe { wide::name(y, corners, dims, tops) },
        _ => name_plain(y, corners, dims, tops),
    }
}

/// Which of up to 128 corners are at least so large.
#[inline]
fn at_least(path: Path, corners: &[u32], least: u32) -> u128 {
    match path {
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Path::Avx2 | Path::Avx512 if corners.len() >= 8 => unsafe { wide::at_least(corners, least) },
        _ => corners.iter().rev().fold(0, |large, &corner| large << 1 | u128::from(corner >= least)),
    }
}

#[cfg(target_arch = "x86_64")]
mod wide {
    use std::arch::x86_64::*;

    /// SAFETY: the processor must have AVX2.
    #[target_feature(enable = "avx2")]
    pub unsafe fn name(y: &[f32], corners: &mut [u32], dims: usize, tops: &mut [u32]) {
        match dims {
            // With a length known when compiled, a hash is a few registers.
            8 => super::name_plain(y, corners, 8, tops),
            16 => super::name_plain(y, corners, 16, tops),
            32 => super::name_plain(y, corners, 32, tops),
            _ => super::name_plain(y, corners, dims, tops),
        }
    }

    /// SAFETY: the processor must have AVX2; there must be a multiple of eight corners.
    #[target_feature(enable = "avx2")]
    pub unsafe fn at_least(corners: &[u32], least: u32) -> u128 {
        let mut large = 0;
        // Corners are below 2^31, so that they can be compared as signed numbers.
        let bound = _mm256_set1_epi32(least as i32 - 1);
        for (i, corners) in corners.as_chunks::<8>().0.iter().enumerate() {
            // SAFETY: eight corners are as long as a register.
            let corners = unsafe { _mm256_loadu_si256(corners.as_ptr().cast()) };
            let larger = _mm256_castsi256_ps(_mm256_cmpgt_epi32(corners, bound));
            large |= u128::from(_mm256_movemask_ps(larger) as u8) << (8 * i);
        }
        large
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::rng::Stream;

    #[test]
    fn every_path_names_the_same_corners() {
        let mut s = Stream::new(8, 0);
        for dims in [2usize, 4, 8, 16, 32, 64, 128] {
            let y: Vec<f32> = (0..3 * dims).map(|_| s.gaussian() as f32).collect();
            for path in Path::available() {
                let (mut corners, mut tops) = (vec![0; 3 * dims], vec![0; 3]);
                name(path, &y, &mut corners, dims, &mut tops);
                for (i, &corner) in corners.iter().enumerate() {
                    assert_eq!(corner & NAME, (i % dims) as u32 * 2 + u32::from(y[i] < 0.0), "{path:?}");
                    assert!((size(corner) / y[i].abs() - 1.0).abs() < 1e-4);
                }
                for (hash, &top) in tops.iter().enumerate() {
                    let corners = &corners[hash * dims..][..dims];
                    assert_eq!(Some(&top), corners.iter().max());
                    let least = corners[dims / 2];
                    let large = at_least(path, corners, least);
                    assert!((0..dims).all(|i| (large >> i & 1 == 1) == (corners[i] >= least)), "{path:?} {dims}");
                }
            }
        }
    }
}
