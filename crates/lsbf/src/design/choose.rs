//! Searches for the best filters with `match => 'any'`, given the requirements and a model of the data.

use super::crowd;
use super::data::{Case, Data, Others};
use super::hits::{Draft, Hits, Setting, Spread, rates};
use super::options::{Options, choose_transform, count, family_of, whole};
use super::quotient;
use super::request::{Goals, Request, over};
use super::rows::Rows;
use crate::binomial::{self, quick::at_least};
use crate::error::{Error, Result};
use crate::filter::format;
use crate::filter::probing::curve;
use crate::hash::{self, agreement::differing};
use crate::interrupt;
use crate::limits;
use crate::memory;
use crate::params::{Family, Kind, LINE, Metric, Params, Probing, check_any, shown};
use crate::rates::cost::query_cost;
use crate::rates::probing;
use std::borrow::Cow;

/// The approximate memory that a search needs, in bytes.
const WORK: usize = 32 << 20;

/// A recommended filter.
#[derive(Debug, Clone)]
pub struct Choice {
    /// Its parameters.
    pub params: Params,
    /// Bytes per member, at capacity.
    pub bytes: f64,
    /// The predicted false positive rate at far.
    pub fpr: f64,
    /// The predicted false negative rate at near.
    pub fnr: f64,
    /// The predicted false positive rate of rows without a member within far.
    pub unrelated: f64,
    /// The cost of a query, in units of cpu_operator_cost.
    pub cost: f64,
    /// The number of members that it was chosen for.
    pub capacity: u64,
    /// What the search minimizes.
    pub(super) price: f64,
}

/// The result of a search.
#[derive(Debug, Clone)]
pub struct Choices {
    /// The best filters, best first.
    pub list: Vec<Choice>,
    /// The false positive rate that was searched for, after relaxing it if necessary.
    pub fpr: f64,
    /// The false negative rate that was searched for, after relaxing it if necessary.
    pub fnr: f64,
    /// Whether the requested rates were reached.
    pub reached: bool,
    /// Whether they were not because larger filters would exceed the limit of size.
    pub limited: bool,
}

/// The lowest rate that can be requested: lower rates cannot be predicted.
const MIN_RATE: f64 = 0.000001;

/// The number of filters that are recommended.
const SHOWN: usize = 8;

/// The number of candidates that are evaluated accurately.
const CANDIDATES: usize = 12;

/// Bits per key to try, in quarters.
const QUARTERS_PER_KEY: std::ops::RangeInclusive<u32> = 20..=128;

/// Numbers of tables to try.
const TABLES: [u32; 22] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 14, 16, 20, 24, 28, 32, 48, 64, 96, 128];

/// The maximum number of tables, except for MinHash, which cannot try several keys per table.
const SEARCHED_TABLES: u32 = 32;

/// The maximum number of partitions.
const SEARCHED_PARTITIONS: u32 = 24;

/// The factor by which the other members around a row may raise the rate at far, if no rate was requested.
const SLACK: f64 = 1.4;

/// The weight of false positive rates that are higher than desired.
const UNRELATED: f64 = 0.6;

/// The desired false positive rate of rows whose nearest member is a little nearer than far, relative to the rate at
/// far.
const PASS_INSIDE: f64 = 4.0;

/// The desired false positive rate of rows whose nearest member is well beyond far, relative to the rate at far.
const PASS_BEYOND: f64 = 0.055;

/// The maximum rate of rows that pass only due to false positives of the cache lines, relative to the rate at far.
const NOISE: f64 = 0.05;

/// The maximum rate of rows that pass only due to false positives of the cache lines.
const MAX_NOISE: f64 = 1e-3;

/// The same if no misses were requested, which can require that one of very many tables suffices.
const MAX_NOISE_OF_PROMISE: f64 = 0.05;

/// The parameters that the user has specified.
struct Fixed {
    tables: Option<u32>,
    hashes: Option<u32>,
    probes: Option<u32>,
    votes: Option<u32>,
    blocks: Option<u32>,
    width: Option<f64>,
    bits: Option<u64>,
    bloom_hashes: Option<u32>,
}

impl Fixed {
    fn of(options: &Options) -> Result<Fixed> {
        Ok(Fixed {
            tables: count("tables", options.tables, 1, limits::MAX_TABLES)?,
            hashes: count("hashes", options.hashes, 1, limits::MAX_HASHES)?,
            probes: count("probes", options.probes, 1, limits::MAX_PROBES)?,
            votes: count("votes", options.votes, 1, limits::MAX_TABLES)?,
            blocks: count("blocks", options.blocks, 0, limits::MAX_TABLES)?,
            width: options.width,
            bits: whole("bits", options.bits, LINE, limits::MAX_BYTES * 8)?,
            bloom_hashes: count("bloom_hashes", options.bloom_hashes, 1, limits::MAX_LINE_HASHES)?,
        })
    }
}

/// The best filters for a request. `sample` has the rows from which the cases were taken, if there are any.
pub fn choices(
    metric: Metric,
    options: &Options,
    request: &Request,
    data: &Data,
    sample: Option<&Rows>,
) -> Result<Choices> {
    let fixed = Fixed::of(options)?;
    let goals = &request.goals;
    let (default_fpr, default_fnr) = goals.prefer.rates(metric);
    let (target_fpr, target_fnr) = (goals.fpr.unwrap_or(default_fpr), goals.fnr.unwrap_or(default_fnr));
    check_rates(metric, goals)?;
    if goals.fnr == Some(0.0) {
        check_promise(request)?;
    }
    memory::check_available(WORK)?;
    let mut setting = Setting::new(request, data);
    setting.strict = goals.fpr.is_some() || sample.is_none();
    let drafts = drafts(metric, options, &fixed, &setting)?;
    let lines = Lines::new(&fixed, request.capacity);
    let (mut fpr, mut fnr) = (target_fpr, target_fnr);
    let mut unread = sample;
    loop {
        let best = drafts.iter().filter_map(|draft| best_of(draft, &fixed, &lines, &setting, fpr, fnr, false));
        let mut list: Vec<Choice> = best.collect();
        if list.is_empty() && !is_last(fpr, fnr) {
            (fpr, fnr) = relaxed(fpr, fnr);
            continue;
        }
        list.sort_by(|a, b| a.price.total_cmp(&b.price));
        list.truncate(CANDIDATES);
        let is_news = match (list.first(), unread.take()) {
            (Some(best), Some(sample)) => {
                (setting.excess, setting.correlation) = collisions(best, sample, &setting);
                true
            }
            _ => false,
        };
        let (kept, judged) = refined(list, &setting, &fixed, &lines, (fpr, fnr));
        // If the collisions in the sample rule out all candidates, search again with them taken into account.
        if kept.is_empty() && is_news {
            continue;
        }
        let list = if kept.is_empty() { judged } else { kept };
        let slack = 1.05 * if setting.strict { 1.0 } else { SLACK };
        let keeps = |best: &Choice| best.fpr.max(best.unrelated) <= target_fpr * slack && best.fnr <= target_fnr * 1.05;
        let reached = list.first().is_some_and(keeps);
        return Ok(Choices { list, fpr, fnr, reached, limited: false });
    }
}

/// Whether there are no rates left to try.
fn is_last(fpr: f64, fnr: f64) -> bool {
    fpr >= 1.0 && (fnr >= 1.0 || fnr == 0.0)
}

/// The rates to try next if these cannot be reached: first more false positives, then more false negatives, and finally
/// any rates. If no misses were requested, there are none. There are about thirty steps at most.
fn relaxed(fpr: f64, fnr: f64) -> (f64, f64) {
    if fnr == 0.0 {
        return (if fpr < 0.5 { (fpr * 2.5).min(0.6) } else { 1.0 }, fnr);
    }
    match (fpr < 0.5, fnr < 0.5) {
        (true, _) => ((fpr * 2.5).min(0.6), fnr),
        (false, true) => (fpr, (fnr * 2.5).min(0.6)),
        (false, false) if fpr < 1.0 => (1.0, 0.999),
        (false, false) => (1.0, 1.0),
    }
}

/// Measures how often unrelated rows of the sample collide, and how correlated the tables are: excess and correlation
/// of [`Setting`].
fn collisions(best: &Choice, sample: &Rows, setting: &Setting) -> (f64, f64) {
    /// Added to the expected and observed numbers of hits, so that a few random hits have little effect.
    const CAUTION: f64 = 4.0;
    let as_expected = (1.0, 0.0);
    let Setting { request, data, .. } = *setting;
    let Some(unrelated) = data.cases.iter().find(|case| case.is_unrelated) else { return as_expected };
    let found = crowd::count(&best.params, sample, |case| data.cases[case].is_unrelated);
    let Some(found) = found else { return as_expected };
    // The same cases, with only the members of the sample.
    let all: f64 = unrelated.others.iter().map(|others| others.members).sum();
    let fewer = |case: &Case| {
        let fewer = |others: &Others| Others { members: others.members * found.members / all, ..*others };
        Case { others: case.others.iter().map(fewer).collect(), ..case.clone() }
    };
    let data = Data { cases: data.cases.iter().map(fewer).collect() };
    let draft = Draft::new(best.params.clone(), request, best.params.probes(), curve::TABLES);
    let others = draft.hits(&Setting::new(request, &data), best.params.probes()).others;
    let excess = (found.hits + CAUTION) / (others.mean(|q| q) * found.tables + CAUTION);
    // Both tables of a pair are hit with probability q^2 if they are independent, and with q if they are identical.
    let q = |q: f64| (excess * q).min(1.0);
    let (square, rest) = (others.mean(|other| q(other) * q(other)), others.mean(|other| q(other) * (1.0 - q(other))));
    let pairs = (found.pair_hits + CAUTION) / (square * found.pairs + CAUTION);
    let correlation = if rest > 0.0 { (square * (pairs - 1.0) / rest).clamp(0.0, 0.95) } else { 0.0 };
    (excess, correlation)
}

/// The families and tuples to try.
fn drafts(metric: Metric, options: &Options, fixed: &Fixed, setting: &Setting) -> Result<Vec<Draft>> {
    let request = setting.request;
    let family = family_of(metric, options.symbols)?;
    for (name, is_given) in [("centre", options.centre.is_some()), ("length", options.length.is_some())] {
        if is_given {
            return Err(Error::parameter(format!("{name} does not apply to match => 'any'"))
                .with_hint(format!("It applies to l2 and cosine. Omit {name}.")));
        }
    }
    if fixed.width.is_some() && !family.has_width() {
        return Err(Error::parameter(format!("width does not apply to {}", metric.name())));
    }
    let mut drafts = Vec::new();
    if fixed.blocks.is_none_or(|blocks| blocks == 0) && request.goals.fnr != Some(0.0) {
        let widths = match fixed.width {
            _ if !family.has_width() => vec![0.0],
            Some(width) => vec![width],
            None => [2.0, 3.0, 4.0, 6.0, 9.0].map(|wide| wide * request.near).to_vec(),
        };
        for width in widths {
            let shape = shape(metric, family, options, request, width);
            shape.validate()?;
            drafts.extend(tuples(&shape, fixed, setting));
        }
    }
    drafts.extend(partitions(metric, options, fixed, setting)?);
    Ok(drafts)
}

/// Blocks that a key combines, unless the user specifies it.
const SEARCHED_CHOSEN: u32 = 4;

/// Drafts with keys of blocks.
fn partitions(metric: Metric, options: &Options, fixed: &Fixed, setting: &Setting) -> Result<Vec<Draft>> {
    let request = setting.request;
    let is_wanted = match fixed.blocks {
        Some(blocks) => blocks > 0,
        // Hashes and probes are those of sampled positions.
        None => metric == Metric::Hamming && request.dims > 0 && fixed.hashes.is_none() && fixed.probes.is_none(),
    };
    if !is_wanted {
        return Ok(Vec::new());
    }
    if metric != Metric::Hamming {
        return Err(Error::parameter(format!("blocks does not apply to {}", metric.name())));
    }
    if request.dims == 0 {
        return Err(Error::parameter("dims must be specified with blocks")
            .with_hint("It is the number of bits or symbols of a string."));
    }
    let family = if options.symbols { Family::SymbolBlocks } else { Family::Blocks };
    let shaped = |blocks: u32, hashes: u32| {
        let probing = Some(Probing { probes: fixed.probes.unwrap_or(1), blocks });
        let params = Params { probing, hashes, ..shape(metric, family, options, request, 0.0) };
        let tables = fixed.tables.or(params.tables_per_partition()).unwrap_or(1);
        Params { tables, bits: u64::from(tables) * LINE, ..params }
    };
    if let Some(blocks) = fixed.blocks {
        let params = shaped(blocks, fixed.hashes.unwrap_or(1));
        params.validate()?;
        hash::check_expansion(&params, request.dims)?;
        return Ok(vec![Draft::new(params, request, 1, curve::FIRST_LOOK)]);
    }
    // Whatever passes, nothing must be missed.
    let is_promise = request.goals.fnr == Some(0.0);
    let (mut list, mut last) = (Vec::new(), None);
    for hashes in 1..=SEARCHED_CHOSEN.min(request.dims) {
        let mut blocks = hashes;
        while blocks <= request.dims.min(limits::MAX_TABLES) {
            let params = shaped(blocks, hashes);
            if params.validate().is_err() || hash::check_expansion(&params, request.dims).is_err() {
                break;
            }
            let draft = Draft::new(params, request, 1, curve::FIRST_LOOK);
            let hits = draft.hits(setting, 1);
            // With too short keys, practically all rows pass.
            match is_promise {
                true if hits.near.fails(draft.params.tables, 0.0, 1) == 0.0 => list.push(draft),
                true => {}
                false if hits.others.mean(|q| q) < 0.7 => list.push(draft),
                false if list.is_empty() => last = Some(draft),
                false => {}
            }
            blocks += if is_promise { 1 } else { (blocks / 8).max(1) };
        }
    }
    if list.is_empty() {
        list.extend(last);
    }
    Ok(list)
}

/// The smallest filter of a family, as a template.
fn shape(metric: Metric, family: Family, options: &Options, request: &Request, width: f64) -> Params {
    Params {
        kind: Kind::Probing,
        metric,
        family,
        seed: options.seed as u64,
        capacity: request.capacity,
        near: request.near,
        far: request.far,
        width,
        tables: 1,
        hashes: 1,
        bits: LINE,
        verify_bits: 0,
        bloom_hashes: 1,
        overflow: 0,
        robust: false,
        blooms: 0,
        slots: 0,
        aligned: false,
        votes: 1,
        probing: Some(Probing { probes: 1, blocks: 0 }),
        quotient: None,
    }
}

/// The maximum number of probes, unless the user specifies it.
const SEARCHED_PROBES: u32 = 512;

/// Drafts with increasing numbers of hashes, until too few near rows are found.
fn tuples(shape: &Params, fixed: &Fixed, setting: &Setting) -> Vec<Draft> {
    let max_probes = if shape.family == Family::MinHash { 1 } else { fixed.probes.unwrap_or(SEARCHED_PROBES) };
    let request = setting.request;
    let draft = |hashes: u32| Draft::new(Params { hashes, ..shape.clone() }, request, max_probes, curve::FIRST_LOOK);
    if let Some(hashes) = fixed.hashes {
        return vec![draft(hashes)];
    }
    let (mut list, mut last, mut hashes) = (Vec::new(), None, 1u32);
    while hashes <= limits::MAX_HASHES {
        let draft = draft(hashes);
        let hits = draft.hits(setting, max_probes);
        let (found, unrelated) = (hits.near.mean(|q| q), hits.others.mean(|q| q));
        // With a single probe, many tables compensate for rare hits.
        if found < if max_probes == 1 { 0.02 } else { 0.15 } {
            break;
        }
        // With too few hashes, practically all rows pass.
        match unrelated < 0.7 {
            true => list.push(draft),
            false => last = Some(draft),
        }
        hashes += (hashes / 8).max(1);
    }
    // If there are no better ones, keep the last of these, to report its rates.
    if list.is_empty() {
        list.extend(last);
    }
    list
}

/// The best size and threshold of a draft that reaches the rates.
fn best_of(
    draft: &Draft,
    fixed: &Fixed,
    lines: &Lines,
    setting: &Setting,
    fpr: f64,
    fnr: f64,
    fine: bool,
) -> Option<Choice> {
    let mut best: Option<Choice> = None;
    let params = &draft.params;
    let has_one_key = params.family == Family::MinHash || params.family.has_blocks();
    let counts = (0..).map(curve::count).take_while(|&count| count <= SEARCHED_PROBES);
    // In a fine search, also try counts in between.
    let between = |count: u32| {
        let steps = if fine && count >= 12 { 6 } else { 1 };
        (0..steps).map(move |step| count + count * step / 12)
    };
    let probes: Vec<u32> = match fixed.probes {
        Some(probes) => vec![probes],
        None if has_one_key => vec![1],
        None => counts.flat_map(between).filter(|&count| count <= SEARCHED_PROBES).collect(),
    };
    let max = if has_one_key { limits::MAX_TABLES } else { SEARCHED_TABLES };
    let all = || match params.family.has_blocks() {
        true => {
            let choices = params.tables_per_partition().unwrap_or(max);
            (1..=(max / choices).min(SEARCHED_PARTITIONS)).map(|partitions| partitions * choices).collect()
        }
        false => TABLES.into_iter().filter(|&tables| tables <= max).collect(),
    };
    let tables: Vec<u32> = fixed.tables.map_or_else(all, |tables| vec![tables]);
    for probes in probes {
        interrupt::check();
        let hits = draft.hits(setting, probes);
        for &tables in &tables {
            let Some(votes) = max_votes(&hits, tables, fixed, fnr) else { continue };
            let passed = |spread: &Spread, noise: f64| spread.passes(tables, noise, votes);
            let keeps = |noise: f64| {
                let by_noise = at_least(tables, noise, votes);
                // If the rates cannot be reached, false positives of the lines should at least not add to them.
                let most = if fnr == 0.0 { MAX_NOISE_OF_PROMISE } else { MAX_NOISE };
                fpr >= 1.0 && (by_noise <= most || fixed.bits.is_some() || fnr >= 1.0)
                    || by_noise <= (fpr * NOISE).min(MAX_NOISE)
                        && passed(&hits.far, noise) <= fpr
                        && passed(&hits.crowd, noise) <= fpr * if setting.strict { 1.0 } else { SLACK }
                        && passed(&hits.others, noise) <= fpr * if setting.strict { 1.0 } else { SLACK }
            };
            // Start with the smallest size that reaches the rates; larger ones are taken while they lower the price.
            let lines = lines.of(tables);
            let first = lines.partition_point(|line| !keeps(probing::noise(line.rate, f64::from(probes))));
            let mut before = f64::INFINITY;
            for line in &lines[first..] {
                let probing = draft.params.probing.map(|probing| Probing { probes, ..probing });
                let params = Params { tables, votes, bloom_hashes: line.hashes, probing, ..draft.params.clone() };
                let Some(mut choice) = finished(params, &hits, line, fixed, setting.request) else { break };
                let noise = probing::noise(line.rate, f64::from(probes));
                let (inside, beyond) = (passed(&hits.inside, noise), passed(&hits.beyond, noise));
                let unrelated = over(choice.unrelated, fpr * setting.request.goals.prefer.unrelated());
                choice.price += UNRELATED
                    * (over(choice.fpr, fpr)
                        + unrelated
                        + over(inside, fpr * PASS_INSIDE)
                        + over(beyond, fpr * PASS_BEYOND));
                if choice.price >= before {
                    break;
                }
                before = choice.price;
                if best.as_ref().is_none_or(|best| choice.price < best.price) {
                    best = Some(choice);
                }
            }
        }
    }
    best
}

/// The largest threshold with which the false negative rate is reached; `None` if there is none.
fn max_votes(hits: &Hits, tables: u32, fixed: &Fixed, fnr: f64) -> Option<u32> {
    let keeps = |votes: u32| hits.near.fails(tables, 0.0, votes) <= fnr;
    if let Some(votes) = fixed.votes {
        return (votes <= tables && (fixed.tables.is_some() || keeps(votes))).then_some(votes);
    }
    // The false negative rate grows with the votes: bisect.
    let (mut low, mut high) = (0, tables);
    while low < high {
        let middle = (low + high).div_ceil(2);
        if keeps(middle) { low = middle } else { high = middle - 1 }
    }
    (low > 0).then_some(low)
}

/// Bits per key, the bits that a key sets, and the false positive rate of its cache line.
#[derive(Debug, Clone, Copy)]
struct Line {
    bits_per_key: f64,
    hashes: u32,
    rate: f64,
}

impl Line {
    fn new(bits_per_key: f64, hashes: Option<u32>) -> Line {
        let (hashes, rate) = match hashes {
            Some(hashes) => (hashes, probing::line_rate(LINE as f64 / bits_per_key, hashes)),
            None => probing::best_line(bits_per_key),
        };
        Line { bits_per_key, hashes, rate }
    }
}

/// The sizes to try, smallest first.
enum Lines {
    Any(Vec<Line>),
    /// If the number of bits was specified: bits per member, and bits that a key sets.
    Given(f64, Option<u32>),
}

impl Lines {
    fn new(fixed: &Fixed, capacity: u64) -> Lines {
        match fixed.bits {
            Some(bits) => Lines::Given(bits as f64 / capacity as f64, fixed.bloom_hashes),
            None => Lines::Any(
                QUARTERS_PER_KEY.map(|quarters| Line::new(f64::from(quarters) / 4.0, fixed.bloom_hashes)).collect(),
            ),
        }
    }

    fn of(&self, tables: u32) -> Cow<'_, [Line]> {
        match self {
            Lines::Any(lines) => Cow::Borrowed(lines),
            Lines::Given(bits, hashes) => Cow::Owned(vec![Line::new(bits / f64::from(tables), *hashes)]),
        }
    }
}

/// Completes a choice; `None` if the filter would exceed a limit.
fn finished(params: Params, hits: &Hits, line: &Line, fixed: &Fixed, request: &Request) -> Option<Choice> {
    let tables = u64::from(params.tables);
    let lines = match fixed.bits {
        Some(bits) => (bits / tables).div_ceil(LINE),
        None => (params.capacity as f64 * line.bits_per_key / LINE as f64).ceil() as u64,
    };
    let params = Params { bits: lines.max(1).checked_mul(tables * LINE)?, ..params };
    params.validate().ok()?;
    hash::check_expansion(&params, request.dims).ok()?;
    let (fpr, fnr, unrelated) =
        rates(hits, params.tables, params.votes, probing::noise(line.rate, f64::from(params.probes())));
    let stored = format::encode_params(&params).len();
    let bytes = format::image_words(&params, stored, request.dims, true) as f64 * 8.0 / params.capacity as f64;
    let cost = query_cost(&params, request.dims, 1.0);
    let price = request.goals.prefer.price(bytes, cost);
    Some(Choice { capacity: params.capacity, params, bytes, fpr, fnr, unrelated, cost, price })
}

/// Searches again around each candidate, with accurate estimates. Returns the filters that reach the rates and, if
/// there are none, the candidates with their accurate rates.
fn refined(
    list: Vec<Choice>,
    setting: &Setting,
    fixed: &Fixed,
    lines: &Lines,
    (fpr, fnr): (f64, f64),
) -> (Vec<Choice>, Vec<Choice>) {
    let max_probes = fixed.probes.unwrap_or(SEARCHED_PROBES);
    let drafts: Vec<Draft> = list
        .iter()
        .map(|choice| Draft::new(choice.params.clone(), setting.request, max_probes, curve::TABLES))
        .collect();
    let best_first = |mut choices: Vec<Choice>| {
        choices.sort_by(|a, b| a.price.total_cmp(&b.price));
        choices.truncate(SHOWN);
        choices
    };
    let best = drafts.iter().filter_map(|draft| best_of(draft, fixed, lines, setting, fpr, fnr, true));
    let kept: Vec<Choice> = best.collect();
    let as_they_are = match kept.is_empty() {
        true => list.iter().zip(&drafts).filter_map(|(choice, draft)| judged(choice, draft, fixed, setting)).collect(),
        false => Vec::new(),
    };
    (best_first(kept), best_first(as_they_are))
}

/// A choice with the rates that a more accurate draft predicts.
fn judged(choice: &Choice, draft: &Draft, fixed: &Fixed, setting: &Setting) -> Option<Choice> {
    let params = &choice.params;
    let keys = LINE as f64 * f64::from(params.tables) * params.capacity as f64 / params.bits as f64;
    let line = Line::new(LINE as f64 / keys, Some(params.bloom_hashes));
    finished(params.clone(), &draft.hits(setting, params.probes()), &line, fixed, setting.request)
}

/// The default for far: 2.5 x near for l1; for Hamming and Jaccard the geometric mean of near and the `typical` distance
/// of rows.
pub fn default_far(metric: Metric, near: f64, typical: f64) -> f64 {
    let far = match metric {
        Metric::L2 | Metric::Cosine => return quotient::default_far(metric, near),
        Metric::L1 => near * 2.5,
        Metric::Hamming | Metric::Jaccard => libm::sqrt(near * typical).max(1.5 * near),
    };
    if far < 0.95 * metric.largest() { far } else { (near + metric.largest()) / 2.0 }
}

/// The request that follows from the options.
pub fn request(metric: Metric, options: &Options, dims: u32) -> Result<Request> {
    let capacity = whole("capacity", options.capacity, 1, limits::MAX_CAPACITY)?.ok_or_else(Error::no_capacity)?;
    let near = options.near.ok_or_else(Error::no_near)?;
    let far = options.far.unwrap_or_else(|| default_far(metric, near, unrelated_distance(metric, options)));
    Ok(Request { near, far, capacity, dims, ..Request::default() })
}

/// Random bit strings: their distances have a binomial distribution, whose nearest part matters.
fn random_strings(dims: u32, members: f64) -> Vec<Others> {
    const POINTS: f64 = 200.0;
    const REACH: f64 = 10.0;
    let (mean, sd) = (f64::from(dims) / 2.0, libm::sqrt(f64::from(dims)) / 2.0);
    let (low, high) = ((mean - REACH * sd).max(0.0) as u32, (mean + REACH * sd).min(f64::from(dims)) as u32);
    let step = (f64::from(high - low) / POINTS).ceil().max(1.0);
    let at = |differing: u32| Others {
        distance: f64::from(differing) / f64::from(dims),
        members: members * step * binomial::pmf(dims, 0.5, differing),
    };
    (low..=high).step_by(step as usize).map(at).collect()
}

fn unrelated_distance(metric: Metric, options: &Options) -> f64 {
    if options.symbols { 1.0 } else { metric.unrelated() }
}

/// A model for unknown data: all members are unrelated to the query.
pub fn assumed(metric: Metric, options: &Options, request: &Request) -> Data {
    let members = request.capacity as f64;
    let others = match metric == Metric::Hamming && !options.symbols && request.dims > 0 {
        true => random_strings(request.dims, members),
        false => vec![Others { distance: unrelated_distance(metric, options), members }],
    };
    Data { cases: vec![Case { is_unrelated: true, length: 0.0, others }] }
}

/// Checks the options before a search; returns dims, or 0 if not known.
pub fn check(metric: Metric, options: &Options) -> Result<u32> {
    for (name, given) in [
        ("verify_bits", options.verify_bits.is_some()),
        ("overflow", options.overflow.is_some()),
        ("robust", options.robust.is_some()),
    ] {
        if given {
            return Err(Error::parameter(format!("{name} does not apply to match => 'any'"))
                .with_hint("Specify probes, which replace the overflow of match => 'all'."));
        }
    }
    if options.max_theta.is_some() {
        return Err(Error::parameter(format!("max_theta does not apply to {}", metric.name())).with_hint(
            "It applies to l2 and cosine. For other metrics, specify a larger near, and query with a smaller theta.",
        ));
    }
    let dims = match options.dims {
        Some(_) if metric == Metric::Jaccard => {
            return Err(Error::parameter("dims does not apply to jaccard: sets have no dimensions"));
        }
        dims => count("dims", dims, 1, limits::MAX_DIMS)?.unwrap_or(0),
    };
    let request = request(metric, options, dims)?;
    // The same ranges as for all filters.
    let family = family_of(metric, options.symbols)?;
    let width = if family.has_width() { options.width.unwrap_or(1.0) } else { 0.0 };
    let mut shape = shape(metric, family, options, &request, width);
    shape.validate()?;
    choose_transform(&mut shape, options.fast, dims)?;
    Ok(dims)
}

/// Checks the requested rates.
pub fn check_rates(metric: Metric, goals: &Goals) -> Result<()> {
    for (name, rate) in [("fpr", goals.fpr), ("fnr", goals.fnr)] {
        let is_promise = name == "fnr" && rate == Some(0.0);
        if is_promise && metric == Metric::Hamming {
            continue;
        }
        if let Some(rate) = rate.filter(|rate| !(*rate >= MIN_RATE && *rate < 1.0)) {
            let error =
                Error::parameter(format!("{name} must be at least {MIN_RATE} and less than 1, not {}", shown(rate)));
            return Err(match is_promise {
                true => error.with_hint("Only filters for hamming can do without misses."),
                false => error,
            });
        }
    }
    Ok(())
}

/// Checks that a filter can find every row within near.
fn check_promise(request: &Request) -> Result<()> {
    if request.dims == 0 {
        return Err(Error::parameter("dims must be specified with fnr 0")
            .with_hint("It is the number of bits or symbols of a string."));
    }
    // With more blocks than differing positions, at least one is the same.
    let (differ, most) = (differing(request.dims, request.near), limits::MAX_TABLES.min(request.dims) - 1);
    if differ <= most {
        return Ok(());
    }
    Err(Error::parameter(format!(
        "fnr can be 0 for at most {most} positions that differ, but near {} of {} positions is {differ}",
        shown(request.near),
        request.dims
    ))
    .with_hint("Lower near, or request a small fnr."))
}

/// The parameters of a filter with `match => 'any'`, and its dims (0 if not known).
pub fn parameters(metric: Metric, options: &Options) -> Result<(Params, u32)> {
    check_any(metric)?;
    let dims = check(metric, options)?;
    let request = request(metric, options, dims)?;
    let choice = choices(metric, options, &request, &assumed(metric, options, &request), None)?.list.into_iter().next();
    let Some(choice) = choice else {
        return Err(Error::parameter(format!(
            "no filter with these parameters is suitable for near {}, far {} and {} members",
            shown(request.near),
            shown(request.far),
            request.capacity
        ))
        .with_hint("Specify fewer parameters, lower capacity, or let lsbf_design choose all parameters."));
    };
    choice.params.validate()?;
    hash::check_expansion(&choice.params, dims)?;
    Ok((choice.params, dims))
}
