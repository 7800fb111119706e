//! Vectors read in place from arrays, bit strings, bytea and text.

use crate::boundary::call::Call;
use crate::boundary::varlena::{bytes, detoasted, text};
pub use crate::vector::pgvector::{halfvec, sparsevec, vector};
use lsbf::error::{Code, Error, Result};
use lsbf::prefetch::prefetch_bytes;
use lsbf::vector::Vector;
use lsbf::vector::set::text_element;
use pgrx::pg_sys::{self, Datum};
use pgrx::varlena::varsize_any;

/// Reads an argument of one SQL type as a vector that lives as long as the call.
pub type Read = for<'a> fn(&'a Call<'_>, usize) -> Result<Vector<'a>>;

/// Prefetches a vector, so that it is loaded while the filter is looked up, and what is before it: a page is filled from its
/// end, so that a scan usually reads the row before this one next.
#[inline]
pub fn prefetch(vector: &Vector) {
    vector.extent().into_iter().for_each(|(address, bytes)| {
        prefetch_bytes(address, bytes);
        prefetch_bytes(address.wrapping_sub(bytes + ROW_HEADER), bytes);
    });
}

/// About the bytes of a row before a vector: the row's header and a key.
const ROW_HEADER: usize = 40;

pub fn untyped<'a>(call: &'a Call<'_>, n: usize) -> Result<Vector<'a>> {
    Ok(Vector::Text(text(call.required(n, &[pg_sys::TEXTOID]))))
}

pub fn bytea<'a>(call: &'a Call<'_>, n: usize) -> Result<Vector<'a>> {
    Ok(Vector::Bytes(bytes(call.required(n, &[pg_sys::BYTEAOID]))))
}

pub fn bits<'a>(call: &'a Call<'_>, n: usize) -> Result<Vector<'a>> {
    bit_string(call.required(n, &[pg_sys::BITOID, pg_sys::VARBITOID]))
}

fn bit_string<'a>(datum: Datum) -> Result<Vector<'a>> {
    let invalid = || Error::new(Code::Binary, "not a valid bit string");
    let (len, bytes) = bytes(datum).split_first_chunk().ok_or_else(invalid)?;
    let len = usize::try_from(i32::from_ne_bytes(*len)).map_err(|_| invalid())?;
    if bytes.len() != len.div_ceil(8) {
        return Err(invalid());
    }
    Ok(Vector::Bits { bytes, len })
}

/// A fixed-size element type of arrays.
trait Element {
    const TYPE: pg_sys::Oid;
}
impl Element for f32 {
    const TYPE: pg_sys::Oid = pg_sys::FLOAT4OID;
}
impl Element for f64 {
    const TYPE: pg_sys::Oid = pg_sys::FLOAT8OID;
}
impl Element for i32 {
    const TYPE: pg_sys::Oid = pg_sys::INT4OID;
}
impl Element for i64 {
    const TYPE: pg_sys::Oid = pg_sys::INT8OID;
}

/// The elements of an array of a fixed-size type: one dimension, no NULLs.
fn elements<'a, T: Element>(datum: Datum) -> Result<&'a [T]> {
    let array = array(datum, T::TYPE)?;
    // SAFETY: `array` checked shape and element type; the data are aligned, and checked to be inside of the value.
    unsafe {
        let count = if (*array).ndim == 0 { 0 } else { *dims(array) as usize };
        let start = data(array);
        let room = varsize_any(array.cast()).saturating_sub(start.offset_from_unsigned(array.cast()));
        if count > room / size_of::<T>() {
            return Err(Error::new(Code::Binary, "not a valid array"));
        }
        Ok(std::slice::from_raw_parts(start.cast(), count))
    }
}

unsafe fn dims(array: *const pg_sys::ArrayType) -> *const i32 {
    // SAFETY: the dimensions follow the fixed part.
    unsafe { array.add(1).cast() }
}

unsafe fn data(array: *const pg_sys::ArrayType) -> *const u8 {
    // SAFETY: the data follow the dimensions, or the null bitmap if there is one.
    unsafe {
        let offset = match (*array).dataoffset {
            0 => (size_of::<pg_sys::ArrayType>() + 8 * (*array).ndim as usize).next_multiple_of(8),
            offset => offset as usize,
        };
        array.cast::<u8>().add(offset)
    }
}

/// An array with this element type: one dimension, no NULLs.
fn array(datum: Datum, element: pg_sys::Oid) -> Result<*const pg_sys::ArrayType> {
    // SAFETY: the datum is an array; detoasted, it is aligned and has a four-byte header.
    unsafe {
        let array = detoasted(datum).cast::<pg_sys::ArrayType>();
        if (*array).elemtype != element {
            return Err(Error::new(Code::Binary, "not a valid array: its elements are of another type"));
        }
        if (*array).ndim > 1 {
            return Err(Error::data(format!("expected an array of one dimension, not {}", (*array).ndim)));
        }
        if (*array).dataoffset != 0 && pg_sys::array_contains_nulls(array) {
            return Err(Error::data("array must not contain nulls"));
        }
        Ok(array)
    }
}

pub fn float4s<'a>(call: &'a Call<'_>, n: usize) -> Result<Vector<'a>> {
    elements(call.required(n, &[pg_sys::FLOAT4ARRAYOID])).map(Vector::F32)
}

pub fn float8s<'a>(call: &'a Call<'_>, n: usize) -> Result<Vector<'a>> {
    elements(call.required(n, &[pg_sys::FLOAT8ARRAYOID])).map(Vector::F64)
}

pub fn int4s<'a>(call: &'a Call<'_>, n: usize) -> Result<Vector<'a>> {
    elements(call.required(n, &[pg_sys::INT4ARRAYOID])).map(Vector::Ints)
}

pub fn int8s<'a>(call: &'a Call<'_>, n: usize) -> Result<Vector<'a>> {
    elements(call.required(n, &[pg_sys::INT8ARRAYOID])).map(Vector::BigInts)
}

/// The elements of an array of a variable-length type, converted; the results are allocated in the current memory context.
pub fn mapped<'a, T>(datum: Datum, element: pg_sys::Oid, convert: impl Fn(Datum) -> T) -> Result<&'a [T]> {
    /// Bytes of the header of an element, and the alignment of elements.
    const HEADER: usize = 4;
    /// Bytes that palloc allocates at most.
    const MAX_ALLOC: usize = (1 << 30) - 1;
    let invalid = || Error::new(Code::Binary, "not a valid array");
    let array = array(datum, element)?;
    // SAFETY: `array` checked shape and element type; elements of text and numeric have alignment int, begin inside of the
    // value, and end there, too. There is room for all results; T is a number or a slice, for which the alignment of palloc
    // is sufficient.
    unsafe {
        let count = if (*array).ndim == 0 { 0 } else { *dims(array) as usize };
        let mut item = data(array);
        let mut room = varsize_any(array.cast()).saturating_sub(item.offset_from_unsigned(array.cast()));
        if count > room / HEADER {
            return Err(invalid());
        }
        let most = MAX_ALLOC / size_of::<T>();
        if count > most {
            return Err(Error::too_large(format!("array of {count} elements exceeds the limit of {most}")));
        }
        let converted = pg_sys::palloc(count.max(1) * size_of::<T>()).cast::<T>();
        for i in 0..count {
            let size = if room < HEADER { 0 } else { varsize_any(item.cast()) };
            if size < HEADER || size > room {
                return Err(invalid());
            }
            converted.add(i).write(convert(Datum::from(item)));
            // The next element is aligned. There may be no bytes after the last one.
            let step = size.next_multiple_of(HEADER).min(room);
            item = item.add(step);
            room -= step;
        }
        Ok(std::slice::from_raw_parts(converted, count))
    }
}

/// The elements of a `text[]`, hashed.
pub fn texts<'a>(call: &'a Call<'_>, n: usize) -> Result<Vector<'a>> {
    text_set(call.required(n, &[pg_sys::TEXTARRAYOID]))
}

fn text_set<'a>(datum: Datum) -> Result<Vector<'a>> {
    mapped(datum, pg_sys::TEXTOID, |item| text_element(text(item))).map(Vector::Hashed)
}

/// The elements of a `numeric[]`, which is the type of `ARRAY[0.1, 0.2]`.
pub fn numerics<'a>(call: &'a Call<'_>, n: usize) -> Result<Vector<'a>> {
    let datum = call.required(n, &[pg_sys::NUMERICARRAYOID]);
    // SAFETY: each element is a numeric; outside the range of doubles it becomes infinity, which filters reject.
    mapped(datum, pg_sys::NUMERICOID, |item| unsafe {
        pgrx::direct_function_call::<f64>(pg_sys::numeric_float8_no_overflow, &[Some(item)]).unwrap_or(f64::NAN)
    })
    .map(Vector::F64)
}

/// A value of a built-in type; `None` if the type is not a vector type.
pub fn of_type<'a>(datum: Datum, type_: pg_sys::Oid) -> Option<Result<Vector<'a>>> {
    Some(match type_ {
        pg_sys::FLOAT4ARRAYOID => elements(datum).map(Vector::F32),
        pg_sys::FLOAT8ARRAYOID => elements(datum).map(Vector::F64),
        pg_sys::INT4ARRAYOID => elements(datum).map(Vector::Ints),
        pg_sys::INT8ARRAYOID => elements(datum).map(Vector::BigInts),
        pg_sys::TEXTARRAYOID => text_set(datum),
        pg_sys::BITOID | pg_sys::VARBITOID => bit_string(datum),
        pg_sys::BYTEAOID => Ok(Vector::Bytes(bytes(datum))),
        pg_sys::TEXTOID => Ok(Vector::Text(text(datum))),
        _ => return None,
    })
}

/// Defines one SQL-callable function for each type that a vector may have: `name_bit`, `name_real` and so on.
macro_rules! for_each_input {
    ($name:literal $([$before:path])? -> $result:expr, $body:ident) => {
        $crate::vector::arrays::for_each_input!(@types ($name, ($([$before])?), $result, $body)
            bits "_bit", bytea "_bytea", float4s "_real", float8s "_double", int4s "_int", int8s "_bigint",
            numerics "_numeric", texts "_texts", untyped "_text",
            vector "_vector", halfvec "_halfvec", sparsevec "_sparsevec");
    };
    (@types $function:tt $($read:ident $type:literal),+) => {
        $($crate::vector::arrays::for_each_input!(@one $function $read $type);)+
    };
    (@one ($name:literal, ($($before:tt)*), $result:expr, $body:ident) $read:ident $type:literal) => {
        $crate::boundary::call::pg_function!(
            $name $type $($before)* -> $result, |call| $body(call, $crate::vector::arrays::$read));
    };
}
pub(crate) use for_each_input;
