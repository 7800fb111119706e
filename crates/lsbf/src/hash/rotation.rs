//! Random rotations, for quotient filters: orthogonal coordinates of the vector minus its centre.
//!
//! Short vectors are multiplied by a random orthonormal matrix. Longer ones are transformed by fast Hadamard transforms with
//! random signs, which compute 128 orthogonal coordinates per pass. Vectors are normalized for the cosine distance.

use super::hadamard::Hadamard;
use super::isa::{self, Isa, Task};
use super::kernel::Matrix;
use super::path::Path;
use super::rng::Stream;
use crate::error::{Code, Error, Result};
use crate::memory;
use crate::params::{MAX_DENSE, MAX_GRID, Metric, PASS, Params};
use crate::vector::Vector;
use crate::vector::dense::{Dense, Numbers, not_finite};

/// Coordinates of the second pass.
pub const SECOND: usize = 16;

/// A rotation by a matrix.
struct Product {
    matrix: Matrix,
    sums: Vec<f64>,
    coordinates: Vec<f32>,
}

/// Fast transforms in one or two passes, and the first transforms, which both passes share.
struct Transform {
    passes: Hadamard,
    first: Vec<f32>,
    coordinates: Vec<f32>,
}

/// A rotation, and the coordinates of the last vector.
pub struct Rotation {
    /// For the codes of short vectors, and the cells of very short ones.
    product: Option<Product>,
    /// For the codes and cells of longer vectors.
    transform: Option<Transform>,
    metric: Metric,
    path: Path,
    centre: Vec<f32>,
    dense: Dense,
    /// The vector minus the centre.
    centred: Vec<f32>,
}

impl Rotation {
    /// Draws the rotation of a filter. An empty centre stands for none. Cells of longer vectors use `cell_coordinates`
    /// coordinates.
    pub fn new(params: &Params, dims: u32, centre: &[f32], cell_coordinates: usize) -> Result<Rotation> {
        super::check_expansion(params, dims)?;
        let out_of_memory = || Error::new(Code::OutOfMemory, "out of memory");
        if !centre.is_empty() && centre.len() != dims as usize {
            return Err(Error::parameter(format!("centre must have {dims} dimensions, not {}", centre.len())));
        }
        let count = dims as usize;
        let product = |matrix| Product { matrix, sums: vec![0.0; count], coordinates: vec![0.0; count] };
        let transform = |passes| Transform {
            passes,
            first: Vec::new(),
            coordinates: vec![0.0; cell_coordinates.max(PASS as usize)],
        };
        let draw = || Hadamard::orthogonal(params.seed, count, cell_coordinates.max(PASS as usize));
        Ok(Rotation {
            product: match dims {
                ..=MAX_DENSE => Some(product(orthonormal(params.seed, count).ok_or_else(out_of_memory)?)),
                _ => None,
            },
            transform: match dims {
                ..=MAX_GRID => None,
                _ => Some(transform(draw().ok_or_else(out_of_memory)?)),
            },
            metric: params.metric,
            path: Path::best(),
            centre: if centre.is_empty() { vec![0.0; count] } else { centre.to_vec() },
            dense: Dense::default(),
            centred: vec![0.0; count],
        })
    }

    /// The standard deviation of a coordinate of codes, for a vector of length 1 in a random direction.
    pub fn code_unit(dims: u32) -> f64 {
        if dims <= MAX_DENSE { product_unit(dims) } else { transform_unit() }
    }

    /// The same for coordinates of cells.
    pub fn cell_unit(dims: u32) -> f64 {
        if dims <= MAX_GRID { product_unit(dims) } else { transform_unit() }
    }

    /// The coordinates of the last vector for its code, in units of [`Rotation::code_unit`].
    #[inline]
    pub fn for_code(&self) -> &[f32] {
        let product = self.product.as_ref().map(|product| &product.coordinates[..]);
        product.or(self.transform.as_ref().map(|transform| &transform.coordinates[..])).unwrap_or_default()
    }

    /// The coordinates of the last vector for its cell, in units of [`Rotation::cell_unit`].
    #[inline]
    pub fn for_cell(&self) -> &[f32] {
        let transform = self.transform.as_ref().map(|transform| &transform.coordinates[..]);
        transform.or(self.product.as_ref().map(|product| &product.coordinates[..])).unwrap_or_default()
    }

    /// Bytes of memory held.
    pub fn bytes(&self) -> usize {
        let product = self.product.as_ref().map_or(0, |product| {
            product.matrix.bytes() + size_of_val(&product.sums[..]) + size_of_val(&product.coordinates[..])
        });
        let transform = self.transform.as_ref().map_or(0, |transform| {
            transform.passes.bytes() + (transform.first.capacity() + transform.coordinates.len()) * size_of::<f32>()
        });
        let floats = self.centre.capacity() + self.centred.capacity();
        product + transform + self.dense.bytes() + floats * size_of::<f32>()
    }

    /// The instruction set in use.
    pub fn path(&self) -> Path {
        self.path
    }

    /// Uses another instruction set, which the processor must have.
    #[cfg(test)]
    pub fn use_path(&mut self, path: Path) {
        self.path = path;
    }

    /// Rotates a vector.
    #[inline]
    pub fn rotate(&mut self, vector: &Vector) -> Result<()> {
        let Rotation { product, transform, metric, path, centre, dense, centred } = self;
        match dense.exact(vector)? {
            Numbers::Singles(x) => subtract(*path, *metric, x, centre, centred)?,
            Numbers::Doubles(x) => subtract(*path, *metric, x, centre, centred)?,
        }
        let mut is_finite = true;
        if let Some(Product { matrix, sums, coordinates }) = product {
            matrix.multiply(*path, centred, sums);
            coordinates.iter_mut().zip(sums).for_each(|(y, sum)| *y = *sum as f32);
            is_finite = all_finite(coordinates);
        }
        if let Some(Transform { passes, first, coordinates }) = transform {
            passes.first_singles(*path, centred, first);
            for (pass, coordinates) in coordinates.chunks_mut(PASS as usize).enumerate() {
                passes.pass_singles(*path, pass, first, coordinates);
            }
            is_finite &= all_finite(coordinates);
        }
        if is_finite { Ok(()) } else { Err(self.not_finite(vector)) }
    }

    #[cold]
    fn not_finite(&mut self, vector: &Vector) -> Error {
        match self.dense.exact(vector) {
            Ok(Numbers::Singles(x)) => not_finite(x),
            Ok(Numbers::Doubles(x)) => not_finite(x),
            Err(error) => error,
        }
    }
}

fn product_unit(dims: u32) -> f64 {
    1.0 / f64::from(dims.max(1)).sqrt()
}

/// A transform of 128 elements multiplies their variance by 128, and there are two, but the first one divides the length of a
/// vector among 128 elements.
fn transform_unit() -> f64 {
    f64::from(PASS).sqrt()
}

/// Whether all numbers are finite.
#[inline]
fn all_finite(y: &[f32]) -> bool {
    y.iter().fold(true, |all, y| all & (y.abs() < f32::INFINITY))
}

/// Numbers from which the centre is subtracted.
trait Number: Copy + Into<f64> {
    fn minus(self, centre: f32) -> f32;
}

impl Number for f32 {
    #[inline(always)]
    fn minus(self, centre: f32) -> f32 {
        self - centre
    }
}

impl Number for f64 {
    #[inline(always)]
    fn minus(self, centre: f32) -> f32 {
        (self - f64::from(centre)) as f32
    }
}

/// Subtracts the centre from a vector, which is normalized first for the cosine distance.
#[inline]
fn subtract<T: Number>(path: Path, metric: Metric, x: &[T], centre: &[f32], out: &mut [f32]) -> Result<()> {
    if metric != Metric::Cosine {
        isa::run(path, Subtract { x, scale: None, centre, out });
        return Ok(());
    }
    let length = isa::run(path, SquaredLength(x)).sqrt();
    if length == 0.0 || !length.is_finite() {
        return subtract_scaled(path, x, centre, out);
    }
    isa::run(path, Subtract { x, scale: Some(1.0 / length), centre, out });
    Ok(())
}

/// The same for vectors whose square is too large or too small for a number: they are multiplied by a power of two first.
#[cold]
fn subtract_scaled<T: Number>(path: Path, x: &[T], centre: &[f32], out: &mut [f32]) -> Result<()> {
    let largest = x.iter().fold(0.0, |largest: f64, &x| largest.max(x.into().abs()));
    if largest == 0.0 && x.iter().all(|&x| !x.into().is_nan()) {
        return Err(Error::zero_vector());
    }
    if x.iter().any(|&x| !x.into().is_finite()) {
        return Err(not_finite(x));
    }
    let mut scaled = Vec::new();
    memory::reserve(&mut scaled, x.len())?;
    scaled.extend(x.iter().map(|&x| libm::scalbn(x.into(), -libm::ilogb(largest))));
    let length = isa::run(path, SquaredLength(&scaled)).sqrt();
    isa::run(path, Subtract { x: &scaled, scale: Some(1.0 / length), centre, out });
    Ok(())
}

struct Subtract<'a, T> {
    x: &'a [T],
    scale: Option<f64>,
    centre: &'a [f32],
    out: &'a mut [f32],
}

impl<T: Number> Task for Subtract<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let all = self.out.iter_mut().zip(self.x).zip(self.centre);
        match self.scale {
            None => all.for_each(|((out, &x), &centre)| *out = x.minus(centre)),
            Some(scale) => all.for_each(|((out, &x), &centre)| *out = (x.into() * scale - f64::from(centre)) as f32),
        }
    }
}

/// The squared length, in eight running sums, so that every processor gives the same bits.
struct SquaredLength<'a, T>(&'a [T]);

impl<T: Number> Task for SquaredLength<'_, T> {
    type Output = f64;

    #[inline(always)]
    fn run<I: Isa>(self) -> f64 {
        squared_length(self.0)
    }
}

#[inline(always)]
fn squared_length<T: Number>(x: &[T]) -> f64 {
    const LANES: usize = 8;
    let mut sums = [0.0; LANES];
    let (whole, rest) = x.as_chunks::<LANES>();
    for x in whole {
        for (sum, &x) in sums.iter_mut().zip(x) {
            *sum += x.into() * x.into();
        }
    }
    for (sum, &x) in sums.iter_mut().zip(rest) {
        *sum += x.into() * x.into();
    }
    ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]))
}

/// A random orthonormal matrix: Gaussian rows, each made orthogonal to those before it. `None` if there is not enough memory.
fn orthonormal(seed: u64, dims: usize) -> Option<Matrix> {
    let mut matrix = Matrix::new(dims, dims)?;
    let mut stream = Stream::new(seed, 0);
    let mut rows: Vec<Vec<f64>> = Vec::new();
    let dot = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>();
    while rows.len() < dims {
        let mut row: Vec<f64> = (0..dims).map(|_| stream.gaussian()).collect();
        // The second time removes the rounding errors of the first.
        for _ in 0..2 {
            for other in &rows {
                let product = dot(&row, other);
                row.iter_mut().zip(other).for_each(|(x, y)| *x -= product * y);
            }
        }
        let length = dot(&row, &row).sqrt();
        if length > 1e-6 {
            row.iter_mut().for_each(|x| *x /= length);
            rows.push(row);
        }
    }
    for (at, row) in rows.iter().enumerate() {
        row.iter().enumerate().for_each(|(column, &x)| matrix.set(at, column, x as f32));
    }
    Some(matrix)
}

#[cfg(test)]
mod tests {
    use super::*;
    use half::f16;

    fn rotation(metric: Metric, dims: usize, centre: &[f32]) -> Rotation {
        Rotation::new(&Params::quotient_example(metric), dims as u32, centre, PASS as usize + SECOND).unwrap()
    }

    #[test]
    fn coordinates_are_orthogonal_and_keep_lengths() {
        for dims in [1, 2, 10, 64, 65, 128, 300] {
            let mut rotation = rotation(Metric::L2, dims, &[]);
            let columns: Vec<Vec<f64>> = (0..dims)
                .map(|at| {
                    let mut x = vec![0.0f32; dims];
                    x[at] = 1.0;
                    rotation.rotate(&Vector::F32(&x)).unwrap();
                    rotation.for_code().iter().map(|&y| f64::from(y)).collect()
                })
                .collect();
            let count = if dims <= 64 { dims } else { 128 };
            let product = |i: usize, j: usize| columns.iter().map(|column| column[i] * column[j]).sum::<f64>();
            // Padding with zeros cuts a block of fewer than 128 dimensions: its rows are orthogonal only for whole blocks.
            let exact = dims <= 64 || dims % 128 == 0;
            for i in 0..if exact { count } else { 0 } {
                let length = if dims <= 64 { 1.0 } else { 128.0 * dims as f64 };
                assert!((product(i, i) / length - 1.0).abs() < 1e-5, "{dims} {i}");
                (0..i).for_each(|j| assert!(product(i, j).abs() < 1e-5 * length, "{dims} {i} {j}"));
            }
        }
    }

    #[test]
    fn every_path_and_type_gives_the_same_bits() {
        let mut stream = Stream::new(4, 0);
        for (metric, dims) in
            [Metric::L2, Metric::Cosine].into_iter().flat_map(|m| [3, 33, 64, 65, 200].map(|d| (m, d)))
        {
            let halves: Vec<f16> = (0..dims).map(|_| f16::from_f64(stream.gaussian())).collect();
            let singles: Vec<f32> = halves.iter().map(|x| x.to_f32()).collect();
            let doubles: Vec<f64> = singles.iter().map(|&x| f64::from(x)).collect();
            let indices: Vec<i32> = (0..dims as i32).collect();
            let centre: Vec<f32> = (0..dims).map(|_| stream.gaussian() as f32 / 4.0).collect();
            let mut rotation = rotation(metric, dims, &centre);
            let mut bits = |path, vector: &Vector| {
                rotation.use_path(path);
                rotation.rotate(vector).unwrap();
                rotation.for_code().iter().chain(rotation.for_cell()).map(|y| y.to_bits()).collect::<Vec<_>>()
            };
            let expected = bits(Path::Plain, &Vector::F32(&singles));
            for path in Path::available() {
                for vector in [
                    Vector::F32(&singles),
                    Vector::F64(&doubles),
                    Vector::F16(&halves),
                    Vector::Dense(&singles),
                    Vector::Sparse { dims, indices: &indices, values: &singles },
                ] {
                    assert_eq!(bits(path, &vector), expected, "{path:?} {vector:?}");
                }
            }
        }
    }

    #[test]
    fn vectors_that_cannot_be_rotated_are_rejected() {
        for dims in [4, 100] {
            let mut l2 = rotation(Metric::L2, dims, &[]);
            let mut cosine = rotation(Metric::Cosine, dims, &[]);
            let message =
                |rotation: &mut Rotation, x: f32| rotation.rotate(&Vector::F32(&vec![x; dims])).unwrap_err().message;
            for rotation in [&mut l2, &mut cosine] {
                assert_eq!(message(rotation, f32::NAN), "vector contains NaN");
                assert_eq!(message(rotation, f32::INFINITY), "vector contains infinity");
            }
            assert_eq!(message(&mut cosine, 0.0), Error::zero_vector().message);
            assert_eq!(message(&mut l2, f32::MAX), "vector is too large to be projected");
            assert!(cosine.rotate(&Vector::F32(&vec![f32::MAX; dims])).is_ok());
        }
    }
}
