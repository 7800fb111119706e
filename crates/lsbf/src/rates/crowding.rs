//! How often unrelated members share a key, or set a bit that a query reads.

use crate::hash::collision::same;
use crate::params::{Family, Params};

/// P(two unrelated members share a table's tuple).
fn chance(params: &Params) -> f64 {
    let p = match params.family {
        Family::MinHash => same(Family::MinHash, params.metric.unrelated(), 0.0),
        family if family.is_binary() => 0.5,
        _ => 0.0,
    };
    libm::pow(p, f64::from(params.hashes))
}

/// P(a position that only unrelated members can have set is set): `fill` of a table's bits are. Where a tuple is hashed
/// to its position, unrelated members also hit by having the very same tuple, which the fill does not show.
pub fn foreign(params: &Params, fill: f64, members: f64) -> f64 {
    if params.is_natural() {
        return fill;
    }
    1.0 - (1.0 - fill) * libm::exp(-members * chance(params))
}

/// The share of members that found their key taken already: `keys` different ones for `members` members. A stranger from
/// the same source finds its key taken at least as often. What the sketch's error alone may show (3 standard errors) is
/// not counted.
pub fn crowding(keys: f64, members: f64) -> f64 {
    const CHANCE: f64 = 0.1;
    if members < 1.0 { 0.0 } else { ((1.0 - keys / members - CHANCE) / (1.0 - CHANCE)).clamp(0.0, 1.0) }
}

/// Expected number of different tuples that unrelated members have in a table.
pub fn distinct(params: &Params, members: f64) -> f64 {
    match chance(params) {
        0.0 => members,
        chance => -libm::expm1(-members * chance) / chance,
    }
}
