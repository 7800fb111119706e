//! Functions that return many rows.

use super::call::Call;
use crate::error::{Error, Result};
use pgrx::pg_sys::{self, Datum};

/// The rows of a result, collected in a tuplestore that the executor reads.
pub struct Rows {
    store: *mut pg_sys::Tuplestorestate,
    descriptor: pg_sys::TupleDesc,
}

impl Rows {
    /// Opens the result of a function that was declared to return rows of so many columns.
    pub fn new(call: &Call, columns: usize) -> Result<Rows> {
        // SAFETY: a function that returns a set is called with a ReturnSetInfo, which says what the caller can take; what is
        // made here lives as long as the query, as the executor asks for.
        unsafe {
            let info = (*call.fcinfo).resultinfo.cast::<pg_sys::ReturnSetInfo>();
            if info.is_null()
                || (*info).type_ != pg_sys::NodeTag::T_ReturnSetInfo
                || (*info).allowedModes & pg_sys::SetFunctionReturnMode::SFRM_Materialize as i32 == 0
            {
                return Err(
                    Error::parameter("a set of rows cannot be returned here").with_hint("Call the function in FROM.")
                );
            }
            let context = pg_sys::MemoryContextSwitchTo((*(*info).econtext).ecxt_per_query_memory);
            let mut descriptor: pg_sys::TupleDesc = std::ptr::null_mut();
            let class = pg_sys::get_call_result_type(call.fcinfo, std::ptr::null_mut(), &mut descriptor);
            if class != pg_sys::TypeFuncClass::TYPEFUNC_COMPOSITE || (*descriptor).natts as usize != columns {
                pg_sys::MemoryContextSwitchTo(context);
                return Err(Error::parameter("function was declared with other columns"));
            }
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
        let mut datums: Vec<Datum> = values.iter().map(|v| v.unwrap_or(Datum::null())).collect();
        let mut nulls: Vec<bool> = values.iter().map(Option::is_none).collect();
        // SAFETY: the descriptor has one column for each value, as was checked when the result was opened.
        unsafe {
            pg_sys::tuplestore_putvalues(self.store, self.descriptor, datums.as_mut_ptr(), nulls.as_mut_ptr());
        }
    }
}
