//! What must hold for every value that passes validation.

use crate::guard::within;
use crate::vectors::Value;
use lsbf::error::{Error, Result};
use lsbf::filter::change::check_alike;
use lsbf::filter::format::{self, View};
use lsbf::filter::{Engine, Owned};
use lsbf::hash::rng::Stream;
use lsbf::params::{Family, Kind, Params};
use lsbf::rates::explain::explain;
use lsbf::rates::{Facts, acceptance, false_positives};

/// Random numbers and bytes up to which a filter is used: more takes too long to be done thousands of times.
const MOST_EXPANDED: u64 = 1 << 18;
const MOST_BYTES: usize = 1 << 20;
/// Bytes that predictions may take: experiments are kept for the next query.
pub const THEORY_BYTES: usize = 256 << 20;

/// Validates a payload, as every input function does. Rejected ones get an error that says something.
pub fn accept(payload: &[u8]) -> Result<Vec<u64>> {
    // The image, what is read of it, and an error message.
    let limit = 4 * payload.len() + (16 << 10);
    within(limit, "reading a value", || Owned::read(payload)).map(|filter| filter.image).map_err(with_reason)
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

/// Passes an error on that says something.
pub fn with_reason(error: Error) -> Error {
    assert!(error.message.len() > 10 && error.message.len() < 1000, "{error:?}");
    error
}

fn is_rate(rate: f64, params: &Params) {
    assert!((0.0..=1.0).contains(&rate), "a rate of {rate}: {params:?}");
}

/// Uses a value in every way; `salt` chooses vectors.
pub fn hold(image: &[u64], salt: u64) {
    let facts = Facts::of(image).expect("a valid filter can be read");
    let params = &facts.params;
    assert_eq!(accept(format::payload(image)).as_deref(), Ok(image), "what is printed is read again");
    // Rates of a filter with probes are found by experiment: a few will do.
    if params.kind != Kind::Probing || salt.is_multiple_of(64) {
        within(THEORY_BYTES, "a prediction", || {
            assert!(!explain(&facts).is_empty());
            is_rate(false_positives(&facts, 1.0), params);
            is_rate(acceptance(&facts, params.near, 1.0), params);
        });
    }
    let mut stream = Stream::new(salt, 0);
    let dims = match facts.dims {
        0 if params.family != Family::MinHash => 1 + stream.below(64) as u32,
        dims => dims,
    };
    if u64::from(dims.max(1)) * params.projections() > MOST_EXPANDED {
        return;
    }
    let centre = View::new(image).and_then(|view| view.centre()).expect("a valid filter has its centre");
    let (made, held) = crate::guard::peak(|| Engine::centred(params.clone(), dims, centre));
    let mut engine = match made {
        Ok(engine) => engine,
        // Only where dims were not known yet can there be too many.
        Err(error) if facts.dims == 0 => return drop(with_reason(error)),
        Err(error) => panic!("a valid filter can be queried: {error}"),
    };
    // What a backend counts as its memory is what it takes.
    assert!(held <= 2 * engine.bytes() + (64 << 10), "{held} bytes for an engine of {}: {params:?}", engine.bytes());
    let vector = Value::fitting(params, dims as usize, &mut stream);
    query(&mut engine, &View::valid(image), &vector, salt);
    grow(&mut engine, image, &vector);
}

/// Queries of every kind.
fn query(engine: &mut Engine, filter: &View, vector: &Value, salt: u64) {
    let theta: f64 = match engine.params.kind {
        Kind::Probing if !salt.is_multiple_of(16) => 1.0,
        _ => [1.0, 1e-300, 0.3, 2.0, 3.0, 1e4][(salt >> 8) as usize % 6],
    };
    let at_one = engine.contains(&filter.queried(), &vector.view(), 1.0).expect("a valid filter can be queried");
    let at_theta = engine.contains(&filter.queried(), &vector.view(), theta).map_err(with_reason);
    // Aligned blocks of 2 do not lie within blocks of 3, and there are none of half a bucket.
    if engine.params.aligned {
        assert_eq!(at_theta.is_ok(), theta.fract() == 0.0);
    } else {
        let found = at_theta.expect("a valid filter can be queried");
        assert!(!at_one || found || theta < 1.0, "a larger theta {theta} lost a vector: {:?}", engine.params);
    }
    let votes = engine.votes(&filter.queried(), &vector.view(), 1.0).expect("a valid filter can be queried");
    assert!(votes <= engine.params.tables);
    if engine.params.kind == Kind::Ilbf && !engine.params.aligned {
        let distance = engine.distance(&filter.queried(), &vector.view()).expect("an ilbf estimates distances");
        assert!(distance.is_none_or(|d| d >= 0.0), "a distance of {distance:?}");
    }
}

/// Adding and merging give valid filters, and lose nothing.
fn grow(engine: &mut Engine, image: &[u64], vector: &Value) {
    let params = engine.params.clone();
    let whole = format::image_words(&params, engine.stored.len(), engine.dims, true) * 8;
    if whole > MOST_BYTES {
        return;
    }
    let before = Owned { image: image.to_vec() };
    let mut added = before.clone();
    added.add(engine, &vector.view()).expect("a valid filter takes members");
    assert!(added.image.len() * 8 <= whole);
    accept(format::payload(&added.image)).expect("a filter with one more member is valid");
    let found = engine.contains(&added.view().queried(), &vector.view(), 1.0).expect("it can be queried");
    assert!(found, "a member is always found: {params:?}");

    check_alike(&before.view(), &before.view()).expect("a filter hashes like itself");
    let merged = |a: &Owned, b: &Owned| {
        let mut union = a.clone();
        union.merge(b).expect("filters that hash alike can be merged");
        union
    };
    assert!(merged(&before, &before) == before, "a filter merged with itself is itself");
    assert!(merged(&before, &added) == added && merged(&added, &before) == added, "a union is the larger of the two");
}
