//! Cells of long vectors: the nearest corners of cross-polytopes in the rotated space, two of 64 dimensions and up to two of
//! 8 dimensions. A corner is the largest coordinate in absolute value, with its sign.
//!
//! A vector near a query can have another corner. The cost of an alternative is the square of half the distance by which its
//! coordinate falls short of the largest one, in standard deviations: both coordinates may have moved. A query visits all
//! cells whose costs, added up, do not exceed a bound.

use super::cells::Visits;
use super::isa::Isa;
use crate::params::Layout;

/// Dimensions and bits of the polytopes, in the order of the bits of a cell.
const PARTS: [Part; 4] = [
    Part::new(0, LARGE_DIMS, LARGE_BITS),
    Part::new(64, LARGE_DIMS, LARGE_BITS),
    Part::new(128, 8, SMALL_BITS),
    Part::new(136, 8, SMALL_BITS),
];
/// The number of large polytopes, which come first, and their dimensions and bits.
const LARGE: usize = 2;
const LARGE_DIMS: usize = 64;
const LARGE_BITS: u32 = 7;
/// The number of corners of a small polytope, and its bits.
const SMALL_CORNERS: usize = 16;
const SMALL_BITS: u32 = 4;

struct Part {
    start: usize,
    dims: usize,
    bits: u32,
}

impl Part {
    const fn new(start: usize, dims: usize, bits: u32) -> Part {
        Part { start, dims, bits }
    }
}

/// The bounds on the cost of a cell, beyond which the given fraction of near members is missed.
///
/// They depend on the ratio of the largest coordinate to the standard deviation of the difference (rows) and on that fraction
/// (columns), and were measured with 720,000 pairs of generated normal vectors for each row: quantiles of the cost of a
/// member's cell.
struct Measured {
    ratio: f64,
    bounds: [[f64; MISSED.len()]; 3],
}

const MISSED: [f64; 5] = [0.0003, 0.001, 0.003, 0.01, 0.03];

const MEASURED: [Measured; 8] = [
    row(
        5.19,
        [5.324, 4.459, 3.697, 2.831, 2.049],
        [5.912, 4.963, 4.137, 3.226, 2.395],
        [6.37, 5.389, 4.528, 3.581, 2.715],
    ),
    row(
        7.79,
        [5.464, 4.48, 3.629, 2.685, 1.852],
        [5.899, 4.941, 4.026, 3.031, 2.164],
        [6.259, 5.287, 4.37, 3.345, 2.444],
    ),
    row(
        11.7,
        [5.262, 4.234, 3.345, 2.387, 1.547],
        [5.656, 4.624, 3.689, 2.705, 1.823],
        [5.961, 4.969, 4.001, 2.983, 2.064],
    ),
    row(
        18.2,
        [4.887, 3.86, 2.963, 2.022, 1.21],
        [5.16, 4.191, 3.265, 2.295, 1.444],
        [5.487, 4.471, 3.526, 2.53, 1.651],
    ),
    row(
        28.6,
        [4.367, 3.454, 2.564, 1.656, 0.897],
        [4.805, 3.767, 2.849, 1.905, 1.102],
        [5.051, 4.016, 3.079, 2.104, 1.277],
    ),
    row(
        46.7,
        [4.06, 3.099, 2.189, 1.297, 0.583],
        [4.379, 3.335, 2.438, 1.519, 0.761],
        [4.579, 3.534, 2.648, 1.694, 0.91],
    ),
    row(
        77.9,
        [3.599, 2.631, 1.774, 0.931, 0.312],
        [3.883, 2.844, 1.994, 1.123, 0.456],
        [4.102, 3.043, 2.185, 1.281, 0.582],
    ),
    row(
        155.8,
        [2.952, 2.026, 1.239, 0.51, 0.061],
        [3.198, 2.259, 1.452, 0.68, 0.151],
        [3.342, 2.404, 1.601, 0.814, 0.237],
    ),
];

const fn row(ratio: f64, two: [f64; 5], three: [f64; 5], four: [f64; 5]) -> Measured {
    Measured { ratio, bounds: [two, three, four] }
}

/// Ratios per doubling in the table of bounds: the exponent and three bits of a single-precision number.
const STEP_BITS: u32 = 20;
/// Ratios from 1 to 256.
const STEPS: usize = 8 * 8;

/// The polytopes of a filter, and the corners around the last query.
pub struct Corners {
    /// The number of polytopes.
    parts: usize,
    /// Half of one over the standard deviation.
    inverse: f32,
    /// The bound on the cost of a cell, by the ratio of the largest coordinates to the standard deviation.
    bounds: [f32; STEPS],
    /// The costs of the corners of the large polytopes: positive ones, negative ones.
    large: [[[f32; LARGE_DIMS]; 2]; LARGE],
    /// The costs of the corners of the small polytopes.
    small: [[f32; SMALL_CORNERS]; PARTS.len() - LARGE],
    /// The names of the query's own corners.
    own: [u32; PARTS.len()],
    /// The step of the ratio, and the squared radius.
    step: usize,
    square: f32,
}

/// The largest coordinate in absolute value: its size, and the name of its corner.
#[inline(always)]
fn nearest(y: &[f32]) -> (f32, u32) {
    const NAME: u32 = 0x7f;
    // Integers order positive numbers by size. The last bits of the fraction are replaced by the number.
    let mut largest = 0;
    for (i, y) in y.iter().enumerate() {
        largest = largest.max(y.abs().to_bits() & !NAME | i as u32);
    }
    let at = largest & NAME;
    let value = y[at as usize];
    (value.abs(), at + if value < 0.0 { y.len() as u32 } else { 0 })
}

impl Corners {
    /// The polytopes of a layout. `unit` is the standard deviation of a coordinate at distance near; a fraction `missed` of
    /// near members may be in cells that are not visited.
    pub fn new(layout: &Layout, unit: f64, missed: f64) -> Corners {
        let parts = LARGE + ((layout.cell_bits - LARGE as u32 * LARGE_BITS) / SMALL_BITS) as usize;
        let bounds = std::array::from_fn(|step| {
            // The smallest ratio of the step, so that bounds never increase with the ratio.
            let ratio = f64::from(f32::from_bits(((127 << 23 >> STEP_BITS) + step as u32) << STEP_BITS));
            bound_at(parts, ratio, missed) as f32
        });
        Corners {
            parts,
            inverse: (0.5 / unit) as f32,
            bounds,
            large: [[[0.0; LARGE_DIMS]; 2]; LARGE],
            small: [[0.0; SMALL_CORNERS]; PARTS.len() - LARGE],
            own: [0; PARTS.len()],
            step: 0,
            square: 0.0,
        }
    }

    /// The cell of a vector: the names of its corners.
    #[inline]
    pub fn own(&self, y: &[f32]) -> u32 {
        let name = |cell: u32, part: &Part| cell << part.bits | nearest(&y[part.start..][..part.dims]).1;
        PARTS[..self.parts].iter().fold(0, name)
    }

    /// Computes the costs of all corners for a query.
    #[inline(always)]
    pub fn prepare(&mut self, y: &[f32], radius: f32) {
        let mut sum = 0.0;
        let (own, own_small) = self.own.split_at_mut(LARGE);
        for ((part, costs), own) in PARTS.iter().zip(&mut self.large).zip(own) {
            let y = &y[part.start..][..LARGE_DIMS];
            let largest;
            (largest, *own) = nearest(y);
            sum += largest;
            let [positive, negative] = costs;
            cost(y, largest, self.inverse, positive, negative);
        }
        for ((part, costs), own) in PARTS[LARGE..self.parts].iter().zip(&mut self.small).zip(own_small) {
            let y = &y[part.start..][..part.dims];
            let (positive, negative) = costs.split_at_mut(SMALL_CORNERS / 2);
            let largest;
            (largest, *own) = nearest(y);
            cost(y, largest, self.inverse, positive, negative);
        }
        let ratio = sum * self.inverse / radius;
        let step = (ratio.to_bits() >> STEP_BITS).saturating_sub(127 << 23 >> STEP_BITS) as usize;
        self.step = step.min(STEPS - 1);
        self.square = radius * radius;
    }

    /// Finds the cells to visit, as their first `bits` bits, which must be 0 or end with a polytope.
    #[inline(always)]
    pub fn visit<I: Isa>(&self, bits: u32, visits: &mut Visits) {
        let parts = match bits.checked_sub(LARGE as u32 * LARGE_BITS) {
            Some(more) => LARGE + (more / SMALL_BITS) as usize,
            None => (bits / LARGE_BITS) as usize,
        };
        // The bound of all polytopes, so that a cell is visited however many of its bits divide the filter.
        let budget = self.bounds[self.step] * self.square;
        visits.start(budget);
        for costs in &self.large[..parts.min(LARGE)] {
            visits.extend::<I>(LARGE_BITS, costs.as_flattened().as_chunks().0);
        }
        for costs in &self.small[..parts.saturating_sub(LARGE)] {
            visits.extend::<I>(SMALL_BITS, &[*costs]);
        }
    }

    /// The cell of the last query.
    #[inline(always)]
    pub fn own_visited(&self) -> u32 {
        let name = |cell: u32, (part, own): (&Part, &u32)| cell << part.bits | own;
        PARTS[..self.parts].iter().zip(&self.own).fold(0, name)
    }

    /// Whether a cell is visited. Costs are subtracted in the same order as by [`Corners::visit`].
    pub fn contains(&self, cell: u32) -> bool {
        let parts = &PARTS[..self.parts];
        let mut bits: u32 = parts.iter().map(|part| part.bits).sum();
        let mut rest = self.bounds[self.step] * self.square;
        parts.iter().enumerate().all(|(number, part)| {
            bits -= part.bits;
            let name = (cell >> bits) as usize & ((1 << part.bits) - 1);
            let cost = match number.checked_sub(LARGE) {
                Some(small) => self.small[small][name],
                None => self.large[number].as_flattened()[name],
            };
            let is_allowed = cost <= rest;
            rest -= cost;
            is_allowed
        })
    }
}

/// The costs of all corners of a polytope.
#[inline(always)]
fn cost(y: &[f32], largest: f32, inverse: f32, positive: &mut [f32], negative: &mut [f32]) {
    for ((&y, positive), negative) in y.iter().zip(positive).zip(negative) {
        let (above, below) = ((largest - y) * inverse, (largest + y) * inverse);
        (*positive, *negative) = (above * above, below * below);
    }
}

/// The bound for a number of polytopes, a ratio and a fraction of missed members, interpolated between those measured.
fn bound_at(parts: usize, ratio: f64, missed: f64) -> f64 {
    let last = MISSED.len() - 1;
    let missed = missed.clamp(MISSED[0], MISSED[last]);
    let column = MISSED[1..last].iter().filter(|&&other| other < missed).count();
    let between = libm::log(missed / MISSED[column]) / libm::log(MISSED[column + 1] / MISSED[column]);
    let bound = |row: &Measured| {
        let bounds = &row.bounds[parts - LARGE];
        bounds[column] + between * (bounds[column + 1] - bounds[column])
    };
    // Quantiles of the first two rows are about equal: take the larger one for all smaller ratios.
    let bounds: Vec<f64> = MEASURED.iter().map(bound).collect();
    let largest = |from: usize| bounds[from..].iter().copied().fold(0.0, f64::max);
    let next = MEASURED.iter().position(|row| row.ratio > ratio);
    match next {
        Some(0) => largest(0),
        None => bounds[MEASURED.len() - 1],
        Some(next) => {
            let (low, high) = (MEASURED[next - 1].ratio, MEASURED[next].ratio);
            let share = libm::log(ratio / low) / libm::log(high / low);
            largest(next - 1) + share * (largest(next) - largest(next - 1))
        }
    }
}
