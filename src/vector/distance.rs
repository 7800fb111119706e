//! Exact distances, for what PostgreSQL and pgvector have none.

use crate::boundary::call::{Call, float8, pg_function};
use crate::boundary::varlena::text;
use crate::vector::arrays::{Read, bits, bytea, int4s, int8s, mapped, untyped};
use lsbf::error::Result;
use lsbf::vector::Vector;
use lsbf::vector::exact::{
    differing, differing_bits, differing_characters, jaccard_of_bits, jaccard_of_numbers, jaccard_of_sets,
};
use pgrx::pg_sys::{self, Datum};

fn hamming(call: &Call, read: Read) -> Result<Datum> {
    let differ = match (read(call, 0)?, read(call, 1)?) {
        (Vector::Bits { bytes: a, len: a_len }, Vector::Bits { bytes: b, len: b_len }) => {
            differing_bits((a, a_len), (b, b_len))
        }
        (Vector::Bytes(a), Vector::Bytes(b)) => differing_bits((a, a.len() * 8), (b, b.len() * 8)),
        (Vector::Ints(a), Vector::Ints(b)) => differing(a, b),
        (Vector::Text(a), Vector::Text(b)) => differing_characters(a, b),
        _ => unreachable!("both are read in the same way"),
    };
    Ok(float8(differ? as f64))
}

fn jaccard(call: &Call, read: Read) -> Result<Datum> {
    Ok(float8(match (read(call, 0)?, read(call, 1)?) {
        (Vector::Bits { bytes: a, .. }, Vector::Bits { bytes: b, .. }) | (Vector::Bytes(a), Vector::Bytes(b)) => {
            jaccard_of_bits(a, b)
        }
        (Vector::Ints(a), Vector::Ints(b)) => jaccard_of_numbers(a, b)?,
        (Vector::BigInts(a), Vector::BigInts(b)) => jaccard_of_numbers(a, b)?,
        _ => unreachable!("both are read in the same way"),
    }))
}

/// The elements of a `text[]`.
fn texts<'a>(call: &'a Call<'_>, n: usize) -> Result<&'a [&'a str]> {
    mapped(call.required(n, &[pg_sys::TEXTARRAYOID]), pg_sys::TEXTOID, text)
}

pg_function!("hamming_distance_bit" -> pg_sys::FLOAT8OID, |call| hamming(call, bits));
pg_function!("hamming_distance_bytea" -> pg_sys::FLOAT8OID, |call| hamming(call, bytea));
pg_function!("hamming_distance_int" -> pg_sys::FLOAT8OID, |call| hamming(call, int4s));
pg_function!("hamming_distance_text" -> pg_sys::FLOAT8OID, |call| hamming(call, untyped));
pg_function!("jaccard_distance_bit" -> pg_sys::FLOAT8OID, |call| jaccard(call, bits));
pg_function!("jaccard_distance_bytea" -> pg_sys::FLOAT8OID, |call| jaccard(call, bytea));
pg_function!("jaccard_distance_int" -> pg_sys::FLOAT8OID, |call| jaccard(call, int4s));
pg_function!("jaccard_distance_bigint" -> pg_sys::FLOAT8OID, |call| jaccard(call, int8s));
pg_function!("jaccard_distance_texts" -> pg_sys::FLOAT8OID, |call| {
    Ok(float8(jaccard_of_sets(texts(call, 0)?, texts(call, 1)?)?))
});
