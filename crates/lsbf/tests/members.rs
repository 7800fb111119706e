//! Properties of quotient filters that hold exactly: their members are a multiset, in a form that depends on nothing else.

mod common;

use common::{Space, Value, centred, max_theta};
use lsbf::design::{Options, parameters};
use lsbf::error::Code;
use lsbf::filter::bits::Fetch;
use lsbf::filter::change::includes;
use lsbf::filter::lsqf::body::Members;
use lsbf::filter::lsqf::change::{layout, members};
use lsbf::filter::lsqf::fingerprint::{Fingerprint, sort_records};
use lsbf::filter::lsqf::levels::Levels;
use lsbf::filter::owned::Heap;
use lsbf::filter::{Adds, Engine, Owned, format};
use lsbf::hash::rng::Stream;
use lsbf::params::{Kind, Metric, Params};
use lsbf::vector::{Vector, f16};

const METRICS: [Metric; 2] = [Metric::L2, Metric::Cosine];
/// Dimensions on both sides of all limits: of grids, of rotations by a matrix, and of the blocks of fast transforms.
const DIMS: [usize; 12] = [1, 2, 3, 10, 16, 17, 33, 64, 65, 128, 300, 384];

fn space(metric: Metric) -> Space {
    Space { metric, symbols: false }
}

/// An engine for these options. The centre, if there is one, is random.
fn made(metric: Metric, dims: usize, options: Options, is_centred: bool, s: &mut Stream) -> Engine {
    let centre: Vec<f32> = (0..if is_centred { dims } else { 0 }).map(|_| s.gaussian() as f32).collect();
    let near = options.near.or(Some(space(metric).near()));
    let options = Options { near, centre: is_centred.then(|| centre.clone()), ..options };
    let (params, _) = parameters(Kind::Lsqf, metric, &options).unwrap_or_else(|error| panic!("{options:?}: {error}"));
    centred(&params, dims, &centre)
}

/// Random options that a user might specify.
fn random_options(metric: Metric, s: &mut Stream) -> Options {
    let mut maybe = |low: u64, high: u64| (s.below(2) == 0).then(|| (low + s.below(high - low)) as i64);
    Options {
        seed: maybe(0, 1 << 40).unwrap_or(0),
        bits: maybe(8, 257),
        cells: maybe(0, 3).map(|i| [14, 18, 22][i as usize]),
        max_theta: maybe(0, 151).map(|tenths| 1.0 + tenths as f64 / 10.0),
        fnr: maybe(1, 101).map(|thousandths| thousandths as f64 / 1000.0),
        length: maybe(0, 100).map(|length| length as f64),
        // Members far from each other, near each other, and all within near.
        near: Some(space(metric).near() * [1.0, 30.0, 1000.0][s.below(3) as usize]),
        ..Options::default()
    }
}

fn values(metric: Metric, dims: usize, count: usize, s: &mut Stream) -> Vec<Value> {
    (0..count).map(|_| space(metric).random(dims, s)).collect()
}

fn empty(engine: &Engine) -> Owned {
    Owned::centred(&engine.params, engine.dims, &engine.centre)
}

/// A filter of these members, written at once.
fn written(engine: &mut Engine, members: &[Fingerprint]) -> Owned {
    let size = Fingerprint::record_bytes(&layout(&engine.params, engine.dims).unwrap());
    let mut records: Vec<u8> = members.iter().flat_map(|member| member.record()[..size].to_vec()).collect();
    sort_records(&mut records, size);
    Owned { image: engine.write_records(&records, |words| vec![0; words]).unwrap() }
}

fn fingerprints(engine: &mut Engine, values: &[Value]) -> Vec<Fingerprint> {
    values.iter().map(|value| engine.fingerprint(&value.view()).unwrap()).collect()
}

/// A filter of these vectors, written at once.
fn filled(engine: &mut Engine, values: &[Value]) -> Owned {
    let members = fingerprints(engine, values);
    written(engine, &members)
}

fn union(a: &Owned, b: &Owned) -> Owned {
    let mut out = a.clone();
    out.merge(b).unwrap();
    out
}

fn count(filter: &Owned) -> u64 {
    filter.view().members().unwrap()
}

/// All that queries say about a vector.
fn answers(engine: &mut Engine, filter: &Owned, vector: &Vector, theta: f64) -> (bool, u32, Option<f64>) {
    (
        filter.contains(engine, vector, theta).unwrap(),
        filter.votes(engine, vector, theta).unwrap(),
        filter.distance(engine, vector).unwrap(),
    )
}

#[test]
fn every_member_is_found_at_every_theta() {
    let mut s = Stream::new(1, 0);
    for (metric, dims, is_centred) in
        METRICS.iter().flat_map(|m| DIMS.map(|d| [(*m, d, false), (*m, d, true)])).flatten()
    {
        for round in 0..6 {
            let options = random_options(metric, &mut s);
            let mut engine = made(metric, dims, options.clone(), is_centred, &mut s);
            // With and without a directory.
            let members = values(metric, dims, [40, 400][round % 2], &mut s);
            let filter = filled(&mut engine, &members);
            for (at, member) in members.iter().enumerate() {
                let most = max_theta(&engine);
                let theta = [1.0, most, 1.0 + (most - 1.0) * s.uniform(), 1e-300][at % 4];
                let (found, votes, distance) = answers(&mut engine, &filter, &member.view(), theta);
                assert!(found && votes >= 1, "{metric:?} {dims} {options:?}: not found at theta {theta}");
                assert_eq!(distance, Some(0.0), "{metric:?} {dims} {options:?}");
            }
        }
    }
}

#[test]
fn equal_vectors_of_different_types_are_the_same_member() {
    let mut s = Stream::new(2, 0);
    for (metric, dims) in METRICS.iter().flat_map(|metric| DIMS.map(|dims| (*metric, dims))) {
        let mut engine = made(metric, dims, Options::default(), dims % 2 == 0, &mut s);
        let mut ints: Vec<i32> = (0..dims).map(|_| s.below(16) as i32 - 16).collect();
        ints.iter_mut().skip(1).step_by(3).for_each(|x| *x = 0);
        let bigints: Vec<i64> = ints.iter().map(|&x| i64::from(x)).collect();
        let doubles: Vec<f64> = ints.iter().map(|&x| f64::from(x)).collect();
        let singles: Vec<f32> = ints.iter().map(|&x| x as f32).collect();
        let halves: Vec<f16> = singles.iter().map(|&x| f16::from_f32(x)).collect();
        let indices: Vec<i32> = (0..dims as i32).filter(|&i| ints[i as usize] != 0).collect();
        let nonzero: Vec<f32> = singles.iter().copied().filter(|&x| x != 0.0).collect();
        let text = format!("{ints:?}");
        let member = engine.fingerprint(&Vector::F32(&singles)).unwrap();
        let filter = written(&mut engine, &[member]);
        for vector in [
            Vector::F32(&singles),
            Vector::F64(&doubles),
            Vector::Dense(&singles),
            Vector::F16(&halves),
            Vector::Sparse { dims, indices: &indices, values: &nonzero },
            Vector::Ints(&ints),
            Vector::BigInts(&bigints),
            Vector::Text(&text),
        ] {
            assert_eq!(engine.fingerprint(&vector).unwrap(), member, "{metric:?} {dims} {vector:?}");
            assert_eq!(answers(&mut engine, &filter, &vector, 1.0), (true, 1, Some(0.0)), "{metric:?} {vector:?}");
        }
    }
}

#[test]
fn a_rejected_vector_leaves_the_filter_as_it_was() {
    let mut s = Stream::new(3, 0);
    for (metric, dims) in METRICS.iter().flat_map(|metric| [3, 40, 100].map(|dims| (*metric, dims))) {
        let mut engine = made(metric, dims, Options::default(), true, &mut s);
        let before = filled(&mut engine, &values(metric, dims, 70, &mut s));
        let mut filter = before.clone();
        for (x, message) in [
            (f64::NAN, "contains NaN"),
            (f64::INFINITY, "contains infinity"),
            (f64::NEG_INFINITY, "contains infinity"),
            (1e300, if metric == Metric::Cosine { "" } else { "too large to be projected" }),
            (0.0, if metric == Metric::Cosine { "not defined for zero vectors" } else { "" }),
        ] {
            let vector = vec![x; dims];
            let added = filter.add(&mut engine, &Vector::F64(&vector));
            let queried = filter.contains(&mut engine, &Vector::F64(&vector), 1.0);
            if message.is_empty() {
                assert!(added.is_ok() && queried.is_ok(), "{metric:?} {x}");
                filter = before.clone();
                continue;
            }
            for error in [added.unwrap_err(), queried.unwrap_err()] {
                assert!(error.message.contains(message), "{metric:?} {x}: {error}");
            }
            assert!(filter.remove(&mut engine, &Vector::F64(&vector)).is_err() && filter == before);
        }
    }
}

#[test]
fn a_theta_that_is_too_large_is_rejected_and_the_message_names_the_largest() {
    let mut s = Stream::new(4, 0);
    for (metric, dims) in METRICS.iter().flat_map(|metric| DIMS.map(|dims| (*metric, dims))) {
        for max_theta in [1.0, 1.25, 2.0, 3.0, 9.0, 16.0] {
            let options = Options { max_theta: Some(max_theta), bits: Some(40), ..Options::default() };
            let mut engine = made(metric, dims, options, false, &mut s);
            let filter = filled(&mut engine, &values(metric, dims, 3, &mut s));
            let vector = space(metric).random(dims, &mut s);
            // Codes may allow more than was asked for.
            let largest = layout(&engine.params, engine.dims).unwrap().max_theta(metric);
            assert!(largest >= max_theta * (1.0 - 1e-12), "{metric:?} {dims}: {largest} instead of {max_theta}");
            for theta in [max_theta, largest] {
                answers(&mut engine, &filter, &vector.view(), theta);
            }
            let above = largest * 1.001;
            let error = filter.contains(&mut engine, &vector.view(), above).unwrap_err();
            assert_eq!(error.code, Code::Parameter);
            let shown = lsbf::params::shown(largest);
            assert!(error.message.contains(&format!("theta must be at most {shown} for this filter")), "{error}");
            assert!(error.hint.as_ref().is_some_and(|hint| hint.contains("max_theta")), "{error:?}");
            assert_eq!(filter.votes(&mut engine, &vector.view(), above).unwrap_err(), error);
            let screened = engine.screen_levels(&mut Levels::new(Heap), &vector.view(), above, Adds::All);
            assert_eq!(screened.unwrap_err(), error);
            assert_eq!(empty(&engine).contains(&mut engine, &vector.view(), above).unwrap_err(), error);
        }
    }
}

#[test]
fn a_larger_theta_finds_at_least_as_much() {
    let mut s = Stream::new(5, 0);
    // How often theta matters.
    let mut turned = 0;
    for (metric, dims) in METRICS.iter().flat_map(|metric| DIMS.map(|dims| (*metric, dims))) {
        for _ in 0..4 {
            let options = random_options(metric, &mut s);
            let mut engine = made(metric, dims, options.clone(), s.below(2) == 0, &mut s);
            let members = values(metric, dims, 300, &mut s);
            let filter = filled(&mut engine, &members);
            let most = layout(&engine.params, engine.dims).unwrap().max_theta(metric);
            let mut thetas: Vec<f64> = (0..12).map(|_| most * s.uniform()).collect();
            // Radii at which limits are tabulated, and their neighbours.
            for quarter in -16..16 {
                let radius = (f64::from(quarter) / 4.0).exp2();
                let theta = if metric == Metric::Cosine { radius * radius } else { radius };
                thetas.extend([theta * (1.0 - 1e-12), theta, theta * (1.0 + 1e-12)]);
            }
            thetas.retain(|&theta| theta <= most && theta > 0.0);
            thetas.sort_by(f64::total_cmp);
            for member in members.iter().take(25) {
                let Value::Reals(member) = member else { unreachable!() };
                let scale = engine.params.near / (dims as f64).sqrt() * if metric == Metric::L2 { 1.0 } else { 2e4 };
                let query: Vec<f64> = member.iter().map(|x| x + scale * 2.0 * s.gaussian()).collect();
                let votes: Vec<u32> = thetas
                    .iter()
                    .map(|&theta| {
                        let (found, votes, _) = answers(&mut engine, &filter, &Vector::F64(&query), theta);
                        assert_eq!(found, votes > 0, "{metric:?} {dims} {options:?} {theta}");
                        votes
                    })
                    .collect();
                assert!(votes.is_sorted(), "{metric:?} {dims} {options:?}: {votes:?}");
                turned += usize::from(votes.first() < votes.last());
            }
        }
    }
    assert!(turned > 1000, "{turned} of 2400 answers depend on theta");
}

#[test]
fn a_filter_depends_only_on_the_multiset_of_its_members() {
    let mut s = Stream::new(6, 0);
    for (metric, dims) in METRICS.iter().flat_map(|metric| [2, 12, 40, 100].map(|dims| (*metric, dims))) {
        let options = random_options(metric, &mut s);
        let mut engine = made(metric, dims, options, true, &mut s);
        let mut rows = values(metric, dims, 150, &mut s);
        // Some members are there twice or three times.
        rows.extend_from_within(..30);
        rows.extend_from_within(..10);
        let whole = filled(&mut engine, &rows);
        assert_eq!(count(&whole), rows.len() as u64);
        for round in 0..3 {
            for at in (1..rows.len()).rev() {
                rows.swap(at, s.below(at as u64 + 1) as usize);
            }
            assert!(filled(&mut engine, &rows) == whole, "{metric:?} {dims}: the order of records matters");
            if round == 0 {
                assert!(common::build(&mut engine, &rows) == whole, "{metric:?} {dims}: adding one by one differs");
            }
            let (a, rest) = rows.split_at(s.below(rows.len() as u64 + 1) as usize);
            let (b, c) = rest.split_at(s.below(rest.len() as u64 + 1) as usize);
            let [a, b, c] = [a, b, c].map(|part| filled(&mut engine, part));
            assert!(union(&union(&a, &b), &c) == whole, "{metric:?} {dims}: the union of the parts differs");
            assert!(union(&c, &union(&b, &a)) == whole, "{metric:?} {dims}: the order of unions matters");
        }
        assert_eq!(Owned::read(format::payload(&whole.image)).unwrap(), whole);
    }
}

#[test]
fn a_union_has_every_member_as_often_as_both_filters_together() {
    let mut s = Stream::new(7, 0);
    let mut engine = made(Metric::L2, 20, Options::default(), false, &mut s);
    let rows = values(Metric::L2, 20, 500, &mut s);
    let [a, b] = [&rows[..300], &rows[200..]].map(|part| filled(&mut engine, part));
    let both = union(&a, &b);
    assert_eq!(count(&both), 600);
    for (at, row) in rows.iter().enumerate() {
        let expected = if (200..300).contains(&at) { 2 } else { 1 };
        assert_eq!(both.votes(&mut engine, &row.view(), 1.0).unwrap(), expected);
    }
    let twice = union(&both, &both);
    assert_eq!(count(&twice), 1200);
    assert_eq!(twice.votes(&mut engine, &rows[250].view(), 1.0).unwrap(), 4);
    let nothing = empty(&engine);
    assert!(union(&nothing, &both) == both && union(&both, &nothing) == both && union(&nothing, &nothing) == nothing);
    let includes = |x: &Owned, y: &Owned| includes(&x.view(), &y.view()).unwrap();
    assert!(includes(&both, &a) && includes(&both, &b) && includes(&twice, &both) && includes(&both, &nothing));
    assert!(!includes(&both, &twice) && !includes(&a, &both) && !includes(&nothing, &a));
    let other = made(Metric::L2, 20, Options { bits: Some(65), ..Options::default() }, false, &mut s);
    let error = both.clone().merge(&empty(&other)).unwrap_err();
    assert!(error.message.contains("bits"), "{error}");
}

#[test]
fn removing_a_member_undoes_adding_it() {
    let mut s = Stream::new(8, 0);
    for (metric, dims) in METRICS.iter().flat_map(|metric| [1, 10, 64, 65].map(|dims| (*metric, dims))) {
        for members in [0, 1, 63, 64, 65, 200] {
            let mut engine = made(metric, dims, Options::default(), dims == 10, &mut s);
            let rows = values(metric, dims, members, &mut s);
            let before = filled(&mut engine, &rows);
            let vector = Value::Reals((0..dims).map(|i| 1000.0 + 7.0 * i as f64).collect());
            let mut filter = before.clone();
            filter.add(&mut engine, &vector.view()).unwrap();
            let once = filter.clone();
            filter.add(&mut engine, &vector.view()).unwrap();
            assert_eq!(count(&filter), members as u64 + 2);
            assert!(filter.remove(&mut engine, &vector.view()).unwrap() && filter == once, "one of two is left");
            assert!(filter.contains(&mut engine, &vector.view(), 1.0).unwrap());
            assert!(filter.remove(&mut engine, &vector.view()).unwrap());
            assert!(filter == before, "{metric:?} {dims}: {members} members and one added and removed");
            let is_member = fingerprints(&mut engine, &rows).contains(&engine.fingerprint(&vector.view()).unwrap());
            assert_eq!(filter.remove(&mut engine, &vector.view()).unwrap(), is_member);
            assert!(
                is_member || filter == before,
                "{metric:?} {dims}: removing what is not a member changed something"
            );
        }
        let mut engine = made(metric, dims, Options::default(), false, &mut s);
        let rows = values(metric, dims, 130, &mut s);
        let mut filter = filled(&mut engine, &rows);
        for (removed, row) in rows.iter().enumerate() {
            assert!(filter.remove(&mut engine, &row.view()).unwrap());
            assert!(filter == filled(&mut engine, &rows[removed + 1..]), "{metric:?} {dims}: {removed}");
        }
        assert!(filter == empty(&engine), "a filter without its last member is not empty");
    }
}

#[test]
fn members_cannot_be_removed_from_other_filters() {
    for (kind, space) in common::of_bits() {
        let params = common::params(kind, space, 10, 1);
        let mut engine = common::engine(&params, 24);
        let value = space.random(24, &mut Stream::new(1, 1));
        let mut filter = common::build(&mut engine, std::slice::from_ref(&value));
        let error = filter.remove(&mut engine, &value.view()).unwrap_err();
        assert!(error.message.contains(kind.name()) && error.hint.unwrap().contains("lsqf_new"));
    }
}

/// The number of members determines the layout: a list, and directories of different sizes.
#[test]
fn filters_of_every_size_are_valid_and_have_all_their_members() {
    let mut s = Stream::new(9, 0);
    for (metric, dims, cells, bits) in [
        (Metric::L2, 65, 14, 64),
        (Metric::L2, 40, 18, 20),
        (Metric::Cosine, 20, 22, 8),
        (Metric::L2, 10, 14, 40),
        (Metric::Cosine, 3, 22, 24),
        (Metric::L2, 2, 18, 8),
    ] {
        let options = Options { cells: Some(cells), bits: Some(bits), ..Options::default() };
        let mut engine = made(metric, dims, options, false, &mut s);
        let rows = values(metric, dims, 131_073, &mut s);
        let all = fingerprints(&mut engine, &rows);
        for members in [0, 1, 2, 63, 64, 65, 127, 128, 4095, 4096, 4097, 131_071, 131_072, 131_073] {
            let filter = written(&mut engine, &all[..members]);
            assert_eq!(count(&filter), members as u64);
            let accepted = Owned::read(format::payload(&filter.image)).unwrap_or_else(|error| panic!("{error}"));
            assert!(accepted == filter, "{metric:?} {dims} {members}");
            let mut sorted = all[..members].to_vec();
            sorted.sort_unstable();
            let layout = layout(&engine.params, engine.dims).unwrap();
            let view = filter.view();
            assert!(lsbf::filter::lsqf::change::members(&layout, &view).eq(sorted), "{metric:?} {dims} {members}");
            for row in rows[..members].iter().step_by(1 + members / 200) {
                assert_eq!(
                    filter.distance(&mut engine, &row.view()).unwrap(),
                    Some(0.0),
                    "{metric:?} {dims} {members}"
                );
            }
            if let Some(fewer) = members.checked_sub(1) {
                let mut grown = written(&mut engine, &all[..fewer]);
                grown.add(&mut engine, &rows[fewer].view()).unwrap();
                assert!(grown == filter, "{metric:?} {dims}: {fewer} members and one");
                assert!(grown.remove(&mut engine, &rows[fewer].view()).unwrap());
                assert!(grown == written(&mut engine, &all[..fewer]), "{metric:?} {dims}: {members} without one");
            }
        }
    }
}

#[test]
fn no_member_is_near_a_vector_that_is_far_from_all() {
    let mut s = Stream::new(10, 0);
    for (metric, dims) in METRICS.iter().flat_map(|metric| [2, 10, 40, 100].map(|dims| (*metric, dims))) {
        let options = Options { max_theta: Some(3.0), ..Options::default() };
        let mut engine = made(metric, dims, options, false, &mut s);
        let vector = space(metric).random(dims, &mut s);
        let nothing = empty(&engine);
        assert_eq!(answers(&mut engine, &nothing, &vector.view(), 3.0), (false, 0, None), "no members");
        let filter = filled(&mut engine, std::slice::from_ref(&vector));
        assert_eq!(answers(&mut engine, &filter, &vector.view(), 3.0), (true, 1, Some(0.0)));
        let Value::Reals(x) = &vector else { unreachable!() };
        let unrelated = (0..100).filter(|_| {
            let far: Vec<f64> = x.iter().map(|x| x + 1e4 * s.gaussian()).collect();
            answers(&mut engine, &filter, &Vector::F64(&far), 3.0) != (false, 0, None)
        });
        // Codes of two coordinates repeat: about one of ten unrelated vectors has a near code.
        let most = if dims == 2 { 25 } else { 0 };
        assert!(unrelated.count() <= most, "{metric:?} {dims}");
    }
}

#[test]
fn few_members_are_told_apart_by_their_cells_if_their_codes_repeat() {
    let mut s = Stream::new(17, 0);
    for dims in [1, 2, 3, 4] {
        for members in [64, 65, 1000] {
            let mut engine = made(Metric::L2, dims, Options { near: Some(1.0), ..Options::default() }, false, &mut s);
            let mut random = || Value::Reals((0..dims).map(|_| 1e5 * s.gaussian()).collect());
            let rows: Vec<Value> = (0..members).map(|_| random()).collect();
            let filter = filled(&mut engine, &rows);
            let passed = (0..1000).filter(|_| filter.contains(&mut engine, &random().view(), 1.0).unwrap()).count();
            assert!(passed < 50, "{dims} dimensions, {members} members: {passed} of 1000 unrelated vectors pass");
        }
    }
}

#[test]
fn votes_count_equal_members() {
    let mut s = Stream::new(11, 0);
    for (metric, dims, bits) in [(Metric::L2, 65, 64), (Metric::Cosine, 10, 40), (Metric::L2, 30, 200)] {
        let options = Options { bits: Some(bits), ..Options::default() };
        let mut engine = made(metric, dims, options, false, &mut s);
        let rows = values(metric, dims, 300, &mut s);
        let mut all = fingerprints(&mut engine, &rows);
        let counts = [100_000, 65, 64, 63, 9, 8, 7, 2];
        for (at, &copies) in counts.iter().enumerate() {
            all.extend(std::iter::repeat_n(all[at], copies - 1));
        }
        let filter = written(&mut engine, &all);
        for (at, row) in rows.iter().enumerate() {
            let expected = counts.get(at).map_or(1, |&copies| copies as u32);
            assert_eq!(filter.votes(&mut engine, &row.view(), 1.0).unwrap(), expected, "{metric:?} {dims} {at}");
        }
    }
}

/// A query that reads all members, because most cells are near, finds what it finds in small filters without cells.
#[test]
fn votes_are_the_sum_of_those_of_the_parts_if_all_cells_are_near() {
    let mut s = Stream::new(12, 0);
    for (dims, bits, near, members) in [
        (65, 8, 300.0, 5000),
        (65, 16, 1000.0, 5000),
        (200, 20, 1500.0, 2000),
        (40, 12, 700.0, 20_000),
        (65, 64, 900.0, 5000),
    ] {
        let options = Options { bits: Some(bits), near: Some(near), cells: Some(14), ..Options::default() };
        let mut engine = made(Metric::L2, dims, options, false, &mut s);
        let rows = values(Metric::L2, dims, members, &mut s);
        let all = fingerprints(&mut engine, &rows);
        let whole = written(&mut engine, &all);
        let parts: Vec<Owned> = all.chunks(64).map(|part| written(&mut engine, part)).collect();
        // The costs of all cells are equal for a query at the centre.
        let centre = vec![0.0; dims];
        let mut queries = vec![Value::Reals(centre)];
        queries.extend(rows.iter().take(20).map(|row| {
            let Value::Reals(row) = row else { unreachable!() };
            Value::Reals(row.iter().map(|x| x / 1e6).collect())
        }));
        for query in &queries {
            let votes = whole.votes(&mut engine, &query.view(), 1.0).unwrap();
            let sum: u32 = parts.iter().map(|part| part.votes(&mut engine, &query.view(), 1.0).unwrap()).sum();
            assert_eq!(votes, sum, "{dims} {bits} {near} {members}");
        }
    }
}

/// Members of a crowded cell are counted once, even if the next cell has the same codes.
/// A query of a filter with very many cells visits them together by their first bits, or reads all members. Filters of a few
/// members, whose cells are compared one by one, say the same.
#[test]
fn queries_that_would_visit_very_many_cells_match_the_same_members() {
    const FEW: usize = 64;
    let mut s = Stream::new(23, 0);
    let (mut one_by_one, mut together) = (0, 0);
    for (near, cells, rows) in [(0.3, 18, 140_000), (0.55, 18, 140_000), (0.3, 22, 140_000), (0.9, 18, 140_000)] {
        let (near, cells) = (Some(near), Some(cells));
        let options = Options { near, cells, bits: Some(16), seed: rows as i64, ..Options::default() };
        let mut engine = made(Metric::L2, 72, options, false, &mut s);
        let row = |s: &mut Stream| Value::Reals((0..72).map(|_| s.gaussian() / 72f64.sqrt()).collect());
        let members: Vec<Fingerprint> = (0..rows).map(|_| engine.fingerprint(&row(&mut s).view()).unwrap()).collect();
        let all = written(&mut engine, &members);
        let parts: Vec<Owned> = members.chunks(FEW).map(|chunk| written(&mut engine, chunk)).collect();
        for _ in 0..8 {
            let query = row(&mut s);
            let is_few = engine.visited(&query.view(), 1.0).unwrap().is_some();
            *if is_few { &mut one_by_one } else { &mut together } += 1;
            let expected: u32 = parts.iter().map(|part| part.votes(&mut engine, &query.view(), 1.0).unwrap()).sum();
            assert_eq!(all.votes(&mut engine, &query.view(), 1.0).unwrap(), expected, "{near:?} {cells:?}");
        }
    }
    assert!(one_by_one > 0 && together > 0, "{one_by_one} {together}");
}

#[test]
fn equal_codes_in_other_cells_are_not_counted() {
    let mut s = Stream::new(13, 0);
    // Codes of one coordinate: few values.
    let options =
        Options { bits: Some(8), near: Some(1.0), cells: Some(14), max_theta: Some(16.0), ..Options::default() };
    let mut engine = made(Metric::L2, 65, options, false, &mut s);
    let layout = layout(&engine.params, 65).unwrap();
    let query = space(Metric::L2).random(65, &mut s);
    let own = engine.fingerprint(&query.view()).unwrap();
    let code = own.code(&layout);
    let all: Vec<Fingerprint> =
        (0..1 << 14).flat_map(|cell| std::iter::repeat_n(Fingerprint::new(&layout, cell, &code), 70)).collect();
    let whole = written(&mut engine, &all);
    let mut one = all.clone();
    one.retain(|member| *member == own);
    let one = written(&mut engine, &one);
    assert_eq!(one.votes(&mut engine, &query.view(), 1e-9).unwrap(), 70);
    assert_eq!(whole.votes(&mut engine, &query.view(), 1e-9).unwrap(), 70);
}

/// The filters that consist of the members of each level.
fn filters_of(engine: &mut Engine, levels: &Levels<Heap>) -> Vec<Owned> {
    let layout = layout(&engine.params, engine.dims).unwrap();
    let mut filters = Vec::new();
    levels.any(&layout, |parts, body| {
        let members: Vec<Fingerprint> = match parts.prefix_bits {
            0 => Members::unordered(&layout, parts.members, body).collect(),
            _ => Members::new(&layout, parts.members, body).collect(),
        };
        filters.push(written(engine, &members));
        false
    });
    filters
}

/// A query that reads all members finds its own, although equal codes in other cells precede and follow it.
#[test]
fn a_member_between_equal_codes_of_other_cells_is_found() {
    let mut s = Stream::new(16, 0);
    let options = Options { bits: Some(64), near: Some(1.0), cells: Some(14), ..Options::default() };
    let mut engine = made(Metric::L2, 65, options, false, &mut s);
    let layout = layout(&engine.params, 65).unwrap();
    // All cells are near a vector at the centre.
    let centre = vec![0.0; 65];
    let own = engine.fingerprint(&Vector::F64(&centre)).unwrap();
    let (cell, code) = (own.prefix(layout.cell_bits), own.code(&layout));
    let other = Fingerprint::new(&layout, 0, &code.map(|word| word ^ 0xaaaa_aaaa_aaaa_aaaa)).code(&layout);
    let around = |cell: u32, copies: usize| std::iter::repeat_n(Fingerprint::new(&layout, cell, &other), copies);
    for (before, after) in [(2, 5000), (3, 5000), (5000, 3), (3000, 3000)] {
        let all: Vec<_> = around(cell - 1, before).chain([own]).chain(around(cell + 1, after)).collect();
        let filter = written(&mut engine, &all);
        let found = answers(&mut engine, &filter, &Vector::F64(&centre), 1.0);
        assert_eq!(found, (true, 1, Some(0.0)), "{before} {after}");
    }
}

#[test]
fn members_added_one_by_one_are_those_of_a_filter_and_give_its_answers() {
    let mut s = Stream::new(14, 0);
    let spaces = METRICS.iter().flat_map(|metric| [3, 40, 70].map(|dims| (*metric, dims)));
    for (metric, dims, adds) in
        spaces.flat_map(|(metric, dims)| [Adds::All, Adds::New].map(|adds| (metric, dims, adds)))
    {
        let options = Options { max_theta: Some(2.0), ..Options::default() };
        let mut engine = made(metric, dims, options, false, &mut s);
        let start = values(metric, dims, [0, 50, 700][s.below(3) as usize], &mut s);
        let mut filter = filled(&mut engine, &start);
        let mut levels = Levels::new(Heap);
        let layout = layout(&engine.params, engine.dims).unwrap();
        levels.start(&layout, count(&filter), members(&layout, &filter.view())).unwrap();
        let mut rows = values(metric, dims, 1500, &mut s);
        let near: Vec<Value> = rows.iter().step_by(3).map(|row| space(metric).nudged(row, &mut s)).collect();
        rows.extend(near);
        rows.extend_from_within(..100);
        rows.extend_from_slice(&start[..start.len().min(20)]);
        let mut seen = 0;
        for (at, row) in rows.iter().enumerate() {
            let in_filter = filter.contains(&mut engine, &row.view(), 1.5).unwrap();
            let screened = engine.screen_levels(&mut levels, &row.view(), 1.5, adds).unwrap();
            assert_eq!(screened, in_filter, "{metric:?} {dims} {adds:?} {at}");
            if !screened || adds == Adds::All {
                filter.add(&mut engine, &row.view()).unwrap();
            }
            seen += usize::from(screened);
        }
        let parts = filters_of(&mut engine, &levels);
        let whole = parts.iter().fold(empty(&engine), |whole, part| union(&whole, part));
        assert!(whole == filter, "{metric:?} {dims} {adds:?}: the levels have other members");
        assert!(seen >= 100 && seen < rows.len(), "{metric:?} {dims} {adds:?}: {seen} of {}", rows.len());
    }
}

struct Stored<'a>(&'a [u64]);

impl Fetch for Stored<'_> {
    fn word(&self, at: usize) -> u64 {
        u64::from_le(self.0[at])
    }
}

#[test]
fn a_filter_that_is_fetched_word_by_word_gives_the_same_answers() {
    let mut s = Stream::new(15, 0);
    for (metric, dims) in METRICS.iter().flat_map(|metric| DIMS.map(|dims| (*metric, dims))) {
        for members in [1, 64, 65, 3000] {
            let options = random_options(metric, &mut s);
            let mut engine = made(metric, dims, options, true, &mut s);
            let rows = values(metric, dims, members, &mut s);
            let filter = filled(&mut engine, &rows);
            let view = filter.view();
            let stored = Stored(&filter.image[view.header.body_start()..]);
            let front = format::View::new(&filter.image[..view.header.body_start()]).unwrap();
            for row in rows.iter().take(20) {
                let queries = [row.clone(), space(metric).nudged(row, &mut s), space(metric).random(dims, &mut s)];
                for query in &queries {
                    let fetched = (
                        engine.contains(&front.queried_by(&stored), &query.view(), 1.0).unwrap(),
                        engine.votes(&front.queried_by(&stored), &query.view(), 1.0).unwrap(),
                        engine.distance(&front.queried_by(&stored), &query.view()).unwrap(),
                    );
                    assert_eq!(
                        fetched,
                        answers(&mut engine, &filter, &query.view(), 1.0),
                        "{metric:?} {dims} {members}"
                    );
                }
            }
        }
    }
}

#[test]
fn parameters_that_do_not_apply_or_are_out_of_range_are_rejected() {
    let rejected = |metric, options: Options, message: &str| {
        let options = Options { near: options.near.or(Some(0.1)), ..options };
        let error = parameters(Kind::Lsqf, metric, &options).unwrap_err();
        assert!(error.message.contains(message), "{error} is not {message:?}");
    };
    let default = Options::default;
    for metric in [Metric::L1, Metric::Hamming, Metric::Jaccard] {
        rejected(metric, default(), "does not support metric");
    }
    let l2 = Metric::L2;
    rejected(l2, Options { near: Some(0.0), ..default() }, "near must be");
    rejected(l2, Options { near: Some(1e31), ..default() }, "near must be between");
    rejected(l2, Options { near: Some(1e-31), ..default() }, "near must be between");
    rejected(Metric::Cosine, Options { near: Some(2.0), ..default() }, "near must be");
    rejected(l2, Options { bits: Some(7), ..default() }, "bits must be between 8 and 256");
    rejected(l2, Options { bits: Some(257), ..default() }, "bits must be between 8 and 256");
    rejected(l2, Options { cells: Some(15), ..default() }, "cells must be 14, 18 or 22");
    rejected(l2, Options { max_theta: Some(0.99), ..default() }, "max_theta must be between 1 and 16");
    rejected(l2, Options { max_theta: Some(16.1), ..default() }, "max_theta must be between 1 and 16");
    rejected(l2, Options { fnr: Some(0.0009), ..default() }, "fnr must be between");
    rejected(l2, Options { fnr: Some(f64::NAN), ..default() }, "fnr must be between");
    rejected(l2, Options { length: Some(-1.0), ..default() }, "length must be");
    rejected(l2, Options { dims: Some(2), centre: Some(vec![0.0; 3]), ..default() }, "centre must have 2 dimensions");
    rejected(l2, Options { centre: Some(vec![f32::NAN]), ..default() }, "centre must be finite");
    let params: Params = parameters(Kind::Lsqf, l2, &Options { near: Some(0.1), ..default() }).unwrap().0;
    assert!(Engine::centred(params, 3, vec![0.0; 3]).is_err_and(|error| error.message.contains("centre")));
}
