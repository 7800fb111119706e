//! How often unrelated members have the same key, or set a bit that a query reads.

use crate::hash::collision::same;
use crate::params::{Family, Params};

/// P(two unrelated members have the same tuple in a table).
fn same_tuple(params: &Params) -> f64 {
    let p = match params.family {
        Family::MinHash => same(Family::MinHash, params.metric.unrelated(), 0.0),
        family if family.is_binary() => 0.5,
        _ => 0.0,
    };
    libm::pow(p, f64::from(params.hashes))
}

/// P(unrelated members have set the bit that a query reads). `fill` is the fraction of a table's bits that are set. If
/// positions are hashes of tuples, the fill does not account for unrelated members that have the query's own tuple.
pub fn set_by_others(params: &Params, fill: f64, members: f64) -> f64 {
    if params.is_natural() {
        return fill;
    }
    1.0 - (1.0 - fill) * libm::exp(-members * same_tuple(params))
}

/// The fraction of members whose key an earlier member already had: `members` members have `keys` distinct keys. An
/// unrelated row from the same distribution shares the key of a member at least as often. Differences within three
/// standard errors of the member sketch are ignored.
pub fn shared_keys(keys: f64, members: f64) -> f64 {
    const TOLERANCE: f64 = 0.1;
    if members < 1.0 { 0.0 } else { ((1.0 - keys / members - TOLERANCE) / (1.0 - TOLERANCE)).clamp(0.0, 1.0) }
}

/// The expected number of distinct tuples of unrelated members in a table.
pub fn distinct(params: &Params, members: f64) -> f64 {
    match same_tuple(params) {
        0.0 => members,
        p => -libm::expm1(-members * p) / p,
    }
}
