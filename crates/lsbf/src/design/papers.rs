//! Derives the parameters of the papers' filters.

use super::options::{Options, choose_transform, count, family_of, whole};
use crate::balance::balance;
use crate::binomial;
use crate::error::{Error, Result};
use crate::filter::dsbf::threshold;
use crate::hash::collision;
use crate::limits;
use crate::params::{Kind, Metric, Params, shown};
use crate::rates::{bloom, crowding, lsbf};

/// How the numbers of one kind of filter are derived.
type Derive = fn(&mut Params, &Options) -> Result<()>;

/// The parameters of a filter, and its dims (0 if they are to be taken from the first vector).
pub fn parameters(kind: Kind, metric: Metric, options: &Options, derive: Derive) -> Result<(Params, u32)> {
    let dims = given_dims(metric, options)?;
    let mut params = start(kind, metric, options)?;
    // Check the ranges before other parameters are derived.
    let ranges = Params { bits: u64::from(params.tables), kind: Kind::Dsbf, ..params.clone() };
    ranges.validate()?;
    derive(&mut params, options)?;
    choose_transform(&mut params, options.fast, dims)?;
    params.validate()?;
    crate::hash::check_expansion(&params, dims)?;
    Ok((params, dims))
}

fn given_dims(metric: Metric, options: &Options) -> Result<u32> {
    if options.dims.is_some() && metric == Metric::Jaccard {
        return Err(Error::parameter("dims does not apply to jaccard: sets have no dimensions"));
    }
    Ok(count("dims", options.dims, 1, limits::MAX_DIMS)?.unwrap_or(0))
}

/// The parameters that all kinds have in common.
fn start(kind: Kind, metric: Metric, options: &Options) -> Result<Params> {
    let family = family_of(metric, options.symbols)?;
    if kind == Kind::Ilbf && !family.has_width() {
        return Err(Error::parameter(format!("ilbf_new does not support metric {}", metric.name()))
            .with_hint("Use dsbf_new or lsbf_new for metrics other than l2 and l1."));
    }
    let capacity = whole("capacity", options.capacity, 1, limits::MAX_CAPACITY)?.ok_or_else(Error::no_capacity)?;
    let near = match (options.near, options.width) {
        (Some(near), _) => near,
        (None, Some(width)) if kind == Kind::Ilbf => width / ILBF_WIDTH,
        _ => return Err(Error::no_near()),
    };
    if options.width.is_some() && !family.has_width() {
        return Err(Error::parameter(format!("width does not apply to {}", metric.name())));
    }
    Ok(Params {
        kind,
        metric,
        family,
        seed: options.seed as u64,
        capacity,
        near,
        far: options.far.unwrap_or_else(|| default_far(kind, metric, near)),
        width: options.width.unwrap_or(if family.has_width() { 1.0 } else { 0.0 }),
        tables: count("tables", options.tables, 1, limits::MAX_TABLES)?.unwrap_or(1),
        hashes: count("hashes", options.hashes, 1, limits::MAX_HASHES)?.unwrap_or(1),
        bits: 1,
        verify_bits: 0,
        bloom_hashes: 0,
        overflow: 0,
        robust: false,
        blooms: 0,
        slots: 0,
        aligned: false,
        votes: 0,
        probing: None,
        quotient: None,
    })
}

/// The default for far: a little less than the distance of unrelated vectors. For unbounded distances, a multiple of
/// near that the kind of filter can distinguish from near.
fn default_far(kind: Kind, metric: Metric, near: f64) -> f64 {
    match metric {
        Metric::L2 | Metric::L1 if kind == Kind::Lsbf => 20.0 * near,
        Metric::L2 | Metric::L1 => 8.0 * near,
        bounded if near < 0.6 * bounded.unrelated() => 0.8 * bounded.unrelated(),
        bounded => (near + bounded.largest()) / 2.0,
    }
}

/// The widths to try.
fn widths(params: &Params, options: &Options) -> Vec<f64> {
    match options.width {
        _ if !params.family.has_width() => vec![0.0],
        Some(width) => vec![width],
        None => (0..=20).map(|i| params.near * libm::exp2(f64::from(i) / 2.0)).collect(),
    }
}

/// Section 3 of the DSBF paper, for any family: l' = ceil(log_(p1/p2) 4n).
fn dsbf_hashes(params: &Params) -> Option<u32> {
    let p1 = collision::same(params.family, params.near, params.width);
    let p2 = collision::same(params.family, params.far, params.width);
    let hashes = (libm::log(4.0 * params.capacity as f64) / libm::log(p1 / p2) - 1e-9).ceil().max(1.0);
    (hashes <= f64::from(limits::MAX_HASHES)).then_some(hashes as u32)
}

/// The numbers of a DSBF.
pub fn derive_dsbf(params: &mut Params, options: &Options) -> Result<()> {
    let mut best: Option<(f64, f64, u32)> = None;
    for width in widths(params, options) {
        let trial = Params { width, ..params.clone() };
        let Some(hashes) = options.hashes.map_or_else(|| dsbf_hashes(&trial), |_| Some(params.hashes)) else {
            continue;
        };
        // The less likely a near vector shares a bit, the more tables are needed. More hashes take more time.
        let p1 = collision::tuple(&Params { hashes, ..trial }, params.near) - 1e-3 * f64::from(hashes);
        if best.is_none_or(|(p, ..)| p1 > p) {
            best = Some((p1, width, hashes));
        }
    }
    let Some((_, width, hashes)) = best else {
        return Err(Error::parameter(format!(
            "near {} and far {} are too close for {} members: more than {} hashes per table would be needed",
            shown(params.near),
            shown(params.far),
            params.capacity,
            limits::MAX_HASHES
        ))
        .with_hint("Raise far, lower near or capacity, or let lsbf_design choose another filter."));
    };
    (params.width, params.hashes) = (width, hashes);
    params.votes = count("votes", options.votes, 1, limits::MAX_TABLES)?.unwrap_or(0);
    let partition = dsbf_partition(params);
    if options.tables.is_none() {
        params.tables = dsbf_tables(params, partition);
    }
    params.bits =
        whole_bits(options, params.tables)?.unwrap_or_else(|| partition.saturating_mul(u64::from(params.tables)));
    Ok(())
}

/// The specified bits, rounded up to whole partitions.
fn whole_bits(options: &Options, tables: u32) -> Result<Option<u64>> {
    let bits = whole("bits", options.bits, u64::from(tables), limits::MAX_BYTES * 8)?;
    Ok(bits.map(|b| b.div_ceil(u64::from(tables)) * u64::from(tables)))
}

/// m', the bits of a partition: 2^l' if the sampled bits are the position. If that is more than 8n/p1, the tuple is
/// hashed to 8n/p1 positions: other members then add at most p1/8 to the p1/4 that l' allows, which stays below the
/// threshold p1/2.
fn dsbf_partition(params: &Params) -> u64 {
    let p1 = collision::tuple(params, params.near);
    let hashed = (8.0 * params.capacity as f64 / p1).ceil().clamp(64.0, 1e18) as u64;
    let natural = if params.family.is_binary() && params.hashes < 63 { 1 << params.hashes } else { u64::MAX };
    natural.min(hashed)
}

/// The probability that other members have set the bit of a query, at capacity.
fn array_fill(params: &Params) -> f64 {
    let members = params.capacity as f64;
    let fill = if params.is_natural() {
        crowding::distinct(params, members) / params.partition() as f64
    } else {
        bloom::fill(crowding::distinct(params, members), 1.0, params.partition() as f64)
    };
    crowding::set_by_others(params, fill, members)
}

/// The smallest number of tables with error rates of at most 1 % at near and at far, or `MAX` if there is none.
fn dsbf_tables(params: &Params, partition: u64) -> u32 {
    const MAX: u32 = 64;
    let sized = Params { tables: 1, bits: partition, ..params.clone() };
    let foreign = array_fill(&sized);
    let q = |distance: f64| 1.0 - (1.0 - collision::tuple(params, distance)) * (1.0 - foreign);
    let good = |tables: u32| {
        let needed = threshold(&Params { tables, ..params.clone() }, 1.0);
        binomial::below(tables, q(params.near), needed) <= 0.01
            && binomial::at_least(tables, q(params.far), needed) <= 0.01
    };
    (params.votes.max(1)..=MAX).find(|&tables| good(tables)).unwrap_or(MAX)
}

/// Bits of a partition per member: a fill of 0.22 at capacity.
const LSBF_LOAD: f64 = 4.0;

/// Bits that a member sets in the verification filter: a false positive rate of 1/256 at capacity.
const LSBF_VERIFY_HASHES: u32 = 8;

/// The numbers of an LSBF in which all tables must match.
pub fn derive_lsbf(params: &mut Params, options: &Options) -> Result<()> {
    params.overflow = count("overflow", options.overflow, 0, limits::MAX_OVERFLOW)?.unwrap_or(1);
    params.robust = options.robust.unwrap_or(params.overflow > 0 && options.verify_bits != Some(0));
    let verify = whole("verify_bits", options.verify_bits, 0, limits::MAX_BYTES * 8)?;
    let hashes = count("bloom_hashes", options.bloom_hashes, 1, limits::MAX_BLOOM_HASHES)?;
    if verify != Some(0) {
        params.bloom_hashes = hashes.unwrap_or(LSBF_VERIFY_HASHES);
        let needed = f64::from(params.bloom_hashes) * params.capacity as f64 / std::f64::consts::LN_2;
        params.verify_bits = verify.unwrap_or(needed.ceil().max(64.0) as u64);
    } else if hashes.is_some() {
        return Err(Error::parameter("bloom_hashes requires a verification filter, but verify_bits is 0"));
    }
    if params.robust && (params.overflow == 0 || params.verify_bits == 0) {
        return Err(Error::parameter("robust requires overflow > 0 and a verification filter"));
    }
    if options.votes.is_some() {
        return Err(Error::parameter("votes does not apply to match => 'all': all tables must match")
            .with_hint("Use lsbf_new(match => 'any', ...) to require only some of the tables to match."));
    }
    let tables = options.tables.map_or(2..=10, |_| params.tables..=params.tables);
    let hashes = options.hashes.map_or(1..=16, |_| params.hashes..=params.hashes);
    let mut best: Option<(f64, Params)> = None;
    for width in widths(params, options) {
        for tables in tables.clone() {
            for hashes in hashes.clone() {
                let partition = lsbf_partition(&Params { hashes, ..params.clone() }, options, tables)?;
                let trial = Params { width, tables, hashes, bits: partition * u64::from(tables), ..params.clone() };
                let cost = lsbf_cost(&trial);
                if best.as_ref().is_none_or(|(c, _)| cost < *c) {
                    best = Some((cost, trial));
                }
            }
        }
    }
    if let Some((_, found)) = best {
        *params = found;
    }
    Ok(())
}

fn lsbf_partition(params: &Params, options: &Options, tables: u32) -> Result<u64> {
    let given = whole_bits(options, tables)?.map(|bits| bits / u64::from(tables));
    let hashed = (LSBF_LOAD * params.capacity as f64).ceil().max(64.0) as u64;
    let natural = if params.family.is_binary() && params.hashes < 63 { 1 << params.hashes } else { u64::MAX };
    Ok(given.unwrap_or(hashed.min(natural)))
}

/// f_balance at near and far, plus a small cost for time and space, so that the smaller filter wins a tie.
fn lsbf_cost(params: &Params) -> f64 {
    let capacity = params.capacity as f64;
    let verify = match params.verify_bits {
        0 => 1.0,
        bits => libm::pow(
            bloom::fill(capacity, f64::from(params.bloom_hashes), bits as f64),
            f64::from(params.bloom_hashes),
        ),
    };
    let fill = lsbf::Fill { array: array_fill(params), verify, members: capacity };
    let accepted = |distance: f64| lsbf::acceptance_at(params, fill, distance, 1.0);
    // For unbounded distances, assume that unrelated members are at twice far.
    let others = match params.metric.unrelated().is_finite() {
        true => 0.0,
        false => capacity * lsbf::parts(params, fill, 2.0 * params.far, 1.0).0,
    };
    balance((accepted(params.far) + others).min(1.0), 1.0 - accepted(params.near))
        + 1e-4 * f64::from(params.tables)
        + 1e-5 * f64::from(params.tables * params.hashes)
}

/// Width of an ILBF's bucket as a multiple of near.
const ILBF_WIDTH: f64 = 2.0;

const ILBF_TABLES: u32 = 16;

const ILBF_SLOTS: u32 = 32;

/// k' of the paper's Table I.
const ILBF_BLOOM_HASHES: u32 = 4;

/// The numbers of an ILBF.
pub fn derive_ilbf(params: &mut Params, options: &Options) -> Result<()> {
    if options.hashes.is_some_and(|h| h != 1) {
        return Err(Error::parameter("hashes must be 1 for ilbf"));
    }
    params.width = options.width.unwrap_or(ILBF_WIDTH * params.near);
    if options.tables.is_none() {
        params.tables = ILBF_TABLES;
    }
    params.slots = count("slots", options.slots, 8, limits::MAX_SLOTS)?.unwrap_or(ILBF_SLOTS);
    params.bloom_hashes =
        count("bloom_hashes", options.bloom_hashes, 1, limits::MAX_BLOOM_HASHES)?.unwrap_or(ILBF_BLOOM_HASHES);
    params.aligned = options.aligned.unwrap_or(false);
    params.votes = count("votes", options.votes, 1, limits::MAX_TABLES)?.unwrap_or(0);
    // The load of the paper's Table I: n k / m = 1.
    let default = params.capacity.saturating_mul(u64::from(params.tables)).max(64);
    let max = u64::from(u32::MAX);
    let blooms = whole("blooms", options.blooms, 2, max)?.unwrap_or(default);
    params.bits = blooms.saturating_mul(u64::from(params.slots));
    params.blooms = blooms.min(max) as u32;
    if blooms > max {
        // The filter is too large in any case: report its size in bytes.
        return Params { kind: Kind::Dsbf, ..params.clone() }.validate();
    }
    Ok(())
}
