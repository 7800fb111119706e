//! Matrix times vector with one fixed order of summation.
//!
//! Single-precision vectors are multiplied in single precision: the products' rounding is no coarser than that of the
//! vectors themselves. Others are multiplied in double precision. Either way a dot product is sixteen running sums, sum
//! `l` taking the elements `i` with `i mod 16 = l` in order, added at the end in doubles: `l` and `l + 8`, then
//! ((0+4)+(2+6))+((1+5)+(3+7)). Nothing is fused. Every [`Path`] therefore gives the same bits; they differ only in the
//! instructions used.

const LANES: usize = 16;

/// Length of a vector and of a matrix row after padding with zeros.
pub fn padded(dims: usize) -> usize {
    dims.next_multiple_of(LANES)
}

#[inline(always)]
fn total<T: Copy + Into<f64>>(lanes: [T; LANES]) -> f64 {
    let s: [f64; LANES / 2] = std::array::from_fn(|l| lanes[l].into() + lanes[l + LANES / 2].into());
    ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]))
}

/// A way to multiply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Path {
    Plain,
    #[cfg(target_arch = "x86_64")]
    Sse2,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "aarch64")]
    Neon,
}

impl Path {
    /// The paths this machine can run, best last.
    pub fn available() -> Vec<Path> {
        #[allow(unused_mut)]
        let mut paths = vec![Path::Plain];
        #[cfg(target_arch = "x86_64")]
        {
            paths.push(Path::Sse2);
            if std::arch::is_x86_feature_detected!("avx2") {
                paths.push(Path::Avx2);
            }
        }
        #[cfg(target_arch = "aarch64")]
        paths.push(Path::Neon);
        paths
    }

    /// `out[r] = matrix[r] . x`; the vector and the rows are padded with zeros to [`padded`].
    pub fn multiply(self, matrix: &[f32], x: &[f32], out: &mut [f64]) {
        assert!(x.len().is_multiple_of(LANES) && matrix.len() == x.len() * out.len());
        match self {
            Path::Plain => plain(matrix, x, out),
            // SAFETY: lengths were checked above, and the paths are only handed out by `available`, which asked the
            // processor; SSE2 and NEON belong to the architecture.
            #[cfg(target_arch = "x86_64")]
            Path::Sse2 => unsafe { simd::sse2(matrix, x, out) },
            #[cfg(target_arch = "x86_64")]
            Path::Avx2 => unsafe { simd::avx2(matrix, x, out) },
            #[cfg(target_arch = "aarch64")]
            Path::Neon => unsafe { simd::neon(matrix, x, out) },
        }
    }
}

fn plain(matrix: &[f32], x: &[f32], out: &mut [f64]) {
    for (row, y) in matrix.chunks_exact(x.len()).zip(out) {
        let mut sums = [0.0f32; LANES];
        for (x, a) in x.as_chunks::<LANES>().0.iter().zip(row.as_chunks::<LANES>().0) {
            for l in 0..LANES {
                sums[l] += x[l] * a[l];
            }
        }
        *y = total(sums);
    }
}

/// The same in double precision, for vectors that need it.
pub fn multiply_double(matrix: &[f32], x: &[f64], out: &mut [f64]) {
    for (row, y) in matrix.chunks_exact(x.len()).zip(out) {
        let mut sums = [0.0f64; LANES];
        for (x, a) in x.as_chunks::<LANES>().0.iter().zip(row.as_chunks::<LANES>().0) {
            for l in 0..LANES {
                sums[l] += x[l] * f64::from(a[l]);
            }
        }
        *y = total(sums);
    }
}

/// `out[r] = matrix[r] . x` where `x` is zero except for `values` at the ascending `indices`, all below `width`. The
/// bits are those of [`Path::multiply`]: a product with zero changes no running sum.
pub fn multiply_sparse(matrix: &[f32], width: usize, indices: &[i32], values: &[f32], out: &mut [f64]) {
    for (row, y) in matrix.chunks_exact(width).zip(out) {
        let mut sums = [0.0f32; LANES];
        for (&i, x) in indices.iter().zip(values) {
            sums[i as usize % LANES] += x * row[i as usize];
        }
        *y = total(sums);
    }
}

/// The sixteen sums in vector registers, four rows at a time so that the vector is read once for all of them.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod simd {
    use super::{LANES, total};
    #[cfg(target_arch = "aarch64")]
    use std::arch::aarch64::*;
    #[cfg(target_arch = "x86_64")]
    use std::arch::x86_64::*;

    macro_rules! kernel {
        ($name:ident, $feature:literal, $width:literal, $zero:expr, $load:ident, $store:ident, $add:ident, $multiply:ident) => {
            /// SAFETY: the processor must have the feature, `x` a multiple of LANES elements and `matrix` as many rows
            /// of that length as `out` has elements.
            #[target_feature(enable = $feature)]
            pub unsafe fn $name(matrix: &[f32], x: &[f32], out: &mut [f64]) {
                const PARTS: usize = LANES / $width;
                let width = x.len();
                let (x, matrix) = (x.as_ptr(), matrix.as_ptr());
                let mut done = 0;
                while done < out.len() {
                    // The last rows may be fewer than four: the spare ones repeat the last.
                    let last = out.len() - 1;
                    let row = |r: usize| (done + r).min(last) * width;
                    let rows = [row(0), row(1), row(2), row(3)];
                    let mut sums = [[$zero; PARTS]; 4];
                    let mut at = 0;
                    while at < width {
                        for part in 0..PARTS {
                            let i = at + part * $width;
                            // SAFETY: i + WIDTH <= width, and every row has `width` elements.
                            unsafe {
                                let values = $load(x.add(i));
                                sums[0][part] = $add(sums[0][part], $multiply(values, $load(matrix.add(rows[0] + i))));
                                sums[1][part] = $add(sums[1][part], $multiply(values, $load(matrix.add(rows[1] + i))));
                                sums[2][part] = $add(sums[2][part], $multiply(values, $load(matrix.add(rows[2] + i))));
                                sums[3][part] = $add(sums[3][part], $multiply(values, $load(matrix.add(rows[3] + i))));
                            }
                        }
                        at += LANES;
                    }
                    for (y, sums) in out[done..].iter_mut().zip(sums) {
                        let mut lanes = [0.0f32; LANES];
                        for (part, sum) in sums.into_iter().enumerate() {
                            // SAFETY: the parts fill the lanes exactly.
                            unsafe { $store(lanes.as_mut_ptr().add(part * $width), sum) };
                        }
                        *y = total(lanes);
                    }
                    done += 4;
                }
            }
        };
    }

    #[cfg(target_arch = "x86_64")]
    kernel!(sse2, "sse2", 4, _mm_setzero_ps(), _mm_loadu_ps, _mm_storeu_ps, _mm_add_ps, _mm_mul_ps);
    #[cfg(target_arch = "x86_64")]
    kernel!(avx2, "avx2", 8, _mm256_setzero_ps(), _mm256_loadu_ps, _mm256_storeu_ps, _mm256_add_ps, _mm256_mul_ps);
    #[cfg(target_arch = "aarch64")]
    kernel!(neon, "neon", 4, vdupq_n_f32(0.0), vld1q_f32, vst1q_f32, vaddq_f32, vmulq_f32);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::rng::Stream;

    #[test]
    fn every_path_gives_the_same_bits() {
        let mut s = Stream::new(9, 0);
        for (dims, count) in [(1, 1), (7, 5), (16, 4), (384, 70), (1000, 17)] {
            let width = padded(dims);
            let x: Vec<f32> = (0..width).map(|i| if i < dims { s.gaussian() as f32 } else { 0.0 }).collect();
            let m: Vec<f32> = (0..width * count).map(|_| s.gaussian() as f32).collect();
            let results: Vec<Vec<u64>> = Path::available()
                .iter()
                .map(|path| {
                    let mut out = vec![0.0; count];
                    path.multiply(&m, &x, &mut out);
                    out.iter().map(|y| y.to_bits()).collect()
                })
                .collect();
            assert!(results.windows(2).all(|pair| pair[0] == pair[1]), "{dims} x {count}");
            let doubles: Vec<f64> = x.iter().map(|&x| f64::from(x)).collect();
            let mut double = vec![0.0; count];
            multiply_double(&m, &doubles, &mut double);
            for ((row, y), double) in m.chunks(width).zip(&results[0]).zip(&double) {
                let naive: f64 = doubles.iter().zip(row).map(|(&x, &a)| x * f64::from(a)).sum();
                assert!((f64::from_bits(*y) - naive).abs() < 1e-6 * dims as f64);
                assert!((double - naive).abs() < 1e-14 * dims as f64);
            }
        }
    }

    #[test]
    fn sparse_product_gives_the_bits_of_the_dense_one() {
        let mut s = Stream::new(10, 0);
        for (dims, count, step) in [(1, 1, 1), (7, 5, 2), (50, 9, 3), (384, 33, 1), (1000, 17, 97), (16, 3, 100)] {
            let width = padded(dims);
            let m: Vec<f32> = (0..width * count).map(|_| s.gaussian() as f32).collect();
            let mut x = vec![0.0f32; width];
            let indices: Vec<i32> = (0..dims as i32).step_by(step).collect();
            let values: Vec<f32> = indices.iter().map(|_| s.gaussian() as f32).collect();
            indices.iter().zip(&values).for_each(|(&i, &value)| x[i as usize] = value);
            // Zeros of either sign are the same to both.
            x.iter_mut().filter(|x| **x == 0.0).step_by(2).for_each(|x| *x = -0.0);
            let (mut dense, mut sparse) = (vec![0.0; count], vec![0.0; count]);
            Path::Plain.multiply(&m, &x, &mut dense);
            multiply_sparse(&m, width, &indices, &values, &mut sparse);
            assert_eq!(
                dense.iter().map(|y| y.to_bits()).collect::<Vec<_>>(),
                sparse.iter().map(|y| y.to_bits()).collect::<Vec<_>>()
            );
        }
    }
}
