//! The words of a filter that is filled while a partition lasts. A small partition pays for the pages that its rows touch,
//! not for the whole filter; when there are many of these, they become one piece.

use crate::filter::bits::{Body, BodyMut};
use pgrx::pg_sys;

/// Words of a page: a row touches about one page a table.
const PAGE: usize = 256;
/// Words up to which a filter is one piece from the start.
const SMALL: usize = 8 << 10;
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
    table: *mut *mut u64,
    made: usize,
    /// What table and pages lie in.
    context: pg_sys::MemoryContext,
}

/// The two forms, to be read and written.
pub enum Form<'a> {
    Whole(&'a mut [u64]),
    Pages(&'a mut Pages),
}

/// SAFETY: the context must exist.
unsafe fn zeroed<T>(context: pg_sys::MemoryContext, count: usize) -> *mut T {
    // SAFETY: as asked of the caller; a failure is raised as an error.
    unsafe { pg_sys::MemoryContextAllocZero(context, count * size_of::<T>()).cast() }
}

impl Words {
    /// So many words, all zero, in a memory context that must outlive them.
    pub fn new(count: usize, context: pg_sys::MemoryContext) -> Words {
        let pages = Pages { table: std::ptr::null_mut(), made: 0, context: std::ptr::null_mut() };
        let mut words = Words { whole: std::ptr::null_mut(), count, pages, context };
        // SAFETY: the context exists, and a context made within it ends with it.
        unsafe {
            if count <= SMALL {
                words.whole = zeroed(context, count);
                return words;
            }
            let (start, most) = (pg_sys::ALLOCSET_DEFAULT_INITSIZE, pg_sys::ALLOCSET_DEFAULT_MAXSIZE);
            words.pages.context =
                pg_sys::AllocSetContextCreateInternal(context, c"pages of a filter".as_ptr(), 0, start as _, most as _);
            words.pages.table = zeroed(words.pages.context, count.div_ceil(PAGE));
        }
        words
    }

    /// The same with these words.
    pub fn from(words: &[u64], context: pg_sys::MemoryContext) -> Words {
        // SAFETY: the context exists, and the memory is as long as what is copied into it.
        let whole = unsafe {
            let whole = pg_sys::MemoryContextAlloc(context, size_of_val(words)).cast::<u64>();
            whole.copy_from_nonoverlapping(words.as_ptr(), words.len());
            whole
        };
        let pages = Pages { table: std::ptr::null_mut(), made: 0, context: std::ptr::null_mut() };
        Words { whole, count: words.len(), pages, context }
    }

    /// The words as they lie now.
    pub fn form(&mut self) -> Form<'_> {
        if self.whole.is_null() {
            if self.pages.made * MANY < self.count.div_ceil(PAGE) {
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
            let whole = zeroed::<u64>(self.context, self.count);
            for number in 0..self.count.div_ceil(PAGE) {
                let (page, start) = (*self.pages.table.add(number), number * PAGE);
                if !page.is_null() {
                    whole.add(start).copy_from_nonoverlapping(page, PAGE.min(self.count - start));
                }
            }
            pg_sys::MemoryContextDelete(self.pages.context);
            self.whole = whole;
        }
    }
}

impl Pages {
    #[inline]
    fn page(&self, at: usize) -> *mut u64 {
        // SAFETY: the core asks for words of the filter only, and the table has a page for each of them.
        unsafe { *self.table.add(at / PAGE) }
    }
}

impl Body for Pages {
    #[inline]
    fn word(&self, at: usize) -> u64 {
        let page = self.page(at);
        // SAFETY: a page that was made has PAGE words.
        if page.is_null() { 0 } else { u64::from_le(unsafe { *page.add(at % PAGE) }) }
    }

    fn prefetch(&self, _: usize) {}
}

impl BodyMut for Pages {
    fn stored_word(&mut self, at: usize) -> &mut u64 {
        let mut page = self.page(at);
        // SAFETY: as above; the context of the pages exists.
        unsafe {
            if page.is_null() {
                page = zeroed(self.context, PAGE);
                *self.table.add(at / PAGE) = page;
                self.made += 1;
            }
            &mut *page.add(at % PAGE)
        }
    }
}
