//! Table I and Figures 2 to 6 of the ILBF letter, and a comparison of centred windows with aligned blocks.

use super::{Count, Progress, engine, parallel};
use lsbf::binomial;
use lsbf::filter::ilbf::votes;
use lsbf::filter::{Engine, Owned};
use lsbf::hash::Lsh;
use lsbf::hash::collision;
use lsbf::hash::projection::Projection;
use lsbf::hash::rng::Stream;
use lsbf::params::{Family, Kind, Metric, Params};
use lsbf::rates::{self, Facts};
use lsbf::vector::Vector;

/// k.
pub const TABLES: usize = 16;
/// d.
pub const DIMS: usize = 20;
/// n of Table I.
pub const MEMBERS: usize = 500;

/// theta, v, then FPR and FNR of MLBF* (k = 2, L = 8), of MLBF* (k = 4, L = 4) and of the ILBF.
pub const TABLE: [(u32, u32, [f64; 6]); 10] = [
    (1, 6, [0.0014, 0.0176, 0.0000, 0.4208, 0.0032, 0.0024]),
    (2, 9, [0.0066, 0.0001, 0.0000, 0.0704, 0.0008, 0.0028]),
    (3, 10, [0.0392, 0.0000, 0.0008, 0.0064, 0.0128, 0.0000]),
    (4, 12, [0.0382, 0.0000, 0.0006, 0.0092, 0.0020, 0.0054]),
    (5, 13, [0.2478, 0.0000, 0.0069, 0.0003, 0.0026, 0.0136]),
    (6, 13, [0.2451, 0.0000, 0.0058, 0.0005, 0.0315, 0.0051]),
    (7, 14, [0.2432, 0.0000, 0.0046, 0.0007, 0.0114, 0.0191]),
    (8, 14, [0.2388, 0.0000, 0.0041, 0.0012, 0.0846, 0.0079]),
    (9, 15, [0.8096, 0.0000, 0.0754, 0.0003, 0.0170, 0.0609]),
    (10, 15, [0.8015, 0.0000, 0.0736, 0.0003, 0.0679, 0.0322]),
];

/// The filter of Table I: k = 16, u = 32, m = 8192, w = 1, k' = 4. `near` is the distance of [`range_queries`]; it only
/// matters if the filter chooses its votes itself.
pub fn params(aligned: bool, votes: u32, seed: u64) -> Params {
    Params {
        kind: Kind::Ilbf,
        metric: Metric::L2,
        family: Family::Gaussian,
        seed,
        capacity: MEMBERS as u64,
        near: 0.55,
        far: 4.4,
        width: 1.0,
        tables: TABLES as u32,
        hashes: 1,
        bits: 8192 * 32,
        verify_bits: 0,
        bloom_hashes: 4,
        overflow: 0,
        robust: false,
        blooms: 8192,
        slots: 32,
        aligned,
        votes,
        probing: None,
        quotient: None,
    }
}

/// The difference in every coordinate between a member and a near query of Table I; far queries differ by a hundred
/// times as much.
pub fn table_difference(theta: u32) -> f64 {
    0.1 + 0.005 * f64::from(theta - 1)
}

/// A kind of query.
#[derive(Debug, Clone, Copy)]
pub enum Query {
    /// A member, every coordinate moved up or down by an amount uniform in this range.
    Moved(f64, f64),
    /// A vector drawn like the members.
    Unrelated,
}

impl Query {
    fn draw(self, members: &[Vec<f64>], away: f64, random: &mut Stream) -> Vec<f64> {
        match self {
            Query::Unrelated => vector(random, away),
            Query::Moved(low, high) => {
                let member = &members[random.below(members.len() as u64) as usize];
                let mut moved = |x: &f64| {
                    let step = low + (high - low) * random.uniform();
                    if random.word() & 1 == 0 { x + step } else { x - step }
                };
                member.iter().map(&mut moved).collect()
            }
        }
    }

    /// The distance of such a query from its member.
    pub fn distance(self) -> f64 {
        match self {
            // The mean square of a step that is uniform in this range.
            Query::Moved(low, high) => (DIMS as f64 * (low * low + low * high + high * high) / 3.0).sqrt(),
            Query::Unrelated => f64::INFINITY,
        }
    }
}

/// A vector whose coordinates are uniform in [1, 1000], shifted by `away`.
fn vector(random: &mut Stream, away: f64) -> Vec<f64> {
    (0..DIMS).map(|_| 1.0 + 999.0 * random.uniform() + away).collect()
}

/// One draw of projections and members.
pub struct Draw {
    engine: Engine,
    filter: Owned,
    members: Vec<Vec<f64>>,
    away: f64,
    random: Stream,
}

impl Draw {
    pub fn new(params: Params, members: usize, away: f64) -> Self {
        let mut random = Stream::new(params.seed, 1 << 40);
        let mut engine = engine(&params, DIMS as u32);
        let mut filter = Owned::new(&params, DIMS as u32);
        let members: Vec<Vec<f64>> = (0..members).map(|_| vector(&mut random, away)).collect();
        for member in &members {
            filter.add(&mut engine, &Vector::F64(member)).expect("members are valid vectors");
        }
        Draw { engine, filter, members, away, random }
    }

    /// Counts the votes of `queries` queries.
    pub fn votes(&mut self, query: Query, theta: f64, queries: usize) -> Votes {
        let mut votes = Votes::default();
        for _ in 0..queries {
            let drawn = query.draw(&self.members, self.away, &mut self.random);
            let found = self
                .engine
                .votes(&self.filter.view().queried(), &Vector::F64(&drawn), theta)
                .expect("queries are valid vectors");
            votes.0[found as usize] += 1;
        }
        votes
    }

    /// Counts the queries that are accepted with the votes that the filter chooses itself.
    pub fn accepted(&mut self, query: Query, theta: f64, queries: usize) -> Count {
        let mut count = Count::default();
        for _ in 0..queries {
            let drawn = query.draw(&self.members, self.away, &mut self.random);
            count.record(
                self.engine
                    .contains(&self.filter.view().queried(), &Vector::F64(&drawn), theta)
                    .expect("queries are valid vectors"),
            );
        }
        count
    }

    /// P(accepted) as predicted from the fill of the filter, with the given votes.
    pub fn predicted(&self, distance: f64, theta: f64, votes: u32) -> f64 {
        let mut facts = Facts::of(&self.filter.image).expect("the filter is valid");
        facts.params.votes = votes;
        rates::acceptance(&facts, distance, theta)
    }
}

/// The number of queries for each number of votes.
#[derive(Debug, Clone, Copy, Default)]
pub struct Votes([u64; TABLES + 1]);

impl Votes {
    /// Queries with at least `votes` votes.
    pub fn at_least(&self, votes: u32) -> Count {
        Count { events: self.0[votes as usize..].iter().sum(), trials: self.0.iter().sum() }
    }

    /// Queries with fewer than `votes` votes.
    pub fn below(&self, votes: u32) -> Count {
        Count { events: self.0[..votes as usize].iter().sum(), trials: self.0.iter().sum() }
    }
}

impl std::iter::Sum for Votes {
    fn sum<I: Iterator<Item = Votes>>(all: I) -> Votes {
        all.fold(Votes::default(), |a, b| Votes(std::array::from_fn(|i| a.0[i] + b.0[i])))
    }
}

/// Theorem 2: P(fewer than v of the k projections agree).
pub fn theorem_2(aligned: bool, distance: f64, theta: f64, votes: u32) -> f64 {
    binomial::below(TABLES as u32, votes::hit(&params(aligned, 0, 0), distance, theta), votes)
}

/// Theorem 3, with its load multiplied by theta, as every virtual filter joins theta Blooms.
pub fn theorem_3(theta: f64, votes: u32, members: usize) -> f64 {
    let Params { tables, slots, blooms, bloom_hashes, .. } = params(true, 0, 0);
    let per_bloom = (members * tables as usize) as f64 / f64::from(blooms);
    let balls = (per_bloom * f64::from(tables * bloom_hashes) * theta).round() as u32;
    let slot = binomial::at_least(balls, 1.0 / f64::from(slots), votes);
    binomial::at_least(slots, slot, bloom_hashes)
}

/// The votes of near and far queries at one theta, for each draw.
pub struct Row {
    pub theta: f64,
    pub near: Vec<Votes>,
    pub far: Vec<Votes>,
}

/// Runs near and far queries at each theta, in many draws of projections and members.
pub fn rows(
    aligned: bool,
    away: f64,
    thetas: &[f64],
    queries_at: impl Fn(f64) -> (Query, Query) + Sync,
    draws: usize,
    queries: usize,
    progress: Progress,
) -> Vec<Row> {
    let parts = parallel(draws, progress, |i| {
        let mut draw = Draw::new(params(aligned, 0, 100 + i as u64), MEMBERS, away);
        let rates = thetas.iter().map(|&theta| {
            let (near, far) = queries_at(theta);
            (draw.votes(near, theta, queries), draw.votes(far, theta, queries))
        });
        rates.collect::<Vec<_>>()
    });
    let row = |(i, &theta): (usize, &f64)| Row {
        theta,
        near: parts.iter().map(|part| part[i].0).collect(),
        far: parts.iter().map(|part| part[i].1).collect(),
    };
    thetas.iter().enumerate().map(row).collect()
}

/// The queries of Table I.
pub fn table_queries(theta: f64) -> (Query, Query) {
    let step = table_difference(theta as u32);
    (Query::Moved(step, step), Query::Moved(100.0 * step, 100.0 * step))
}

/// The queries of the comparison: differences of 0.100 to 0.145, for far queries a hundred times as much.
pub fn range_queries() -> (Query, Query) {
    (Query::Moved(0.1, 0.145), Query::Moved(10.0, 14.5))
}

/// Counts how often two vectors at `distance` share a Bloom: a bucket modulo `blooms`.
pub fn collisions(distance: f64, blooms: u32, draws: u64, pairs: usize) -> Count {
    let mut count = Count::default();
    for seed in 0..draws {
        let params = Params { tables: 255, blooms, bits: 32 * u64::from(blooms), ..params(true, 0, seed) };
        let mut projection = Projection::new(&params, DIMS as u32).expect("the parameters are valid");
        let mut random = Stream::new(seed, 1 << 40);
        let mut buckets = |x: &[f64]| {
            projection.start(&Vector::F64(x)).expect("the vector is valid");
            projection.numbers().to_vec()
        };
        for _ in 0..pairs {
            let x = vector(&mut random, 0.0);
            let step: Vec<f64> = x.iter().map(|_| random.gaussian()).collect();
            let length = step.iter().map(|s| s * s).sum::<f64>().sqrt();
            let y: Vec<f64> = x.iter().zip(step).map(|(x, s)| x + s * distance / length).collect();
            for (a, b) in buckets(&x).into_iter().zip(buckets(&y)) {
                count.record((a - b).rem_euclid(i64::from(blooms)) == 0);
            }
        }
    }
    count
}

/// Theorem 1: the exact probability of a collision.
pub fn theorem_1(distance: f64, blooms: u32) -> f64 {
    collision::same_modulo(Family::Gaussian, distance, 1.0, blooms)
}
