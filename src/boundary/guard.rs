//! The boundary between PostgreSQL and Rust, which errors cross in both directions.
//!
//! PostgreSQL raises errors by `siglongjmp`, Rust unwinds. pgrx catches the jump of every call into PostgreSQL and
//! unwinds with a panic, but preserves only message, detail, hint and SQLSTATE of the error. [`run`] preserves all of
//! it: also the context lines of nested calls, such as functions of a view, and the names of schema, table, column,
//! data type and constraint. To do so it registers an error context callback, which PostgreSQL calls for every error
//! before it jumps. Errors of parallel workers do not pass the callback: they arrive with an interrupt, and
//! [`check_for_interrupts`] catches them itself.

use crate::boundary::call::Call;
use crate::boundary::error::Report;
use lsbf::error::{Error, Result};
use pgrx::pg_sys::panic::{CaughtError, ErrorReportWithLevel, pgrx_extern_c_guard};
use pgrx::pg_sys::{self, Datum, Oid};
use pgrx::{PgLogLevel, PgSqlErrorCode};
use std::any::Any;
use std::ffi::{CStr, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

// Declared here without pgrx's guard: these functions must jump, or are called where nothing may unwind.
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
    /// The context it is copied into, which lives as long as the call.
    context: pg_sys::MemoryContext,
}

/// How a call ended.
enum Outcome<T> {
    Value(T),
    /// An error of PostgreSQL that lacks the context lines of the callers.
    Raised(*mut pg_sys::ErrorData),
    /// An error of PostgreSQL that has them already.
    Complete(*mut pg_sys::ErrorData),
    /// An error of this extension.
    Report(Report),
    /// A panic, or an error that pgrx caught.
    Panic(Box<dyn Any + Send>),
}

/// Runs the body of a function that is called by PostgreSQL and returns type `result`.
#[inline]
pub fn run(fcinfo: pg_sys::FunctionCallInfo, result: Oid, body: impl FnOnce(&Call) -> Result<Datum>) -> Datum {
    callback(|| body(&call(fcinfo, result)))
}

/// The call that PostgreSQL makes.
#[inline]
fn call<'a>(fcinfo: pg_sys::FunctionCallInfo, result: Oid) -> Call<'a> {
    // SAFETY: PostgreSQL passes the call information, which outlives the call.
    unsafe { Call::new(fcinfo, result) }
}

/// Runs the body of a callback that may raise an error.
#[inline]
pub fn callback<T>(body: impl FnOnce() -> Result<T>) -> T {
    match attempt(body) {
        Outcome::Value(value) => return value,
        // SAFETY: nothing is left to be dropped, neither here nor in the function that PostgreSQL called.
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
fn attempt<T>(body: impl FnOnce() -> Result<T>) -> Outcome<T> {
    // SAFETY: the callback is removed from the stack before its frame ends, also if the body unwinds.
    unsafe {
        let mut raised = Raised { data: std::ptr::null_mut(), context: pg_sys::CurrentMemoryContext };
        let mut callback = pg_sys::ErrorContextCallback {
            previous: pg_sys::error_context_stack,
            callback: Some(keep),
            arg: (&raw mut raised).cast(),
        };
        pg_sys::error_context_stack = &mut callback;
        let result = catch_unwind(AssertUnwindSafe(body));
        pg_sys::error_context_stack = callback.previous;
        match result {
            Ok(Ok(value)) => Outcome::Value(value),
            Ok(Err(error)) => reported(&error),
            Err(panic) => unwound(panic, raised.data),
        }
    }
}

/// Copies an error. The context lines of this call's callers are added when it is thrown again.
unsafe extern "C-unwind" fn keep(argument: *mut c_void) {
    // SAFETY: the argument is set by `attempt`, whose frame exists while the callback is on the stack. PostgreSQL is
    // reporting an error, so that there is one to copy.
    unsafe {
        let raised = &mut *argument.cast::<Raised>();
        let before = pg_sys::MemoryContextSwitchTo(raised.context);
        let data = CopyErrorData();
        // PostgreSQL also calls this for notices, and for errors that are handled inside of the call.
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
fn reported<T>(error: &Error) -> Outcome<T> {
    match catch_unwind(AssertUnwindSafe(|| Report::of(error))) {
        Ok(report) => Outcome::Report(report),
        Err(panic) => Outcome::Panic(panic),
    }
}

#[cold]
fn unwound<T>(panic: Box<dyn Any + Send>, raised: *mut pg_sys::ErrorData) -> Outcome<T> {
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

/// Whether the error that was copied is the one that pgrx caught, and not one that was handled before.
fn is_same(raised: *mut pg_sys::ErrorData, report: &ErrorReportWithLevel) -> bool {
    // SAFETY: the error is null or a copy that still exists; its message is a C string.
    unsafe {
        raised.as_ref().is_some_and(|data| {
            PgSqlErrorCode::from(data.sqlerrcode) == report.sql_error_code()
                && !data.message.is_null()
                && CStr::from_ptr(data.message).to_string_lossy() == report.message()
        })
    }
}

/// An error that was caught with all of its fields.
struct Caught(*mut pg_sys::ErrorData);

// SAFETY: a backend has one thread.
unsafe impl Send for Caught {}

/// Checks for interrupts, and unwinds if one raises an error.
#[inline]
pub fn check_for_interrupts() {
    // SAFETY: reads a flag that signal handlers set.
    if unsafe { (&raw const pg_sys::InterruptPending).read_volatile() } != 0 {
        process_interrupts();
    }
}

#[cold]
fn process_interrupts() {
    // SAFETY: an error jumps to the caller of the closure, over frames that have nothing to drop. PostgreSQL's stacks
    // are restored afterwards.
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
            // The copy must outlive everything that is dropped while unwinding.
            pg_sys::CurrentMemoryContext = pg_sys::CurTransactionContext;
            let data = CopyErrorData();
            pg_sys::CurrentMemoryContext = context;
            FlushErrorState();
            resume_unwind(Box::new(Caught(data)));
        }
    }
}

/// Runs the body of a callback that must not raise an error.
pub fn contained(body: impl FnOnce()) {
    let _ = catch_unwind(AssertUnwindSafe(body));
}
