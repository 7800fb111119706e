//! Mixing of 64-bit values. The constants and steps are part of the stored format (docs/format.md).

const K0: u64 = 0xa076_1d64_78bd_642f;
const K1: u64 = 0xe703_7ed1_a0b4_28db;

#[inline(always)]
fn multiply(a: u64, b: u64) -> (u64, u64) {
    let product = u128::from(a) * u128::from(b);
    (product as u64, (product >> 64) as u64)
}

/// Mixes two words into one: two full multiplications, so that every input bit reaches every output bit.
#[inline(always)]
pub fn mix(a: u64, b: u64) -> u64 {
    let (low, high) = multiply(a ^ K0, b ^ K1);
    let (low, high) = multiply(low ^ K0, high ^ K1);
    low ^ high
}

/// Maps a well-mixed key to `0..n`.
#[inline(always)]
pub fn reduce(key: u64, n: u64) -> u64 {
    multiply(key, n).1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn same_values_on_every_machine() {
        assert_eq!(
            [mix(0, 0), mix(1, 2), mix(u64::MAX, 42)],
            [6_971_693_558_788_087_849, 1_366_336_163_906_704_524, 9_760_465_437_628_749_174]
        );
    }

    #[test]
    fn flipping_any_bit_changes_half_of_the_output() {
        let mut total = 0;
        for bit in 0..64 {
            for x in 0..64u64 {
                total += (mix(x, 7) ^ mix(x ^ (1 << bit), 7)).count_ones();
                total += (mix(7, x) ^ mix(7, x ^ (1 << bit))).count_ones();
            }
        }
        // 2 x 64 x 64 outputs of 64 bits, each of which flips with probability 1/2: the standard deviation of the mean
        // is 0.044 bits.
        let mean = f64::from(total) / (2.0 * 64.0 * 64.0);
        assert!((mean - 32.0).abs() < 4.0 * 0.044, "{mean}");
    }

    #[test]
    fn reduce_stays_below_n_and_reaches_both_ends() {
        assert_eq!(reduce(0, 10), 0);
        assert_eq!(reduce(u64::MAX, 10), 9);
        assert_eq!(reduce(u64::MAX, 1), 0);
    }
}
