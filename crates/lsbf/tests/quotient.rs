//! Quotient filters, as statistics: how often near members are found, and how well distances are estimated.

mod common;

use common::centred;
use lsbf::design::{Options, parameters};
use lsbf::filter::lsqf::change::layout;
use lsbf::filter::lsqf::fingerprint::{Fingerprint, sort_records};
use lsbf::filter::{Engine, Owned};
use lsbf::hash::rng::Stream;
use lsbf::params::{Kind, Metric};
use lsbf::vector::Vector;

const MEMBERS: usize = 2500;
/// The model of misses may be wrong by this factor.
const MODEL: f64 = 1.5;

/// A distribution of vectors.
#[derive(Debug, Clone, Copy, PartialEq)]
enum World {
    /// Vectors of length 1 with 384 dimensions.
    Unit,
    /// Vectors of many lengths with 96 dimensions.
    Lengths,
    /// Vectors of 10 dimensions, uniform in a cube.
    Cube,
    /// Clusters in 64 dimensions.
    Clusters,
}

impl World {
    fn dims(self) -> usize {
        match self {
            World::Unit => 384,
            World::Lengths => 96,
            World::Cube => 10,
            World::Clusters => 64,
        }
    }

    /// A distance that is small compared with that of unrelated vectors.
    fn near(self) -> f64 {
        match self {
            World::Unit => 0.3,
            World::Lengths => 1.0,
            World::Cube => 0.1,
            World::Clusters => 0.5,
        }
    }

    fn members(self, s: &mut Stream) -> Vec<Vec<f64>> {
        let scaled = |x: Vec<f64>, by: f64| -> Vec<f64> { x.into_iter().map(|x| x * by).collect() };
        let centres: Vec<Vec<f64>> = (0..30).map(|_| scaled(direction(self.dims(), s), 10.0)).collect();
        let member = |_| match self {
            World::Unit => direction(self.dims(), s),
            World::Lengths => scaled(direction(self.dims(), s), 20.0 * (1.5 * s.gaussian()).exp()),
            World::Cube => (0..self.dims()).map(|_| s.uniform()).collect(),
            World::Clusters => {
                let step = scaled(direction(self.dims(), s), 2.0 + s.uniform());
                let centre = &centres[s.below(30) as usize];
                centre.iter().zip(step).map(|(x, y)| x + y).collect()
            }
        };
        (0..MEMBERS).map(member).collect()
    }
}

fn direction(dims: usize, s: &mut Stream) -> Vec<f64> {
    let x: Vec<f64> = (0..dims).map(|_| s.gaussian()).collect();
    let length = x.iter().map(|x| x * x).sum::<f64>().sqrt();
    x.into_iter().map(|x| x / length).collect()
}

/// A vector at this distance in a random direction.
fn at(metric: Metric, member: &[f64], distance: f64, s: &mut Stream) -> Vec<f32> {
    let aside = direction(member.len(), s);
    if metric != Metric::Cosine {
        return member.iter().zip(&aside).map(|(x, y)| (x + distance * y) as f32).collect();
    }
    // Members have length 1.
    let along: f64 = aside.iter().zip(member).map(|(a, x)| a * x).sum();
    let aside: Vec<f64> = aside.iter().zip(member).map(|(a, x)| a - along * x).collect();
    let length = aside.iter().map(|a| a * a).sum::<f64>().sqrt();
    let (cos, sin) = (1.0 - distance, (1.0 - (1.0 - distance) * (1.0 - distance)).sqrt());
    member.iter().zip(&aside).map(|(x, a)| (cos * x + sin * a / length) as f32).collect()
}

fn filter(metric: Metric, options: Options, members: &[Vec<f64>]) -> (Engine, Owned) {
    let (params, _) = parameters(Kind::Lsqf, metric, &options).unwrap();
    let mut engine = centred(&params, members[0].len(), options.centre.as_deref().unwrap_or_default());
    let size = Fingerprint::record_bytes(&layout(&params, engine.dims).unwrap());
    let mut records = Vec::new();
    for member in members {
        records.extend_from_slice(&engine.fingerprint(&Vector::F64(member)).unwrap().record()[..size]);
    }
    sort_records(&mut records, size);
    let image = engine.write_records(&records, |words| vec![0; words]).unwrap();
    (engine, Owned { image })
}

/// The largest number of misses that is allowed: `MODEL` times the promised ones, and four standard deviations.
fn most(queries: usize, fnr: f64) -> f64 {
    let expected = queries as f64 * fnr * MODEL;
    expected + 4.0 * expected.sqrt()
}

/// Queries at exactly theta x near find their member as often as promised.
fn near_members_are_found(world: World, metric: Metric, near: f64, max_theta: f64) {
    let thetas: Vec<f64> = [0.5, 1.0, 2.0, 3.0].into_iter().filter(|theta| *theta <= max_theta).collect();
    for (fnr, seeds) in [(0.003, 3), (0.01, 2), (0.05, 2)] {
        let mut missed = vec![0; thetas.len()];
        for seed in 0..seeds {
            let mut s = Stream::new(seed, 1);
            let members = world.members(&mut s);
            let (max_theta, fnr) = (Some(max_theta), Some(fnr));
            let options = Options { near: Some(near), max_theta, fnr, seed: seed as i64, ..Options::default() };
            let (mut engine, filter) = filter(metric, options, &members);
            for member in &members {
                for (missed, &theta) in missed.iter_mut().zip(&thetas) {
                    let query = at(metric, member, theta * near, &mut s);
                    *missed += usize::from(!filter.contains(&mut engine, &Vector::F32(&query), theta).unwrap());
                }
            }
        }
        let queries = seeds as usize * MEMBERS;
        let most = most(queries, fnr);
        for (missed, theta) in missed.into_iter().zip(&thetas) {
            assert!(
                missed as f64 <= most,
                "{world:?} {metric:?} theta {theta} fnr {fnr}: {missed} of {queries} missed, at most {most:.0}"
            );
        }
    }
}

#[test]
fn near_unit_vectors_are_found() {
    near_members_are_found(World::Unit, Metric::L2, World::Unit.near(), 3.0);
}

#[test]
fn near_unit_vectors_are_found_with_small_codes() {
    near_members_are_found(World::Unit, Metric::L2, World::Unit.near(), 1.25);
}

#[test]
fn near_unit_vectors_are_found_by_their_cosine_distance() {
    near_members_are_found(World::Unit, Metric::Cosine, 0.05, 3.0);
}

#[test]
fn near_vectors_of_many_lengths_are_found() {
    near_members_are_found(World::Lengths, Metric::L2, World::Lengths.near(), 3.0);
}

#[test]
fn near_vectors_of_few_dimensions_are_found() {
    near_members_are_found(World::Cube, Metric::L2, World::Cube.near(), 3.0);
}

#[test]
fn near_vectors_in_clusters_are_found() {
    near_members_are_found(World::Clusters, Metric::L2, World::Clusters.near(), 3.0);
}

/// Vectors so long that rounding errors matter, until they are rejected.
#[test]
fn near_vectors_are_found_up_to_the_limit_of_precision() {
    let mut s = Stream::new(8, 0);
    for dims in [1, 2, 20, 64, 100, 384] {
        // Near 1; the largest of many coordinates is some times the typical one.
        let longest = if dims <= 2 { 7e5 } else { 1.8e5 };
        let members: Vec<Vec<f64>> =
            (0..MEMBERS).map(|_| direction(dims, &mut s).into_iter().map(|x| longest * x).collect()).collect();
        let options = Options { near: Some(1.0), ..Options::default() };
        let (mut engine, filter) = filter(Metric::L2, options, &members);
        let mut missed = 0;
        for member in &members {
            let query: Vec<f64> = member.iter().zip(direction(dims, &mut s)).map(|(x, y)| x + y).collect();
            missed += usize::from(!filter.contains(&mut engine, &Vector::F64(&query), 1.0).unwrap());
        }
        assert!(missed as f64 <= most(MEMBERS, 0.01), "{dims} dimensions: {missed} missed");
        let longer: Vec<f64> = members[0].iter().map(|x| 40.0 * x).collect();
        let error = engine.fingerprint(&Vector::F64(&longer)).unwrap_err();
        assert!(error.message.starts_with("near 1 is too small for this vector"), "{error}");
    }
}

/// The estimates of the distance of queries at this distance, in multiples of it.
fn estimates(world: World, metric: Metric, times: f64, max_theta: f64, seed: u64) -> Vec<f64> {
    let mut s = Stream::new(seed, 2);
    let members = world.members(&mut s);
    let near = if metric == Metric::Cosine { 0.05 } else { world.near() };
    let options = Options {
        near: Some(near),
        bits: Some(64),
        max_theta: Some(max_theta),
        seed: seed as i64,
        ..Options::default()
    };
    let (mut engine, filter) = filter(metric, options, &members);
    let distance = times * near;
    let found = members.iter().filter_map(|member| {
        let query = at(metric, member, distance, &mut s);
        filter.distance(&mut engine, &Vector::F32(&query)).unwrap()
    });
    found.map(|estimate| estimate / distance).collect()
}

#[test]
fn estimates_of_the_distance_are_hardly_biased_and_precise() {
    for (world, metric) in [
        (World::Unit, Metric::L2),
        (World::Unit, Metric::Cosine),
        (World::Lengths, Metric::L2),
        (World::Clusters, Metric::L2),
        (World::Cube, Metric::L2),
    ] {
        for max_theta in [1.25, 3.0] {
            for seed in 0..2 {
                let ratios = estimates(world, metric, 1.0, max_theta, seed);
                // There is no estimate beyond the largest radius.
                let least = if max_theta > 2.0 { 0.97 } else { 0.85 };
                assert!(
                    ratios.len() as f64 >= least * MEMBERS as f64,
                    "{world:?} {metric:?}: {} estimates",
                    ratios.len()
                );
                let count = ratios.len() as f64;
                let mean = ratios.iter().sum::<f64>() / count;
                let error = (ratios.iter().map(|ratio| (ratio - 1.0) * (ratio - 1.0)).sum::<f64>() / count).sqrt();
                // A cosine distance is half the square of a length.
                let square = if metric == Metric::Cosine { 2.0 } else { 1.0 };
                assert!((mean - 1.0).abs() < 0.10 * square, "{world:?} {metric:?} {max_theta}: mean {mean:.3}");
                // A larger theta needs more bits per coordinate, which leaves fewer coordinates.
                let largest = if max_theta > 2.0 { 0.30 } else { 0.25 };
                assert!(error < largest * square, "{world:?} {metric:?} {max_theta}: relative error {error:.3}");
            }
        }
    }
}
