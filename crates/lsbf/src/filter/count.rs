//! Counting the bits of whole filters, with the POPCNT instruction if the processor has it.

/// Defines a function that is compiled twice: for any processor, and for those with AVX2 and POPCNT.
macro_rules! counting {
    ($(#[$doc:meta])* $name:ident($($argument:ident: $type:ty),*) $body:block) => {
        $(#[$doc])*
        pub fn $name($($argument: $type),*) -> u64 {
            #[inline(always)]
            fn plain($($argument: $type),*) -> u64 $body
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,popcnt")]
            fn counted($($argument: $type),*) -> u64 {
                plain($($argument),*)
            }
            #[cfg(target_arch = "x86_64")]
            if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("popcnt") {
                // SAFETY: the processor has both features.
                return unsafe { counted($($argument),*) };
            }
            plain($($argument),*)
        }
    };
}

counting! {
    /// The number of bits set.
    ones(words: &[u64]) {
        words.iter().map(|word| u64::from(word.count_ones())).sum()
    }
}

counting! {
    /// ORs words into others; returns the number of bits set in the result.
    merge(words: &mut [u64], other: &[u64]) {
        let mut ones = 0;
        for (a, b) in words.iter_mut().zip(other) {
            *a |= b;
            ones += u64::from(a.count_ones());
        }
        ones
    }
}

counting! {
    /// The sum, over all small Bloom filters of `slots` bits, of the square of the number of bits set. `slots` divides
    /// 64 or is a multiple of it.
    squares(words: &[u64], slots: u32) {
        let square = |ones: u32| u64::from(ones) * u64::from(ones);
        if slots >= 64 {
            let blooms = words.chunks(slots as usize / 64);
            return blooms.map(|bloom| square(bloom.iter().map(|word| word.count_ones()).sum())).sum();
        }
        let mask = (1 << slots) - 1;
        let in_word = |word: u64| (0..64).step_by(slots as usize).map(|at| square((word >> at & mask).count_ones())).sum::<u64>();
        words.iter().map(|word| in_word(u64::from_le(*word))).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mix::mix;

    #[test]
    fn counts_agree_with_counting_bit_by_bit() {
        let words: Vec<u64> = (0..192).map(|i| mix(i, 1) & mix(i, 2)).collect();
        let bit = |at: usize| u64::from_le(words[at / 64]) >> (at % 64) & 1;
        assert_eq!(ones(&words), (0..192 * 64).map(bit).sum::<u64>());
        for slots in [1, 2, 8, 16, 32, 64, 128, 192, 4096] {
            let blooms = (0..192 * 64 / slots).map(|bloom| (0..slots).map(|slot| bit(bloom * slots + slot)).sum());
            assert_eq!(squares(&words, slots as u32), blooms.map(|ones: u64| ones * ones).sum::<u64>(), "{slots}");
        }
        let mut merged = vec![0x0f0f; 192];
        let ones = merge(&mut merged, &words);
        assert!(merged.iter().zip(&words).all(|(merged, word)| *merged == word | 0x0f0f));
        assert_eq!(ones, super::ones(&merged));
    }
}
