//! The probability that the tables of a filter match, for the sample queries, and the error rates that follow from it.

use super::data::{Case, Data, Others};
use super::request::Request;
use crate::filter::probing::curve::{self, Curve, Shape};
use crate::interrupt;
use crate::params::{Family, Metric, Params};
use std::rc::Rc;

/// A distance a little less than far, as a multiple of far.
const INSIDE: f64 = 0.8;
/// A distance well beyond far, as a multiple of far.
const BEYOND: f64 = 1.4;

/// A histogram of a probability that differs from case to case: values, and the fraction of cases with each value.
#[derive(Debug, Clone)]
pub struct Spread(Vec<(f64, f64)>);

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
        Spread(filled.map(|(sum, cases)| (sum / cases, cases / count)).collect())
    }

    /// The mean of a function of the probability.
    pub fn mean(&self, of: impl Fn(f64) -> f64) -> f64 {
        self.0.iter().map(|&(chance, share)| share * of(chance)).sum()
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
    by_distance: Grid,
    by_chord: Grid,
}

impl<'a> Setting<'a> {
    pub fn new(request: &'a Request, data: &'a Data) -> Setting<'a> {
        Setting {
            request,
            data,
            strict: true,
            excess: 1.0,
            correlation: 0.0,
            by_distance: Grid::new(&data.cases, |other| other.distance),
            by_chord: Grid::new(&data.cases, |other| other.chord),
        }
    }
}

/// The members around all cases: for each case, the number of members at each distance of the grid.
pub struct Grid {
    distances: Vec<f64>,
    cases: Vec<Vec<(usize, f64)>>,
}

impl Grid {
    /// Distances per doubling.
    const STEPS: f64 = 8.0;
    /// The number of doublings.
    const DOUBLINGS: f64 = 24.0;

    pub fn new(cases: &[Case], of: impl Fn(&Others) -> f64) -> Grid {
        // Members at an infinite distance never collide.
        let finite = |other: &&Others| of(other).is_finite();
        let all = cases.iter().flat_map(|case| &case.others);
        let largest = all.filter(finite).map(&of).fold(f64::MIN_POSITIVE, f64::max);
        let last = (Grid::STEPS * Grid::DOUBLINGS) as usize;
        let place =
            |other: &Others| (libm::log2(of(other) / largest) * Grid::STEPS + last as f64).clamp(0.0, last as f64);
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
}

impl Draft {
    pub fn new(params: Params, max_probes: u32, tables: u32) -> Draft {
        interrupt::check();
        let law = params.family.law();
        let is_closed = matches!(law, Family::Bits | Family::Symbols | Family::MinHash);
        let curve = (!is_closed).then(|| Curve::of(Shape::of(&params), max_probes, tables));
        Draft { params, curve }
    }

    pub fn hit(&self, seen: f64, probes: u32) -> f64 {
        match &self.curve {
            _ if !seen.is_finite() => 0.0,
            Some(curve) => curve.hit(seen, probes),
            None => curve::closed(&self.params, seen.min(1.0), probes),
        }
    }

    /// The probabilities that a table matches.
    pub fn hits(&self, setting: &Setting, probes: u32) -> Hits {
        let (params, request, data) = (&self.params, setting.request, setting.data);
        let is_polytope = params.family.is_polytope();
        let grid = if is_polytope { &setting.by_chord } else { &setting.by_distance };
        // The log probabilities that a member at each distance does not match.
        let missed = |&distance: &f64| {
            let seen = if is_polytope { distance } else { curve::seen(params, distance) };
            libm::log1p(-self.hit(seen, probes).min(1.0 - 1e-12))
        };
        let missed: Vec<f64> = grid.distances.iter().map(missed).collect();
        let others: Vec<f64> = grid
            .cases
            .iter()
            .map(|case| -libm::expm1(case.iter().map(|&(at, members)| members * missed[at]).sum()))
            .map(|hit| (setting.excess * hit).min(1.0 - 1e-12))
            .collect();
        let at = |case: &Case, distance: f64| {
            let length = if case.length > 0.0 { case.length } else { params.width };
            self.hit(curve::seen_at(params, distance, length), probes)
        };
        let squared = params.metric == Metric::Cosine || params.metric == Metric::Hamming && is_polytope;
        let times =
            |ratio: f64| (request.far * if squared { ratio * ratio } else { ratio }).min(params.metric.largest());
        let (inside, beyond) = (times(INSIDE), times(BEYOND));
        // A vector at the centre has no direction.
        let near = |case: &Case| if is_polytope && case.length <= 0.0 { 0.0 } else { at(case, request.near) };
        // Rates of unrelated rows are estimated from unrelated cases, if there are any.
        let any = data.cases.iter().any(|case| case.is_unrelated);
        let unrelated = || data.cases.iter().zip(&others).filter(move |(case, _)| case.is_unrelated || !any);
        // Model of correlated tables: some cases match more often, the others never.
        let split = |mean: f64| {
            let more = mean + setting.correlation * (1.0 - mean);
            let share = if more > 0.0 { mean / more } else { 1.0 };
            [(more, share), (0.0, 1.0 - share)]
        };
        let crowd = |(case, &others): (&Case, &f64)| {
            let far = at(case, request.far);
            split(others).map(|(others, share)| (either(far, others), share))
        };
        Hits {
            near: Spread::of(data.cases.iter().map(|case| (near(case), 1.0))),
            far: Spread::of(unrelated().map(|(case, _)| (at(case, request.far), 1.0))),
            crowd: Spread::of(unrelated().flat_map(crowd)),
            others: Spread::of(unrelated().flat_map(|(_, &others)| split(others))),
            inside: Spread::of(unrelated().map(|(case, _)| (at(case, inside), 1.0))),
            beyond: Spread::of(unrelated().map(|(case, _)| (at(case, beyond), 1.0))),
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
    let passes = |q: f64| at_least(tables, either(q, noise), votes);
    let fnr = hits.near.mean(|q| below(tables, either(q, noise), votes));
    (hits.crowd.mean(passes), fnr, hits.others.mean(passes))
}

/// P(Bin(n, q) >= k) for small n, without logarithms, because it is called often.
pub fn at_least(n: u32, q: f64, k: u32) -> f64 {
    match k {
        0 => 1.0,
        _ if q > 0.5 => 1.0 - upper(n, 1.0 - q, n - k + 1),
        _ => upper(n, q, k),
    }
}

/// P(Bin(n, q) >= k) for q <= 1/2.
fn upper(n: u32, q: f64, k: u32) -> f64 {
    // The first term: C(n, k) q^k (1 - q)^(n - k).
    let mut term = (0..k).fold(1.0, |term, i| term * q * f64::from(n - i) / f64::from(i + 1));
    (k..n).for_each(|_| term *= 1.0 - q);
    let (odds, mut sum) = (q / (1.0 - q), 0.0);
    for i in k..=n {
        sum += term;
        term *= odds * f64::from(n - i) / f64::from(i + 1);
    }
    sum.min(1.0)
}

/// P(Bin(n, q) < k), which is P(Bin(n, 1 - q) > n - k).
pub fn below(n: u32, q: f64, k: u32) -> f64 {
    if k == 0 { 0.0 } else { at_least(n, 1.0 - q, n - k + 1) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::binomial;

    #[test]
    fn tails_agree_with_the_binomial_distribution() {
        for (n, q) in [(1, 0.3), (5, 0.02), (12, 0.8), (64, 0.01), (64, 0.999), (64, 1.0 - 1e-12), (9, 1.0), (9, 0.0)] {
            for k in 0..=n {
                let (upper, lower) = (binomial::at_least(n, q, k), binomial::below(n, q, k));
                assert!((at_least(n, q, k) - upper).abs() <= 1e-9 * upper + 1e-15, "{n} {q} {k}");
                assert!((below(n, q, k) - lower).abs() <= 1e-9 * lower + 1e-12, "{n} {q} {k}");
            }
        }
    }
}
