//! Filters that lie in a TOAST table. A statement that asks one many times reads it once and keeps it; one that asks it
//! once reads only the chunks it touches.

use super::call::Call;
use super::error::raise;
use super::image;
use crate::error::{Code, Error, Result};
use crate::filter::bits::Body;
use crate::filter::header::{FRONT, Header, RESERVED, View};
use crate::hash::mix::{mix, reduce};
use pgrx::pg_sys::{self, Datum};
use pgrx::varlena::{vardata_any, varsize_any_exhdr};
use std::cell::{OnceCell, RefCell};
use std::collections::BTreeMap;
use std::mem::MaybeUninit;
use std::ptr::NonNull;

/// A filter to be asked.
pub enum Filter<'a> {
    Whole(View<'a>),
    Parts(Parts<'a>),
}

/// Most filters a statement remembers, and bytes of those it keeps.
const REMEMBERED: usize = 256;
const KEPT_BYTES: usize = 64 << 20;
/// Smaller filters are read whole at once: that takes no longer than a few chunks do.
const PARTS_FROM: usize = 128 << 10;
/// Fetching a block takes about as long as reading so many bytes of the whole.
const BLOCK_COST: usize = 16 << 10;

/// A stored filter that a statement met.
#[derive(Clone, Copy)]
struct Met {
    toast: pg_sys::varatt_external,
    /// All of it, once it was read: where it lies, its words and its header.
    whole: *const u64,
    words: usize,
    header: MaybeUninit<Header>,
    /// Blocks of it that were fetched, and one for each time it was asked by parts.
    fetched: usize,
}

impl Met {
    /// SAFETY: it must have been read whole.
    #[inline]
    unsafe fn view<'a>(&self) -> View<'a> {
        // SAFETY: the header was stored with the words, as many as the value has.
        unsafe { View { header: self.header.assume_init(), words: std::slice::from_raw_parts(self.whole, self.words) } }
    }
}

/// The stored filters that one function met in one statement. It lies in fn_extra, zeroed at first. A call opens one filter
/// through it: opening a second one may free the first.
struct Memory {
    entries: [Met; REMEMBERED],
    count: usize,
    bytes: usize,
    /// The entry used last.
    last: usize,
    draws: u64,
}

impl Memory {
    /// Looks first at the entry used last and the ones behind it: a filter is asked many times, or all are in turn.
    fn find(&mut self, toast: &pg_sys::varatt_external) -> bool {
        let found = (self.last..self.count).chain(0..self.last).find(|&at| same(&self.entries[at].toast, toast));
        self.last = found.unwrap_or(self.last);
        found.is_some()
    }

    /// Remembers one more. Which one is forgotten is left to chance: of filters asked in turn, the oldest is the one that
    /// is needed next.
    unsafe fn push(&mut self, toast: pg_sys::varatt_external) {
        if self.count == REMEMBERED {
            let at = self.draw();
            // SAFETY: as asked of the caller.
            unsafe { self.drop_whole(at) };
            self.count -= 1;
            self.entries[at] = self.entries[self.count];
        }
        self.entries[self.count] =
            Met { toast, whole: std::ptr::null(), words: 0, header: MaybeUninit::uninit(), fetched: 0 };
        self.last = self.count;
        self.count += 1;
    }

    /// An entry other than the one used last, which the same call may still read.
    fn draw(&mut self) -> usize {
        self.draws += 1;
        (self.last + 1 + reduce(mix(0, self.draws), self.count as u64 - 1) as usize) % self.count
    }

    unsafe fn drop_whole(&mut self, at: usize) {
        let met = &mut self.entries[at];
        if !met.whole.is_null() {
            self.bytes -= met.toast.va_rawsize as usize;
            // SAFETY: it was detoasted by `keep`, and nobody reads it any more.
            unsafe { pg_sys::pfree(met.whole.cast_mut().cast()) };
            // It must earn its place again, else filters that do not fit would be read in turn.
            (met.whole, met.fetched) = (std::ptr::null(), 1);
        }
    }

    /// Whether the filter used last is kept, or should be: the second time where there is room for it, else when so many
    /// blocks of it were fetched that reading it would have cost no more.
    #[inline]
    fn is_worth_keeping(&self) -> bool {
        let met = &self.entries[self.last];
        let size = met.toast.va_rawsize as usize;
        !met.whole.is_null()
            || size < PARTS_FROM
            || met.fetched > 0 && self.bytes + size <= KEPT_BYTES
            || met.fetched > size / BLOCK_COST
    }

    /// The filter used last, read and kept in the memory of the statement if it is not yet.
    #[inline]
    fn keep<'a>(&mut self, datum: Datum, context: pg_sys::MemoryContext) -> Result<View<'a>> {
        let met = &self.entries[self.last];
        if !met.whole.is_null() {
            // SAFETY: it was read whole.
            return Ok(unsafe { met.view() });
        }
        self.read(datum, context)
    }

    fn read<'a>(&mut self, datum: Datum, context: pg_sys::MemoryContext) -> Result<View<'a>> {
        let size = self.entries[self.last].toast.va_rawsize as usize;
        while self.bytes > 0 && self.bytes + size > KEPT_BYTES {
            let at = self.draw();
            // SAFETY: the entry is not the one used last.
            unsafe { self.drop_whole(at) };
        }
        // SAFETY: the datum is a filter; the context lives as long as this memory.
        let whole = unsafe {
            let before = pg_sys::MemoryContextSwitchTo(context);
            let whole: *const u64 = pg_sys::pg_detoast_datum(datum.cast_mut_ptr()).cast();
            pg_sys::MemoryContextSwitchTo(before);
            whole
        };
        // SAFETY: it was detoasted just now.
        let view = unsafe { image::view(whole)? };
        let met = &mut self.entries[self.last];
        (met.whole, met.words, met.header) = (whole, view.words.len(), MaybeUninit::new(view.header));
        self.bytes += size;
        Ok(view)
    }
}

fn same(a: &pg_sys::varatt_external, b: &pg_sys::varatt_external) -> bool {
    (a.va_valueid, a.va_toastrelid, a.va_rawsize, a.va_extinfo)
        == (b.va_valueid, b.va_toastrelid, b.va_rawsize, b.va_extinfo)
}

#[inline]
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

/// Parts of a compressed value cannot be read without what comes before them.
fn is_compressed(toast: &pg_sys::varatt_external) -> bool {
    const SIZE_BITS: u32 = 30;
    i64::from(toast.va_extinfo & ((1 << SIZE_BITS) - 1)) < i64::from(toast.va_rawsize) - RESERVED as i64
}

/// A filter to be asked: whole where it is at hand or worth reading, else by parts.
#[inline]
pub fn open<'a>(call: &'a Call, datum: Datum) -> Result<Filter<'a>> {
    let (Some(toast), Some(lookup)) = (toast_pointer(datum), call.lookup()) else {
        return image::read(datum).map(Filter::Whole);
    };
    // SAFETY: the record belongs to this call.
    let (memory, context) = unsafe { recall(lookup, toast) };
    if !is_compressed(&toast) && !memory.is_worth_keeping() {
        let front = front_of(datum, &toast)?;
        // A list is read whole: it is large for its centre only.
        if !front.header.is_sparse {
            memory.entries[memory.last].fetched += 1;
            return Ok(Filter::Parts(Parts::new(front, datum, toast, lookup)));
        }
    }
    memory.keep(datum, context).map(Filter::Whole)
}

/// All words of a filter; a stored one is read once a statement.
pub fn whole<'a>(call: &'a Call, datum: Datum) -> Result<View<'a>> {
    let (Some(toast), Some(lookup)) = (toast_pointer(datum), call.lookup()) else { return image::read(datum) };
    // SAFETY: the record belongs to this call.
    let (memory, context) = unsafe { recall(lookup, toast) };
    memory.keep(datum, context)
}

/// What a function remembers of its statement, with a stored filter as the one used last, and the memory that lives as
/// long.
///
/// SAFETY: the record must be that of the function being called, and nobody else may hold what is remembered.
#[inline]
unsafe fn recall<'a>(
    lookup: NonNull<pg_sys::FmgrInfo>,
    toast: pg_sys::varatt_external,
) -> (&'a mut Memory, pg_sys::MemoryContext) {
    // SAFETY: fn_extra is ours alone, zeroed or a `Memory` made here; both live in fn_mcxt.
    unsafe {
        let lookup = &mut *lookup.as_ptr();
        if lookup.fn_extra.is_null() {
            lookup.fn_extra = pg_sys::MemoryContextAllocZero(lookup.fn_mcxt, size_of::<Memory>());
        }
        let memory = &mut *lookup.fn_extra.cast::<Memory>();
        if !memory.find(&toast) {
            memory.push(toast);
        }
        (memory, lookup.fn_mcxt)
    }
}

/// The words before the bits, and the number of all words: read without the rest where that is possible.
pub fn front<'a>(datum: Datum) -> Result<(View<'a>, usize)> {
    let (front, words) = match toast_pointer(datum) {
        Some(toast) if !is_compressed(&toast) => (front_of(datum, &toast)?, toast.va_rawsize as usize / 8),
        _ => image::read(datum).map(|view| (view, view.words.len()))?,
    };
    // Pages can be damaged.
    if front.header.has_body && front.words.len() < front.header.body_start() {
        return Err(damaged());
    }
    Ok((front, words))
}

fn front_of<'a>(datum: Datum, toast: &pg_sys::varatt_external) -> Result<View<'a>> {
    let front = first_bytes(datum, FRONT)?;
    let needed = front.header.body_start() * 8;
    if needed > toast.va_rawsize as usize {
        return Err(damaged());
    }
    // A centre lies before the bits, too.
    if needed > FRONT { first_bytes(datum, needed) } else { Ok(front) }
}

fn first_bytes<'a>(datum: Datum, count: usize) -> Result<View<'a>> {
    let front = image::allocate(count / 8);
    let read = fetch(datum, 0, count - RESERVED);
    // SAFETY: a slice is not longer than was asked for.
    unsafe {
        let to = front.as_mut_ptr().cast::<u8>().add(RESERVED);
        std::ptr::copy_nonoverlapping(read.as_ptr(), to, read.len());
    }
    View::new(&front[..(RESERVED + read.len()) / 8])
}

/// Bytes of a stored value, counted behind its length word; fewer at its end. They live in the row's memory.
fn fetch<'a>(datum: Datum, offset: usize, length: usize) -> &'a [u8] {
    // SAFETY: the datum is a toasted value that is not compressed; a value has less than 1 GB.
    unsafe {
        let slice = pg_sys::detoast_attr_slice(datum.cast_mut_ptr(), offset as i32, length as i32);
        std::slice::from_raw_parts(vardata_any(slice).cast(), varsize_any_exhdr(slice))
    }
}

/// Words fetched at once: a chunk of a TOAST table has about four times as many.
const BLOCK: usize = 64;
/// Blocks of any filter that may be fetched for one question.
const LEAST_BLOCKS: usize = 64;

/// A stored filter, of which only what is asked for is read.
pub struct Parts<'a> {
    pub front: View<'a>,
    /// Words of the whole filter.
    pub words: usize,
    datum: Datum,
    toast: pg_sys::varatt_external,
    lookup: NonNull<pg_sys::FmgrInfo>,
    /// The blocks fetched so far, by their numbers.
    blocks: RefCell<BTreeMap<usize, [u64; BLOCK]>>,
    /// All of it, where a question touches so much that this is cheaper.
    whole: OnceCell<View<'a>>,
}

impl<'a> Parts<'a> {
    fn new(front: View<'a>, datum: Datum, toast: pg_sys::varatt_external, lookup: NonNull<pg_sys::FmgrInfo>) -> Self {
        Parts {
            front,
            words: toast.va_rawsize as usize / 8,
            datum,
            toast,
            lookup,
            blocks: RefCell::default(),
            whole: OnceCell::new(),
        }
    }

    fn fetch_block(&self, number: usize) -> [u64; BLOCK] {
        let start = self.front.header.body_start() + number * BLOCK;
        let bytes = fetch(self.datum, start * 8 - RESERVED, BLOCK * 8);
        let mut words = [0; BLOCK];
        for (word, bytes) in words.iter_mut().zip(bytes.as_chunks::<8>().0) {
            *word = u64::from_le_bytes(*bytes);
        }
        if bytes.len() < (self.words - start).min(BLOCK) * 8 {
            raise(damaged());
        }
        // SAFETY: the bytes lie behind the head of the slice that was just fetched.
        unsafe { pg_sys::pfree(bytes.as_ptr().cast_mut().sub(RESERVED).cast()) };
        words
    }

    /// Whether a question touches so much of the filter that reading it whole costs less.
    fn is_too_much(&self) -> bool {
        self.blocks.borrow().len() >= LEAST_BLOCKS.max(self.words * 8 / BLOCK_COST / 2)
    }

    /// All of it, kept for the next question.
    fn read_whole(&self) -> View<'a> {
        // SAFETY: the record belongs to this call, and what it remembers is not in use: a filter read by parts is not.
        let (memory, context) = unsafe { recall(self.lookup, self.toast) };
        memory.keep(self.datum, context).unwrap_or_else(|error| raise(error))
    }
}

impl Body for Parts<'_> {
    fn word(&self, at: usize) -> u64 {
        let (number, place) = (at / BLOCK, at % BLOCK);
        if let Some(block) = self.blocks.borrow().get(&number) {
            return block[place];
        }
        if self.is_too_much() {
            let whole = self.whole.get_or_init(|| self.read_whole());
            let word = whole.words.get(whole.header.body_start() + at);
            return word.map_or_else(|| raise(damaged()), |word| u64::from_le(*word));
        }
        let block = self.fetch_block(number);
        self.blocks.borrow_mut().insert(number, block);
        block[place]
    }

    fn prefetch(&self, _: usize) {}
}

impl Drop for Parts<'_> {
    /// What was fetched counts when the filter is met again.
    fn drop(&mut self) {
        // SAFETY: the record belongs to this call, which opened no other filter; what it remembers was made by `recall`.
        let memory = unsafe { &mut *(*self.lookup.as_ptr()).fn_extra.cast::<Memory>() };
        memory.entries[memory.last].fetched += self.blocks.borrow().len();
    }
}

pub fn damaged() -> Error {
    Error::new(Code::Binary, "not a valid filter: it ends before its bits")
}
