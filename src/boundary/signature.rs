//! The types that functions were declared with. A value is read as a type only after that type was found in the function's
//! declaration: a script can name the right function and the wrong type.

use crate::boundary::call::Call;
use crate::boundary::encoding::shown;
use lsbf::error::{Code, Error};
use pgrx::pg_sys::{self, Datum, Oid};
use std::cell::Cell;
use std::ffi::{CStr, c_char};

/// Stand for types that have no fixed number. No type has these numbers: PostgreSQL's own begin at 16.
pub const LSBF: Oid = Oid::from_u32(1);
pub const VECTOR: Oid = Oid::from_u32(2);
pub const HALFVEC: Oid = Oid::from_u32(3);
pub const SPARSEVEC: Oid = Oid::from_u32(4);
/// Stands for rows, whose columns are checked where they are made.
pub const ROW: Oid = Oid::from_u32(5);
/// Stands for all types that are not read here.
const OTHER: Oid = pg_sys::InvalidOid;

/// Most arguments that a function of ours has.
const MOST: usize = 24;

/// The types that a function was declared with.
pub struct Signature {
    pub result: Oid,
    arguments: [Oid; MOST],
}

impl Signature {
    /// The signature of the function being called. It is looked up once for every place a function is called from.
    ///
    /// # Safety
    /// The record must be that of the call, or null.
    #[inline]
    pub unsafe fn of<'a>(lookup: *mut pg_sys::FmgrInfo) -> Option<&'a Signature> {
        // SAFETY: as asked of the caller. PostgreSQL leaves fn_extra, null at first, to the function that is called. What is made here lives as long
        // as the record it belongs to.
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
        // SAFETY: a catalog lookup by number; the types are as many as their count says.
        let (result, types) = unsafe {
            let result = pg_sys::get_func_signature(function, &mut types, &mut count);
            (result, std::slice::from_raw_parts(types, count as usize))
        };
        let mut arguments = [OTHER; MOST];
        arguments.iter_mut().zip(types).for_each(|(argument, &type_)| *argument = known(type_));
        Signature { result: if is_row(result) { ROW } else { known(result) }, arguments }
    }

    /// Whether an argument was declared with a type.
    #[inline]
    pub fn has(&self, argument: usize, type_: Oid) -> bool {
        self.arguments.get(argument) == Some(&type_)
    }
}

/// The error for an argument that was declared with another type than it is read as.
#[cold]
pub fn wrong_argument(call: &Call, argument: usize) -> Error {
    let (function, _, arguments) = declaration(call);
    undeclared(function, &format!("argument {}", argument + 1), *arguments.get(argument).unwrap_or(&OTHER))
}

/// The error for a result that was declared with another type than it has.
#[cold]
pub fn wrong_result(call: &Call) -> Error {
    let (function, result, _) = declaration(call);
    undeclared(function, "the result", result)
}

/// The function being called, and the types it was declared with.
fn declaration<'a>(call: &Call<'a>) -> (Oid, Oid, &'a [Oid]) {
    let function = call.lookup().map_or(OTHER, |lookup| lookup.fn_oid);
    let (mut types, mut count) = (std::ptr::null_mut(), 0);
    // SAFETY: a catalog lookup by number; the types are as many as their count says.
    unsafe {
        let result = pg_sys::get_func_signature(function, &mut types, &mut count);
        (function, result, std::slice::from_raw_parts(types, count as usize))
    }
}

fn undeclared(function: Oid, what: &str, type_: Oid) -> Error {
    // SAFETY: names of what exists; a type that does not is named, too.
    let (function, type_) = unsafe { (name(pg_sys::get_func_name(function)), name(pg_sys::format_type_be(type_))) };
    Error::new(Code::Declaration, format!("{what} of function {function} must not be of type {type_}"))
        .with_hint("Only the scripts of pg_lsbf and pg_lsbf_vector declare this function correctly.")
}

/// A name of PostgreSQL's, to be shown.
///
/// # Safety
/// It must be null or a C string.
pub unsafe fn name(name: *const c_char) -> String {
    if name.is_null() {
        return "?".into();
    }
    // SAFETY: as asked of the caller.
    shown(unsafe { CStr::from_ptr(name) }.to_bytes())
}

fn is_row(type_: Oid) -> bool {
    // SAFETY: a catalog lookup by number.
    type_ == pg_sys::RECORDOID || unsafe { pg_sys::get_typtype(type_) as u8 == pg_sys::TYPTYPE_COMPOSITE }
}

thread_local! {
    /// Types that were found to be ours or pgvector's, and what stands for them.
    static FOUND: Cell<[(Oid, Oid); 4]> = const { Cell::new([(OTHER, OTHER); 4]) };
}

/// A type as functions compare it: types of the system by their number, ours and pgvector's by what stands for them.
pub fn known(type_: Oid) -> Oid {
    if type_.to_u32() < pg_sys::FirstNormalObjectId {
        return type_;
    }
    let mut found = FOUND.get();
    if let Some(&(_, stands)) = found.iter().find(|(number, _)| *number == type_) {
        return stands;
    }
    let stands = looked_up(type_);
    if stands != OTHER {
        found.rotate_right(1);
        found[0] = (type_, stands);
        FOUND.set(found);
    }
    stands
}

/// Whether a type is lsbf.
pub fn is_lsbf(type_: Oid) -> bool {
    known(type_) == LSBF
}

/// A type is known by the C function that reads its text: only a superuser can declare one, or make a type with it. A name,
/// a schema or being part of an extension proves nothing.
fn looked_up(type_: Oid) -> Oid {
    // SAFETY: catalog lookups by number.
    unsafe {
        if pg_sys::get_typtype(type_) as u8 != pg_sys::TYPTYPE_BASE {
            return OTHER;
        }
        let (mut input, mut element) = (pg_sys::InvalidOid, pg_sys::InvalidOid);
        pg_sys::getTypeInputInfo(type_, &mut input, &mut element);
        type_read_by(input)
    }
}

/// The language C, from pg_language.dat.
const C_LANGUAGE: Oid = Oid::from_u32(13);

/// The type that an input function belongs to.
unsafe fn type_read_by(input: Oid) -> Oid {
    // SAFETY: the row stays pinned while it is looked at; both columns are texts.
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
