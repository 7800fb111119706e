//! What a user may say about a filter; everything else is derived.

use crate::error::{Error, Result};
use crate::hash::projection_work;
use crate::limits;
use crate::params::{Family, Metric, Params, in_range};

/// The parameters that a user gives.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Options {
    pub symbols: bool,
    /// Whether projections are made by fast transforms; chosen if not given.
    pub fast: Option<bool>,
    pub dims: Option<i64>,
    pub capacity: Option<i64>,
    pub near: Option<f64>,
    pub far: Option<f64>,
    pub width: Option<f64>,
    pub tables: Option<i64>,
    pub hashes: Option<i64>,
    pub bits: Option<i64>,
    pub verify_bits: Option<i64>,
    pub bloom_hashes: Option<i64>,
    pub overflow: Option<i64>,
    pub robust: Option<bool>,
    pub blooms: Option<i64>,
    pub slots: Option<i64>,
    pub aligned: Option<bool>,
    pub votes: Option<i64>,
    /// Match any: see [`super::choose`].
    pub probes: Option<i64>,
    pub polytope: Option<i64>,
    pub length: Option<f64>,
    pub centre: Option<Vec<f32>>,
    pub seed: i64,
}

pub fn whole(name: &str, value: Option<i64>, low: u64, high: u64) -> Result<Option<u64>> {
    let Some(value) = value else { return Ok(None) };
    let given = u64::try_from(value)
        .map_err(|_| Error::parameter(format!("{name} must be between {low} and {high}, not {value}")))?;
    in_range(name, given, low, high)?;
    Ok(Some(given))
}

pub fn count(name: &str, value: Option<i64>, low: u64, high: u32) -> Result<Option<u32>> {
    Ok(whole(name, value, low, u64::from(high))?.map(|v| v as u32))
}

/// The family that serves a metric.
pub fn family_of(metric: Metric, symbols: bool) -> Result<Family> {
    if symbols && metric != Metric::Hamming {
        return Err(Error::parameter(format!("alphabet has no meaning for {}", metric.name())));
    }
    Ok(match metric {
        Metric::Hamming if symbols => Family::Symbols,
        Metric::Hamming => Family::Bits,
        Metric::L2 => Family::Gaussian,
        Metric::L1 => Family::Cauchy,
        Metric::Cosine => Family::Hyperplane,
        Metric::Jaccard => Family::MinHash,
    })
}

/// Fast transforms where they save work and dims are known. Very long vectors are mostly sparse ones, of which a dense
/// matrix needs only a few columns.
pub fn choose_transform(params: &mut Params, fast: Option<bool>, dims: u32) -> Result<()> {
    let Some(family) = params.family.fast() else {
        return match fast {
            None => Ok(()),
            Some(_) => Err(Error::parameter(format!("transform has no meaning for {}", params.metric.name()))
                .with_hint("It chooses how vectors are projected for l2 and cosine.")),
        };
    };
    let chosen = Params { family, ..params.clone() };
    let saves = || {
        (1..=limits::MAX_FAST_DIMS).contains(&dims) && projection_work(&chosen, dims) < projection_work(params, dims)
    };
    if fast.unwrap_or_else(saves) {
        *params = chosen;
    }
    Ok(())
}
