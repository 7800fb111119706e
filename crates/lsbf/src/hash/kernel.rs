//! Matrix-vector products with a fixed order of summation.
//!
//! Single-precision vectors are multiplied in single precision, because the rounding errors of the products are no
//! larger than those of the vectors themselves. Others are multiplied in double precision. Either way, a dot product
//! consists of sixteen running sums: sum `l` adds the elements `i` with `i mod 16 = l` in order. In the end they are
//! added in double precision: first `l` and `l + 8`, then ((0+4)+(2+6))+((1+5)+(3+7)). No multiplication is fused with
//! an addition, so that every [`Path`] gives the same bits.

use super::path::Path;
use crate::memory;

const LANES: usize = 16;
/// The number of rows that are multiplied at once, so that the vector is read only once and the sums stay in registers.
const ROWS: usize = 8;

/// Sixteen consecutive elements of a row, in one cache line.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C, align(64))]
struct Line([f32; LANES]);

/// A matrix in the order in which the kernels read it: blocks of eight rows, and within them sixteen columns of each
/// row in turn. It is padded with zeros to whole blocks.
pub struct Matrix {
    lines: Vec<Line>,
    rows: usize,
    columns: usize,
}

impl Matrix {
    /// A matrix of zeros; `None` if there is not enough memory.
    pub fn new(rows: usize, columns: usize) -> Option<Matrix> {
        let mut lines = Vec::new();
        let size = rows.next_multiple_of(ROWS) * columns.div_ceil(LANES);
        memory::reserve(&mut lines, size).ok()?;
        lines.resize(size, Line::default());
        Some(Matrix { lines, rows, columns })
    }

    fn line(&self, row: usize, column: usize) -> usize {
        (row / ROWS * self.columns.div_ceil(LANES) + column / LANES) * ROWS + row % ROWS
    }

    /// Sets an element.
    pub fn set(&mut self, row: usize, column: usize, value: f32) {
        let line = self.line(row, column);
        self.lines[line].0[column % LANES] = value;
    }

    fn get(&self, row: usize, column: usize) -> f32 {
        self.lines[self.line(row, column)].0[column % LANES]
    }

    /// Bytes of memory held.
    pub fn bytes(&self) -> usize {
        self.lines.len() * size_of::<Line>()
    }

    /// The blocks of eight rows.
    fn blocks(&self) -> std::slice::ChunksExact<'_, Line> {
        self.lines.chunks_exact(ROWS * self.columns.div_ceil(LANES))
    }

    /// `out[r] = row r . x`, in single precision. `x` must have as many elements as the matrix has columns.
    pub fn multiply(&self, path: Path, x: &[f32], out: &mut [f64]) {
        assert!(x.len() == self.columns && out.len() == self.rows);
        match path {
            Path::Plain => plain(self, x, out),
            // SAFETY: the lengths were checked above, and the processor supports every available path.
            #[cfg(target_arch = "x86_64")]
            Path::Sse2 => unsafe { simd::sse2(self, x, out) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Path::Avx2 => unsafe { simd::avx2(self, x, out) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Path::Avx512 => unsafe { simd::avx512(self, x, out) },
            // SAFETY: as above.
            #[cfg(target_arch = "aarch64")]
            Path::Neon => unsafe { simd::neon(self, x, out) },
        }
    }

    /// `out[r] = row r . x`, in double precision.
    pub fn multiply_double(&self, path: Path, x: &[f64], out: &mut [f64]) {
        assert!(x.len() == self.columns && out.len() == self.rows);
        match path {
            Path::Plain => plain(self, x, out),
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Path::Sse2 => unsafe { simd::sse2_double(self, x, out) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Path::Avx2 => unsafe { simd::avx2_double(self, x, out) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Path::Avx512 => unsafe { simd::avx512_double(self, x, out) },
            // SAFETY: as above.
            #[cfg(target_arch = "aarch64")]
            Path::Neon => unsafe { simd::neon_double(self, x, out) },
        }
    }

    /// `out[r] = row r . x` for a vector `x` that is zero except for `values` at the ascending `indices`. It gives the
    /// same bits as [`Matrix::multiply`], because products with zero do not change the running sums.
    pub fn multiply_sparse(&self, indices: &[i32], values: &[f32], out: &mut [f64]) {
        for (row, y) in out.iter_mut().enumerate() {
            let mut sums = [0.0f32; LANES];
            for (&i, x) in indices.iter().zip(values) {
                sums[i as usize % LANES] += x * self.get(row, i as usize);
            }
            *y = total(sums);
        }
    }
}

#[inline(always)]
fn total<T: Copy + Into<f64>>(lanes: [T; LANES]) -> f64 {
    let s: [f64; LANES / 2] = std::array::from_fn(|l| lanes[l].into() + lanes[l + LANES / 2].into());
    ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]))
}

fn plain<T>(matrix: &Matrix, x: &[T], out: &mut [f64])
where
    T: Copy + Default + Into<f64> + From<f32> + std::ops::Mul<Output = T> + std::ops::AddAssign,
{
    for (block, out) in matrix.blocks().zip(out.chunks_mut(ROWS)) {
        for (r, y) in out.iter_mut().enumerate() {
            let mut sums = [T::default(); LANES];
            for (x, lines) in x.chunks(LANES).zip(block.chunks_exact(ROWS)) {
                for ((sum, &x), &a) in sums.iter_mut().zip(x).zip(&lines[r].0) {
                    *sum += x * T::from(a);
                }
            }
            *y = total(sums);
        }
    }
}

/// Kernels with the running sums in vector registers: eight rows at once, and one register of the sixteen lanes at a
/// time.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod simd {
    use super::{LANES, Matrix, ROWS, total};
    #[cfg(target_arch = "aarch64")]
    use std::arch::aarch64::*;
    #[cfg(target_arch = "x86_64")]
    use std::arch::x86_64::*;

    macro_rules! kernel {
        ($name:ident: $feature:literal, $width:literal x $number:ty, $zero:expr, $load:expr, $element:expr, $store:ident, $add:ident, $multiply:ident) => {
            /// SAFETY: the processor must have the feature; `x` and `out` must have the lengths of the matrix's rows
            /// and columns.
            #[target_feature(enable = $feature)]
            pub unsafe fn $name(matrix: &Matrix, x: &[$number], out: &mut [f64]) {
                // The last columns, which may be fewer than sixteen, are read from a copy padded with zeros.
                let whole = x.len() / LANES * LANES;
                let mut tail = [0.0; LANES];
                tail[..x.len() - whole].copy_from_slice(&x[whole..]);
                for (block, out) in matrix.blocks().zip(out.chunks_mut(ROWS)) {
                    let mut lanes = [[0.0 as $number; LANES]; ROWS];
                    for part in (0..LANES).step_by($width) {
                        let mut sums = [$zero; ROWS];
                        for (i, lines) in block.chunks_exact(ROWS).enumerate() {
                            let at = i * LANES;
                            // SAFETY: `at` + 16 is within the vector, or the tail is read; a line has 16 elements.
                            unsafe {
                                let from = if at < whole { x.as_ptr().add(at) } else { tail.as_ptr() };
                                let values = $load(from.add(part));
                                for (sum, line) in sums.iter_mut().zip(lines) {
                                    *sum = $add(*sum, $multiply(values, $element(line.0.as_ptr().add(part))));
                                }
                            }
                        }
                        for (lanes, sum) in lanes.iter_mut().zip(sums) {
                            // SAFETY: `part` + width is at most 16.
                            unsafe { $store(lanes.as_mut_ptr().add(part), sum) };
                        }
                    }
                    for (y, lanes) in out.iter_mut().zip(lanes) {
                        *y = total(lanes);
                    }
                }
            }
        };
    }

    #[cfg(target_arch = "x86_64")]
    kernel!(sse2: "sse2", 4 x f32, _mm_setzero_ps(), _mm_loadu_ps, _mm_load_ps, _mm_storeu_ps, _mm_add_ps, _mm_mul_ps);
    #[cfg(target_arch = "x86_64")]
    kernel!(avx2: "avx2", 8 x f32, _mm256_setzero_ps(), _mm256_loadu_ps, _mm256_load_ps, _mm256_storeu_ps,
        _mm256_add_ps, _mm256_mul_ps);
    #[cfg(target_arch = "x86_64")]
    kernel!(avx512: "avx512f", 16 x f32, _mm512_setzero_ps(), _mm512_loadu_ps, _mm512_load_ps, _mm512_storeu_ps,
        _mm512_add_ps, _mm512_mul_ps);
    #[cfg(target_arch = "aarch64")]
    kernel!(neon: "neon", 4 x f32, vdupq_n_f32(0.0), vld1q_f32, vld1q_f32, vst1q_f32, vaddq_f32, vmulq_f32);

    // The elements of the matrix are converted to double precision as they are read.
    #[cfg(target_arch = "x86_64")]
    kernel!(sse2_double: "sse2", 2 x f64, _mm_setzero_pd(), _mm_loadu_pd,
        |a: *const f32| _mm_cvtps_pd(_mm_castsi128_ps(_mm_loadl_epi64(a.cast()))),
        _mm_storeu_pd, _mm_add_pd, _mm_mul_pd);
    #[cfg(target_arch = "x86_64")]
    kernel!(avx2_double: "avx2", 4 x f64, _mm256_setzero_pd(), _mm256_loadu_pd,
        |a: *const f32| _mm256_cvtps_pd(_mm_load_ps(a)), _mm256_storeu_pd, _mm256_add_pd, _mm256_mul_pd);
    #[cfg(target_arch = "x86_64")]
    kernel!(avx512_double: "avx512f", 8 x f64, _mm512_setzero_pd(), _mm512_loadu_pd,
        |a: *const f32| _mm512_cvtps_pd(_mm256_load_ps(a)), _mm512_storeu_pd, _mm512_add_pd, _mm512_mul_pd);
    #[cfg(target_arch = "aarch64")]
    kernel!(neon_double: "neon", 2 x f64, vdupq_n_f64(0.0), vld1q_f64,
        |a: *const f32| vcvt_f64_f32(vld1_f32(a)), vst1q_f64, vaddq_f64, vmulq_f64);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::rng::Stream;

    fn random(rows: usize, columns: usize, s: &mut Stream) -> Matrix {
        let mut matrix = Matrix::new(rows, columns).unwrap();
        for row in 0..rows {
            (0..columns).for_each(|column| matrix.set(row, column, s.gaussian() as f32));
        }
        matrix
    }

    /// The products, after checking that every path gives the same bits.
    fn on_every_path(rows: usize, multiply: impl Fn(Path, &mut [f64])) -> Vec<f64> {
        let products = Path::available().into_iter().map(|path| {
            let mut out = vec![0.0; rows];
            multiply(path, &mut out);
            out
        });
        let products: Vec<Vec<f64>> = products.collect();
        let bits = |out: &[f64]| out.iter().map(|y| y.to_bits()).collect::<Vec<_>>();
        for (out, path) in products.iter().zip(Path::available()) {
            assert_eq!(bits(out), bits(&products[0]), "{path:?}");
        }
        products[0].clone()
    }

    #[test]
    fn every_path_gives_the_same_bits() {
        let mut s = Stream::new(9, 0);
        for (columns, rows) in [(1, 1), (7, 5), (16, 4), (24, 9), (384, 70), (1000, 17)] {
            let m = random(rows, columns, &mut s);
            let x: Vec<f32> = (0..columns).map(|_| s.gaussian() as f32).collect();
            let doubles: Vec<f64> = x.iter().map(|&x| f64::from(x) + 1e-9 * s.gaussian()).collect();
            let single = on_every_path(rows, |path, out| m.multiply(path, &x, out));
            let double = on_every_path(rows, |path, out| m.multiply_double(path, &doubles, out));
            for row in 0..rows {
                let naive = (0..columns).map(|i| doubles[i] * f64::from(m.get(row, i))).sum::<f64>();
                assert!((single[row] - naive).abs() < 1e-6 * columns as f64);
                assert!((double[row] - naive).abs() < 1e-14 * columns as f64);
            }
        }
    }

    #[test]
    fn sparse_product_gives_the_bits_of_the_dense_one() {
        let mut s = Stream::new(10, 0);
        for (dims, count, step) in [(1, 1, 1), (7, 5, 2), (50, 9, 3), (384, 33, 1), (1000, 17, 97), (16, 3, 100)] {
            let m = random(count, dims, &mut s);
            let mut x = vec![0.0f32; dims];
            let indices: Vec<i32> = (0..dims as i32).step_by(step).collect();
            let values: Vec<f32> = indices.iter().map(|_| s.gaussian() as f32).collect();
            indices.iter().zip(&values).for_each(|(&i, &value)| x[i as usize] = value);
            // Zeros of either sign give the same result.
            x.iter_mut().filter(|x| **x == 0.0).step_by(2).for_each(|x| *x = -0.0);
            let (mut dense, mut sparse) = (vec![0.0; count], vec![0.0; count]);
            m.multiply(Path::Plain, &x, &mut dense);
            m.multiply_sparse(&indices, &values, &mut sparse);
            assert_eq!(
                dense.iter().map(|y| y.to_bits()).collect::<Vec<_>>(),
                sparse.iter().map(|y| y.to_bits()).collect::<Vec<_>>()
            );
        }
    }
}
