//! What the papers promise, as functions (docs/theory.md). All of it is computed with libm's portable functions, so
//! that a threshold derived here is the same on every machine.

pub mod binomial;
pub mod bloom;
pub mod choose;
pub mod collision;
mod crowd;
pub mod design;
pub mod dsbf;
pub mod explain;
mod hits;
pub mod ilbf;
pub mod lsbf;
pub mod probing;
pub mod sample;

use crate::filter::Facts;
use crate::filter::params::{Family, Kind, Params};
use crate::hash::projection_work;

/// The probability that a vector whose nearest member is at `distance`, all others unrelated, is accepted.
pub fn acceptance(facts: &Facts, distance: f64, theta: f64) -> f64 {
    if facts.ones == 0 {
        return 0.0;
    }
    match facts.params.kind {
        Kind::Dsbf => dsbf::acceptance(facts, distance, theta),
        Kind::Lsbf => lsbf::acceptance(facts, distance, theta),
        Kind::Ilbf => ilbf::acceptance(facts, distance, theta),
        Kind::Probing => probing::acceptance(facts, distance, theta),
    }
}

/// The predicted false positive rate: of vectors at theta x far, as theta x near is what was asked for.
pub fn false_positives(facts: &Facts, theta: f64) -> f64 {
    let params = &facts.params;
    acceptance(facts, (theta * params.far).min(params.metric.largest()), theta)
}

/// f_balance of the LSBF paper: lambda FPR + (1 - lambda) FNR.
pub fn balance(lambda: f64, fpr: f64, fnr: f64) -> f64 {
    lambda * fpr + (1.0 - lambda) * fnr
}

/// The weight of false positives where a parameter is chosen for the user: a miss is worse than a wasted re-check.
pub const LAMBDA: f64 = 0.3;

/// What a question costs, in units of the planner's cpu_operator_cost: hashing takes one unit for some 64 multiplications.
pub fn question_cost(params: &Params, dims: u32, theta: f64) -> f64 {
    let tables = f64::from(params.tables);
    let hashes = tables * f64::from(params.hashes);
    let hashing = match params.family {
        Family::Bits | Family::Symbols => hashes / 8.0,
        Family::MinHash => hashes * 2.0,
        _ => projection_work(params, dims.max(1)) as f64 / 64.0,
    };
    let probing = match params.kind {
        Kind::Dsbf | Kind::Lsbf => tables,
        Kind::Ilbf => tables * (theta + 1.0) * f64::from(params.slots.div_ceil(64)),
        Kind::Probing => {
            // A stranger is turned away when too few tables are left.
            let asked = f64::from(params.tables - params.votes + 1);
            let probes = f64::from(probing::probes(params, theta));
            let scanned = f64::from(params.polytope()) * hashes / 32.0;
            // The fewer hashes, the more sets of alternatives get into each other's way.
            let crowd = 9.0 / f64::from(params.hashes);
            let sets = 1.0 + crowd * crowd * libm::log2(probes + 1.0) / 19.0;
            let walk = if probes > 1.0 { 90.0 } else { 3.0 };
            scanned + asked * (walk + probes * (1.8 + 0.5 * sets))
        }
    };
    5.0 + hashing + probing
}
