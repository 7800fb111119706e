//! Predicted error rates (docs/theory.md). They are computed with libm's portable functions, so that they are the same
//! on every machine.

pub mod bloom;
pub mod cost;
pub(crate) mod crowding;
pub mod dsbf;
pub mod explain;
mod facts;
pub(crate) mod ilbf;
pub mod lsbf;
pub mod lsqf;
pub(crate) mod probing;

pub use facts::Facts;
pub use lsqf::release;

use crate::filter::ilbf::votes::{VotePlan, fill_level};
use crate::params::Kind;

/// The rates of queries of a filter with one theta.
pub struct Acceptance<'a> {
    facts: &'a Facts,
    theta: f64,
    /// What all queries of a quotient filter have in common.
    passing: Option<Box<lsqf::Passing>>,
}

impl Acceptance<'_> {
    /// Prepares the rates of queries with this theta.
    pub fn new(facts: &Facts, theta: f64) -> Acceptance<'_> {
        let has_members = facts.ones > 0;
        let passing = if has_members { lsqf::Passing::of(facts, theta).map(Box::new) } else { None };
        Acceptance { facts, theta, passing }
    }

    /// The probability that a query is accepted if its nearest member is at `distance` and all others are unrelated.
    pub fn at(&self, distance: f64) -> f64 {
        let (facts, theta) = (self.facts, self.theta);
        if facts.ones == 0 {
            return 0.0;
        }
        match facts.params.kind {
            Kind::Dsbf => dsbf::acceptance(facts, distance, theta),
            Kind::Lsbf => lsbf::acceptance(facts, distance, theta),
            Kind::Ilbf => ilbf::acceptance(facts, distance, theta),
            Kind::Probing => probing::acceptance(facts, distance, theta),
            Kind::Lsqf => self.passing.as_ref().map_or(0.0, |passing| passing.at(distance)),
        }
    }
}

/// The probability that a query is accepted if its nearest member is at `distance` and all others are unrelated.
pub fn acceptance(facts: &Facts, distance: f64, theta: f64) -> f64 {
    Acceptance::new(facts, theta).at(distance)
}

/// The predicted false positive rate: the acceptance of queries at theta x far.
pub fn false_positives(facts: &Facts, theta: f64) -> f64 {
    let params = &facts.params;
    acceptance(facts, (theta * params.far).min(params.metric.largest()), theta)
}

/// The probability that a query is rejected although a member is at `distance`. It is zero only if that is impossible.
pub fn rejection(facts: &Facts, distance: f64, theta: f64) -> f64 {
    match facts.params.family.has_blocks() && facts.ones > 0 {
        true => probing::rejection(facts, distance, theta),
        false => 1.0 - acceptance(facts, distance, theta),
    }
}

/// The predicted false negative rate: the rejection of queries at theta x near.
pub fn false_negatives(facts: &Facts, theta: f64) -> f64 {
    let params = &facts.params;
    rejection(facts, (theta * params.near).min(params.metric.largest()), theta)
}

/// The predicted fraction of unrelated rows that pass. Unlike theta x far, their distance does not grow with theta, and
/// a row that passes at theta 1 passes at every larger theta.
pub fn unrelated(facts: &Facts, theta: f64) -> f64 {
    if facts.params.kind == Kind::Lsqf {
        return acceptance(facts, f64::INFINITY, theta);
    }
    let rate = false_positives(facts, theta);
    if theta > 1.0 { rate.max(false_positives(facts, 1.0)) } else { rate }
}

/// The votes that a query needs at theta = 1; `None` if that depends on the members and there are none yet.
pub fn threshold(facts: &Facts) -> Option<u32> {
    let params = &facts.params;
    match params.kind {
        Kind::Dsbf => Some(crate::filter::dsbf::threshold(params, 1.0)),
        Kind::Lsbf => Some(params.tables),
        Kind::Probing => Some(params.votes),
        Kind::Lsqf => Some(1),
        Kind::Ilbf if facts.ones == 0 => Some(params.votes).filter(|&votes| votes > 0),
        Kind::Ilbf => {
            let level = fill_level(params, facts.ones, facts.squares);
            Some(VotePlan::up_to(params, level, 1.0).votes(1.0))
        }
    }
}
