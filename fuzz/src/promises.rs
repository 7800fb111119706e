//! Properties of every value that passes validation.

use crate::guard::within;
use crate::vectors::Value;
use lsbf::error::{Code, Error, Result};
use lsbf::filter::change::{check_alike, includes};
use lsbf::filter::format::{self, View};
use lsbf::filter::{Engine, Owned};
use lsbf::hash::rng::Stream;
use lsbf::params::{Family, Kind, Metric, Params};
use lsbf::rates::explain::explain;
use lsbf::rates::{Facts, acceptance, false_positives};

/// Random numbers of an engine, and bytes of a filter, up to which it is used: larger ones take too long to be tested
/// thousands of times.
const MAX_EXPANDED: u64 = 1 << 18;
const MAX_BYTES: usize = 1 << 20;
/// Bytes that predictions may use: the results of their simulations are kept for the next query.
pub const THEORY_BYTES: usize = 256 << 20;

/// Validates a payload, as every input function does. An error must have a meaningful message.
pub fn accept(payload: &[u8]) -> Result<Vec<u64>> {
    // Memory for the image, for copies of its parts, and for an error message.
    let limit = 4 * payload.len() + (16 << 10);
    within(limit, "reading a value", || Owned::read(payload)).map(|filter| filter.image).map_err(with_message)
}

/// The words of a payload, whether it is a filter or not.
pub fn as_image(payload: &[u8]) -> Vec<u64> {
    let mut image = vec![0u64; (payload.len() + format::RESERVED).div_ceil(8)];
    let bytes: Vec<u8> = [&[0; format::RESERVED], payload].concat();
    for (word, bytes) in image.iter_mut().zip(bytes.chunks(8)) {
        let mut whole = [0; 8];
        whole[..bytes.len()].copy_from_slice(bytes);
        *word = u64::from_ne_bytes(whole);
    }
    image
}

/// Checks that an error has a message of reasonable length.
pub fn with_message(error: Error) -> Error {
    assert!(error.message.len() > 10 && error.message.len() < 1000, "{error:?}");
    error
}

fn check_rate(rate: f64, params: &Params) {
    assert!((0.0..=1.0).contains(&rate), "a rate of {rate}: {params:?}");
}

/// Checks all properties of a valid image; `salt` chooses vectors.
pub fn check(image: &[u64], salt: u64) {
    let facts = Facts::of(image).expect("a valid filter can be read");
    let params = &facts.params;
    assert_eq!(accept(format::payload(image)).as_deref(), Ok(image), "reading the output gives another filter");
    // Rates of a filter with probes are found by simulation, which takes long: check only some of them.
    if params.kind != Kind::Probing || salt.is_multiple_of(64) {
        within(THEORY_BYTES, "a prediction", || {
            assert!(!explain(&facts).is_empty());
            check_rate(false_positives(&facts, 1.0), params);
            check_rate(acceptance(&facts, params.near, 1.0), params);
        });
    }
    let mut stream = Stream::new(salt, 0);
    let dims = match facts.dims {
        0 if params.family != Family::MinHash => 1 + stream.below(64) as u32,
        dims => dims,
    };
    if u64::from(dims.max(1)) * params.projections() > MAX_EXPANDED {
        return;
    }
    let centre = View::new(image).and_then(|view| view.centre()).expect("a valid filter has its centre");
    let (result, held) = crate::guard::peak(|| Engine::centred(params.clone(), dims, centre));
    let mut engine = match result {
        Ok(engine) => engine,
        // Only a filter without dims may be given vectors with too many dimensions.
        Err(error) if facts.dims == 0 => return drop(with_message(error)),
        Err(error) => panic!("a valid filter cannot be expanded: {error}"),
    };
    // The backend counts `bytes` as the memory of an engine. Limits of few coordinates are simulated while it is created.
    const SIMULATION: usize = 512 << 10;
    assert!(held <= 2 * engine.bytes() + SIMULATION, "{held} bytes for an engine of {}: {params:?}", engine.bytes());
    let vector = Value::fitting(params, dims as usize, &mut stream);
    query(&mut engine, &View::valid(image), &vector, salt);
    match params.kind {
        Kind::Lsqf => change_members(&mut engine, image, &vector),
        _ => grow(&mut engine, image, &vector),
    }
}

/// Queries of every kind.
fn query(engine: &mut Engine, filter: &View, vector: &Value, salt: u64) {
    let theta: f64 = match engine.params.kind {
        Kind::Probing if !salt.is_multiple_of(16) => 1.0,
        _ => [1.0, 1e-300, 0.3, 2.0, 3.0, 1e4][(salt >> 8) as usize % 6],
    };
    let max_theta = engine.max_theta();
    let at_one = engine.contains(&filter.queried(), &vector.view(), 1.0).expect("a valid filter can be queried");
    let at_theta = engine.contains(&filter.queried(), &vector.view(), theta).map_err(with_message);
    // Aligned blocks of 2 buckets are not contained in blocks of 3, and theta must be a whole number.
    if engine.params.aligned {
        assert_eq!(at_theta.is_ok(), theta.fract() == 0.0);
    } else if theta > max_theta * 1.001 {
        assert!(at_theta.is_err(), "theta {theta} exceeds {max_theta}");
    } else {
        let found = at_theta.expect("a valid filter can be queried");
        assert!(!at_one || found || theta < 1.0, "a larger theta {theta} lost a vector: {:?}", engine.params);
    }
    let votes = engine.votes(&filter.queried(), &vector.view(), 1.0).expect("a valid filter can be queried");
    let most = if engine.params.kind == Kind::Lsqf { filter.header.ones } else { engine.params.tables.into() };
    assert!(u64::from(votes) <= most && (votes > 0 || !at_one || engine.params.kind != Kind::Lsqf));
    if matches!(engine.params.kind, Kind::Ilbf | Kind::Lsqf) && !engine.params.aligned {
        let distance = engine.distance(&filter.queried(), &vector.view()).expect("this kind estimates distances");
        assert!(distance.is_none_or(|d| d >= 0.0), "a distance of {distance:?}");
    }
}

/// Adding and merging result in valid filters that contain all members.
fn grow(engine: &mut Engine, image: &[u64], vector: &Value) {
    let params = engine.params.clone();
    let whole = format::image_words(&params, engine.stored.len(), engine.dims, true) * 8;
    if whole > MAX_BYTES {
        return;
    }
    let before = Owned { image: image.to_vec() };
    let mut added = before.clone();
    added.add(engine, &vector.view()).expect("a valid filter accepts members");
    assert!(added.image.len() * 8 <= whole);
    accept(format::payload(&added.image)).expect("a filter with one more member is valid");
    let found = engine
        .contains(&added.view().queried(), &vector.view(), 1.0)
        .expect("a filter with one more member can be queried");
    assert!(found, "a member was not found: {params:?}");

    check_alike(&before.view(), &before.view()).expect("a filter hashes like itself");
    let merged = |a: &Owned, b: &Owned| {
        let mut union = a.clone();
        union.merge(b).expect("filters that hash alike can be merged");
        union
    };
    assert!(merged(&before, &before) == before, "a filter merged with itself changed");
    assert!(
        merged(&before, &added) == added && merged(&added, &before) == added,
        "a union with a subset is not the larger filter"
    );
}

/// Whether `near` is so small compared with this vector that a quotient filter may reject it.
fn is_precise(engine: &Engine, vector: &Value) -> bool {
    const RATIO: f64 = 1000.0;
    let Value::F64(x) = vector else { return false };
    let centre: f64 = engine.centre.iter().map(|&x| f64::from(x) * f64::from(x)).sum();
    let length = x.iter().map(|x| x * x).sum::<f64>().sqrt() + centre.sqrt();
    match engine.params.metric {
        Metric::Cosine => engine.params.near < 1.0 / (RATIO * RATIO),
        _ => engine.params.near * RATIO < length,
    }
}

/// The same for quotient filters, whose members are a multiset: adding one can be undone.
fn change_members(engine: &mut Engine, image: &[u64], vector: &Value) {
    if image.len() * 8 > MAX_BYTES {
        return;
    }
    let before = match View::valid(image).header.dims {
        // The first member determines the dimensions.
        0 => Owned::centred(&engine.params, engine.dims, &engine.centre),
        _ => Owned { image: image.to_vec() },
    };
    let count = |filter: &Owned| filter.view().members().expect("a valid filter has a number of members");
    let mut changed = before.clone();
    match changed.add(engine, &vector.view()) {
        Err(error) if error.code == Code::Parameter && is_precise(engine, vector) => return drop(with_message(error)),
        added => added.expect("a valid filter accepts members"),
    }
    accept(format::payload(&changed.image)).expect("a filter with one more member is valid");
    assert_eq!(count(&changed), count(&before) + 1);
    let found = changed.contains(engine, &vector.view(), 1.0).expect("a filter with one more member can be queried");
    assert!(found, "a member was not found: {:?}", engine.params);
    let distance = changed.distance(engine, &vector.view()).expect("this kind estimates distances");
    assert_eq!(distance, Some(0.0), "the distance of a member");
    let added = changed.clone();
    assert!(changed.remove(engine, &vector.view()).expect("a member can be removed"), "a member was not removed");
    assert!(changed == before, "removing a member did not undo adding it");

    check_alike(&before.view(), &before.view()).expect("a filter hashes like itself");
    let merged = |a: &Owned, b: &Owned| {
        let mut union = a.clone();
        union.merge(b).expect("filters that hash alike can be merged");
        union
    };
    let union = merged(&before, &added);
    assert_eq!(count(&union), count(&before) + count(&added));
    assert!(merged(&added, &before) == union, "the order of a union matters");
    assert!(includes(&union.view(), &added.view()).expect("filters that hash alike can be compared"));
    accept(format::payload(&union.image)).expect("a union is valid");
}
