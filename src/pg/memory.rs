//! Rust's memory. Where there is none left, Rust aborts the process, upon which PostgreSQL ends all other sessions, too.
//! Here it ends the one session, with the SQLSTATE of PostgreSQL's own error.

use pgrx::pg_sys;
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
    if pointer.is_null() && !crate::memory::is_asked_for() {
        end_session(size);
    }
    pointer
}

/// FATAL needs no memory but what PostgreSQL keeps for it, and leaves by exit: no frame of Rust is jumped over and lives on.
#[cold]
fn end_session(size: usize) {
    unsafe extern "C-unwind" {
        fn errstart(level: i32, domain: *const std::ffi::c_char) -> bool;
        fn errcode(code: i32) -> i32;
        fn errmsg(format: *const std::ffi::c_char, ...) -> i32;
        fn errdetail(format: *const std::ffi::c_char, ...) -> i32;
        fn errfinish(file: *const std::ffi::c_char, line: i32, function: *const std::ffi::c_char);
    }
    // SAFETY: PostgreSQL's own way to report; the formats fit what follows them.
    unsafe {
        if errstart(pg_sys::FATAL as i32, std::ptr::null()) {
            errcode(pg_sys::errcodes::PgSqlErrorCode::ERRCODE_OUT_OF_MEMORY as i32);
            errmsg(c"out of memory".as_ptr());
            errdetail(c"Failed on request of size %zu in pg_lsbf.".as_ptr(), size);
        }
        errfinish(c"memory.rs".as_ptr(), line!() as i32, c"pg_lsbf".as_ptr());
    }
}
