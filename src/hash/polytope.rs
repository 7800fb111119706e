//! Cross-polytope hashes: of D projections of a vector, the one that is largest in size, and its sign. Among the hashes of
//! directions it is the one that tells near from far best (Andoni and others 2015); the projections come from fast
//! transforms. The next larger ones are what a near vector is likely to have instead.
//!
//! Everything is done in single precision: vectors of doubles are rounded first.

use super::hadamard::{BLOCK, Hadamard};
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
            let mut first = Vec::new();
            made.rotations.first_singles(made.path, centre, &mut first);
            for (pass, projected) in projected.chunks_mut(BLOCK).enumerate() {
                made.rotations.pass_singles(made.path, pass, &first, projected);
            }
            made.centre = projected;
        }
        Ok(made)
    }

    pub fn dims(&self) -> usize {
        self.dims
    }

    pub fn bytes(&self) -> usize {
        self.rotations.bytes() + self.centre.len() * size_of::<f32>()
    }

    /// The nearest corner of every hash, with what [`Polytopes::alternatives`] needs.
    pub fn corners(&self, vector: &Vector, out: &mut Buckets) -> Result<()> {
        self.start(vector, out)?;
        self.reach(self.count, out)
    }

    /// Makes a vector ready for [`Polytopes::reach`].
    pub fn start(&self, vector: &Vector, out: &mut Buckets) -> Result<()> {
        out.rotated.resize(self.count.next_multiple_of(BLOCK), 0.0);
        out.corners.resize(self.count, 0);
        out.tops.resize(self.count / self.dims, 0);
        out.reached = 0;
        if !matches!(vector, Vector::F32(_) | Vector::Dense(_)) {
            load(vector, &mut out.singles, &mut out.doubles)?;
        }
        let laid_out = std::mem::take(&mut out.singles);
        let started = self.start_with(singles(vector, &laid_out), out);
        out.singles = laid_out;
        started
    }

    fn start_with(&self, x: &[f32], out: &mut Buckets) -> Result<()> {
        if self.metric == Metric::Cosine && !self.centre.is_empty() {
            out.scale = (1.0 / length(x)) as f32;
        }
        self.rotations.first_singles(self.path, x, &mut out.first);
        // The first projections tell whether there is anything wrong.
        let rotated = self.rotate(self.dims, out);
        let y = &out.rotated[..rotated];
        if y.iter().any(|y| !y.is_finite()) {
            return Err(projection::not_finite(x));
        }
        if self.metric == Metric::Cosine {
            projection::check_direction(&Vector::F32(x), y)?;
            if !self.centre.is_empty() && !out.scale.is_finite() {
                return Err(Error::data("vector is too small to be brought to length 1"));
            }
        }
        self.centre(0..rotated, out);
        self.name_from(0, out)
    }

    /// Finds at least the first so many projections, and the corners of the hashes they belong to.
    #[inline]
    pub fn reach(&self, wanted: usize, out: &mut Buckets) -> Result<()> {
        if out.reached >= wanted {
            return Ok(());
        }
        let before = out.reached;
        let rotated = self.rotate(wanted, out);
        self.centre(before..rotated, out);
        self.name_from(before, out)
    }

    /// Projects on, in whole passes.
    fn rotate(&self, wanted: usize, out: &mut Buckets) -> usize {
        let (from, to) = (out.reached / BLOCK, wanted.div_ceil(BLOCK));
        for pass in from..to {
            let end = self.count.min((pass + 1) * BLOCK);
            self.rotations.pass_singles(self.path, pass, &out.first, &mut out.rotated[pass * BLOCK..end]);
        }
        out.reached = self.count.min(to * BLOCK);
        out.reached
    }

    fn centre(&self, range: std::ops::Range<usize>, out: &mut Buckets) {
        if self.centre.is_empty() {
            return;
        }
        let scale = if self.metric == Metric::Cosine { out.scale } else { 1.0 };
        let pairs = out.rotated[range.clone()].iter_mut().zip(&self.centre[range]);
        pairs.for_each(|(y, centre)| *y = *y * scale - centre);
    }

    /// Names the corners of the hashes that are complete, from the one that contains a projection.
    fn name_from(&self, from: usize, out: &mut Buckets) -> Result<()> {
        let (first, last) = (from / self.dims, out.reached / self.dims);
        let range = first * self.dims..last * self.dims;
        let tops = &mut out.tops[first..last];
        name(self.path, &out.rotated[range.clone()], &mut out.corners[range], self.dims, tops);
        if tops.iter().any(|&top| top >= INFINITE) {
            return Err(Error::data("vector is too large to be projected"));
        }
        let values = &mut out.values[first..last];
        values.iter_mut().zip(tops).for_each(|(value, top)| *value = i64::from(*top & NAME));
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

/// A vector's singles: its own, or those it was laid out as.
fn singles<'a>(vector: &Vector<'a>, laid_out: &'a [f32]) -> &'a [f32] {
    match *vector {
        Vector::F32(x) | Vector::Dense(x) => x,
        _ => laid_out,
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
        // Bit strings are vectors of zeros and ones: as many bits differ as their squared distance says.
        Vector::Bits { bytes, len } => unpack(bytes, len, singles),
        Vector::Bytes(bytes) => unpack(bytes, bytes.len() * 8, singles),
        _ => {
            projection::load(vector, doubles)?;
            singles.extend(doubles.iter().map(|&x| x as f32));
        }
    }
    Ok(())
}

fn unpack(bytes: &[u8], len: usize, singles: &mut Vec<f32>) {
    for &byte in bytes {
        singles.extend_from_slice(&std::array::from_fn::<f32, 8, _>(|bit| f32::from(byte >> (7 - bit) & 1)));
    }
    singles.truncate(len);
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

/// One corner by its projection and number.
#[inline(always)]
fn named(y: f32, number: u32) -> u32 {
    let bits = y.to_bits();
    bits & 0x7fff_ffff & !NAME | number << 1 | bits >> 31
}

#[inline(always)]
fn name_plain(y: &[f32], corners: &mut [u32], dims: usize, tops: &mut [u32]) {
    for ((y, corners), top) in y.chunks_exact(dims).zip(corners.chunks_exact_mut(dims)).zip(tops) {
        // Eight at a time, where there are so many: that is what registers hold.
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
