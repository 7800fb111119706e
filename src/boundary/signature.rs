//! The types that functions were declared with. A value is read as a type only if the declaration of the function says
//! so: a CREATE FUNCTION statement can name a C function of this library with the wrong types.
//!
//! Types are compared by codes, see [`type_code`].

use crate::boundary::call::Call;
use crate::boundary::encoding::printable;
use lsbf::error::{Code, Error};
use pgrx::pg_sys::{self, Datum, Oid};
use std::cell::Cell;
use std::ffi::{CStr, c_char};

/// Codes for types that have no fixed OID. No type has these OIDs: those of PostgreSQL begin at 16.
pub const LSBF: Oid = Oid::from_u32(1);
pub const VECTOR: Oid = Oid::from_u32(2);
pub const HALFVEC: Oid = Oid::from_u32(3);
pub const SPARSEVEC: Oid = Oid::from_u32(4);
/// Code for rows, whose columns are checked by [`rows`](super::rows).
pub const ROW: Oid = Oid::from_u32(5);
/// Code for all types that this library does not read.
const OTHER: Oid = pg_sys::InvalidOid;

/// Maximum number of arguments of a function of this library.
const MAX_ARGUMENTS: usize = 24;

/// The types that a function was declared with, as codes.
pub struct Signature {
    pub result: Oid,
    arguments: [Oid; MAX_ARGUMENTS],
}

impl Signature {
    /// The signature of the function being called. It is looked up once for every lookup record of a function.
    ///
    /// # Safety
    /// The lookup record must be that of the call, or null.
    #[inline]
    pub unsafe fn of<'a>(lookup: *mut pg_sys::FmgrInfo) -> Option<&'a Signature> {
        // SAFETY: guaranteed by the caller. PostgreSQL initializes fn_extra to null and leaves its use to the called
        // function. The signature lives as long as the record it belongs to.
        unsafe {
            let lookup = lookup.as_mut()?;
            if lookup.fn_extra.is_null() {
                let signature = Signature::declared(lookup.fn_oid);
                let place = pg_sys::MemoryContextAlloc(lookup.fn_mcxt, size_of::<Signature>()).cast::<Signature>();
                place.write(signature);
                lookup.fn_extra = place.cast();
            }
            Some(&*lookup.fn_extra.cast())
        }
    }

    #[cold]
    fn declared(function: Oid) -> Signature {
        let (mut types, mut count) = (std::ptr::null_mut(), 0);
        // SAFETY: a catalog lookup by OID, which returns `count` types.
        let (result, types) = unsafe {
            let result = pg_sys::get_func_signature(function, &mut types, &mut count);
            (result, std::slice::from_raw_parts(types, count as usize))
        };
        let mut arguments = [OTHER; MAX_ARGUMENTS];
        arguments.iter_mut().zip(types).for_each(|(argument, &type_)| *argument = type_code(type_));
        Signature { result: if is_row(result) { ROW } else { type_code(result) }, arguments }
    }

    /// Whether an argument was declared with a type.
    #[inline]
    pub fn has(&self, argument: usize, type_: Oid) -> bool {
        self.arguments.get(argument) == Some(&type_)
    }
}

/// The error for an argument that was declared with a type that the function does not accept.
#[cold]
pub fn wrong_argument(call: &Call, argument: usize) -> Error {
    let (function, _, arguments) = declaration(call);
    wrong_type(function, &format!("argument {}", argument + 1), *arguments.get(argument).unwrap_or(&OTHER))
}

/// The error for a result that was declared with a type that the function does not return.
#[cold]
pub fn wrong_result(call: &Call) -> Error {
    let (function, result, _) = declaration(call);
    wrong_type(function, "the result", result)
}

/// The OIDs of the called function, of its declared result type and of its declared argument types.
fn declaration<'a>(call: &Call<'a>) -> (Oid, Oid, &'a [Oid]) {
    let function = call.lookup().map_or(OTHER, |lookup| lookup.fn_oid);
    let (mut types, mut count) = (std::ptr::null_mut(), 0);
    // SAFETY: a catalog lookup by OID, which returns `count` types.
    unsafe {
        let result = pg_sys::get_func_signature(function, &mut types, &mut count);
        (function, result, std::slice::from_raw_parts(types, count as usize))
    }
}

fn wrong_type(function: Oid, what: &str, type_: Oid) -> Error {
    // SAFETY: catalog lookups by OID; both functions accept OIDs that do not exist.
    let (function, type_) = unsafe { (name(pg_sys::get_func_name(function)), name(pg_sys::format_type_be(type_))) };
    Error::new(Code::Declaration, format!("{what} of function {function} must not be of type {type_}"))
        .with_hint("Use the function that CREATE EXTENSION pg_lsbf or pg_lsbf_vector creates.")
}

/// A name returned by PostgreSQL, for use in a message.
///
/// # Safety
/// The pointer must be null or a C string.
pub unsafe fn name(name: *const c_char) -> String {
    if name.is_null() {
        return "?".into();
    }
    // SAFETY: guaranteed by the caller.
    printable(unsafe { CStr::from_ptr(name) }.to_bytes())
}

fn is_row(type_: Oid) -> bool {
    // SAFETY: a catalog lookup by OID.
    type_ == pg_sys::RECORDOID || unsafe { pg_sys::get_typtype(type_) as u8 == pg_sys::TYPTYPE_COMPOSITE }
}

thread_local! {
    /// OIDs of lsbf and pgvector's types that were looked up, with their codes.
    static CODES: Cell<[(Oid, Oid); 4]> = const { Cell::new([(OTHER, OTHER); 4]) };
}

/// The code of a type: for a built-in type its OID, for lsbf and pgvector's types one of the constants above.
pub fn type_code(type_: Oid) -> Oid {
    if type_.to_u32() < pg_sys::FirstNormalObjectId {
        return type_;
    }
    let mut codes = CODES.get();
    if let Some(&(_, code)) = codes.iter().find(|(oid, _)| *oid == type_) {
        return code;
    }
    let code = look_up_code(type_);
    if code != OTHER {
        codes.rotate_right(1);
        codes[0] = (type_, code);
        CODES.set(codes);
    }
    code
}

/// Whether a type is lsbf.
pub fn is_lsbf(type_: Oid) -> bool {
    type_code(type_) == LSBF
}

/// A type is recognized by its input function, a C function: only a superuser can declare one or create a type with it.
/// Its name, its schema and its membership in an extension prove nothing.
fn look_up_code(type_: Oid) -> Oid {
    // SAFETY: catalog lookups by OID.
    unsafe {
        if pg_sys::get_typtype(type_) as u8 != pg_sys::TYPTYPE_BASE {
            return OTHER;
        }
        let (mut input, mut element) = (pg_sys::InvalidOid, pg_sys::InvalidOid);
        pg_sys::getTypeInputInfo(type_, &mut input, &mut element);
        code_by_input(input)
    }
}

/// The OID of language C, from pg_language.dat.
const C_LANGUAGE: Oid = Oid::from_u32(13);

/// The code of the type that an input function belongs to.
unsafe fn code_by_input(input: Oid) -> Oid {
    // SAFETY: the row is pinned until it is released; both columns are of type text.
    unsafe {
        let cache = pg_sys::SysCacheIdentifier::PROCOID as i32;
        let row = pg_sys::SearchSysCache1(cache, Datum::from(input));
        if row.is_null() {
            return OTHER;
        }
        let column = |number: u32| {
            let mut is_null = true;
            let value = pg_sys::SysCacheGetAttr(cache, row, number as i16, &mut is_null);
            if is_null { Vec::new() } else { crate::boundary::varlena::bytes(value).to_vec() }
        };
        let (symbol, library) = (column(pg_sys::Anum_pg_proc_prosrc), column(pg_sys::Anum_pg_proc_probin));
        let language = (*pg_sys::GETSTRUCT(row).cast::<pg_sys::FormData_pg_proc>()).prolang;
        pg_sys::ReleaseSysCache(row);
        if language != C_LANGUAGE {
            return OTHER;
        }
        match (library.as_slice(), symbol.as_slice()) {
            (b"$libdir/pg_lsbf", b"lsbf_in") => LSBF,
            (b"$libdir/vector", b"vector_in") => VECTOR,
            (b"$libdir/vector", b"halfvec_in") => HALFVEC,
            (b"$libdir/vector", b"sparsevec_in") => SPARSEVEC,
            _ => OTHER,
        }
    }
}
