//! The probability that the tables of a filter match, for the sample queries, and the error rates that follow from it.

use super::data::{Case, Data, Others};
use super::request::Request;
use crate::binomial::quick::{at_least, below};
use crate::filter::probing::curve::{self, Curve};
use crate::hash::agreement::{self, Agreement};
use crate::interrupt;
use crate::limits;
use crate::params::{Family, Params};
use crate::rates::probing::below_with;
use std::rc::Rc;

/// A distance a little less than far, as a multiple of far.
const INSIDE: f64 = 0.8;
/// A distance well beyond far, as a multiple of far.
const BEYOND: f64 = 1.4;

/// The probability that a table matches, which differs from case to case: a histogram of values, with the fraction of cases
/// of each. With keys of blocks, a member may be given separately.
#[derive(Debug, Clone)]
pub struct Spread {
    bins: Vec<(f64, f64)>,
    /// In how many tables the member agrees; the histogram has the probabilities that other tables match.
    member: Option<Rc<Agreement>>,
}

impl Spread {
    /// The width of a bin, in log odds.
    const STEP: f64 = 0.25;
    /// The number of bins, for odds from e^-12 to e^12.
    const STEPS: usize = 97;

    /// From probabilities with weights.
    fn of(chances: impl Iterator<Item = (f64, f64)>) -> Spread {
        let mut steps = [(0.0, 0.0); Spread::STEPS];
        let mut count = 0.0;
        for (chance, number) in chances.filter(|chance| chance.1 > 0.0) {
            let middle = (Spread::STEPS / 2) as f64;
            let step = libm::round(libm::log(chance / (1.0 - chance)) / Spread::STEP);
            let (sum, cases) = &mut steps[(step.clamp(-middle, middle) + middle) as usize];
            (*sum, *cases, count) = (*sum + chance * number, *cases + number, count + number);
        }
        let filled = steps.into_iter().filter(|step| step.1 > 0.0);
        Spread { bins: filled.map(|(sum, cases)| (sum / cases, cases / count)).collect(), member: None }
    }

    /// The same with a member.
    fn with(self, member: &Rc<Agreement>) -> Spread {
        Spread { member: Some(Rc::clone(member)), ..self }
    }

    /// A member alone.
    fn only(member: &Rc<Agreement>) -> Spread {
        Spread { bins: vec![(0.0, 1.0)], member: Some(Rc::clone(member)) }
    }

    /// The probability that at least `votes` tables match, if each of them also matches with probability `noise`.
    pub fn passes(&self, tables: u32, noise: f64, votes: u32) -> f64 {
        match &self.member {
            None => self.mean(|q| at_least(tables, either(q, noise), votes)),
            Some(_) => 1.0 - self.fails(tables, noise, votes),
        }
    }

    /// The probability that fewer than `votes` tables match. With a member, it is zero only if that is impossible.
    pub fn fails(&self, tables: u32, noise: f64, votes: u32) -> f64 {
        match &self.member {
            None => self.mean(|q| below(tables, either(q, noise), votes)),
            Some(member) => self.mean(|q| below_with(member.of(tables), either(q, noise), votes)),
        }
    }

    /// The mean of a function of the probability.
    pub fn mean(&self, of: impl Fn(f64) -> f64) -> f64 {
        self.bins.iter().map(|&(chance, share)| share * of(chance)).sum()
    }
}

/// The probabilities that a table matches, due to different members.
#[derive(Debug, Clone)]
pub struct Hits {
    /// A member at near.
    pub near: Spread,
    /// A member at far.
    pub far: Spread,
    /// A member at far or any other member.
    pub crowd: Spread,
    /// Any member that is not near.
    pub others: Spread,
    /// A member a little nearer than far.
    pub inside: Spread,
    /// A member well beyond far.
    pub beyond: Spread,
}

/// A request and the data, with the members around all cases on a common grid of distances.
pub struct Setting<'a> {
    pub request: &'a Request,
    pub data: &'a Data,
    /// Whether the rate at far must hold for rows with other members around them. If no rate was requested, and the
    /// number of others is estimated from a sample, it may be somewhat higher.
    pub strict: bool,
    /// The ratio of observed to predicted collisions with unrelated members.
    pub excess: f64,
    /// The correlation of the tables of a query: 0 if they are independent, 1 if they are identical.
    pub correlation: f64,
    grid: Grid,
}

impl<'a> Setting<'a> {
    pub fn new(request: &'a Request, data: &'a Data) -> Setting<'a> {
        Setting { request, data, strict: true, excess: 1.0, correlation: 0.0, grid: Grid::new(&data.cases) }
    }
}

/// The members around all cases: for each case, the number of members at each distance of the grid.
pub struct Grid {
    distances: Vec<f64>,
    cases: Vec<Vec<(usize, f64)>>,
}

impl Grid {
    /// Distances per doubling.
    const STEPS: f64 = 32.0;
    /// The number of doublings.
    const DOUBLINGS: f64 = 24.0;

    pub fn new(cases: &[Case]) -> Grid {
        // Members at an infinite distance never collide.
        let finite = |other: &&Others| other.distance.is_finite();
        let all = cases.iter().flat_map(|case| &case.others);
        let largest = all.filter(finite).map(|other| other.distance).fold(f64::MIN_POSITIVE, f64::max);
        let last = (Grid::STEPS * Grid::DOUBLINGS) as usize;
        let place =
            |other: &Others| (libm::log2(other.distance / largest) * Grid::STEPS + last as f64).clamp(0.0, last as f64);
        // Members between two distances of the grid are distributed to both.
        let shares = |other: &Others| {
            let place = place(other);
            let low = (place as usize).min(last - 1);
            let share = place - low as f64;
            [(low, other.members * (1.0 - share)), (low + 1, other.members * share)]
        };
        Grid {
            distances: (0..=last).map(|at| largest * libm::exp2((at as f64 - last as f64) / Grid::STEPS)).collect(),
            cases: cases.iter().map(|case| case.others.iter().filter(finite).flat_map(shares).collect()).collect(),
        }
    }
}

/// A filter whose size and threshold are not determined yet.
pub struct Draft {
    pub params: Params,
    curve: Option<Rc<Curve>>,
    /// Keys of blocks: in how many tables a member agrees.
    members: Option<Members>,
}

/// The Jaccard distance of a member, after the query was changed at random so that it is at distance `by` from where it was.
fn farther(distance: f64, by: f64) -> f64 {
    // Sets of n elements with similarity s have 2 n s / (1 + s) in common, of which the change leaves a share.
    let common = |distance: f64| 2.0 * (1.0 - distance) / (2.0 - distance);
    let common = common(distance.min(1.0)) * common(by);
    1.0 - common / (2.0 - common)
}

/// In how many tables members at some distances agree.
struct Members {
    near: Rc<Agreement>,
    far: Rc<Agreement>,
    inside: Rc<Agreement>,
    beyond: Rc<Agreement>,
}

/// The distances a little less than far, and well beyond far.
fn around(request: &Request, params: &Params) -> [f64; 2] {
    [INSIDE, BEYOND].map(|ratio| (request.far * ratio).min(params.metric.largest()))
}

impl Members {
    fn new(params: &Params, request: &Request) -> Members {
        let partitions = limits::MAX_TABLES / params.tables_per_partition().unwrap_or(limits::MAX_TABLES);
        let at = |distance: f64| Rc::new(Agreement::new(params, request.dims, distance, partitions));
        let [inside, beyond] = around(request, params);
        Members { near: at(request.near), far: at(request.far), inside: at(inside), beyond: at(beyond) }
    }
}

impl Draft {
    pub fn new(params: Params, request: &Request, max_probes: u32, tables: u32) -> Draft {
        interrupt::check();
        let curve = (params.family == Family::Cauchy).then(|| Curve::of(params.hashes, max_probes, tables));
        let members = params.family.has_blocks().then(|| Members::new(&params, request));
        Draft { params, curve, members }
    }

    /// The probability that a table matches due to a member at a distance.
    fn hit(&self, request: &Request, distance: f64, probes: u32) -> f64 {
        let seen = curve::seen(&self.params, distance);
        match &self.curve {
            _ if !seen.is_finite() => 0.0,
            Some(curve) => curve.hit(seen, probes),
            None if self.members.is_some() => agreement::chance(&self.params, request.dims, distance),
            None => curve::closed(&self.params, seen.min(1.0), probes),
        }
    }

    /// The probabilities that a table matches.
    pub fn hits(&self, setting: &Setting, probes: u32) -> Hits {
        let (params, request, data) = (&self.params, setting.request, setting.data);
        let hit = |distance: f64| self.hit(request, distance, probes);
        // The probability that any other member of each case matches, given that of a member at each distance.
        let others_with = |hit: &dyn Fn(f64) -> f64| -> Vec<f64> {
            // The log probabilities that a member at each distance does not match.
            let missed = |&at: &f64| libm::log1p(-hit(at).min(1.0 - 1e-12));
            let missed: Vec<f64> = setting.grid.distances.iter().map(missed).collect();
            let any =
                |case: &Vec<(usize, f64)>| -libm::expm1(case.iter().map(|&(at, members)| members * missed[at]).sum());
            setting.grid.cases.iter().map(any).map(|hit| (setting.excess * hit).min(1.0 - 1e-12)).collect()
        };
        let others = others_with(&hit);
        // What is changed at random leads away from the members around a member, too.
        let farther = others_with(&|distance| match params.family {
            Family::Blocks | Family::SymbolBlocks => {
                agreement::chance_after(params, request.dims, distance, request.far)
            }
            Family::MinHash => hit(farther(distance, request.far)),
            _ => hit(distance),
        });
        // Rates of unrelated rows are estimated from unrelated cases, if there are any.
        let any = data.cases.iter().any(|case| case.is_unrelated);
        let unrelated = || data.cases.iter().zip(&others).filter(move |(case, _)| case.is_unrelated || !any);
        // Model of correlated tables: some cases match more often, the others never.
        let split = |mean: f64| {
            let more = mean + setting.correlation * (1.0 - mean);
            let share = if more > 0.0 { mean / more } else { 1.0 };
            [(more, share), (0.0, 1.0 - share)]
        };
        let others = Spread::of(unrelated().flat_map(|(_, &others)| split(others)));
        if let Some(members) = &self.members {
            return Hits {
                near: Spread::only(&members.near),
                far: Spread::only(&members.far),
                crowd: Spread::of(farther.into_iter().flat_map(split)).with(&members.far),
                inside: Spread::only(&members.inside),
                beyond: Spread::only(&members.beyond),
                others,
            };
        }
        let all = |distance: f64| Spread::of(std::iter::once((hit(distance), 1.0)));
        let far = hit(request.far);
        let crowd = |others: f64| split(others).map(|(others, share)| (either(far, others), share));
        let [inside, beyond] = around(request, params);
        Hits {
            near: all(request.near),
            far: all(request.far),
            crowd: Spread::of(farther.into_iter().flat_map(crowd)),
            inside: all(inside),
            beyond: all(beyond),
            others,
        }
    }
}

/// The probability that at least one of two independent events occurs.
pub fn either(a: f64, b: f64) -> f64 {
    1.0 - (1.0 - a) * (1.0 - b)
}

/// The rates (fpr, fnr, unrelated) of a filter. `noise` is the probability that a table matches due to a false positive
/// of its cache lines.
pub fn rates(hits: &Hits, tables: u32, votes: u32, noise: f64) -> (f64, f64, f64) {
    let passes = |spread: &Spread| spread.passes(tables, noise, votes);
    (passes(&hits.crowd), hits.near.fails(tables, noise, votes), passes(&hits.others))
}
