//! What a query costs.

use crate::filter::probing::curve;
use crate::hash::projection_work;
use crate::params::{Family, Kind, Params};

/// The cost of a query in units of the planner's cpu_operator_cost: hashing takes one unit for some 64 multiplications.
pub fn query_cost(params: &Params, dims: u32, theta: f64) -> f64 {
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
            let probes = f64::from(curve::probes(params, theta));
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
