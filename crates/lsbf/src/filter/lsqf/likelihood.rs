//! How likely a member near the query has a certain code.
//!
//! A query knows the position of each of its coordinates within its bucket, rounded to one of 64. If a member is at distance
//! r, the difference of a coordinate is about normal with standard deviation r / sqrt(dims), which gives the probability of
//! every residue. The cost of a residue is the negative logarithm of its probability, relative to that of the query's own
//! residue: a member with the query's own code costs nothing. The score of a code is the sum of its costs, and a member
//! matches if its score does not exceed a limit that near members rarely exceed (docs/theory.md).

use super::directions::{Coordinate, Directions, bucket};
use crate::hash::collision::{cdf, density};
use crate::hash::rng::Stream;
use crate::params::{Layout, MAX_RESIDUE_BITS};

/// Positions within a bucket that are distinguished.
pub const POSITIONS: usize = 64;
/// Units per nat in which costs are rounded.
const UNITS: f64 = 14.0;
/// The largest cost of a residue in units: the sum of two fits into a byte.
pub const MAX_COST: f64 = 127.0;
/// Parts of a unit in which contributions to a limit are rounded.
const LIMIT_BITS: u32 = 8;
/// Radii per doubling for which limits are computed; limits in between are interpolated.
const PER_DOUBLING: f64 = 4.0;
/// The smallest of these radii, as a power of two, and the largest one, as a multiple of that of a query. Distances are
/// estimated up to the largest.
const FIRST_DOUBLING: f64 = -4.0;
const ESTIMATED: f64 = 2.0;
/// Costs are those at this radius, or at this fraction of a larger maximum. One table serves all radii: with costs of its own
/// radius, a query separates hardly better.
const COST_RADIUS: f64 = 1.0;
const COST_SHARE: f64 = 2.0 / 3.0;

/// If at most this number of coordinates make up the whole distance, and have residues of more than `COARSE_BITS`, scores are
/// almost a function of the distance, and far from normal: limits are corrected by simulation.
const FEW: u32 = 16;
const COARSE_BITS: u32 = 2;
/// The coordinates that are simulated for it, the largest number of groups of directions, and the number of halves in a group
/// that are paired.
const SIMULATED: usize = 40_000;
const GROUPS: usize = 512;
const PAIRED: usize = 16;
/// Limits between two radii are interpolated and increased by this, as scores are whole numbers; not beyond the larger one.
const ROUNDING: f32 = 1.0;

/// The costs of residues and the limits of scores.
pub struct Likelihood {
    /// The cost of each residue relative to the query's own, by position.
    costs: Vec<[u8; MAX_RESIDUES]>,
    levels: Vec<Level>,
    /// The number of coordinates of a code.
    coordinates: f32,
}

/// The largest number of residues.
const MAX_RESIDUES: usize = 1 << MAX_RESIDUE_BITS;

/// The scores of members at one distance.
#[derive(Clone)]
pub struct Level {
    /// The distance as a multiple of near.
    pub radius: f64,
    /// The contribution of each position to the limit.
    limits: [f32; POSITIONS],
    /// The mean cost for each position.
    means: [f32; POSITIONS],
}

/// Moments of the cost f of a residue for one position, with h = g^2 - 1 for the standardized difference g.
#[derive(Clone, Copy, Default)]
pub struct Moments {
    f: f64,
    f2: f64,
    f3: f64,
    fh: f64,
    fh2: f64,
    f2h: f64,
}

/// The quantile of the standard normal distribution for an upper tail.
pub fn quantile(tail: f64) -> f64 {
    let (mut low, mut high) = (-10.0, 10.0);
    for _ in 0..100 {
        let middle = (low + high) / 2.0;
        if cdf(-middle) > tail { low = middle } else { high = middle }
    }
    low
}

/// The buckets that a member at this radius can be in, for a query at a position: their residues relative to the query's, and
/// the standardized differences at which they begin and end.
pub fn buckets(layout: &Layout, position: usize, radius: f64) -> impl Iterator<Item = (usize, f64, f64)> {
    const TAIL: f64 = 7.0;
    let (residues, width) = (layout.residues() as i64, layout.width / radius);
    let place = (position as f64 + 0.5) / POSITIONS as f64;
    let reach = (TAIL / width).ceil() as i64 + 1;
    (-reach..=reach).map(move |bucket| {
        let edge = |bucket: i64| (bucket as f64 - place) * width;
        (bucket.rem_euclid(residues) as usize, edge(bucket), edge(bucket + 1))
    })
}

impl Likelihood {
    /// The costs and limits of a layout, if queries may miss the given fraction of near members due to their codes.
    pub fn new(layout: &Layout, missed: f64) -> Likelihood {
        let costs: Vec<_> = (0..POSITIONS).map(|position| costs(layout, position)).collect();
        let first = PER_DOUBLING * FIRST_DOUBLING;
        let last = PER_DOUBLING * libm::log2(layout.max_radius);
        let steps = (last - first).ceil().max(1.0) as usize;
        let radius = |step: usize| match step.checked_sub(steps) {
            Some(beyond) => layout.max_radius * libm::exp2(beyond as f64 / PER_DOUBLING),
            None => libm::exp2((first + step as f64) / PER_DOUBLING),
        };
        let groups = GROUPS.min(SIMULATED / (layout.coordinates as usize * PAIRED));
        let is_whole = layout.coordinates == layout.rotated && layout.coordinates <= FEW;
        let directions =
            (is_whole && layout.residue_bits > COARSE_BITS).then(|| Directions::new(layout, groups, Stream::new(5, 0)));
        let mut levels: Vec<Level> = Vec::new();
        for step in 0..=steps + (PER_DOUBLING * libm::log2(ESTIMATED)) as usize {
            let mut level = level(layout, &costs, radius(step), missed);
            // Distances beyond the largest radius are estimated, but not queried.
            if let Some(directions) = directions.as_ref().filter(|_| step <= steps) {
                level.correct(layout, &costs, directions, missed);
            }
            // A query with a larger radius finds at least as much.
            if let Some(smaller) = levels.last() {
                level.limits.iter_mut().zip(&smaller.limits).for_each(|(limit, smaller)| *limit = limit.max(*smaller));
                level.means.iter_mut().zip(&smaller.means).for_each(|(mean, smaller)| *mean = mean.max(*smaller));
            }
            levels.push(level);
        }
        Likelihood { costs, levels, coordinates: layout.coordinates as f32 }
    }

    /// Bytes of memory held.
    pub fn bytes(&self) -> usize {
        self.costs.len() * size_of::<[u8; MAX_RESIDUES]>() + self.levels.len() * size_of::<Level>()
    }

    /// The cost of each residue relative to the query's own, for a position.
    #[inline]
    pub fn costs(&self, position: usize) -> &[u8; MAX_RESIDUES] {
        &self.costs[position % POSITIONS]
    }

    /// The score of a member that differs by some coordinates at a distance in widths of a bucket, minus their part of the
    /// limit of a query, in parts of a unit.
    pub fn excess(&self, layout: &Layout, limits: &[i32; POSITIONS], coordinates: &[Coordinate], distance: f32) -> i64 {
        excess(layout, &self.costs, limits, coordinates, distance)
    }

    /// The contribution of each position to the limit at a radius, for [`limit`]. It grows with the radius.
    pub fn limits(&self, radius: f64) -> [i32; POSITIONS] {
        let next = self.levels.iter().position(|level| level.radius >= radius).unwrap_or(self.levels.len() - 1);
        let high = &self.levels[next];
        // The limit at radius zero is zero.
        let (low, limits) = match next.checked_sub(1).map(|before| &self.levels[before]) {
            Some(level) => (level.radius, level.limits),
            None => (0.0, [0.0; POSITIONS]),
        };
        let share = ((radius - low) / (high.radius - low)).clamp(0.0, 1.0) as f32;
        let more = if share > 0.0 { ROUNDING / self.coordinates } else { 0.0 };
        std::array::from_fn(|at| {
            let limit = (limits[at] + share * (high.limits[at] - limits[at]) + more).min(high.limits[at]);
            fixed(limit)
        })
    }

    /// The radius at which scores are this large on average, for a query with these positions; `None` if it is larger than twice
    /// the largest radius of a query.
    pub fn radius(&self, score: u32, positions: &[u8]) -> Option<f64> {
        if score == 0 {
            return Some(0.0);
        }
        let mean = |level: &Level| {
            positions.iter().map(|&at| f64::from(level.means[usize::from(at) % POSITIONS])).sum::<f64>()
        };
        let (mut radius, mut low) = (0.0, 0.0);
        for level in &self.levels {
            let high = mean(level);
            if high >= f64::from(score) {
                let share = if high > low { (f64::from(score) - low) / (high - low) } else { 1.0 };
                return Some(radius + share * (level.radius - radius));
            }
            (radius, low) = (level.radius, high);
        }
        None
    }
}

/// A contribution to a limit as a whole number of parts.
fn fixed(limit: f32) -> i32 {
    (limit * (1 << LIMIT_BITS) as f32) as i32
}

/// See [`Likelihood::excess`].
#[inline]
fn excess(
    layout: &Layout,
    costs: &[[u8; MAX_RESIDUES]],
    limits: &[i32; POSITIONS],
    coordinates: &[Coordinate],
    distance: f32,
) -> i64 {
    let mask = layout.residues() as i64 - 1;
    let of_one = |&coordinate: &Coordinate| {
        let (at, bucket) = bucket(coordinate, distance);
        let cost = costs[at][(bucket & mask) as usize];
        (i64::from(cost) << LIMIT_BITS) - i64::from(limits[at])
    };
    coordinates.iter().map(of_one).sum()
}

impl Level {
    /// Changes all limits by the same amount, so that a fraction `missed` of members in simulated directions exceed them.
    fn correct(&mut self, layout: &Layout, costs: &[[u8; MAX_RESIDUES]], directions: &Directions<PAIRED>, missed: f64) {
        // Parts of a unit that are distinguished.
        const PART: i64 = 1 << (LIMIT_BITS - 4);
        const PRECISION: f64 = 0.1;
        let limits = self.limits.map(fixed);
        let all = limits.iter().fold((0, 0), |(low, high), &limit| (limit.min(low), limit.max(high)));
        let count = i64::from(layout.coordinates);
        let least = -count * i64::from(all.1);
        let most = count * (((MAX_COST as i64) << LIMIT_BITS) - i64::from(all.0));
        let mut counts = vec![0u32; ((most - least) / PART + 1) as usize];
        let mut left = 0.0;
        // In one or two dimensions, members at a distance have almost one score: rounding errors of single precision need some room.
        let distance = (self.radius / layout.width * (1.0 + PRECISION / f64::from(layout.coordinates))) as f32;
        directions.scores(
            |_, half| excess(layout, costs, &limits, half, distance),
            |firsts, seconds| {
                for first in firsts {
                    for second in seconds {
                        counts[((first + second - least) / PART) as usize] += 1;
                    }
                }
                left += (PAIRED * PAIRED) as f64 * missed;
            },
        );
        let exceeded = counts.iter().rposition(|&count| {
            left -= f64::from(count);
            left < 0.0
        });
        // The end of this part, and what is lost when contributions are rounded.
        let change = least + (exceeded.unwrap_or(0) as i64 + 1) * PART + 2 * count;
        let change = change as f32 / (count << LIMIT_BITS) as f32;
        self.limits.iter_mut().for_each(|limit| *limit += change);
    }
}

/// The limit of scores for a query with these positions, given the contribution of each. It is never negative, so that a
/// query finds a member with its own code.
#[inline(always)]
pub fn limit(limits: &[i32; POSITIONS], positions: &[u8]) -> u32 {
    let mut sum = 0;
    for &at in positions {
        sum += limits[usize::from(at) % POSITIONS];
    }
    (sum >> LIMIT_BITS).max(0) as u32
}

/// The costs of all residues for a position.
fn costs(layout: &Layout, position: usize) -> [u8; MAX_RESIDUES] {
    let radius = COST_RADIUS.max(COST_SHARE * layout.max_radius);
    let mut chances = [0.0; MAX_RESIDUES];
    // Every bucket begins where the one before ends.
    let mut before = None;
    for (residue, from, to) in buckets(layout, position, radius) {
        let (start, end) = (before.unwrap_or_else(|| cdf(from)), cdf(to));
        before = Some(end);
        chances[residue] += end - start;
    }
    let own = chances[0];
    chances.map(|chance| {
        let nats = libm::log(own) - libm::log(chance.max(1e-30));
        libm::round(nats * UNITS).clamp(0.0, MAX_COST) as u8
    })
}

/// The moments of the cost for a position at a radius.
pub fn moments(layout: &Layout, costs: &[u8; MAX_RESIDUES], position: usize, radius: f64) -> Moments {
    let mut sum = Moments::default();
    let mut before = None;
    for (residue, a, e) in buckets(layout, position, radius) {
        let (ca, da) = before.unwrap_or_else(|| (cdf(a), density(a)));
        let (ce, de) = (cdf(e), density(e));
        before = Some((ce, de));
        // Integrals of g^0, g^2 and g^4 times the density.
        let m0 = ce - ca;
        let m2 = m0 + a * da - e * de;
        let m4 = 3.0 * m2 + a * a * a * da - e * e * e * de;
        let f = f64::from(costs[residue]);
        let (h1, h2) = (m2 - m0, m4 - 2.0 * m2 + m0);
        sum.f += f * m0;
        sum.f2 += f * f * m0;
        sum.f3 += f * f * f * m0;
        sum.fh += f * h1;
        sum.fh2 += f * h2;
        sum.f2h += f * f * h1;
    }
    sum
}

/// The limits at a radius: the quantile of the score of members at this distance, given the positions of the query.
///
/// The squares of all coordinates of the difference add up to its squared length. Therefore costs, which grow with these
/// squares, are negatively correlated: with C the covariance of a cost and its square, the variance of the score is
/// `sum V - (sum C)^2 / 2d`. The quantile is that of Cornish and Fisher, with the skewness of the score. It is linearized in V
/// and C, so that every position contributes a fixed amount.
fn level(layout: &Layout, costs: &[[u8; MAX_RESIDUES]], radius: f64, missed: f64) -> Level {
    const SKEWNESS: std::ops::RangeInclusive<f64> = -0.5..=1.5;
    const MIN_SHARE: f64 = 0.02;
    let all: Vec<Moments> = (0..POSITIONS).map(|at| moments(layout, &costs[at], at, radius)).collect();
    let (k, d) = (f64::from(layout.coordinates), f64::from(layout.rotated));
    let mean = |of: &dyn Fn(&Moments) -> f64| all.iter().map(of).sum::<f64>() / POSITIONS as f64;
    let variance = |m: &Moments| m.f2 - m.f * m.f;
    let (v, c) = (mean(&variance), mean(&|m| m.fh));
    let beta = k * c / (2.0 * d);
    let third = |m: &Moments| {
        let central = m.f3 - 3.0 * m.f * m.f2 + 2.0 * m.f * m.f * m.f;
        central - 3.0 * beta * (m.f2h - 2.0 * m.f * m.fh) + 3.0 * beta * beta * (m.fh2 - 2.0 * m.f)
            - 8.0 * beta * beta * beta
    };
    let cumulant = k * mean(&third) - 8.0 * (d - k) * beta * beta * beta;
    let sd = (k * v - k * c * k * c / (2.0 * d)).max(MIN_SHARE * k * v).max(1e-9).sqrt();
    let skewness = (cumulant / (sd * sd * sd)).clamp(*SKEWNESS.start(), *SKEWNESS.end());
    let z = quantile(missed);
    let kappa = z + (z * z - 1.0) * skewness / 6.0;
    let limit = |m: &Moments| {
        let more = (variance(m) - v - c * k / d * (m.fh - c)) / (2.0 * sd);
        (m.f + kappa * (sd / k + more)) as f32
    };
    Level {
        radius,
        limits: std::array::from_fn(|at| limit(&all[at])),
        means: std::array::from_fn(|at| all[at].f as f32),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::design::{Options, parameters};
    use crate::params::{Kind, Metric};

    /// The largest fraction of members that miss due to their codes, at several thetas.
    fn most_missed(dims: i64, bits: i64, max_theta: f64, missed: f64) -> f64 {
        const TRIALS: usize = 20_000;
        let options = Options {
            dims: Some(dims),
            near: Some(0.2),
            bits: Some(bits),
            max_theta: Some(max_theta),
            ..Options::default()
        };
        let (params, dims) = parameters(Kind::Lsqf, Metric::L2, &options).unwrap();
        let layout = Layout::of(&params, dims).unwrap();
        let likelihood = Likelihood::new(&layout, missed);
        let mut stream = Stream::new(78, 0);
        let mut pair = || -> Vec<Coordinate> {
            let direction: Vec<f64> = (0..layout.rotated).map(|_| stream.gaussian()).collect();
            let scale = (f64::from(layout.rotated) / direction.iter().map(|g| g * g).sum::<f64>()).sqrt();
            let some = &direction[..layout.coordinates as usize];
            some.iter().map(|g| ((g * scale) as f32, stream.uniform() as f32)).collect()
        };
        let pairs: Vec<_> = (0..TRIALS).map(|_| pair()).collect();
        let misses = |theta: f64| {
            let (limits, distance) = (likelihood.limits(theta), (theta / layout.width) as f32);
            let is_missed = |pair: &&Vec<Coordinate>| {
                let places = pair.iter().map(|&coordinate| bucket(coordinate, distance));
                let (positions, costs): (Vec<u8>, Vec<u32>) = places
                    .map(|(at, bucket)| {
                        let residue = bucket.rem_euclid(layout.residues() as i64) as usize;
                        (at as u8, u32::from(likelihood.costs(at)[residue]))
                    })
                    .unzip();
                costs.iter().sum::<u32>() > limit(&limits, &positions)
            };
            pairs.iter().filter(is_missed).count() as f64 / TRIALS as f64
        };
        let thetas = (0..).map(|step| 0.05 * 1.13f64.powi(step)).take_while(|&theta| theta < max_theta);
        thetas.chain([0.5, 1.0, max_theta]).map(misses).fold(0.0, f64::max)
    }

    #[test]
    fn members_of_few_dimensions_are_missed_as_rarely_as_promised_at_every_theta() {
        for (dims, bits, max_theta, missed) in [
            (1, 16, 16.0, 0.07),
            (1, 8, 3.0, 0.07),
            (2, 16, 16.0, 0.007),
            (2, 64, 8.0, 0.007),
            (2, 8, 1.25, 0.007),
            (3, 64, 1.25, 0.007),
            (3, 8, 16.0, 0.07),
            (5, 10, 1.25, 0.007),
            (8, 64, 1.25, 0.007),
            (12, 64, 16.0, 0.0007),
            (12, 64, 1.25, 0.007),
            (16, 64, 3.0, 0.007),
        ] {
            let most = most_missed(dims, bits, max_theta, missed);
            // Both the limit and this rate come from simulated directions; the largest of some 50 rates is checked.
            let allowed = 1.5 * missed + 0.0007;
            assert!(most <= allowed, "{dims} {bits} {max_theta} {missed}: {most}");
        }
    }
}
