//! Releases memory at the end of a transaction and on DISCARD.

use crate::boundary::guard;
use crate::cache::{self, engines, filters};
use crate::query::planner;
use crate::types::new;
use pgrx::pg_sys;
use std::cell::Cell;
use std::ffi::c_void;

/// Registers both hooks, once, when the library is loaded.
pub fn init() {
    // SAFETY: both functions exist as long as the process.
    unsafe {
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
            filters::release();
            planner::release();
            // The limit may have been lowered.
            if engines::held() > cache::limit() {
                engines::shrink(cache::limit());
            }
        });
    }
}

thread_local! {
    static NEXT_HOOK: Cell<pg_sys::ProcessUtility_hook_type> = const { Cell::new(None) };
}

// Declared here without pgrx's guard: its errors pass through a frame that has nothing to drop.
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

/// Runs a utility statement. DISCARD ALL and DISCARD PLANS then release what the session keeps: PostgreSQL has no other
/// hook for them.
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
    // SAFETY: the statement is a utility statement of the type that its tag names. The next hook is called with the
    // same arguments.
    unsafe {
        let node = (*statement).utilityStmt;
        let discards = (*node).type_ == pg_sys::NodeTag::T_DiscardStmt && {
            use pg_sys::DiscardMode::*;
            matches!((*node.cast::<pg_sys::DiscardStmt>()).target, DISCARD_ALL | DISCARD_PLANS)
        };
        let next = NEXT_HOOK.get().unwrap_or(standard_ProcessUtility);
        next(statement, query, read_only_tree, context, params, environment, destination, completion);
        if discards {
            guard::contained(|| {
                engines::release();
                new::release();
                lsbf::rates::release();
            });
        }
    }
}
