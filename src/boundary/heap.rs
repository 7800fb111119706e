//! Rust's memory. Where there is none left, Rust aborts the process, upon which PostgreSQL ends all other sessions, too.
//! Here it ends the one session, with the SQLSTATE of PostgreSQL's own error.

use crate::boundary::error::end_session;
use std::alloc::{GlobalAlloc, Layout, System};

struct Heap;

#[global_allocator]
static HEAP: Heap = Heap;

// SAFETY: all is left to the system's allocator; nothing is unwound through Rust, as `checked` does not return when it fails.
unsafe impl GlobalAlloc for Heap {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as asked of the caller.
        checked(unsafe { System.alloc(layout) }, layout.size())
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as asked of the caller.
        checked(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    #[inline]
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as asked of the caller.
        checked(unsafe { System.realloc(pointer, layout, size) }, size)
    }

    #[inline]
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as asked of the caller.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[inline]
fn checked(pointer: *mut u8, size: usize) -> *mut u8 {
    if pointer.is_null() && !lsbf::memory::is_asked_for() {
        end_session(size);
    }
    pointer
}
