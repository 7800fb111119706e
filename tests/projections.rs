//! Projections by fast transforms follow the law of normal ones: buckets are shared as often as the closed forms say, by
//! single hashes and by whole tables, whatever the difference between two vectors looks like.

use pg_lsbf::filter::params::{Kind, Metric, Params};
use pg_lsbf::hash::rng::Stream;
use pg_lsbf::hash::{Buckets, Hasher};
use pg_lsbf::theory::collision;
use pg_lsbf::theory::design::{Spec, parameters};
use pg_lsbf::vector::Vector;

/// Ways in which two vectors can differ.
#[derive(Debug, Clone, Copy)]
enum Difference {
    /// In all elements, at random.
    Dense,
    /// In all elements by the same amount.
    Even,
    /// In so many elements, by the same amount.
    Sparse(usize),
}

impl Difference {
    fn draw(self, dims: usize, distance: f64, s: &mut Stream) -> Vec<f64> {
        let mut x = vec![0.0; dims];
        match self {
            Difference::Dense => x.iter_mut().for_each(|x| *x = s.gaussian()),
            Difference::Even => x.fill(1.0),
            Difference::Sparse(count) => (0..count.min(dims)).for_each(|i| x[(i * 7 + 3) % dims] = 1.0),
        }
        let length = x.iter().map(|x| x * x).sum::<f64>().sqrt();
        x.iter().map(|x| x * distance / length).collect()
    }
}

const DIFFERENCES: [Difference; 5] =
    [Difference::Dense, Difference::Even, Difference::Sparse(1), Difference::Sparse(2), Difference::Sparse(5)];

fn params(kind: Kind, metric: Metric, dims: usize, tables: i64, hashes: i64, fast: bool) -> Params {
    let spec = Spec {
        dims: Some(dims as i64),
        capacity: Some(100),
        near: Some(if metric == Metric::L2 { 1.0 } else { 0.1 }),
        width: (metric == Metric::L2).then_some(4.0),
        tables: Some(tables),
        hashes: Some(hashes),
        fast: Some(fast),
        ..Spec::default()
    };
    parameters(kind, metric, &spec).unwrap().0
}

/// What is counted for one pair of vectors under one seed: hashes and tables that agree, as shares.
fn agreeing(params: &Params, x: &[f64], y: &[f64]) -> [f64; 2] {
    let hasher = Hasher::new(params, x.len() as u32).unwrap();
    let (mut a, mut b) = (Buckets::default(), Buckets::default());
    for (vector, buckets) in [(x, &mut a), (y, &mut b)] {
        hasher.hash(&Vector::F64(vector), buckets).unwrap();
        hasher.make_keys(buckets);
    }
    let share = |equal: usize, all: usize| equal as f64 / all as f64;
    let tables = a.keys.iter().zip(&b.keys).filter(|(a, b)| a == b).count();
    let hashes = match params.metric {
        Metric::L2 => a.values.iter().zip(&b.values).filter(|(a, b)| a == b).count(),
        _ => a.positions.iter().zip(&b.positions).filter(|(a, b)| (**a >= 0.0) == (**b >= 0.0)).count(),
    };
    [share(hashes, (params.tables * params.hashes) as usize), share(tables, a.keys.len())]
}

/// Compares mean shares over many seeds with what the law expects, within 4.5 standard errors of the mean between
/// seeds: of the 240 comparisons made here, chance alone exceeds that once in 600 runs.
fn compare(name: &str, shares: &[[f64; 2]], expected: [f64; 2]) {
    let n = shares.len() as f64;
    for (i, what) in ["hashes", "tables"].into_iter().enumerate() {
        let mean = shares.iter().map(|s| s[i]).sum::<f64>() / n;
        let variance = shares.iter().map(|s| (s[i] - mean).powi(2)).sum::<f64>() / (n - 1.0);
        let error = (variance / n).sqrt();
        assert!(
            (mean - expected[i]).abs() < 4.5 * error,
            "{name}: {mean:.5} of the {what} agree, expected {:.5} +- {error:.5}",
            expected[i]
        );
    }
}

const SEEDS: u64 = 1500;

#[test]
fn fast_projections_collide_as_normal_ones_do() {
    let mut s = Stream::new(31, 0);
    for dims in [40, 128, 384, 1000] {
        for (tables, hashes) in [(16, 1), (7, 10)] {
            for (difference, distance) in DIFFERENCES.into_iter().flat_map(|d| [0.5, 1.0, 3.0].map(|c| (d, c))) {
                let shares: Vec<[f64; 2]> = (0..SEEDS)
                    .map(|seed| {
                        let params = Params { seed, ..params(Kind::Lsbf, Metric::L2, dims, tables, hashes, true) };
                        let x: Vec<f64> = (0..dims).map(|_| s.gaussian()).collect();
                        let step = difference.draw(dims, distance, &mut s);
                        let y: Vec<f64> = x.iter().zip(step).map(|(x, step)| x + step).collect();
                        agreeing(&params, &x, &y)
                    })
                    .collect();
                let params = params(Kind::Lsbf, Metric::L2, dims, tables, hashes, true);
                let p = collision::same(params.family, distance, params.width);
                let name = format!("{dims} dims, {tables} x {hashes}, {difference:?} at {distance}");
                compare(&name, &shares, [p, collision::tuple(&params, distance)]);
            }
        }
    }
}
