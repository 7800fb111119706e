//! Fallible allocation: running out of memory is an error instead of the end of the process.

use crate::error::{Code, Error, Result};
use std::cell::Cell;

thread_local! {
    static IS_FALLIBLE: Cell<bool> = const { Cell::new(false) };
}

/// Whether the current allocation is fallible: the allocator may then return null.
pub fn is_fallible() -> bool {
    IS_FALLIBLE.get()
}

/// Reserves capacity for exactly `additional` more elements.
pub fn reserve<T>(vector: &mut Vec<T>, additional: usize) -> Result<()> {
    fallible(|| vector.try_reserve_exact(additional))
}

/// Reserves capacity for at least `additional` more elements, amortized for vectors that grow in small steps.
pub fn grow<T>(vector: &mut Vec<T>, additional: usize) -> Result<()> {
    fallible(|| vector.try_reserve(additional))
}

/// Reserves capacity for at least `additional` more bytes of a string.
pub fn grow_text(text: &mut String, additional: usize) -> Result<()> {
    match text.capacity() - text.len() >= additional {
        true => Ok(()),
        false => fallible(|| text.try_reserve(additional)),
    }
}

/// Checks that `bytes` bytes are available, before work that allocates them in pieces.
pub fn check_available(bytes: usize) -> Result<()> {
    let mut probe = Vec::<u8>::new();
    let result = reserve(&mut probe, bytes);
    // Otherwise the compiler may leave out an allocation that nobody uses, and assume that it succeeds.
    std::hint::black_box(&probe);
    result
}

/// Returns freed memory to the operating system after work that needed much of it; otherwise the allocator keeps it.
pub fn trim() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        unsafe extern "C" {
            fn malloc_trim(pad: usize) -> std::ffi::c_int;
        }
        // SAFETY: malloc_trim may be called at any time.
        unsafe { malloc_trim(0) };
    }
}

fn fallible(reserve: impl FnOnce() -> std::result::Result<(), std::collections::TryReserveError>) -> Result<()> {
    IS_FALLIBLE.set(true);
    let result = reserve();
    IS_FALLIBLE.set(false);
    result.map_err(|_| Error::new(Code::OutOfMemory, "out of memory"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failed_allocations_are_errors() {
        assert!(check_available(1 << 20).is_ok());
        assert_eq!(check_available(isize::MAX as usize).unwrap_err().code, Code::OutOfMemory);
        assert_eq!(grow(&mut vec![0u64; 8], usize::MAX / 16).unwrap_err().code, Code::OutOfMemory);
        assert!(!is_fallible());
    }
}
