//! Filters as PostgreSQL stores them: finding the words behind a datum, and making new ones.

use crate::boundary::call::Call;
use crate::boundary::guard::check_for_interrupts;
use lsbf::error::Result;
use lsbf::filter::change::Memory;
use lsbf::filter::format::{self, Header, RESERVED, View};
use lsbf::params::Params;
use pgrx::pg_sys::{self, Datum};
use pgrx::varlena::{set_varsize_4b, varatt_is_4b_u, varsize_any};

/// Wraps an image made by [`allocate`].
pub fn datum(image: &[u64]) -> Datum {
    Datum::from(image.as_ptr())
}

/// Words that are written between checks for interrupts.
const STEP: usize = 1 << 19;

/// Makes a zeroed image of so many words in the current memory context.
pub fn allocate<'a>(words: usize) -> &'a mut [u64] {
    filled(words, |_, part| part.fill(0))
}

/// Copies an image.
pub fn copy<'a>(image: &[u64]) -> &'a mut [u64] {
    filled(image.len(), |start, part| part.copy_from_slice(&image[start..start + part.len()]))
}

/// Makes an image of so many words that are written in parts. To touch memory for the first time takes long.
fn filled<'a>(words: usize, mut write: impl FnMut(usize, &mut [u64])) -> &'a mut [u64] {
    // SAFETY: palloc gives memory that is aligned to 8, or raises an error; sizes are checked against the limits. Plain numbers
    // are written over whatever was there.
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

/// The current memory context, as the core allocates filters from it.
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

/// Makes a filter without members. The centre is empty where there is none.
pub fn empty<'a>(params: &Params, stored: &[u8], dims: u32, centre: &[f32]) -> &'a mut [u64] {
    let header = Header::empty(stored.len(), dims, !centre.is_empty(), false);
    let image = allocate(header.image_words(params));
    format::write_front(image, &header, stored, centre);
    image
}

/// A bytea of these bytes.
pub fn bytea(bytes: &[u8]) -> Datum {
    let size = RESERVED + bytes.len();
    // SAFETY: the varlena is as long as its header and the bytes, all of which are written.
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

/// Makes an image from the bytes of its text, binary or bytea form, all of them checked.
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

/// A filter, detoasted if need be into the current memory context.
#[inline]
pub fn read<'a>(datum: Datum) -> Result<View<'a>> {
    // SAFETY: the argument is a datum of type lsbf.
    unsafe { view(crate::boundary::varlena::detoasted(datum).cast()) }
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
