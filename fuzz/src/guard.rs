//! An allocator that counts, so that a fuzz target can limit the memory that an input uses.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

struct Counting;

static HELD: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

#[global_allocator]
static ALLOCATOR: Counting = Counting;

// SAFETY: everything is delegated to the system's allocator; counting allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let held = HELD.fetch_add(layout.size(), Relaxed) + layout.size();
        PEAK.fetch_max(held, Relaxed);
        // SAFETY: guaranteed by the caller.
        unsafe { System.alloc(layout) }
    }

    // The default implementation would write the zeros, but large zeroed memory costs nothing until it is used.
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        let held = HELD.fetch_add(layout.size(), Relaxed) + layout.size();
        PEAK.fetch_max(held, Relaxed);
        // SAFETY: guaranteed by the caller.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Relaxed);
        // SAFETY: guaranteed by the caller.
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// Runs `body`; returns its result and the maximum number of bytes it held in addition to those held before.
pub fn peak<R>(body: impl FnOnce() -> R) -> (R, usize) {
    let before = HELD.load(Relaxed);
    PEAK.store(before, Relaxed);
    let result = body();
    (result, PEAK.load(Relaxed).saturating_sub(before))
}

/// Runs `body`, which must not hold more than `limit` bytes.
pub fn within<R>(limit: usize, what: &str, body: impl FnOnce() -> R) -> R {
    let (result, bytes) = peak(body);
    assert!(bytes <= limit, "{what} used {bytes} bytes, more than the limit of {limit}");
    result
}
