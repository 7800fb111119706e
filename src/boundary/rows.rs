//! Results of functions that return rows.

use crate::boundary::call::Call;
use crate::boundary::signature;
use lsbf::error::{Code, Error, Result};
use pgrx::pg_sys::{self, Datum, Oid};

/// The descriptor of the rows that a function was declared to return. The columns must have these type codes.
fn descriptor(call: &Call, columns: &[Oid]) -> Result<pg_sys::TupleDesc> {
    let mut descriptor: pg_sys::TupleDesc = std::ptr::null_mut();
    // SAFETY: the descriptor is read only if there is one, and only the columns that it has.
    let declared: Vec<Oid> = unsafe {
        let class = pg_sys::get_call_result_type(call.fcinfo, std::ptr::null_mut(), &mut descriptor);
        let count = match class {
            pg_sys::TypeFuncClass::TYPEFUNC_COMPOSITE => (*descriptor).natts,
            _ => 0,
        };
        (1..=count).map(|number| signature::type_code(pg_sys::SPI_gettypeid(descriptor, number))).collect()
    };
    match declared == columns {
        true => Ok(descriptor),
        false => {
            Err(Error::new(Code::Declaration, "declared columns of the function do not match the columns it returns"))
        }
    }
}

/// A composite datum with these columns.
pub fn row(call: &Call, columns: &[Oid], values: &[Option<Datum>]) -> Result<Datum> {
    let descriptor = descriptor(call, columns)?;
    let (mut datums, mut nulls) = parts(values);
    // SAFETY: the descriptor has one column for each value, of its type.
    unsafe {
        let descriptor = pg_sys::BlessTupleDesc(descriptor);
        let tuple = pg_sys::heap_form_tuple(descriptor, datums.as_mut_ptr(), nulls.as_mut_ptr());
        Ok(pg_sys::HeapTupleHeaderGetDatum((*tuple).t_data))
    }
}

/// Values in the form that PostgreSQL takes: datums, and flags for those that are NULL.
fn parts(values: &[Option<Datum>]) -> (Vec<Datum>, Vec<bool>) {
    values.iter().map(|value| (value.unwrap_or(Datum::null()), value.is_none())).unzip()
}

/// The rows of a result, collected in a tuplestore that the executor reads.
pub struct Rows {
    store: *mut pg_sys::Tuplestorestate,
    descriptor: pg_sys::TupleDesc,
}

impl Rows {
    /// Starts the result of a function that returns rows with these columns.
    pub fn new(call: &Call, columns: &[Oid]) -> Result<Rows> {
        // SAFETY: a function that returns a set is called with a ReturnSetInfo, which says what the caller accepts. The
        // descriptor and the tuplestore live as long as the query, as the executor requires.
        unsafe {
            let info = (*call.fcinfo).resultinfo.cast::<pg_sys::ReturnSetInfo>();
            if info.is_null()
                || (*info).type_ != pg_sys::NodeTag::T_ReturnSetInfo
                || (*info).allowedModes & pg_sys::SetFunctionReturnMode::SFRM_Materialize as i32 == 0
            {
                return Err(Error::new(
                    Code::Context,
                    "set-valued function called in context that cannot accept a set",
                )
                .with_hint("Call the function in the FROM clause."));
            }
            let descriptor = descriptor(call, columns)?;
            let context = pg_sys::MemoryContextSwitchTo((*(*info).econtext).ecxt_per_query_memory);
            let descriptor = pg_sys::CreateTupleDescCopy(descriptor);
            let random = (*info).allowedModes & pg_sys::SetFunctionReturnMode::SFRM_Materialize_Random as i32 != 0;
            let store = pg_sys::tuplestore_begin_heap(random, false, pg_sys::work_mem);
            (*info).returnMode = pg_sys::SetFunctionReturnMode::SFRM_Materialize;
            (*info).setResult = store;
            (*info).setDesc = descriptor;
            pg_sys::MemoryContextSwitchTo(context);
            Ok(Rows { store, descriptor })
        }
    }

    /// Adds a row, one value for each column.
    pub fn put(&mut self, values: &[Option<Datum>]) {
        let (mut datums, mut nulls) = parts(values);
        // SAFETY: the descriptor has one column for each value, as checked by `new`.
        unsafe {
            pg_sys::tuplestore_putvalues(self.store, self.descriptor, datums.as_mut_ptr(), nulls.as_mut_ptr());
        }
    }
}
