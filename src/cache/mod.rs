//! What a backend keeps between calls, and how much of it: expanded hash functions ([`crate::cache::engines`]), for as long as the
//! session lasts, and stored filters ([`crate::cache::stored`]), until the transaction ends. Together they stay within
//! `lsbf.cache_size`; only the filter and the functions in use are kept whatever their size.
//!
//! What does not fit is dropped by chance: of filters that are queried in turn, the least recently used one is needed next.

pub mod engines;
pub mod stored;

use crate::boundary::call::{self, Call, pg_function};
use crate::boundary::rows::Rows;
use crate::boundary::{guard, signature};
use crate::query::planner;
use crate::types::new;
use lsbf::error::Result;
use lsbf::mix::{mix, reduce};
use pgrx::pg_sys::{self, Datum};
use pgrx::{GucContext, GucFlags, GucRegistry, GucSetting};
use std::cell::Cell;
use std::ffi::c_void;

/// lsbf.cache_size, in kB.
static CACHE_SIZE: GucSetting<i32> = GucSetting::<i32>::new(128 << 10);
const LEAST_KB: i32 = 1 << 10;
const MOST_KB: i32 = i32::MAX;

/// Bytes that may be kept.
pub fn limit() -> usize {
    CACHE_SIZE.get() as usize * 1024
}

/// Draws one of `count`, the same in every run.
pub fn draw(count: usize) -> usize {
    thread_local! {
        static DRAWS: Cell<u64> = const { Cell::new(0) };
    }
    DRAWS.set(DRAWS.get() + 1);
    reduce(mix(0, DRAWS.get()), count as u64) as usize
}

/// Defines the setting, and has memory given back at the end of transactions and by DISCARD.
pub fn init() {
    GucRegistry::define_int_guc(
        c"lsbf.cache_size",
        c"Sets the memory that a session keeps for filters and their hash functions.",
        c"Stored filters are kept until the transaction ends, hash functions until the session ends or DISCARD ALL. The filter and the functions in use are kept whatever their size.",
        &CACHE_SIZE,
        LEAST_KB,
        MOST_KB,
        GucContext::Userset,
        GucFlags::UNIT_KB,
    );
    // SAFETY: called once, when the library is loaded; both functions live as long as the process.
    unsafe {
        pg_sys::MarkGUCPrefixReserved(c"lsbf".as_ptr());
        pg_sys::RegisterXactCallback(Some(at_transaction), std::ptr::null_mut());
        NEXT_HOOK.set(pg_sys::ProcessUtility_hook);
        pg_sys::ProcessUtility_hook = Some(at_utility);
    }
}

unsafe extern "C-unwind" fn at_transaction(event: pg_sys::XactEvent::Type, _: *mut c_void) {
    use pg_sys::XactEvent::*;
    if matches!(
        event,
        XACT_EVENT_COMMIT
            | XACT_EVENT_PARALLEL_COMMIT
            | XACT_EVENT_ABORT
            | XACT_EVENT_PARALLEL_ABORT
            | XACT_EVENT_PREPARE
    ) {
        guard::contained(|| {
            stored::release();
            planner::release();
            // The limit may have been lowered.
            if engines::held() > limit() {
                engines::make_room(limit());
            }
        });
    }
}

thread_local! {
    static NEXT_HOOK: Cell<pg_sys::ProcessUtility_hook_type> = const { Cell::new(None) };
}

// Bare, as its errors pass through a frame that has nothing to drop.
unsafe extern "C-unwind" {
    fn standard_ProcessUtility(
        statement: *mut pg_sys::PlannedStmt,
        query: *const std::ffi::c_char,
        read_only_tree: bool,
        context: pg_sys::ProcessUtilityContext::Type,
        params: pg_sys::ParamListInfo,
        environment: *mut pg_sys::QueryEnvironment,
        destination: *mut pg_sys::DestReceiver,
        completion: *mut pg_sys::QueryCompletion,
    );
}

/// DISCARD ALL and DISCARD PLANS give back what the session keeps. PostgreSQL has no other hook for them.
unsafe extern "C-unwind" fn at_utility(
    statement: *mut pg_sys::PlannedStmt,
    query: *const std::ffi::c_char,
    read_only_tree: bool,
    context: pg_sys::ProcessUtilityContext::Type,
    params: pg_sys::ParamListInfo,
    environment: *mut pg_sys::QueryEnvironment,
    destination: *mut pg_sys::DestReceiver,
    completion: *mut pg_sys::QueryCompletion,
) {
    // SAFETY: the statement is a utility statement, of the type its tag names. The others in the chain are called as this
    // function was.
    unsafe {
        let node = (*statement).utilityStmt;
        let discards = (*node).type_ == pg_sys::NodeTag::T_DiscardStmt && {
            use pg_sys::DiscardMode::*;
            matches!((*node.cast::<pg_sys::DiscardStmt>()).target, DISCARD_ALL | DISCARD_PLANS)
        };
        match NEXT_HOOK.get() {
            Some(next) => {
                next(statement, query, read_only_tree, context, params, environment, destination, completion);
            }
            None => standard_ProcessUtility(
                statement,
                query,
                read_only_tree,
                context,
                params,
                environment,
                destination,
                completion,
            ),
        }
        if discards {
            guard::contained(|| {
                engines::release();
                new::release();
            });
        }
    }
}

/// lsbf_cache: what this session keeps.
fn cache(call: &Call) -> Result<Datum> {
    let mut rows = Rows::new(call, &[pg_sys::TEXTOID, pg_sys::INT8OID, pg_sys::INT8OID])?;
    let kinds = [("filters", stored::kept()), ("hash functions", engines::kept())];
    for (kind, (entries, bytes)) in kinds {
        rows.put(&[Some(call::text(kind)), Some(call::int8(entries as u64)), Some(call::int8(bytes as u64))]);
    }
    Ok(Datum::null())
}
pg_function!(lsbf_cache -> signature::ROW, cache);
