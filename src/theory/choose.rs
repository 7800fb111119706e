//! Choosing among filters with `match => 'any'`: from what is wanted, and from what is known of the data, to the filters
//! that serve best.

use super::design::{Spec, choose_transform, count, family_of, whole};
use super::probing::{self, Curve, Shape};
use super::question_cost;
use crate::error::{Error, Result};
use crate::filter::header;
use crate::filter::params::{Family, Kind, LINE, Metric, Params, Probing, shown};
use crate::limits;
use std::borrow::Cow;
use std::rc::Rc;
use std::sync::OnceLock;

/// Called between steps of a choice, which may take seconds: whoever can be interrupted sets it.
pub static PAUSE: OnceLock<fn()> = OnceLock::new();

fn pause() {
    if let Some(pause) = PAUSE.get() {
        pause();
    }
}

/// What matters most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Prefer {
    Small,
    #[default]
    Balanced,
    Fast,
    Sharp,
}

impl Prefer {
    const ALL: [(Prefer, &'static str); 4] =
        [(Prefer::Small, "small"), (Prefer::Balanced, "balanced"), (Prefer::Fast, "fast"), (Prefer::Sharp, "sharp")];

    pub fn parse(name: &str) -> Result<Prefer> {
        let found = Prefer::ALL.into_iter().find(|(_, known)| known.eq_ignore_ascii_case(name));
        found.map(|(prefer, _)| prefer).ok_or_else(|| {
            let names = Prefer::ALL.map(|(_, name)| name).join(", ");
            Error::parameter(format!("unknown preference \"{name}\"")).with_hint(format!("the preferences are {names}"))
        })
    }

    /// The rates that are aimed at where none are given: of rows at far that pass, and of rows at near that do not.
    fn rates(self) -> (f64, f64) {
        match self {
            Prefer::Small => (0.135, 0.017),
            Prefer::Balanced => (0.05, 0.01),
            Prefer::Fast => (0.08, 0.01),
            Prefer::Sharp => (0.0072, 0.0125),
        }
    }

    /// What is to be as low as can be.
    fn price(self, bytes: f64, cost: f64) -> f64 {
        let (bytes, cost) = (libm::log(bytes), libm::log(cost));
        match self {
            Prefer::Small => bytes + 0.2 * cost,
            Prefer::Balanced => bytes + 0.5 * cost,
            Prefer::Fast => 0.5 * bytes + cost,
            Prefer::Sharp => bytes + 0.08 * cost,
        }
    }
}

/// A row as those that will be asked: how long it is, and which members it has around it.
#[derive(Debug, Clone, Default)]
pub struct Case {
    /// Whether it has no member within far: how often strangers pass is told by these, where there are any.
    pub is_stranger: bool,
    /// Its length, once the centre is subtracted; vectors of unit length for cosine. 0 where that has no meaning.
    pub length: f64,
    /// Members that are not near: distance, chord of the two directions (if directions are what is hashed), and how many.
    pub others: Vec<(f64, f64, f64)>,
}

/// What is wanted, and what is known.
#[derive(Debug, Clone, Default)]
pub struct Wish {
    pub near: f64,
    pub far: f64,
    pub fpr: Option<f64>,
    pub fnr: Option<f64>,
    pub prefer: Prefer,
    pub capacity: u64,
    pub dims: u32,
    /// At least one.
    pub cases: Vec<Case>,
    /// Directions may be hashed: vectors are of about one length.
    pub directions: bool,
    /// What is subtracted first where directions are hashed; empty for none.
    pub centre: Vec<f32>,
}

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
    pub strangers: f64,
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
/// Bits for a key worth trying.
const BITS_A_KEY: std::ops::RangeInclusive<u32> = 5..=32;
/// Numbers of tables worth trying: more where keys are not tried in the order of their likelihood.
const TABLES: [u32; 22] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 14, 16, 20, 24, 28, 32, 48, 64, 96, 128];
/// Tables of those that can try several keys.
const MOST_TABLES: u32 = 32;
/// Of rows that have no member within far, at most this share of the rate at far may pass.
const STRANGERS: f64 = 0.2;
/// The same of rows whose nearest member is so many times as far as far.
const PASS_BEYOND: f64 = 0.055;
const BEYOND: f64 = 1.4;
/// The same of rows that meet only false positives of the lines, and the most that is allowed of these.
const NOISE: f64 = 0.05;
const MOST_NOISE: f64 = 6e-4;

/// Chances that a table hits: by a member at near, by one at far, by any other, by one well beyond far.
#[derive(Debug, Clone, Copy)]
struct Hits {
    is_stranger: bool,
    near: f64,
    far: f64,
    others: f64,
    beyond: f64,
}

/// A filter whose size and threshold are still to be found.
struct Draft {
    params: Params,
    curve: Option<Rc<Curve>>,
}

impl Draft {
    fn new(params: Params, most: u32, tables: u32) -> Draft {
        pause();
        let law = params.family.law();
        let is_closed = matches!(law, Family::Bits | Family::Symbols | Family::MinHash);
        let curve = (!is_closed).then(|| Curve::of(Shape::of(&params), most, tables));
        Draft { params, curve }
    }

    fn hit(&self, seen: f64, probes: u32) -> f64 {
        match &self.curve {
            Some(curve) => curve.hit(seen, probes),
            None => probing::closed(&self.params, seen.min(1.0), probes),
        }
    }

    /// Chances that a table hits, for each case.
    fn hits(&self, wish: &Wish, probes: u32) -> Vec<Hits> {
        let params = &self.params;
        let is_polytope = params.family.is_polytope();
        let of = |case: &Case| {
            let length = if case.length > 0.0 { case.length } else { params.width };
            let at = |distance: f64| self.hit(probing::seen_at(params, distance, length), probes);
            let none: f64 = case
                .others
                .iter()
                .map(|&(distance, chord, members)| {
                    let seen = if is_polytope { chord } else { probing::seen(params, distance) };
                    let hit = if seen.is_finite() { self.hit(seen, probes) } else { 0.0 };
                    members * libm::log1p(-hit.min(1.0 - 1e-12))
                })
                .sum();
            let squared = params.metric == Metric::Cosine || params.metric == Metric::Hamming && is_polytope;
            let beyond = if squared { BEYOND * BEYOND } else { BEYOND };
            let beyond = (beyond * wish.far).min(params.metric.largest());
            // What lies where the centre is has no direction.
            let near = if is_polytope && case.length <= 0.0 { 0.0 } else { at(wish.near) };
            let (far, others, beyond) = (at(wish.far), -libm::expm1(none), at(beyond));
            Hits { is_stranger: case.is_stranger, near, far, others, beyond }
        };
        wish.cases.iter().map(of).collect()
    }
}

fn mean(hits: &[Hits], of: impl Fn(&Hits) -> f64) -> f64 {
    hits.iter().map(of).sum::<f64>() / hits.len() as f64
}

/// The same of strangers only, where there are any.
fn mean_of_strangers(hits: &[Hits], of: impl Fn(&Hits) -> f64) -> f64 {
    let (mut sum, mut count) = (0.0, 0.0);
    for hit in hits.iter().filter(|hit| hit.is_stranger) {
        sum += of(hit);
        count += 1.0;
    }
    if count > 0.0 { sum / count } else { mean(hits, of) }
}

/// The chance that one of three things happens.
fn either(a: f64, b: f64, c: f64) -> f64 {
    1.0 - (1.0 - a) * (1.0 - b) * (1.0 - c)
}

/// Rates of a filter: (fpr, fnr, strangers), with `noise` the chance that a table hits by a false positive of its lines.
fn rates(hits: &[Hits], tables: u32, votes: u32, noise: f64) -> (f64, f64, f64) {
    let passes = |q: f64| at_least(tables, q, votes);
    (
        mean_of_strangers(hits, |hit| passes(either(hit.far, hit.others, noise))),
        mean(hits, |hit| below(tables, either(hit.near, 0.0, noise), votes)),
        mean_of_strangers(hits, |hit| passes(either(0.0, hit.others, noise))),
    )
}

/// P(Bin(n, q) >= k) by multiplication alone: tens of thousands are needed, for small n.
fn at_least(n: u32, q: f64, k: u32) -> f64 {
    match k {
        0 => 1.0,
        _ if q > 0.5 => 1.0 - upper(n, 1.0 - q, n - k + 1),
        _ => upper(n, q, k),
    }
}

/// The same for q up to a half.
fn upper(n: u32, q: f64, k: u32) -> f64 {
    // From C(n, k) q^k (1 - q)^(n - k) on.
    let mut term = (0..k).fold(1.0, |term, i| term * q * f64::from(n - i) / f64::from(i + 1));
    (k..n).for_each(|_| term *= 1.0 - q);
    let (odds, mut sum) = (q / (1.0 - q), 0.0);
    for i in k..=n {
        sum += term;
        term *= odds * f64::from(n - i) / f64::from(i + 1);
    }
    sum.min(1.0)
}

/// P(Bin(n, q) < k): fewer than k hit where more than n - k miss.
fn below(n: u32, q: f64, k: u32) -> f64 {
    if k == 0 { 0.0 } else { at_least(n, 1.0 - q, n - k + 1) }
}

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
}

impl Fixed {
    fn of(spec: &Spec) -> Result<Fixed> {
        Ok(Fixed {
            tables: count("tables", spec.tables, 1, limits::MAX_TABLES)?,
            hashes: count("hashes", spec.hashes, 1, limits::MAX_HASHES)?,
            probes: count("probes", spec.probes, 1, limits::MAX_PROBES)?,
            votes: count("votes", spec.votes, 1, limits::MAX_TABLES)?,
            polytope: count("polytope", spec.polytope, 0, limits::MAX_POLYTOPE)?,
            width: spec.width,
            bits: whole("bits", spec.bits, LINE, limits::MAX_BYTES * 8)?,
            bloom_hashes: count("bloom_hashes", spec.bloom_hashes, 1, limits::MAX_LINE_HASHES)?,
        })
    }
}

/// The best filters for a wish.
pub fn choices(metric: Metric, spec: &Spec, wish: &Wish) -> Result<Choices> {
    let fixed = Fixed::of(spec)?;
    let (default_fpr, default_fnr) = wish.prefer.rates();
    let (wanted_fpr, wanted_fnr) = (wish.fpr.unwrap_or(default_fpr), wish.fnr.unwrap_or(default_fnr));
    check_rates(wish)?;
    let drafts = drafts(metric, spec, &fixed, wish)?;
    let lines = Lines::new(&fixed, wish.capacity);
    let rough = Wish { cases: few(&wish.cases, 24), ..wish.clone() };
    let closer = Wish { cases: few(&wish.cases, 64), ..wish.clone() };
    // Where the rates cannot be had, first more strangers are let in, then more rows missed.
    let (mut fpr, mut fnr) = (wanted_fpr, wanted_fnr);
    loop {
        let best = drafts.iter().filter_map(|draft| best_of(draft, &fixed, &lines, &rough, fpr, fnr, false));
        let mut list: Vec<Choice> = best.collect();
        if !list.is_empty() || fnr >= 1.0 && fpr >= 1.0 {
            list.sort_by(|a, b| a.price.total_cmp(&b.price));
            list.truncate(LOOKED_AT);
            let list = refined(list, &closer, wish, &fixed, &lines, (fpr, fnr));
            let keeps = |best: &Choice| best.fpr <= wanted_fpr * 1.05 && best.fnr <= wanted_fnr * 1.05;
            let reached = list.first().is_some_and(keeps);
            return Ok(Choices { list, fpr, fnr, reached });
        }
        // First more pass, then more are missed, at last anything goes: some thirty steps at most.
        (fpr, fnr) = match (fpr < 0.5, fnr < 0.5) {
            (true, _) => ((fpr * 2.5).min(0.6), fnr),
            (false, true) => (fpr, (fnr * 2.5).min(0.6)),
            (false, false) if fpr < 1.0 => (1.0, 0.999),
            (false, false) => (1.0, 1.0),
        };
    }
}

/// Some of many cases, evenly spread over lengths: strangers, and some of the others.
fn few(cases: &[Case], count: usize) -> Vec<Case> {
    let spread = |is_stranger: bool, count: usize| {
        let mut some: Vec<&Case> = cases.iter().filter(|case| case.is_stranger == is_stranger).collect();
        some.sort_by(|a, b| a.length.total_cmp(&b.length));
        let step = some.len().div_ceil(count).max(1);
        some.into_iter().skip(step / 2).step_by(step).cloned().collect::<Vec<Case>>()
    };
    // In proportion, but some of each.
    let strangers = cases.iter().filter(|case| case.is_stranger).count();
    let others = (count * (cases.len() - strangers)).div_ceil(cases.len().max(1));
    [spread(true, count - others.min(count - 1)), spread(false, others.max(1))].concat()
}

/// Families and tuples worth trying.
fn drafts(metric: Metric, spec: &Spec, fixed: &Fixed, wish: &Wish) -> Result<Vec<Draft>> {
    let family = family_of(metric, spec.symbols)?;
    let base = shape(metric, family, spec, wish, 0.0);
    let directed = metric == Metric::Cosine
        || metric == Metric::L2 && (wish.directions || spec.length.is_some())
        || metric == Metric::Hamming && !spec.symbols && wish.directions;
    let mut shapes: Vec<Params> = Vec::new();
    if fixed.polytope.is_some_and(|dims| dims > 0) || fixed.polytope.is_none() && directed && fixed.width.is_none() {
        let centre = if wish.centre.is_empty() { 0 } else { header::centre_hash(&wish.centre) };
        let width = spec.length.unwrap_or_else(|| typical_length(&wish.cases));
        let dims = fixed.polytope.map_or_else(|| vec![8, 16, 32, 64, 128], |dims| vec![dims]);
        shapes.extend(dims.into_iter().map(|polytope| Params {
            family: Family::CrossPolytope,
            width,
            probing: Some(Probing { probes: 1, polytope, centre }),
            ..base.clone()
        }));
    } else if spec.centre.is_some() || spec.length.is_some() {
        let name = if spec.centre.is_some() { "centre" } else { "length" };
        return Err(Error::parameter(format!("{name} has a meaning only where directions are hashed")).with_hint(
            "that is for cosine, for l2 with polytope or length given, and for hamming with polytope given",
        ));
    }
    if shapes.is_empty() {
        let widths = match fixed.width {
            _ if !family.has_width() => vec![0.0],
            Some(width) => vec![width],
            None => [2.0, 3.0, 4.0, 6.0, 9.0].map(|wide| wide * wish.near).to_vec(),
        };
        shapes.extend(widths.into_iter().map(|width| Params { width, ..base.clone() }));
    }
    if fixed.width.is_some() && !family.has_width() {
        return Err(Error::parameter(format!("width has no meaning for {}", metric.name())));
    }
    for shape in &shapes {
        shape.validate()?;
    }
    Ok(shapes.iter().flat_map(|shape| tuples(shape, fixed, wish)).collect())
}

/// The smallest filter of a family.
fn shape(metric: Metric, family: Family, spec: &Spec, wish: &Wish, width: f64) -> Params {
    Params {
        kind: Kind::Probing,
        metric,
        family,
        seed: spec.seed as u64,
        capacity: wish.capacity,
        near: wish.near,
        far: wish.far,
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

/// The length vectors have, by the median of the cases.
fn typical_length(cases: &[Case]) -> f64 {
    let mut lengths: Vec<f64> = cases.iter().map(|case| case.length).filter(|length| *length > 0.0).collect();
    lengths.sort_by(f64::total_cmp);
    lengths.get(lengths.len() / 2).copied().unwrap_or(1.0)
}

/// Most probes that are looked at without being asked for.
const MOST_PROBES: u32 = 512;

/// A shape with numbers of hashes from where near ones begin to be missed to where all are.
fn tuples(shape: &Params, fixed: &Fixed, wish: &Wish) -> Vec<Draft> {
    let most = if shape.family == Family::MinHash { 1 } else { fixed.probes.unwrap_or(MOST_PROBES) };
    let draft = |hashes: u32| Draft::new(Params { hashes, ..shape.clone() }, most, probing::FIRST_LOOK);
    if let Some(hashes) = fixed.hashes {
        return vec![draft(hashes)];
    }
    let near = |draft: &Draft| draft.hits(&Wish { cases: few(&wish.cases, 8), ..wish.clone() }, most);
    let (mut list, mut last, mut hashes) = (Vec::new(), None, 1u32);
    while hashes <= limits::MAX_HASHES {
        let draft = draft(hashes);
        let hits = near(&draft);
        let (found, strangers) = (mean(&hits, |hit| hit.near), mean_of_strangers(&hits, |hit| hit.others));
        // Where every key is tried once, many tables make up for rare hits.
        if found < if most == 1 { 0.02 } else { 0.15 } {
            break;
        }
        // Too short tuples let everybody in; they are not worth a closer look.
        match strangers < 0.7 {
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
fn best_of(draft: &Draft, fixed: &Fixed, lines: &Lines, wish: &Wish, fpr: f64, fnr: f64, fine: bool) -> Option<Choice> {
    let mut best: Option<Choice> = None;
    let is_minhash = draft.params.family == Family::MinHash;
    let counts = (0..).map(probing::count).take_while(|&count| count <= MOST_PROBES);
    let between = |count: u32| if fine && count >= 4 { vec![count, count + count / 5] } else { vec![count] };
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
        pause();
        let hits = draft.hits(wish, probes);
        for &tables in &tables {
            let Some(votes) = most_votes(&hits, tables, fixed, fnr) else { continue };
            let keeps = |noise: f64| {
                let (found_fpr, _, strangers) = rates(&hits, tables, votes, noise);
                let by_noise = at_least(tables, noise, votes);
                let beyond = mean_of_strangers(&hits, |hit| at_least(tables, either(hit.beyond, 0.0, noise), votes));
                // Where rates cannot be kept, false positives of the lines should at least not add to them.
                fpr >= 1.0 && (by_noise <= MOST_NOISE || fixed.bits.is_some() || fnr >= 1.0)
                    || found_fpr <= fpr
                        && strangers <= fpr * STRANGERS
                        && beyond <= fpr * PASS_BEYOND
                        && by_noise <= (fpr * NOISE).min(MOST_NOISE)
            };
            // More bits err less.
            let lines = lines.of(tables);
            let first = lines.partition_point(|line| !keeps(probing::noise(line.rate, probes)));
            let Some(&Line { bits_a_key, hashes, rate }) = lines.get(first) else { continue };
            let probing = draft.params.probing.map(|probing| Probing { probes, ..probing });
            let params = Params { tables, votes, bloom_hashes: hashes, probing, ..draft.params.clone() };
            if let Some(choice) = finished(params, &hits, bits_a_key, rate, fixed, wish)
                && best.as_ref().is_none_or(|best| choice.price < best.price)
            {
                best = Some(choice);
            }
        }
    }
    best
}

/// The most votes with which near rows are missed no more often than allowed; none where one is too many.
fn most_votes(hits: &[Hits], tables: u32, fixed: &Fixed, fnr: f64) -> Option<u32> {
    if let Some(votes) = fixed.votes {
        return (votes <= tables)
            .then_some(votes)
            .filter(|&votes| fixed.tables.is_some() || mean(hits, |hit| below(tables, hit.near, votes)) <= fnr);
    }
    // More votes miss more.
    let keeps = |votes: u32| mean(hits, |hit| below(tables, hit.near, votes)) <= fnr;
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
            None => Lines::Any(BITS_A_KEY.map(|bits| Line::new(f64::from(bits), fixed.bloom_hashes)).collect()),
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
fn finished(params: Params, hits: &[Hits], bits_a_key: f64, rate: f64, fixed: &Fixed, wish: &Wish) -> Option<Choice> {
    let tables = u64::from(params.tables);
    let lines = match fixed.bits {
        Some(bits) => (bits / tables).div_ceil(LINE),
        None => (params.capacity as f64 * bits_a_key / LINE as f64).ceil() as u64,
    };
    let mut params = Params { bits: lines.max(1).checked_mul(tables * LINE)?, ..params };
    choose_transform(&mut params, None, wish.dims).ok()?;
    params.validate().ok()?;
    crate::hash::check_expansion(&params, wish.dims).ok()?;
    let (fpr, fnr, strangers) = rates(hits, params.tables, params.votes, probing::noise(rate, params.probes()));
    let stored = header::encode_params(&params).len();
    let bytes = header::image_words(&params, stored, wish.dims, true) as f64 * 8.0 / params.capacity as f64;
    let cost = question_cost(&params, wish.dims, 1.0);
    let price = wish.prefer.price(bytes, cost);
    Some(Choice { params, bytes, fpr, fnr, strangers, cost, price })
}

/// Looks at the choices more closely, with more tables and more cases: each is chosen again, among filters of its tuples.
fn refined(
    list: Vec<Choice>,
    wish: &Wish,
    all: &Wish,
    fixed: &Fixed,
    lines: &Lines,
    (fpr, fnr): (f64, f64),
) -> Vec<Choice> {
    let most = fixed.probes.unwrap_or(MOST_PROBES);
    let draft = |choice: &Choice| Draft::new(choice.params.clone(), most, probing::TABLES);
    let drafts: Vec<Draft> = list.iter().map(draft).collect();
    let mut found: Vec<Choice> =
        drafts.iter().filter_map(|draft| best_of(draft, fixed, lines, wish, fpr, fnr, true)).collect();
    if found.is_empty() {
        // What seemed to keep the rates does not quite; what it does is told.
        found = list;
    }
    found.sort_by(|a, b| a.price.total_cmp(&b.price));
    found.truncate(SHOWN);
    let mut judged: Vec<Choice> = found.iter().filter_map(|choice| judged(choice, all, fixed)).collect();
    // What keeps the rates by all cases comes first.
    let breaks = |choice: &Choice| choice.fpr > fpr * 1.05 || choice.fnr > fnr * 1.05;
    judged.sort_by(|a, b| breaks(a).cmp(&breaks(b)).then(a.price.total_cmp(&b.price)));
    judged
}

/// A choice with its rates by all cases and many tables.
fn judged(choice: &Choice, wish: &Wish, fixed: &Fixed) -> Option<Choice> {
    let params = &choice.params;
    let keys = LINE as f64 * f64::from(params.tables) * params.capacity as f64 / params.bits as f64;
    let rate = probing::line_rate(keys, params.bloom_hashes);
    let most = fixed.probes.unwrap_or(MOST_PROBES);
    let draft = Draft::new(params.clone(), most, probing::TABLES);
    finished(params.clone(), &draft.hits(wish, params.probes()), LINE as f64 / keys, rate, fixed, wish)
}

/// The distance from which rows should not pass where nothing is said: two and a half times as far as near; for shares of
/// bits or elements half way, by ratio, to the distance that rows have as a rule.
pub fn default_far(metric: Metric, near: f64, typical: f64) -> f64 {
    const TIMES: f64 = 2.5;
    let far = match metric {
        Metric::L2 | Metric::L1 => near * TIMES,
        // What lies aside of a vector at that distance has this angle.
        Metric::Cosine => near * 5.2,
        Metric::Hamming | Metric::Jaccard => libm::sqrt(near * typical).max(1.5 * near),
    };
    if far < 0.95 * metric.largest() { far } else { (near + metric.largest()) / 2.0 }
}

/// What is wanted of a filter of which nothing but this is known.
pub fn wish(metric: Metric, spec: &Spec, dims: u32) -> Result<Wish> {
    let capacity = whole("capacity", spec.capacity, 1, limits::MAX_CAPACITY)?
        .ok_or_else(|| Error::parameter("capacity must be given: the number of members the filter is to hold"))?;
    let near = spec
        .near
        .ok_or_else(|| Error::parameter("near must be given: the distance within which vectors count as close"))?;
    let unrelated = if spec.symbols { 1.0 } else { metric.unrelated() };
    let far = spec.far.unwrap_or_else(|| default_far(metric, near, unrelated));
    let length = spec.length.unwrap_or(1.0);
    // Directions without any relation are orthogonal.
    let others = vec![(unrelated, std::f64::consts::SQRT_2, capacity as f64)];
    let centre = spec.centre.clone().unwrap_or_default();
    Ok(Wish {
        near,
        far,
        capacity,
        dims,
        centre,
        cases: vec![Case { is_stranger: true, length, others }],
        ..Wish::default()
    })
}

/// Checks what was said before anything is chosen; dims, or 0 where they are not known.
pub fn check(metric: Metric, spec: &Spec) -> Result<u32> {
    for (name, given) in [
        ("verify_bits", spec.verify_bits.is_some()),
        ("overflow", spec.overflow.is_some()),
        ("robust", spec.robust.is_some()),
    ] {
        if given {
            return Err(Error::parameter(format!("{name} has no meaning where any table may match"))
                .with_hint("probes is what overflow is for match => 'all'"));
        }
    }
    let dims = match spec.dims {
        Some(_) if metric == Metric::Jaccard => {
            return Err(Error::parameter("dims has no meaning for jaccard: sets have no dimensions"));
        }
        dims => count("dims", dims, 1, limits::MAX_DIMS)?.unwrap_or(0),
    };
    if let Some(centre) = &spec.centre {
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
    let wish = wish(metric, spec, dims)?;
    // Ranges and names, as for every filter.
    let family = family_of(metric, spec.symbols)?;
    let width = if family.has_width() { spec.width.unwrap_or(1.0) } else { 0.0 };
    shape(metric, family, spec, &wish, width).validate()?;
    Ok(dims)
}

/// Checks the rates that are wanted.
pub fn check_rates(wish: &Wish) -> Result<()> {
    for (name, rate) in [("fpr", wish.fpr), ("fnr", wish.fnr)] {
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
pub fn parameters(metric: Metric, spec: &Spec) -> Result<(Params, u32)> {
    let dims = check(metric, spec)?;
    let wish = wish(metric, spec, dims)?;
    let choice = choices(metric, spec, &wish)?.list.into_iter().next();
    let Some(choice) = choice else {
        return Err(Error::parameter(format!(
            "no filter of these parameters fits near {}, far {} and {} members",
            shown(wish.near),
            shown(wish.far),
            wish.capacity
        ))
        .with_hint("give fewer parameters, or lower capacity"));
    };
    choice.params.validate()?;
    crate::hash::check_expansion(&choice.params, dims)?;
    Ok((choice.params, dims))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::theory::binomial;

    #[test]
    fn tails_are_those_of_the_binomial_law() {
        for (n, q) in [(1, 0.3), (5, 0.02), (12, 0.8), (64, 0.01), (64, 0.999), (64, 1.0 - 1e-12), (9, 1.0), (9, 0.0)] {
            for k in 0..=n {
                let (upper, lower) = (binomial::at_least(n, q, k), binomial::below(n, q, k));
                assert!((at_least(n, q, k) - upper).abs() <= 1e-9 * upper + 1e-15, "{n} {q} {k}");
                assert!((below(n, q, k) - lower).abs() <= 1e-9 * lower + 1e-12, "{n} {q} {k}");
            }
        }
    }
}
