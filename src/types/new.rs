//! The constructors dsbf_new, lsbf_new, ilbf_new and lsqf_new.

use crate::boundary::call::{Call, pg_function};
use crate::boundary::image;
use crate::boundary::signature;
use crate::vector::arrays::float4s;
use lsbf::design::{Options, parameters};
use lsbf::error::{Error, Result};
use lsbf::filter::format;
use lsbf::params::{Kind, Metric, Params};
use lsbf::vector::Vector;
use pgrx::pg_sys::Datum;
use std::cell::RefCell;

pub fn metric(call: &Call, n: usize) -> Result<Metric> {
    Metric::parse(call.text(n).ok_or_else(|| Error::parameter("metric must not be null"))?)
}

pub fn symbols(call: &Call, n: usize) -> Result<bool> {
    match call.text(n) {
        None | Some("bits") => Ok(false),
        Some("symbols") => Ok(true),
        Some(other) => Err(Error::parameter(format!("unrecognized alphabet \"{other}\""))
            .with_hint("Valid alphabets are bits and symbols.")),
    }
}

fn fast(call: &Call, n: usize) -> Result<Option<bool>> {
    match call.text(n) {
        None => Ok(None),
        Some("dense") => Ok(Some(false)),
        Some("hadamard") => Ok(Some(true)),
        Some(other) => Err(Error::parameter(format!("unrecognized transform \"{other}\""))
            .with_hint("Valid transforms are dense and hadamard.")),
    }
}

/// The kind of LSBF: a query passes if all tables match, or if any table does.
fn matching(call: &Call, n: usize) -> Result<Kind> {
    match call.text(n) {
        None | Some("all") => Ok(Kind::Lsbf),
        Some("any") => Ok(Kind::Probing),
        Some(other) => {
            Err(Error::parameter(format!("unrecognized match \"{other}\"")).with_hint("Valid values are all and any."))
        }
    }
}

/// The centre of the data; `None` if the argument is NULL.
pub fn centre(call: &Call, n: usize) -> Result<Option<Vec<f32>>> {
    if call.is_null(n) {
        return Ok(None);
    }
    match float4s(call, n)? {
        Vector::F32(centre) if !centre.is_empty() => Ok(Some(centre.to_vec())),
        _ => Err(Error::parameter("centre must not be empty")),
    }
}

/// Arguments of a constructor with the parameters and dims derived from them. The most recent ones are cached: if the planner
/// does not replace a call by a constant, it is executed for every row, and deriving parameters takes milliseconds.
type Derived = (Kind, Metric, Options, Params, u32);
const MAX_DERIVED: usize = 8;
thread_local! {
    static DERIVED: RefCell<Vec<Derived>> = const { RefCell::new(Vec::new()) };
}

/// An empty filter with these parameters.
pub fn prototype(params: &Params, dims: u32, centre: &[f32]) -> Datum {
    image::datum(image::empty(params, &format::encode_params(params), dims, centre))
}

/// Frees the derived parameters.
pub fn release() {
    DERIVED.with(|derived| {
        if let Ok(mut derived) = derived.try_borrow_mut() {
            *derived = Vec::new();
        }
    });
}

fn build(kind: Kind, metric: Metric, options: Options) -> Result<Datum> {
    let found = DERIVED
        .with_borrow(|derived| derived.iter().position(|(k, m, s, ..)| *k == kind && *m == metric && *s == options));
    if found.is_none() {
        // Not while `DERIVED` is borrowed: this may be interrupted.
        let (params, dims) = parameters(kind, metric, &options)?;
        DERIVED.with_borrow_mut(|derived| {
            derived.truncate(MAX_DERIVED - 1);
            derived.insert(0, (kind, metric, options, params, dims));
        });
    }
    DERIVED.with_borrow(|derived| {
        let (.., options, params, dims) = &derived[found.unwrap_or(0)];
        Ok(prototype(params, *dims, options.centre.as_deref().unwrap_or_default()))
    })
}

pg_function!("dsbf_new" -> signature::LSBF, |call| {
    let options = Options {
        dims: call.int4(0),
        capacity: call.int8(1),
        near: call.float8(2),
        far: call.float8(3),
        tables: call.int4(4),
        seed: call.int8(5).unwrap_or(0),
        hashes: call.int4(7),
        width: call.float8(8),
        bits: call.int8(9),
        votes: call.int4(10),
        symbols: symbols(call, 11)?,
        fast: fast(call, 12)?,
        ..Options::default()
    };
    build(Kind::Dsbf, metric(call, 6)?, options)
});

/// Rejects options that apply only if any table may match.
fn check_all(options: &Options) -> Result<()> {
    let given = [("probes", options.probes.is_some()), ("blocks", options.blocks.is_some())];
    match given.into_iter().find(|(_, is_given)| *is_given) {
        None => Ok(()),
        Some((name, _)) => Err(Error::parameter(format!("{name} does not apply to match => 'all'"))
            .with_hint(format!("Use match => 'any', or omit {name}."))),
    }
}

pg_function!("lsbf_new" -> signature::LSBF, |call| {
    let options = Options {
        dims: call.int4(0),
        capacity: call.int8(1),
        near: call.float8(2),
        far: call.float8(3),
        tables: call.int4(4),
        seed: call.int8(5).unwrap_or(0),
        hashes: call.int4(7),
        width: call.float8(8),
        bits: call.int8(9),
        verify_bits: call.int8(10),
        bloom_hashes: call.int4(11),
        overflow: call.int4(12),
        robust: call.boolean(13),
        symbols: symbols(call, 14)?,
        fast: fast(call, 15)?,
        probes: call.int4(17),
        votes: call.int4(18),
        blocks: call.int4(19),
        ..Options::default()
    };
    let kind = matching(call, 16)?;
    if kind == Kind::Lsbf {
        check_all(&options)?;
    }
    build(kind, metric(call, 6)?, options)
});

pg_function!("ilbf_new" -> signature::LSBF, |call| {
    let options = Options {
        dims: call.int4(0),
        capacity: call.int8(1),
        near: call.float8(2),
        far: call.float8(3),
        tables: call.int4(4),
        seed: call.int8(5).unwrap_or(0),
        width: call.float8(7),
        blooms: call.int8(8),
        slots: call.int4(9),
        bloom_hashes: call.int4(10),
        votes: call.int4(11),
        aligned: call.boolean(12),
        fast: fast(call, 13)?,
        ..Options::default()
    };
    build(Kind::Ilbf, metric(call, 6)?, options)
});

pg_function!("lsqf_new" -> signature::LSBF, |call| {
    let options = Options {
        dims: call.int4(0),
        near: call.float8(1),
        far: call.float8(2),
        bits: call.int8(3),
        seed: call.int8(4).unwrap_or(0),
        fnr: call.float8(6),
        max_theta: call.float8(7),
        cells: call.int4(8),
        length: call.float8(9),
        centre: centre(call, 10)?,
        ..Options::default()
    };
    build(Kind::Lsqf, metric(call, 5)?, options)
});
