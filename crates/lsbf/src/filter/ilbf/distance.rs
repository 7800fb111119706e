//! Estimates the distance of the nearest member: the maximum likelihood, given how the votes grow with theta.

use super::votes::{VotePlan, background, choice_draws, hit, level_fill};
use crate::params::Params;

/// The maximum number of thetas that a distance is estimated from.
const DISTANCE_STEPS: usize = 15;

/// What estimating a distance needs at one level of fill: the thetas to try in turn, each with its threshold, and the
/// candidate distances.
pub struct DistancePlan {
    steps: Vec<(f64, u32)>,
    candidates: Vec<Candidate>,
}

/// A candidate distance, with the log probabilities that a projection finds a member at this distance first at each
/// theta, and that it has not found it yet.
struct Candidate {
    distance: f64,
    first: [f64; DISTANCE_STEPS],
    not_yet: [f64; DISTANCE_STEPS],
}

impl DistancePlan {
    /// Bytes of memory held.
    pub fn bytes(&self) -> usize {
        size_of::<Self>()
            + self.steps.capacity() * size_of::<(f64, u32)>()
            + self.candidates.capacity() * size_of::<Candidate>()
    }

    pub fn new(params: &Params, plan: &VotePlan, level: u64) -> Self {
        let fill = level_fill(level);
        let thetas = (0..DISTANCE_STEPS).map(|i| libm::exp2((i as f64 - 4.0) / 2.0));
        // Beyond some theta, unrelated members alone give enough votes.
        let usable = |&(theta, votes): &(f64, u32)| {
            background(params, fill, theta, choice_draws(params))[votes as usize] <= 0.05
        };
        let steps: Vec<(f64, u32)> = thetas.map(|theta| (theta, plan.votes(theta))).take_while(usable).collect();
        let distances = (0..=160).map(|i| params.near * libm::exp2(f64::from(i - 80) / 12.0));
        let candidates = distances.map(|distance| Candidate::new(params, distance, &steps)).collect();
        DistancePlan { steps, candidates }
    }

    /// The most likely distance, given the votes at each theta; `None` if they never reach the threshold.
    pub fn estimate(&self, tables: u32, mut votes: impl FnMut(f64) -> u32) -> Option<f64> {
        // The number of votes that each theta adds.
        let mut added = [0u32; DISTANCE_STEPS];
        let mut counted = 0;
        let mut look = |i: usize| {
            let found = votes(self.steps[i].0);
            added[i] = found.saturating_sub(counted);
            counted = counted.max(found);
            found >= self.steps[i].1
        };
        let first = (0..self.steps.len()).find(|&i| look(i))?;
        // The votes of the first theta that reaches its threshold are biased upwards: include two more thetas.
        let last = (first + 2).min(self.steps.len() - 1);
        (first + 1..=last).for_each(|i| _ = look(i));
        // Count half a miss if there is none: otherwise all distances well below the width would be equally likely.
        let missed = f64::from(tables.saturating_sub(counted)).max(0.5);
        let likelihood = |c: &Candidate| {
            let found: f64 = added[..=last].iter().zip(&c.first).map(|(&n, p)| f64::from(n) * p).sum();
            found + missed * c.not_yet[last]
        };
        let best = self.candidates.iter().max_by(|a, b| likelihood(a).total_cmp(&likelihood(b)));
        best.map(|candidate| candidate.distance)
    }
}

impl Candidate {
    fn new(params: &Params, distance: f64, steps: &[(f64, u32)]) -> Self {
        let log = |p: f64| libm::log(p.max(1e-12));
        let mut new = Candidate { distance, first: [0.0; DISTANCE_STEPS], not_yet: [0.0; DISTANCE_STEPS] };
        let mut before = 0.0;
        for (i, &(theta, _)) in steps.iter().enumerate() {
            let p = hit(params, distance, theta);
            (new.first[i], new.not_yet[i]) = (log(p - before), log(1.0 - p));
            before = p;
        }
        new
    }
}
