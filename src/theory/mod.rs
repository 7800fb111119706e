//! What the papers promise, as functions (docs/theory.md). All of it is computed with libm's portable functions, so
//! that a threshold derived here is the same on every machine.

pub mod binomial;
pub mod bloom;
pub mod collision;
pub mod design;
pub mod dsbf;
pub mod ilbf;
pub mod lsbf;

use crate::filter::Facts;
use crate::filter::params::Kind;

/// The probability that a vector whose nearest member is at `distance`, all others unrelated, is accepted.
pub fn acceptance(facts: &Facts, distance: f64, theta: f64) -> f64 {
    if facts.ones == 0 {
        return 0.0;
    }
    match facts.params.kind {
        Kind::Dsbf => dsbf::acceptance(facts, distance, theta),
        Kind::Lsbf => lsbf::acceptance(facts, distance, theta),
        Kind::Ilbf => ilbf::acceptance(facts, distance, theta),
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
