//! Arguments of the constructors: rejected with an error, or the result is a valid filter.
#![no_main]

use libfuzzer_sys::fuzz_target;
use lsbf::design::{Options, parameters};
use lsbf::filter::Owned;
use lsbf::filter::format;
use lsbf::hash::rng::Stream;
use lsbf::params::{Kind, Metric};
use pg_lsbf_fuzz::guard::within;
use pg_lsbf_fuzz::mutate::{number, real};
use pg_lsbf_fuzz::promises::{accept, check, with_message};

/// Bytes that the choice of parameters may use, whatever the arguments are.
const DESIGN_BYTES: usize = 64 << 20;

// One byte per argument: 0 omits it, others choose its value. Those of quotient filters are at the end.
fuzz_target!(|data: &[u8]| {
    let mut bytes = data.iter().copied();
    let mut next = || bytes.next().unwrap_or(0);
    let (kind, metric) = (Kind::ALL[usize::from(next()) % 5], Metric::ALL[usize::from(next()) % 5]);
    let mut whole = |near: u64| {
        let byte = next();
        (byte != 0).then(|| number(near, &mut Stream::new(byte.into(), near)) as i64)
    };
    let mut options = Options {
        dims: whole(24),
        capacity: whole(1000),
        tables: whole(8),
        hashes: whole(4),
        bits: whole(4096),
        verify_bits: whole(512),
        bloom_hashes: whole(6),
        overflow: whole(1),
        blooms: whole(100),
        slots: whole(64),
        votes: whole(3),
        probes: whole(20),
        blocks: whole(4),
        ..Options::default()
    };
    options.seed = whole(1).unwrap_or(0);
    let mut fraction = |near: f64| {
        let byte = next();
        (byte != 0).then(|| real(near, &mut Stream::new(byte.into(), 1)))
    };
    (options.near, options.far, options.width, options.length) =
        (fraction(0.1), fraction(0.4), fraction(1.0), fraction(1.0));
    let flags = next();
    let flag = |at: u8| (flags >> at & 1 == 1).then_some(flags >> (at + 1) & 1 == 1);
    (options.symbols, options.fast, options.robust, options.aligned) = (flags & 128 != 0, flag(0), flag(2), flag(4));
    let mut more = data.iter().rev().copied();
    let mut last = || more.next().unwrap_or(0);
    let cells = last();
    options.cells =
        (cells != 0).then(|| number([14, 18, 22][usize::from(cells) % 3], &mut Stream::new(cells.into(), 2)) as i64);
    let mut fraction = |near: f64| {
        let byte = last();
        (byte != 0).then(|| real(near, &mut Stream::new(byte.into(), 3)))
    };
    (options.max_theta, options.fnr) = (fraction(2.0), fraction(0.01));
    let chosen =
        within(DESIGN_BYTES, "a choice of parameters", || parameters(kind, metric, &options)).map_err(with_message);
    let Ok((params, dims)) = chosen else { return };
    params.validate().expect("chosen parameters are valid");
    let filter = Owned::new(&params, dims);
    accept(format::payload(&filter.image)).expect("a new filter is valid");
    check(&filter.image, u64::from(flags));
});
