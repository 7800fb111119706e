//! The format: version 1 stays readable forever, the same seed gives the same bits, and nothing else is let in.
//!
//! `BLESS=1 cargo test --test format` writes the golden files anew; after a release that must never be needed.

mod common;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use common::{Space, Value, all, build, engine, params};
use pg_lsbf::filter::params::{Kind, Params};
use pg_lsbf::filter::{Engine, Facts, Owned, header};
use pg_lsbf::hash::rng::Stream;

const DIMS: usize = 24;

struct Golden {
    name: String,
    params: Params,
    engine: Engine,
    members: Vec<Value>,
    filter: Owned,
}

fn golden() -> Vec<Golden> {
    let plain = all().into_iter().map(|(kind, space)| {
        let alphabet = if space.symbols { "_symbols" } else { "" };
        let any = if kind == Kind::Probing { "_any" } else { "" };
        let name = format!("{}{any}_{}{alphabet}", kind.name(), space.metric.name());
        made(name, space, params(kind, space, 8, 20061106), DIMS)
    });
    // More dimensions than a block of a fast transform has.
    let fast = all().into_iter().filter_map(|(kind, space)| {
        let params = params(kind, space, 8, 20061106);
        let params = Params { family: params.family.fast()?, ..params };
        let any = if kind == Kind::Probing { "_any" } else { "" };
        Some(made(format!("{}{any}_{}_hadamard", kind.name(), space.metric.name()), space, params, 150))
    });
    plain.chain(fast).collect()
}

fn made(name: String, space: Space, params: Params, dims: usize) -> Golden {
    let mut engine = engine(&params, dims);
    let mut s = Stream::new(99, 0);
    let members: Vec<Value> = (0..5).map(|_| space.random(dims, &mut s)).collect();
    let filter = build(&mut engine, &members);
    Golden { name, params, engine, members, filter }
}

/// Brings a payload into an image, as every input function does.
fn accept(payload: &[u8]) -> pg_lsbf::error::Result<Vec<u64>> {
    let words = header::check_length(payload)?;
    let mut bytes = vec![0; header::RESERVED];
    bytes.extend_from_slice(payload);
    let image: Vec<u64> = bytes.as_chunks::<8>().0.iter().map(|b| u64::from_ne_bytes(*b)).collect();
    assert_eq!(image.len(), words);
    header::check_image(&image)?;
    Ok(image)
}

#[test]
fn golden_files_of_version_1_are_read_and_rebuilt() {
    for mut g in golden() {
        let path = format!("{}/tests/golden/v1_{}.txt", env!("CARGO_MANIFEST_DIR"), g.name);
        if std::env::var_os("BLESS").is_some() {
            std::fs::write(&path, STANDARD.encode(header::payload(&g.filter.image)) + "\n").unwrap();
        }
        let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path}: {e}"));
        let stored = accept(&STANDARD.decode(text.trim()).unwrap()).unwrap();
        assert!(stored == g.filter.image, "{}: built anew, the filter differs from the golden file", g.name);
        for member in &g.members {
            assert!(g.engine.member(&stored, &member.view(), 1.0).unwrap());
        }
        assert_eq!(header::decode_params(header::params_of(&stored)).unwrap(), g.params);
    }
}

#[test]
fn every_truncation_is_refused() {
    for g in golden() {
        let payload = header::payload(&g.filter.image);
        for len in 0..payload.len() {
            assert!(accept(&payload[..len]).is_err(), "{} cut to {len}", g.name);
        }
        let longer = [payload, &[0; 8]].concat();
        assert!(accept(&longer).is_err());
    }
}

#[test]
fn whatever_is_accepted_can_be_used() {
    let mut s = Stream::new(5, 5);
    let (mut accepted, mut refused) = (0, 0);
    for g in golden() {
        let payload = header::payload(&g.filter.image).to_vec();
        let start = payload.len().min(2000);
        for round in 0..4000 {
            let mut changed = payload.clone();
            let at = if round < start { round } else { s.below(start as u64) as usize };
            changed[at] = s.word() as u8;
            let Ok(image) = accept(&changed) else {
                refused += 1;
                continue;
            };
            accepted += 1;
            let facts = Facts::of(&image).unwrap();
            let Ok(mut engine) = Engine::new(facts.params.clone(), facts.dims) else { continue };
            for member in &g.members {
                let _ = engine.member(&image, &member.view(), 1.0);
                let _ = engine.votes(&image, &member.view(), 3.0);
            }
            if facts.ones > 0 && facts.params.kind != Kind::Ilbf {
                let rate = pg_lsbf::theory::acceptance(&facts, facts.params.near, 1.0);
                assert!((0.0..=1.0).contains(&rate), "{:?}: {rate}", facts.params);
            }
            let mut merged = Owned { image: image.clone() };
            merged.merge(&facts.params, &Owned { image: image.clone() });
            assert_eq!(merged.image, image);
        }
    }
    assert!(accepted > 100 && refused > 10_000, "{accepted} accepted, {refused} refused");
}

#[test]
fn wrong_counters_and_stray_bits_are_refused() {
    for g in golden() {
        let refused = |change: &dyn Fn(&mut Vec<u8>), why: &str| {
            let mut payload = header::payload(&g.filter.image).to_vec();
            change(&mut payload);
            let error = accept(&payload).unwrap_err().message;
            assert!(error.contains(why), "{}: {error:?} does not say {why:?}", g.name);
        };
        refused(&|p| p[0] = b'X', "does not begin with");
        refused(&|p| p[4] = 2, "version 2 is unknown");
        refused(&|p| p[5] |= 2, "centre");
        refused(&|p| p[5] |= 4, "unknown flags");
        refused(&|p| p[20] ^= 1, "bits are said to be set");
        refused(&|p| p[8] = 255, "parameters");
        refused(&|p| p[36] = 9, "parameters");
    }
}

#[test]
fn a_small_value_never_claims_a_large_one() {
    let spec = pg_lsbf::theory::design::Spec { capacity: Some(1_000_000), near: Some(0.01), ..Default::default() };
    let (params, _) =
        pg_lsbf::theory::design::parameters(Kind::Dsbf, pg_lsbf::filter::params::Metric::Hamming, &spec).unwrap();
    let mut empty = header::payload(&Owned::new(&params, 64).image).to_vec();
    empty[5] |= 1;
    let error = accept(&empty).unwrap_err().message;
    assert!(error.contains("its parameters call for"), "{error}");
}
