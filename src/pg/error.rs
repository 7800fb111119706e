//! Errors of the core as PostgreSQL errors.

use crate::error::{Code, Error};
use pgrx::{PgLogLevel, PgSqlErrorCode};

/// Raises an error.
pub fn raise(error: Error) -> ! {
    let code = match error.code {
        Code::Parameter => PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
        Code::Data => PgSqlErrorCode::ERRCODE_DATA_EXCEPTION,
        Code::Text => PgSqlErrorCode::ERRCODE_INVALID_TEXT_REPRESENTATION,
        Code::Binary => PgSqlErrorCode::ERRCODE_INVALID_BINARY_REPRESENTATION,
        Code::TooLarge => PgSqlErrorCode::ERRCODE_PROGRAM_LIMIT_EXCEEDED,
        Code::OutOfMemory => PgSqlErrorCode::ERRCODE_OUT_OF_MEMORY,
    };
    let mut report = pgrx::pg_sys::panic::ErrorReport::new(code, error.message, "pg_lsbf");
    if let Some(hint) = error.hint {
        report = report.set_hint(hint);
    }
    report.report(PgLogLevel::ERROR);
    unreachable!("an error was raised");
}
