//! The stored format: version 1 stays readable forever, the same seed gives the same bits, and invalid values are
//! rejected.
//!
//! `BLESS=1 cargo test --test format` rewrites the golden files, which must never be necessary after a release.

mod common;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use common::{Space, Value, all, build, engine, of_bits, params};
use lsbf::design::{Options, parameters};
use lsbf::filter::bits::Body;
use lsbf::filter::change::{Target, union};
use lsbf::filter::lsqf::body::{Parts, write};
use lsbf::filter::lsqf::change::members;
use lsbf::filter::lsqf::fingerprint::Fingerprint;
use lsbf::filter::owned::Heap;
use lsbf::filter::{Engine, Owned, format};
use lsbf::hash::rng::Stream;
use lsbf::params::{Kind, Layout, Metric, Params};
use lsbf::rates::Facts;
use lsbf::vector::Vector;

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
        Some(made(format!("{}_{}_hadamard", kind.name(), space.metric.name()), space, params, 150))
    });
    let blocks = [(false, 4, 1, 8), (false, 5, 2, 10), (true, 6, 3, 20)].map(|(symbols, blocks, hashes, tables)| {
        let space = Space { metric: Metric::Hamming, symbols };
        let options = Options {
            symbols,
            dims: Some(150),
            capacity: Some(8),
            near: Some(0.02),
            seed: 20061106,
            blocks: Some(blocks),
            hashes: Some(hashes),
            tables: Some(tables),
            votes: Some(2),
            bloom_hashes: Some(9),
            bits: Some(tables * 512),
            ..Options::default()
        };
        let params = parameters(Kind::Probing, space.metric, &options).unwrap().0;
        let alphabet = if symbols { "_symbols" } else { "" };
        made(format!("lsbf_any_hamming{alphabet}_blocks{blocks}"), space, params, 150)
    });
    // Five members of an ILBF of capacity 8 are not stored as a list, but with capacity 100 they are.
    let roomy = all().into_iter().filter(|(kind, _)| *kind == Kind::Ilbf).map(|(kind, space)| {
        made(format!("ilbf_{}_roomy", space.metric.name()), space, params(kind, space, 100, 20061106), DIMS)
    });
    plain.chain(fast).chain(blocks).chain(roomy).chain(quotients()).collect()
}

/// Quotient filters with every kind of cell, code and directory.
fn quotients() -> impl Iterator<Item = Golden> {
    let [l2, cosine] = [Metric::L2, Metric::Cosine].map(|metric| Space { metric, symbols: false });
    let filters = [
        // Name, dimensions, members, bits, cells, the largest theta, and whether there is a centre.
        ("lsqf_l2_grid", l2, 3, 100, 24, 14, 1.25, true),
        ("lsqf_l2_one_dimension", l2, 1, 65, 8, 18, 16.0, false),
        ("lsqf_cosine_grid", cosine, 16, 20, 52, 22, 3.0, false),
        ("lsqf_l2_matrix", l2, 64, 64, 256, 14, 1.25, false),
        ("lsqf_l2_transform", l2, 150, 80, 100, 18, 1.25, true),
        ("lsqf_cosine_transform", cosine, 384, 70, 64, 22, 2.5, true),
        ("lsqf_l2_many", l2, 17, 4097, 8, 14, 1.0, false),
    ];
    filters.into_iter().map(|(name, space, dims, count, bits, cells, max_theta, is_centred)| {
        let centre: Option<Vec<f32>> = is_centred.then(|| (0..dims).map(|i| i as f32 / 8.0).collect());
        let options = Options {
            dims: Some(dims as i64),
            near: Some(space.near()),
            seed: 20061106,
            bits: Some(bits),
            cells: Some(cells),
            max_theta: Some(max_theta),
            fnr: Some(0.02),
            length: Some(1000.0),
            centre: centre.clone(),
            ..Options::default()
        };
        let params = parameters(Kind::Lsqf, space.metric, &options).unwrap().0;
        filled(name.into(), space, params, dims, centre.unwrap_or_default(), count)
    })
}

fn made(name: String, space: Space, params: Params, dims: usize) -> Golden {
    centred(name, space, params, dims, Vec::new())
}

fn centred(name: String, space: Space, params: Params, dims: usize, centre: Vec<f32>) -> Golden {
    filled(name, space, params, dims, centre, 5)
}

fn filled(name: String, space: Space, params: Params, dims: usize, centre: Vec<f32>, count: usize) -> Golden {
    let mut engine = match centre.is_empty() {
        true => engine(&params, dims),
        false => Engine::centred(params.clone(), dims as u32, centre).unwrap(),
    };
    let mut s = Stream::new(99, 0);
    let members: Vec<Value> = (0..count).map(|_| space.random(dims, &mut s)).collect();
    let filter = build(&mut engine, &members);
    Golden { name, params, engine, members, filter }
}

fn accept(payload: &[u8]) -> lsbf::error::Result<Vec<u64>> {
    Owned::read(payload).map(|filter| filter.image)
}

/// A filter with its bits as words, even if it should be a list.
fn as_words(params: &Params, filter: &Owned) -> Vec<u64> {
    let view = format::View::valid(&filter.image);
    if view.header.is_quotient {
        return filter.image.clone();
    }
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
    for g in golden().into_iter().filter(|g| g.params.kind != Kind::Lsqf) {
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
            rejected(image, &|p| p[5] ^= 8, "invalid flags");
            rejected(image, &|p| p[5] ^= 16, "invalid flags");
            rejected(image, &|p| p[6] = 1, "invalid flags");
            rejected(image, &|p| p[5] ^= 4, "invalid flags");
            rejected(image, &|p| p[8] = 255, "parameters");
            rejected(image, &|p| p[36] = 9, "parameters");
        }
        if g.params.kind == Kind::Lsqf {
            rejected_members(&g);
            continue;
        }
        rejected(&words, &|p| p[20] ^= 1, "header counts");
        if !format::header_of(list).is_sparse {
            continue;
        }
        // A list must have the length that the header implies, be sorted, and be within the filter.
        rejected(list, &|p| p[20] = p[20].wrapping_add(24), "");
        rejected(list, &|p| p[16] += 8, "");
        let view = format::View::valid(list);
        let (registers, body) = (view.header.words() * 8 - 4, view.header.body_start() * 8 - 4);
        rejected(list, &|p| p[body] ^= 1, "in order");
        rejected(list, &|p| p[body + 4] ^= 1, "in order");
        rejected(list, &|p| p.copy_within(registers..registers + 2, registers + 2), "sketch");
        rejected(list, &|p| p[registers] |= 63, "sketch");
        if g.params.kind == Kind::Ilbf {
            rejected(list, &|p| p[28] ^= 1, "load of its Bloom filters");
        }
    }
}

/// Members, directory, counters and padding that differ from what would be written.
fn rejected_members(g: &Golden) {
    let image = &g.filter.image;
    let header = format::header_of(image);
    let layout = Layout::of(&g.params, header.dims).unwrap();
    let parts = Parts::new(&layout, header.ones);
    let rejected = |change: &dyn Fn(&mut Vec<u64>), why: &str| {
        let mut image = image.clone();
        change(&mut image);
        let error = accept(format::payload(&image)).unwrap_err().message;
        assert!(error.contains(why), "{}: {error:?} does not say {why:?}", g.name);
    };
    let body = header.body_start();
    let flip = |at: u64| move |image: &mut Vec<u64>| image[body + (at / 64) as usize] ^= (1u64 << (at % 64)).to_le();
    let (first, end, last) = (parts.entry(0), parts.entry(header.ones), image.len() as u64 - body as u64);
    rejected(&|image| image[3] = 0, "");
    rejected(&|image| image[3] = u64::MAX.to_le(), "invalid flags");
    rejected(&|image| image[3] = (header.ones + 64).to_le(), "its parameters require");
    rejected(&|image| image[4] = 1u64.to_le(), "its counters are wrong");
    rejected(&|image| image[2] |= (1u64 << 32).to_le(), "invalid flags");
    rejected(&|image| image.truncate(body), "its parameters require");
    rejected(&|image| image.push(0), "its parameters require");
    rejected(&flip(last * 64 - 1), "padding is not zero");
    rejected(&flip((last - 1) * 64), "padding is not zero");
    if end < (last - 1) * 64 {
        rejected(&flip(end), "padding is not zero");
    }
    // The second member before the first, which differs.
    let ordered: Vec<Fingerprint> = members(&layout, &format::View::valid(image)).collect();
    assert!(ordered[0] < ordered[header.ones as usize - 1], "{}", g.name);
    if parts.prefix_bits == 0 {
        let swapped = [&ordered[1..], &ordered[..1]].concat();
        let mut body = vec![0; parts.words() as usize];
        write(&layout, &parts, &mut body, swapped.into_iter());
        rejected(
            &|image| image.splice(image.len() - body.len().., body.iter().copied()).for_each(drop),
            "not in order",
        );
        return;
    }
    // Wrong bases, ends and crowds. A changed end can give another filter, whose members it must be written for.
    for byte in 0..first / 8 {
        for bit in [0, 7] {
            let mut image = image.clone();
            flip(8 * byte + bit)(&mut image);
            if let Ok(image) = accept(format::payload(&image)) {
                let mut expected = vec![0; parts.words() as usize];
                write(&layout, &parts, &mut expected, members(&layout, &format::View::valid(&image)));
                assert!(image[body..] == expected, "{}: byte {byte} is wrong", g.name);
            }
        }
    }
}

/// A small filter with any one byte changed is rejected, or what was read is exactly what would be written for its members.
#[test]
fn every_changed_byte_of_a_quotient_filter_is_rejected_or_gives_another_valid_one() {
    let mut s = Stream::new(13, 0);
    let (mut accepted, mut rejected) = (0, 0);
    for mut g in golden().into_iter().filter(|g| g.params.kind == Kind::Lsqf && g.filter.image.len() < 1000) {
        let payload = format::payload(&g.filter.image).to_vec();
        for at in 0..payload.len() {
            for change in [1, 128, 1 + s.below(255) as u8] {
                let mut changed = payload.clone();
                changed[at] ^= change;
                let Ok(image) = accept(&changed) else {
                    rejected += 1;
                    continue;
                };
                accepted += 1;
                assert!(format::payload(&image) == changed, "{}: byte {at} was not kept", g.name);
                if format::params_of(&image) == g.engine.stored && format::header_of(&image).dims == g.engine.dims {
                    use_quotient(&g.name, &mut g.engine, &g.members[0].view(), &Owned { image });
                } else if at % 8 == 0 {
                    // Other parameters need other hash functions, which take milliseconds to draw.
                    let view = format::View::valid(&image);
                    let params = format::decode_params(view.stored()).unwrap();
                    let mut engine = Engine::centred(params, view.header.dims, view.centre().unwrap()).unwrap();
                    use_quotient(&g.name, &mut engine, &g.members[0].view(), &Owned { image });
                }
            }
        }
    }
    assert!(accepted > 3000 && rejected > 1000, "{accepted} accepted, {rejected} rejected");
}

fn use_quotient(name: &str, engine: &mut Engine, vector: &Vector, filter: &Owned) {
    let layout = Layout::of(&engine.params, engine.dims).unwrap();
    let size = Fingerprint::record_bytes(&layout);
    let view = filter.view();
    let records: Vec<u8> = members(&layout, &view).flat_map(|member| member.record()[..size].to_vec()).collect();
    let written = engine.write_records(&records, |words| vec![0; words]).unwrap();
    assert!(written == filter.image, "{name}: its members would be written differently");
    let Ok(found) = filter.contains(engine, vector, 1.0) else {
        return assert!(
            engine.params.input(vector).unwrap().dims != engine.dims,
            "{name}: a valid filter was not queried"
        );
    };
    assert_eq!(found, filter.votes(engine, vector, 1.0).unwrap() > 0);
    filter.distance(engine, vector).unwrap();
    let mut changed = filter.clone();
    changed.add(engine, vector).unwrap();
    assert!(changed.contains(engine, vector, 1.0).unwrap());
    assert!(accept(format::payload(&changed.image)).unwrap() == changed.image);
    assert!(changed.remove(engine, vector).unwrap() && changed == *filter);
    changed.merge(filter).unwrap();
    assert_eq!(changed.view().header.ones, 2 * view.header.ones);
    assert!(accept(format::payload(&changed.image)).is_ok());
}

/// The body of a list with any one byte changed is rejected, or what was read is exactly what would be written for its bits.
#[test]
fn every_changed_byte_of_a_list_is_rejected_or_gives_another_valid_one() {
    let (mut accepted, mut rejected, mut padded) = (0, 0, 0);
    for g in golden() {
        let view = format::View::valid(&g.filter.image);
        if !view.header.is_sparse {
            continue;
        }
        let payload = format::payload(&g.filter.image);
        let registers = view.header.words() * 8 + view.header.registers as usize * 2;
        for at in (registers..view.header.body_start() * 8).chain(view.header.body_start() * 8..payload.len() + 4) {
            for change in [1, 4, 128, 255] {
                let mut changed = payload.to_vec();
                changed[at - 4] ^= change;
                let Ok(image) = accept(&changed) else {
                    rejected += 1;
                    padded += usize::from(at < view.header.body_start() * 8);
                    continue;
                };
                accepted += 1;
                assert!(format::payload(&image) == changed, "{}: byte {at} was not kept", g.name);
                let list = format::View::valid(&image).list();
                assert!(list.positions().count() as u64 == view.header.ones && list.positions().is_sorted());
                let mut words = vec![0u64; g.params.body_words() as usize];
                list.positions().for_each(|at| words[(at / 64) as usize] |= 1 << (at % 64));
                assert_eq!(words.iter().map(|word| u64::from(word.count_ones())).sum::<u64>(), view.header.ones);
                assert!((0..words.len()).all(|at| list.word(at) == words[at]));
            }
        }
    }
    assert!(
        accepted > 300 && rejected > 1000 && padded > 20,
        "{accepted} accepted, {rejected} rejected, {padded} padding"
    );
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
                for change in [1, 2, 4, 64] {
                    let message = corrupted(&|bytes| bytes[body..body + 4].fill(change));
                    assert!(message.contains("beyond the end"), "{}: {message}", g.name);
                }
            }
        }
    }
}

/// The form of a filter depends only on its members, and answers do not depend on the form.
#[test]
fn lists_and_words_give_the_same_answers() {
    for (kind, space) in of_bits() {
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
