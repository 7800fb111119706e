//! The border between PostgreSQL and Rust, which errors cross in both directions.
//!
//! PostgreSQL raises errors by `siglongjmp`, Rust unwinds. pgrx stops the jump of every call into PostgreSQL and unwinds with a
//! panic; what it keeps of the error are message, detail, hint and SQLSTATE. [`run`] keeps all of it: the context lines
//! of what ran inside, such as functions of a view, and the names of schema, table, column, data type and constraint.
//! It does so by standing in the stack of error contexts, where PostgreSQL shows every error before it jumps. Errors of
//! parallel workers are not shown there: they arrive with an interrupt, which [`check_for_interrupts`] catches itself.

use crate::boundary::call::Call;
use crate::boundary::error::Report;
use lsbf::error::{Error, Result};
use pgrx::pg_sys::panic::{CaughtError, ErrorReportWithLevel, pgrx_extern_c_guard};
use pgrx::pg_sys::{self, Datum, Oid};
use pgrx::{PgLogLevel, PgSqlErrorCode};
use std::any::Any;
use std::ffi::{CStr, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

// Bare, as they must jump, or be called where nothing may be unwound.
unsafe extern "C-unwind" {
    fn CopyErrorData() -> *mut pg_sys::ErrorData;
    fn FreeErrorData(data: *mut pg_sys::ErrorData);
    fn ThrowErrorData(data: *mut pg_sys::ErrorData);
    fn ReThrowError(data: *mut pg_sys::ErrorData);
    fn FlushErrorState();
    fn ProcessInterrupts();
}

/// The last error that PostgreSQL raised during a call.
struct Raised {
    data: *mut pg_sys::ErrorData,
    /// What it is copied into: it lives as long as the call.
    context: pg_sys::MemoryContext,
}

/// How a call ended.
enum Outcome {
    Value(Datum),
    /// An error of PostgreSQL's, to which the contexts of the callers are to be added.
    Raised(*mut pg_sys::ErrorData),
    /// One that has them already.
    Complete(*mut pg_sys::ErrorData),
    /// An error of ours.
    Report(Report),
    /// A panic, or what pgrx made of an error.
    Panic(Box<dyn Any + Send>),
}

/// Runs the body of a function that PostgreSQL calls and that returns a type.
pub fn run(fcinfo: pg_sys::FunctionCallInfo, result: Oid, body: impl FnOnce(&Call) -> Result<Datum>) -> Datum {
    match attempt(fcinfo, result, body) {
        Outcome::Value(datum) => return datum,
        // SAFETY: nothing is left to be dropped, here or in what PostgreSQL called.
        Outcome::Raised(data) => unsafe { ThrowErrorData(data) },
        // SAFETY: as above.
        Outcome::Complete(data) => unsafe { ReThrowError(data) },
        // SAFETY: as above.
        Outcome::Report(report) => unsafe { report.send() },
        // SAFETY: as above; the panic is dropped within.
        Outcome::Panic(panic) => unsafe { pgrx_extern_c_guard(|| resume_unwind(panic)) },
    }
    unreachable!("an error was raised")
}

#[inline]
fn attempt(fcinfo: pg_sys::FunctionCallInfo, result: Oid, body: impl FnOnce(&Call) -> Result<Datum>) -> Outcome {
    // SAFETY: the callback is taken off the stack before its frame ends, whatever happens in between.
    unsafe {
        let mut raised = Raised { data: std::ptr::null_mut(), context: pg_sys::CurrentMemoryContext };
        let mut callback = pg_sys::ErrorContextCallback {
            previous: pg_sys::error_context_stack,
            callback: Some(keep),
            arg: (&raw mut raised).cast(),
        };
        pg_sys::error_context_stack = &mut callback;
        let result = catch_unwind(AssertUnwindSafe(|| body(&Call::new(fcinfo, result))));
        pg_sys::error_context_stack = callback.previous;
        match result {
            Ok(Ok(datum)) => Outcome::Value(datum),
            Ok(Err(error)) => reported(&error),
            Err(panic) => unwound(panic, raised.data),
        }
    }
}

/// Keeps an error as it is so far. The contexts of this call's callers follow when it is thrown again.
unsafe extern "C-unwind" fn keep(argument: *mut c_void) {
    // SAFETY: the argument is that of `attempt`, whose frame is alive while the callback is on the stack. PostgreSQL is
    // reporting, so there is something to copy.
    unsafe {
        let raised = &mut *argument.cast::<Raised>();
        let before = pg_sys::MemoryContextSwitchTo(raised.context);
        let data = CopyErrorData();
        // Notices are shown here, too, and errors that are handled within.
        let replaced = match (*data).elevel >= PgLogLevel::ERROR as i32 {
            true => std::mem::replace(&mut raised.data, data),
            false => data,
        };
        if !replaced.is_null() {
            FreeErrorData(replaced);
        }
        pg_sys::MemoryContextSwitchTo(before);
    }
}

#[cold]
fn reported(error: &Error) -> Outcome {
    match catch_unwind(AssertUnwindSafe(|| Report::of(error))) {
        Ok(report) => Outcome::Report(report),
        Err(panic) => Outcome::Panic(panic),
    }
}

#[cold]
fn unwound(panic: Box<dyn Any + Send>, raised: *mut pg_sys::ErrorData) -> Outcome {
    if let Some(error) = panic.downcast_ref::<Error>() {
        return reported(error);
    }
    if let Some(caught) = panic.downcast_ref::<Caught>() {
        return Outcome::Complete(caught.0);
    }
    match panic.downcast_ref::<CaughtError>() {
        Some(CaughtError::PostgresError(report)) if is_same(raised, report) => Outcome::Raised(raised),
        _ => Outcome::Panic(panic),
    }
}

/// Whether the error that was kept is the one that pgrx caught: not one that was handled before.
fn is_same(raised: *mut pg_sys::ErrorData, report: &ErrorReportWithLevel) -> bool {
    // SAFETY: the error is null or a copy that is still there; its message is a C string.
    unsafe {
        raised.as_ref().is_some_and(|data| {
            PgSqlErrorCode::from(data.sqlerrcode) == report.sql_error_code()
                && !data.message.is_null()
                && CStr::from_ptr(data.message).to_string_lossy() == report.message()
        })
    }
}

/// An error that was caught whole.
struct Caught(*mut pg_sys::ErrorData);

// SAFETY: a backend has one thread.
unsafe impl Send for Caught {}

/// Checks for interrupts, and unwinds where there is one.
#[inline]
pub fn check_for_interrupts() {
    // SAFETY: a flag that signal handlers set.
    if unsafe { (&raw const pg_sys::InterruptPending).read_volatile() } != 0 {
        process_interrupts();
    }
}

#[cold]
fn process_interrupts() {
    // SAFETY: what PostgreSQL raises jumps to the closure's caller, over frames that have nothing to drop. Its stacks are then as
    // they were before the call.
    unsafe {
        let (context, exceptions) = (pg_sys::CurrentMemoryContext, pg_sys::PG_exception_stack);
        let contexts = pg_sys::error_context_stack;
        let jumped = cee_scape::call_with_sigsetjmp(false, |place| {
            pg_sys::PG_exception_stack = std::ptr::from_ref(place).cast_mut().cast();
            ProcessInterrupts();
            0
        });
        (pg_sys::PG_exception_stack, pg_sys::error_context_stack) = (exceptions, contexts);
        if jumped != 0 {
            // A copy that outlives what is dropped on the way to the border of the call.
            pg_sys::CurrentMemoryContext = pg_sys::CurTransactionContext;
            let data = CopyErrorData();
            pg_sys::CurrentMemoryContext = context;
            FlushErrorState();
            resume_unwind(Box::new(Caught(data)));
        }
    }
}

/// Runs what PostgreSQL calls where no error may be raised.
pub fn contained(body: impl FnOnce()) {
    let _ = catch_unwind(AssertUnwindSafe(body));
}
