//! approx_member, approx_votes, approx_distance.

use crate::boundary::call::{Call, boolean, float8, int4};
use crate::cache::engines;
use crate::cache::stored::{Filter, open};
use crate::vector::arrays::{Read, for_each_input, prefetch};
use lsbf::error::Result;
use lsbf::filter::bits::Body;
use lsbf::filter::format::Bits;
use lsbf::filter::{Counters, Engine};
use lsbf::vector::Vector;
use pgrx::pg_sys::{self, Datum};

/// A query of a filter, wherever its words are.
trait Query {
    type Answer;

    fn run<B>(self, engine: &mut Engine, counters: Option<Counters>, body: &B, vector: &Vector) -> Result<Self::Answer>
    where
        B: Body + ?Sized;
}

#[inline]
fn answer<Q: Query>(call: &Call, read: Read, query: Q) -> Result<Q::Answer> {
    let vector = read(call, 1)?;
    prefetch(&vector);
    match open(call.required_filter(0))? {
        Filter::Whole(image) => engines::with(&image, image.words.len(), &vector, |engine| match image.body() {
            Bits::Words(words) => query.run(engine, image.header.counters(), words, &vector),
            Bits::List(list) => query.run(engine, image.header.counters(), &list, &vector),
        }),
        Filter::Parts(parts) => engines::with(&parts.front, parts.words, &vector, |engine| {
            query.run(engine, parts.front.header.counters(), &parts, &vector)
        }),
    }
}

struct Member(f64);
impl Query for Member {
    type Answer = bool;

    fn run<B>(self, engine: &mut Engine, counters: Option<Counters>, body: &B, vector: &Vector) -> Result<bool>
    where
        B: Body + ?Sized,
    {
        engine.contains(counters, body, vector, self.0)
    }
}

fn member(call: &Call, read: Read) -> Result<Datum> {
    answer(call, read, Member(call.float8(2).unwrap_or(1.0))).map(boolean)
}
for_each_input!(member -> pg_sys::BOOLOID,
    bits => approx_member_bit, bytea => approx_member_bytea, float4s => approx_member_real,
    float8s => approx_member_double, int4s => approx_member_int, int8s => approx_member_bigint,
    numerics => approx_member_numeric, texts => approx_member_texts, untyped => approx_member_text,
    vector => approx_member_vector, halfvec => approx_member_halfvec, sparsevec => approx_member_sparsevec,
);

struct Votes(f64);
impl Query for Votes {
    type Answer = u32;

    fn run<B>(self, engine: &mut Engine, counters: Option<Counters>, body: &B, vector: &Vector) -> Result<u32>
    where
        B: Body + ?Sized,
    {
        engine.votes(counters, body, vector, self.0)
    }
}

fn votes(call: &Call, read: Read) -> Result<Datum> {
    answer(call, read, Votes(call.float8(2).unwrap_or(1.0))).map(int4)
}
for_each_input!(votes -> pg_sys::INT4OID,
    bits => approx_votes_bit, bytea => approx_votes_bytea, float4s => approx_votes_real,
    float8s => approx_votes_double, int4s => approx_votes_int, int8s => approx_votes_bigint,
    numerics => approx_votes_numeric, texts => approx_votes_texts, untyped => approx_votes_text,
    vector => approx_votes_vector, halfvec => approx_votes_halfvec, sparsevec => approx_votes_sparsevec,
);

struct Distance;
impl Query for Distance {
    type Answer = Option<f64>;

    fn run<B>(self, engine: &mut Engine, counters: Option<Counters>, body: &B, vector: &Vector) -> Result<Option<f64>>
    where
        B: Body + ?Sized,
    {
        engine.distance(counters, body, vector)
    }
}

fn distance(call: &Call, read: Read) -> Result<Datum> {
    Ok(answer(call, read, Distance)?.map_or_else(|| call.null(), float8))
}
for_each_input!(distance -> pg_sys::FLOAT8OID,
    bits => approx_distance_bit, bytea => approx_distance_bytea, float4s => approx_distance_real,
    float8s => approx_distance_double, int4s => approx_distance_int, int8s => approx_distance_bigint,
    numerics => approx_distance_numeric, texts => approx_distance_texts, untyped => approx_distance_text,
    vector => approx_distance_vector, halfvec => approx_distance_halfvec, sparsevec => approx_distance_sparsevec,
);
