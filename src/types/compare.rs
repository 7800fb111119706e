//! Equality, order and hash of filters. Sorting and hashing call these functions in memory contexts that are not reset
//! before the statement ends. Therefore filters are read piece by piece, no further than necessary, and every piece is
//! freed.

use crate::boundary::call::{Call, boolean, pg_function};
use crate::boundary::guard::check_for_interrupts;
use crate::boundary::toast::Bytes;
use lsbf::error::Result;
use lsbf::filter::format::FRONT;
use pgrx::pg_sys::{self, Datum};
use std::cmp::Ordering;

/// Bytes compared at once. The first piece is smaller: parameters, counters and member sketch, which usually differ.
const PIECE: usize = 1 << 20;

/// Equal filters have equal bytes. The order is by size, then by bytes; it has no meaning, but is needed by DISTINCT
/// and ORDER BY.
fn compare(call: &Call) -> Result<Ordering> {
    let (a, b) = (Bytes::of(call.required_filter(0)), Bytes::of(call.required_filter(1)));
    Ok(a.count().cmp(&b.count()).then_with(|| if a.is_same(&b) { Ordering::Equal } else { compare_bytes(&a, &b) }))
}

/// Compares two filters of equal size up to the first difference.
fn compare_bytes(a: &Bytes, b: &Bytes) -> Ordering {
    let mut start = 0;
    while start < a.count() {
        let end = if start == 0 { FRONT } else { start + PIECE }.min(a.count());
        let order = a.piece(start..end).cmp(&*b.piece(start..end));
        if order.is_ne() {
            return order;
        }
        check_for_interrupts();
        start = end;
    }
    Ordering::Equal
}
pg_function!("lsbf_eq" -> pg_sys::BOOLOID, |call| compare(call).map(|o| boolean(o.is_eq())));
pg_function!("lsbf_ne" -> pg_sys::BOOLOID, |call| compare(call).map(|o| boolean(o.is_ne())));
pg_function!("lsbf_lt" -> pg_sys::BOOLOID, |call| compare(call).map(|o| boolean(o.is_lt())));
pg_function!("lsbf_le" -> pg_sys::BOOLOID, |call| compare(call).map(|o| boolean(o.is_le())));
pg_function!("lsbf_gt" -> pg_sys::BOOLOID, |call| compare(call).map(|o| boolean(o.is_gt())));
pg_function!("lsbf_ge" -> pg_sys::BOOLOID, |call| compare(call).map(|o| boolean(o.is_ge())));
pg_function!("lsbf_cmp" -> pg_sys::INT4OID, |call| compare(call).map(|o| Datum::from(o as i32)));

/// A hash of the first and the last bytes. Different filters differ there, except for rare ones: with the same number of bits
/// set and the same member sketch, or the same number of members in the same first and last cells.
fn hash(call: &Call, seed: u64) -> u64 {
    let bytes = Bytes::of(call.required_filter(0));
    let first = xxhash_rust::xxh3::xxh3_64_with_seed(&bytes.piece(0..FRONT.min(bytes.count())), seed);
    xxhash_rust::xxh3::xxh3_64_with_seed(&bytes.piece(bytes.count().saturating_sub(FRONT)..bytes.count()), first)
}
pg_function!("lsbf_hash" -> pg_sys::INT4OID, |call| Ok(Datum::from(hash(call, 0) as i32)));
pg_function!("lsbf_hash_extended" -> pg_sys::INT8OID, |call| {
    // PostgreSQL requires that with seed 0 the lower half equals the plain hash.
    let seed = call.int8(1).unwrap_or(0) as u64;
    Ok(Datum::from(hash(call, seed) as i64))
});
