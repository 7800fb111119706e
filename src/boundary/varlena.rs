//! Values of variable length, detoasted only if necessary.

use super::encoding;
use pgrx::pg_sys::{self, Datum};
use pgrx::varlena::{
    varatt_is_1b, varatt_is_1b_e, varatt_is_4b_u, vardata_4b, vardata_any, varsize_4b, varsize_any_exhdr,
};

/// A value with a four-byte header: the datum itself if it has one, which is the usual case, or else a detoasted copy
/// in the current memory context. The header is tested here because a call into PostgreSQL takes as long as reading a
/// short vector.
#[inline]
pub fn detoasted(datum: Datum) -> *mut pg_sys::varlena {
    let value = datum.cast_mut_ptr();
    // SAFETY: the datum is a varlena.
    unsafe { if varatt_is_4b_u(value) { value } else { pg_sys::pg_detoast_datum(value) } }
}

/// The bytes after the header of a value, in place unless it is toasted.
#[inline]
pub fn bytes<'a>(datum: Datum) -> &'a [u8] {
    // SAFETY: the datum is a varlena; the result is in the tuple or in the current memory context.
    unsafe {
        let value = datum.cast_mut_ptr();
        match varatt_is_4b_u(value) {
            true => std::slice::from_raw_parts(vardata_4b(value).cast(), varsize_4b(value) - pg_sys::VARHDRSZ),
            false => packed_bytes(value),
        }
    }
}

/// The bytes of a value that does not have the header of a value in memory.
///
/// # Safety
/// The value must be a varlena.
unsafe fn packed_bytes<'a>(value: *mut pg_sys::varlena) -> &'a [u8] {
    // SAFETY: guaranteed by the caller; the result is in the tuple or in the current memory context.
    unsafe {
        let is_plain = varatt_is_1b(value) && !varatt_is_1b_e(value);
        let plain = if is_plain { value } else { pg_sys::pg_detoast_datum_packed(value) };
        std::slice::from_raw_parts(vardata_any(plain).cast(), varsize_any_exhdr(plain))
    }
}

/// A `text` datum as UTF-8.
#[inline]
pub fn text<'a>(datum: Datum) -> &'a str {
    encoding::to_utf8(bytes(datum))
}
