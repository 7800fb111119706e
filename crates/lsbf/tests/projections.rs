//! Projections computed by fast transforms have the distribution of normal ones, for all kinds of differences between
//! two vectors: hashes and whole tables collide with the probabilities of the closed forms, and hashes are independent.

use lsbf::design::{Options, parameters};
use lsbf::hash::collision;
use lsbf::hash::rng::Stream;
use lsbf::hash::{Buckets, Functions, Hasher, Lsh};
use lsbf::params::{Kind, Metric, Params};
use lsbf::vector::Vector;

/// How two vectors differ.
#[derive(Debug, Clone, Copy)]
enum Difference {
    /// In all elements, by random amounts.
    Dense,
    /// In all elements, by the same amount.
    Even,
    /// In these elements, by the same amount. Transforms consist of pairwise operations, which could correlate these
    /// elements.
    At(&'static [usize]),
}

const DIFFERENCES: [Difference; 10] = [
    Difference::Dense,
    Difference::Even,
    Difference::At(&[3]),
    Difference::At(&[0, 1]),
    Difference::At(&[3, 10]),
    Difference::At(&[0, 8]),
    Difference::At(&[0, 16]),
    Difference::At(&[4, 36]),
    Difference::At(&[3, 10, 17, 24, 31]),
    Difference::At(&[1, 2, 5, 30]),
];

impl Difference {
    fn draw(self, dims: usize, distance: f64, s: &mut Stream) -> Vec<f64> {
        let mut x = vec![0.0; dims];
        match self {
            Difference::Dense => x.iter_mut().for_each(|x| *x = s.gaussian()),
            Difference::Even => x.fill(1.0),
            Difference::At(places) => places.iter().for_each(|&at| x[at] = 1.0),
        }
        let length = x.iter().map(|x| x * x).sum::<f64>().sqrt();
        x.iter().map(|x| x * distance / length).collect()
    }
}

fn params(metric: Metric, dims: usize, tables: u32, hashes: u32, seed: u64) -> Params {
    let options = Options {
        dims: Some(dims as i64),
        capacity: Some(100),
        near: Some(if metric == Metric::L2 { 1.0 } else { 0.1 }),
        width: (metric == Metric::L2).then_some(4.0),
        tables: Some(i64::from(tables)),
        hashes: Some(i64::from(hashes)),
        fast: Some(true),
        ..Options::default()
    };
    Params { seed, ..parameters(Kind::Lsbf, metric, &options).unwrap().0 }
}

/// The number of hashes and of tables that agree for a pair of vectors.
fn agreeing(params: &Params, x: &[f64], y: &[f64]) -> [u32; 2] {
    let mut hasher = Hasher::new(params, Functions::new(params, x.len() as u32).unwrap());
    let [a, b] = [x, y].map(|vector| {
        hasher.family.start(&Vector::F64(vector)).unwrap();
        hasher.finish().unwrap();
        let buckets: Vec<i64> = match hasher.family.buckets() {
            Buckets::Numbers(numbers) => numbers.to_vec(),
            Buckets::Bits(tuples) => {
                let bit = |at: u32| (tuples[(at / params.hashes) as usize] >> (at % params.hashes) & 1) as i64;
                (0..params.tables * params.hashes).map(bit).collect()
            }
        };
        (buckets, hasher.keys.all().to_vec())
    });
    let hashes = a.0.iter().zip(&b.0).filter(|(a, b)| a == b).count();
    let tables = a.1.iter().zip(&b.1).filter(|(a, b)| a == b).count();
    [hashes as u32, tables as u32]
}

const SEEDS: u64 = 1500;

/// Compares counts over many seeds with a binomial distribution. The mean must be within 4.5 standard errors, which one
/// of about 700 comparisons exceeds by chance for one in 200 sets of seeds. The variance of the number of hashes,
/// which has a standard error of sqrt(2 / 1500) = 3.7 %, must be within -25 % and +20 %: it is lower if there are many
/// projections of few dimensions.
fn compare(name: &str, counts: &[u32], trials: u32, p: f64, independent: bool) {
    let (n, trials) = (counts.len() as f64, f64::from(trials));
    let mean = counts.iter().map(|&count| f64::from(count)).sum::<f64>() / n;
    let variance = counts.iter().map(|&count| (f64::from(count) - mean).powi(2)).sum::<f64>() / (n - 1.0);
    let expected = trials * p * (1.0 - p);
    let error = (variance.max(expected) / n).sqrt();
    assert!(
        (mean - trials * p).abs() < 4.5 * error,
        "{name}: {mean:.4} agree, expected {:.4} +- {error:.4}",
        trials * p
    );
    if independent {
        assert!((0.75..1.2).contains(&(variance / expected)), "{name}: variance {variance:.3}, expected {expected:.3}");
    }
}

fn check(metric: Metric, dims: usize, (tables, hashes): (u32, u32), difference: Difference, distance: f64) {
    let mut s = Stream::new(31, dims as u64);
    let pairs = (0..SEEDS).map(|_| {
        let x: Vec<f64> = (0..dims).map(|_| s.gaussian()).collect();
        let step = difference.draw(dims, distance, &mut s);
        let y: Vec<f64> = x.iter().zip(step).map(|(x, step)| x + step).collect();
        // For cosine, the difference is only the direction in which x is rotated.
        let y = if metric == Metric::L2 { y } else { turned(&x, &y, distance) };
        (x, y)
    });
    let name = format!("{metric:?}, {dims} dims, {tables} x {hashes}, {difference:?} at {distance}");
    compare_pairs(&name, &params(metric, dims, tables, hashes, 0), pairs, distance);
}

fn compare_pairs(name: &str, params: &Params, pairs: impl Iterator<Item = (Vec<f64>, Vec<f64>)>, distance: f64) {
    let counts: Vec<[u32; 2]> =
        pairs.zip(0..).map(|((x, y), seed)| agreeing(&Params { seed, ..params.clone() }, &x, &y)).collect();
    let [hits, whole] = [0, 1].map(|i| counts.iter().map(|count| count[i]).collect::<Vec<u32>>());
    let p = collision::same(params.family, distance, params.width);
    compare(&format!("{name}, hashes"), &hits, params.tables * params.hashes, p, true);
    compare(&format!("{name}, tables"), &whole, params.tables, collision::tuple(params, distance), false);
}

/// A vector at a cosine distance from `x`, in the direction of `y`.
fn turned(x: &[f64], y: &[f64], distance: f64) -> Vec<f64> {
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let along = dot(x, y) / dot(x, x);
    let across: Vec<f64> = y.iter().zip(x).map(|(y, x)| y - along * x).collect();
    let (cos, scale) = (1.0 - distance, (dot(x, x) / dot(&across, &across)).sqrt());
    let sin = (1.0 - cos * cos).sqrt();
    x.iter().zip(&across).map(|(x, a)| cos * x + sin * scale * a).collect()
}

#[test]
fn fast_projections_collide_like_normal_ones() {
    for dims in [40, 128, 384, 1000] {
        for shape in [(16, 1), (7, 10)] {
            for difference in DIFFERENCES {
                // In units of the width: 1/8, 1/4, 3/4, and so far that hashes agree only by chance.
                for distance in [0.5, 1.0, 3.0, 100.0] {
                    check(Metric::L2, dims, shape, difference, distance);
                }
            }
        }
    }
}

#[test]
fn many_projections_have_the_same_distribution() {
    // Different numbers of sums, and several passes.
    for shape in [(30, 1), (60, 1), (128, 1), (30, 10)] {
        for difference in [Difference::Dense, Difference::At(&[3]), Difference::At(&[0, 1])] {
            check(Metric::L2, 384, shape, difference, 1.0);
        }
    }
}

#[test]
fn fast_hyperplanes_collide_like_normal_ones() {
    for dims in [128, 384] {
        for distance in [0.05, 0.3, 1.0] {
            check(Metric::Cosine, dims, (16, 1), Difference::Dense, distance);
            check(Metric::Cosine, dims, (16, 1), Difference::At(&[0, 1]), distance);
        }
    }
}

#[test]
fn hyperplanes_separate_sparse_vectors() {
    // Vectors with a few equal elements have few different transforms. A small change of another element must change
    // the signs of the expected fraction of hyperplanes.
    for elements in [1, 2, 10] {
        for step in [0.01, 0.3, 3.0] {
            let dims = 384;
            let mut x = vec![0.0; dims];
            (0..elements).for_each(|i| x[i * 37 % dims] = 1.0);
            let mut y = x.clone();
            y[200] += step;
            let cos = f64::from(elements as u32)
                / (f64::from(elements as u32) * (f64::from(elements as u32) + step * step)).sqrt();
            let pairs = (0..SEEDS).map(|_| (x.clone(), y.clone()));
            compare_pairs(&format!("{elements} + {step}"), &params(Metric::Cosine, dims, 16, 1, 0), pairs, 1.0 - cos);
        }
    }
}
