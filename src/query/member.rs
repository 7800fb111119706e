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
fn run<T>(call: &Call, read: Read, query: impl FnOnce(&mut Engine, &Queried, &Vector) -> Result<T>) -> Result<T> {
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
    run(call, read, |engine, filter, vector| engine.contains(filter, vector, theta)).map(boolean)
}
for_each_input!(member -> pg_sys::BOOLOID,
    bits => approx_member_bit, bytea => approx_member_bytea, float4s => approx_member_real,
    float8s => approx_member_double, int4s => approx_member_int, int8s => approx_member_bigint,
    numerics => approx_member_numeric, texts => approx_member_texts, untyped => approx_member_text,
    vector => approx_member_vector, halfvec => approx_member_halfvec, sparsevec => approx_member_sparsevec,
);

fn votes(call: &Call, read: Read) -> Result<Datum> {
    let theta = theta(call);
    run(call, read, |engine, filter, vector| engine.votes(filter, vector, theta)).map(int4)
}
for_each_input!(votes -> pg_sys::INT4OID,
    bits => approx_votes_bit, bytea => approx_votes_bytea, float4s => approx_votes_real,
    float8s => approx_votes_double, int4s => approx_votes_int, int8s => approx_votes_bigint,
    numerics => approx_votes_numeric, texts => approx_votes_texts, untyped => approx_votes_text,
    vector => approx_votes_vector, halfvec => approx_votes_halfvec, sparsevec => approx_votes_sparsevec,
);

fn distance(call: &Call, read: Read) -> Result<Datum> {
    let distance = run(call, read, |engine, filter, vector| engine.distance(filter, vector))?;
    Ok(distance.map_or_else(|| call.null(), float8))
}
for_each_input!(distance -> pg_sys::FLOAT8OID,
    bits => approx_distance_bit, bytea => approx_distance_bytea, float4s => approx_distance_real,
    float8s => approx_distance_double, int4s => approx_distance_int, int8s => approx_distance_bigint,
    numerics => approx_distance_numeric, texts => approx_distance_texts, untyped => approx_distance_text,
    vector => approx_distance_vector, halfvec => approx_distance_halfvec, sparsevec => approx_distance_sparsevec,
);
