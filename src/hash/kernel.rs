//! Matrix times vector with one fixed order of summation.
//!
//! A dot product is eight running sums, sum `l` taking the elements `i` with `i mod 8 = l` in order, added at the end
//! as ((0+4)+(2+6))+((1+5)+(3+7)). Products and sums are IEEE doubles, never fused. Every compilation of [`rows`]
//! below therefore gives the same bits; they differ only in the instructions used.

const LANES: usize = 8;

/// Length of a row after padding with zeros.
pub fn padded(dims: usize) -> usize {
    dims.div_ceil(LANES) * LANES
}

#[inline(always)]
fn total(sums: [f64; LANES]) -> f64 {
    ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]))
}

#[inline(always)]
fn rows_of<const N: usize>(matrix: &[f32], x: &[f64], out: &mut [f64]) {
    let width = x.len();
    let mut sums = [[0.0f64; LANES]; N];
    let rows: [&[f32]; N] = std::array::from_fn(|r| &matrix[r * width..(r + 1) * width]);
    for (block, values) in x.chunks_exact(LANES).enumerate() {
        let at = block * LANES;
        for r in 0..N {
            let row = &rows[r][at..at + LANES];
            for l in 0..LANES {
                sums[r][l] += values[l] * f64::from(row[l]);
            }
        }
    }
    for r in 0..N {
        out[r] = total(sums[r]);
    }
}

#[inline(always)]
fn rows(matrix: &[f32], x: &[f64], out: &mut [f64]) {
    let width = x.len();
    let mut done = 0;
    while out.len() - done >= 4 {
        rows_of::<4>(&matrix[done * width..], x, &mut out[done..]);
        done += 4;
    }
    while done < out.len() {
        rows_of::<1>(&matrix[done * width..], x, &mut out[done..]);
        done += 1;
    }
}

fn rows_plain(matrix: &[f32], x: &[f64], out: &mut [f64]) {
    rows(matrix, x, out);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn rows_avx2(matrix: &[f32], x: &[f64], out: &mut [f64]) {
    rows(matrix, x, out);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn rows_avx512(matrix: &[f32], x: &[f64], out: &mut [f64]) {
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

    /// `out[r] = matrix[r] . x`; `x` and the rows are padded to a multiple of eight.
    pub fn multiply(self, matrix: &[f32], x: &[f64], out: &mut [f64]) {
        assert!(x.len().is_multiple_of(LANES) && matrix.len() >= x.len() * out.len());
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
pub fn multiply_sparse(matrix: &[f32], width: usize, indices: &[i32], values: &[f64], out: &mut [f64]) {
    for (row, y) in matrix.chunks_exact(width).zip(out) {
        let mut sums = [0.0f64; LANES];
        for (&i, x) in indices.iter().zip(values) {
            sums[i as usize % LANES] += x * f64::from(row[i as usize]);
        }
        *y = total(sums);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::rng::Stream;

    #[test]
    fn every_path_gives_the_same_bits() {
        let mut s = Stream::new(9, 0);
        for (dims, count) in [(1, 1), (7, 5), (8, 4), (384, 70), (1000, 17)] {
            let width = padded(dims);
            let x: Vec<f64> = (0..width).map(|i| if i < dims { s.gaussian() } else { 0.0 }).collect();
            let m: Vec<f32> = (0..width * count).map(|_| s.gaussian() as f32).collect();
            let results: Vec<Vec<u64>> = Path::available()
                .iter()
                .map(|path| {
                    let mut out = vec![0.0; count];
                    path.multiply(&m, &x, &mut out);
                    out.iter().map(|y| y.to_bits()).collect()
                })
                .collect();
            assert!(results.windows(2).all(|pair| pair[0] == pair[1]));
            let naive: f64 = (0..dims).map(|i| x[i] * f64::from(m[i])).sum();
            assert!((f64::from_bits(results[0][0]) - naive).abs() < 1e-9 * (1.0 + naive.abs()) * dims as f64);
        }
    }
    #[test]
    fn sparse_product_gives_the_bits_of_the_dense_one() {
        let mut s = Stream::new(10, 0);
        for (dims, count, step) in [(1, 1, 1), (7, 5, 2), (50, 9, 3), (384, 33, 1), (1000, 17, 97), (16, 3, 100)] {
            let width = padded(dims);
            let m: Vec<f32> = (0..width * count).map(|_| s.gaussian() as f32).collect();
            let mut x = vec![0.0; width];
            let indices: Vec<i32> = (0..dims as i32).step_by(step).collect();
            let values: Vec<f64> = indices.iter().map(|_| s.gaussian()).collect();
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
