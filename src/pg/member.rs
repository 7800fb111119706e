//! approx_member, approx_votes, approx_distance.

use super::call::{Call, boolean, float8, int4};
use super::engines;
use super::image;
use super::input::{Read, for_each_input};
use crate::error::Result;
use pgrx::pg_sys::Datum;

fn member(call: &Call, read: Read) -> Result<Datum> {
    let image = image::read_cached(call, call.required(0))?;
    let vector = read(call, 1)?;
    let theta = call.float8(2).unwrap_or(1.0);
    engines::with(image, &vector, |engine, _| engine.member(image, &vector, theta)).map(boolean)
}
for_each_input!(member,
    bits => approx_member_bit, bytea => approx_member_bytea, float4s => approx_member_real,
    float8s => approx_member_double, int4s => approx_member_int, int8s => approx_member_bigint,
    numerics => approx_member_numeric, texts => approx_member_texts, untyped => approx_member_text,
    vector => approx_member_vector, halfvec => approx_member_halfvec, sparsevec => approx_member_sparsevec,
);

fn votes(call: &Call, read: Read) -> Result<Datum> {
    let image = image::read_cached(call, call.required(0))?;
    let vector = read(call, 1)?;
    let theta = call.float8(2).unwrap_or(1.0);
    engines::with(image, &vector, |engine, _| engine.votes(image, &vector, theta)).map(int4)
}
for_each_input!(votes,
    bits => approx_votes_bit, bytea => approx_votes_bytea, float4s => approx_votes_real,
    float8s => approx_votes_double, int4s => approx_votes_int, int8s => approx_votes_bigint,
    numerics => approx_votes_numeric, texts => approx_votes_texts, untyped => approx_votes_text,
    vector => approx_votes_vector, halfvec => approx_votes_halfvec, sparsevec => approx_votes_sparsevec,
);

fn distance(call: &Call, read: Read) -> Result<Datum> {
    let image = image::read_cached(call, call.required(0))?;
    let vector = read(call, 1)?;
    let found = engines::with(image, &vector, |engine, _| engine.distance(image, &vector))?;
    Ok(found.map_or_else(|| call.null(), float8))
}
for_each_input!(distance,
    bits => approx_distance_bit, bytea => approx_distance_bytea, float4s => approx_distance_real,
    float8s => approx_distance_double, int4s => approx_distance_int, int8s => approx_distance_bigint,
    numerics => approx_distance_numeric, texts => approx_distance_texts, untyped => approx_distance_text,
    vector => approx_distance_vector, halfvec => approx_distance_halfvec, sparsevec => approx_distance_sparsevec,
);
