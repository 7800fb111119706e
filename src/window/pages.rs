//! The words of a filter that grows with a partition. A small partition only uses memory for the pages that its rows
//! set bits in, not for the whole filter; when there are many pages, they are joined into one array.

use crate::boundary::guard::check_for_interrupts;
use lsbf::filter::bits::{Body, BodyMut, set_in};
use pgrx::pg_sys;

/// Words of a page: a row sets bits in about one page per table.
const PAGE: usize = 256;
/// Filters of up to this many words are one array from the start.
const SMALL: usize = 8 << 10;
/// Words written between checks for interrupts.
const STEP: usize = 1 << 19;
/// Bytes of a cache line.
const LINE: usize = 64;
/// The pages are joined when one in `JOIN_RATIO` has been allocated.
const JOIN_RATIO: usize = 8;

/// The words, in memory that is freed with its context. Nothing has to be dropped, as this itself is in such memory.
pub struct Words {
    /// The array; null while there are pages.
    whole: *mut u64,
    count: usize,
    pages: Pages,
    context: pg_sys::MemoryContext,
}

/// Words of which only the pages that were written exist; all others are zero.
pub struct Pages {
    /// Pointers to the pages; null for a page that has not been allocated.
    table: *mut *mut u64,
    count: usize,
    allocated: usize,
    /// The memory context of the table and the pages.
    context: pg_sys::MemoryContext,
}

/// The words in either form, to be read and written.
pub enum Form<'a> {
    Whole(&'a mut [u64]),
    Pages(&'a mut Pages),
}

/// Allocates zeros in a memory context.
///
/// # Safety
/// The context must exist.
unsafe fn zeroed<T>(context: pg_sys::MemoryContext, count: usize) -> *mut T {
    // SAFETY: guaranteed by the caller; a failure is raised as an error.
    unsafe { pg_sys::MemoryContextAllocZero(context, count * size_of::<T>()).cast() }
}

/// Copies words into a memory context.
///
/// # Safety
/// The context must exist.
pub unsafe fn copied(words: &[u64], context: pg_sys::MemoryContext) -> *mut u64 {
    // SAFETY: guaranteed by the caller; the copy has the size of the words.
    unsafe {
        let copy = pg_sys::MemoryContextAlloc(context, size_of_val(words)).cast::<u64>();
        copy.copy_from_nonoverlapping(words.as_ptr(), words.len());
        copy
    }
}

/// Allocates an array of `count` words, and fills it in parts. It is aligned to cache lines: some filters set all bits
/// of a key within 64 aligned bytes, so that each key then touches one cache line.
///
/// # Safety
/// The context must exist.
unsafe fn array(context: pg_sys::MemoryContext, count: usize, mut write: impl FnMut(usize, &mut [u64])) -> *mut u64 {
    // SAFETY: guaranteed by the caller; the allocation includes room for the alignment, and all words are written.
    unsafe {
        let start = pg_sys::MemoryContextAlloc(context, count * size_of::<u64>() + LINE).cast::<u64>();
        let start = start.add(start.align_offset(LINE));
        for (number, part) in std::slice::from_raw_parts_mut(start, count).chunks_mut(STEP).enumerate() {
            check_for_interrupts();
            write(number * STEP, part);
        }
        start
    }
}

impl Words {
    /// `count` words, all zero, in a memory context.
    ///
    /// # Safety
    /// The context must exist and outlive the words.
    pub unsafe fn new(count: usize, context: pg_sys::MemoryContext) -> Words {
        // SAFETY: guaranteed by the caller; the context of the pages is deleted with its parent.
        unsafe {
            if count <= SMALL {
                return Words {
                    whole: array(context, count, |_, part| part.fill(0)),
                    count,
                    pages: Pages::none(),
                    context,
                };
            }
            let (initial, max) =
                (pg_sys::ALLOCSET_DEFAULT_INITSIZE as usize, pg_sys::ALLOCSET_DEFAULT_MAXSIZE as usize);
            let own = pg_sys::AllocSetContextCreateInternal(context, c"pg_lsbf pages".as_ptr(), 0, initial, max);
            let pages = count.div_ceil(PAGE);
            let pages = Pages { table: zeroed(own, pages), count: pages, allocated: 0, context: own };
            Words { whole: std::ptr::null_mut(), count, pages, context }
        }
    }

    /// A copy of these words in a memory context.
    ///
    /// # Safety
    /// The context must exist and outlive the words.
    pub unsafe fn from(words: &[u64], context: pg_sys::MemoryContext) -> Words {
        let copy = |start: usize, part: &mut [u64]| part.copy_from_slice(&words[start..start + part.len()]);
        // SAFETY: guaranteed by the caller.
        let whole = unsafe { array(context, words.len(), copy) };
        Words { whole, count: words.len(), pages: Pages::none(), context }
    }

    /// The words in their current form. Joins the pages if there are many.
    pub fn form(&mut self) -> Form<'_> {
        if self.whole.is_null() {
            if self.pages.allocated * JOIN_RATIO < self.pages.count {
                return Form::Pages(&mut self.pages);
            }
            self.join();
        }
        // SAFETY: the array has `count` words, and there is no other reference.
        Form::Whole(unsafe { std::slice::from_raw_parts_mut(self.whole, self.count) })
    }

    /// Joins the pages into one array.
    fn join(&mut self) {
        // SAFETY: pages have at least as many words as are copied, and their context is not used afterwards.
        unsafe {
            let whole = array(self.context, self.count, |_, part| part.fill(0));
            for (number, &mut page) in self.pages.table().iter_mut().enumerate() {
                let start = number * PAGE;
                if !page.is_null() {
                    whole.add(start).copy_from_nonoverlapping(page, PAGE.min(self.count - start));
                }
            }
            pg_sys::MemoryContextDelete(self.pages.context);
            (self.whole, self.pages) = (whole, Pages::none());
        }
    }
}

impl Pages {
    /// No pages, for words that are one array.
    fn none() -> Pages {
        Pages { table: std::ptr::dangling_mut(), count: 0, allocated: 0, context: std::ptr::null_mut() }
    }

    #[inline]
    fn table(&mut self) -> &mut [*mut u64] {
        // SAFETY: the table has `count` entries, and there is no other reference.
        unsafe { std::slice::from_raw_parts_mut(self.table, self.count) }
    }
}

impl Body for Pages {
    #[inline]
    fn word(&self, at: usize) -> u64 {
        // SAFETY: the table has `count` entries.
        let page = unsafe { std::slice::from_raw_parts(self.table, self.count) }[at / PAGE];
        // SAFETY: an allocated page has PAGE words.
        if page.is_null() { 0 } else { u64::from_le(unsafe { *page.add(at % PAGE) }) }
    }

    fn prefetch(&self, _: usize) {}
}

impl BodyMut for Pages {
    fn set(&mut self, at: u64) -> u64 {
        let (context, place) = (self.context, (at / 64) as usize);
        let page = &mut self.table()[place / PAGE];
        let is_new = page.is_null();
        // SAFETY: an allocated page has PAGE words; the context of the pages exists.
        unsafe {
            if is_new {
                *page = zeroed(context, PAGE);
            }
            let word = page.add(place % PAGE);
            self.allocated += usize::from(is_new);
            set_in(&mut *word, at)
        }
    }
}
