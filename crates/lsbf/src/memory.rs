//! Memory that may not be there: asking for it gives an error instead of ending the process.

use crate::error::{Code, Error, Result};
use std::cell::Cell;

thread_local! {
    static ASKING: Cell<bool> = const { Cell::new(false) };
}

/// Whether memory is being asked for by someone who can do without: an allocator that fails may then say so.
pub fn is_asked_for() -> bool {
    ASKING.get()
}

/// Makes room in a vector for exactly so many elements more.
pub fn reserve<T>(vector: &mut Vec<T>, more: usize) -> Result<()> {
    ask(|| vector.try_reserve_exact(more))
}

/// The same for a vector that grows by and by.
pub fn grow<T>(vector: &mut Vec<T>, more: usize) -> Result<()> {
    ask(|| vector.try_reserve(more))
}

/// The same for a text.
pub fn grow_text(text: &mut String, more: usize) -> Result<()> {
    match text.capacity() - text.len() >= more {
        true => Ok(()),
        false => ask(|| text.try_reserve(more)),
    }
}

/// Checks that there are so many bytes, for work that will take them in pieces.
pub fn check_room(bytes: usize) -> Result<()> {
    reserve(&mut Vec::<u8>::new(), bytes)
}

/// Has freed memory given back to the system, after work that took much of it: else the allocator keeps it for later.
pub fn give_back() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        unsafe extern "C" {
            fn malloc_trim(keep: usize) -> std::ffi::c_int;
        }
        // SAFETY: glibc's function may be called at any time.
        unsafe { malloc_trim(0) };
    }
}

fn ask(reserve: impl FnOnce() -> std::result::Result<(), std::collections::TryReserveError>) -> Result<()> {
    ASKING.set(true);
    let made = reserve();
    ASKING.set(false);
    made.map_err(|_| Error::new(Code::OutOfMemory, "out of memory"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_there_is_an_error() {
        assert!(check_room(1 << 20).is_ok());
        assert_eq!(check_room(isize::MAX as usize).unwrap_err().code, Code::OutOfMemory);
        assert_eq!(grow(&mut vec![0u64; 8], usize::MAX / 16).unwrap_err().code, Code::OutOfMemory);
        assert!(!is_asked_for());
    }
}
