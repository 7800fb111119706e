//! Compiles a task for several instruction sets, and runs the variant for this processor. All variants give the same result.

use super::path::Path;

/// Work that is compiled for several instruction sets. `run` should be marked `#[inline(always)]`, and so should everything
/// it calls: what is not inlined is compiled for every processor.
pub trait Task {
    /// What it returns.
    type Output;

    /// Does the work.
    fn run<I: Isa>(self) -> Self::Output;
}

/// Items that [`Isa::keep`] selects from at once.
pub const ITEMS: usize = 16;

/// The costs and names of items.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
pub struct Items {
    /// Their costs.
    pub costs: [f32; ITEMS],
    /// Their names.
    pub names: [u32; ITEMS],
}

/// Where the costs and names of kept items are written.
pub type Kept<'a> = (&'a mut [f32; ITEMS], &'a mut [u32; ITEMS]);

/// An instruction set: operations that the compiler does not generate from portable code.
pub trait Isa {
    /// Writes those items for which `costs` is at most `limit`, in order; returns their number. Further items are undefined.
    fn keep(costs: &[f32; ITEMS], limit: f32, items: &Items, kept: Kept) -> usize;
}

/// Portable code.
pub struct Portable;

impl Isa for Portable {
    /// Every item is written, and overwritten by the next one if it costs too much: branches would be mispredicted.
    #[inline(always)]
    fn keep(costs: &[f32; ITEMS], limit: f32, items: &Items, kept: Kept) -> usize {
        let mut count = 0;
        for (at, &cost) in costs.iter().enumerate() {
            (kept.0[count % ITEMS], kept.1[count % ITEMS]) = (items.costs[at], items.names[at]);
            count += usize::from(cost <= limit);
        }
        count
    }
}

/// Runs a task on a path that the processor has.
#[inline]
pub fn run<T: Task>(path: Path, task: T) -> T::Output {
    match path {
        // SAFETY: the processor has the instructions of every available path.
        #[cfg(target_arch = "x86_64")]
        Path::Avx2 => unsafe { x86::avx2(task) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Path::Avx512 => unsafe { x86::avx512(task) },
        _ => task.run::<Portable>(),
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{ITEMS, Isa, Items, Kept, Task};
    use std::arch::x86_64::*;

    struct Avx2;
    struct Avx512;

    /// SAFETY: the processor must have AVX2 and the instructions for bits.
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    pub unsafe fn avx2<T: Task>(task: T) -> T::Output {
        task.run::<Avx2>()
    }

    /// SAFETY: the processor must have AVX2, AVX-512F and the instructions for bits.
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt,avx512f")]
    pub unsafe fn avx512<T: Task>(task: T) -> T::Output {
        task.run::<Avx512>()
    }

    /// Items that fill a register of AVX2.
    const HALF: usize = ITEMS / 2;

    /// By mask: the places of the ones, in order.
    static ONES: [[u32; HALF]; 1 << HALF] = ones();

    const fn ones() -> [[u32; HALF]; 1 << HALF] {
        let mut all = [[0; HALF]; 1 << HALF];
        let mut mask: usize = 0;
        while mask < all.len() {
            let (mut rest, mut count) = (mask, 0);
            while rest != 0 {
                all[mask][count] = rest.trailing_zeros();
                rest &= rest - 1;
                count += 1;
            }
            mask += 1;
        }
        all
    }

    impl Isa for Avx2 {
        #[inline(always)]
        fn keep(costs: &[f32; ITEMS], limit: f32, items: &Items, kept: Kept) -> usize {
            let mut count = 0;
            for half in [0, HALF] {
                // SAFETY: tasks run with this type only if the processor has AVX2. Eight items fill a register; as many are
                // written after at most eight others.
                unsafe {
                    let all = _mm256_loadu_ps(costs.as_ptr().add(half));
                    let mask = _mm256_movemask_ps(_mm256_cmp_ps::<_CMP_LE_OQ>(all, _mm256_set1_ps(limit))) as u8;
                    let costs = _mm256_loadu_ps(items.costs.as_ptr().add(half));
                    let names = _mm256_loadu_ps(items.names.as_ptr().add(half).cast());
                    let ones = _mm256_loadu_si256(ONES[usize::from(mask)].as_ptr().cast());
                    _mm256_storeu_ps(kept.0.as_mut_ptr().add(count), _mm256_permutevar8x32_ps(costs, ones));
                    _mm256_storeu_ps(kept.1.as_mut_ptr().add(count).cast(), _mm256_permutevar8x32_ps(names, ones));
                    count += mask.count_ones() as usize;
                }
            }
            count
        }
    }

    impl Isa for Avx512 {
        #[inline(always)]
        fn keep(costs: &[f32; ITEMS], limit: f32, items: &Items, kept: Kept) -> usize {
            // SAFETY: tasks run with this type only if the processor has AVX-512F; sixteen items fill a register.
            unsafe {
                let mask = _mm512_cmp_ps_mask::<_CMP_LE_OQ>(_mm512_loadu_ps(costs.as_ptr()), _mm512_set1_ps(limit));
                let costs = _mm512_loadu_ps(items.costs.as_ptr());
                let names = _mm512_loadu_si512(items.names.as_ptr().cast());
                _mm512_storeu_ps(kept.0.as_mut_ptr(), _mm512_maskz_compress_ps(mask, costs));
                _mm512_storeu_si512(kept.1.as_mut_ptr().cast(), _mm512_maskz_compress_epi32(mask, names));
                mask.count_ones() as usize
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Keep<'a>(&'a Items, f32);

    impl Task for Keep<'_> {
        type Output = Vec<u32>;

        #[inline(always)]
        fn run<I: Isa>(self) -> Vec<u32> {
            let mut out = Items { costs: [0.0; ITEMS], names: [0; ITEMS] };
            let count = I::keep(&self.0.costs, self.1, self.0, (&mut out.costs, &mut out.names));
            assert!(out.costs[..count].iter().all(|&cost| cost <= self.1));
            out.names[..count].to_vec()
        }
    }

    #[test]
    fn every_path_keeps_the_same_items() {
        let mut items = Items { costs: [0.0; ITEMS], names: [0; ITEMS] };
        for at in 0..ITEMS {
            (items.costs[at], items.names[at]) = ((at * 7 % ITEMS) as f32, 100 + at as u32);
        }
        items.costs[5] = f32::NAN;
        items.costs[6] = f32::INFINITY;
        for path in Path::available() {
            for limit in [-1.0, 0.0, 5.0, 7.5, 64.0, f32::INFINITY] {
                let at_most = |at: &usize| items.costs[*at] <= limit;
                let expected: Vec<u32> = (0..ITEMS).filter(at_most).map(|at| items.names[at]).collect();
                assert_eq!(run(path, Keep(&items, limit)), expected, "{path:?} {limit}");
            }
        }
    }
}
