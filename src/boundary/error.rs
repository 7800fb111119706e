//! Reports errors and notices of the core to PostgreSQL.

use crate::boundary::encoding;
use lsbf::error::{Code, Error};
use pgrx::pg_sys::{self, ffi::pg_guard_ffi_boundary};
use pgrx::{PgLogLevel, PgSqlErrorCode};
use std::ffi::{c_char, c_int};

// From PostgreSQL's elog.h.
unsafe extern "C-unwind" {
    fn errstart(level: c_int, domain: *const c_char) -> bool;
    fn errcode(code: c_int) -> c_int;
    fn errmsg(format: *const c_char, ...) -> c_int;
    #[cfg(not(feature = "pg_test"))]
    fn errdetail(format: *const c_char, ...) -> c_int;
    fn errhint(format: *const c_char, ...) -> c_int;
    fn errfinish(file: *const c_char, line: c_int, function: *const c_char);
}

/// Raises an error: unwinds to [`run`](super::guard::run), which reports it.
pub fn raise(error: Error) -> ! {
    std::panic::resume_unwind(Box::new(error))
}

/// Sends a notice to the client.
pub fn notice(message: &str, hint: Option<&str>) {
    let report = Report::new(PgLogLevel::NOTICE, PgSqlErrorCode::ERRCODE_SUCCESSFUL_COMPLETION, message, hint);
    // SAFETY: an error raised while sending is caught here.
    unsafe { pg_guard_ffi_boundary(|| report.send()) };
}

fn sqlstate(code: Code) -> PgSqlErrorCode {
    match code {
        Code::Parameter => PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
        Code::Data => PgSqlErrorCode::ERRCODE_DATA_EXCEPTION,
        Code::Text => PgSqlErrorCode::ERRCODE_INVALID_TEXT_REPRESENTATION,
        Code::Binary => PgSqlErrorCode::ERRCODE_INVALID_BINARY_REPRESENTATION,
        Code::Encoding => PgSqlErrorCode::ERRCODE_CHARACTER_NOT_IN_REPERTOIRE,
        Code::TooLarge => PgSqlErrorCode::ERRCODE_PROGRAM_LIMIT_EXCEEDED,
        Code::OutOfMemory => PgSqlErrorCode::ERRCODE_OUT_OF_MEMORY,
        Code::NoTable => PgSqlErrorCode::ERRCODE_UNDEFINED_TABLE,
        Code::NoColumn => PgSqlErrorCode::ERRCODE_UNDEFINED_COLUMN,
        Code::Declaration => PgSqlErrorCode::ERRCODE_INVALID_FUNCTION_DEFINITION,
        Code::Changed => PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
        Code::Context => PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED,
        Code::WrongCall => PgSqlErrorCode::ERRCODE_WRONG_OBJECT_TYPE,
    }
}

/// A message whose texts are allocated by PostgreSQL: nothing has to be dropped when PostgreSQL jumps out of `send`.
#[derive(Clone, Copy)]
pub struct Report {
    level: PgLogLevel,
    code: PgSqlErrorCode,
    message: *const c_char,
    hint: *const c_char,
}

impl Report {
    fn new(level: PgLogLevel, code: PgSqlErrorCode, message: &str, hint: Option<&str>) -> Report {
        Report { level, code, message: c_string(message), hint: hint.map_or(std::ptr::null(), c_string) }
    }

    /// An error of the core.
    pub fn of(error: &Error) -> Report {
        Report::new(PgLogLevel::ERROR, sqlstate(error.code), &error.message, error.hint.as_deref())
    }

    /// Passes the message to PostgreSQL.
    ///
    /// # Safety
    /// An error jumps over the caller's frames: none of them may have anything to drop.
    pub unsafe fn send(self) {
        // SAFETY: the formats match their arguments; the texts end with a zero byte.
        unsafe {
            if errstart(self.level as c_int, std::ptr::null()) {
                errcode(self.code as c_int);
                errmsg(c"%s".as_ptr(), self.message);
                if !self.hint.is_null() {
                    errhint(c"%s".as_ptr(), self.hint);
                }
                errfinish(c"pg_lsbf".as_ptr(), 0, c"pg_lsbf".as_ptr());
            }
        }
    }
}

/// A copy in the current memory context and in the encoding of the database.
fn c_string(text: &str) -> *const c_char {
    let bytes: Vec<u8> = encoding::to_database(text).into_iter().filter(|&byte| byte != 0).collect();
    // SAFETY: the copy has one more byte than the text, for the terminating zero.
    unsafe {
        let copy = pg_sys::palloc0(bytes.len() + 1).cast::<u8>();
        copy.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
        copy.cast()
    }
}

/// Ends the session because no memory is left. FATAL only needs memory that PostgreSQL keeps in reserve, and exits the
/// process: no Rust frame is jumped over and used later.
#[cfg(not(feature = "pg_test"))]
#[cold]
pub fn end_session(size: usize) {
    // SAFETY: the format matches its argument; FATAL does not return.
    unsafe {
        if errstart(PgLogLevel::FATAL as c_int, std::ptr::null()) {
            errcode(PgSqlErrorCode::ERRCODE_OUT_OF_MEMORY as c_int);
            errmsg(c"out of memory".as_ptr());
            errdetail(c"Failed on request of size %zu in pg_lsbf.".as_ptr(), size);
        }
        errfinish(c"pg_lsbf".as_ptr(), 0, c"pg_lsbf".as_ptr());
    }
}
