//! The parameters that a user may specify; all others are derived.

use crate::error::{Error, Result};
use crate::hash::projection_work;
use crate::limits;
use crate::params::{Family, Metric, Params, in_range};

/// The parameters of a filter as specified by a user. See [`Params`] for their meaning.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Options {
    /// Hamming: whether values are strings over an alphabet instead of bit strings.
    pub symbols: bool,
    /// Whether projections are computed by fast transforms; by default if they save work.
    pub fast: Option<bool>,
    /// The dimensions; by default those of the first vector.
    pub dims: Option<i64>,
    /// The number of members that the filter is designed for; required, except for quotient filters, which have none.
    pub capacity: Option<i64>,
    /// The distance within which a query should find a member; required.
    pub near: Option<f64>,
    /// The distance at or beyond which a query should find no member.
    pub far: Option<f64>,
    /// The width of a projection's bucket.
    pub width: Option<f64>,
    /// The number of tables.
    pub tables: Option<i64>,
    /// The number of hashes per table.
    pub hashes: Option<i64>,
    /// The number of bits of the filter, without the verification filter.
    pub bits: Option<i64>,
    /// LSBF: the number of bits of the verification filter, 0 for none.
    pub verify_bits: Option<i64>,
    /// The number of bits that a key sets.
    pub bloom_hashes: Option<i64>,
    /// LSBF: the number of buckets to either side that the active overflow tries.
    pub overflow: Option<i64>,
    /// LSBF: whether the overflow also tries tables whose bit is set.
    pub robust: Option<bool>,
    /// ILBF: the number of small Bloom filters.
    pub blooms: Option<i64>,
    /// ILBF: the number of bits of a small Bloom filter.
    pub slots: Option<i64>,
    /// ILBF: whether queries read aligned blocks instead of centred windows.
    pub aligned: Option<bool>,
    /// The number of tables that must match.
    pub votes: Option<i64>,
    /// Match any: the number of keys per table that a query tries.
    pub probes: Option<i64>,
    /// Match any: the number of blocks into which positions are divided, 0 for sampled positions.
    pub blocks: Option<i64>,
    /// LSQF: the typical length of vectors.
    pub length: Option<f64>,
    /// LSQF: the centre that is subtracted from vectors.
    pub centre: Option<Vec<f32>>,
    /// LSQF: the number of bits of a member's cell.
    pub cells: Option<i64>,
    /// LSQF: the largest theta that queries should be able to use.
    pub max_theta: Option<f64>,
    /// LSQF: the fraction of near vectors that queries may miss.
    pub fnr: Option<f64>,
    /// The seed of the hash functions.
    pub seed: i64,
}

/// Checks that an optional parameter is within its bounds.
pub fn whole(name: &str, value: Option<i64>, low: u64, high: u64) -> Result<Option<u64>> {
    let Some(value) = value else { return Ok(None) };
    let given = u64::try_from(value)
        .map_err(|_| Error::parameter(format!("{name} must be between {low} and {high}, not {value}")))?;
    in_range(name, given, low, high)?;
    Ok(Some(given))
}

/// Like [`whole`], for parameters of 32 bits.
pub fn count(name: &str, value: Option<i64>, low: u64, high: u32) -> Result<Option<u32>> {
    Ok(whole(name, value, low, u64::from(high))?.map(|v| v as u32))
}

/// The hash family for a metric, without fast transforms.
pub fn family_of(metric: Metric, symbols: bool) -> Result<Family> {
    if symbols && metric != Metric::Hamming {
        return Err(Error::parameter(format!("alphabet does not apply to {}", metric.name())));
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

/// Selects fast transforms if they are requested, or by default if dims is known and they save work. Very long vectors
/// are typically sparse, so that a product with a dense matrix needs only a few columns.
pub fn choose_transform(params: &mut Params, fast: Option<bool>, dims: u32) -> Result<()> {
    let Some(family) = params.family.fast() else {
        return match fast {
            None => Ok(()),
            Some(_) => Err(Error::parameter(format!("transform does not apply to {}", params.metric.name()))
                .with_hint("It selects how vectors are projected for l2 and cosine. Omit it for other metrics.")),
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
