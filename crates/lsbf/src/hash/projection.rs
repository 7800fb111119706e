//! Random projections divided into buckets of equal width (Datar and others 2004): Gaussian for l2, Cauchy for l1.

use super::linear::Linear;
use super::path::Path;
use super::probe::{Alternative, Wanted};
use super::{Buckets, Lsh, floor};
use crate::error::Result;
use crate::mix::mix;
use crate::params::Params;
use crate::vector::Vector;

const LAST_BUCKET: f64 = (1u64 << 62) as f64;

/// The projections of a filter with their offsets, and the buckets of the last vector.
pub struct Projection {
    linear: Linear,
    /// Random offsets in units of the width: within one bucket, or for an ILBF over all of its small Bloom filters, so
    /// that data with a small spread does not fill the same few. The paper's aligned blocks use offsets within one
    /// bucket.
    offsets: Vec<f64>,
    width: f64,
    /// The bucket of each projection.
    buckets: Vec<i64>,
}

impl Projection {
    /// Expands the projections of a filter.
    pub fn new(params: &Params, dims: u32) -> Result<Self> {
        let (linear, mut offsets) = Linear::new(params, dims)?;
        let spread = if params.aligned { 1.0 } else { f64::from(params.blooms.max(1)) };
        offsets.iter_mut().for_each(|offset| *offset *= spread);
        let buckets = vec![0; offsets.len()];
        Ok(Projection { linear, offsets, width: params.width, buckets })
    }

    /// The bucket of each projection.
    #[inline]
    pub fn numbers(&self) -> &[i64] {
        &self.buckets
    }

    /// The position of each projection within its bucket, from 0 to 1.
    #[inline]
    pub fn fractions(&self) -> &[f64] {
        &self.linear.projections
    }
}

impl Lsh for Projection {
    #[inline]
    fn start(&mut self, vector: &Vector) -> Result<()> {
        self.linear.project(vector)?;
        let path = self.linear.path();
        let (y, buckets) = (&mut self.linear.projections, &mut self.buckets);
        match path {
            // SAFETY: a path is only chosen if the processor has it, and every AVX-512 processor has AVX2.
            #[cfg(target_arch = "x86_64")]
            Path::Avx2 | Path::Avx512 => unsafe { cut_avx2(y, &self.offsets, self.width, buckets) },
            _ => cut(y, &self.offsets, self.width, buckets, |x| floor(x) as f64),
        }
        Ok(())
    }

    #[inline]
    fn buckets(&self) -> Buckets<'_> {
        Buckets::Numbers(&self.buckets)
    }

    fn id(&self, _: &Vector, keys: &[u64]) -> u64 {
        id(self.linear.is_fast(), keys, &self.linear.projections)
    }

    /// Neighbouring buckets; the cost is the distance to their boundary.
    #[inline]
    fn alternatives(&self, wanted: &Wanted, out: &mut Vec<Alternative>) {
        for rank in 1..=wanted.ranks {
            let (shift, distance) = neighbour(self.linear.projections[wanted.at], rank);
            let cost = distance as f32;
            if cost >= wanted.bound {
                break;
            }
            out.push(Alternative::new(cost, wanted.hash, shift as i16));
        }
    }

    #[inline]
    fn other(&self, own: i64, mark: i16) -> i64 {
        own.wrapping_add(i64::from(mark))
    }

    fn bytes(&self) -> usize {
        self.linear.bytes() + (self.offsets.capacity() + self.buckets.capacity()) * size_of::<u64>()
    }
}

/// A hash of a vector's content, from its projections: different vectors practically never have the same ones.
pub fn id(is_fast: bool, keys: &[u64], projections: &[f64]) -> u64 {
    if is_fast {
        // Little-endian, as the filter is stored.
        #[cfg(target_endian = "little")]
        return xxhash_rust::xxh3::xxh3_64(bytemuck::cast_slice(projections));
        #[cfg(target_endian = "big")]
        return xxhash_rust::xxh3::xxh3_64(&projections.iter().flat_map(|y| y.to_le_bytes()).collect::<Vec<u8>>());
    }
    let id = keys.iter().fold(0, |id, &key| mix(id, key));
    projections.iter().fold(id, |id, y| mix(id, y.to_bits()))
}

/// The `rank`-th nearest other bucket, for a projection at position `fraction` of its bucket: its number relative to
/// the own one, and the distance to its boundary.
#[inline]
pub fn neighbour(fraction: f64, rank: usize) -> (i64, f64) {
    let (nearest, side) = if fraction < 0.5 { (fraction, -1) } else { (1.0 - fraction, 1) };
    let step = rank.div_ceil(2) as i64;
    match rank % 2 {
        1 => (side * step, (step - 1) as f64 + nearest),
        _ => (-side * step, (step - 1) as f64 + 1.0 - nearest),
    }
}

/// Replaces projections by their positions within their buckets, and writes the buckets to `values`.
#[inline(always)]
fn cut(y: &mut [f64], offsets: &[f64], width: f64, values: &mut [i64], floor: impl Fn(f64) -> f64) {
    for ((y, offset), value) in y.iter_mut().zip(offsets).zip(values) {
        // Projections beyond 2^62 widths share the last bucket.
        let scaled = (*y / width + offset).clamp(-LAST_BUCKET, LAST_BUCKET);
        let whole = floor(scaled);
        *value = whole as i64;
        *y = scaled - whole;
    }
}

/// [`cut`] with AVX2, which has an instruction to round down.
///
/// SAFETY: the processor must have AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn cut_avx2(y: &mut [f64], offsets: &[f64], width: f64, values: &mut [i64]) {
    cut(y, offsets, width, values, f64::floor);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::{Family, Kind, Metric};
    use half::f16;

    fn hashed(functions: &mut Projection, vector: &Vector) -> (Vec<i64>, Vec<u64>) {
        functions.start(vector).unwrap();
        (functions.buckets.clone(), functions.fractions().iter().map(|y| y.to_bits()).collect())
    }

    #[test]
    fn every_path_gives_the_same_buckets() {
        let y: Vec<f64> = [0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 1e-300, -1e-300, 4.999, 1e15, -1e17, 1e30, -1e300].into();
        let offsets: Vec<f64> = (0..y.len()).map(|i| i as f64 / 13.0).collect();
        for width in [1.0, 0.3, 1e-5, 7e8] {
            let (mut plain, mut values) = (y.clone(), vec![0; y.len()]);
            cut(&mut plain, &offsets, width, &mut values, |x| floor(x) as f64);
            #[cfg(target_arch = "x86_64")]
            if std::arch::is_x86_feature_detected!("avx2") {
                let (mut fast, mut found) = (y.clone(), vec![0; y.len()]);
                // SAFETY: the processor has AVX2.
                unsafe { cut_avx2(&mut fast, &offsets, width, &mut found) };
                assert_eq!(found, values);
                assert_eq!(fast, plain);
            }
            assert!(plain.iter().all(|fraction| (0.0..1.0).contains(fraction)), "{plain:?}");
        }
    }

    #[test]
    fn equal_vectors_of_every_type_have_the_same_buckets() {
        for dims in [3usize, 16, 100] {
            let params = Params::example(Kind::Lsbf, Metric::L2, Family::Gaussian);
            // The scratch memory is shared: no vector may affect the next one.
            let mut functions = Projection::new(&params, dims as u32).unwrap();
            for step in [1, 2, 7, 50] {
                let bits = |i: usize| if i.is_multiple_of(step) { 0x3c00 + 37 * i as u16 } else { 0 };
                let halves: Vec<f16> = (0..dims).map(|i| f16::from_bits(bits(i))).collect();
                let floats: Vec<f32> = halves.iter().map(|half| half.to_f32()).collect();
                let doubles: Vec<f64> = floats.iter().map(|&x| f64::from(x)).collect();
                let indices: Vec<i32> = (0..dims as i32).step_by(step).collect();
                let values: Vec<f32> = indices.iter().map(|&i| floats[i as usize]).collect();
                let expected = hashed(&mut functions, &Vector::F64(&doubles));
                for vector in [
                    Vector::Sparse { dims, indices: &indices, values: &values },
                    Vector::F32(&floats),
                    Vector::Dense(&floats),
                    Vector::F16(&halves),
                ] {
                    hashed(&mut functions, &Vector::F16(&vec![f16::MAX; dims]));
                    assert_eq!(hashed(&mut functions, &vector), expected, "{vector:?}");
                }
            }
        }
    }
}
