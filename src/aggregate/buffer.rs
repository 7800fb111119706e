//! A growing array in a memory context.

use pgrx::pg_sys::{self, MemoryContext};

/// Plain values in memory that is freed with its context: nothing has to be dropped.
pub struct Buffer<T> {
    start: *mut T,
    count: usize,
    capacity: usize,
}

impl<T: Copy> Buffer<T> {
    /// An empty array with room for `capacity` values.
    ///
    /// # Safety
    /// The context must exist and outlive the array.
    pub unsafe fn new(context: MemoryContext, capacity: usize) -> Buffer<T> {
        // SAFETY: guaranteed by the caller; a failure is raised as an error.
        let start = unsafe { pg_sys::MemoryContextAllocHuge(context, capacity * size_of::<T>()) };
        Buffer { start: start.cast(), count: 0, capacity }
    }

    /// The number of values.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The number of values that there is room for.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Appends values; returns false, and changes nothing, if there is no room for them.
    #[inline]
    pub fn append(&mut self, values: &[T]) -> bool {
        if values.len() > self.capacity - self.count {
            return false;
        }
        // SAFETY: there is room for them.
        unsafe { self.start.add(self.count).copy_from_nonoverlapping(values.as_ptr(), values.len()) };
        self.count += values.len();
        true
    }

    /// Makes room for `capacity` values, which must be more than before.
    pub fn grow(&mut self, capacity: usize) {
        // SAFETY: the memory was allocated by `new` or here; growing keeps its context.
        self.start = unsafe { pg_sys::repalloc_huge(self.start.cast(), capacity * size_of::<T>()) }.cast();
        self.capacity = capacity;
    }

    /// Keeps the first `count` values.
    pub fn truncate(&mut self, count: usize) {
        self.count = self.count.min(count);
    }

    /// All values.
    pub fn all(&mut self) -> &mut [T] {
        // SAFETY: this many values were written, and `self` is borrowed as long as the slice.
        unsafe { std::slice::from_raw_parts_mut(self.start, self.count) }
    }
}
