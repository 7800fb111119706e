//! lsbf_agg and lsbf_add: the state is the filter itself, changed in place.

use super::call::{Call, pg_function};
use super::engines;
use super::image;
use super::input::{Read, for_each_input};
use crate::error::{Error, Result};
use crate::filter::header;
use crate::filter::{Facts, check_alike, merge};
use crate::vector::Vector;
use pgrx::pg_sys::Datum;
use std::cell::Cell;

/// A copy of a filter with one more member.
fn with_member(filter: &[u64], vector: &Vector) -> Result<Datum> {
    engines::with(filter, vector, |engine, header| {
        let image = match header.has_body {
            true => image::copy(filter),
            false => image::empty(&engine.params, &engine.stored, engine.dims, true),
        };
        engine.add(image, vector)?;
        Ok(image::datum(image))
    })
}

fn lsbf_add(call: &Call, read: Read) -> Result<Datum> {
    let filter = image::read_cached(call, call.required(0))?;
    with_member(filter, &read(call, 1)?)
}
for_each_input!(lsbf_add,
    bits => lsbf_add_bit, bytea => lsbf_add_bytea, float4s => lsbf_add_real, float8s => lsbf_add_double,
    int4s => lsbf_add_int, int8s => lsbf_add_bigint, numerics => lsbf_add_numeric,
    texts => lsbf_add_texts, untyped => lsbf_add_text,
    vector => lsbf_add_vector, halfvec => lsbf_add_halfvec, sparsevec => lsbf_add_sparsevec,
);

/// The transition function: (state, vector, prototype). A new state is returned in the row's memory: the executor
/// copies it into the aggregate's, and every later row changes it there.
fn lsbf_agg_step(call: &Call, read: Read) -> Result<Datum> {
    if call.arg(1).is_none() {
        return Ok(call.arg(0).unwrap_or_else(|| call.null()));
    }
    let vector = read(call, 1)?;
    let prototype = call.arg(2).ok_or_else(|| Error::parameter("prototype must not be null").with_hint(MAKE_ONE))?;
    let prototype = image::read_cached(call, prototype)?;
    let Some(state) = call.arg(0) else {
        // A new state may come to lie where another one was.
        CONTAINED.set([(0, 0); CHECKED]);
        return with_member(prototype, &vector);
    };
    let Some(image) = image::state(call, state) else {
        return with_member(image::read(state)?, &vector);
    };
    check_prototype(image, prototype)?;
    engines::add(image, &vector)?;
    Ok(state)
}
for_each_input!(lsbf_agg_step,
    bits => lsbf_agg_step_bit, bytea => lsbf_agg_step_bytea, float4s => lsbf_agg_step_real,
    float8s => lsbf_agg_step_double, int4s => lsbf_agg_step_int, int8s => lsbf_agg_step_bigint,
    numerics => lsbf_agg_step_numeric, texts => lsbf_agg_step_texts, untyped => lsbf_agg_step_text,
    vector => lsbf_agg_step_vector, halfvec => lsbf_agg_step_halfvec, sparsevec => lsbf_agg_step_sparsevec,
);

const MAKE_ONE: &str = "make one with dsbf_new, lsbf_new or ilbf_new";

/// Prototypes with members that were found in a state lately, by the address of the state and a hash of the prototype:
/// comparing all bits is for the first row of a group, not for every one.
const CHECKED: usize = 64;
thread_local! {
    static CONTAINED: Cell<[(usize, u64); CHECKED]> = const { Cell::new([(0, 0); CHECKED]) };
}

/// All rows of a group must come with one prototype: it hashes as the state does, and its members are in the state.
fn check_prototype(state: &[u64], prototype: &[u64]) -> Result<()> {
    let (ours, theirs) = (header::header_of(state), header::header_of(prototype));
    let alike =
        header::params_of(state) == header::params_of(prototype) && (theirs.dims == 0 || theirs.dims == ours.dims);
    if alike && (!theirs.has_body || contained(state, prototype, theirs.body_start())) {
        return Ok(());
    }
    let detail = check_alike(&Facts::of(state)?.params, ours.dims, &Facts::of(prototype)?.params, theirs.dims);
    let detail = detail.err().map_or_else(|| "they have different members".into(), |e| e.message);
    Err(Error::parameter(format!("the prototype must be the same for all rows of a group: {detail}")))
}

/// Whether a state has all the bits of a prototype. Header and member sketch stand for the prototype's content.
fn contained(state: &[u64], prototype: &[u64], body: usize) -> bool {
    let start = &header::payload(prototype)[..body * 8 - header::RESERVED];
    let key = (state.as_ptr() as usize, xxhash_rust::xxh3::xxh3_64(start));
    let slot = (key.0 / 64) % CHECKED;
    let mut checked = CONTAINED.get();
    if checked[slot] == key {
        return true;
    }
    let all = prototype[body..].iter().zip(&state[body..]).all(|(theirs, ours)| theirs & !ours == 0);
    if all {
        checked[slot] = key;
        CONTAINED.set(checked);
    }
    all
}

/// The union of two filters; in an aggregate, the first is changed in place.
fn lsbf_union(call: &Call) -> Result<Datum> {
    let (first, second) = (call.required(0), call.required(1));
    let theirs = image::read(second)?;
    let state = image::state(call, first);
    let ours = match &state {
        Some(image) => &**image,
        None => image::read(first)?,
    };
    let (a, b) = (header::header_of(ours), header::header_of(theirs));
    if header::params_of(ours) != header::params_of(theirs) || a.dims != b.dims {
        check_alike(&Facts::of(ours)?.params, a.dims, &Facts::of(theirs)?.params, b.dims)?;
    }
    if !b.has_body {
        return Ok(if a.has_body || a.dims != 0 { image::datum(ours) } else { image::datum(theirs) });
    }
    if !a.has_body {
        return Ok(image::datum(theirs));
    }
    let params = header::decode_params(header::params_of(ours))?;
    let pause = |_| {
        pgrx::check_for_interrupts!();
    };
    match state {
        Some(image) => {
            merge(&params, image, theirs, pause);
            Ok(first)
        }
        None => {
            let image = image::copy(ours);
            merge(&params, image, theirs, pause);
            Ok(image::datum(image))
        }
    }
}
pg_function!(lsbf_union, lsbf_union);
