//! A function call from PostgreSQL: its arguments and its result.

use crate::boundary::error::raise;
use crate::boundary::signature::{self, Signature};
use lsbf::error::Error;
use pgrx::pg_sys::{self, Datum, Oid};

/// The arguments and the context of one function call.
pub struct Call<'a> {
    pub fcinfo: pg_sys::FunctionCallInfo,
    /// The types that the function was declared with; `None` if the caller did not look it up.
    signature: Option<&'a Signature>,
}

impl Call<'_> {
    /// A call of a function that returns type `result`.
    ///
    /// # Safety
    /// The call information must come from PostgreSQL and outlive the result.
    #[inline]
    pub unsafe fn new(fcinfo: pg_sys::FunctionCallInfo, result: Oid) -> Self {
        // SAFETY: guaranteed by the caller.
        let call = Call { fcinfo, signature: unsafe { Signature::of((*fcinfo).flinfo) } };
        if call.signature.is_some_and(|signature| signature.result != result) {
            raise(signature::wrong_result(&call));
        }
        call
    }

    /// Whether an argument is NULL or missing.
    #[inline]
    pub fn is_null(&self, n: usize) -> bool {
        self.value(n).is_none()
    }

    #[inline]
    fn value(&self, n: usize) -> Option<Datum> {
        // SAFETY: PostgreSQL passes `nargs` arguments.
        unsafe {
            let call = &*self.fcinfo;
            let args = call.args.as_slice(call.nargs as usize);
            args.get(n).filter(|arg| !arg.isnull).map(|arg| arg.value)
        }
    }

    /// An argument that was declared with one of these types; `None` if it is NULL.
    #[inline]
    pub fn arg(&self, n: usize, types: &[Oid]) -> Option<Datum> {
        let value = self.value(n)?;
        match self.signature {
            Some(signature) if !types.iter().any(|&type_| signature.has(n, type_)) => {
                raise(signature::wrong_argument(self, n))
            }
            _ => Some(value),
        }
    }

    /// An argument of a strict function.
    #[inline]
    pub fn required(&self, n: usize, types: &[Oid]) -> Datum {
        self.arg(n, types).unwrap_or_else(|| raise(Error::parameter(format!("argument {} must not be null", n + 1))))
    }

    /// A filter; `None` if it is NULL.
    #[inline]
    pub fn filter(&self, n: usize) -> Option<Datum> {
        self.arg(n, &[signature::LSBF])
    }

    /// The filter of a strict function.
    #[inline]
    pub fn required_filter(&self, n: usize) -> Datum {
        self.required(n, &[signature::LSBF])
    }

    pub fn float8(&self, n: usize) -> Option<f64> {
        self.arg(n, &[pg_sys::FLOAT8OID]).map(|datum| f64::from_bits(datum.value() as u64))
    }

    pub fn int4(&self, n: usize) -> Option<i64> {
        self.arg(n, &[pg_sys::INT4OID]).map(|datum| i64::from(datum.value() as i32))
    }

    pub fn int8(&self, n: usize) -> Option<i64> {
        self.arg(n, &[pg_sys::INT8OID]).map(|datum| datum.value() as i64)
    }

    pub fn boolean(&self, n: usize) -> Option<bool> {
        self.arg(n, &[pg_sys::BOOLOID]).map(|datum| datum.value() as u8 != 0)
    }

    pub fn text(&self, n: usize) -> Option<&str> {
        self.arg(n, &[pg_sys::TEXTOID]).map(crate::boundary::varlena::text)
    }

    /// Returns NULL.
    pub fn null(&self) -> Datum {
        // SAFETY: the result is returned through the call information.
        unsafe { (*self.fcinfo).isnull = true };
        Datum::null()
    }

    /// Whether this is a transition or combine call of an aggregate, which may modify its first argument.
    pub fn in_aggregate(&self) -> bool {
        // SAFETY: only reads the node tag of the context, as AggCheckCallContext does.
        unsafe {
            let context = (*self.fcinfo).context;
            !context.is_null()
                && matches!((*context).type_, pg_sys::NodeTag::T_AggState | pg_sys::NodeTag::T_WindowAggState)
        }
    }

    /// The function's lookup record, which lives as long as the statement; `None` if the caller did not look it up.
    pub fn lookup(&self) -> Option<&pg_sys::FmgrInfo> {
        // SAFETY: the call information is valid during the call.
        unsafe { (*self.fcinfo).flinfo.as_ref() }
    }
}

/// A `double precision` datum.
pub fn float8(value: f64) -> Datum {
    Datum::from(value.to_bits())
}

/// A `boolean` datum.
pub fn boolean(value: bool) -> Datum {
    Datum::from(usize::from(value))
}

/// An `integer` datum.
pub fn int4(value: u32) -> Datum {
    Datum::from(value as i32)
}

/// A `bigint` datum.
pub fn int8(value: u64) -> Datum {
    Datum::from(value.min(i64::MAX as u64) as i64)
}

/// A `text` datum.
pub fn text(value: &str) -> Datum {
    // SAFETY: the bytes are copied; the length is that of the string.
    unsafe { Datum::from(pg_sys::cstring_to_text_with_len(value.as_ptr().cast(), value.len() as i32)) }
}

/// Defines an SQL-callable function: `pg_function!("name" -> type, |call| ...)`, which sql/ declares with
/// `AS 'MODULE_PATHNAME', 'name'` and that result type. The name can have several parts. A function in brackets after
/// it is called first, outside of the guard: errors that PostgreSQL raises there pass unchanged.
macro_rules! pg_function {
    ($($name:literal)+ $([$before:path])? -> $result:expr, $body:expr) => {
        const _: () = {
            #[unsafe(export_name = concat!("pg_finfo_", $($name),+))]
            extern "C" fn version() -> &'static pgrx::pg_sys::Pg_finfo_record {
                const V1: pgrx::pg_sys::Pg_finfo_record = pgrx::pg_sys::Pg_finfo_record { api_version: 1 };
                &V1
            }

            #[unsafe(export_name = concat!($($name),+))]
            extern "C-unwind" fn function(fcinfo: pgrx::pg_sys::FunctionCallInfo) -> pgrx::pg_sys::Datum {
                $($before(fcinfo);)?
                $crate::boundary::guard::run(fcinfo, $result, $body)
            }
        };
    };
}
pub(crate) use pg_function;
