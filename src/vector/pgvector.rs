//! pgvector's types read in place, for the companion extension pg_lsbf_vector.

use crate::boundary::call::Call;
use crate::boundary::signature;
use lsbf::error::{Code, Error, Result};
use lsbf::vector::{Vector, f16};
use pgrx::pg_sys::Datum;
use pgrx::varlena::varsize_any;

/// `vector` and `halfvec`: the elements follow. See pgvector's src/vector.h and src/halfvec.h. A zero in `unused`
/// distinguishes this layout, of pgvector 0.5 to 0.8, from a later one.
#[repr(C)]
struct Dense {
    header: i32,
    dims: i16,
    unused: i16,
}

/// `sparsevec`: indices follow, then values. See pgvector's src/sparsevec.h.
#[repr(C)]
struct Sparse {
    header: i32,
    dims: i32,
    count: i32,
    unused: i32,
}

/// The fixed part of a value and all bytes after it, copied only if the value is toasted or its header is short.
fn parts<'a, T>(datum: Datum, type_name: &str) -> Result<(&'a T, &'a [u8])> {
    // SAFETY: the datum is a varlena; detoasted, it has a four-byte header and the alignment of an integer. It is in
    // the tuple or in the current memory context. The fixed part is read only if the value is long enough.
    unsafe {
        let value = crate::boundary::varlena::detoasted(datum);
        let rest = varsize_any(value).checked_sub(size_of::<T>()).ok_or_else(|| invalid(type_name))?;
        Ok((&*value.cast::<T>(), std::slice::from_raw_parts(value.cast::<u8>().add(size_of::<T>()), rest)))
    }
}

/// The first `count` numbers, and the bytes after them.
fn numbers<'a, T: Number>(bytes: &'a [u8], count: usize, type_name: &str) -> Result<(&'a [T], &'a [u8])> {
    let (first, rest) =
        bytes.split_at_checked(count.saturating_mul(size_of::<T>())).ok_or_else(|| invalid(type_name))?;
    // SAFETY: every bit pattern is a valid number. If the bytes are not aligned, `unaligned` is not empty.
    let (unaligned, numbers, _) = unsafe { first.align_to::<T>() };
    if !unaligned.is_empty() {
        return Err(invalid(type_name));
    }
    Ok((numbers, rest))
}

/// Types for which every bit pattern is valid.
trait Number {}
impl Number for f16 {}
impl Number for i32 {}
impl Number for f32 {}

fn invalid(type_name: &str) -> Error {
    Error::new(Code::Binary, format!("not a valid {type_name}")).with_hint(
        "Check that this version of pg_lsbf supports the installed version of pgvector. If it does, the value is \
             corrupted.",
    )
}

/// Checks that no bytes are left, and that the unused field is zero.
fn check_end(type_name: &str, rest: &[u8], unused: i32) -> Result<()> {
    if rest.is_empty() && unused == 0 { Ok(()) } else { Err(invalid(type_name)) }
}

fn elements<'a, T: Number>(datum: Datum, type_name: &str) -> Result<&'a [T]> {
    let (head, bytes) = parts::<Dense>(datum, type_name)?;
    let dims = usize::try_from(head.dims).map_err(|_| invalid(type_name))?;
    let (elements, rest) = numbers(bytes, dims, type_name)?;
    check_end(type_name, rest, i32::from(head.unused))?;
    Ok(elements)
}

pub fn vector<'a>(call: &'a Call<'_>, n: usize) -> Result<Vector<'a>> {
    elements(call.required(n, &[signature::VECTOR]), "vector").map(Vector::Dense)
}

pub fn halfvec<'a>(call: &'a Call<'_>, n: usize) -> Result<Vector<'a>> {
    elements(call.required(n, &[signature::HALFVEC]), "halfvec").map(Vector::F16)
}

pub fn sparsevec<'a>(call: &'a Call<'_>, n: usize) -> Result<Vector<'a>> {
    const NAME: &str = "sparsevec";
    let (head, bytes) = parts::<Sparse>(call.required(n, &[signature::SPARSEVEC]), NAME)?;
    let dims = usize::try_from(head.dims).map_err(|_| invalid(NAME))?;
    let count = usize::try_from(head.count).map_err(|_| invalid(NAME))?;
    let (indices, bytes) = numbers::<i32>(bytes, count, NAME)?;
    let (values, rest) = numbers::<f32>(bytes, count, NAME)?;
    check_end(NAME, rest, head.unused)?;
    let ascending = indices.windows(2).all(|pair| pair[0] < pair[1]);
    if !ascending || indices.first().is_some_and(|&i| i < 0) || indices.last().is_some_and(|&i| i >= head.dims) {
        return Err(invalid(NAME));
    }
    Ok(Vector::Sparse { dims, indices, values })
}
