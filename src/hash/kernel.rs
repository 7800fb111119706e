//! Matrix times vector with one fixed order of summation.
//!
//! Single-precision vectors are multiplied in single precision: the products' rounding is no coarser than that of the
//! vectors themselves. Others are multiplied in double precision. Either way a dot product is sixteen running sums, sum
//! `l` taking the elements `i` with `i mod 16 = l` in order, added at the end in doubles: `l` and `l + 8`, then
//! ((0+4)+(2+6))+((1+5)+(3+7)). Nothing is fused. Every compilation of [`rows`] below therefore gives the same bits; they
//! differ only in the instructions used.

const LANES: usize = 16;
/// Rows that are multiplied together, so that the vector is read once for all of them.
const ROWS: usize = 4;

/// A number the vector may be made of.
pub trait Number: Copy + Default + std::ops::AddAssign + std::ops::Mul<Output = Self> + Into<f64> {
    fn of(coefficient: f32) -> Self;
}

impl Number for f32 {
    #[inline(always)]
    fn of(coefficient: f32) -> f32 {
        coefficient
    }
}

impl Number for f64 {
    #[inline(always)]
    fn of(coefficient: f32) -> f64 {
        f64::from(coefficient)
    }
}

/// Length of a matrix row after padding with zeros.
pub fn padded(dims: usize) -> usize {
    dims.next_multiple_of(LANES)
}

#[inline(always)]
fn total<T: Number>(lanes: [T; LANES]) -> f64 {
    let s: [f64; LANES / 2] = std::array::from_fn(|l| lanes[l].into() + lanes[l + LANES / 2].into());
    ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]))
}

#[inline(always)]
fn rows_of<T: Number, const N: usize>(
    matrix: &[f32],
    width: usize,
    x: &[[T; LANES]],
    tail: &[T; LANES],
    out: &mut [f64],
) {
    let mut sums = [[T::default(); LANES]; N];
    let rows: [&[[f32; LANES]]; N] = std::array::from_fn(|r| matrix[r * width..(r + 1) * width].as_chunks().0);
    let mut step = |block: usize, values: &[T; LANES]| {
        for r in 0..N {
            let row = &rows[r][block];
            for l in 0..LANES {
                sums[r][l] += values[l] * T::of(row[l]);
            }
        }
    };
    for (block, values) in x.iter().enumerate() {
        step(block, values);
    }
    if x.len() * LANES < width {
        step(x.len(), tail);
    }
    for r in 0..N {
        out[r] = total(sums[r]);
    }
}

#[inline(always)]
fn rows<T: Number>(matrix: &[f32], x: &[T], out: &mut [f64]) {
    let width = padded(x.len());
    let (blocks, rest) = x.as_chunks::<LANES>();
    let mut tail = [T::default(); LANES];
    tail[..rest.len()].copy_from_slice(rest);
    for (group, y) in out.chunks_mut(ROWS).enumerate() {
        let matrix = &matrix[group * ROWS * width..];
        match y.len() {
            ROWS => rows_of::<T, ROWS>(matrix, width, blocks, &tail, y),
            _ => (0..y.len()).for_each(|r| rows_of::<T, 1>(&matrix[r * width..], width, blocks, &tail, &mut y[r..])),
        }
    }
}

fn rows_plain<T: Number>(matrix: &[f32], x: &[T], out: &mut [f64]) {
    rows(matrix, x, out);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn rows_avx2<T: Number>(matrix: &[f32], x: &[T], out: &mut [f64]) {
    rows(matrix, x, out);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn rows_avx512<T: Number>(matrix: &[f32], x: &[T], out: &mut [f64]) {
    rows(matrix, x, out);
}

/// A compilation of the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Path {
    Plain,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Path {
    /// The paths this machine can run, best last.
    pub fn available() -> Vec<Path> {
        #[allow(unused_mut)]
        let mut paths = vec![Path::Plain];
        #[cfg(target_arch = "x86_64")]
        {
            if std::arch::is_x86_feature_detected!("avx2") {
                paths.push(Path::Avx2);
            }
            if std::arch::is_x86_feature_detected!("avx512f") {
                paths.push(Path::Avx512);
            }
        }
        paths
    }

    /// `out[r] = matrix[r] . x`; the rows are padded with zeros to [`padded`].
    pub fn multiply<T: Number>(self, matrix: &[f32], x: &[T], out: &mut [f64]) {
        match self {
            Path::Plain => rows_plain(matrix, x, out),
            // SAFETY: these paths are only handed out by `available`, which asked the processor.
            #[cfg(target_arch = "x86_64")]
            Path::Avx2 => unsafe { rows_avx2(matrix, x, out) },
            #[cfg(target_arch = "x86_64")]
            Path::Avx512 => unsafe { rows_avx512(matrix, x, out) },
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::rng::Stream;

    fn check<T: Number>(of: fn(f64) -> T, precision: f64) {
        let mut s = Stream::new(9, 0);
        for (dims, count) in [(1, 1), (7, 5), (16, 4), (384, 70), (1000, 17)] {
            let width = padded(dims);
            let x: Vec<T> = (0..dims).map(|_| of(s.gaussian())).collect();
            let m: Vec<f32> =
                (0..width * count).map(|i| if i % width < dims { s.gaussian() as f32 } else { 0.0 }).collect();
            let results: Vec<Vec<u64>> = Path::available()
                .iter()
                .map(|path| {
                    let mut out = vec![0.0; count];
                    path.multiply(&m, &x, &mut out);
                    out.iter().map(|y| y.to_bits()).collect()
                })
                .collect();
            assert!(results.windows(2).all(|pair| pair[0] == pair[1]));
            for (row, y) in m.chunks(width).zip(&results[0]) {
                let naive: f64 = x.iter().zip(row).map(|(&x, &a)| x.into() * f64::from(a)).sum();
                assert!((f64::from_bits(*y) - naive).abs() < precision * dims as f64);
            }
        }
    }

    #[test]
    fn every_path_gives_the_same_bits() {
        check::<f32>(|x| x as f32, 1e-6);
        check::<f64>(|x| x, 1e-14);
    }

    #[test]
    fn sparse_product_gives_the_bits_of_the_dense_one() {
        let mut s = Stream::new(10, 0);
        for (dims, count, step) in [(1, 1, 1), (7, 5, 2), (50, 9, 3), (384, 33, 1), (1000, 17, 97), (16, 3, 100)] {
            let width = padded(dims);
            let m: Vec<f32> = (0..width * count).map(|_| s.gaussian() as f32).collect();
            let mut x = vec![0.0f32; dims];
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
