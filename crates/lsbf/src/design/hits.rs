//! How likely it is that the tables of a filter hit, for rows as a sample has them, and the rates that follow.

use super::data::{Case, Data, Others};
use super::request::Request;
use crate::filter::probing::curve::{self, Curve, Shape};
use crate::interrupt;
use crate::params::{Family, Metric, Params};
use std::rc::Rc;

/// How many times as far as far a row is that counts as a little nearer, and one that counts as well beyond.
const INSIDE: f64 = 0.8;
const BEYOND: f64 = 1.4;

/// A chance that differs from case to case: some of its values, and the share of cases that have about each.
#[derive(Debug, Clone)]
pub struct Spread(Vec<(f64, f64)>);

impl Spread {
    /// Cases whose odds differ by less than this factor, as a logarithm, are taken together.
    const STEP: f64 = 0.25;
    /// From odds of e^-12 to e^12; what is beyond makes no difference.
    const STEPS: usize = 97;

    /// From chances, and how many cases have each.
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

    pub fn mean(&self, of: impl Fn(f64) -> f64) -> f64 {
        self.0.iter().map(|&(chance, share)| share * of(chance)).sum()
    }
}

/// Chances that a table hits.
#[derive(Debug, Clone)]
pub struct Hits {
    /// By a member at near.
    pub near: Spread,
    /// By a member at far.
    pub far: Spread,
    /// By a member at far, or any other.
    pub crowd: Spread,
    /// By any other than a near one.
    pub others: Spread,
    /// By a member a little nearer than far, and by one well beyond.
    pub inside: Spread,
    pub beyond: Spread,
}

/// What is wanted and what is known, with the members around all cases at common distances.
pub struct Setting<'a> {
    pub request: &'a Request,
    pub data: &'a Data,
    /// Whether the rate at far must hold for rows with other members around them. If no rate was requested, and the number
    /// of others is estimated from a sample, it may be somewhat higher.
    pub strict: bool,
    /// How much more often others hit a table than their distances predict, as a factor.
    pub excess: f64,
    /// How much the tables of a query are hit together: 0 if they are independent, 1 if they are all the same.
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

/// Members around cases: for each case, how many are at which of the distances.
pub struct Grid {
    distances: Vec<f64>,
    cases: Vec<Vec<(usize, f64)>>,
}

impl Grid {
    /// Distances to a doubling, and doublings.
    const STEPS: f64 = 8.0;
    const DOUBLINGS: f64 = 24.0;

    pub fn new(cases: &[Case], of: impl Fn(&Others) -> f64) -> Grid {
        // Members at an infinite distance never collide.
        let finite = |other: &&Others| of(other).is_finite();
        let all = cases.iter().flat_map(|case| &case.others);
        let largest = all.filter(finite).map(&of).fold(f64::MIN_POSITIVE, f64::max);
        let last = (Grid::STEPS * Grid::DOUBLINGS) as usize;
        let place =
            |other: &Others| (libm::log2(of(other) / largest) * Grid::STEPS + last as f64).clamp(0.0, last as f64);
        // Between two distances, members belong to both.
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

/// A filter whose size and threshold are still to be found.
pub struct Draft {
    pub params: Params,
    curve: Option<Rc<Curve>>,
}

impl Draft {
    pub fn new(params: Params, most: u32, tables: u32) -> Draft {
        interrupt::check();
        let law = params.family.law();
        let is_closed = matches!(law, Family::Bits | Family::Symbols | Family::MinHash);
        let curve = (!is_closed).then(|| Curve::of(Shape::of(&params), most, tables));
        Draft { params, curve }
    }

    pub fn hit(&self, seen: f64, probes: u32) -> f64 {
        match &self.curve {
            _ if !seen.is_finite() => 0.0,
            Some(curve) => curve.hit(seen, probes),
            None => curve::closed(&self.params, seen.min(1.0), probes),
        }
    }

    /// Chances that a table hits.
    pub fn hits(&self, setting: &Setting, probes: u32) -> Hits {
        let (params, request, data) = (&self.params, setting.request, setting.data);
        let is_polytope = params.family.is_polytope();
        let grid = if is_polytope { &setting.by_chord } else { &setting.by_distance };
        // Chances that a member at each distance is not hit, as logarithms; the farthest of them are the commonest.
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
        // What lies where the centre is has no direction.
        let near = |case: &Case| if is_polytope && case.length <= 0.0 { 0.0 } else { at(case, request.near) };
        // How often unrelated rows pass is estimated from unrelated cases, if there are any.
        let any = data.cases.iter().any(|case| case.is_unrelated);
        let unrelated = || data.cases.iter().zip(&others).filter(move |(case, _)| case.is_unrelated || !any);
        // Where hits come together, some of the cases are hit more often, and the others never.
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

/// The chance that one of two things happens.
pub fn either(a: f64, b: f64) -> f64 {
    1.0 - (1.0 - a) * (1.0 - b)
}

/// Rates of a filter: (fpr, fnr, unrelated), with `noise` the chance that a table hits by a false positive of its lines.
pub fn rates(hits: &Hits, tables: u32, votes: u32, noise: f64) -> (f64, f64, f64) {
    let passes = |q: f64| at_least(tables, either(q, noise), votes);
    let fnr = hits.near.mean(|q| below(tables, either(q, noise), votes));
    (hits.crowd.mean(passes), fnr, hits.others.mean(passes))
}

/// P(Bin(n, q) >= k) by multiplication alone: tens of thousands are needed, for small n.
pub fn at_least(n: u32, q: f64, k: u32) -> f64 {
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
pub fn below(n: u32, q: f64, k: u32) -> f64 {
    if k == 0 { 0.0 } else { at_least(n, 1.0 - q, n - k + 1) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::binomial;

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
