//! lsbf_agg and lsbf_add: the state is the filter itself, changed in place.

use super::call::{Call, pg_function};
use super::engines;
use super::guard::check_for_interrupts;
use super::image;
use super::input::{Read, for_each_input, prefetch};
use super::stored;
use super::types;
use crate::error::{Error, Result};
use crate::filter::header::{self, Bits, View};
use crate::filter::params::Params;
use crate::filter::{Engine, bits, check_alike_stored, merge, sparse};
use crate::vector::Vector;
use pgrx::pg_sys::Datum;
use std::cell::Cell;

/// A filter with one more member: a new one, or itself where nothing changes.
fn with_member(filter: &View, vector: &Vector) -> Result<Datum> {
    engines::with(filter, filter.words.len(), vector, |engine| {
        // Pages can be damaged.
        filter.check_list(&engine.params)?;
        if !filter.header.has_body || filter.header.is_sparse {
            return grown(engine, filter, vector);
        }
        let image = image::copy(filter.words);
        engine.add_in(&filter.header, image, vector)?;
        Ok(image::datum(image))
    })
}

/// The same for a list of bits, or no members.
fn grown(engine: &mut Engine, filter: &View, vector: &Vector) -> Result<Datum> {
    let grown = engine.grown(filter, vector, image::allocate)?;
    Ok(image::datum(grown.map_or(filter.words, |image| image)))
}

fn lsbf_add(call: &Call, read: Read) -> Result<Datum> {
    with_member(&image::read(call.required_filter(0))?, &read(call, 1)?)
}
for_each_input!(lsbf_add -> types::LSBF,
    bits => lsbf_add_bit, bytea => lsbf_add_bytea, float4s => lsbf_add_real, float8s => lsbf_add_double,
    int4s => lsbf_add_int, int8s => lsbf_add_bigint, numerics => lsbf_add_numeric,
    texts => lsbf_add_texts, untyped => lsbf_add_text,
    vector => lsbf_add_vector, halfvec => lsbf_add_halfvec, sparsevec => lsbf_add_sparsevec,
);

/// The transition function: (state, vector, prototype). A new state is returned in the row's memory: the executor
/// copies it into the aggregate's. A list of bits is replaced by a longer one; words are changed where they are.
fn lsbf_agg_step(call: &Call, read: Read) -> Result<Datum> {
    if call.is_null(1) {
        return Ok(call.filter(0).unwrap_or_else(|| call.null()));
    }
    let vector = read(call, 1)?;
    prefetch(&vector);
    let prototype = call.filter(2).ok_or_else(|| Error::parameter("prototype must not be null").with_hint(MAKE_ONE))?;
    let prototype = stored::whole(prototype)?;
    let Some(state) = call.filter(0) else {
        // A new state may come to lie where another one was.
        CONTAINED.set([(0, 0); CHECKED]);
        let state = with_member(&prototype, &vector)?;
        // A prototype that has the member already may be one that is kept, and not for as long as the state is used.
        let is_prototype = state == image::datum(prototype.words);
        return Ok(if is_prototype { image::datum(image::copy(prototype.words)) } else { state });
    };
    let Some(image) = image::state(call, state) else {
        return with_member(&image::read(state)?, &vector);
    };
    let header = View::new(image)?.header;
    let filter = View { header, words: image };
    check_prototype(&filter, &prototype)?;
    if header.is_sparse {
        let grown = engines::with(&filter, image.len(), &vector, |engine| grown(engine, &filter, &vector))?;
        if grown != state {
            CONTAINED.set([(0, 0); CHECKED]);
        }
        return Ok(grown);
    }
    // The parameters are the prototype's, so that the state is free to be changed.
    let words = image.len();
    let add = |engine: &mut Engine| engine.add_in(&header, image, &vector);
    engines::with_parameters_of(&prototype, &header, words, &vector, add)?;
    Ok(state)
}
for_each_input!(lsbf_agg_step -> types::LSBF,
    bits => lsbf_agg_step_bit, bytea => lsbf_agg_step_bytea, float4s => lsbf_agg_step_real,
    float8s => lsbf_agg_step_double, int4s => lsbf_agg_step_int, int8s => lsbf_agg_step_bigint,
    numerics => lsbf_agg_step_numeric, texts => lsbf_agg_step_texts, untyped => lsbf_agg_step_text,
    vector => lsbf_agg_step_vector, halfvec => lsbf_agg_step_halfvec, sparsevec => lsbf_agg_step_sparsevec,
);

pub const MAKE_ONE: &str = "Make one with lsbf_design_for, dsbf_new, lsbf_new or ilbf_new.";

/// What to do where prototypes differ.
pub const SAME_ONE: &str = "Give it as a subquery, (SELECT prototype FROM ...), which is evaluated once.";

/// Prototypes with members that were found in a state lately, by the address of the state and a hash of the prototype:
/// comparing all bits is for the first row of a group, not for every one.
const CHECKED: usize = 64;
thread_local! {
    static CONTAINED: Cell<[(usize, u64); CHECKED]> = const { Cell::new([(0, 0); CHECKED]) };
}

/// All rows of a group must come with one prototype: it hashes as the state does, and its members are in the state.
fn check_prototype(state: &View, prototype: &View) -> Result<()> {
    let (ours, theirs) = (&state.header, &prototype.header);
    let alike = state.stored() == prototype.stored()
        && (theirs.dims == 0 || theirs.dims == ours.dims)
        && (!theirs.has_centre || state.centre_bytes()? == prototype.centre_bytes()?);
    if alike && (!theirs.has_body || contained(state, prototype)?) {
        return Ok(());
    }
    let detail = check_alike_stored(state, prototype);
    let detail = detail.err().map_or_else(|| "they have different members".into(), |e| e.message);
    Err(Error::parameter(format!("the prototype must be the same for all rows of a group: {detail}"))
        .with_hint(SAME_ONE))
}

fn params(filter: &View) -> Result<Params> {
    header::decode_params(filter.stored())
}

/// Whether a state has all the bits of a prototype. Header and member sketch stand for the prototype's content.
fn contained(state: &View, prototype: &View) -> Result<bool> {
    let start = header::payload(prototype.words).get(..prototype.header.body_start() * 8 - header::RESERVED);
    let start = start.ok_or_else(stored::damaged)?;
    let key = (state.words.as_ptr() as usize, xxhash_rust::xxh3::xxh3_64(start));
    let slot = (key.0 / 64) % CHECKED;
    let mut checked = CONTAINED.get();
    if checked[slot] == key {
        return Ok(true);
    }
    // Pages can be damaged.
    prototype.check(&params(prototype)?)?;
    let all = match (prototype.body(), state.body()) {
        (Bits::Words(theirs), Bits::Words(ours)) => theirs.iter().zip(ours).all(|(theirs, ours)| theirs & !ours == 0),
        (Bits::List(theirs), Bits::Words(ours)) => theirs.places().all(|at| bits::get(ours, at)),
        // Both are in order: one pass, as the state of every row is another one.
        (Bits::List(theirs), Bits::List(ours)) => {
            let mut ours = ours.places();
            theirs.places().all(|at| ours.any(|place| place == at))
        }
        // A list has fewer bits.
        (Bits::Words(_), Bits::List(_)) => false,
    };
    if all {
        checked[slot] = key;
        CONTAINED.set(checked);
    }
    Ok(all)
}

/// The union of two filters; in an aggregate, the first is changed in place.
fn lsbf_union(call: &Call) -> Result<Datum> {
    let (first, second) = (call.required_filter(0), call.required_filter(1));
    let theirs = image::read(second)?;
    let state = image::state(call, first);
    let ours = match &state {
        Some(image) => View::new(image)?,
        None => image::read(first)?,
    };
    let (a, b) = (ours.header, theirs.header);
    let params = params(&ours)?;
    check_alike_stored(&ours, &theirs)?;
    // Pages can be damaged.
    ours.check(&params)?;
    theirs.check(&params)?;
    if !b.has_body {
        return Ok(image::datum(if a.has_body || a.dims != 0 { ours.words } else { theirs.words }));
    }
    if !a.has_body {
        return Ok(image::datum(theirs.words));
    }
    let pause = |_| {
        check_for_interrupts();
    };
    if a.is_sparse && b.is_sparse {
        let union = sparse::union(&params, (&ours, &theirs), &ours.centre()?, image::allocate)?;
        return Ok(image::datum(union.map_or(ours.words, |image| image)));
    }
    // A list goes into the words.
    if a.is_sparse {
        let image = image::copy(theirs.words);
        merge(&params, image, &ours, pause)?;
        return Ok(image::datum(image));
    }
    let image = match state {
        Some(image) => image,
        None => image::copy(ours.words),
    };
    merge(&params, image, &theirs, pause)?;
    Ok(image::datum(image))
}
pg_function!(lsbf_union -> types::LSBF, lsbf_union);
