//! Rates of the ILBF.

use super::Facts;
use crate::binomial;
use crate::filter::ilbf::votes::{VotePlan, fill_level, given_hits, hit, hits, mixed, query_fill};

/// Random draws of the k loads that a predicted rate is averaged over.
const RATE_DRAWS: u32 = 256;

/// P(accepted), given the distance of the nearest member.
pub fn acceptance(facts: &Facts, distance: f64, theta: f64) -> f64 {
    let params = &facts.params;
    let plan = VotePlan::up_to(params, fill_level(params, facts.ones, facts.squares), theta);
    let fill = query_fill(params, facts.ones, facts.squares);
    // From the narrowest step to the widest, a projection that has found the member finds it again. The votes of other
    // members are neither identical nor independent from step to step: take the geometric mean of both assumptions.
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

/// The distribution of hits after each projection that missed has found the member with probability `p`.
fn widened(hits: &[f64], p: f64) -> Vec<f64> {
    let tables = hits.len() - 1;
    let mut out = vec![0.0; hits.len()];
    for (j, hit) in hits.iter().enumerate().filter(|(_, hit)| **hit > 0.0) {
        for new in 0..=tables - j {
            out[j + new] += hit * binomial::pmf((tables - j) as u32, p, new as u32);
        }
    }
    out
}
