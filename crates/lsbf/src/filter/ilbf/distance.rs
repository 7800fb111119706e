//! The distance that explains the votes best.

use super::votes::{VotePlan, background, choice_draws, hit, level_fill};
use crate::params::Params;

/// Thetas that a distance is estimated from, at most.
const DISTANCE_STEPS: usize = 15;

/// How a distance is estimated at one level of fill, made once: the thetas to try in turn, each with the votes that count
/// as found, and the distances that may be the answer.
pub struct DistancePlan {
    steps: Vec<(f64, u32)>,
    candidates: Vec<Candidate>,
}

/// A distance with the logarithms of the chances that a projection finds it first at each theta, and at none so far.
struct Candidate {
    distance: f64,
    first: [f64; DISTANCE_STEPS],
    not_yet: [f64; DISTANCE_STEPS],
}

impl DistancePlan {
    /// Bytes held.
    pub fn bytes(&self) -> usize {
        size_of::<Self>()
            + self.steps.capacity() * size_of::<(f64, u32)>()
            + self.candidates.capacity() * size_of::<Candidate>()
    }

    pub fn new(params: &Params, plan: &VotePlan, level: u64) -> Self {
        let fill = level_fill(level);
        let thetas = (0..DISTANCE_STEPS).map(|i| libm::exp2((i as f64 - 4.0) / 2.0));
        // Beyond some theta strangers give as many votes as members do.
        let usable = |&(theta, needed): &(f64, u32)| {
            background(params, fill, theta, choice_draws(params))[needed as usize] <= 0.05
        };
        let steps: Vec<(f64, u32)> = thetas.map(|theta| (theta, plan.votes(theta))).take_while(usable).collect();
        let distances = (0..=160).map(|i| params.near * libm::exp2(f64::from(i - 80) / 12.0));
        let candidates = distances.map(|distance| Candidate::new(params, distance, &steps)).collect();
        DistancePlan { steps, candidates }
    }

    /// The distance that explains best how the votes grow with theta; none where they stay within what strangers reach.
    pub fn estimate(&self, tables: u32, mut votes: impl FnMut(f64) -> u32) -> Option<f64> {
        // How many votes each theta adds.
        let mut added = [0u32; DISTANCE_STEPS];
        let mut counted = 0;
        let mut look = |i: usize| {
            let found = votes(self.steps[i].0);
            added[i] = found.saturating_sub(counted);
            counted = counted.max(found);
            found >= self.steps[i].1
        };
        let first = (0..self.steps.len()).find(|&i| look(i))?;
        // Votes are luckily high where they first suffice; the next thetas are not chosen for their votes.
        let last = (first + 2).min(self.steps.len() - 1);
        (first + 1..=last).for_each(|i| _ = look(i));
        // Half a miss where there is none: all projections agree at any distance well below the width.
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
