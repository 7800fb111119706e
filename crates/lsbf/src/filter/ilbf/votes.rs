//! The votes that a query of an ILBF needs, and the probability that it gets them.
//!
//! A near object is found if at least v of the k projections agree (Theorem 2), or fewer if other objects have set its
//! slots in the remaining ones. Theorem 3 is inaccurate for theta > 2. Instead, each of the k virtual filters is
//! assumed to contain N ~ Poisson(load) other objects, so that its fill is 1 - (1 - k'/u)^N and the votes of a slot are
//! Poisson-binomial. The load follows from the fill of the filter.

use crate::balance::balance;
use crate::binomial;
use crate::hash::collision;
use crate::hash::rng::Stream;
use crate::interrupt;
use crate::params::Params;

/// The number of levels of fill per factor of e.
const LEVELS: f64 = 16.0;

const LEVEL_ZERO: f64 = 1024.0;

/// The average fill of the Blooms that a query reads. Members are not distributed evenly over the Blooms, and a query
/// from the same distribution is more likely to read a full one. The squares of the bits set measure this unevenness.
pub fn query_fill(params: &Params, ones: u64, squares: u64) -> f64 {
    let (ones, squares, slots) = (ones as f64, squares as f64, f64::from(params.slots));
    let mean = (ones / params.bits as f64).min(1.0);
    // The member that has set a slot has also set any other given slot with probability `same`.
    let same = f64::from(params.bloom_hashes - 1) / (slots - 1.0);
    if same >= 1.0 || mean >= 1.0 {
        return mean;
    }
    let by_others = |both: f64| 1.0 - (1.0 - both) / (1.0 - same);
    let found = by_others((squares - ones) / (ones * (slots - 1.0)));
    // The same if members were distributed evenly: P(two given slots are not set) = P(one is not)^(2 - same).
    let neither = libm::expm1((2.0 - same) * libm::log1p(-mean));
    let even = by_others((2.0 * mean + neither) / mean);
    (mean * found / even).clamp(1.0 / params.bits as f64, 1.0)
}

/// The level of fill: the logarithm of [`query_fill`], rounded so that plans can be reused.
pub fn fill_level(params: &Params, ones: u64, squares: u64) -> u64 {
    let fill = query_fill(params, ones, squares);
    (libm::log(fill) * LEVELS + LEVEL_ZERO).round().max(1.0) as u64
}

/// The fill that a level stands for.
pub fn level_fill(level: u64) -> f64 {
    libm::exp((level as f64 - LEVEL_ZERO) / LEVELS).min(1.0)
}

/// The average number of objects in one Bloom: fill = 1 - exp(-load k'/u).
fn load(params: &Params, fill: f64) -> f64 {
    -libm::log1p(-fill.min(1.0 - 1e-12)) * f64::from(params.slots) / f64::from(params.bloom_hashes)
}

/// The average number of Blooms that a query reads per projection.
fn reads(params: &Params, theta: f64) -> f64 {
    let reads = if params.aligned { theta } else { theta + 1.0 };
    reads.min(f64::from(params.blooms))
}

/// P(a projection finds an object at distance `c`).
pub fn hit(params: &Params, c: f64, theta: f64) -> f64 {
    if params.aligned {
        collision::same(params.family, c, params.width * theta)
    } else {
        collision::window(params.family, c, params.width, theta)
    }
}

/// The cumulative distribution of Poisson(mean), up to where it is practically 1.
fn poisson_cdf(mean: f64) -> Vec<f64> {
    let last = (mean + 10.0 * libm::sqrt(mean) + 10.0) as usize;
    let mut sum = 0.0;
    let term = |n: usize| libm::exp(n as f64 * libm::log(mean) - mean - libm::lgamma(n as f64 + 1.0));
    let cdf = (0..=last).map(|n| {
        sum += term(n);
        sum
    });
    cdf.collect()
}

/// The number of random draws of the k loads that a choice of votes is averaged over. With more tables, fewer suffice.
pub fn choice_draws(params: &Params) -> u32 {
    (1024 / params.tables).clamp(8, 64)
}

/// Random draws of the fills of the k virtual filters that a query reads.
struct Loads {
    cdf: Vec<f64>,
    fill_of: Vec<f64>,
    stream: Stream,
}

impl Loads {
    fn new(params: &Params, fill: f64, theta: f64) -> Self {
        // Beyond this load practically every slot is set.
        let full = 64.0 * f64::from(params.slots);
        let mean = (load(params, fill) * reads(params, theta)).clamp(1e-300, full);
        let cdf = poisson_cdf(mean);
        let empty = 1.0 - f64::from(params.bloom_hashes) / f64::from(params.slots);
        let fill_of = (0..=cdf.len()).map(|n| 1.0 - libm::pow(empty, n as f64)).collect();
        Loads { cdf, fill_of, stream: Stream::new(u64::from(params.tables), 1) }
    }

    fn draw(&mut self, fills: &mut [f64]) {
        for fill in fills {
            let u = self.stream.uniform();
            *fill = self.fill_of[self.cdf.partition_point(|&p| p <= u)];
        }
    }
}

/// P(unrelated objects alone give at least v votes), for every v from 0 to k.
pub fn background(params: &Params, fill: f64, theta: f64, draws: u32) -> Vec<f64> {
    let mut loads = Loads::new(params, fill, theta);
    let mut rates = vec![0.0; params.tables as usize + 1];
    let mut fills = vec![0.0; params.tables as usize];
    for _ in 0..draws {
        interrupt::check();
        loads.draw(&mut fills);
        let mut tail = 0.0;
        for (votes, p) in binomial::poisson_binomial(&fills).into_iter().enumerate().rev() {
            tail += p;
            rates[votes] += at_least_k(params, tail.min(1.0));
        }
    }
    rates.iter_mut().for_each(|r| *r = (*r / f64::from(draws)).min(1.0));
    rates
}

/// P(at least v votes | j of the k projections find the member), for each v in `votes` and every j from 0 to k. The
/// member's own k' slots start with j votes; in the other k - j projections, other objects may have set them.
pub fn given_hits(params: &Params, fill: f64, theta: f64, votes: &[u32], draws: u32) -> Vec<Vec<f64>> {
    let tables = params.tables as usize;
    let mut loads = Loads::new(params, fill, theta);
    let mut fills = vec![0.0; tables];
    let mut rates = vec![vec![0.0; tables + 1]; votes.len()];
    let ways: Vec<f64> = (0..=params.bloom_hashes).map(|n| binomial::choose(params.bloom_hashes, n)).collect();
    let (share, mut distribution, mut own) = (1.0 / f64::from(draws), Vec::new(), Vec::new());
    for _ in 0..draws {
        interrupt::check();
        loads.draw(&mut fills);
        tails(&binomial::poisson_binomial(&fills), &mut own);
        let others: Vec<Vec<f64>> = votes.iter().map(|&v| other_slots(params, own[v as usize])).collect();
        // By symmetry, assume that the first j projections find the member.
        distribution.clear();
        distribution.push(1.0);
        for j in (0..=tables).rev() {
            if j < tables {
                binomial::add_trial(&mut distribution, fills[j]);
            }
            tails(&distribution, &mut own);
            for ((&v, others), rates) in votes.iter().zip(&others).zip(&mut rates) {
                let missing = (v as usize).saturating_sub(j);
                let own = own.get(missing).copied().unwrap_or(0.0);
                rates[j] += share * if missing == 0 { 1.0 } else { enough(own, others, &ways) };
            }
        }
    }
    rates
}

/// P(at least n), for every n, from P(n).
fn tails(distribution: &[f64], out: &mut Vec<f64>) {
    out.clear();
    out.resize(distribution.len(), 0.0);
    let mut tail = 0.0;
    for (out, p) in out.iter_mut().zip(distribution).rev() {
        tail += p;
        *out = f64::min(tail, 1.0);
    }
}

/// P(at least n of the slots that are not the member's have enough votes), for n from 0 to k'.
fn other_slots(params: &Params, slot: f64) -> Vec<f64> {
    let others = f64::from(params.slots - params.bloom_hashes);
    let odds = slot / (1.0 - slot).max(1e-300);
    let (mut term, mut left) = (libm::pow(1.0 - slot, others), 1.0);
    let tails = (0..=params.bloom_hashes).map(|n| {
        let tail = left;
        left = f64::max(left - term, 0.0);
        term *= odds * (others - f64::from(n)) / f64::from(n + 1);
        tail
    });
    tails.collect()
}

/// P(at least k' slots have enough votes). Each of the member's own k' slots does with probability `own`, `others[n]`
/// is P(at least n of the other slots do), and `ways` are the binomial coefficients of k'.
fn enough(own: f64, others: &[f64], ways: &[f64]) -> f64 {
    // Sum over the number of own slots that do, or that do not, whichever is rarer.
    let last = ways.len() - 1;
    let (rare, common) = (own.min(1.0 - own), own.max(1.0 - own));
    let mut term = (0..last).fold(1.0, |power, _| power * common);
    let mut sum = 0.0;
    for (n, ways) in ways.iter().enumerate() {
        sum += ways * term * others[if own < 0.5 { last - n } else { n }];
        term *= rare / common;
    }
    sum.min(1.0)
}

/// The distribution of the number of projections that find a member, each with probability `hit`.
pub fn hits(params: &Params, hit: f64) -> Vec<f64> {
    (0..=params.tables).map(|j| binomial::pmf(params.tables, hit, j)).collect()
}

/// P(accepted), from the distribution of hits and P(accepted | hits).
pub fn mixed(hits: &[f64], given_hits: &[f64]) -> f64 {
    hits.iter().zip(given_hits).map(|(p, accepted)| p * accepted).sum::<f64>().min(1.0)
}

/// P(at least k' of u slots), each with probability `slot`. Results that are practically 0 or 1 are not computed.
fn at_least_k(params: &Params, slot: f64) -> f64 {
    if slot < 1e-8 {
        0.0
    } else if slot > 0.99 {
        1.0
    } else {
        binomial::at_least(params.slots, slot, params.bloom_hashes)
    }
}

/// The votes that minimize [`balance`] of the errors at theta x far and theta x near.
fn best_votes(params: &Params, fill: f64, theta: f64) -> u32 {
    if params.votes > 0 {
        return params.votes;
    }
    let near = hits(params, hit(params, theta * params.near, theta));
    let far = hits(params, hit(params, theta * params.far, theta));
    let votes: Vec<u32> = (1..=params.tables).collect();
    let given = given_hits(params, fill, theta, &votes, choice_draws(params));
    let cost = |given: &[f64]| balance(mixed(&far, given), 1.0 - mixed(&near, given));
    let best = votes.iter().zip(&given).min_by(|(_, a), (_, b)| cost(a).total_cmp(&cost(b)));
    best.map_or(1, |(&votes, _)| votes)
}

/// The votes required at each theta. Answers are monotone in theta.
///
/// Counters only grow with theta, but the best votes may grow too. A query is therefore accepted at theta if it would
/// be at any smaller theta: votes are constant on steps of theta, and each earlier step that requires fewer votes is
/// tried at its upper end, where the counters are largest.
#[derive(Default)]
pub struct VotePlan {
    /// Upper end of a step, and its votes.
    steps: Vec<(f64, u32)>,
    nested: bool,
}

impl VotePlan {
    /// Bytes of memory held.
    pub fn bytes(&self) -> usize {
        size_of::<Self>() + self.steps.capacity() * size_of::<(f64, u32)>()
    }

    /// A plan for every theta.
    pub fn new(params: &Params, level: u64) -> Self {
        Self::up_to(params, level, f64::INFINITY)
    }

    /// A plan for this theta and smaller ones, which suffices for a single query.
    pub fn up_to(params: &Params, level: u64, theta: f64) -> Self {
        let fill = level_fill(level);
        let mut thetas: Vec<f64> = if params.votes > 0 {
            vec![1.0]
        } else if params.aligned {
            (1..=32).map(f64::from).collect()
        } else {
            (-6..=14).map(|half| libm::exp2(f64::from(half) / 2.0)).collect()
        };
        thetas.truncate(thetas.partition_point(|&end| end < theta) + 1);
        let mut steps: Vec<(f64, u32)> = thetas.iter().map(|&theta| (theta, best_votes(params, fill, theta))).collect();
        if let Some(last) = steps.last_mut() {
            last.0 = f64::INFINITY;
        }
        VotePlan { steps, nested: !params.aligned }
    }

    fn step(&self, theta: f64) -> usize {
        self.steps.partition_point(|&(end, _)| end < theta)
    }

    /// The votes required at `theta` itself.
    pub fn votes(&self, theta: f64) -> u32 {
        self.steps[self.step(theta)].1
    }

    /// Whether a query is accepted; `count` returns its votes at a theta.
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

    /// The steps that decide at `theta`: its own, and earlier ones that require fewer votes.
    pub fn deciding(&self, theta: f64) -> Vec<(f64, u32)> {
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
