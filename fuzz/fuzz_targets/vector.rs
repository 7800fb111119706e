//! Vectors of every type, also as text, for filters of every kind: rejected with an error, or found after they were
//! added.
#![no_main]

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use libfuzzer_sys::fuzz_target;
use lsbf::error::Code;
use lsbf::filter::format::{self, View};
use lsbf::filter::{Engine, Owned};
use lsbf::params::Kind;
use lsbf::rates::Facts;
use pg_lsbf_fuzz::guard::within;
use pg_lsbf_fuzz::promises::{THEORY_BYTES, accept, with_message};
use pg_lsbf_fuzz::vectors::Value;
use std::cell::RefCell;

struct Golden {
    image: Vec<u64>,
    engine: Engine,
}

/// The golden files, in the order of their names.
fn golden() -> Vec<Golden> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../crates/lsbf/tests/golden");
    let mut paths: Vec<_> = std::fs::read_dir(folder).expect(folder).map(|file| file.unwrap().path()).collect();
    paths.sort();
    let read = |path| {
        let payload = STANDARD.decode(std::fs::read_to_string(path).unwrap().trim()).unwrap();
        let image = accept(&payload).unwrap();
        let facts = Facts::of(&image).unwrap();
        let centre = View::new(&image).unwrap().centre().unwrap();
        Golden { engine: Engine::centred(facts.params, facts.dims, centre).unwrap(), image }
    };
    paths.into_iter().map(read).collect()
}

thread_local! { static GOLDEN: RefCell<Vec<Golden>> = RefCell::new(golden()); }

// The first four bytes choose filter, type, theta, and whether the others are repeated up to the length that the filter
// accepts.
fuzz_target!(|data: &[u8]| {
    let [filter, type_, theta, repeat, bytes @ ..] = data else { return };
    GOLDEN.with_borrow_mut(|golden| {
        let count = golden.len();
        let Golden { image, engine } = &mut golden[usize::from(*filter) % count];
        let dims = engine.dims as usize;
        let repeated: Vec<u8> = match repeat % 2 == 1 && !bytes.is_empty() {
            true => bytes.iter().copied().cycle().take(dims.max(1) * element_size(*type_)).collect(),
            false => bytes.to_vec(),
        };
        let value = Value::read(*type_, dims, &repeated);
        // Tables that are computed once, and memory that grows with the vector; other thetas may need a simulation.
        let theory = if engine.params.kind == Kind::Probing && theta % 10 != 0 { THEORY_BYTES } else { 0 };
        let limit = (4 << 20) + 256 * repeated.len() + theory;
        within(limit, "a query", || check(engine, image, &value, *theta));
    });
});

/// Bytes of an element.
fn element_size(type_: u8) -> usize {
    [4, 8, 4, 2, 4, 1, 1, 1, 4, 8, 8][usize::from(type_) % 11]
}

fn check(engine: &mut Engine, image: &[u64], value: &Value, theta: u8) {
    let vector = value.view();
    let theta = [1.0, 0.5, 2.0, 8.0, 0.0, -1.0, f64::NAN, f64::INFINITY, 1e4, 1e-300][usize::from(theta) % 10];
    let votes = engine.votes(&View::valid(image).queried(), &vector, theta).map_err(with_message);
    let found = engine.contains(&View::valid(image).queried(), &vector, theta).map_err(with_message);
    // A query may pass before it computes the table whose sums are too large.
    let is_early = engine.params.kind == Kind::Probing && found.is_ok();
    assert!(votes.is_ok() == found.is_ok() || is_early, "{votes:?} but {found:?}");
    let mut grown = Owned { image: image.to_vec() };
    if let Err(error) = grown.add(engine, &vector) {
        // Members must be short enough for single precision; queries that are not are near none of them.
        let is_long = engine.params.kind == Kind::Lsqf && error.code == Code::Parameter;
        assert!(votes.is_err() || is_long, "can be queried but not added: {error}");
        assert!(grown.image == image, "rejected, but changed");
        return;
    }
    accept(format::payload(&grown.image)).expect("a filter with one more member is valid");
    let thetas: &[f64] = if engine.params.kind == Kind::Probing { &[1.0] } else { &[1.0, 2.0, 4.0] };
    let max_theta = engine.max_theta();
    for theta in thetas.iter().map(|theta| theta.min(max_theta)) {
        assert!(
            engine.contains(&grown.view().queried(), &vector, theta).unwrap(),
            "a member was not found at theta {theta}: {value:?}"
        );
    }
}
