//! Memory contexts that are deleted with their owner.

use super::guard::check_for_interrupts;
use pgrx::pg_sys::{self, MemoryContext};
use std::ffi::CStr;

/// Words cleared between checks for interrupts.
const STEP: usize = 1 << 19;

/// Allocates words in a memory context, and clears them in parts.
///
/// # Safety
/// The context must exist and outlive the words.
pub unsafe fn cleared<'a>(context: MemoryContext, count: usize) -> &'a mut [u64] {
    // SAFETY: guaranteed by the caller; all words are written.
    unsafe {
        let start = pg_sys::MemoryContextAllocHuge(context, count * size_of::<u64>()).cast::<u64>();
        let words = std::slice::from_raw_parts_mut(start, count);
        for part in words.chunks_mut(STEP) {
            check_for_interrupts();
            part.fill(0);
        }
        words
    }
}

/// Creates a memory context for few or large allocations.
///
/// # Safety
/// The parent must exist; the context is deleted with it.
pub unsafe fn create(parent: MemoryContext, name: &'static CStr) -> MemoryContext {
    let (initial, max) = (pg_sys::ALLOCSET_SMALL_INITSIZE as usize, pg_sys::ALLOCSET_SMALL_MAXSIZE as usize);
    // SAFETY: guaranteed by the caller; the name lives as long as the process.
    unsafe { pg_sys::AllocSetContextCreateInternal(parent, name.as_ptr(), 0, initial, max) }
}

/// A memory context that is deleted when this is dropped.
pub struct Context(MemoryContext);

impl Context {
    /// # Safety
    /// The parent must exist and outlive the context.
    pub unsafe fn new(parent: MemoryContext, name: &'static CStr) -> Context {
        // SAFETY: guaranteed by the caller.
        Context(unsafe { create(parent, name) })
    }

    pub fn get(&self) -> MemoryContext {
        self.0
    }

    /// Runs `body` with this as the current context.
    pub fn with<R>(&self, body: impl FnOnce() -> R) -> R {
        // SAFETY: the context exists as long as `self`.
        let _restore = Restore(unsafe { pg_sys::MemoryContextSwitchTo(self.0) });
        body()
    }

    /// Frees all of its memory.
    pub fn reset(&self) {
        // SAFETY: as above.
        unsafe { pg_sys::MemoryContextReset(self.0) };
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: created by `new`, and deleted nowhere else.
        unsafe { pg_sys::MemoryContextDelete(self.0) };
    }
}

/// Switches back to a context when dropped, also by an error.
struct Restore(MemoryContext);

impl Drop for Restore {
    fn drop(&mut self) {
        // SAFETY: it was the current context before, so it still exists.
        unsafe { pg_sys::MemoryContextSwitchTo(self.0) };
    }
}
