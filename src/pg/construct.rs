//! dsbf_new, lsbf_new, ilbf_new.

use super::call::{Call, pg_function};
use super::image;
use crate::error::{Error, Result};
use crate::filter::header;
use crate::filter::params::{Kind, Metric, Params};
use crate::theory::design::{Spec, parameters};
use pgrx::pg_sys::Datum;
use std::cell::RefCell;

fn metric(call: &Call, n: usize) -> Result<Metric> {
    Metric::parse(call.text(n).ok_or_else(|| Error::parameter("metric must not be null"))?)
}

fn symbols(call: &Call, n: usize) -> Result<bool> {
    match call.text(n) {
        None | Some("bits") => Ok(false),
        Some("symbols") => Ok(true),
        Some(other) => {
            Err(Error::parameter(format!("unknown alphabet \"{other}\""))
                .with_hint("the alphabets are bits and symbols"))
        }
    }
}

fn fast(call: &Call, n: usize) -> Result<Option<bool>> {
    match call.text(n) {
        None => Ok(None),
        Some("dense") => Ok(Some(false)),
        Some("hadamard") => Ok(Some(true)),
        Some(other) => Err(Error::parameter(format!("unknown transform \"{other}\""))
            .with_hint("the transforms are dense and hadamard")),
    }
}

/// What was derived lately. Where the planner cannot make a constant of a call, it is made for every row, and deriving
/// parameters takes milliseconds.
type Derived = (Kind, Metric, Spec, Params, u32);
const REMEMBERED: usize = 8;
thread_local! {
    static DERIVED: RefCell<Vec<Derived>> = const { RefCell::new(Vec::new()) };
}

fn build(kind: Kind, metric: Metric, spec: Spec) -> Result<Datum> {
    DERIVED.with_borrow_mut(|derived| {
        let known = derived.iter().position(|(k, m, s, ..)| *k == kind && *m == metric && *s == spec);
        let at = match known {
            Some(at) => at,
            None => {
                let (params, dims) = parameters(kind, metric, &spec)?;
                derived.truncate(REMEMBERED - 1);
                derived.insert(0, (kind, metric, spec, params, dims));
                0
            }
        };
        let (.., params, dims) = &derived[at];
        Ok(image::datum(image::empty(params, &header::encode_params(params), *dims, false)))
    })
}

pg_function!(dsbf_new, |call| {
    let spec = Spec {
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
        ..Spec::default()
    };
    build(Kind::Dsbf, metric(call, 6)?, spec)
});

pg_function!(lsbf_new, |call| {
    let spec = Spec {
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
        ..Spec::default()
    };
    build(Kind::Lsbf, metric(call, 6)?, spec)
});

pg_function!(ilbf_new, |call| {
    let spec = Spec {
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
        ..Spec::default()
    };
    build(Kind::Ilbf, metric(call, 6)?, spec)
});
