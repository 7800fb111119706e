//! The stored format: version 1 stays readable forever, the same seed gives the same bits, and invalid values are
//! rejected.
//!
//! `BLESS=1 cargo test --test format` rewrites the golden files, which must never be necessary after a release.

mod common;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use common::{Space, Value, all, build, engine, params};
use lsbf::design::{Options, parameters};
use lsbf::filter::change::{Target, union};
use lsbf::filter::owned::Heap;
use lsbf::filter::{Engine, Owned, format};
use lsbf::hash::rng::Stream;
use lsbf::params::{Kind, Metric, Params};
use lsbf::rates::Facts;

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
    // More dimensions than a block of a fast transform.
    let fast = all().into_iter().filter_map(|(kind, space)| {
        let params = params(kind, space, 8, 20061106);
        let params = Params { family: params.family.fast()?, ..params };
        let any = if kind == Kind::Probing { "_any" } else { "" };
        Some(made(format!("{}{any}_{}_hadamard", kind.name(), space.metric.name()), space, params, 150))
    });
    let [l2, bits] = [Metric::L2, Metric::Hamming].map(|metric| Space { metric, symbols: false });
    let directed = [("lsbf_any_l2_centred", l2, true), ("lsbf_any_hamming_directed", bits, false)];
    let directed = directed.map(|(name, space, is_centred)| {
        let centre: Vec<f32> = (0..150).map(|i| if is_centred { i as f32 / 8.0 } else { 0.25 }).collect();
        let options = Options {
            dims: Some(150),
            capacity: Some(8),
            near: Some(space.near()),
            seed: 20061106,
            tables: Some(3),
            votes: Some(2),
            hashes: Some(4),
            polytope: Some(16),
            probes: Some(20),
            bloom_hashes: Some(9),
            bits: Some(3 * 1024),
            centre: Some(centre.clone()),
            length: Some(0.5),
            ..Options::default()
        };
        let params = parameters(Kind::Probing, space.metric, &options).unwrap().0;
        centred(name.into(), space, params, 150, centre)
    });
    // Five members of an ILBF of capacity 8 are not stored as a list, but with capacity 100 they are.
    let roomy = all().into_iter().filter(|(kind, _)| *kind == Kind::Ilbf).map(|(kind, space)| {
        made(format!("ilbf_{}_roomy", space.metric.name()), space, params(kind, space, 100, 20061106), DIMS)
    });
    plain.chain(fast).chain(directed).chain(roomy).collect()
}

fn made(name: String, space: Space, params: Params, dims: usize) -> Golden {
    centred(name, space, params, dims, Vec::new())
}

fn centred(name: String, space: Space, params: Params, dims: usize, centre: Vec<f32>) -> Golden {
    let mut engine = match centre.is_empty() {
        true => engine(&params, dims),
        false => Engine::centred(params.clone(), dims as u32, centre).unwrap(),
    };
    let mut s = Stream::new(99, 0);
    let members: Vec<Value> = (0..5).map(|_| space.random(dims, &mut s)).collect();
    let filter = build(&mut engine, &members);
    Golden { name, params, engine, members, filter }
}

fn accept(payload: &[u8]) -> lsbf::error::Result<Vec<u64>> {
    Owned::read(payload).map(|filter| filter.image)
}

/// A filter with its bits as words, even if it should be a list.
fn as_words(params: &Params, filter: &Owned) -> Vec<u64> {
    let view = format::View::valid(&filter.image);
    let header = format::Header::empty(view.stored().len(), view.header.dims, view.header.has_centre, true);
    let mut image = vec![0; header.image_words(params)];
    format::write_front(&mut image, &header, view.stored(), &view.centre().unwrap());
    union(Target::Own(&mut image), &view, &Heap).unwrap();
    image
}

#[test]
fn golden_files_of_version_1_are_read_and_rebuilt() {
    for mut g in golden() {
        // Both forms of a body: words and, for few members, a list.
        let words = as_words(&g.params, &g.filter);
        let list = (words != g.filter.image).then_some(("v1_list", &g.filter.image));
        for (form, built) in [("v1", &words)].into_iter().chain(list) {
            let path = format!("{}/tests/golden/{form}_{}.txt", env!("CARGO_MANIFEST_DIR"), g.name);
            if std::env::var_os("BLESS").is_some() {
                std::fs::write(&path, STANDARD.encode(format::payload(built)) + "\n").unwrap();
            }
            let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path}: {e}"));
            let golden = STANDARD.decode(text.trim()).unwrap();
            assert!(golden == format::payload(built), "{path}: the rebuilt filter differs from the golden file");
            let stored = accept(&golden).unwrap();
            assert!(
                stored == g.filter.image,
                "{path}: the filter read from the golden file differs from the rebuilt one"
            );
            assert_eq!(format::decode_params(format::params_of(&stored)).unwrap(), g.params);
        }
        for member in &g.members {
            for image in [&words, &g.filter.image] {
                assert!(g.engine.contains(&format::View::valid(image).queried(), &member.view(), 1.0).unwrap());
            }
        }
    }
}

#[test]
fn every_truncation_is_rejected() {
    for g in golden() {
        let payload = format::payload(&g.filter.image);
        for len in 0..payload.len() {
            assert!(accept(&payload[..len]).is_err(), "{} cut to {len}", g.name);
        }
        let longer = [payload, &[0; 8]].concat();
        assert!(accept(&longer).is_err());
    }
}

#[test]
fn every_accepted_value_can_be_used() {
    let mut s = Stream::new(5, 5);
    let (mut accepted, mut rejected) = (0, 0);
    for g in golden() {
        let payload = format::payload(&g.filter.image).to_vec();
        let start = payload.len().min(2000);
        for round in 0..2500 {
            let mut changed = payload.clone();
            let at = if round < start { round } else { s.below(start as u64) as usize };
            changed[at] = s.word() as u8;
            let Ok(image) = accept(&changed) else {
                rejected += 1;
                continue;
            };
            accepted += 1;
            let facts = Facts::of(&image).unwrap();
            let centre = format::View::new(&image).unwrap().centre().unwrap();
            let Ok(mut engine) = Engine::centred(facts.params.clone(), facts.dims, centre) else { continue };
            let theta = if facts.params.kind == Kind::Probing && round % 64 != 0 { 1.0 } else { 3.0 };
            for member in &g.members {
                let _ = engine.contains(&format::View::valid(&image).queried(), &member.view(), 1.0);
                let _ = engine.votes(&format::View::valid(&image).queried(), &member.view(), theta);
            }
            // Rates of filters with probes are simulated, which is slow: check only some of them.
            let is_quick = facts.params.kind != Kind::Probing || round % 64 == 0;
            if facts.ones > 0 && facts.params.kind != Kind::Ilbf && is_quick {
                let rate = lsbf::rates::acceptance(&facts, facts.params.near, 1.0);
                assert!((0.0..=1.0).contains(&rate), "{:?}: {rate}", facts.params);
            }
            let mut merged = Owned { image: image.clone() };
            merged.merge(&Owned { image: image.clone() }).unwrap();
            assert_eq!(merged.image, image);
        }
    }
    assert!(accepted > 100 && rejected > 10_000, "{accepted} accepted, {rejected} rejected");
}

#[test]
fn wrong_counters_and_stray_bits_are_rejected() {
    for g in golden() {
        let rejected = |image: &[u64], change: &dyn Fn(&mut Vec<u8>), why: &str| {
            let mut payload = format::payload(image).to_vec();
            change(&mut payload);
            let error = accept(&payload).unwrap_err().message;
            assert!(error.contains(why), "{}: {error:?} does not say {why:?}", g.name);
        };
        let (words, list) = (as_words(&g.params, &g.filter), &g.filter.image);
        for image in [&words, list] {
            rejected(image, &|p| p[0] = b'X', "does not begin with");
            rejected(image, &|p| p[4] = 2, "version 2 is not supported");
            rejected(image, &|p| p[5] ^= 2, "centre");
            rejected(image, &|p| p[5] |= 8, "invalid flags");
            rejected(image, &|p| p[5] ^= 4, "invalid flags");
            rejected(image, &|p| p[8] = 255, "parameters");
            rejected(image, &|p| p[36] = 9, "parameters");
        }
        rejected(&words, &|p| p[20] ^= 1, "header counts");
        if !format::header_of(list).is_sparse {
            continue;
        }
        // A list must have the length that the header implies, be sorted, and be within the filter.
        rejected(list, &|p| p[20] = p[20].wrapping_add(2), "its parameters require");
        rejected(list, &|p| p[16] += 8, "its parameters require");
        let view = format::View::valid(list);
        let (registers, body) = (view.header.words() * 8 - 4, view.header.body_start() * 8 - 4);
        rejected(list, &|p| p.copy_within(body..body + 4, body + 4), "not in order");
        rejected(list, &|p| p[body..body + 4].fill(255), "not in order or beyond the end");
        rejected(list, &|p| p.copy_within(registers..registers + 2, registers + 2), "sketch");
        rejected(list, &|p| p[registers] |= 63, "sketch");
        if g.params.kind == Kind::Ilbf {
            rejected(list, &|p| p[28] ^= 1, "load of its Bloom filters");
        }
    }
}

#[test]
fn the_padding_of_lists_must_be_zero() {
    let mut padded = 0;
    for g in golden() {
        let view = format::View::valid(&g.filter.image);
        if !view.header.is_sparse {
            continue;
        }
        let last = [
            (view.header.words() * 8 + view.header.registers as usize * 2, view.header.registers % 4),
            (view.header.body_start() * 8 + view.header.ones as usize * 4, (view.header.ones % 2) as u32),
        ];
        for (end, used) in last {
            if used == 0 {
                continue;
            }
            let mut payload = format::payload(&g.filter.image).to_vec();
            payload[end - 4] = 1;
            assert!(accept(&payload).unwrap_err().message.contains("padding is not zero"), "{}", g.name);
            padded += 1;
        }
    }
    assert!(padded > 5, "only {padded} lists have padding");
}

/// Stored filters may be corrupted after they were validated. Merging checks what it relies on.
#[test]
fn a_corrupt_image_is_rejected_before_it_is_merged() {
    for g in golden() {
        for image in [as_words(&g.params, &g.filter), g.filter.image.clone()] {
            let view = format::View::valid(&image);
            assert!(view.check(&g.params).is_ok());
            let corrupted = |change: &dyn Fn(&mut [u8])| {
                let mut image = image.clone();
                change(format::bytes_of_mut(&mut image));
                format::View::new(&image).and_then(|view| view.check(&g.params)).unwrap_err().message
            };
            assert!(corrupted(&|bytes| bytes[9] ^= 2).contains("length"), "{}: extra or missing centre", g.name);
            if view.header.is_sparse {
                let body = view.header.body_start() * 8;
                assert!(corrupted(&|bytes| bytes[30] = 1).contains("length"), "{}: more bits", g.name);
                assert!(corrupted(&|bytes| bytes[23] = 255).contains("length"), "{}: more registers", g.name);
                assert!(
                    corrupted(&|bytes| bytes[body..body + 4].fill(255)).contains("beyond"),
                    "{}: bit beyond the end",
                    g.name
                );
            }
        }
    }
}

/// The form of a filter depends only on its members, and answers do not depend on the form.
#[test]
fn lists_and_words_give_the_same_answers() {
    for (kind, space) in all() {
        let params = params(kind, space, 400, 7);
        let mut engine = engine(&params, DIMS);
        let mut s = Stream::new(11, 0);
        let members: Vec<Value> = (0..400).map(|_| space.random(DIMS, &mut s)).collect();
        let queries: Vec<Value> = (0..20).map(|_| space.random(DIMS, &mut s)).chain(members[..20].to_vec()).collect();
        let (mut filter, mut last) = (Owned::new(&params, DIMS as u32), true);
        let mut parts = [Owned::new(&params, DIMS as u32), Owned::new(&params, DIMS as u32)];
        let (mut lists, mut words) = (0, 0);
        for (n, member) in members.iter().enumerate() {
            filter.add(&mut engine, &member.view()).unwrap();
            parts[n % 2].add(&mut engine, &member.view()).unwrap();
            let is_list = format::header_of(&filter.image).is_sparse;
            assert!(last || !is_list, "words were converted back to a list");
            last = is_list;
            if is_list {
                lists += 1
            } else {
                words += 1
            }
            assert!(accept(format::payload(&filter.image)).unwrap() == filter.image);
            if n % 23 != 0 && n != lists {
                continue;
            }
            let dense = as_words(&params, &filter);
            assert_eq!(accept(format::payload(&dense)).unwrap(), filter.image, "reading words gives the same filter");
            let (a, b) = (Facts::of(&filter.image).unwrap(), Facts::of(&dense).unwrap());
            assert_eq!((a.ones, a.squares, a.members, a.fill), (b.ones, b.squares, b.members, b.fill));
            assert_eq!(a.verify_fill, b.verify_fill);
            for query in &queries {
                for theta in [1.0, 2.0] {
                    let answer = |engine: &mut Engine, image: &[u64]| {
                        let view = format::View::valid(image);
                        let member = engine.contains(&view.queried(), &query.view(), theta).unwrap();
                        (member, engine.votes(&view.queried(), &query.view(), theta).unwrap())
                    };
                    assert_eq!(answer(&mut engine, &filter.image), answer(&mut engine, &dense));
                }
                if kind == Kind::Ilbf {
                    let distance = |engine: &mut Engine, image: &[u64]| {
                        engine.distance(&format::View::valid(image).queried(), &query.view()).unwrap()
                    };
                    assert_eq!(distance(&mut engine, &filter.image), distance(&mut engine, &dense));
                }
            }
            for (ours, theirs) in [(0, 1), (1, 0)] {
                let mut union = parts[ours].clone();
                union.merge(&parts[theirs]).unwrap();
                assert!(union == filter, "merging the parts gives the same filter");
                union.merge(&parts[ours]).unwrap();
                assert!(union == filter, "merging again changes nothing");
            }
        }
        assert!(lists > 10 && words > 10, "{}: {lists} lists, {words} filters with words", params.kind.name());
    }
}

#[test]
fn the_length_is_checked_before_memory_is_allocated() {
    let options = lsbf::design::Options { capacity: Some(1_000_000), near: Some(0.01), ..Default::default() };
    let (params, _) = lsbf::design::parameters(Kind::Dsbf, lsbf::params::Metric::Hamming, &options).unwrap();
    let mut empty = format::payload(&Owned::new(&params, 64).image).to_vec();
    empty[5] |= 1;
    let error = accept(&empty).unwrap_err().message;
    assert!(error.contains("its parameters require"), "{error}");
}
