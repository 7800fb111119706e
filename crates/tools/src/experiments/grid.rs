//! Compares predicted with measured rates, over kinds, metrics and parameters.

use super::vectors::Distribution;
use super::{Count, engine};
use lsbf::design::{Options, parameters};
use lsbf::filter::Owned;
use lsbf::hash::rng::Stream;
use lsbf::params::{Family, Kind, Metric, Params};
use lsbf::rates::{self, Facts};

/// The parameters of filters that are built repeatedly, each time with another seed and other members.
#[derive(Debug, Clone)]
pub struct Setting {
    pub params: Params,
    pub distribution: Distribution,
    pub members: usize,
    pub theta: f64,
    /// The distance at which false negatives are counted.
    pub distance: f64,
}

/// Rates of one setting, averaged over its filters.
#[derive(Debug, Clone, Copy)]
pub struct Rates {
    pub positives: Count,
    pub predicted_positives: f64,
    pub negatives: Count,
    pub predicted_negatives: f64,
}

/// Builds `filters` filters and queries each for `queries` vectors at theta x far and `queries` vectors at `distance`.
pub fn measure(setting: &Setting, filters: u64, queries: usize) -> Rates {
    let Setting { params, distribution, theta, .. } = setting;
    let far = distribution.attainable((theta * params.far).min(params.metric.largest()));
    let near = distribution.attainable(setting.distance);
    let (mut positives, mut negatives) = (Count::default(), Count::default());
    let (mut predicted_positives, mut predicted_negatives) = (0.0, 0.0);
    // Predictions differ little between filters, so that a few are enough.
    let predictions = filters.min(10);
    for seed in 0..filters {
        let params = Params { seed: params.seed + seed, ..params.clone() };
        let mut random = Stream::new(params.seed, 1 << 40);
        let mut engine = engine(&params, distribution.dims());
        let mut filter = Owned::new(&params, distribution.dims());
        let members: Vec<_> = (0..setting.members).map(|_| distribution.member(&mut random)).collect();
        for member in &members {
            filter.add(&mut engine, &member.view()).expect("members are valid vectors");
        }
        for _ in 0..queries {
            let mut accepted = |distance: f64| {
                let member = &members[random.below(members.len() as u64) as usize];
                let query = distribution.at_distance(member, distance, &mut random);
                engine.contains(&filter.view().queried(), &query.view(), *theta).expect("queries are valid vectors")
            };
            positives.record(accepted(far));
            negatives.record(!accepted(near));
        }
        if seed < predictions {
            let facts = Facts::of(&filter.image).expect("the filter is valid");
            predicted_positives += rates::acceptance(&facts, far, *theta) / predictions as f64;
            predicted_negatives += (1.0 - rates::acceptance(&facts, near, *theta)) / predictions as f64;
        }
    }
    Rates { positives, predicted_positives, negatives, predicted_negatives }
}

/// The families, each with its metric, a near distance, and three far distances, beginning with the smallest that a
/// filter can distinguish from near.
const FAMILIES: [(Family, Metric, f64, [f64; 3]); 6] = [
    (Family::Bits, Metric::Hamming, 0.02, [0.16, 0.2, 0.3]),
    (Family::Symbols, Metric::Hamming, 0.04, [0.32, 0.4, 0.6]),
    (Family::Gaussian, Metric::L2, 1.0, [5.0, 8.0, 20.0]),
    (Family::Cauchy, Metric::L1, 1.0, [8.0, 12.0, 20.0]),
    (Family::Hyperplane, Metric::Cosine, 0.01, [0.3, 0.4, 0.6]),
    (Family::MinHash, Metric::Jaccard, 0.1, [0.5, 0.6, 0.8]),
];

/// A variant of a setting: the index of far, members / capacity, distance / near, theta, and the given options.
type Variant = (usize, f64, f64, f64, Options);

fn with(change: impl Fn(&mut Options)) -> Options {
    let mut options = Options::default();
    change(&mut options);
    options
}

/// Slots, k', Blooms and votes.
const BIG_BLOOMS: (Option<i64>, Option<i64>, Option<i64>, Option<i64>) = (Some(64), Some(6), Some(16_000), Some(9));

fn variants(kind: Kind) -> Vec<Variant> {
    let default = Options::default;
    match kind {
        Kind::Dsbf => vec![
            (0, 1.0, 1.5, 1.5, default()),
            (1, 2.0, 1.5, 1.0, default()),
            (2, 1.5, 2.0, 1.5, default()),
            (2, 1.0, 1.0, 1.0, with(|s| s.tables = Some(6))),
            (1, 1.5, 2.0, 1.0, with(|s| (s.tables, s.votes) = (Some(12), Some(3)))),
        ],
        Kind::Lsbf => vec![
            (1, 1.0, 1.0, 1.0, default()),
            (2, 2.0, 1.0, 1.0, default()),
            (1, 2.0, 2.0, 1.5, with(|s| s.robust = Some(false))),
            (1, 1.5, 1.0, 1.0, with(|s| (s.overflow, s.tables) = (Some(0), Some(2)))),
            (2, 1.5, 1.0, 1.0, with(|s| (s.overflow, s.verify_bits) = (Some(0), Some(0)))),
        ],
        Kind::Probing | Kind::Lsqf => Vec::new(),
        Kind::Ilbf => vec![
            (0, 1.0, 1.5, 1.0, default()),
            (0, 1.0, 3.0, 2.0, default()),
            (0, 1.0, 1.5, 0.5, with(|s| s.votes = Some(9))),
            (2, 1.0, 2.0, 1.0, with(|s| s.votes = Some(8))),
            (2, 1.0, 2.0, 2.0, with(|s| (s.aligned, s.votes) = (Some(true), Some(7)))),
            (2, 1.0, 2.0, 1.0, with(|s| (s.slots, s.bloom_hashes, s.blooms, s.votes) = BIG_BLOOMS)),
            (1, 2.0, 1.5, 1.5, default()),
        ],
    }
}

/// At least five settings for each kind and metric.
pub fn settings() -> Vec<Setting> {
    let mut settings = Vec::new();
    for kind in Kind::OF_PAPERS {
        for (family, metric, near, far) in FAMILIES {
            if kind == Kind::Ilbf && !family.has_width() {
                continue;
            }
            for (i, (which, load, times, theta, options)) in variants(kind).into_iter().enumerate() {
                let capacity = if kind == Kind::Ilbf { 2_000 } else { 300 };
                let options = Options {
                    symbols: family == Family::Symbols,
                    capacity: Some(capacity),
                    near: Some(near),
                    far: Some(far[which]),
                    seed: 1_000 * i as i64,
                    ..options
                };
                let (params, _) = parameters(kind, metric, &options).expect("the setting can be designed");
                let members = (load * capacity as f64) as usize;
                let distribution = Distribution::wide(family);
                settings.push(Setting { params, distribution, members, theta, distance: times * near });
            }
        }
    }
    settings
}
