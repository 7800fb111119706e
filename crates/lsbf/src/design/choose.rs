//! Choosing among filters with `match => 'any'`: from what is wanted, and from what is known of the data, to the filters
//! that serve best.

use super::crowd;
use super::data::{Case, Data, Others};
use super::hits::{Draft, Hits, Setting, Spread, at_least, below, either, rates};
use super::options::{Options, choose_transform, count, family_of, whole};
use super::request::{Goals, Request, over};
use super::rows::Rows;
use crate::error::{Error, Result};
use crate::filter::format;
use crate::filter::probing::curve;
use crate::interrupt;
use crate::limits;
use crate::memory;
use crate::params::{Family, Kind, LINE, Metric, Params, Probing, shown};
use crate::rates::cost::query_cost;
use crate::rates::probing;
use std::borrow::Cow;

/// Bytes that a choice takes for its curves, about.
const WORK: usize = 32 << 20;

/// A filter that was chosen.
#[derive(Debug, Clone)]
pub struct Choice {
    pub params: Params,
    /// Bytes a member, at capacity.
    pub bytes: f64,
    /// Predicted share of rows at far that pass.
    pub fpr: f64,
    /// Predicted share of rows at near that do not pass.
    pub fnr: f64,
    /// Predicted share of rows without a member within far that pass.
    pub unrelated: f64,
    /// What a question costs, in units of the planner's cpu_operator_cost.
    pub cost: f64,
    price: f64,
}

/// The best choices, best first, and the rates that had to be aimed at.
#[derive(Debug, Clone)]
pub struct Choices {
    pub list: Vec<Choice>,
    pub fpr: f64,
    pub fnr: f64,
    /// Whether these are the rates that were wanted.
    pub reached: bool,
}

/// The least rate that may be wanted: less cannot be predicted.
const LEAST_RATE: f64 = 0.000001;

/// Choices that are shown, and those that are looked at more closely.
const SHOWN: usize = 8;

const LOOKED_AT: usize = 12;

/// Bits for a key worth trying, in quarters.
const QUARTERS_A_KEY: std::ops::RangeInclusive<u32> = 20..=128;

/// Numbers of tables worth trying: more where keys are not tried in the order of their likelihood.
const TABLES: [u32; 22] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 14, 16, 20, 24, 28, 32, 48, 64, 96, 128];

/// Tables of those that can try several keys.
const MOST_TABLES: u32 = 32;

/// How many times the rate at far may be higher, by the others around rows, where none was asked for.
const SLACK: f64 = 1.4;

/// How much it counts when more unrelated pass than should.
const UNRELATED: f64 = 0.6;

/// Of rows whose nearest member is a little nearer than far, and of those where it is well beyond, no more than so many
/// times the rate at far should pass.
const PASS_INSIDE: f64 = 4.0;

const PASS_BEYOND: f64 = 0.055;

/// Of rows that meet only false positives of the lines, at most this share of the rate at far may pass, and of all of them
/// at most so many.
const NOISE: f64 = 0.05;

const MOST_NOISE: f64 = 1e-3;

/// What was said about the filter itself.
struct Fixed {
    tables: Option<u32>,
    hashes: Option<u32>,
    probes: Option<u32>,
    votes: Option<u32>,
    polytope: Option<u32>,
    width: Option<f64>,
    bits: Option<u64>,
    bloom_hashes: Option<u32>,
    /// Whether projections are made by fast transforms.
    fast: Option<bool>,
}

impl Fixed {
    fn of(options: &Options) -> Result<Fixed> {
        Ok(Fixed {
            tables: count("tables", options.tables, 1, limits::MAX_TABLES)?,
            hashes: count("hashes", options.hashes, 1, limits::MAX_HASHES)?,
            probes: count("probes", options.probes, 1, limits::MAX_PROBES)?,
            votes: count("votes", options.votes, 1, limits::MAX_TABLES)?,
            polytope: count("polytope", options.polytope, 0, limits::MAX_POLYTOPE)?,
            width: options.width,
            bits: whole("bits", options.bits, LINE, limits::MAX_BYTES * 8)?,
            bloom_hashes: count("bloom_hashes", options.bloom_hashes, 1, limits::MAX_LINE_HASHES)?,
            fast: options.fast,
        })
    }
}

/// The best filters for a request; with the rows from which the cases were taken, if there are any.
pub fn choices(
    metric: Metric,
    options: &Options,
    request: &Request,
    data: &Data,
    sample: Option<&Rows>,
) -> Result<Choices> {
    let fixed = Fixed::of(options)?;
    let goals = &request.goals;
    let (default_fpr, default_fnr) = goals.prefer.rates();
    let (wanted_fpr, wanted_fnr) = (goals.fpr.unwrap_or(default_fpr), goals.fnr.unwrap_or(default_fnr));
    check_rates(goals)?;
    memory::check_room(WORK)?;
    let mut setting = Setting::new(request, data);
    setting.strict = goals.fpr.is_some() || sample.is_none();
    let drafts = drafts(metric, options, &fixed, &setting)?;
    let lines = Lines::new(&fixed, request.capacity);
    let (mut fpr, mut fnr) = (wanted_fpr, wanted_fnr);
    let mut unread = sample;
    loop {
        let best = drafts.iter().filter_map(|draft| best_of(draft, &fixed, &lines, &setting, fpr, fnr, false));
        let mut list: Vec<Choice> = best.collect();
        if list.is_empty() && (fnr < 1.0 || fpr < 1.0) {
            (fpr, fnr) = relaxed(fpr, fnr);
            continue;
        }
        list.sort_by(|a, b| a.price.total_cmp(&b.price));
        list.truncate(LOOKED_AT);
        let is_news = match (list.first(), unread.take()) {
            (Some(best), Some(sample)) => {
                (setting.excess, setting.correlation) = collisions(best, sample, &setting);
                true
            }
            _ => false,
        };
        let (kept, judged) = refined(list, &setting, &fixed, &lines, (fpr, fnr));
        // The sample may rule out everything that seemed good; then others may do.
        if kept.is_empty() && is_news {
            continue;
        }
        let list = if kept.is_empty() { judged } else { kept };
        let slack = 1.05 * if setting.strict { 1.0 } else { SLACK };
        let keeps = |best: &Choice| best.fpr <= wanted_fpr * slack && best.fnr <= wanted_fnr * 1.05;
        let reached = list.first().is_some_and(keeps);
        return Ok(Choices { list, fpr, fnr, reached });
    }
}

/// The rates to try next if these cannot be reached: first more rows pass, then more are missed, at last anything goes.
/// There are some thirty steps at most.
fn relaxed(fpr: f64, fnr: f64) -> (f64, f64) {
    match (fpr < 0.5, fnr < 0.5) {
        (true, _) => ((fpr * 2.5).min(0.6), fnr),
        (false, true) => (fpr, (fnr * 2.5).min(0.6)),
        (false, false) if fpr < 1.0 => (1.0, 0.999),
        (false, false) => (1.0, 1.0),
    }
}

/// How often, and how much together, the tables of a filter are hit by other members of a sample: excess and correlation
/// of [`Setting`].
fn collisions(best: &Choice, sample: &Rows, setting: &Setting) -> (f64, f64) {
    /// Added to hits expected and found: a few by chance decide little.
    const CAUTION: f64 = 4.0;
    let as_expected = (1.0, 0.0);
    let Setting { request, data, .. } = *setting;
    let Some(unrelated) = data.cases.iter().find(|case| case.is_unrelated) else { return as_expected };
    let found = crowd::count(&best.params, &data.centre, sample, |case| data.cases[case].is_unrelated);
    let Some(found) = found else { return as_expected };
    // The same cases, with the members of the sample only.
    let all: f64 = unrelated.others.iter().map(|others| others.members).sum();
    let fewer = |case: &Case| {
        let fewer = |others: &Others| Others { members: others.members * found.members / all, ..*others };
        Case { others: case.others.iter().map(fewer).collect(), ..case.clone() }
    };
    let data = Data { cases: data.cases.iter().map(fewer).collect(), ..data.clone() };
    let draft = Draft::new(best.params.clone(), best.params.probes(), curve::TABLES);
    let others = draft.hits(&Setting::new(request, &data), best.params.probes()).others;
    let excess = (found.hits + CAUTION) / (others.mean(|q| q) * found.tables + CAUTION);
    // Of pairs of tables, the square of the chance is hit if they are independent, the chance itself if they are the same.
    let q = |q: f64| (excess * q).min(1.0);
    let (square, rest) = (others.mean(|other| q(other) * q(other)), others.mean(|other| q(other) * (1.0 - q(other))));
    let pairs = (found.pair_hits + CAUTION) / (square * found.pairs + CAUTION);
    let correlation = if rest > 0.0 { (square * (pairs - 1.0) / rest).clamp(0.0, 0.95) } else { 0.0 };
    (excess, correlation)
}

/// Families and tuples worth trying.
fn drafts(metric: Metric, options: &Options, fixed: &Fixed, setting: &Setting) -> Result<Vec<Draft>> {
    let Setting { request, data, .. } = *setting;
    let family = family_of(metric, options.symbols)?;
    let base = shape(metric, family, options, request, 0.0);
    let directed = metric == Metric::Cosine
        || metric == Metric::L2 && (data.directions || options.length.is_some())
        || metric == Metric::Hamming && !options.symbols && data.directions;
    let mut shapes: Vec<Params> = Vec::new();
    let chosen = directed && fixed.width.is_none() && fixed.fast != Some(false);
    if fixed.polytope.is_some_and(|dims| dims > 0) || fixed.polytope.is_none() && chosen {
        let centre = if data.centre.is_empty() { 0 } else { format::centre_hash(&data.centre) };
        let width = options.length.unwrap_or_else(|| data.typical_length());
        let dims = fixed.polytope.map_or_else(|| vec![8, 16, 32, 64, 128], |dims| vec![dims]);
        shapes.extend(dims.into_iter().map(|polytope| Params {
            family: Family::CrossPolytope,
            width,
            probing: Some(Probing { probes: 1, polytope, centre }),
            ..base.clone()
        }));
    } else if options.centre.is_some() || options.length.is_some() {
        let name = if options.centre.is_some() { "centre" } else { "length" };
        return Err(Error::parameter(format!("{name} has a meaning only where directions are hashed")).with_hint(
            "That is for cosine, for l2 with polytope or length given, and for hamming with polytope given.",
        ));
    }
    // Of bit strings, either may tell more.
    if shapes.is_empty()
        || metric == Metric::Hamming && fixed.polytope.is_none() && options.centre.is_none() && options.length.is_none()
    {
        let widths = match fixed.width {
            _ if !family.has_width() => vec![0.0],
            Some(width) => vec![width],
            None => [2.0, 3.0, 4.0, 6.0, 9.0].map(|wide| wide * request.near).to_vec(),
        };
        shapes.extend(widths.into_iter().map(|width| Params { width, ..base.clone() }));
    }
    if fixed.width.is_some() && !family.has_width() {
        return Err(Error::parameter(format!("width has no meaning for {}", metric.name())));
    }
    for shape in &shapes {
        shape.validate()?;
    }
    Ok(shapes.iter().flat_map(|shape| tuples(shape, fixed, setting)).collect())
}

/// The smallest filter of a family.
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
        probing: Some(Probing { probes: 1, polytope: 0, centre: 0 }),
    }
}

/// Most probes that are looked at without being asked for.
const MOST_PROBES: u32 = 512;

/// A shape with numbers of hashes from where near ones begin to be missed to where all are.
fn tuples(shape: &Params, fixed: &Fixed, setting: &Setting) -> Vec<Draft> {
    let most = if shape.family == Family::MinHash { 1 } else { fixed.probes.unwrap_or(MOST_PROBES) };
    let draft = |hashes: u32| Draft::new(Params { hashes, ..shape.clone() }, most, curve::FIRST_LOOK);
    if let Some(hashes) = fixed.hashes {
        return vec![draft(hashes)];
    }
    let (mut list, mut last, mut hashes) = (Vec::new(), None, 1u32);
    while hashes <= limits::MAX_HASHES {
        let draft = draft(hashes);
        let hits = draft.hits(setting, most);
        let (found, unrelated) = (hits.near.mean(|q| q), hits.others.mean(|q| q));
        // Where every key is tried once, many tables make up for rare hits.
        if found < if most == 1 { 0.02 } else { 0.15 } {
            break;
        }
        // Too short tuples let everybody in; they are not worth a closer look.
        match unrelated < 0.7 {
            true => list.push(draft),
            false => last = Some(draft),
        }
        hashes += (hashes / 8).max(1);
    }
    // Where there are no others, the best of them tells how bad it is.
    if list.is_empty() {
        list.extend(last);
    }
    list
}

/// The best size and threshold of a draft that keeps the rates.
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
    let is_minhash = draft.params.family == Family::MinHash;
    let counts = (0..).map(curve::count).take_while(|&count| count <= MOST_PROBES);
    // Where it matters, twelfths in between.
    let between = |count: u32| {
        let steps = if fine && count >= 12 { 6 } else { 1 };
        (0..steps).map(move |step| count + count * step / 12)
    };
    let probes: Vec<u32> = match fixed.probes {
        Some(probes) => vec![probes],
        None if is_minhash => vec![1],
        None => counts.flat_map(between).filter(|&count| count <= MOST_PROBES).collect(),
    };
    // Many tables are for those that cannot try several keys.
    let most = if is_minhash { limits::MAX_TABLES } else { MOST_TABLES };
    let worth = || TABLES.into_iter().filter(|&tables| tables <= most).collect();
    let tables: Vec<u32> = fixed.tables.map_or_else(worth, |tables| vec![tables]);
    for probes in probes {
        interrupt::check();
        let hits = draft.hits(setting, probes);
        for &tables in &tables {
            let Some(votes) = most_votes(&hits, tables, fixed, fnr) else { continue };
            let passed = |spread: &Spread, noise: f64| spread.mean(|q| at_least(tables, either(q, noise), votes));
            let keeps = |noise: f64| {
                let by_noise = at_least(tables, noise, votes);
                // Where rates cannot be kept, false positives of the lines should at least not add to them.
                fpr >= 1.0 && (by_noise <= MOST_NOISE || fixed.bits.is_some() || fnr >= 1.0)
                    || by_noise <= (fpr * NOISE).min(MOST_NOISE)
                        && passed(&hits.far, noise) <= fpr
                        && passed(&hits.crowd, noise) <= fpr * if setting.strict { 1.0 } else { SLACK }
            };
            // More bits err less. So many are taken that the rates are kept, and more while they are worth their price.
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

/// The most votes with which near rows are missed no more often than allowed; none where one is too many.
fn most_votes(hits: &Hits, tables: u32, fixed: &Fixed, fnr: f64) -> Option<u32> {
    let keeps = |votes: u32| hits.near.mean(|q| below(tables, q, votes)) <= fnr;
    if let Some(votes) = fixed.votes {
        return (votes <= tables && (fixed.tables.is_some() || keeps(votes))).then_some(votes);
    }
    // More votes miss more.
    let (mut low, mut high) = (0, tables);
    while low < high {
        let middle = (low + high).div_ceil(2);
        if keeps(middle) { low = middle } else { high = middle - 1 }
    }
    (low > 0).then_some(low)
}

/// The share of a key, the bits it sets and the false positive rate of its line.
#[derive(Debug, Clone, Copy)]
struct Line {
    bits_a_key: f64,
    hashes: u32,
    rate: f64,
}

impl Line {
    fn new(bits_a_key: f64, hashes: Option<u32>) -> Line {
        let (hashes, rate) = match hashes {
            Some(hashes) => (hashes, probing::line_rate(LINE as f64 / bits_a_key, hashes)),
            None => probing::best_line(bits_a_key),
        };
        Line { bits_a_key, hashes, rate }
    }
}

/// Sizes worth trying, smallest first.
enum Lines {
    Any(Vec<Line>),
    /// Where all bits were given: bits a member, and bits a key sets.
    Given(f64, Option<u32>),
}

impl Lines {
    fn new(fixed: &Fixed, capacity: u64) -> Lines {
        match fixed.bits {
            Some(bits) => Lines::Given(bits as f64 / capacity as f64, fixed.bloom_hashes),
            None => Lines::Any(
                QUARTERS_A_KEY.map(|quarters| Line::new(f64::from(quarters) / 4.0, fixed.bloom_hashes)).collect(),
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

/// Completes a choice; none where it would be too large.
fn finished(params: Params, hits: &Hits, line: &Line, fixed: &Fixed, request: &Request) -> Option<Choice> {
    let tables = u64::from(params.tables);
    let lines = match fixed.bits {
        Some(bits) => (bits / tables).div_ceil(LINE),
        None => (params.capacity as f64 * line.bits_a_key / LINE as f64).ceil() as u64,
    };
    let mut params = Params { bits: lines.max(1).checked_mul(tables * LINE)?, ..params };
    // Cross-polytopes have fast transforms always.
    if !params.family.is_polytope() {
        choose_transform(&mut params, fixed.fast, request.dims).ok()?;
    }
    params.validate().ok()?;
    crate::hash::check_expansion(&params, request.dims).ok()?;
    let (fpr, fnr, unrelated) =
        rates(hits, params.tables, params.votes, probing::noise(line.rate, f64::from(params.probes())));
    let stored = format::encode_params(&params).len();
    let bytes = format::image_words(&params, stored, request.dims, true) as f64 * 8.0 / params.capacity as f64;
    let cost = query_cost(&params, request.dims, 1.0);
    let price = request.goals.prefer.price(bytes, cost);
    Some(Choice { params, bytes, fpr, fnr, unrelated, cost, price })
}

/// Looks at choices more closely, with more tables: each is chosen again, among filters of its tuples. Those that keep the
/// rates; where there are none, what was chosen, with the rates it has.
fn refined(
    list: Vec<Choice>,
    setting: &Setting,
    fixed: &Fixed,
    lines: &Lines,
    (fpr, fnr): (f64, f64),
) -> (Vec<Choice>, Vec<Choice>) {
    let most = fixed.probes.unwrap_or(MOST_PROBES);
    let drafts: Vec<Draft> = list.iter().map(|choice| Draft::new(choice.params.clone(), most, curve::TABLES)).collect();
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

/// A choice with its rates by another draft of the same tuples.
fn judged(choice: &Choice, draft: &Draft, fixed: &Fixed, setting: &Setting) -> Option<Choice> {
    let params = &choice.params;
    let keys = LINE as f64 * f64::from(params.tables) * params.capacity as f64 / params.bits as f64;
    let line = Line::new(LINE as f64 / keys, Some(params.bloom_hashes));
    finished(params.clone(), &draft.hits(setting, params.probes()), &line, fixed, setting.request)
}

/// The distance from which rows should not pass where nothing is said: two and a half times as far as near; for shares of
/// bits or elements half way, by ratio, to the distance that rows have as a rule.
pub fn default_far(metric: Metric, near: f64, typical: f64) -> f64 {
    const TIMES: f64 = 2.5;
    let far = match metric {
        Metric::L2 | Metric::L1 => near * TIMES,
        // The distance is half the square of that between vectors of length one.
        Metric::Cosine => near * TIMES * TIMES,
        Metric::Hamming | Metric::Jaccard => libm::sqrt(near * typical).max(1.5 * near),
    };
    if far < 0.95 * metric.largest() { far } else { (near + metric.largest()) / 2.0 }
}

/// The request of a user who gives nothing but these options.
pub fn request(metric: Metric, options: &Options, dims: u32) -> Result<Request> {
    let capacity = whole("capacity", options.capacity, 1, limits::MAX_CAPACITY)?.ok_or_else(Error::no_capacity)?;
    let near = options.near.ok_or_else(Error::no_near)?;
    let far = options.far.unwrap_or_else(|| default_far(metric, near, unrelated_distance(metric, options)));
    Ok(Request { near, far, capacity, dims, ..Request::default() })
}

fn unrelated_distance(metric: Metric, options: &Options) -> f64 {
    if options.symbols { 1.0 } else { metric.unrelated() }
}

/// What is assumed of data that nobody has looked at: all members are unrelated to the query.
pub fn assumed(metric: Metric, options: &Options, request: &Request) -> Data {
    let others = Others {
        distance: unrelated_distance(metric, options),
        // Directions without any relation are orthogonal.
        chord: std::f64::consts::SQRT_2,
        members: request.capacity as f64,
    };
    let case = Case { is_unrelated: true, length: options.length.unwrap_or(1.0), others: vec![others] };
    Data { cases: vec![case], directions: false, centre: options.centre.clone().unwrap_or_default() }
}

/// Checks what was said before anything is chosen; dims, or 0 if not known.
pub fn check(metric: Metric, options: &Options) -> Result<u32> {
    for (name, given) in [
        ("verify_bits", options.verify_bits.is_some()),
        ("overflow", options.overflow.is_some()),
        ("robust", options.robust.is_some()),
    ] {
        if given {
            return Err(Error::parameter(format!("{name} has no meaning where any table may match"))
                .with_hint("Give probes: they are what overflow is for match => 'all'."));
        }
    }
    let dims = match options.dims {
        Some(_) if metric == Metric::Jaccard => {
            return Err(Error::parameter("dims has no meaning for jaccard: sets have no dimensions"));
        }
        dims => count("dims", dims, 1, limits::MAX_DIMS)?.unwrap_or(0),
    };
    if let Some(centre) = &options.centre {
        if dims == 0 {
            return Err(Error::parameter("dims must be given where there is a centre"));
        }
        if centre.len() != dims as usize {
            return Err(Error::parameter(format!("centre must have {dims} dimensions, not {}", centre.len())));
        }
        if centre.iter().any(|x| !x.is_finite()) {
            return Err(Error::parameter("centre must not contain NaN or infinity"));
        }
    }
    let request = request(metric, options, dims)?;
    // Ranges and names, as for every filter.
    let family = family_of(metric, options.symbols)?;
    let width = if family.has_width() { options.width.unwrap_or(1.0) } else { 0.0 };
    let mut shape = shape(metric, family, options, &request, width);
    shape.validate()?;
    choose_transform(&mut shape, options.fast, dims)?;
    if options.fast == Some(false) && options.polytope.is_some_and(|dims| dims > 0) {
        return Err(Error::parameter(
            "transform must not be dense for cross-polytopes: fast transforms are what they are made by",
        ));
    }
    Ok(dims)
}

/// Checks the rates that are wanted.
pub fn check_rates(goals: &Goals) -> Result<()> {
    for (name, rate) in [("fpr", goals.fpr), ("fnr", goals.fnr)] {
        if let Some(rate) = rate.filter(|rate| !(*rate >= LEAST_RATE && *rate < 1.0)) {
            return Err(Error::parameter(format!(
                "{name} must be at least {LEAST_RATE} and less than 1, not {}",
                shown(rate)
            )));
        }
    }
    Ok(())
}

/// The parameters of a filter with `match => 'any'`, from what a user says.
pub fn parameters(metric: Metric, options: &Options) -> Result<(Params, u32)> {
    let dims = check(metric, options)?;
    let request = request(metric, options, dims)?;
    let choice = choices(metric, options, &request, &assumed(metric, options, &request), None)?.list.into_iter().next();
    let Some(choice) = choice else {
        return Err(Error::parameter(format!(
            "no filter of these parameters fits near {}, far {} and {} members",
            shown(request.near),
            shown(request.far),
            request.capacity
        ))
        .with_hint("Give fewer parameters, or lower capacity; lsbf_design chooses all of them."));
    };
    choice.params.validate()?;
    crate::hash::check_expansion(&choice.params, dims)?;
    Ok((choice.params, dims))
}
