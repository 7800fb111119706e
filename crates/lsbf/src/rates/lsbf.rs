//! Rates of the LSBF, with each of its parts on or off.
//!
//! With p = P(same bucket), r = P(next bucket), P = p^M and P1 = M p^(M-1) r, a near vector is found by its own
//! positions with probability P^L, through one neighbour with L P^(L-1) P1.

use super::{Facts, bloom, crowding};
use crate::filter::lsbf::steps;
use crate::hash::collision;
use crate::params::{Family, Params};

/// What acceptance depends on besides the parameters.
#[derive(Debug, Clone, Copy)]
pub struct Fill {
    /// Chance that others set a bit of the array.
    pub array: f64,
    /// False positive rate of the verification filter; 1 without one.
    pub verify: f64,
    pub members: f64,
}

impl Fill {
    pub fn of(facts: &Facts) -> Fill {
        let (members, hashes) = (facts.members as f64, f64::from(facts.params.bloom_hashes));
        let verify = match facts.params.verify_bits {
            0 => 1.0,
            bits => {
                let signatures = bloom::keys_from_fill(facts.verify_fill.min(1.0 - 1e-12), hashes, bits as f64);
                libm::pow(facts.verify_fill, hashes).max(crowding::crowding(signatures, members))
            }
        };
        Fill { array: facts.foreign(), verify, members }
    }
}

/// Neighbours a table has.
fn neighbours(params: &Params, steps: u32) -> f64 {
    let per_hash = match params.family.law() {
        Family::MinHash => 0,
        Family::Gaussian | Family::Cauchy => 2 * steps,
        _ => steps.min(1),
    };
    f64::from(per_hash * params.hashes)
}

/// P(accepted) with the nearest member at `distance`.
pub fn acceptance(facts: &Facts, distance: f64, theta: f64) -> f64 {
    acceptance_at(&facts.params, Fill::of(facts), distance, theta)
}

/// P(accepted by what one member at `distance` wrote, and what others wrote).
pub fn acceptance_at(params: &Params, fill: Fill, distance: f64, theta: f64) -> f64 {
    let (found, foreign) = parts(params, fill, distance, theta);
    // Any of the unrelated members may agree in all tables by chance.
    let unrelated = if params.family == Family::Symbols { 1.0 } else { params.metric.unrelated() };
    let nobody = libm::exp(-fill.members * parts(params, fill, unrelated, theta).0);
    1.0 - (1.0 - found - foreign).max(0.0) * nobody
}

/// P(accepted by what the member at `distance` wrote), P(accepted otherwise, by what several others wrote).
pub fn parts(params: &Params, fill: Fill, distance: f64, theta: f64) -> (f64, f64) {
    let (tables, hashes) = (f64::from(params.tables), f64::from(params.hashes));
    let steps = steps(params, theta);
    let p = collision::same(params.family, distance, params.width);
    let r = collision::adjacent(params.family, distance, params.width, steps);
    let own = libm::pow(p, hashes);
    let one_off = hashes * libm::pow(p, hashes - 1.0) * r;
    let Fill { array: f, verify: e, .. } = fill;

    // Found by what the member itself wrote, in all tables or in all but one, whose bit is missing or hidden by a
    // foreign one. The literal rule does not look behind a hidden miss.
    let all_own = libm::pow(own, tables);
    let next_door = tables * libm::pow(own, tables - 1.0) * one_off;
    let (missing, hidden) = (next_door * (1.0 - f), if params.robust { next_door * f } else { 0.0 });

    // Every bit is set, or all but one, and yet not by this member: only a false positive of the verification accepts.
    let hit = own + (1.0 - own) * f;
    let all = (libm::pow(hit, tables) - all_own - hidden).max(0.0);
    let all_but_one = (tables * libm::pow(hit, tables - 1.0) * (1.0 - hit) - missing).max(0.0);
    let tries = neighbours(params, steps);
    let some = |tries: f64| -libm::expm1(tries * libm::log1p(-(f * e).min(1.0 - 1e-15)));
    let behind = if params.robust { (1.0 - e) * some(tries * tables) } else { 0.0 };
    (all_own + missing + hidden, all * (e + behind) + all_but_one * some(tries))
}
