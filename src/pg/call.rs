//! A call from PostgreSQL: arguments, results, memory.

use super::error::raise;
use crate::error::{Error, Result};
use pgrx::pg_sys::{self, Datum};
use std::ptr::NonNull;

/// The arguments and surroundings of one function call.
pub struct Call(pub pg_sys::FunctionCallInfo);

impl Call {
    /// An argument, unless it is NULL.
    pub fn arg(&self, n: usize) -> Option<Datum> {
        // SAFETY: PostgreSQL passes `nargs` arguments, and `n` is below the count declared in sql/.
        unsafe {
            let call = &*self.0;
            let args = call.args.as_slice(call.nargs as usize);
            args.get(n).filter(|arg| !arg.isnull).map(|arg| arg.value)
        }
    }

    /// An argument of a strict function.
    pub fn required(&self, n: usize) -> Datum {
        self.arg(n).unwrap_or_else(|| raise(Error::parameter(format!("argument {} must not be null", n + 1))))
    }

    pub fn float8(&self, n: usize) -> Option<f64> {
        self.arg(n).map(|datum| f64::from_bits(datum.value() as u64))
    }

    pub fn int4(&self, n: usize) -> Option<i64> {
        self.arg(n).map(|datum| i64::from(datum.value() as i32))
    }

    pub fn int8(&self, n: usize) -> Option<i64> {
        self.arg(n).map(|datum| datum.value() as i64)
    }

    pub fn boolean(&self, n: usize) -> Option<bool> {
        self.arg(n).map(|datum| datum.value() as u8 != 0)
    }

    pub fn text(&self, n: usize) -> Option<&str> {
        self.arg(n).map(super::input::text)
    }

    /// Returns NULL.
    pub fn null(&self) -> Datum {
        // SAFETY: PostgreSQL's call information is ours to answer through.
        unsafe { (*self.0).isnull = true };
        Datum::null()
    }

    /// Whether this is a transition or combine call of an aggregate, whose first argument is ours to change.
    pub fn in_aggregate(&self) -> bool {
        // SAFETY: a plain look at the call's context, as AggCheckCallContext takes.
        unsafe {
            let context = (*self.0).context;
            !context.is_null()
                && matches!((*context).type_, pg_sys::NodeTag::T_AggState | pg_sys::NodeTag::T_WindowAggState)
        }
    }

    /// The function's lookup record, which lives as long as the statement; none where the caller made none.
    pub fn lookup(&self) -> Option<NonNull<pg_sys::FmgrInfo>> {
        // SAFETY: PostgreSQL's call information is alive during the call.
        unsafe { NonNull::new((*self.0).flinfo) }
    }
}

/// Datums of results.
pub fn float8(value: f64) -> Datum {
    Datum::from(value.to_bits())
}

pub fn boolean(value: bool) -> Datum {
    Datum::from(usize::from(value))
}

pub fn int4(value: u32) -> Datum {
    Datum::from(value as i32)
}

pub fn int8(value: u64) -> Datum {
    Datum::from(value.min(i64::MAX as u64) as i64)
}

/// A `text` datum.
pub fn text(value: &str) -> Datum {
    // SAFETY: the bytes are copied; the length is that of the string.
    unsafe { Datum::from(pg_sys::cstring_to_text_with_len(value.as_ptr().cast(), value.len() as i32)) }
}

/// Runs a function of this extension and raises what it returns as an error, after its values were dropped.
pub fn run(fcinfo: pg_sys::FunctionCallInfo, body: impl FnOnce(&Call) -> Result<Datum>) -> Datum {
    match body(&Call(fcinfo)) {
        Ok(datum) => datum,
        Err(error) => raise(error),
    }
}

/// Defines an SQL-callable function: `pg_function!(name, |call| ...)`, with `AS 'MODULE_PATHNAME', 'name'` in sql/.
/// `pg_function!(name, before, |call| ...)` calls `before` first, where errors of PostgreSQL pass as they are.
macro_rules! pg_function {
    ($name:ident, $body:expr) => {
        const _: () = {
    $crate::pg::call::pg_function!(@version $name);
            #[unsafe(export_name = stringify!($name))]
            #[pgrx::pg_guard]
            extern "C-unwind" fn function(fcinfo: pgrx::pg_sys::FunctionCallInfo) -> pgrx::pg_sys::Datum {
                $crate::pg::call::run(fcinfo, $body)
            }
        };
    };
    ($name:ident, $before:path, $body:expr) => {
        const _: () = {
    $crate::pg::call::pg_function!(@version $name);
            #[unsafe(export_name = stringify!($name))]
            extern "C-unwind" fn function(fcinfo: pgrx::pg_sys::FunctionCallInfo) -> pgrx::pg_sys::Datum {
                $before(fcinfo);
                guarded(fcinfo)
            }
            #[pgrx::pg_guard]
            extern "C-unwind" fn guarded(fcinfo: pgrx::pg_sys::FunctionCallInfo) -> pgrx::pg_sys::Datum {
                $crate::pg::call::run(fcinfo, $body)
            }
        };
    };
    (@version $name:ident) => {
        #[unsafe(export_name = concat!("pg_finfo_", stringify!($name)))]
        extern "C" fn version() -> &'static pgrx::pg_sys::Pg_finfo_record {
            const V1: pgrx::pg_sys::Pg_finfo_record = pgrx::pg_sys::Pg_finfo_record { api_version: 1 };
            &V1
        }
    };
}
pub(crate) use pg_function;
