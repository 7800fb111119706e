//! The allocator of Rust's memory. By default, Rust aborts the process if an allocation fails, and PostgreSQL then ends
//! all other sessions, too. This allocator ends only the session that ran out of memory, with PostgreSQL's own
//! SQLSTATE.

use crate::boundary::error::end_session;
use std::alloc::{GlobalAlloc, Layout, System};

struct Heap;

#[global_allocator]
static HEAP: Heap = Heap;

// SAFETY: everything is delegated to the system's allocator; `checked` does not unwind: if it fails, it ends the
// process.
unsafe impl GlobalAlloc for Heap {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: guaranteed by the caller.
        checked(unsafe { System.alloc(layout) }, layout.size())
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: guaranteed by the caller.
        checked(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    #[inline]
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: guaranteed by the caller.
        checked(unsafe { System.realloc(pointer, layout, size) }, size)
    }

    #[inline]
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: guaranteed by the caller.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[inline]
fn checked(pointer: *mut u8, size: usize) -> *mut u8 {
    if pointer.is_null() && !lsbf::memory::is_fallible() {
        end_session(size);
    }
    pointer
}
