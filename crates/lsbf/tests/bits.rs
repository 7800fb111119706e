//! Filters for the Hamming distance: what is promised never to be missed is never missed, and the rates that a choice predicts
//! from a sample are those that its filter has, on bit strings of several kinds.

use lsbf::design::Options;
use lsbf::design::advise::{for_sample, without_data};
use lsbf::design::request::{Goals, Prefer};
use lsbf::design::reservoir::Reservoir;
use lsbf::filter::{Engine, Owned};
use lsbf::hash::rng::Stream;
use lsbf::params::{Family, Metric};
use lsbf::rates::{Facts, acceptance, false_negatives, rejection};
use lsbf::vector::Vector;

/// A string of bits, or of small numbers as symbols.
#[derive(Clone)]
enum Text {
    Bits(Vec<u8>, usize),
    Symbols(Vec<i32>),
}

impl Text {
    fn random(dims: usize, symbols: bool, density: f64, s: &mut Stream) -> Text {
        if symbols {
            return Text::Symbols((0..dims).map(|_| s.below(5) as i32).collect());
        }
        let mut bytes = vec![0u8; dims.div_ceil(8)];
        (0..dims).filter(|_| s.uniform() < density).for_each(|at| bytes[at / 8] |= 128 >> (at % 8));
        Text::Bits(bytes, dims)
    }

    fn view(&self) -> Vector<'_> {
        match self {
            Text::Bits(bytes, len) => Vector::Bits { bytes, len: *len },
            Text::Symbols(symbols) => Vector::Ints(symbols),
        }
    }

    fn change(&mut self, at: usize) {
        match self {
            Text::Bits(bytes, _) => bytes[at / 8] ^= 128 >> (at % 8),
            Text::Symbols(symbols) => symbols[at] = (symbols[at] + 1) % 5,
        }
    }

    /// A string that differs in this many random positions.
    fn changed(&self, count: usize, s: &mut Stream) -> Text {
        let dims = match self {
            Text::Bits(_, len) => *len,
            Text::Symbols(symbols) => symbols.len(),
        };
        let (mut new, mut order) = (self.clone(), (0..dims).collect::<Vec<_>>());
        for place in 0..count {
            let other = place + s.below((dims - place) as u64) as usize;
            order.swap(place, other);
            new.change(order[place]);
        }
        new
    }
}

/// The filter that is chosen if no string within `near` may be missed, with some members.
fn without_misses(dims: usize, near: f64, symbols: bool, prefer: Prefer, s: &mut Stream) -> (Engine, Owned, Vec<Text>) {
    const MEMBERS: usize = 60;
    let options = Options {
        symbols,
        dims: Some(dims as i64),
        capacity: Some(MEMBERS as i64),
        near: Some(near),
        seed: s.below(1000) as i64,
        ..Options::default()
    };
    let goals = Goals { fnr: Some(0.0), prefer, ..Goals::default() };
    let params = without_data(Metric::Hamming, &options, &goals).unwrap().choices.remove(0).params;
    let mut engine = Engine::new(params.clone(), dims as u32).unwrap();
    let mut filter = Owned::new(&params, dims as u32);
    let members: Vec<Text> = (0..MEMBERS).map(|_| Text::random(dims, symbols, 0.5, s)).collect();
    members.iter().for_each(|member| filter.add(&mut engine, &member.view()).unwrap());
    (engine, filter, members)
}

/// Calls `check` with every string that differs from this one in `left` positions at most, from `from` on.
fn all_within(text: &mut Text, dims: usize, from: usize, left: usize, check: &mut impl FnMut(&Text)) {
    check(text);
    if left == 0 {
        return;
    }
    for at in from..dims {
        let own = text.clone();
        text.change(at);
        all_within(text, dims, at + 1, left - 1, check);
        *text = own;
    }
}

#[test]
fn no_string_within_near_is_missed_if_that_is_requested() {
    let mut s = Stream::new(1, 0);
    for (dims, r, symbols) in
        [(7, 1, false), (12, 3, false), (16, 2, true), (24, 3, false), (33, 2, false), (9, 4, true), (5, 4, false)]
    {
        for prefer in [Prefer::Small, Prefer::Fast, Prefer::Sharp] {
            let near = r as f64 / dims as f64;
            let (mut engine, filter, members) = without_misses(dims, near, symbols, prefer, &mut s);
            let mut count = 0;
            let view = filter.view().queried();
            for member in members.iter().take(if dims > 20 { 5 } else { 60 }) {
                all_within(&mut member.clone(), dims, 0, r, &mut |text| {
                    assert!(engine.contains(&view, &text.view(), 1.0).unwrap(), "{dims} {r} {:?}", engine.params);
                    count += 1;
                });
            }
            assert!(count > 100, "{count}");
            let facts = Facts::of(&filter.image).unwrap();
            assert_eq!(false_negatives(&facts, 1.0), 0.0);
            assert!((0..=r).all(|differ| rejection(&facts, differ as f64 / dims as f64, 1.0) == 0.0));
        }
    }
}

#[test]
fn of_a_million_strings_within_near_none_is_missed_if_that_is_requested() {
    const STRINGS: usize = 1_000_000;
    let mut s = Stream::new(2, 0);
    let settings: [(usize, usize, bool); 6] =
        [(64, 3, false), (64, 8, false), (256, 12, false), (1024, 4, false), (1024, 40, false), (30, 3, true)];
    let mut misses = 0;
    for (dims, r, symbols) in settings {
        let near = r as f64 / dims as f64;
        let (mut engine, filter, members) = without_misses(dims, near, symbols, Prefer::Balanced, &mut s);
        let view = filter.view().queried();
        // A larger theta is served only as far as nothing is missed there, either.
        let widest = (engine.max_theta() * r as f64 + 1e-9) as usize;
        for number in 0..STRINGS / settings.len() {
            let (differ, theta) = match number % 4 {
                0 => (widest, engine.max_theta()),
                _ => (r, 1.0),
            };
            let text = members[number % members.len()].changed(differ, &mut s);
            misses += usize::from(!engine.contains(&view, &text.view(), theta).unwrap());
        }
    }
    assert_eq!(misses, 0);
}

#[test]
fn what_cannot_be_promised_is_rejected() {
    let with = |metric, dims, near, symbols| {
        let options = Options { symbols, dims, capacity: Some(10), near: Some(near), ..Options::default() };
        without_data(metric, &options, &Goals { fnr: Some(0.0), ..Goals::default() }).map(|_| ()).map_err(|e| e.message)
    };
    assert!(with(Metric::Hamming, Some(1000), 0.254, false).is_ok());
    let error = with(Metric::Hamming, Some(1000), 0.255, false).unwrap_err();
    assert!(error.contains("at most 254 positions") && error.contains("is 255"), "{error}");
    assert!(with(Metric::Hamming, Some(10), 0.999, true).is_ok());
    assert!(with(Metric::Hamming, None, 0.1, false).unwrap_err().contains("dims must be specified"));
    assert!(with(Metric::Jaccard, None, 0.1, false).unwrap_err().contains("fnr must be at least"));
    assert!(with(Metric::L2, Some(10), 0.1, false).unwrap_err().contains("fnr must be at least"));
}

/// Rows of which some are near earlier ones, at distances of up to seven times `spread` positions.
fn table(dims: usize, density: f64, spread: f64, s: &mut Stream) -> Vec<Text> {
    const ROWS: usize = 16_000;
    let mut rows: Vec<Text> = Vec::with_capacity(ROWS);
    for number in 0..ROWS {
        let row = match number < ROWS / 4 || s.below(2) == 0 {
            true => Text::random(dims, false, density, s),
            false => {
                let differ = (spread * (1.0 + 6.0 * s.uniform())) as usize;
                rows[s.below(number as u64) as usize].clone().changed(differ.min(dims / 2), s)
            }
        };
        rows.push(row);
    }
    (0..ROWS).for_each(|place| rows.swap(place, place + s.below((ROWS - place) as u64) as usize));
    rows
}

/// Predicted and counted events: their number must be within a factor of 2, and four standard deviations.
fn agrees(counted: usize, rows: usize, predicted: f64) -> bool {
    const MODEL: f64 = 2.0;
    let (counted, expected) = (counted as f64, predicted * rows as f64);
    let spread = |mean: f64| 4.0 * mean.sqrt() + 1.0;
    counted <= MODEL * expected + spread(MODEL * expected) && counted >= expected / MODEL - spread(expected / MODEL)
}

#[test]
fn rates_predicted_from_a_sample_are_those_of_the_filter() {
    // Image hashes, sparse fingerprints, dense strings with a small and with a large near.
    for (dims, density, spread, r) in [
        (64, 0.5, 1.5, 3),
        (64, 0.5, 1.5, 6),
        (1024, 0.04, 3.0, 4),
        (256, 0.5, 6.0, 4),
        (256, 0.2, 6.0, 10),
        (1024, 0.5, 20.0, 40),
    ] {
        let mut s = Stream::new(3, dims as u64);
        let rows = table(dims, density, spread, &mut s);
        let (members, others) = rows.split_at(rows.len() / 2);
        for prefer in [Prefer::Small, Prefer::Balanced, Prefer::Sharp] {
            let mut sample = Reservoir::new(Metric::Hamming, false, None, 1).unwrap();
            members.iter().for_each(|row| sample.offer(|| Ok(row.view())).unwrap());
            let options = Options { near: Some(r as f64 / dims as f64), ..Options::default() };
            let goals = Goals { prefer, ..Goals::default() };
            let choice =
                for_sample(Metric::Hamming, &options, &goals, sample, members.len() as f64).unwrap().choices.remove(0);
            let mut engine = Engine::new(choice.params.clone(), dims as u32).unwrap();
            let mut filter = Owned::new(&choice.params, dims as u32);
            members.iter().for_each(|row| filter.add(&mut engine, &row.view()).unwrap());
            let view = filter.view().queried();
            let mut passes = |text: &Text| engine.contains(&view, &text.view(), 1.0).unwrap();
            let missed = members.iter().filter(|row| !passes(&row.changed(r, &mut s))).count();
            let far = (choice.params.far * dims as f64).round() as usize;
            let at_far = members.iter().filter(|row| passes(&row.changed(far, &mut s))).count();
            let is_unrelated = |row: &&Text| members.iter().all(|member| distance(row, member) > far);
            let unrelated: Vec<&Text> = others.iter().step_by(4).filter(is_unrelated).collect();
            let passed = unrelated.iter().filter(|row| passes(row)).count();
            let label = format!("{dims} {density} {r} {prefer:?}: {choice:?}");
            assert!(agrees(missed, members.len(), choice.fnr), "{missed} missed, {label}");
            assert!(agrees(at_far, members.len(), choice.fpr), "{at_far} passed at {far}, {label}");
            assert!(agrees(passed, unrelated.len(), choice.unrelated), "{passed} of {}, {label}", unrelated.len());
            assert!(choice.params.family == Family::Blocks || dims == 1024 || prefer != Prefer::Sharp, "{label}");
        }
    }
}

/// Without a sample, other strings are taken to be random, and a filter that is too full passes everything.
#[test]
fn rates_predicted_without_a_sample_are_those_of_random_strings() {
    let mut s = Stream::new(5, 0);
    for (dims, capacity, members, near, fnr) in [
        (256, 20_000, 20_000, 0.05, None),
        (64, 20_000, 20_000, 3.0 / 64.0, Some(0.0)),
        (64, 1000, 30_000, 3.0 / 64.0, Some(0.0)),
        (32, 1000, 1000, 1.0 / 32.0, None),
    ] {
        let options = Options { dims: Some(dims), capacity: Some(capacity), near: Some(near), ..Options::default() };
        let goals = Goals { fnr, prefer: Prefer::Small, ..Goals::default() };
        let choice = without_data(Metric::Hamming, &options, &goals).unwrap().choices.remove(0);
        let mut engine = Engine::new(choice.params.clone(), dims as u32).unwrap();
        let mut filter = Owned::new(&choice.params, dims as u32);
        let members: Vec<Text> = (0..members).map(|_| Text::random(dims as usize, false, 0.5, &mut s)).collect();
        members.iter().for_each(|row| filter.add(&mut engine, &row.view()).unwrap());
        let facts = Facts::of(&filter.image).unwrap();
        let view = filter.view().queried();
        const QUERIES: usize = 8000;
        let far = (choice.params.far * dims as f64) as usize;
        let (mut passed, mut at_far) = (0, 0);
        for member in members.iter().cycle().take(QUERIES) {
            let other = Text::random(dims as usize, false, 0.5, &mut s);
            passed += usize::from(engine.contains(&view, &other.view(), 1.0).unwrap());
            at_far += usize::from(engine.contains(&view, &member.changed(far, &mut s).view(), 1.0).unwrap());
        }
        let [of_filter, of_filter_far] = [0.5, choice.params.far].map(|distance| acceptance(&facts, distance, 1.0));
        let label = format!("{dims} {capacity} {}: {choice:?}", members.len());
        assert!(agrees(passed, QUERIES, of_filter), "{passed} passed, {of_filter} of the filter, {label}");
        assert!(agrees(at_far, QUERIES, of_filter_far), "{at_far} at far, {of_filter_far} of the filter, {label}");
        if members.len() == capacity as usize {
            assert!(agrees(passed, QUERIES, choice.unrelated), "{passed} passed, {label}");
            assert!(agrees(at_far, QUERIES, choice.fpr), "{at_far} at far, {label}");
        }
    }
}

fn distance(a: &Text, b: &Text) -> usize {
    match (a, b) {
        (Text::Bits(a, _), Text::Bits(b, _)) => a.iter().zip(b).map(|(a, b)| (a ^ b).count_ones() as usize).sum(),
        _ => usize::MAX,
    }
}
