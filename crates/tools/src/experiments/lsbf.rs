//! The LSBF with and without each of its schemes.

use super::{Count, Progress, engine, parallel};
use lsbf::filter::Owned;
use lsbf::hash::rng::Stream;
use lsbf::params::{Family, Kind, Metric, Params};
use lsbf::rates::lsbf::{Fill, acceptance_at};
use lsbf::rates::{self, Facts};
use lsbf::vector::Vector;

pub const MEMBERS: usize = 10_000;
pub const DIMS: usize = 20;
/// Coordinates are uniform in 0..SPREAD: members are so far apart that they do not share even wide buckets.
const SPREAD: f64 = 1e9;

/// The schemes of the paper's section 3 that a filter uses.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Scheme {
    Basic,
    Verified,
    Literal,
    Robust,
}

impl Scheme {
    pub const ALL: [Scheme; 4] = [Scheme::Basic, Scheme::Verified, Scheme::Literal, Scheme::Robust];

    pub fn name(self) -> &'static str {
        match self {
            Scheme::Basic => "basic",
            Scheme::Verified => "verified",
            Scheme::Literal => "+ literal overflow",
            Scheme::Robust => "+ robust overflow",
        }
    }
}

/// L, M and the width in units of R.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shape {
    pub tables: u32,
    pub hashes: u32,
    pub width: f64,
}

/// The paper's L and M, and a smaller filter.
pub const SHAPES: [Shape; 2] =
    [Shape { tables: 7, hashes: 10, width: 100.0 }, Shape { tables: 4, hashes: 4, width: 20.0 }];

/// A filter for R = 1: 40000 bits per table (a fill of 0.22), and a verification filter of optimal size (a rate of
/// 0.0039).
pub fn params(shape: Shape, scheme: Scheme, seed: u64) -> Params {
    let verified = scheme != Scheme::Basic;
    Params {
        kind: Kind::Lsbf,
        metric: Metric::L2,
        family: Family::Gaussian,
        seed,
        capacity: MEMBERS as u64,
        near: 1.0,
        far: 20.0,
        width: shape.width,
        tables: shape.tables,
        hashes: shape.hashes,
        bits: 40_000 * u64::from(shape.tables),
        verify_bits: if verified { (8.0 * MEMBERS as f64 / std::f64::consts::LN_2).ceil() as u64 } else { 0 },
        bloom_hashes: if verified { 8 } else { 0 },
        overflow: u32::from(matches!(scheme, Scheme::Literal | Scheme::Robust)),
        robust: scheme == Scheme::Robust,
        blooms: 0,
        slots: 0,
        aligned: false,
        votes: 0,
        probing: None,
        quotient: None,
    }
}

/// Queries accepted at one distance, measured and predicted.
#[derive(Debug, Clone, Copy)]
pub struct Accepted {
    pub distance: f64,
    pub count: Count,
    pub predicted: f64,
}

/// Measures acceptance at each distance over `filters` filters, with `queries` queries each.
pub fn acceptance(
    shape: Shape,
    scheme: Scheme,
    distances: &[f64],
    filters: usize,
    queries: usize,
    progress: Progress,
) -> Vec<Accepted> {
    let parts = parallel(filters, progress, |i| one_filter(&params(shape, scheme, 7 + i as u64), distances, queries));
    let at = |(i, &distance): (usize, &f64)| Accepted {
        distance,
        count: parts.iter().map(|part| part[i].0).sum(),
        predicted: parts.iter().map(|part| part[i].1).sum::<f64>() / filters as f64,
    };
    distances.iter().enumerate().map(at).collect()
}

fn one_filter(params: &Params, distances: &[f64], queries: usize) -> Vec<(Count, f64)> {
    let mut random = Stream::new(params.seed, 1 << 40);
    let mut engine = engine(params, DIMS as u32);
    let mut filter = Owned::new(params, DIMS as u32);
    let members: Vec<Vec<f64>> = (0..MEMBERS).map(|_| (0..DIMS).map(|_| random.uniform() * SPREAD).collect()).collect();
    for member in &members {
        filter.add(&mut engine, &Vector::F64(member)).expect("members are valid vectors");
    }
    let facts = Facts::of(&filter.image).expect("the filter is valid");
    let mut query = vec![0.0; DIMS];
    let mut accepted = |distance: f64| {
        let mut count = Count::default();
        for _ in 0..queries {
            let member = &members[random.below(members.len() as u64) as usize];
            query.iter_mut().for_each(|x| *x = random.gaussian());
            let scale = distance / query.iter().map(|x| x * x).sum::<f64>().sqrt();
            query.iter_mut().zip(member).for_each(|(x, m)| *x = m + *x * scale);
            count.record(
                engine
                    .contains(&filter.view().queried(), &Vector::F64(&query), 1.0)
                    .expect("queries are valid vectors"),
            );
        }
        (count, rates::acceptance(&facts, distance, 1.0))
    };
    distances.iter().map(|&distance| accepted(distance)).collect()
}

/// The shape with the smallest far / near that has at most 5 % false negatives and 1 % false positives, and its far.
pub fn smallest_ratio(scheme: Scheme) -> (Shape, f64) {
    let array = -libm::expm1(-0.25);
    let verify = if scheme == Scheme::Basic { 1.0 } else { libm::pow(0.5, 8.0) };
    let fill = Fill { array, verify, members: MEMBERS as f64 };
    let mut best = (SHAPES[0], f64::INFINITY);
    for tables in 1..=16 {
        for hashes in 1..=16 {
            for step in 0..=60 {
                let shape = Shape { tables, hashes, width: libm::exp2(f64::from(step) / 4.0) };
                let params = params(shape, scheme, 0);
                let accepted = |distance: f64| acceptance_at(&params, fill, distance, 1.0);
                if accepted(1.0) < 0.95 || accepted(best.1.min(1e6)) > 0.01 {
                    continue;
                }
                // Bisection: acceptance decreases with the distance.
                let (mut low, mut high) = (1.0, best.1.min(1e6));
                while high / low > 1.0001 {
                    let middle = f64::sqrt(low * high);
                    if accepted(middle) > 0.01 { low = middle } else { high = middle }
                }
                best = (shape, high);
            }
        }
    }
    best
}
