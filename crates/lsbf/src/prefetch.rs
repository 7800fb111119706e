//! Prefetching of memory that will be read soon.

const LINE: usize = 64;
/// Cache lines of one vector that are prefetched.
const MAX_LINES: usize = 64;

/// Prefetches the cache line of an address, which may be invalid.
#[inline(always)]
pub fn prefetch(address: usize) {
    // SAFETY: a prefetch is a hint that never faults.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(std::ptr::without_provenance(address));
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

/// Prefetches the first cache lines of a byte range at once; the hardware prefetcher would only follow a few ahead.
#[inline]
pub fn prefetch_bytes(address: usize, bytes: usize) {
    (0..bytes.min(MAX_LINES * LINE)).step_by(LINE).for_each(|offset| prefetch(address.wrapping_add(offset)));
}
