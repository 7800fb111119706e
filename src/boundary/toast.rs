//! Values in a TOAST table: which one a datum points to, and its bytes, read piece by piece.

use super::error::raise;
use lsbf::error::{Code, Error};
use lsbf::filter::format::RESERVED;
use pgrx::pg_sys::{self, Datum};
use pgrx::varlena::{varatt_is_1b_e, varatt_is_4b_u, vardata_any, varsize_any_exhdr};
use std::hash::{Hash, Hasher};
use std::ops::{Deref, Range};

/// A value that is stored in a TOAST table.
#[derive(Clone, Copy)]
pub struct Toasted {
    datum: Datum,
    pointer: pg_sys::varatt_external,
}

/// Identifies a stored value for as long as a transaction can see it, or one that is not stored by its address.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Key {
    value: u32,
    relation: u32,
    size: i32,
    extinfo: u32,
}

impl Key {
    /// The key of a value that is not stored. No table has the number 0.
    pub fn inline(value: &[u64]) -> Key {
        let address = value.as_ptr().addr();
        Key {
            value: (address / 8) as u32,
            relation: 0,
            size: size_of_val(value) as i32,
            extinfo: (address as u64 >> 32) as u32,
        }
    }

    /// The bytes of the value, with its length word.
    pub fn size(&self) -> usize {
        self.size as usize
    }
}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(u64::from(self.value) << 32 | u64::from(self.relation));
    }
}

impl Toasted {
    /// The stored value that a datum points to; `None` if it is not in a TOAST table.
    #[inline]
    pub fn of(datum: Datum) -> Option<Toasted> {
        let value: *const pg_sys::varattrib_1b_e = datum.cast_mut_ptr();
        // SAFETY: the tag is read only if the first byte marks an external value.
        unsafe {
            if !varatt_is_1b_e(value.cast()) || u32::from((*value).va_tag) != pg_sys::vartag_external::VARTAG_ONDISK {
                return None;
            }
            let pointer = (&raw const (*value).va_data).cast::<pg_sys::varatt_external>().read_unaligned();
            Some(Toasted { datum, pointer })
        }
    }

    pub fn datum(&self) -> Datum {
        self.datum
    }

    #[inline]
    pub fn key(&self) -> Key {
        let pointer = &self.pointer;
        Key {
            value: pointer.va_valueid.to_u32(),
            relation: pointer.va_toastrelid.to_u32(),
            size: pointer.va_rawsize,
            extinfo: pointer.va_extinfo,
        }
    }

    /// The bytes of the value, with its length word.
    pub fn size(&self) -> usize {
        self.pointer.va_rawsize as usize
    }

    /// Whether the value is compressed: then a part cannot be read without everything before it.
    pub fn is_compressed(&self) -> bool {
        const SIZE_BITS: u32 = 30;
        let stored = i64::from(self.pointer.va_extinfo & ((1 << SIZE_BITS) - 1));
        stored < i64::from(self.pointer.va_rawsize) - RESERVED as i64
    }

    /// Reads bytes of a value that is not compressed, counted without its length word; fewer at its end.
    pub fn fetch<'a>(&self, offset: usize, length: usize) -> Piece<'a> {
        // SAFETY: the datum is a stored value that is not compressed; values are smaller than 1 GB.
        let bytes = unsafe {
            let slice = pg_sys::detoast_attr_slice(self.datum.cast_mut_ptr(), offset as i32, length as i32);
            std::slice::from_raw_parts(vardata_any(slice).cast(), varsize_any_exhdr(slice))
        };
        Piece { bytes, is_fetched: true }
    }

    /// The same, but an error if there are fewer bytes.
    pub fn fetch_exact<'a>(&self, offset: usize, length: usize) -> Piece<'a> {
        let piece = self.fetch(offset, length);
        if piece.len() == length { piece } else { raise(truncated()) }
    }
}

/// The error for a stored filter that is shorter than its header says.
pub fn truncated() -> Error {
    Error::new(Code::Binary, "not a valid filter: it is truncated")
}

/// Some bytes of a value. Bytes that were fetched are freed when it is dropped.
pub struct Piece<'a> {
    bytes: &'a [u8],
    is_fetched: bool,
}

impl Deref for Piece<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.bytes
    }
}

impl Drop for Piece<'_> {
    fn drop(&mut self) {
        if self.is_fetched {
            // SAFETY: PostgreSQL allocated the bytes for this piece, after a length word.
            unsafe { pg_sys::pfree(self.bytes.as_ptr().cast_mut().sub(RESERVED).cast()) };
        }
    }
}

/// The bytes of a value without its length word. A stored value that is not compressed is read piece by piece.
pub struct Bytes {
    datum: Datum,
    toasted: Option<Toasted>,
    /// The whole value if it is not read piece by piece: in place, or a copy that is freed when this is dropped.
    plain: *mut pg_sys::varlena,
    len: usize,
}

impl Bytes {
    pub fn of(datum: Datum) -> Bytes {
        let toasted = Toasted::of(datum);
        if let Some(toasted) = toasted.filter(|toasted| !toasted.is_compressed()) {
            let len = toasted.size() - RESERVED;
            return Bytes { datum, toasted: Some(toasted), plain: std::ptr::null_mut(), len };
        }
        // SAFETY: the datum is a varlena.
        unsafe {
            let value = datum.cast_mut_ptr();
            let plain = if varatt_is_4b_u(value) { value } else { pg_sys::pg_detoast_datum_packed(value) };
            Bytes { datum, toasted, plain, len: varsize_any_exhdr(plain) }
        }
    }

    /// The number of bytes.
    pub fn count(&self) -> usize {
        self.len
    }

    /// Whether both are the same value, in a TOAST table or in memory. Does not compare bytes.
    pub fn is_same(&self, other: &Bytes) -> bool {
        match (&self.toasted, &other.toasted) {
            (Some(ours), Some(theirs)) => ours.key() == theirs.key(),
            _ => self.datum == other.datum,
        }
    }

    pub fn piece(&self, range: Range<usize>) -> Piece<'_> {
        if let Some(toasted) = self.toasted.as_ref().filter(|_| self.plain.is_null()) {
            return toasted.fetch_exact(range.start, range.len());
        }
        // SAFETY: `len` is the length in the header of the value.
        let bytes = unsafe { std::slice::from_raw_parts(vardata_any(self.plain).cast::<u8>(), self.len) };
        Piece { bytes: &bytes[range], is_fetched: false }
    }
}

impl Drop for Bytes {
    fn drop(&mut self) {
        if !self.plain.is_null() && self.plain != self.datum.cast_mut_ptr() {
            // SAFETY: PostgreSQL allocated the copy for this call.
            unsafe { pg_sys::pfree(self.plain.cast()) };
        }
    }
}
