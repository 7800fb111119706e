//! Telling the processor what will be read soon, so that reading it does not wait for memory.

const LINE: usize = 64;
/// Lines of one vector that are asked for ahead.
const MOST_LINES: usize = 64;

/// Brings the cache line of an address closer. Any address will do: what is not there is not fetched.
#[inline(always)]
pub fn prefetch(address: usize) {
    // SAFETY: a hint that reads nothing and never faults.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(std::ptr::without_provenance(address));
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

/// Brings the first lines of some bytes closer, all at once: left to itself, a processor starts with a few and waits.
#[inline]
pub fn prefetch_bytes(address: usize, bytes: usize) {
    (0..bytes.min(MOST_LINES * LINE)).step_by(LINE).for_each(|offset| prefetch(address.wrapping_add(offset)));
}
