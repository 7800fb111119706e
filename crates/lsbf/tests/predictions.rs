//! The rates that a choice predicts from a sample are those that its filter has, on data of several kinds.

mod common;

use common::centred;
use lsbf::design::advise::for_sample;
use lsbf::design::request::Goals;
use lsbf::design::reservoir::Reservoir;
use lsbf::design::{Options, parameters};
use lsbf::filter::lsqf::change::layout;
use lsbf::filter::lsqf::fingerprint::{Fingerprint, sort_records};
use lsbf::filter::{Engine, Owned};
use lsbf::hash::rng::Stream;
use lsbf::params::{Kind, Metric};
use lsbf::rates::{Acceptance, Facts};
use lsbf::vector::Vector;

/// Rows of a table, and of others of the same kind.
const MEMBERS: usize = 8000;
const OTHERS: usize = 8000;
const SEEDS: u64 = 4;
/// Every n-th row is compared with all members.
const EXACT: usize = 3;
/// A predicted rate may be wrong by this factor.
const MODEL: f64 = 1.5;

fn direction(dims: usize, s: &mut Stream) -> Vec<f64> {
    let x: Vec<f64> = (0..dims).map(|_| s.gaussian()).collect();
    let length = x.iter().map(|x| x * x).sum::<f64>().sqrt();
    x.into_iter().map(|x| x / length).collect()
}

fn plus(x: &[f64], y: &[f64], by: f64) -> Vec<f64> {
    x.iter().zip(y).map(|(x, y)| x + by * y).collect()
}

/// Unit vectors with a common component.
fn unit(s: &mut Stream, dims: usize) -> Vec<Vec<f64>> {
    let common = direction(dims, s);
    let row = |_| {
        let x = plus(&direction(dims, s), &common, 0.6);
        let length = x.iter().map(|x| x * x).sum::<f64>().sqrt();
        x.into_iter().map(|x| x / length).collect()
    };
    (0..MEMBERS + OTHERS).map(row).collect()
}

/// Vectors of many lengths.
fn lengths(s: &mut Stream) -> Vec<Vec<f64>> {
    (0..MEMBERS + OTHERS).map(|_| plus(&[0.0; 96], &direction(96, s), 8.0 * (0.7 * s.gaussian()).exp())).collect()
}

/// Uniform in a cube of few dimensions.
fn cube(s: &mut Stream) -> Vec<Vec<f64>> {
    (0..MEMBERS + OTHERS).map(|_| (0..10).map(|_| s.uniform()).collect()).collect()
}

/// Normal vectors of some dimensions.
fn normal(s: &mut Stream, dims: usize) -> Vec<Vec<f64>> {
    (0..MEMBERS + OTHERS).map(|_| (0..dims).map(|_| s.gaussian()).collect()).collect()
}

/// Clusters of different widths.
fn clusters(s: &mut Stream) -> Vec<Vec<f64>> {
    let normal = |s: &mut Stream| (0..64).map(|_| s.gaussian()).collect::<Vec<f64>>();
    let centres: Vec<Vec<f64>> = (0..100).map(|_| normal(s)).collect();
    let row = |id: usize| plus(&centres[id % 100], &normal(s), 0.06 * 5f64.powf((id % 100) as f64 / 100.0));
    (0..MEMBERS + OTHERS).map(row).collect()
}

fn distance(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| (x - y) * (x - y)).sum::<f64>().sqrt()
}

/// Counted events, and how many were predicted.
#[derive(Default, Debug)]
struct Tally {
    counted: usize,
    predicted: f64,
    of: usize,
}

impl Tally {
    fn count(&mut self, hit: bool, rate: f64) {
        self.counted += usize::from(hit);
        self.predicted += rate;
        self.of += 1;
    }

    fn check(&self, what: &str) {
        let (counted, noise) = (self.counted as f64, 4.0 * self.predicted.sqrt() + 1.0);
        assert!(counted <= MODEL * self.predicted + noise, "{what}: {self:?}");
        assert!(counted >= self.predicted / MODEL - noise, "{what}: {self:?}");
    }
}

fn filter(params: &lsbf::params::Params, dims: usize, centre: &[f32], members: &[Vec<f64>]) -> (Engine, Owned) {
    let mut engine = centred(params, dims, centre);
    let size = Fingerprint::record_bytes(&layout(params, engine.dims).unwrap());
    let mut records = Vec::new();
    for member in members {
        records.extend_from_slice(&engine.fingerprint(&Vector::F64(member)).unwrap().record()[..size]);
    }
    sort_records(&mut records, size);
    let image = engine.write_records(&records, |words| vec![0; words]).unwrap();
    (engine, Owned { image })
}

/// Asks for a loose rate, so that there is something to count.
fn rates_are_predicted(name: &str, make: impl Fn(&mut Stream) -> Vec<Vec<f64>>, near: f64, fpr: f64) {
    let (mut missed, mut at_far, mut unrelated) = (Tally::default(), Tally::default(), Tally::default());
    for seed in 0..SEEDS {
        let mut s = Stream::new(seed, 5);
        let rows = make(&mut s);
        let dims = rows[0].len();
        let (members, others) = rows.split_at(MEMBERS);
        let mut sample = Reservoir::new(Metric::L2, false, None, seed).unwrap();
        members.iter().for_each(|row| sample.offer(|| Ok(Vector::F64(row))).unwrap());
        let far = 2.5 * near;
        let options = Options { near: Some(near), far: Some(far), seed: seed as i64, ..Options::default() };
        let goals = Goals { fpr: Some(fpr), ..Goals::default() };
        let advice = for_sample(Metric::L2, &options, &goals, sample, MEMBERS as f64).unwrap();
        let choice = &advice.choices[0];
        let centre = if choice.params.centre() == 0 { &[][..] } else { &advice.centre };
        let (mut engine, filter) = filter(&choice.params, dims, centre, members);
        let mut passes = |x: &[f64]| filter.contains(&mut engine, &Vector::F64(x), 1.0).unwrap();
        let nearest = |x: &[f64]| members.iter().map(|member| distance(member, x)).fold(f64::INFINITY, f64::min);
        for member in members {
            missed.count(!passes(&plus(member, &direction(dims, &mut s), near)), choice.fnr);
        }
        for member in members.iter().step_by(EXACT) {
            let query = plus(member, &direction(dims, &mut s), far);
            if nearest(&query) >= 0.98 * far {
                at_far.count(passes(&query), choice.fpr);
            }
        }
        for other in others.iter().step_by(EXACT) {
            if nearest(other) > far {
                unrelated.count(passes(other), choice.unrelated);
            }
        }
    }
    missed.check(&format!("{name}, missed"));
    at_far.check(&format!("{name}, passed at far"));
    unrelated.check(&format!("{name}, unrelated"));
}

#[test]
fn rates_of_unit_vectors_are_predicted() {
    rates_are_predicted("unit 128", |s| unit(s, 128), 0.2, 0.02);
    rates_are_predicted("unit 384", |s| unit(s, 384), 0.2, 0.02);
}

#[test]
fn rates_of_vectors_of_many_lengths_are_predicted() {
    rates_are_predicted("lengths", lengths, 1.0, 0.02);
}

#[test]
fn rates_of_vectors_of_few_dimensions_are_predicted() {
    rates_are_predicted("cube", cube, 0.1, 0.02);
}

/// What passes are members far away, whose cells have the same hash as one near the query.
#[test]
fn rates_of_vectors_of_one_to_three_dimensions_are_predicted() {
    for (dims, near) in [(1, 3e-5), (2, 0.002), (3, 0.001)] {
        rates_are_predicted(&format!("{dims} dimensions"), |s| normal(s, dims), near, 0.01);
    }
}

#[test]
fn rates_of_vectors_in_clusters_are_predicted() {
    rates_are_predicted("clusters", clusters, 0.5, 0.02);
    rates_are_predicted("clusters", clusters, 0.5, 0.002);
}

/// More bits of a cell reach a rate in a grid that longer codes do not.
#[test]
fn cells_are_chosen_that_reach_the_rate_in_few_dimensions() {
    for dims in [2, 3] {
        let mut s = Stream::new(1, 8);
        let rows = normal(&mut s, dims);
        let (members, others) = rows.split_at(MEMBERS);
        let mut sample = Reservoir::new(Metric::L2, false, None, 1).unwrap();
        members.iter().for_each(|row| sample.offer(|| Ok(Vector::F64(row))).unwrap());
        let options = Options { near: Some(0.01), ..Options::default() };
        let goals = Goals { fpr: Some(0.0005), ..Goals::default() };
        let advice = for_sample(Metric::L2, &options, &goals, sample, MEMBERS as f64).unwrap();
        let choice = &advice.choices[0];
        assert!(choice.fpr <= 0.0005 && choice.unrelated <= 0.0005, "{dims} dimensions: {choice:?}");
        let centre = if choice.params.centre() == 0 { &[][..] } else { &advice.centre };
        let (mut engine, filter) = filter(&choice.params, dims, centre, members);
        let mut passed = Tally::default();
        for other in others {
            if members.iter().all(|member| distance(member, other) > choice.params.far) {
                passed.count(filter.contains(&mut engine, &Vector::F64(other), 1.0).unwrap(), choice.unrelated);
            }
        }
        passed.check(&format!("{dims} dimensions, unrelated"));
    }
}

/// Without data, in few dimensions: the rate at far is that of queries whose nearest member is there.
#[test]
fn rates_at_far_of_random_vectors_are_predicted_from_their_length() {
    for (dims, near, bits, cells) in [(2, 0.001, 10, 14), (2, 0.01, 8, 14), (2, 0.02, 16, 14), (3, 0.05, 20, 14)] {
        let (mut at_far, mut unrelated) = (Tally::default(), Tally::default());
        let (mut far_rate, mut other_rate) = (0.0, 0.0);
        for seed in 0..3 {
            let mut s = Stream::new(seed, 7);
            let members: Vec<Vec<f64>> = (0..MEMBERS).map(|_| (0..dims).map(|_| s.gaussian()).collect()).collect();
            let options = Options {
                near: Some(near),
                length: Some((dims as f64).sqrt()),
                bits: Some(bits),
                cells: Some(cells),
                seed: seed as i64,
                ..Options::default()
            };
            let (params, _) = parameters(Kind::Lsqf, Metric::L2, &options).unwrap();
            let (mut engine, filter) = filter(&params, dims, &[], &members);
            let facts = Facts::of(&filter.image).unwrap();
            let rates = Acceptance::new(&facts, 1.0);
            (far_rate, other_rate) = (rates.at(params.far), rates.at(Metric::L2.unrelated()));
            let mut passes = |x: &[f64]| filter.contains(&mut engine, &Vector::F64(x), 1.0).unwrap();
            let nearest = |x: &[f64]| members.iter().map(|member| distance(member, x)).fold(f64::INFINITY, f64::min);
            for member in members.iter().step_by(EXACT) {
                let query = plus(member, &direction(dims, &mut s), params.far);
                if nearest(&query) >= 0.999 * params.far {
                    at_far.count(passes(&query), far_rate);
                }
                let other: Vec<f64> = (0..dims).map(|_| s.gaussian()).collect();
                if nearest(&other) > params.far {
                    unrelated.count(passes(&other), other_rate);
                }
            }
        }
        at_far.check(&format!("{dims} dimensions, {cells} bits of a cell, at far {far_rate}"));
        unrelated.check(&format!("{dims} dimensions, {cells} bits of a cell, unrelated {other_rate}"));
    }
}

/// Without data: normal vectors of the length that a filter was created with.
#[test]
fn rates_of_random_vectors_are_predicted_from_their_length() {
    for dims in [16_000, 300_000] {
        // Some vectors are enough to know that distances are alike.
        let options = Options { near: Some(0.1), length: Some(1.0), dims: Some(dims), ..Options::default() };
        let (params, dims) = parameters(Kind::Lsqf, Metric::L2, &options).unwrap();
        let (_, filter) = filter(&params, dims as usize, &[], &vec![vec![0.5; dims as usize]; 100]);
        let rate = Acceptance::new(&Facts::of(&filter.image).unwrap(), 1.0).at(Metric::L2.unrelated());
        assert!((0.0..1e-6).contains(&rate), "{dims} dimensions: {rate}");
    }
    for (metric, dims, near, length, bits) in [
        (Metric::L2, 32, 0.2, 1.0, 24),
        (Metric::L2, 96, 0.4, 1.0, 40),
        (Metric::L2, 96, 4.0, 9.8, 40),
        (Metric::L2, 96, 1.0, 9.8, 8),
        (Metric::L2, 96, 2.0, 9.8, 8),
        (Metric::L2, 384, 0.3, 1.0, 20),
        (Metric::L2, 10, 0.3, 1.0, 20),
        (Metric::Cosine, 24, 0.09, 1.0, 64),
        (Metric::Cosine, 96, 0.2, 1.0, 64),
    ] {
        let mut passed = Tally::default();
        for seed in 0..2 {
            let mut s = Stream::new(seed, 6);
            let mut row = || -> Vec<f64> { (0..dims).map(|_| s.gaussian() * length / (dims as f64).sqrt()).collect() };
            let members: Vec<Vec<f64>> = (0..2 * MEMBERS).map(|_| row()).collect();
            let options = Options {
                near: Some(near),
                length: Some(length),
                bits: Some(bits),
                seed: seed as i64,
                ..Options::default()
            };
            let (params, _) = parameters(Kind::Lsqf, metric, &options).unwrap();
            let (mut engine, filter) = filter(&params, dims, &[], &members);
            let facts = Facts::of(&filter.image).unwrap();
            let rate = Acceptance::new(&facts, 1.0).at(metric.unrelated());
            for row in (0..OTHERS).map(|_| row()) {
                // Of few dimensions, many rows have a member within far.
                if dims > 16 || members.iter().all(|member| distance(member, &row) > params.far) {
                    passed.count(filter.contains(&mut engine, &Vector::F64(&row), 1.0).unwrap(), rate);
                }
            }
        }
        passed.check(&format!("{metric:?}, {dims} dimensions, near {near}, {bits} bits"));
    }
}
