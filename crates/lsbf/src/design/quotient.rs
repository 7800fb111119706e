//! Derives the parameters of quotient filters, and chooses the number of bits of their codes.

use super::choose::{Choice, Choices, check_rates};
use super::options::{Options, count, family_of, whole};
use super::request::{Prefer, Request};
use super::rows::Rows;
use super::sample::{Study, queries};
use crate::error::{Error, Result};
use crate::filter::Engine;
use crate::filter::format::{self, Header};
use crate::filter::lsqf::body::prefix_bits;
use crate::hash::check_expansion;
use crate::interrupt;
use crate::limits;
use crate::params::{CELL_BITS, Family, Kind, Layout, Metric, Params, Quotient, check_dims, length};
use crate::rates::cost::query_cost;
use crate::rates::lsqf::meeting::{Distances, Meeting, Table};
use crate::rates::lsqf::{Passing, random_meeting};

/// The default number of bits of a code.
pub const BITS: u64 = 64;
/// The default for the fraction of near vectors that queries may miss.
pub const FNR: f64 = 0.01;
/// The default for the largest theta: codes of two bits per coordinate suffice.
pub const MAX_THETA: f64 = 1.25;
/// The default for far, as a multiple of near as a length.
const FAR: f64 = 2.5;

/// The default for far.
pub fn default_far(metric: Metric, near: f64) -> f64 {
    match metric {
        // Cosine distances grow with the square of the length.
        Metric::Cosine => (FAR * FAR * near).min((near + metric.largest()) / 2.0),
        _ => FAR * near,
    }
}

/// The parameters of a quotient filter, and its dims (0 if they are to be taken from the first vector).
pub fn parameters(metric: Metric, options: &Options) -> Result<(Params, u32)> {
    if !matches!(metric, Metric::L2 | Metric::Cosine) {
        return Err(Error::parameter(format!("lsqf_new does not support metric {}", metric.name()))
            .with_hint("Use dsbf_new or lsbf_new for metrics other than l2 and cosine."));
    }
    let near = options.near.ok_or_else(Error::no_near)?;
    let dims = count("dims", options.dims, 1, limits::MAX_DIMS)?;
    let centre = options.centre.as_deref().unwrap_or_default();
    let dims = match (dims, centre.len()) {
        (Some(dims), given @ 1..) if given != dims as usize => {
            return Err(Error::parameter(format!("centre must have {dims} dimensions, not {given}")));
        }
        (None, given @ 1..) => {
            check_dims(given as u64)?;
            given as u32
        }
        (dims, _) => dims.unwrap_or(0),
    };
    if centre.iter().any(|x| !x.is_finite()) {
        return Err(Error::parameter("centre must be finite"));
    }
    let bits = whole("bits", options.bits, limits::MIN_CODE_BITS, limits::MAX_CODE_BITS)?.unwrap_or(BITS);
    let cells = count("cells", options.cells, 0, u32::MAX)?.unwrap_or(CELL_BITS[1]);
    let params = Params {
        kind: Kind::Lsqf,
        metric,
        family: Family::Rotation,
        seed: options.seed as u64,
        capacity: 1,
        near,
        far: options.far.unwrap_or_else(|| default_far(metric, near)),
        width: options.length.unwrap_or(0.0),
        tables: 1,
        hashes: 1,
        bits,
        verify_bits: 0,
        bloom_hashes: 0,
        overflow: 0,
        robust: false,
        blooms: 0,
        slots: 0,
        aligned: false,
        votes: 0,
        probing: None,
        quotient: Some(Quotient {
            cell_bits: cells,
            max_theta: options.max_theta.unwrap_or(MAX_THETA),
            fnr: options.fnr.unwrap_or(FNR),
            centre: if centre.is_empty() { 0 } else { format::centre_hash(centre) },
        }),
    };
    params.validate()?;
    check_expansion(&params, dims)?;
    Ok((params, dims))
}

/// Checks the options before a search; returns dims, or 0 if not known.
pub fn check(metric: Metric, options: &Options) -> Result<u32> {
    family_of(metric, options.symbols)?;
    whole("capacity", options.capacity, 1, limits::MAX_CAPACITY)?.ok_or_else(Error::no_capacity)?;
    parameters(metric, options).map(|(_, dims)| dims)
}

/// The fraction of the mean square of the vectors from which a centre is worth its space.
const CENTRE_SHARE: f64 = 0.05;
/// Members up to which a filter is not divided into cells, so that a centre is of no use.
const UNDIVIDED: u64 = 64;

/// The largest false positive rates, at far and of unrelated rows, and the largest number of bits of a code.
#[derive(Clone, Copy)]
struct Target {
    fpr: f64,
    unrelated: f64,
    bits: u64,
}

impl Target {
    fn of(request: &Request) -> Target {
        // Codes of one word are scored at once.
        const WORD: u64 = 64;
        let goals = &request.goals;
        let (fpr, bits) = match goals.prefer {
            Prefer::Small => (0.005, limits::MAX_CODE_BITS),
            Prefer::Balanced => (0.001, limits::MAX_CODE_BITS),
            Prefer::Fast => (0.001, WORD),
            Prefer::Sharp => (0.00005, limits::MAX_CODE_BITS),
        };
        match goals.fpr {
            Some(fpr) => Target { fpr, unrelated: fpr, bits: limits::MAX_CODE_BITS },
            None => Target { fpr, unrelated: 0.3 * fpr, bits },
        }
    }

    fn is_reached(&self, choice: &Choice) -> bool {
        choice.fpr <= self.fpr && choice.unrelated <= self.unrelated
    }
}

/// The dimensions that are assumed if they are not known.
pub const ASSUMED_DIMS: u32 = 128;

/// The best quotient filters for a request, given a sample of the data if there is one. Larger and smaller ones follow. None
/// if all of them would be too large.
pub fn choices(
    metric: Metric,
    options: &Options,
    request: &Request,
    sample: Option<(&Study, &Rows)>,
) -> Result<(Choices, Vec<f32>)> {
    check_rates(metric, &request.goals)?;
    let request = &Request { dims: if request.dims > 0 { request.dims } else { ASSUMED_DIMS }, ..request.clone() };
    let target = Target::of(request);
    let (low, high) = limits::QUOTIENT_FNR;
    let wanted = request.goals.fnr.unwrap_or(FNR);
    let (length, centre) = match sample {
        Some((study, _)) => (study.typical_length(), centre_of(study, request)),
        None => (options.length, options.centre.clone().unwrap_or_default()),
    };
    let options = Options {
        far: Some(request.far),
        fnr: Some(wanted.clamp(low, high)),
        length,
        centre: (!centre.is_empty()).then(|| centre.clone()),
        dims: Some(i64::from(request.dims)),
        ..options.clone()
    };
    let mut searches = Vec::new();
    for cells in cells_to_try(metric, &options, request)? {
        interrupt::check();
        let options = Options { cells: Some(i64::from(cells)), ..options.clone() };
        searches.extend(Search::new(metric, options, request, sample, &centre, target)?);
    }
    // The smallest filter that reaches the rates. If none does, the one with the lowest rates.
    let mut best: Option<Search> = None;
    for search in searches {
        if best.as_ref().is_none_or(|best| search.is_better(best)) {
            best = Some(search);
        }
    }
    let Some(best) = best else {
        return Ok((Choices { list: Vec::new(), fpr: target.fpr, fnr: wanted, reached: false, limited: true }, centre));
    };
    let limited = best.is_cut && !target.is_reached(&best.most);
    let reached = best.reaches() || request.goals.fpr.is_none() && best.is_held_back;
    let list = best.list()?;
    Ok((Choices { list, fpr: target.fpr, fnr: wanted, reached: reached && wanted >= low, limited }, centre))
}

/// Rates that differ by at most this factor are about the same.
const ABOUT: f64 = 1.05;

/// The number of filters that are proposed.
const SHOWN: usize = 5;

/// The smallest number of bits of a residue that is proposed in a grid.
const MIN_GRID_BITS: u32 = 4;

/// The bits of a cell to try. A directory of the members needs some. In a grid, more separate members as codes do: the cells of
/// members far away have the same hash less often.
fn cells_to_try(metric: Metric, options: &Options, request: &Request) -> Result<Vec<u32>> {
    let most = CELL_BITS[CELL_BITS.len() - 1];
    let params = shaped(metric, &Options { cells: Some(i64::from(most)), ..options.clone() }, limits::MIN_CODE_BITS)?;
    let layout = Layout::of(&params, request.dims);
    let needed = layout.map_or(0, |layout| prefix_bits(&layout, request.capacity)).min(most);
    let suffice = CELL_BITS.into_iter().filter(|&bits| bits >= needed);
    Ok(suffice.take(if layout.is_some_and(|layout| layout.grid > 0) { CELL_BITS.len() } else { 1 }).collect())
}

/// A search among the sizes of codes, with a number of bits of a cell.
struct Search<'a> {
    metric: Metric,
    options: Options,
    request: &'a Request,
    meeting: Option<Meeting>,
    target: Target,
    sizes: Vec<u64>,
    /// Whether larger codes would exceed the limit of a filter.
    is_cut: bool,
    /// The chosen size, and its filter.
    at: usize,
    chosen: Choice,
    /// The filter with the lowest rates, or the smallest that reaches the target.
    most: Choice,
    /// Whether a larger size would be chosen if the preference allowed it.
    is_held_back: bool,
}

impl<'a> Search<'a> {
    /// Searches; `None` if all filters would be too large.
    fn new(
        metric: Metric,
        options: Options,
        request: &'a Request,
        sample: Option<(&Study, &Rows)>,
        centre: &[f32],
        target: Target,
    ) -> Result<Option<Search<'a>>> {
        let (sizes, is_cut) = sizes(metric, &options, request)?;
        let Some(&first) = sizes.first() else { return Ok(None) };
        let meeting = met(&shaped(metric, &options, first)?, centre, request, sample)?;
        let judge = |at: usize| judged(shaped(metric, &options, sizes[at])?, request, meeting.as_ref());
        // More bits let fewer rows pass: bisect.
        let smallest = |target: &Target| -> Result<usize> {
            let (mut from, mut to) = (0, sizes.len() - 1);
            while from < to {
                interrupt::check();
                let middle = (from + to) / 2;
                if target.is_reached(&judge(middle)?) { to = middle } else { from = middle + 1 }
            }
            Ok(from)
        };
        let mut from = smallest(&target)?;
        let most = judge(from)?;
        if !target.is_reached(&most) {
            // No size does: the smallest that is about as good as the largest.
            from = smallest(&Target { fpr: ABOUT * most.fpr, unrelated: ABOUT * most.unrelated, ..target })?;
        }
        let allowed = sizes.iter().rposition(|&bits| bits <= target.bits).unwrap_or(0);
        let (at, is_held_back) = (from.min(allowed), allowed < from);
        let chosen = judge(at)?;
        Ok(Some(Search { metric, options, request, meeting, target, sizes, is_cut, at, chosen, most, is_held_back }))
    }

    fn reaches(&self) -> bool {
        self.target.is_reached(&self.chosen)
    }

    /// Whether this is better than a search with fewer bits of a cell.
    fn is_better(&self, other: &Search) -> bool {
        let is_lower = |rate: f64, other: f64| ABOUT * rate < other;
        match (self.reaches(), other.reaches()) {
            (true, true) => self.chosen.bytes < other.chosen.bytes,
            (false, false) => {
                is_lower(self.most.fpr, other.most.fpr) || is_lower(self.most.unrelated, other.most.unrelated)
            }
            (reaches, _) => reaches,
        }
    }

    /// The chosen filter, and some larger and smaller ones.
    fn list(self) -> Result<Vec<Choice>> {
        let mut list = vec![self.chosen];
        // Sizes that let about a quarter and four times as many rows pass.
        for step in [1, 2, 4, 8] {
            for at in [self.at.checked_sub(step), Some(self.at + step)].into_iter().flatten() {
                if let Some(&bits) = self.sizes.get(at).filter(|_| list.len() < SHOWN) {
                    list.push(judged(shaped(self.metric, &self.options, bits)?, self.request, self.meeting.as_ref())?);
                }
            }
        }
        Ok(list)
    }
}

/// Sizes of codes to try, smallest first, and whether larger ones would exceed the limit of a filter.
fn sizes(metric: Metric, options: &Options, request: &Request) -> Result<(Vec<u64>, bool)> {
    let mut sizes: Vec<u64> = Vec::new();
    let mut last = 0;
    for bits in (limits::MIN_CODE_BITS..=limits::MAX_CODE_BITS).step_by(2) {
        let params = shaped(metric, options, bits)?;
        if image_bytes(&params, request) > limits::MAX_BYTES as f64 {
            return Ok((sizes, true));
        }
        // Bits that are not enough for another coordinate, or another bit of each, are not used.
        let Some(layout) = Layout::of(&params, request.dims) else { continue };
        let used = layout.code_bits();
        // In a grid, rates of shorter residues are not predicted well (docs/theory.md).
        let is_predicted = layout.grid == 0 || layout.residue_bits >= MIN_GRID_BITS;
        if is_predicted && used != last && (used <= 64 || used.is_multiple_of(4)) {
            sizes.push(bits);
            last = used;
        }
    }
    Ok((sizes, false))
}

/// The parameters with codes of this size.
fn shaped(metric: Metric, options: &Options, bits: u64) -> Result<Params> {
    let options = Options { bits: Some(bits as i64), ..options.clone() };
    parameters(metric, &options).map(|(params, _)| params)
}

/// The centre of a sample, if it is worth its space.
fn centre_of(study: &Study, request: &Request) -> Vec<f32> {
    let square: f64 = study.centre.iter().map(|&x| f64::from(x) * f64::from(x)).sum();
    let spread = study.typical_length().unwrap_or(0.0);
    let is_useful = square > CENTRE_SHARE * (square + spread * spread) && request.capacity > UNDIVIDED;
    if is_useful { study.centre.clone() } else { Vec::new() }
}

/// What queries without a member within far, and those at far, meet.
fn met(params: &Params, centre: &[f32], request: &Request, sample: Option<(&Study, &Rows)>) -> Result<Option<Meeting>> {
    let Some((study, Rows::Reals { dims, values })) = sample else {
        return Ok(random_meeting(params, request.dims, 1.0));
    };
    let unrelated = |at: &usize| study.cases.get(*at).is_some_and(|case| case.is_unrelated);
    let all = queries(values.len() / dims.max(&1));
    let mut asked: Vec<usize> = (0..all.len()).filter(unrelated).map(|at| all[at]).collect();
    if asked.is_empty() {
        asked = all.clone();
    }
    let mut engine = Engine::centred(params.clone(), request.dims, centre.to_vec())?;
    let (near, far) = (length(params.metric, request.near), length(params.metric, request.far));
    Meeting::of_sample(&mut engine, Table { values, dims: *dims }, &asked, &all, Distances { near, far }).map(Some)
}

/// The size of a filter with all members, in bytes.
fn image_bytes(params: &Params, request: &Request) -> f64 {
    let header = Header {
        has_body: true,
        ones: request.capacity,
        ..Header::new(params, format::encode_params(params).len(), request.dims, params.centre() != 0)
    };
    header.image_words(params) as f64 * 8.0
}

/// A filter with its predicted rates.
fn judged(params: Params, request: &Request, meeting: Option<&Meeting>) -> Result<Choice> {
    let missing = || Error::data("the parameters of a quotient filter are missing");
    let passing = Passing::among(&params, request.dims, meeting, request.capacity as f64).ok_or_else(missing)?;
    Ok(Choice {
        bytes: image_bytes(&params, request) / request.capacity as f64,
        fpr: passing.at_far(request.far),
        fnr: 1.0 - passing.by_nearest(request.near),
        unrelated: passing.unrelated(),
        cost: query_cost(&params, request.dims, 1.0),
        price: 0.0,
        capacity: request.capacity,
        params,
    })
}
