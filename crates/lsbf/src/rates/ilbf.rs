//! Rates of the ILBF.

use super::Facts;
use crate::binomial;
use crate::filter::ilbf::votes::{VotePlan, fill_level, given_hits, hit, hits, met_fill, mixed};

/// Draws of the k loads that a predicted rate is based on.
const RATE_DRAWS: u32 = 256;

/// P(accepted) with the nearest member at `distance`.
pub fn acceptance(facts: &Facts, distance: f64, theta: f64) -> f64 {
    let params = &facts.params;
    let plan = VotePlan::up_to(params, fill_level(params, facts.ones, facts.squares), theta);
    let fill = met_fill(params, facts.ones, facts.squares);
    // From the narrowest step to the widest, a projection that found the member once finds it again. What foreign
    // objects add is neither the same in every step nor independent from step to step: the truth is in between.
    let mut independent = hits(params, 0.0);
    let (mut before, mut same) = (0.0, 1.0_f64);
    for (theta, votes) in plan.deciding(theta).into_iter().rev() {
        let given = given_hits(params, fill, theta, &[votes], RATE_DRAWS);
        let now = hit(params, distance, theta).max(before);
        independent = widened(&independent, if before < 1.0 { (now - before) / (1.0 - before) } else { 0.0 });
        independent.iter_mut().zip(&given[0]).for_each(|(p, accepted)| *p *= 1.0 - accepted);
        same = same.min(1.0 - mixed(&hits(params, now), &given[0]));
        before = now;
    }
    let missed = libm::sqrt(independent.iter().sum::<f64>() * same);
    (1.0 - missed).clamp(0.0, 1.0)
}

/// The law of hits after each projection that missed has found the member with probability `more`.
fn widened(law: &[f64], more: f64) -> Vec<f64> {
    let tables = law.len() - 1;
    let mut out = vec![0.0; law.len()];
    for (j, p) in law.iter().enumerate().filter(|(_, p)| **p > 0.0) {
        for new in 0..=tables - j {
            out[j + new] += p * binomial::pmf((tables - j) as u32, more, new as u32);
        }
    }
    out
}
