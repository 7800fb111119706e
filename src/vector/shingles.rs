//! lsbf_shingles: converts documents to sets.

use crate::boundary::call::pg_function;
use lsbf::hash::shingles::{Unit, shingles};
use pgrx::pg_sys::{self, Datum};

pg_function!("lsbf_shingles" -> pg_sys::INT8ARRAYOID, |call| {
    let unit = call.text(2).map_or(Ok(Unit::Characters), Unit::parse)?;
    let document = crate::boundary::varlena::text(call.required(0, &[pg_sys::TEXTOID]));
    let hashes = shingles(document, call.int4(1).unwrap_or(5), unit)?;
    // An empty set is near no other set. NULL lets aggregates skip it.
    if hashes.is_empty() {
        return Ok(call.null());
    }
    let mut elements: Vec<Datum> = hashes.into_iter().map(Datum::from).collect();
    // SAFETY: the elements are eight bytes each, passed by value, of type bigint.
    let array = unsafe {
        let count = elements.len() as i32;
        pg_sys::construct_array(elements.as_mut_ptr(), count, pg_sys::INT8OID, 8, true, b'd' as _)
    };
    Ok(Datum::from(array))
});
