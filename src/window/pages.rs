//! The words of a filter that is filled while a partition lasts. A small partition pays for the pages that its rows touch,
//! not for the whole filter; when there are many of these, they become one piece.

use crate::boundary::guard::check_for_interrupts;
use lsbf::filter::bits::{Body, BodyMut, set_in};
use pgrx::pg_sys;

/// Words of a page: a row touches about one page a table.
const PAGE: usize = 256;
/// Words up to which a filter is one piece from the start.
const SMALL: usize = 8 << 10;
/// Words that are written between checks for interrupts.
const STEP: usize = 1 << 19;
/// Bytes of a cache line.
const LINE: usize = 64;
/// The share of pages, one in so many, from which on a filter is one piece.
const MANY: usize = 8;

/// The words, in memory that ends with the context they were made in. It is plain data, to lie in memory of PostgreSQL's.
pub struct Words {
    /// Where the piece lies; null while there are pages.
    whole: *mut u64,
    count: usize,
    pages: Pages,
    context: pg_sys::MemoryContext,
}

/// Words of which only the pages that were written exist; all others are zero.
pub struct Pages {
    /// Where each page lies; null where it was not made yet.
    table: *mut *mut u64,
    count: usize,
    made: usize,
    /// What table and pages lie in.
    context: pg_sys::MemoryContext,
}

/// The two forms, to be read and written.
pub enum Form<'a> {
    Whole(&'a mut [u64]),
    Pages(&'a mut Pages),
}

/// Zeros in a memory context.
///
/// # Safety
/// The context must exist.
unsafe fn zeroed<T>(context: pg_sys::MemoryContext, count: usize) -> *mut T {
    // SAFETY: as asked of the caller; a failure is raised as an error.
    unsafe { pg_sys::MemoryContextAllocZero(context, count * size_of::<T>()).cast() }
}

/// A copy in a memory context.
///
/// # Safety
/// The context must exist.
pub unsafe fn copied(words: &[u64], context: pg_sys::MemoryContext) -> *mut u64 {
    // SAFETY: as asked of the caller; the memory is as long as what is copied into it.
    unsafe {
        let copy = pg_sys::MemoryContextAlloc(context, size_of_val(words)).cast::<u64>();
        copy.copy_from_nonoverlapping(words.as_ptr(), words.len());
        copy
    }
}

/// So many words in one piece, as they are given for each part of it. Filters whose keys lie within 64 bytes each then touch
/// one cache line for each.
///
/// # Safety
/// The context must exist.
unsafe fn piece(context: pg_sys::MemoryContext, count: usize, mut write: impl FnMut(usize, &mut [u64])) -> *mut u64 {
    // SAFETY: as asked of the caller; what the start moves by was asked for in addition, and all words are written.
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
    /// So many words, all zero, in a memory context.
    ///
    /// # Safety
    /// The context must exist, and outlive the words.
    pub unsafe fn new(count: usize, context: pg_sys::MemoryContext) -> Words {
        // SAFETY: as asked of the caller; a context made within another ends with it.
        unsafe {
            if count <= SMALL {
                return Words {
                    whole: piece(context, count, |_, part| part.fill(0)),
                    count,
                    pages: Pages::none(),
                    context,
                };
            }
            let (start, most) = (pg_sys::ALLOCSET_DEFAULT_INITSIZE as usize, pg_sys::ALLOCSET_DEFAULT_MAXSIZE as usize);
            let own = pg_sys::AllocSetContextCreateInternal(context, c"pages of a filter".as_ptr(), 0, start, most);
            let pages = count.div_ceil(PAGE);
            let pages = Pages { table: zeroed(own, pages), count: pages, made: 0, context: own };
            Words { whole: std::ptr::null_mut(), count, pages, context }
        }
    }

    /// The same with these words.
    ///
    /// # Safety
    /// The context must exist, and outlive the words.
    pub unsafe fn from(words: &[u64], context: pg_sys::MemoryContext) -> Words {
        let copy = |start: usize, part: &mut [u64]| part.copy_from_slice(&words[start..start + part.len()]);
        // SAFETY: as asked of the caller.
        let whole = unsafe { piece(context, words.len(), copy) };
        Words { whole, count: words.len(), pages: Pages::none(), context }
    }

    /// The words as they lie now.
    pub fn form(&mut self) -> Form<'_> {
        if self.whole.is_null() {
            if self.pages.made * MANY < self.pages.count {
                return Form::Pages(&mut self.pages);
            }
            self.join();
        }
        // SAFETY: it was made with so many words, and nobody else has it.
        Form::Whole(unsafe { std::slice::from_raw_parts_mut(self.whole, self.count) })
    }

    /// Makes one piece of the pages.
    fn join(&mut self) {
        // SAFETY: every page made is as long as what is copied, and the context of the pages is not used after this.
        unsafe {
            let whole = piece(self.context, self.count, |_, part| part.fill(0));
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
    /// What stands where there is one piece.
    fn none() -> Pages {
        Pages { table: std::ptr::dangling_mut(), count: 0, made: 0, context: std::ptr::null_mut() }
    }

    #[inline]
    fn table(&mut self) -> &mut [*mut u64] {
        // SAFETY: the table was made with so many entries, and nobody else has it.
        unsafe { std::slice::from_raw_parts_mut(self.table, self.count) }
    }
}

impl Body for Pages {
    #[inline]
    fn word(&self, at: usize) -> u64 {
        // SAFETY: as above, to be read.
        let page = unsafe { std::slice::from_raw_parts(self.table, self.count) }[at / PAGE];
        // SAFETY: a page that was made has PAGE words.
        if page.is_null() { 0 } else { u64::from_le(unsafe { *page.add(at % PAGE) }) }
    }

    fn prefetch(&self, _: usize) {}
}

impl BodyMut for Pages {
    fn set(&mut self, at: u64) -> u64 {
        let (context, place) = (self.context, (at / 64) as usize);
        let page = &mut self.table()[place / PAGE];
        let is_new = page.is_null();
        // SAFETY: as above; the context of the pages exists.
        unsafe {
            if is_new {
                *page = zeroed(context, PAGE);
            }
            let word = page.add(place % PAGE);
            self.made += usize::from(is_new);
            set_in(&mut *word, at)
        }
    }
}
