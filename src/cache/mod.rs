//! What a backend keeps between calls: expanded hash functions ([`engines`]) until the session ends, and stored filters
//! ([`filters`]) until the transaction ends. Together they stay within `lsbf.cache_size`, except that the filter and
//! the functions in use are kept whatever their size.
//!
//! Entries to be dropped are chosen at random: if filters are queried in turn, the least recently used one is needed
//! next.

pub mod engines;
pub mod filters;
mod parts;

use crate::boundary::call::{self, Call, pg_function};
use crate::boundary::rows::Rows;
use crate::boundary::signature;
use lsbf::error::Result;
use lsbf::mix::{mix, reduce};
use pgrx::pg_sys::{self, Datum};
use pgrx::{GucContext, GucFlags, GucRegistry, GucSetting};
use std::cell::Cell;

/// lsbf.cache_size, in kB.
static CACHE_SIZE: GucSetting<i32> = GucSetting::<i32>::new(128 << 10);
const MIN_KB: i32 = 1 << 10;
const MAX_KB: i32 = i32::MAX;

/// `lsbf.cache_size` in bytes.
pub fn limit() -> usize {
    CACHE_SIZE.get() as usize * 1024
}

/// A random number below `count`, from a sequence that is the same in every session.
pub fn draw(count: usize) -> usize {
    thread_local! {
        static DRAWS: Cell<u64> = const { Cell::new(0) };
    }
    DRAWS.set(DRAWS.get() + 1);
    reduce(mix(0, DRAWS.get()), count as u64) as usize
}

/// Defines `lsbf.cache_size`.
pub fn init() {
    GucRegistry::define_int_guc(
        c"lsbf.cache_size",
        c"Sets the maximum memory that a session uses to cache filters and hash functions.",
        c"Stored filters are cached until the transaction ends, hash functions until the session ends or runs DISCARD \
          ALL. The filter and the hash functions in use are kept even if they are larger.",
        &CACHE_SIZE,
        MIN_KB,
        MAX_KB,
        GucContext::Userset,
        GucFlags::UNIT_KB,
    );
    // SAFETY: the prefix is a constant.
    unsafe { pg_sys::MarkGUCPrefixReserved(c"lsbf".as_ptr()) };
}

/// What one of the caches keeps.
pub struct Usage {
    pub entries: usize,
    pub bytes: usize,
    /// What was read or expanded in this session because it was not kept.
    pub loads: u64,
}

/// lsbf_cache: the usage of both caches.
fn cache(call: &Call) -> Result<Datum> {
    let mut rows = Rows::new(call, &[pg_sys::TEXTOID, pg_sys::INT8OID, pg_sys::INT8OID, pg_sys::INT8OID])?;
    for (kind, usage) in [("filters", filters::usage()), ("hash functions", engines::usage())] {
        let numbers = [usage.entries as u64, usage.bytes as u64, usage.loads].map(|number| Some(call::int8(number)));
        rows.put(&[Some(call::text(kind)), numbers[0], numbers[1], numbers[2]]);
    }
    Ok(Datum::null())
}
pg_function!("lsbf_cache" -> signature::ROW, cache);
