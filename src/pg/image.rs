//! Filters as PostgreSQL stores them: finding the words behind a datum, and making new ones.

use super::call::Call;
use crate::error::Result;
use crate::filter::header::{self, RESERVED};
use crate::filter::params::Params;
use crate::hash::mix::{mix, reduce};
use pgrx::pg_sys::{self, Datum};
use pgrx::varlena::{set_varsize_4b, varatt_is_4b_u, varsize_any};

/// Wraps an image made by [`allocate`].
pub fn datum(image: &[u64]) -> Datum {
    Datum::from(image.as_ptr())
}

/// Makes a zeroed image of so many words in the current memory context.
pub fn allocate<'a>(words: usize) -> &'a mut [u64] {
    let bytes = words * 8;
    // SAFETY: palloc0 gives zeroed memory, aligned to 8, or raises an error; sizes are checked against the limits.
    unsafe {
        let pointer = pg_sys::palloc0(bytes).cast::<u64>();
        set_varsize_4b(pointer.cast(), bytes as i32);
        std::slice::from_raw_parts_mut(pointer, words)
    }
}

/// Makes a filter without members; with room for some if `has_body`.
pub fn empty<'a>(params: &Params, stored: &[u8], dims: u32, has_body: bool) -> &'a mut [u64] {
    let image = allocate(header::image_words(params, stored.len(), has_body));
    header::write_empty(image, stored, dims, has_body);
    image
}

/// Copies an image.
pub fn copy<'a>(image: &[u64]) -> &'a mut [u64] {
    let new = allocate(image.len());
    new.copy_from_slice(image);
    new
}

/// Makes an image from the bytes of its text, binary or bytea form, all of them checked.
pub fn from_payload<'a>(payload: &[u8]) -> Result<&'a mut [u64]> {
    let words = header::check_length(payload)?;
    let image = allocate(words);
    // SAFETY: `check_length` made sure that the payload fills the image behind PostgreSQL's part.
    unsafe {
        let to = image.as_mut_ptr().cast::<u8>().add(RESERVED);
        std::ptr::copy_nonoverlapping(payload.as_ptr(), to, payload.len());
    }
    header::check_image(image)?;
    Ok(image)
}

/// The words of a filter that is not toasted.
fn words<'a>(pointer: *const u64) -> Result<&'a [u64]> {
    // SAFETY: a plain varlena starts with its size; the type's alignment is double.
    let image = unsafe {
        let size = varsize_any(pointer.cast());
        std::slice::from_raw_parts(pointer, size / 8)
    };
    header::check_start(image)?;
    Ok(image)
}

/// The words of a filter, detoasted if need be into the current memory context.
pub fn read<'a>(datum: Datum) -> Result<&'a [u64]> {
    // SAFETY: the argument is a datum of type lsbf.
    words(unsafe { pg_sys::pg_detoast_datum(datum.cast_mut_ptr()) }.cast())
}

/// The words of an aggregate's state, to be changed in place; none where it is not ours or not plain.
pub fn state<'a>(call: &Call, datum: Datum) -> Option<&'a mut [u64]> {
    let pointer: *mut u64 = datum.cast_mut_ptr();
    // SAFETY: in an aggregate call the first argument is the state, which belongs to the aggregate.
    unsafe {
        if !call.in_aggregate() || !varatt_is_4b_u(pointer.cast()) || !pointer.is_aligned() {
            return None;
        }
        Some(std::slice::from_raw_parts_mut(pointer, varsize_any(pointer.cast()) / 8))
    }
}

/// Most filters a statement keeps detoasted, and their bytes.
const KEPT: usize = 256;
const KEPT_BYTES: usize = 64 << 20;

/// Detoasted filters of one function in one statement.
struct Kept {
    entries: [(pg_sys::varatt_external, *const u64); KEPT],
    count: usize,
    bytes: usize,
    /// The entry used last.
    last: usize,
    draws: u64,
}

impl Kept {
    /// Looks first at the entry used last and the ones behind it: a filter is asked many times, or all are in turn.
    fn find(&mut self, toast: &pg_sys::varatt_external) -> Option<*const u64> {
        let places = (0..self.count).map(|i| (self.last + i) % self.count);
        self.last = places.into_iter().find(|&at| same(&self.entries[at].0, toast))?;
        Some(self.entries[self.last].1)
    }

    /// Makes room for one more, at random: of filters asked in turn, the oldest is the one that is needed next. The one
    /// used last stays, as the same call may still read it.
    unsafe fn make_room(&mut self, size: usize) {
        while self.count > 1 && (self.count == KEPT || self.bytes + size > KEPT_BYTES) {
            self.draws += 1;
            let at = (self.last + 1 + reduce(mix(0, self.draws), self.count as u64 - 1) as usize) % self.count;
            let (old, pointer) = self.entries[at];
            self.count -= 1;
            self.entries[at] = self.entries[self.count];
            if self.last == self.count {
                self.last = at;
            }
            self.bytes -= old.va_rawsize as usize;
            // SAFETY: it was detoasted by `read_cached`.
            unsafe { pg_sys::pfree(pointer.cast_mut().cast()) };
        }
    }

    fn push(&mut self, toast: pg_sys::varatt_external, pointer: *const u64) {
        self.entries[self.count] = (toast, pointer);
        self.last = self.count;
        self.count += 1;
        self.bytes += toast.va_rawsize as usize;
    }
}

fn toast_pointer(datum: Datum) -> Option<pg_sys::varatt_external> {
    let pointer: *const pg_sys::varattrib_1b_e = datum.cast_mut_ptr();
    // SAFETY: the tag is read only where the first byte says that this is an external value.
    unsafe {
        if !pgrx::varlena::varatt_is_1b_e(pointer.cast())
            || u32::from((*pointer).va_tag) != pg_sys::vartag_external::VARTAG_ONDISK
        {
            return None;
        }
        Some((&raw const (*pointer).va_data).cast::<pg_sys::varatt_external>().read_unaligned())
    }
}

fn same(a: &pg_sys::varatt_external, b: &pg_sys::varatt_external) -> bool {
    (a.va_valueid, a.va_toastrelid, a.va_rawsize, a.va_extinfo)
        == (b.va_valueid, b.va_toastrelid, b.va_rawsize, b.va_extinfo)
}

/// The words of a filter; a stored one is detoasted once a statement.
pub fn read_cached(call: &Call, datum: Datum) -> Result<&[u64]> {
    let (Some(toast), Some(lookup)) = (toast_pointer(datum), call.lookup()) else {
        return read(datum);
    };
    // SAFETY: fn_extra is ours alone, zeroed or a `Kept` made here; both live in fn_mcxt.
    unsafe {
        let lookup = &mut *lookup.as_ptr();
        if lookup.fn_extra.is_null() {
            lookup.fn_extra = pg_sys::MemoryContextAllocZero(lookup.fn_mcxt, size_of::<Kept>());
        }
        let kept = &mut *lookup.fn_extra.cast::<Kept>();
        if let Some(pointer) = kept.find(&toast) {
            return words(pointer);
        }
        kept.make_room(toast.va_rawsize as usize);
        let before = pg_sys::MemoryContextSwitchTo(lookup.fn_mcxt);
        let pointer: *const u64 = pg_sys::pg_detoast_datum(datum.cast_mut_ptr()).cast();
        pg_sys::MemoryContextSwitchTo(before);
        kept.push(toast, pointer);
        words(pointer)
    }
}
