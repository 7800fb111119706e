//! Errors of the core as PostgreSQL errors.

use crate::error::{Code, Error};
use pgrx::{PgLogLevel, PgSqlErrorCode};

/// A message in the database's encoding. Where that is not UTF-8, what users gave is shown by its ASCII characters.
fn shown(message: String) -> String {
    // SAFETY: a plain look at the database's setting.
    if unsafe { pgrx::pg_sys::GetDatabaseEncoding() } == pgrx::pg_sys::pg_enc::PG_UTF8 as i32 {
        return message;
    }
    message.chars().map(|c| if c.is_ascii() { c } else { '?' }).collect()
}

/// Raises an error.
pub fn raise(error: Error) -> ! {
    let code = match error.code {
        Code::Parameter => PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
        Code::Data => PgSqlErrorCode::ERRCODE_DATA_EXCEPTION,
        Code::Text => PgSqlErrorCode::ERRCODE_INVALID_TEXT_REPRESENTATION,
        Code::Binary => PgSqlErrorCode::ERRCODE_INVALID_BINARY_REPRESENTATION,
        Code::TooLarge => PgSqlErrorCode::ERRCODE_PROGRAM_LIMIT_EXCEEDED,
        Code::OutOfMemory => PgSqlErrorCode::ERRCODE_OUT_OF_MEMORY,
        Code::NoTable => PgSqlErrorCode::ERRCODE_UNDEFINED_TABLE,
        Code::NoColumn => PgSqlErrorCode::ERRCODE_UNDEFINED_COLUMN,
    };
    let mut report = pgrx::pg_sys::panic::ErrorReport::new(code, shown(error.message), "pg_lsbf");
    if let Some(hint) = error.hint {
        report = report.set_hint(hint);
    }
    report.report(PgLogLevel::ERROR);
    unreachable!("an error was raised");
}

/// Tells something without raising an error.
pub fn notice(message: &str, hint: Option<&str>) {
    let code = PgSqlErrorCode::ERRCODE_SUCCESSFUL_COMPLETION;
    let mut report = pgrx::pg_sys::panic::ErrorReport::new(code, shown(message.into()), "pg_lsbf");
    if let Some(hint) = hint {
        report = report.set_hint(shown(hint.into()));
    }
    report.report(PgLogLevel::NOTICE);
}
