//! From what a user says to a complete set of parameters.

use super::{LAMBDA, balance, binomial, bloom, choose, collision, lsbf};
use crate::error::{Error, Result};
use crate::filter::dsbf::threshold;
use crate::filter::params::{Family, Kind, Metric, Params, check_dims, in_range, shown};
use crate::hash::projection_work;
use crate::limits;

/// What a user may say; everything else is derived.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Spec {
    pub symbols: bool,
    /// Whether projections are made by fast transforms; chosen where nothing is said.
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
    /// Match any: see [`choose`].
    pub probes: Option<i64>,
    pub polytope: Option<i64>,
    pub length: Option<f64>,
    pub centre: Option<Vec<f32>>,
    pub seed: i64,
}

pub(super) fn whole(name: &str, value: Option<i64>, low: u64, high: u64) -> Result<Option<u64>> {
    let Some(value) = value else { return Ok(None) };
    let given = u64::try_from(value)
        .map_err(|_| Error::parameter(format!("{name} must be between {low} and {high}, not {value}")))?;
    in_range(name, given, low, high)?;
    Ok(Some(given))
}

pub(super) fn count(name: &str, value: Option<i64>, low: u64, high: u32) -> Result<Option<u32>> {
    Ok(whole(name, value, low, u64::from(high))?.map(|v| v as u32))
}

/// Makes the parameters of a filter, and its dims (0 where they are to be taken from the first vector).
pub fn parameters(kind: Kind, metric: Metric, spec: &Spec) -> Result<(Params, u32)> {
    if kind == Kind::Probing {
        return choose::parameters(metric, spec);
    }
    let dims = match spec.dims {
        None => 0,
        Some(_) if metric == Metric::Jaccard => {
            return Err(Error::parameter("dims has no meaning for jaccard: sets have no dimensions"));
        }
        Some(dims) => {
            let dims = whole("dims", Some(dims), 1, u64::from(limits::MAX_DIMS))?.unwrap_or(1);
            check_dims(dims)?;
            dims as u32
        }
    };
    let family = family_of(metric, spec.symbols)?;
    if kind == Kind::Ilbf && !family.has_width() {
        return Err(Error::parameter(format!("ilbf_new does not support metric {}", metric.name()))
            .with_hint("For other metrics than l2 and l1 there are dsbf_new and lsbf_new."));
    }
    let capacity = whole("capacity", spec.capacity, 1, limits::MAX_CAPACITY)?.ok_or_else(Error::no_capacity)?;
    let near = match (spec.near, spec.width) {
        (Some(near), _) => near,
        (None, Some(width)) if kind == Kind::Ilbf => width / ILBF_WIDTH,
        _ => return Err(Error::no_near()),
    };
    if spec.width.is_some() && !family.has_width() {
        return Err(Error::parameter(format!("width has no meaning for {}", metric.name())));
    }
    let mut params = Params {
        kind,
        metric,
        family,
        seed: spec.seed as u64,
        capacity,
        near,
        far: spec.far.unwrap_or_else(|| default_far(kind, metric, near)),
        width: spec.width.unwrap_or(if family.has_width() { 1.0 } else { 0.0 }),
        tables: count("tables", spec.tables, 1, limits::MAX_TABLES)?.unwrap_or(1),
        hashes: count("hashes", spec.hashes, 1, limits::MAX_HASHES)?.unwrap_or(1),
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
    };
    // Ranges first, so that what is derived below is derived from numbers that make sense.
    let ranges = Params { bits: u64::from(params.tables), kind: Kind::Dsbf, ..params.clone() };
    ranges.validate()?;
    match kind {
        Kind::Dsbf => design_dsbf(&mut params, spec)?,
        Kind::Lsbf => design_lsbf(&mut params, spec)?,
        Kind::Ilbf => design_ilbf(&mut params, spec)?,
        Kind::Probing => {}
    }
    choose_transform(&mut params, spec.fast, dims)?;
    params.validate()?;
    crate::hash::check_expansion(&params, dims)?;
    Ok((params, dims))
}

/// The family that serves a metric.
pub(super) fn family_of(metric: Metric, symbols: bool) -> Result<Family> {
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
pub(super) fn choose_transform(params: &mut Params, fast: Option<bool>, dims: u32) -> Result<()> {
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

/// Where nothing is said about far: a little less than what unrelated vectors have, or, where distances have no upper
/// end, a multiple of near that the kind can tell from near.
fn default_far(kind: Kind, metric: Metric, near: f64) -> f64 {
    match metric {
        Metric::L2 | Metric::L1 if kind == Kind::Lsbf => 20.0 * near,
        Metric::L2 | Metric::L1 => 8.0 * near,
        bounded if near < 0.6 * bounded.unrelated() => 0.8 * bounded.unrelated(),
        bounded => (near + bounded.largest()) / 2.0,
    }
}

/// Widths worth trying, as multiples of near.
fn widths(params: &Params, spec: &Spec) -> Vec<f64> {
    match spec.width {
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

fn design_dsbf(params: &mut Params, spec: &Spec) -> Result<()> {
    let mut best: Option<(f64, f64, u32)> = None;
    for width in widths(params, spec) {
        let trial = Params { width, ..params.clone() };
        let Some(hashes) = spec.hashes.map_or_else(|| dsbf_hashes(&trial), |_| Some(params.hashes)) else { continue };
        // The rarer a near vector shares a table's bit, the more tables it takes; more hashes cost time.
        let p1 = collision::tuple(&Params { hashes, ..trial }, params.near) - 1e-3 * f64::from(hashes);
        if best.is_none_or(|(p, ..)| p1 > p) {
            best = Some((p1, width, hashes));
        }
    }
    let Some((_, width, hashes)) = best else {
        return Err(Error::parameter(format!(
            "near {} and far {} are too close for {} members: more than {} hashes a table would be needed",
            shown(params.near),
            shown(params.far),
            params.capacity,
            limits::MAX_HASHES
        ))
        .with_hint("Raise far, lower near or capacity, or let lsbf_design choose another filter."));
    };
    (params.width, params.hashes) = (width, hashes);
    params.votes = count("votes", spec.votes, 1, limits::MAX_TABLES)?.unwrap_or(0);
    let partition = dsbf_partition(params);
    if spec.tables.is_none() {
        params.tables = dsbf_tables(params, partition);
    }
    params.bits =
        whole_bits(spec, params.tables)?.unwrap_or_else(|| partition.saturating_mul(u64::from(params.tables)));
    Ok(())
}

/// Bits given, rounded up to whole partitions.
fn whole_bits(spec: &Spec, tables: u32) -> Result<Option<u64>> {
    let bits = whole("bits", spec.bits, u64::from(tables), limits::MAX_BYTES * 8)?;
    Ok(bits.map(|b| b.div_ceil(u64::from(tables)) * u64::from(tables)))
}

/// m': 2^l' where the sampled bits are the position. Where that is more than 8n/p1, the tuple is hashed to 8n/p1
/// positions: foreign members then add at most p1/8 to the p1/4 that l' allows, still under the threshold's p1/2.
fn dsbf_partition(params: &Params) -> u64 {
    let p1 = collision::tuple(params, params.near);
    let hashed = (8.0 * params.capacity as f64 / p1).ceil().clamp(64.0, 1e18) as u64;
    let natural = if params.family.is_binary() && params.hashes < 63 { 1 << params.hashes } else { u64::MAX };
    natural.min(hashed)
}

/// The chance that others set a bit, at full capacity.
fn array_fill(params: &Params) -> f64 {
    let members = params.capacity as f64;
    let fill = if params.is_natural() {
        collision::distinct(params, members) / params.partition() as f64
    } else {
        bloom::fill(collision::distinct(params, members), 1.0, params.partition() as f64)
    };
    collision::foreign(params, fill, members)
}

/// The fewest tables with at most 1 % of either error at near and far; the most that are reasonable otherwise.
fn dsbf_tables(params: &Params, partition: u64) -> u32 {
    const MOST: u32 = 64;
    let sized = Params { tables: 1, bits: partition, ..params.clone() };
    let foreign = array_fill(&sized);
    let q = |distance: f64| 1.0 - (1.0 - collision::tuple(params, distance)) * (1.0 - foreign);
    let good = |tables: u32| {
        let needed = threshold(&Params { tables, ..params.clone() }, 1.0);
        binomial::below(tables, q(params.near), needed) <= 0.01
            && binomial::at_least(tables, q(params.far), needed) <= 0.01
    };
    (params.votes.max(1)..=MOST).find(|&tables| good(tables)).unwrap_or(MOST)
}

/// Bits of a partition a member: a fill of 0.22.
const LSBF_LOAD: f64 = 4.0;
const LSBF_VERIFY_HASHES: u32 = 8;

fn design_lsbf(params: &mut Params, spec: &Spec) -> Result<()> {
    params.overflow = count("overflow", spec.overflow, 0, limits::MAX_OVERFLOW)?.unwrap_or(1);
    params.robust = spec.robust.unwrap_or(params.overflow > 0 && spec.verify_bits != Some(0));
    let verify = whole("verify_bits", spec.verify_bits, 0, limits::MAX_BYTES * 8)?;
    let hashes = count("bloom_hashes", spec.bloom_hashes, 1, limits::MAX_BLOOM_HASHES)?;
    if verify != Some(0) {
        params.bloom_hashes = hashes.unwrap_or(LSBF_VERIFY_HASHES);
        let needed = f64::from(params.bloom_hashes) * params.capacity as f64 / std::f64::consts::LN_2;
        params.verify_bits = verify.unwrap_or(needed.ceil().max(64.0) as u64);
    } else if hashes.is_some() {
        return Err(Error::parameter("bloom_hashes needs a verification filter, but verify_bits is 0"));
    }
    if params.robust && (params.overflow == 0 || params.verify_bits == 0) {
        return Err(Error::parameter("the robust overflow needs overflow > 0 and a verification filter"));
    }
    if spec.votes.is_some() {
        return Err(Error::parameter("votes has no meaning for lsbf: all tables must agree")
            .with_hint("lsbf_new(match => 'any', ...) makes a filter of which some must."));
    }
    let tables = spec.tables.map_or(2..=10, |_| params.tables..=params.tables);
    let hashes = spec.hashes.map_or(1..=16, |_| params.hashes..=params.hashes);
    let mut best: Option<(f64, Params)> = None;
    for width in widths(params, spec) {
        for tables in tables.clone() {
            for hashes in hashes.clone() {
                let partition = lsbf_partition(&Params { hashes, ..params.clone() }, spec, tables)?;
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

fn lsbf_partition(params: &Params, spec: &Spec, tables: u32) -> Result<u64> {
    let given = whole_bits(spec, tables)?.map(|bits| bits / u64::from(tables));
    let hashed = (LSBF_LOAD * params.capacity as f64).ceil().max(64.0) as u64;
    let natural = if params.family.is_binary() && params.hashes < 63 { 1 << params.hashes } else { u64::MAX };
    Ok(given.unwrap_or(hashed.min(natural)))
}

/// f_balance at near and far, with a small price for time and space so that ties go to the smaller filter.
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
    // Where distances have no upper end, unrelated members are still not infinitely far: twice as far as far.
    let others = match params.metric.unrelated().is_finite() {
        true => 0.0,
        false => capacity * lsbf::parts(params, fill, 2.0 * params.far, 1.0).0,
    };
    balance(LAMBDA, (accepted(params.far) + others).min(1.0), 1.0 - accepted(params.near))
        + 1e-4 * f64::from(params.tables)
        + 1e-5 * f64::from(params.tables * params.hashes)
}

/// Width of an ILBF bucket as a multiple of near.
const ILBF_WIDTH: f64 = 2.0;
const ILBF_TABLES: u32 = 16;
const ILBF_SLOTS: u32 = 32;
/// k' = 4 is what the paper's Table I was made with.
const ILBF_BLOOM_HASHES: u32 = 4;

fn design_ilbf(params: &mut Params, spec: &Spec) -> Result<()> {
    if spec.hashes.is_some_and(|h| h != 1) {
        return Err(Error::parameter("hashes must be 1 for ilbf"));
    }
    params.width = spec.width.unwrap_or(ILBF_WIDTH * params.near);
    if spec.tables.is_none() {
        params.tables = ILBF_TABLES;
    }
    params.slots = count("slots", spec.slots, 8, limits::MAX_SLOTS)?.unwrap_or(ILBF_SLOTS);
    params.bloom_hashes =
        count("bloom_hashes", spec.bloom_hashes, 1, limits::MAX_BLOOM_HASHES)?.unwrap_or(ILBF_BLOOM_HASHES);
    params.aligned = spec.aligned.unwrap_or(false);
    params.votes = count("votes", spec.votes, 1, limits::MAX_TABLES)?.unwrap_or(0);
    // Table I's load: n k / m about 1.
    let needed = params.capacity.saturating_mul(u64::from(params.tables)).max(64);
    let most = u64::from(u32::MAX);
    let blooms = whole("blooms", spec.blooms, 2, most)?.unwrap_or(needed);
    params.bits = blooms.saturating_mul(u64::from(params.slots));
    params.blooms = blooms.min(most) as u32;
    if blooms > most {
        // Too large anyway: the size is what the user should hear about.
        return Params { kind: Kind::Dsbf, ..params.clone() }.validate();
    }
    Ok(())
}
