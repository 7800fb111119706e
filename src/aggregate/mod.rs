//! lsbf_agg, lsbf_add, lsbf_remove and lsbf_union. The state of the aggregate is the filter itself, changed in place if
//! possible. Members of a quotient filter and bits of a list cannot be added in place: with more than a few, the state is an
//! expanded object (`collected`). The changes themselves are implemented in [`lsbf::filter::change`].

mod buffer;
mod collected;

use crate::boundary::call::{Call, pg_function};
use crate::boundary::image::{self, Palloc};
use crate::boundary::signature;
use crate::boundary::toast::truncated;
use crate::cache::{engines, filters};
use crate::vector::arrays::{Read, for_each_input, prefetch};
use collected::Collected;
use lsbf::error::{Error, Result};
use lsbf::filter::Engine;
use lsbf::filter::change::{self, Outcome, Target};
use lsbf::filter::format::{self, Header, View};
use lsbf::vector::Vector;
use pgrx::pg_sys::Datum;
use std::cell::Cell;

/// A filter with one more member: a new value, or the filter itself if nothing changes.
fn with_member(filter: &View, vector: &Vector) -> Result<Datum> {
    let add = |engine: &mut Engine| change::add(engine, Target::Shared(filter.words), vector, &Palloc);
    match engines::with(filter, filter.words.len(), vector, add)? {
        Outcome::New(image) => Ok(image::datum(image)),
        _ => Ok(image::datum(filter.words)),
    }
}

fn lsbf_add(call: &Call, read: Read) -> Result<Datum> {
    with_member(&image::read(call.required_filter(0))?, &read(call, 1)?)
}
for_each_input!("lsbf_add" -> signature::LSBF, lsbf_add);

/// The filter without one of the members that are equal to the vector; the filter itself if there is none.
fn lsbf_remove(call: &Call, read: Read) -> Result<Datum> {
    let (filter, vector) = (image::read(call.required_filter(0))?, read(call, 1)?);
    let remove = |engine: &mut Engine| change::remove(engine, &filter, &vector, &Palloc);
    let removed = engines::with(&filter, filter.words.len(), &vector, remove)?;
    Ok(removed.map_or_else(|| image::datum(filter.words), |image| image::datum(image)))
}
for_each_input!("lsbf_remove" -> signature::LSBF, lsbf_remove);

/// The transition function: (state, vector, prototype). A new state is allocated in the memory of the row, and the
/// executor copies it into that of the aggregate. A list of bits is replaced by a longer one; words are changed in
/// place.
fn lsbf_agg_step(call: &Call, read: Read) -> Result<Datum> {
    if call.is_null(1) {
        return Ok(call.filter(0).unwrap_or_else(|| call.null()));
    }
    let vector = read(call, 1)?;
    prefetch(&vector);
    let prototype = filters::whole(call.filter(2).ok_or_else(Error::no_prototype)?)?;
    if prototype.header.is_quotient && prototype.header.has_body {
        return Err(Error::prototype_has_members());
    }
    let Some(state) = call.filter(0) else { return first_state(&prototype, &vector) };
    if let Some(collected) = Collected::of(call, state) {
        return collect(collected, &vector, &prototype);
    }
    let Some(image) = image::state(call, state) else {
        return with_member(&image::read(state)?, &vector);
    };
    let filter = View::new(image)?;
    check_prototype(&filter, &prototype)?;
    if collected::is_worthwhile(&filter.header, 0) && !prototype.header.has_body {
        return collect(Collected::new(call, &filter)?, &vector, &prototype);
    }
    // The parameters are read from the prototype, as the state is borrowed for the change.
    let (header, words) = (filter.header, image.len());
    let add = |engine: &mut Engine| change::add(engine, Target::Own(image), &vector, &Palloc);
    match engines::with_parameters_of(&prototype, &header, words, &vector, add)? {
        Outcome::New(image) => {
            CONTAINED.set([(0, 0); MAX_CHECKED]);
            Ok(image::datum(image))
        }
        _ => Ok(state),
    }
}

/// Adds a member to an expanded state; returns the new state.
fn collect(collected: &mut Collected, vector: &Vector, prototype: &View) -> Result<Datum> {
    check_alike_prototype(&collected.front(), prototype)?;
    if prototype.header.has_body && !change::includes(&View::valid(collected.flat()?), prototype)? {
        return Err(Error::prototypes_differ("group", None));
    }
    let header = Header { dims: collected.front().header.dims, ..prototype.header };
    let add = |engine: &mut Engine| collected.add(engine, vector);
    engines::with_parameters_of(prototype, &header, prototype.words.len(), vector, add)?;
    collected.state()
}

/// The state after the first row of a group.
fn first_state(prototype: &View, vector: &Vector) -> Result<Datum> {
    // The new state may have the address of an earlier one.
    CONTAINED.set([(0, 0); MAX_CHECKED]);
    let state = with_member(prototype, vector)?;
    // A prototype that already contains the member is returned unchanged. It may be in the cache, which does not keep
    // it as long as the aggregate keeps its state.
    let is_prototype = state == image::datum(prototype.words);
    Ok(if is_prototype { image::datum(image::copy(prototype.words)) } else { state })
}
for_each_input!("lsbf_agg_step" -> signature::LSBF, lsbf_agg_step);

/// States that were recently found to contain all members of their prototype, as the address of the state and a hash of
/// the prototype. All bits are compared only for the first row of a group.
const MAX_CHECKED: usize = 64;
thread_local! {
    static CONTAINED: Cell<[(usize, u64); MAX_CHECKED]> = const { Cell::new([(0, 0); MAX_CHECKED]) };
}

/// All rows of a group must have the same prototype: it must hash like the state, and its members must be in the state.
fn check_prototype(state: &View, prototype: &View) -> Result<()> {
    check_alike_prototype(state, prototype)?;
    if !prototype.header.has_body || contained(state, prototype)? {
        return Ok(());
    }
    Err(Error::prototypes_differ("group", None))
}

/// A prototype must hash like the state.
#[inline]
fn check_alike_prototype(state: &View, prototype: &View) -> Result<()> {
    let (ours, theirs) = (&state.header, &prototype.header);
    let alike = state.stored() == prototype.stored()
        && (theirs.dims == 0 || theirs.dims == ours.dims)
        && (!theirs.has_centre || state.centre_bytes()? == prototype.centre_bytes()?);
    if alike { Ok(()) } else { Err(Error::prototypes_differ("group", change::check_alike(state, prototype).err())) }
}

/// Whether a state has all bits of a prototype. A prototype is identified by a hash of its header and its member
/// sketch.
fn contained(state: &View, prototype: &View) -> Result<bool> {
    let start = format::payload(prototype.words).get(..prototype.header.body_start() * 8 - format::RESERVED);
    let start = start.ok_or_else(truncated)?;
    let key = (state.words.as_ptr() as usize, xxhash_rust::xxh3::xxh3_64(start));
    let slot = (key.0 / 64) % MAX_CHECKED;
    let mut checked = CONTAINED.get();
    if checked[slot] == key {
        return Ok(true);
    }
    let all = change::includes(state, prototype)?;
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
    if let Some(collected) = Collected::of(call, first) {
        if collected.can_append(&theirs) {
            collected.append(&theirs)?;
            return collected.state();
        }
        let ours = collected.flat()?;
        let datum = image::datum(ours);
        return Ok(merged(change::union(Target::Own(ours), &theirs, &Palloc)?, datum, &theirs));
    }
    match image::state(call, first) {
        Some(state) => {
            let ours = View::new(state)?;
            let is_list = ours.header.is_quotient || theirs.header.is_sparse;
            if is_list && collected::is_worthwhile(&ours.header, theirs.header.ones) {
                change::check_alike(&ours, &theirs)?;
                let collected = Collected::new(call, &ours)?;
                collected.append(&theirs)?;
                return collected.state();
            }
            let ours = state.as_ptr();
            Ok(merged(change::union(Target::Own(state), &theirs, &Palloc)?, Datum::from(ours), &theirs))
        }
        None => {
            let ours = image::read(first)?.words;
            Ok(merged(change::union(Target::Shared(ours), &theirs, &Palloc)?, image::datum(ours), &theirs))
        }
    }
}

fn merged(outcome: Outcome<&mut [u64]>, first: Datum, second: &View) -> Datum {
    match outcome {
        Outcome::First => first,
        Outcome::Second => image::datum(second.words),
        Outcome::New(image) => image::datum(image),
    }
}
pg_function!("lsbf_union" -> signature::LSBF, lsbf_union);
pg_function!("lsbf_agg_final" -> signature::LSBF, |call| Ok(collected::flat(call.required_filter(0))));
