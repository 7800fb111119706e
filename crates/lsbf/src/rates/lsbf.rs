//! Rates of the LSBF, with and without verification filter and active overflow.
//!
//! With p = P(same bucket), r = P(neighbouring bucket), P = p^M and P1 = M p^(M-1) r, a near vector is found at its own
//! positions with probability P^L, and with one neighbouring bucket with probability L P^(L-1) P1.

use super::{Facts, bloom, crowding};
use crate::filter::lsbf::steps;
use crate::hash::collision;
use crate::params::{Family, Params};

/// The fill of a filter, on which acceptance depends besides the parameters.
#[derive(Debug, Clone, Copy)]
pub struct Fill {
    /// The probability that other members have set a bit of the array.
    pub array: f64,
    /// False positive rate of the verification filter; 1 without one.
    pub verify: f64,
    /// The number of members.
    pub members: f64,
}

impl Fill {
    /// The fill of an existing filter.
    pub fn of(facts: &Facts) -> Fill {
        let (members, hashes) = (facts.members as f64, f64::from(facts.params.bloom_hashes));
        let verify = match facts.params.verify_bits {
            0 => 1.0,
            bits => {
                let signatures = bloom::keys_from_fill(facts.verify_fill.min(1.0 - 1e-12), hashes, bits as f64);
                libm::pow(facts.verify_fill, hashes).max(crowding::shared_keys(signatures, members))
            }
        };
        Fill { array: facts.set_by_others(), verify, members }
    }
}

/// The number of neighbouring buckets that the overflow tries per table.
fn neighbours(params: &Params, steps: u32) -> f64 {
    let per_hash = match params.family.law() {
        Family::MinHash => 0,
        Family::Gaussian | Family::Cauchy => 2 * steps,
        _ => steps.min(1),
    };
    f64::from(per_hash * params.hashes)
}

/// P(accepted), given the distance of the nearest member.
pub fn acceptance(facts: &Facts, distance: f64, theta: f64) -> f64 {
    acceptance_at(&facts.params, Fill::of(facts), distance, theta)
}

/// P(accepted), given the distance of the nearest member, for any fill.
pub fn acceptance_at(params: &Params, fill: Fill, distance: f64, theta: f64) -> f64 {
    let (found, by_others) = parts(params, fill, distance, theta);
    // Each unrelated member may agree in all tables by chance.
    let unrelated = if params.family == Family::Symbols { 1.0 } else { params.metric.unrelated() };
    let nobody = libm::exp(-fill.members * parts(params, fill, unrelated, theta).0);
    1.0 - (1.0 - found - by_others).max(0.0) * nobody
}

/// P(accepted due to the bits of the member at `distance`), and P(accepted only due to the bits of other members).
pub fn parts(params: &Params, fill: Fill, distance: f64, theta: f64) -> (f64, f64) {
    let (tables, hashes) = (f64::from(params.tables), f64::from(params.hashes));
    let steps = steps(params, theta);
    let p = collision::same(params.family, distance, params.width);
    let r = collision::adjacent(params.family, distance, params.width, steps);
    let own = libm::pow(p, hashes);
    let one_off = hashes * libm::pow(p, hashes - 1.0) * r;
    let Fill { array: f, verify: e, .. } = fill;

    // The member's own bits are found in all tables, or in all but one. In that one, the query's bit is not set, or it
    // is set by another member, which hides the miss from the paper's overflow but not from the robust one.
    let all_own = libm::pow(own, tables);
    let next_door = tables * libm::pow(own, tables - 1.0) * one_off;
    let (missing, hidden) = (next_door * (1.0 - f), if params.robust { next_door * f } else { 0.0 });

    // All bits are set, or all but one, but not all of them by this member: only a false positive of the verification
    // filter accepts the query.
    let hit = own + (1.0 - own) * f;
    let all = (libm::pow(hit, tables) - all_own - hidden).max(0.0);
    let all_but_one = (tables * libm::pow(hit, tables - 1.0) * (1.0 - hit) - missing).max(0.0);
    let tries = neighbours(params, steps);
    let some = |tries: f64| -libm::expm1(tries * libm::log1p(-(f * e).min(1.0 - 1e-15)));
    let behind = if params.robust { (1.0 - e) * some(tries * tables) } else { 0.0 };
    (all_own + missing + hidden, all * (e + behind) + all_but_one * some(tries))
}
