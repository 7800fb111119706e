//! Parameters of quotient filters, and the layout of a member's fingerprint that follows from them.

use super::{Metric, Params};
use serde::{Deserialize, Serialize};

/// Parameters that only a quotient filter has.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Quotient {
    /// The number of bits of a member's cell.
    pub cell_bits: u32,
    /// The largest theta that queries should be able to use.
    pub max_theta: f64,
    /// The fraction of vectors at distance theta x near that queries may miss.
    pub fnr: f64,
    /// A hash of the centre that is subtracted from vectors; 0 for none. The centre itself is stored separately.
    pub centre: u64,
}

/// Dimensions up to which codes are computed from a rotation by a matrix. Longer vectors are rotated by fast transforms, after
/// padding with zeros, which makes coordinates dependent.
pub const MAX_DENSE: u32 = 64;
/// Dimensions up to which cells are those of a grid. Those of longer vectors are corners of cross-polytopes, after fast
/// transforms.
pub const MAX_GRID: u32 = 16;
/// Coordinates that one pass of a fast transform computes.
pub const PASS: u32 = 128;
/// The width of a cell of the grid, in standard deviations of a coordinate's difference at distance near.
const GRID_WIDTH: f64 = 12.0;
/// The largest radius for which that width suffices, as a multiple of near.
const GRID_RADIUS: f64 = 1.25;
/// The bits of a cell, depending on the number of polytopes.
pub const CELL_BITS: [u32; 3] = [14, 18, 22];
/// The largest number of bits of a coordinate's residue.
pub const MAX_RESIDUE_BITS: u32 = 8;
/// The widest bucket for which the period is longer than it has to be.
const COARSEST: f64 = 1.1;
/// Residues repeat after a period, which must be at least this many standard deviations of the difference at the distance
/// of a query: four to either side.
const PERIODS: f64 = 8.0;

/// What is stored of a member: its cell and its code. A code consists of one residue for each of the first coordinates of the
/// rotated vector. Lengths are in units of sigma, the standard deviation of one coordinate of a difference of length near in a
/// random direction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Layout {
    /// The dimensions of the rotated vector: those of the vector, or more if it is padded for fast transforms.
    pub rotated: u32,
    /// The number of coordinates that have a residue.
    pub coordinates: u32,
    /// The number of bits of a residue.
    pub residue_bits: u32,
    /// The width of a bucket.
    pub width: f64,
    /// The number of bits of a cell.
    pub cell_bits: u32,
    /// The number of coordinates of the grid; 0 if cells are corners of cross-polytopes.
    pub grid: u32,
    /// The width of a cell of the grid.
    pub grid_width: f64,
    /// Sigma.
    pub sigma: f64,
    /// The largest radius of a query, as a multiple of near as a length.
    pub max_radius: f64,
}

impl Layout {
    /// The layout of a quotient filter for vectors of `dims` dimensions; `None` for other kinds.
    pub fn of(params: &Params, dims: u32) -> Option<Layout> {
        let quotient = params.quotient?;
        let (rotated, available) = match dims {
            ..=MAX_DENSE => (dims.max(1), dims.max(1)),
            _ => (dims.next_multiple_of(PASS), PASS),
        };
        let radius = radius(params.metric, quotient.max_theta);
        // Many coordinates of few bits tell distances better than few coordinates of many bits.
        let fewest = match radius {
            ..=1.25 => 2,
            ..=3.0 => 3,
            _ => 4,
        };
        let residue_bits = (params.bits as u32 / available).clamp(fewest, MAX_RESIDUE_BITS);
        let shortest = if residue_bits == 2 { 10.0 } else { 12.0 };
        let needed = (PERIODS * radius).max(shortest);
        let sigma = length(params.metric, params.near) / f64::from(rotated).sqrt();
        let grid_width = GRID_WIDTH * (needed / PERIODS / GRID_RADIUS).max(1.0);
        let period = match dims {
            // Members in visited cells differ by at most a cell and what is near it: bits to spare tell them all apart.
            ..=MAX_GRID => needed.max((grid_width + PERIODS).min(COARSEST * f64::from(1u32 << residue_bits))),
            _ => needed,
        };
        // The standard deviation of a coordinate, in widths of a cell.
        let spread = params.width / (f64::from(rotated).sqrt() * sigma * grid_width);
        Some(Layout {
            rotated,
            coordinates: (params.bits as u32 / residue_bits).clamp(1, available),
            residue_bits,
            width: period / f64::from(1u32 << residue_bits),
            cell_bits: quotient.cell_bits,
            grid_width,
            grid: if dims <= MAX_GRID { grid_coordinates(spread, quotient.cell_bits).min(dims.max(1)) } else { 0 },
            sigma,
            max_radius: needed / PERIODS,
        })
    }

    /// The number of bits of a code.
    pub fn code_bits(&self) -> u32 {
        self.coordinates * self.residue_bits
    }

    /// The number of residues that a coordinate can have.
    pub fn residues(&self) -> usize {
        1 << self.residue_bits
    }

    /// The largest theta of a query.
    pub fn max_theta(&self, metric: Metric) -> f64 {
        let theta = match metric {
            Metric::Cosine => self.max_radius * self.max_radius,
            _ => self.max_radius,
        };
        // Rounded, so that it is not a little less than what was asked for.
        (theta * 1e9).round() / 1e9
    }
}

/// A distance as the length of a difference. Vectors are normalized for the cosine distance.
pub fn length(metric: Metric, distance: f64) -> f64 {
    match metric {
        Metric::Cosine => (2.0 * distance).sqrt(),
        _ => distance,
    }
}

/// The factor by which the length of a difference grows if the distance is multiplied by theta.
pub fn radius(metric: Metric, theta: f64) -> f64 {
    match metric {
        Metric::Cosine => theta.sqrt(),
        _ => theta,
    }
}

/// The number of grid coordinates that distinguish about as many cells as there are, if coordinates have this standard
/// deviation, in widths of a cell; 0 if it is not known.
fn grid_coordinates(spread: f64, cell_bits: u32) -> u32 {
    const MOST: f64 = 16.0;
    // The entropy of a normal variable divided into buckets, at least its sign.
    let entropy = libm::log2((spread * 4.13).max(2.0));
    if spread > 0.0 { (f64::from(cell_bits + 2) / entropy).ceil().min(MOST) as u32 } else { MOST as u32 }
}
