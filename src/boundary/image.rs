//! Filters as PostgreSQL stores them: reading the words of a datum, and allocating new ones.

use crate::boundary::call::Call;
use crate::boundary::guard::check_for_interrupts;
use lsbf::error::Result;
use lsbf::filter::change::Memory;
use lsbf::filter::format::{self, Header, RESERVED, View};
use lsbf::params::Params;
use pgrx::pg_sys::{self, Datum};
use pgrx::varlena::{set_varsize_4b, varatt_is_4b_u, varsize_any};

/// The datum of an image that [`allocate`] returned.
pub fn datum(image: &[u64]) -> Datum {
    Datum::from(image.as_ptr())
}

/// Words written between checks for interrupts.
const STEP: usize = 1 << 19;

/// Allocates an image of `words` words, all zero, in the current memory context.
pub fn allocate<'a>(words: usize) -> &'a mut [u64] {
    filled(words, |_, part| part.fill(0))
}

/// Copies an image.
pub fn copy<'a>(image: &[u64]) -> &'a mut [u64] {
    filled(image.len(), |start, part| part.copy_from_slice(&image[start..start + part.len()]))
}

/// Allocates an image of `words` words and fills it in parts: the first access to memory takes long enough that
/// interrupts have to be checked.
fn filled<'a>(words: usize, mut write: impl FnMut(usize, &mut [u64])) -> &'a mut [u64] {
    // SAFETY: palloc returns memory aligned to 8 bytes or raises an error; sizes are checked against the limits.
    // `write` initializes every word.
    unsafe {
        let pointer = pg_sys::palloc(words * 8).cast::<u64>();
        let image = std::slice::from_raw_parts_mut(pointer, words);
        for (number, part) in image.chunks_mut(STEP).enumerate() {
            if number > 0 {
                check_for_interrupts();
            }
            write(number * STEP, part);
        }
        set_varsize_4b(pointer.cast(), (words * 8) as i32);
        image
    }
}

/// Lets the core allocate filters in the current memory context.
pub struct Palloc;

impl Memory for Palloc {
    type Image = &'static mut [u64];

    fn zeroed(&self, words: usize) -> Self::Image {
        allocate(words)
    }

    fn copy(&self, image: &[u64]) -> Self::Image {
        copy(image)
    }
}

/// Creates a filter without members. `centre` is empty if the filter has none.
pub fn empty<'a>(params: &Params, stored: &[u8], dims: u32, centre: &[f32]) -> &'a mut [u64] {
    let header = Header::new(params, stored.len(), dims, !centre.is_empty());
    let image = allocate(header.image_words(params));
    format::write_front(image, &header, stored, centre);
    image
}

/// A `bytea` datum.
pub fn bytea(bytes: &[u8]) -> Datum {
    let size = RESERVED + bytes.len();
    // SAFETY: the varlena has room for its header and the bytes, all of which are written.
    unsafe {
        let bytea = pg_sys::palloc(size).cast::<u8>();
        set_varsize_4b(bytea.cast(), size as i32);
        for (number, part) in bytes.chunks(STEP * 8).enumerate() {
            if number > 0 {
                check_for_interrupts();
            }
            bytea.add(RESERVED + number * STEP * 8).copy_from_nonoverlapping(part.as_ptr(), part.len());
        }
        Datum::from(bytea)
    }
}

/// Creates an image from its binary form, which is validated completely.
pub fn from_payload<'a>(payload: &[u8]) -> Result<&'a mut [u64]> {
    format::read_payload(payload, allocate)
}

/// A filter that is not toasted.
///
/// # Safety
/// The pointer must be that of a plain value of type lsbf.
#[inline]
pub unsafe fn view<'a>(pointer: *const u64) -> Result<View<'a>> {
    // SAFETY: a plain varlena starts with its size; the type's alignment is double.
    View::new(unsafe {
        let size = varsize_any(pointer.cast());
        std::slice::from_raw_parts(pointer, size / 8)
    })
}

/// A filter, detoasted into the current memory context if necessary.
#[inline]
pub fn read<'a>(datum: Datum) -> Result<View<'a>> {
    // SAFETY: the argument is a datum of type lsbf.
    unsafe { view(crate::boundary::varlena::detoasted(datum).cast()) }
}

/// The words of an aggregate's state, to be changed in place; `None` outside of an aggregate or if the value is
/// toasted.
pub fn state<'a>(call: &Call, datum: Datum) -> Option<&'a mut [u64]> {
    let pointer: *mut u64 = datum.cast_mut_ptr();
    // SAFETY: in an aggregate call the first argument is the state, which no one else uses.
    unsafe {
        if !call.in_aggregate() || !varatt_is_4b_u(pointer.cast()) || !pointer.is_aligned() {
            return None;
        }
        Some(std::slice::from_raw_parts_mut(pointer, varsize_any(pointer.cast()) / 8))
    }
}
