//! The cost of a query, for the planner.

use crate::filter::probing::curve;
use crate::hash::agreement::partitions;
use crate::hash::projection_work;
use crate::params::{Family, Kind, Params};

/// The blocks of all partitions.
fn blocks(params: &Params) -> f64 {
    f64::from(partitions(params) * params.blocks())
}

/// The cost of a query in units of cpu_operator_cost. One unit is about 64 multiplications.
pub fn query_cost(params: &Params, dims: u32, theta: f64) -> f64 {
    let tables = f64::from(params.tables);
    let hashes = tables * f64::from(params.hashes);
    let hashing = match params.family {
        Family::Bits | Family::Symbols => hashes / 8.0,
        Family::Blocks => blocks(params) * f64::from(dims.div_ceil(128)) * 0.25,
        Family::SymbolBlocks => blocks(params) / f64::from(params.blocks()) * f64::from(dims) * 0.25,
        // With some dozens of elements.
        Family::MinHash => 60.0 + hashes * 0.6,
        _ => projection_work(params, dims.max(1)) as f64 / 64.0,
    };
    let probing = match params.kind {
        Kind::Dsbf | Kind::Lsbf => tables,
        Kind::Lsqf => 40.0,
        Kind::Ilbf => tables * (theta + 1.0) * f64::from(params.slots.div_ceil(64)),
        Kind::Probing => {
            // An unrelated row is rejected as soon as the remaining tables cannot reach the threshold.
            let read = f64::from(params.tables - params.votes + 1);
            let probes = if params.family.has_blocks() { 1.0 } else { f64::from(curve::probes(params, theta)) };
            // With few hashes, many sets take two alternatives of the same hash and are skipped.
            let conflicts = 9.0 / f64::from(params.hashes);
            let sets = 1.0 + conflicts * conflicts * libm::log2(probes + 1.0) / 19.0;
            let walk = if probes > 1.0 { 90.0 } else { 3.0 };
            read * (walk + probes * (1.8 + 0.5 * sets))
        }
    };
    5.0 + hashing + probing
}
