//! LSQF: a locality-sensitive quotient filter. Of every member, it stores a cell and a code.
//!
//! A quotient filter stores a part of a key by its position and the rest as bits. Here, both parts are locality-sensitive
//! hashes: a query visits the cells where a near member can be (`Cells`), and scores the codes in these cells by their
//! [`likelihood`]. A code consists of residues: each of the first coordinates of the rotated vector is divided into
//! buckets, which are numbered modulo a small number.

pub mod body;
pub mod change;
pub mod directions;
pub mod fingerprint;
pub mod levels;
pub mod likelihood;
mod query;
mod score;
#[cfg(test)]
mod tests;

use super::bits::Body;
use super::change::Memory;
use super::kind::{Counters, Kind};
use crate::error::{Error, Result};
use crate::hash::cells::Cells;
use crate::hash::corners::Corners;
use crate::hash::grid::Grid;
use crate::hash::isa::{self, Isa, Task};
use crate::hash::rng::Stream;
use crate::hash::rotation::{Rotation, SECOND};
use crate::limits::QUOTIENT_NEAR;
use crate::params::{CELL_BITS, Layout, Metric, PASS, Params, radius, shown};
use crate::vector::Vector;
use body::Parts;
use fingerprint::{CODE_WORDS, Fingerprint};
use levels::Levels;
use likelihood::{Likelihood, POSITIONS};
use query::Query;

/// The fraction of misses that is due to codes; the others are due to cells.
pub const CODE_SHARE: f64 = 0.7;

/// The largest coordinate of a member, as a multiple of the standard deviation of differences at near. Rounding errors are
/// then at most about an eighth of it.
const MAX_COORDINATE: f64 = (1 << 20) as f64;

/// The largest number of coordinates that have a residue.
const MAX_COORDINATES: usize = PASS as usize;

/// The hash functions of a quotient filter, and scratch memory for one vector.
pub struct Lsqf {
    /// What is stored of a member.
    pub layout: Layout,
    metric: Metric,
    near: f64,
    rotation: Rotation,
    cells: Cells,
    likelihood: Likelihood,
    /// One over the width of a bucket.
    inverse: f32,
    /// Offsets of the buckets, in widths.
    offsets: Vec<f32>,
    /// The residue of each coordinate of the last vector, and its position within the bucket.
    residues: Vec<u8>,
    positions: Vec<u8>,
    /// The radius of the last query, and the contribution of each position to its limit.
    limits: (f64, [i32; POSITIONS]),
    query: Query,
}

impl Lsqf {
    /// Expands the hash functions of a filter. An empty centre stands for none.
    pub fn new(params: &Params, dims: u32, centre: &[f32]) -> Result<Lsqf> {
        let missing = || Error::data("the parameters of a quotient filter are missing");
        let (layout, quotient) = (Layout::of(params, dims).ok_or_else(missing)?, params.quotient.ok_or_else(missing)?);
        let more = if layout.cell_bits > CELL_BITS[0] { SECOND } else { 0 };
        let rotation = Rotation::new(params, dims, centre, PASS as usize + more)?;
        let length = layout.sigma * f64::from(layout.rotated).sqrt();
        let (cell_unit, in_cells) = (length * Rotation::cell_unit(dims), quotient.fnr * (1.0 - CODE_SHARE));
        let cells = match layout.grid {
            0 => Cells::Corners(Box::new(Corners::new(&layout, cell_unit, in_cells))),
            _ => Cells::Grid(Box::new(Grid::new(&layout, params.seed, cell_unit, in_cells))),
        };
        let likelihood = Likelihood::new(&layout, quotient.fnr * CODE_SHARE);
        let mut stream = Stream::new(params.seed, 1);
        let count = layout.coordinates as usize;
        Ok(Lsqf {
            metric: params.metric,
            near: params.near,
            query: Query::new(rotation.path(), &layout, &likelihood),
            rotation,
            cells,
            likelihood,
            inverse: (1.0 / (layout.width * length * Rotation::code_unit(dims))) as f32,
            offsets: (0..count).map(|_| (stream.uniform() * layout.residues() as f64) as f32).collect(),
            residues: vec![0; count],
            positions: vec![0; count],
            limits: (0.0, [0; POSITIONS]),
            layout,
        })
    }

    /// Divides the coordinates of the last vector into residues and positions.
    #[inline(always)]
    fn cut(&mut self) {
        let residues = self.layout.residues() as f32;
        let last = self.layout.residues() * POSITIONS - 1;
        let mut places = [0; MAX_COORDINATES];
        for ((place, &y), &offset) in places.iter_mut().zip(self.rotation.for_code()).zip(&self.offsets) {
            let scaled = y * self.inverse + offset;
            // The number of residues is a power of two: the quotient is exact, and so is the difference.
            let rest = scaled - residues * floor(scaled * (1.0 / residues));
            *place = whole(rest * POSITIONS as f32).min(last as u32);
        }
        for ((residue, position), place) in self.residues.iter_mut().zip(&mut self.positions).zip(places) {
            *residue = (place / POSITIONS as u32) as u8;
            *position = (place % POSITIONS as u32) as u8;
        }
    }

    /// The fingerprint of the last vector, which is to be a member.
    pub fn fingerprint(&self) -> Result<Fingerprint> {
        self.check_precision()?;
        let mut code = [0u64; CODE_WORDS];
        let bits = self.layout.residue_bits as usize;
        for (at, &residue) in self.residues.iter().enumerate() {
            let (word, shift) = (at * bits / 64, at * bits % 64);
            code[word] |= u64::from(residue) << shift;
            if shift + bits > 64 {
                code[word + 1] |= u64::from(residue) >> (64 - shift);
            }
        }
        Ok(Fingerprint::new(&self.layout, self.cells.own(self.rotation.for_cell()), &code))
    }

    /// Rounding errors of the coordinates must be small compared with differences of near vectors.
    #[inline]
    fn check_precision(&self) -> Result<()> {
        let largest = self.rotation.for_code().iter().fold(0.0f32, |largest, y| largest.max(y.abs()));
        // As a multiple of the standard deviation of these differences.
        let largest = f64::from(largest) * f64::from(self.inverse) * self.layout.width;
        if largest <= MAX_COORDINATE { Ok(()) } else { Err(too_near(self.metric, self.near, largest / MAX_COORDINATE)) }
    }

    /// The words of the body of a filter with this number of members.
    #[inline]
    pub fn body_words(&self, members: u64) -> usize {
        Parts::new(&self.layout, members).words() as usize
    }

    /// Checks that a filter can answer queries with this theta.
    pub fn check_theta(&self, theta: f64) -> Result<()> {
        check_theta(&self.layout, self.metric, theta)
    }

    /// Prepares a query of the last vector at a radius: the costs of cells and of residues. Returns the limit of scores.
    /// `prefetch` is called as soon as the costs of cells are known.
    #[inline(always)]
    fn prepare(&mut self, radius: f64, prefetch: impl FnOnce(&Cells)) -> u32 {
        self.cells.prepare(self.rotation.for_cell(), radius as f32);
        prefetch(&self.cells);
        self.query.costs.weigh(&self.likelihood, &self.residues, &self.positions);
        if self.limits.0 != radius {
            self.limits = (radius, self.likelihood.limits(radius));
        }
        likelihood::limit(&self.limits.1, &self.positions)
    }

    /// Runs a query of the last vector at a radius: calls `found` with the score and the number of members of every code that
    /// matches, until it returns `None`. Otherwise it returns a limit of the scores of further codes.
    #[inline]
    fn search<B: Body + ?Sized>(
        &mut self,
        radius: f64,
        members: u64,
        body: &B,
        found: impl FnMut(u32, u64) -> Option<u32>,
    ) {
        let parts = Parts::new(&self.layout, members);
        isa::run(self.rotation.path(), Search { lsqf: self, radius, limit: None, parts, body, found });
    }

    /// Whether a member matches the last vector.
    #[inline]
    fn matches<B: Body + ?Sized>(&mut self, radius: f64, members: u64, body: &B) -> bool {
        let mut is_found = false;
        self.search(radius, members, body, |_, _| {
            is_found = true;
            None
        });
        is_found
    }

    /// The cells that a query of the last vector visits; `None` for all cells.
    pub fn visited(&mut self, theta: f64) -> Option<&[u32]> {
        self.cells.prepare(self.rotation.for_cell(), radius(self.metric, theta) as f32);
        self.query.visited(&self.cells)
    }

    /// Whether the query whose cells were last computed visits a cell.
    pub fn visits(&self, cell: u32) -> bool {
        self.cells.contains(cell)
    }

    /// Whether one of the members in these levels matches the last vector.
    pub fn is_in<M: Memory>(&mut self, levels: &Levels<M>, theta: f64) -> bool {
        let (radius, layout) = (radius(self.metric, theta), self.layout);
        let mut limit = None;
        levels.any(&layout, |parts, body| {
            let mut is_found = false;
            let found = |_, _| {
                is_found = true;
                None
            };
            limit = Some(isa::run(self.rotation.path(), Search { lsqf: self, radius, limit, parts, body, found }));
            is_found
        })
    }

    /// An estimate of the distance to the nearest member; `None` if there is none within the largest radius.
    pub fn distance<B: Body + ?Sized>(&mut self, members: u64, body: &B, near: f64) -> Option<f64> {
        let mut best = None;
        self.search(self.layout.max_radius, members, body, |score, _| {
            best = Some(score);
            score.checked_sub(1)
        });
        let radius = self.likelihood.radius(best?, &self.positions)?;
        Some(match self.metric {
            Metric::Cosine => (radius * radius * near).min(self.metric.largest()),
            _ => radius * near,
        })
    }
}

/// From this number on, neighbouring numbers differ by one or more.
const WHOLE: f32 = (1 << 23) as f32;

/// The number rounded down. Unlike [`f32::floor`], it is vectorized for every processor.
#[inline(always)]
fn floor(x: f32) -> f32 {
    let shift = WHOLE.copysign(x);
    let nearest = (x + shift) - shift;
    let floor = nearest - if nearest > x { 1.0 } else { 0.0 };
    if x.abs() < WHOLE { floor } else { x }
}

/// The integer part of a number from 0 to 2^22. Unlike a cast, it is vectorized.
#[inline(always)]
fn whole(x: f32) -> u32 {
    // The nearest integer is in the last bits of the sum.
    let sum = x + WHOLE;
    (sum.to_bits() - WHOLE.to_bits()) - u32::from(sum - WHOLE > x)
}

/// The error for a vector at which `near`, as a length, is too small by a factor.
#[cold]
fn too_near(metric: Metric, near: f64, factor: f64) -> Error {
    let least = near * if metric == Metric::Cosine { factor * factor } else { factor };
    // Two digits, not rounded down.
    let least = format!("{:.1e}", 1.05 * least).parse().unwrap_or(least);
    Error::parameter(format!(
        "near {} is too small for this vector: single precision cannot tell vectors at this distance apart",
        shown(near)
    ))
    .with_hint(match metric {
        _ if least > QUOTIENT_NEAR.1 => {
            "Vectors of this size need a larger near than is allowed: divide all of them by the same number.".into()
        }
        Metric::Cosine => format!("For this vector, near must be at least {}.", shown(least)),
        _ => format!(
            "For this vector, near must be at least {}. If all vectors are far from the origin, their mean as the \
             parameter centre helps.",
            shown(least)
        ),
    })
}

/// Checks that a filter can answer queries with this theta.
pub fn check_theta(layout: &Layout, metric: Metric, theta: f64) -> Result<()> {
    let largest = layout.max_theta(metric);
    // The largest theta may be rounded.
    if theta <= largest * (1.0 + 1e-9) {
        return Ok(());
    }
    Err(Error::parameter(format!("theta must be at most {} for this filter, not {}", shown(largest), shown(theta)))
        .with_hint("Create the filter with a larger max_theta."))
}

impl Kind for Lsqf {
    #[inline]
    fn start(&mut self, vector: &Vector) -> Result<()> {
        self.rotation.rotate(vector)?;
        isa::run(self.rotation.path(), Cut(self));
        Ok(())
    }

    #[inline]
    fn contains<B: Body + ?Sized>(&mut self, counters: Counters, body: &B, theta: f64) -> Result<bool> {
        Ok(self.matches(radius(self.metric, theta), counters.ones, body))
    }

    /// The number of members that match.
    fn votes<B: Body + ?Sized>(&mut self, counters: Counters, body: &B, theta: f64) -> Result<u32> {
        let mut votes = 0u64;
        let radius = radius(self.metric, theta);
        self.search(radius, counters.ones, body, |_, count| {
            votes += count;
            Some(u32::MAX)
        });
        Ok(votes.min(u64::from(u32::MAX >> 1)) as u32)
    }

    fn bytes(&self) -> usize {
        let scratch = self.offsets.len() * size_of::<f32>() + self.residues.len() + self.positions.len();
        self.rotation.bytes() + self.cells.bytes() + self.likelihood.bytes() + scratch + self.query.bytes()
    }
}

/// Divides the coordinates of the last vector.
struct Cut<'a>(&'a mut Lsqf);

impl Task for Cut<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        self.0.cut();
    }
}

/// A query of the last vector.
struct Search<'a, B: ?Sized, F> {
    lsqf: &'a mut Lsqf,
    radius: f64,
    /// The limit of scores; `None` if the query has not been prepared yet.
    limit: Option<u32>,
    parts: Parts,
    body: &'a B,
    found: F,
}

impl<B: Body + ?Sized, F: FnMut(u32, u64) -> Option<u32>> Task for Search<'_, B, F> {
    /// The limit of scores.
    type Output = u32;

    #[inline(always)]
    fn run<I: Isa>(self) -> u32 {
        let limit = match self.limit {
            Some(limit) => limit,
            None => self.lsqf.prepare(self.radius, |cells| query::prefetch(cells, &self.parts, self.body)),
        };
        let Lsqf { query, cells, .. } = self.lsqf;
        query.search::<I, B>(cells, self.parts, self.body, limit, self.found);
        limit
    }
}
