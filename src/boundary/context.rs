//! Memory contexts with an owner.

use pgrx::pg_sys::{self, MemoryContext};
use std::ffi::CStr;

/// Makes a memory context for few or large pieces.
///
/// # Safety
/// The parent must exist; what is made ends with it.
pub unsafe fn create(parent: MemoryContext, name: &'static CStr) -> MemoryContext {
    let (start, most) = (pg_sys::ALLOCSET_SMALL_INITSIZE as usize, pg_sys::ALLOCSET_SMALL_MAXSIZE as usize);
    // SAFETY: as asked of the caller; the name lives as long as the process.
    unsafe { pg_sys::AllocSetContextCreateInternal(parent, name.as_ptr(), 0, start, most) }
}

/// A memory context that ends with its owner.
pub struct Context(MemoryContext);

impl Context {
    /// # Safety
    /// The parent must exist, and outlive it.
    pub unsafe fn new(parent: MemoryContext, name: &'static CStr) -> Context {
        // SAFETY: as asked of the caller.
        Context(unsafe { create(parent, name) })
    }

    pub fn get(&self) -> MemoryContext {
        self.0
    }

    /// Runs `body` with this as the current context.
    pub fn with<R>(&self, body: impl FnOnce() -> R) -> R {
        // SAFETY: the context exists as long as this.
        let _before = Before(unsafe { pg_sys::MemoryContextSwitchTo(self.0) });
        body()
    }

    /// Gives back all of its memory.
    pub fn reset(&self) {
        // SAFETY: as above.
        unsafe { pg_sys::MemoryContextReset(self.0) };
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: it was made by `new`, and nobody else deletes it.
        unsafe { pg_sys::MemoryContextDelete(self.0) };
    }
}

/// The context that is current again when this is dropped, by an error, too.
struct Before(MemoryContext);

impl Drop for Before {
    fn drop(&mut self) {
        // SAFETY: it was current before, and its owner waits.
        unsafe { pg_sys::MemoryContextSwitchTo(self.0) };
    }
}
