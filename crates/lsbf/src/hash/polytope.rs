//! Cross-polytope hashes: the nearest vertex of a randomly rotated cross-polytope, which is the largest in absolute
//! value of D projections of a vector, with its sign. They are asymptotically optimal for the angular distance (Andoni
//! and others 2015). The projections are computed by fast transforms. The next largest projections are the likely
//! hashes of near vectors.
//!
//! Everything is computed in single precision: other vectors are rounded first.

use super::hadamard::{BLOCK, Hadamard};
use super::linear::check_direction;
use super::path::Path;
use super::probe::{Alternative, RANKS, Wanted};
use super::{Buckets, Lsh};
use crate::error::{Code, Error, Result};
use crate::mix::mix;
use crate::params::{Metric, Params};
use crate::vector::Vector;
use crate::vector::dense::{Dense, not_finite};
use std::ops::Range;

/// A vertex ("corner") is the absolute value of a projection as bits, with the projection's number and sign in the
/// least significant eight bits: integer comparison orders vertices by size, and no two are equal.
const NAME: u32 = 0xff;
/// The bits of infinity.
const INFINITE: u32 = 0x7f80_0000;

/// Random rotations, and the hashes of the last vector.
pub struct Polytopes {
    rotations: Hadamard,
    /// Projections of the centre; empty if there is none.
    centre: Vec<f32>,
    metric: Metric,
    count: usize,
    dims: usize,
    hashes: usize,
    path: Path,
    dense: Dense,
    /// First transforms, projections, and vertices.
    first: Vec<f32>,
    rotated: Vec<f32>,
    corners: Vec<u32>,
    /// The nearest vertex of each hash, and its number and sign.
    tops: Vec<u32>,
    names: Vec<i64>,
    /// The number of projections computed so far.
    reached: usize,
    /// The factor that normalizes the vector to length 1 (cosine).
    scale: f32,
}

impl Polytopes {
    /// Draws the rotations of a filter. An empty centre stands for none.
    pub fn new(params: &Params, dims: u32, centre: &[f32]) -> Result<Self> {
        super::check_expansion(params, dims)?;
        let (count, polytope) = (params.projections() as usize, params.polytope() as usize);
        let rotations = Hadamard::new(params.seed, dims as usize, count);
        let rotations = rotations.ok_or_else(|| Error::new(Code::OutOfMemory, "out of memory"))?;
        let mut made = Polytopes {
            rotations,
            centre: Vec::new(),
            metric: params.metric,
            count,
            dims: polytope,
            hashes: params.hashes as usize,
            path: Path::best(),
            dense: Dense::default(),
            first: Vec::new(),
            rotated: vec![0.0; count.next_multiple_of(BLOCK)],
            corners: vec![0; count],
            tops: vec![0; count / polytope],
            names: vec![0; count / polytope],
            reached: 0,
            scale: 1.0,
        };
        made.project_centre(dims, centre)?;
        Ok(made)
    }

    fn project_centre(&mut self, dims: u32, centre: &[f32]) -> Result<()> {
        if centre.is_empty() {
            return Ok(());
        }
        if centre.len() != dims as usize {
            let given = centre.len();
            return Err(Error::new(Code::Parameter, format!("centre must have {dims} dimensions, not {given}")));
        }
        let mut projected = vec![0.0; self.count];
        let mut first = Vec::new();
        self.rotations.first_singles(self.path, centre, &mut first);
        for (pass, projected) in projected.chunks_mut(BLOCK).enumerate() {
            self.rotations.pass_singles(self.path, pass, &first, projected);
        }
        self.centre = projected;
        Ok(())
    }

    /// Computes further projections, in whole passes, until there are `wanted`.
    fn rotate(&mut self, wanted: usize) {
        let (from, to) = (self.reached / BLOCK, wanted.div_ceil(BLOCK));
        for pass in from..to {
            let end = self.count.min((pass + 1) * BLOCK);
            self.rotations.pass_singles(self.path, pass, &self.first, &mut self.rotated[pass * BLOCK..end]);
        }
        self.reached = self.count.min(to * BLOCK);
    }

    /// Subtracts the centre from new projections, and finds the hashes that they complete.
    fn finish_from(&mut self, from: usize) -> Result<()> {
        let to = self.reached;
        if !self.centre.is_empty() {
            let scale = if self.metric == Metric::Cosine { self.scale } else { 1.0 };
            let pairs = self.rotated[from..to].iter_mut().zip(&self.centre[from..to]);
            pairs.for_each(|(y, centre)| *y = *y * scale - centre);
        }
        let (first, last) = (from / self.dims, to / self.dims);
        let range = first * self.dims..last * self.dims;
        let tops = &mut self.tops[first..last];
        name(self.path, &self.rotated[range.clone()], &mut self.corners[range], self.dims, tops);
        if tops.iter().any(|&top| top >= INFINITE) {
            return Err(Error::data("vector is too large to be projected"));
        }
        let names = &mut self.names[first..last];
        names.iter_mut().zip(tops).for_each(|(name, top)| *name = i64::from(*top & NAME));
        Ok(())
    }
}

impl Lsh for Polytopes {
    /// Computes the first projections, and checks that the vector can be hashed.
    fn start(&mut self, vector: &Vector) -> Result<()> {
        self.reached = 0;
        let x = self.dense.rounded(vector)?;
        if self.metric == Metric::Cosine && !self.centre.is_empty() {
            self.scale = (1.0 / length(x)) as f32;
        }
        self.rotations.first_singles(self.path, x, &mut self.first);
        self.rotate(self.dims);
        let y = &self.rotated[..self.reached];
        if y.iter().any(|y| !y.is_finite()) {
            return Err(not_finite(self.dense.rounded(vector)?));
        }
        if self.metric == Metric::Cosine {
            if y.iter().all(|&y| y == 0.0) {
                check_direction(&Vector::F32(self.dense.rounded(vector)?), y)?;
            }
            if !self.centre.is_empty() && !self.scale.is_finite() {
                return Err(Error::data("vector is too small to be normalized"));
            }
        }
        self.finish_from(0)
    }

    #[inline]
    fn reach(&mut self, tables: usize) -> Result<()> {
        let (before, wanted) = (self.reached, tables * self.hashes * self.dims);
        if before >= wanted {
            return Ok(());
        }
        self.rotate(wanted);
        self.finish_from(before)
    }

    #[inline]
    fn buckets(&self) -> Buckets<'_> {
        Buckets::Numbers(&self.names)
    }

    /// A few projections are enough to identify a vector.
    fn id(&self, _: &Vector, _: &[u64]) -> u64 {
        self.rotated.iter().take(64).fold(0, |id, y| mix(id, u64::from(y.to_bits())))
    }

    /// Costs are relative to the largest projection of the table.
    fn unit(&self, hashes: Range<usize>) -> f32 {
        let largest = size(self.tops[hashes].iter().copied().max().unwrap_or(0));
        if largest > f32::MIN_POSITIVE * 16.0 { 1.0 / largest } else { 0.0 }
    }

    /// The vertices that are almost as near as the nearest one; the cost is the difference of projections.
    #[inline]
    fn alternatives(&self, wanted: &Wanted, out: &mut Vec<Alternative>) {
        let corners = &self.corners[wanted.at * self.dims..][..self.dims];
        let top = self.tops[wanted.at];
        // A rough lower bound for the projections that are cheap enough; the exact test follows below.
        let gap = wanted.bound / wanted.unit * 1.001;
        let min = (size(top) - gap).max(0.0).to_bits() & !NAME;
        let start = out.len();
        let mut large = at_least(self.path, corners, min);
        while large != 0 {
            let corner = corners[large.trailing_zeros() as usize];
            large &= large - 1;
            let gap = (size(top) - size(corner)) * wanted.unit;
            if corner != top && gap < wanted.bound {
                out.push(Alternative::new(gap, wanted.hash, (corner & NAME) as i16));
            }
        }
        if out.len() > start + RANKS {
            out[start..].sort_unstable();
            out.truncate(start + RANKS);
        }
    }

    #[inline]
    fn other(&self, _: i64, mark: i16) -> i64 {
        i64::from(mark)
    }

    fn bytes(&self) -> usize {
        let singles = self.centre.capacity() + self.first.capacity() + self.rotated.capacity();
        let words = singles + self.corners.capacity() + self.tops.capacity() + 2 * self.names.capacity();
        self.rotations.bytes() + words * size_of::<f32>() + self.dense.bytes()
    }
}

/// The l2 norm of a vector, with a fixed order of summation: eight running sums of squares, in double precision.
fn length(x: &[f32]) -> f64 {
    let mut sums = [0.0f64; 8];
    let (whole, rest) = x.as_chunks::<8>();
    for x in whole {
        sums.iter_mut().zip(x).for_each(|(sum, &x)| *sum += f64::from(x) * f64::from(x));
    }
    sums.iter_mut().zip(rest).for_each(|(sum, &x)| *sum += f64::from(x) * f64::from(x));
    sums.iter().sum::<f64>().sqrt()
}

/// The absolute value of a projection, with a precision of 15 bits.
#[inline(always)]
fn size(corner: u32) -> f32 {
    f32::from_bits(corner & !NAME)
}

/// The vertex of a projection.
#[inline(always)]
fn named(y: f32, number: u32) -> u32 {
    let bits = y.to_bits();
    bits & 0x7fff_ffff & !NAME | number << 1 | bits >> 31
}

#[inline(always)]
fn name_plain(y: &[f32], corners: &mut [u32], dims: usize, tops: &mut [u32]) {
    for ((y, corners), top) in y.chunks_exact(dims).zip(corners.chunks_exact_mut(dims)).zip(tops) {
        // Eight at a time, for vector registers.
        let (blocks, few) = (y.as_chunks::<8>(), corners.as_chunks_mut::<8>());
        let mut largest = [0u32; 8];
        for (block, (y, corners)) in blocks.0.iter().zip(few.0).enumerate() {
            for i in 0..8 {
                corners[i] = named(y[i], (block * 8 + i) as u32);
                largest[i] = largest[i].max(corners[i]);
            }
        }
        for (i, (y, corner)) in blocks.1.iter().zip(few.1).enumerate() {
            *corner = named(*y, i as u32);
            largest[i] = *corner;
        }
        *top = largest.into_iter().fold(0, u32::max);
    }
}

/// Finds the vertices of all hashes, and the nearest one of each hash.
fn name(path: Path, y: &[f32], corners: &mut [u32], dims: usize, tops: &mut [u32]) {
    match path {
        // SAFETY: the processor supports every available path, and every AVX-512 processor has AVX2.
        #[cfg(target_arch = "x86_64")]
        Path::Avx2 | Path::Avx512 => unsafe { wide::name(y, corners, dims, tops) },
        _ => name_plain(y, corners, dims, tops),
    }
}

/// A bit mask of the vertices, up to 128, that are at least `min`.
#[inline]
fn at_least(path: Path, corners: &[u32], min: u32) -> u128 {
    match path {
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Path::Avx2 | Path::Avx512 if corners.len() >= 8 => unsafe { wide::at_least(corners, min) },
        _ => corners.iter().rev().fold(0, |large, &corner| large << 1 | u128::from(corner >= min)),
    }
}

#[cfg(target_arch = "x86_64")]
mod wide {
    use std::arch::x86_64::*;

    /// SAFETY: the processor must have AVX2.
    #[target_feature(enable = "avx2")]
    pub unsafe fn name(y: &[f32], corners: &mut [u32], dims: usize, tops: &mut [u32]) {
        match dims {
            // With a constant length, a hash fits into a few registers.
            8 => super::name_plain(y, corners, 8, tops),
            16 => super::name_plain(y, corners, 16, tops),
            32 => super::name_plain(y, corners, 32, tops),
            _ => super::name_plain(y, corners, dims, tops),
        }
    }

    /// SAFETY: the processor must have AVX2; there must be a multiple of eight corners.
    #[target_feature(enable = "avx2")]
    pub unsafe fn at_least(corners: &[u32], min: u32) -> u128 {
        let mut large = 0;
        // Vertices are below 2^31, so that they can be compared as signed integers.
        let bound = _mm256_set1_epi32(min as i32 - 1);
        for (i, corners) in corners.as_chunks::<8>().0.iter().enumerate() {
            // SAFETY: eight vertices have the size of a register.
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
    fn every_path_finds_the_same_vertices() {
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
                    let min = corners[dims / 2];
                    let large = at_least(path, corners, min);
                    assert!((0..dims).all(|i| (large >> i & 1 == 1) == (corners[i] >= min)), "{path:?} {dims}");
                }
            }
        }
    }
}
