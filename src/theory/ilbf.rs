//! Rates of the ILBF, the votes to ask for, and the distance that explains the votes.
//!
//! A near object is found when at least v of the k projections agree (Theorem 2). Theorem 3 is far off for theta > 2;
//! in its place, each of the k virtual filters holds N ~ Poisson(load) foreign objects, its fill is 1 - (1 - k'/u)^N,
//! and the votes of a slot are Poisson-binomial. The load is read off the filter's own fill.

use super::{LAMBDA, balance, binomial, collision};
use crate::filter::Facts;
use crate::filter::params::Params;
use crate::hash::rng::Stream;

/// Draws of the k loads that a choice of votes is based on, and that a predicted rate is based on.
const DRAWS: u32 = 64;
const RATE_DRAWS: u32 = 256;
/// Levels of fill a factor of e apart.
const LEVELS: f64 = 16.0;
const LEVEL_ZERO: f64 = 1024.0;

/// The fill of the Blooms that a query meets. Members do not spread evenly, and a query like a member meets a Bloom as
/// often as members do: the mean is weighted with the fill itself.
pub fn met_fill(params: &Params, ones: u64, squares: u64) -> f64 {
    squares as f64 / (ones as f64 * f64::from(params.slots))
}

/// That fill rounded to a level: votes change with it, not with every bit.
pub fn fill_level(params: &Params, ones: u64, squares: u64) -> u64 {
    let fill = met_fill(params, ones, squares);
    (libm::log(fill) * LEVELS + LEVEL_ZERO).round().max(1.0) as u64
}

fn level_fill(level: u64) -> f64 {
    libm::exp((level as f64 - LEVEL_ZERO) / LEVELS).min(1.0)
}

/// Foreign objects in one Bloom: fill = 1 - exp(-load k'/u). The one object that a Bloom is met for is not foreign, but
/// its share of the fill is small where it matters.
fn load(params: &Params, fill: f64) -> f64 {
    -libm::log1p(-fill.min(1.0 - 1e-12)) * f64::from(params.slots) / f64::from(params.bloom_hashes)
}

/// Blooms a query reads for one projection.
fn reads(params: &Params, theta: f64) -> f64 {
    let reads = if params.aligned { theta } else { theta + 1.0 };
    reads.min(f64::from(params.blooms))
}

/// P(one projection finds an object at distance `c`).
pub fn hit(params: &Params, c: f64, theta: f64) -> f64 {
    if params.aligned {
        collision::same(params.family, c, params.width * theta)
    } else {
        collision::window(params.family, c, params.width, theta)
    }
}

/// The cumulative law of Poisson(mean), up to where nothing is left.
fn poisson_law(mean: f64) -> Vec<f64> {
    let last = (mean + 10.0 * libm::sqrt(mean) + 10.0) as usize;
    let mut sum = 0.0;
    let term = |n: usize| libm::exp(n as f64 * libm::log(mean) - mean - libm::lgamma(n as f64 + 1.0));
    let law = (0..=last).map(|n| {
        sum += term(n);
        sum
    });
    law.collect()
}

/// P(unrelated objects alone give at least v votes), for every v from 0 to k.
pub fn background(params: &Params, fill: f64, theta: f64, draws: u32) -> Vec<f64> {
    let tables = params.tables as usize;
    // Beyond this load every slot is taken in any case.
    let full = 64.0 * f64::from(params.slots);
    let mean = (load(params, fill) * reads(params, theta)).clamp(1e-300, full);
    let law = poisson_law(mean);
    let empty = 1.0 - f64::from(params.bloom_hashes) / f64::from(params.slots);
    let fill_of: Vec<f64> = (0..=law.len()).map(|n| 1.0 - libm::pow(empty, n as f64)).collect();
    let mut stream = Stream::new(u64::from(params.tables), 1);
    let mut rates = vec![0.0; tables + 1];
    let mut fills = vec![0.0; tables];
    for _ in 0..draws {
        fills.iter_mut().for_each(|f| {
            let u = stream.uniform();
            *f = fill_of[law.partition_point(|&p| p <= u)];
        });
        let mut tail = 0.0;
        for (votes, p) in binomial::poisson_binomial(&fills).into_iter().enumerate().rev() {
            tail += p;
            rates[votes] += at_least_k(params, tail.min(1.0));
        }
    }
    rates.iter_mut().for_each(|r| *r = (*r / f64::from(draws)).min(1.0));
    rates
}

/// P(at least k' of u slots), each with this probability; what is practically 0 or 1 is not computed.
fn at_least_k(params: &Params, slot: f64) -> f64 {
    if slot < 1e-8 {
        0.0
    } else if slot > 0.99 {
        1.0
    } else {
        binomial::at_least(params.slots, slot, params.bloom_hashes)
    }
}

/// The votes that minimise 0.3 FPR + 0.7 FNR: a near vector is at theta x near, a far one at theta x far.
fn best_votes(params: &Params, fill: f64, theta: f64) -> u32 {
    if params.votes > 0 {
        return params.votes;
    }
    let near = hit(params, theta * params.near, theta);
    let far = hit(params, theta * params.far, theta);
    let foreign = background(params, fill, theta, DRAWS);
    let cost = |votes: u32| {
        let fpr = foreign[votes as usize] + binomial::at_least(params.tables, far, votes);
        balance(LAMBDA, fpr, binomial::below(params.tables, near, votes))
    };
    (1..=params.tables).min_by(|&a, &b| cost(a).total_cmp(&cost(b))).unwrap_or(1)
}

/// The votes asked for at each theta, made so that answers are monotone in theta.
///
/// Counters only grow with theta, but the best votes may grow too. A query is therefore accepted at theta when it would
/// be at any smaller one: votes are constant on steps of theta, and each earlier step that asks for fewer votes is tried
/// at its upper end, where its counters are largest.
#[derive(Default)]
pub struct VotePlan {
    /// Upper end of a step, and its votes.
    steps: Vec<(f64, u32)>,
    nested: bool,
}

impl VotePlan {
    pub fn new(params: &Params, level: u64) -> Self {
        let fill = level_fill(level);
        let thetas: Vec<f64> = if params.votes > 0 {
            vec![1.0]
        } else if params.aligned {
            (1..=32).map(f64::from).collect()
        } else {
            (-6..=14).map(|half| libm::exp2(f64::from(half) / 2.0)).collect()
        };
        let mut steps: Vec<(f64, u32)> = thetas.iter().map(|&theta| (theta, best_votes(params, fill, theta))).collect();
        if let Some(last) = steps.last_mut() {
            last.0 = f64::INFINITY;
        }
        VotePlan { steps, nested: !params.aligned }
    }

    fn step(&self, theta: f64) -> usize {
        self.steps.partition_point(|&(end, _)| end < theta)
    }

    /// The votes asked for at `theta` itself.
    pub fn votes(&self, theta: f64) -> u32 {
        self.steps[self.step(theta)].1
    }

    /// Whether a query with these counters is accepted.
    pub fn accepts(&self, theta: f64, mut count: impl FnMut(f64) -> u32) -> bool {
        let current = self.step(theta);
        let found = count(theta);
        if found >= self.steps[current].1 {
            return true;
        }
        let mut lowest = self.steps[current].1;
        for &(end, votes) in self.steps[..current].iter().rev() {
            if !self.nested || votes >= lowest {
                continue;
            }
            lowest = votes;
            if found >= votes && count(end) >= votes {
                return true;
            }
        }
        false
    }

    /// The steps that decide at `theta`: itself, and earlier ones that ask for fewer votes.
    fn deciding(&self, theta: f64) -> Vec<(f64, u32)> {
        let current = self.step(theta);
        let mut out = vec![(theta, self.steps[current].1)];
        for &(end, votes) in self.steps[..current].iter().rev() {
            if self.nested && votes < out[out.len() - 1].1 {
                out.push((end, votes));
            }
        }
        out
    }
}

/// P(accepted) with the nearest member at `distance`.
pub fn acceptance(facts: &Facts, distance: f64, theta: f64) -> f64 {
    let params = &facts.params;
    let plan = VotePlan::new(params, fill_level(params, facts.ones, facts.squares));
    let rate = |theta: f64, votes: u32| {
        let found = binomial::at_least(params.tables, hit(params, distance, theta), votes);
        let foreign =
            background(params, met_fill(params, facts.ones, facts.squares), theta, RATE_DRAWS)[votes as usize];
        found + (1.0 - found) * foreign
    };
    plan.deciding(theta).into_iter().map(|(theta, votes)| rate(theta, votes)).fold(0.0, f64::max)
}

/// The distance that explains best how the votes grow with theta; none where they stay within what strangers reach.
pub fn estimate_distance(params: &Params, level: u64, mut votes: impl FnMut(f64) -> u32) -> Option<f64> {
    let fill = level_fill(level);
    let plan = VotePlan::new(params, level);
    let mut seen: Vec<(f64, u32)> = Vec::new();
    for half in -4..=10 {
        let theta = libm::exp2(f64::from(half) / 2.0);
        let needed = plan.votes(theta);
        // Beyond this theta strangers give as many votes as members do.
        if background(params, fill, theta, DRAWS)[needed as usize] > 0.05 {
            return None;
        }
        let found = votes(theta);
        seen.push((theta, found));
        if found >= needed {
            break;
        }
        if half == 10 {
            return None;
        }
    }
    let likelihood = |c: f64| {
        let (mut sum, mut before, mut counted) = (0.0, 0.0, 0);
        for &(theta, found) in &seen {
            let p = hit(params, c, theta);
            sum += f64::from(found.saturating_sub(counted)) * libm::log((p - before).max(1e-12));
            (before, counted) = (p, found.max(counted));
        }
        sum + f64::from(params.tables.saturating_sub(counted)) * libm::log((1.0 - before).max(1e-12))
    };
    let candidates = (0..=160).map(|i| params.near * libm::exp2(f64::from(i - 80) / 12.0));
    candidates.max_by(|&a, &b| likelihood(a).total_cmp(&likelihood(b)))
}
