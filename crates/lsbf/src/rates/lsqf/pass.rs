//! The probability that a code matches, given the distance between the member and the query.
//!
//! A member matches if the costs of its residues, minus what the positions of the query contribute to the limit, add up to at
//! most zero. Each of the k coordinates contributes X, which depends on the position and on the standardized difference g of
//! the coordinate. The squares of all d differences add up to d. The probability of the sum of X, given that of the squares, is
//! approximated by the saddlepoint method of Skovgaard (1987), which is accurate in the tails, too.
//!
//! If all coordinates have fine residues, the sum of X almost is a function of the distance; if there are few coordinates, or the
//! radius is small compared with a bucket, it has few values. That method is not made for either: then differences in random
//! directions are simulated.
//!
//! Beyond some periods, residues are as good as random on average over distances, if not at every single one: in one or two
//! dimensions, a difference hardly is spread by its direction. There the sum of X has the law of independent, uniform residues.

use crate::filter::lsqf::directions::{Coordinate, Directions};
use crate::filter::lsqf::likelihood::{Likelihood, MAX_COST, POSITIONS, buckets};
use crate::hash::collision::{cdf, density};
use crate::hash::rng::Stream;
use crate::params::Layout;
use std::cell::OnceCell;

/// Every how many positions of a bucket one is used.
const STRIDE: usize = 4;
/// Parts of a unit of cost in which limits are given.
const LIMIT_UNITS: i64 = 256;

/// The cumulant generating function of the sum of X and of that of the squares minus one, and its derivatives.
#[derive(Clone, Copy)]
struct Cumulants {
    value: f64,
    gradient: [f64; 2],
    /// The second derivatives by s and s, s and t, t and t.
    hessian: [f64; 3],
}

impl Cumulants {
    fn determinant(&self) -> f64 {
        self.hessian[0] * self.hessian[2] - self.hessian[1] * self.hessian[1]
    }
}

/// The distance, as a multiple of near, beyond which residues are as good as random on average: some periods.
fn random_from(layout: &Layout) -> f64 {
    layout.width * layout.residues() as f64 * SOME_PERIODS
}
const SOME_PERIODS: f64 = 2.0;

/// The law of scores at one theta.
pub struct Law<'a> {
    layout: &'a Layout,
    likelihood: &'a Likelihood,
    /// The contribution of each position to the limit.
    limits: [i32; POSITIONS],
    /// Whether differences are always simulated.
    is_simulated: bool,
    /// Standardized differences of the coordinates and their positions, for some directions.
    directions: OnceCell<Directions<PAIRED>>,
}

/// The number of coordinates that are simulated.
const SIMULATED: usize = 400_000;
/// The largest number of groups of directions, and the number of halves in a group that are paired.
const GROUPS: usize = 1024;
const PAIRED: usize = 32;

/// Whether the saddlepoint method does not apply to queries with a radius.
fn needs_simulation(layout: &Layout, radius: f64) -> bool {
    const COARSE_BITS: u32 = 2;
    const FEW: u32 = 12;
    const SMALL: f64 = 0.2;
    let is_fine = layout.residue_bits > COARSE_BITS && layout.coordinates == layout.rotated;
    is_fine || layout.coordinates < FEW || radius < SMALL * layout.width
}

impl<'a> Law<'a> {
    /// The law for queries with a radius, as a multiple of near.
    pub fn new(layout: &'a Layout, likelihood: &'a Likelihood, radius: f64) -> Law<'a> {
        let (limits, is_simulated) = (likelihood.limits(radius), needs_simulation(layout, radius));
        Law { layout, likelihood, limits, is_simulated, directions: OnceCell::new() }
    }

    /// The score of a member that differs by some coordinates at a distance in widths of a bucket, minus their part of the limit.
    fn score(&self, coordinates: &[Coordinate], distance: f32) -> i64 {
        self.likelihood.excess(self.layout, &self.limits, coordinates, distance)
    }

    /// The fraction of simulated directions in which a member matches, whose distances are between these two.
    fn simulated(&self, nearest: f64, farthest: f64) -> f64 {
        let groups = GROUPS.min(SIMULATED / (self.layout.coordinates as usize * PAIRED)).max(1);
        let directions = self.directions.get_or_init(|| Directions::new(self.layout, groups, Stream::new(2, 0)));
        let step = (farthest - nearest) / groups as f64;
        let distance = |group: usize| ((nearest + (group as f64 + 0.5) * step) / self.layout.width) as f32;
        let (mut matching, mut all) = (0, 0);
        directions.scores(
            |group, half| self.score(half, distance(group)),
            |firsts, seconds| {
                let mut seconds = *seconds;
                seconds.sort_unstable();
                let matches = |first: &i64| seconds.partition_point(|second| first + second <= 0);
                matching += firsts.iter().map(matches).sum::<usize>();
                all += PAIRED * PAIRED;
            },
        );
        matching as f64 / all as f64
    }

    /// The probability that a member matches whose residues are random.
    fn matches_randomly(&self) -> f64 {
        let beyond = random_from(self.layout);
        let by_saddlepoint = if self.is_simulated { None } else { self.by_saddlepoint(beyond) };
        by_saddlepoint.unwrap_or_else(|| self.convolved())
    }

    /// The same from the law of one coordinate, which is convolved with itself.
    fn convolved(&self) -> f64 {
        // Parts of a unit of cost that are distinguished, if there are few coordinates.
        const PARTS: i64 = 32;
        let coordinates = i64::from(self.layout.coordinates);
        let part = LIMIT_UNITS / (PARTS / coordinates).max(1);
        // X is at least minus this, so that a sum of more than zero, if the others are as small as that, never matches.
        let least = self.limits.iter().map(|&limit| i64::from(limit).max(0).div_euclid(part) + 1).max().unwrap_or(1);
        let size = (coordinates * least + 1) as usize;
        let mut one = vec![0.0; size.min((MAX_COST as i64 * LIMIT_UNITS / part + 2 * least) as usize) + 1];
        let share = 1.0 / (POSITIONS * self.layout.residues()) as f64;
        for (position, &limit) in self.limits.iter().enumerate() {
            for &cost in &self.likelihood.costs(position)[..self.layout.residues()] {
                // In proportion to both parts that it is between, which keeps the mean.
                let score = i64::from(cost) * LIMIT_UNITS - i64::from(limit) + least * part;
                let (below, above) = (score.div_euclid(part) as usize, score.rem_euclid(part) as f64 / part as f64);
                if let Some([first, second]) = one.get_mut(below..below + 2) {
                    *first += share * (1.0 - above);
                    *second += share * above;
                }
            }
        }
        let mut sum = vec![1.0];
        for _ in 0..coordinates {
            let mut next = vec![0.0; size.min(sum.len() + one.len() - 1)];
            for (at, &p) in sum.iter().enumerate() {
                next[at..].iter_mut().zip(&one).for_each(|(to, &other)| *to += p * other);
            }
            sum = next;
        }
        sum.iter().sum()
    }

    /// The probability that a member at a distance matches; the distance is a multiple of near, as a length.
    pub fn matches(&self, distance: f64) -> f64 {
        if distance <= 0.0 {
            return 1.0;
        }
        let by_saddlepoint = if self.is_simulated { None } else { self.by_saddlepoint(distance) };
        by_saddlepoint.unwrap_or_else(|| self.simulated(distance, distance))
    }

    /// The same for members at distances between these two, on average.
    fn matches_between(&self, nearest: f64, farthest: f64) -> f64 {
        if self.is_simulated { self.simulated(nearest, farthest) } else { self.matches(f64::sqrt(nearest * farthest)) }
    }

    fn by_saddlepoint(&self, distance: f64) -> Option<f64> {
        match self.saddlepoint(distance, 0.0) {
            Ok(probability) => Some(probability),
            // Near the mean the formula is a difference of two large numbers: take the mean of its neighbours.
            Err(Some(step)) => match (self.saddlepoint(distance, step), self.saddlepoint(distance, -step)) {
                (Ok(above), Ok(below)) => Some(0.5 * (above + below)),
                _ => None,
            },
            Err(None) => None,
        }
    }

    /// The probability that the sum of X is at most `offset`. If that is near the mean, an offset at which it is not.
    fn saddlepoint(&self, distance: f64, offset: f64) -> Result<f64, Option<f64>> {
        const STEPS: usize = 60;
        const NEAR_MEAN: f64 = 0.03;
        let (mut s, mut t) = (0.0, 0.0);
        let first = self.cumulants(distance, s, t, offset);
        let mut now = first;
        for _ in 0..STEPS {
            let determinant = now.determinant();
            if determinant.is_nan() || determinant <= 0.0 {
                return Err(None);
            }
            let ([a, b], [ss, st, tt]) = (now.gradient, now.hessian);
            let (ds, dt) = ((st * b - tt * a) / determinant, (st * a - ss * b) / determinant);
            // t is less than one half. A step that does not reduce the function is too long.
            let mut share: f64 = 1.0;
            let next = loop {
                let (s, t) = (s + share * ds, t + share * dt);
                let next = (t < 0.499).then(|| self.cumulants(distance, s, t, offset));
                match next {
                    Some(next) if next.value <= now.value + 1e-12 => break Some((s, t, next)),
                    _ if share < 1e-6 => break None,
                    _ => share /= 2.0,
                }
            };
            let Some((new_s, new_t, next)) = next else { return Err(None) };
            let moved = (new_s - s).abs() * first.hessian[0].sqrt() + (new_t - t).abs();
            (s, t, now) = (new_s, new_t, next);
            if moved < 1e-9 {
                break;
            }
        }
        let is_solved = now.gradient[0].abs() < 1e-3 * now.hessian[0].sqrt();
        if !is_solved {
            return Err(None);
        }
        let r = (-2.0 * now.value).max(0.0).sqrt().copysign(s);
        let u = s * (now.determinant() / first.hessian[2]).max(0.0).sqrt();
        if r.abs() < NEAR_MEAN {
            return Err(Some(10.0 * NEAR_MEAN * first.hessian[0].sqrt()));
        }
        Ok((cdf(r) + density(r) * (1.0 / r - 1.0 / u)).clamp(0.0, 1.0))
    }

    /// The cumulant generating function at s and t. A tilt by t is the same as another variance of g.
    fn cumulants(&self, distance: f64, s: f64, t: f64, offset: f64) -> Cumulants {
        let Layout { coordinates, rotated, .. } = *self.layout;
        let (k, d) = (f64::from(coordinates), f64::from(rotated));
        let square = 1.0 / (1.0 - 2.0 * t);
        // More buckets would not change the probabilities of residues.
        let radius = (distance * square.sqrt()).min(random_from(self.layout));
        let weights: [f64; MAX_COST as usize + 1] = std::array::from_fn(|cost| libm::exp(s * cost as f64));
        // Sums of the weight, and of its products with X, X^2, g^2, X g^2, g^4.
        let mut sums = [0.0f64; 6];
        for position in (STRIDE / 2..POSITIONS).step_by(STRIDE) {
            let costs = self.likelihood.costs(position);
            let limit = f64::from(self.limits[position]) / LIMIT_UNITS as f64 + offset / k;
            let scale = libm::exp(-s * limit);
            // Every bucket begins where the one before ends.
            let mut before = None;
            for (residue, a, e) in buckets(self.layout, position, radius) {
                let (ca, da) = before.unwrap_or_else(|| (cdf(a), density(a)));
                let (ce, de) = (cdf(e), density(e));
                before = Some((ce, de));
                let m0 = ce - ca;
                if m0 < 1e-18 {
                    continue;
                }
                let m2 = m0 + a * da - e * de;
                let m4 = 3.0 * m2 + a * a * a * da - e * e * e * de;
                let x = f64::from(costs[residue]) - limit;
                let weight = weights[usize::from(costs[residue])] * scale;
                let (g2, g4) = (square * m2, square * square * m4);
                for (sum, term) in sums.iter_mut().zip([m0, x * m0, x * x * m0, g2, x * g2, g4]) {
                    *sum += weight * term;
                }
            }
        }
        let [weight, x, xx, g2, xg2, g4] = sums;
        let (x, xx, g2, xg2, g4) = (x / weight, xx / weight, g2 / weight, xg2 / weight, g4 / weight);
        let mean = weight / (POSITIONS / STRIDE) as f64;
        Cumulants {
            value: d * (-t + 0.5 * libm::log(square)) + k * libm::log(mean),
            gradient: [k * x, (d - k) * (square - 1.0) + k * (g2 - 1.0)],
            hessian: [k * (xx - x * x), k * (xg2 - x * g2), (d - k) * 2.0 * square * square + k * (g4 - g2 * g2)],
        }
    }
}

/// The probabilities of [`Law`] for all distances, interpolated.
pub struct Curve {
    /// The logarithm of the odds, at distances that grow by a constant factor.
    log_odds: Vec<f64>,
    radius: f64,
    /// The probability at large distances, and where these begin.
    random: f64,
    random_from: f64,
}

/// Points of a curve per doubling of the distance.
const PER_DOUBLING: f64 = 4.0;
/// The first distance, as a fraction of the radius of the query.
const FIRST: f64 = 0.25;
/// The largest logarithm of the odds.
const MOST: f64 = 40.0;

impl Curve {
    /// The curve for queries with a radius, as a multiple of near.
    pub fn new(layout: &Layout, likelihood: &Likelihood, radius: f64) -> Curve {
        let law = Law::new(layout, likelihood, radius);
        let random_from = random_from(layout);
        let first = FIRST * radius;
        let points = (PER_DOUBLING * libm::log2(random_from / first)).ceil().max(1.0) as usize;
        let at = |point: f64| first * libm::exp2(point / PER_DOUBLING);
        let log_odds = (0..=points).map(|point| {
            let point = point as f64;
            // From half a period on, the probability grows and falls with the distance.
            let p = match at(point) {
                distance if distance < random_from / (2.0 * SOME_PERIODS) => law.matches(distance),
                _ => law.matches_between(at(point - 0.5), at(point + 0.5)),
            };
            (libm::log(p) - libm::log1p(-p)).clamp(-MOST, MOST)
        });
        Curve { log_odds: log_odds.collect(), radius, random: law.matches_randomly(), random_from }
    }

    /// The probability that a member at a distance matches; the distance is a multiple of near, as a length.
    pub fn at(&self, distance: f64) -> f64 {
        if distance >= self.random_from {
            return self.random;
        }
        let place = PER_DOUBLING * libm::log2((distance / (FIRST * self.radius)).max(1.0));
        let place = place.min((self.log_odds.len() - 1) as f64);
        let (low, share) = (place.floor() as usize, place - place.floor());
        let high = (low + 1).min(self.log_odds.len() - 1);
        let odds = self.log_odds[low] + share * (self.log_odds[high] - self.log_odds[low]);
        1.0 / (1.0 + libm::exp(-odds))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::design::{Options, parameters};
    use crate::filter::lsqf::CODE_SHARE;
    use crate::params::{Kind, Metric};

    /// Few dimensions are simulated by halves of directions that are combined: here whole directions are drawn.
    #[test]
    fn simulated_halves_agree_with_whole_directions() {
        const TRIALS: usize = 300_000;
        for (dims, bits, distances) in [
            (3, 20, vec![1.0, 30.0]),
            (8, 20, vec![1.0, 2.0, 2.5, 4.0, 30.0]),
            (9, 30, vec![1.0, 4.0, 100.0]),
            // Some coordinates have no residue.
            (10, 8, vec![0.5, 1.0, 2.0]),
            (20, 16, vec![0.5, 1.0, 2.0]),
            (200, 20, vec![1.0, 2.0]),
        ] {
            let options = Options {
                dims: Some(dims),
                near: Some(0.2),
                length: Some(1.0),
                bits: Some(bits),
                ..Options::default()
            };
            let (params, dims) = parameters(Kind::Lsqf, Metric::L2, &options).unwrap();
            let layout = Layout::of(&params, dims).unwrap();
            let likelihood = Likelihood::new(&layout, params.quotient.unwrap().fnr * CODE_SHARE);
            let law = Law::new(&layout, &likelihood, 1.0);
            assert!(law.is_simulated);
            for distance in distances {
                let mut stream = Stream::new(77, 0);
                let matching = (0..TRIALS).filter(|_| {
                    let direction: Vec<f64> = (0..layout.rotated).map(|_| stream.gaussian()).collect();
                    let length = direction.iter().map(|g| g * g).sum::<f64>().sqrt();
                    let scale = f64::from(layout.rotated).sqrt() / length;
                    let some = &direction[..layout.coordinates as usize];
                    let half: Vec<Coordinate> =
                        some.iter().map(|g| ((g * scale) as f32, stream.uniform() as f32)).collect();
                    law.score(&half, (distance / layout.width) as f32) <= 0
                });
                let counted = matching.count() as f64 / TRIALS as f64;
                let simulated = law.simulated(distance, distance);
                // Pairs of halves are not independent; the factor allows for that.
                let noise = 5.0 * (counted * (1.0 - counted) / TRIALS as f64).sqrt() + 1e-5;
                let factor = if counted < 0.5 { 0.25 * counted } else { 0.25 * (1.0 - counted) };
                assert!(
                    (simulated - counted).abs() < noise + factor,
                    "{dims} {bits} {distance}: {simulated} {counted}"
                );
            }
        }
    }
}
