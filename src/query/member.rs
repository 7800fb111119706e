//! approx_member, approx_votes, approx_distance.

use crate::boundary::call::{Call, boolean, float8, int4};
use crate::cache::{engines, filters};
use crate::vector::arrays::{Read, for_each_input, prefetch};
use lsbf::error::Result;
use lsbf::filter::{Engine, Queried};
use lsbf::vector::Vector;
use pgrx::pg_sys::{self, Datum};

/// Runs a query with the filter and the vector of a call.
#[inline]
fn answer<T>(call: &Call, read: Read, query: impl FnOnce(&mut Engine, &Queried, &Vector) -> Result<T>) -> Result<T> {
    let vector = read(call, 1)?;
    prefetch(&vector);
    let filter = filters::open(call.required_filter(0))?;
    engines::with(filter.front(), filter.words(), &vector, |engine| query(engine, &filter.queried(), &vector))
}

fn theta(call: &Call) -> f64 {
    call.float8(2).unwrap_or(1.0)
}

fn member(call: &Call, read: Read) -> Result<Datum> {
    let theta = theta(call);
    answer(call, read, |engine, filter, vector| engine.contains(filter, vector, theta)).map(boolean)
}
for_each_input!("approx_member" -> pg_sys::BOOLOID, member);

fn votes(call: &Call, read: Read) -> Result<Datum> {
    let theta = theta(call);
    answer(call, read, |engine, filter, vector| engine.votes(filter, vector, theta)).map(int4)
}
for_each_input!("approx_votes" -> pg_sys::INT4OID, votes);

fn distance(call: &Call, read: Read) -> Result<Datum> {
    let distance = answer(call, read, |engine, filter, vector| engine.distance(filter, vector))?;
    Ok(distance.map_or_else(|| call.null(), float8))
}
for_each_input!("approx_distance" -> pg_sys::FLOAT8OID, distance);
