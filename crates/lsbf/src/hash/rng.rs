//! Random numbers from a seed, the same on every machine and in every version.
//!
//! The generator is ChaCha with 8 rounds. Its key is the filter's seed (8 bytes, little endian) followed by the text
//! `pg_lsbf1` and zeros; every table of a filter has its own stream. The platform's mathematical functions are not
//! used: `sqrt` and division are exactly rounded in IEEE 754, and the logarithm is libm's portable one.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// A stream of random numbers.
pub struct Stream {
    rng: ChaCha8Rng,
    spare: Option<f64>,
}

impl Stream {
    /// The stream numbered `stream` of `seed`.
    pub fn new(seed: u64, stream: u64) -> Self {
        let mut key = [0u8; 32];
        key[..8].copy_from_slice(&seed.to_le_bytes());
        key[8..16].copy_from_slice(b"pg_lsbf1");
        let mut rng = ChaCha8Rng::from_seed(key);
        rng.set_stream(stream);
        Stream { rng, spare: None }
    }

    /// 64 random bits.
    pub fn word(&mut self) -> u64 {
        self.rng.next_u64()
    }

    /// Uniform in [0, 1), with 53 bits.
    pub fn uniform(&mut self) -> f64 {
        (self.word() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Uniform in `0..n`.
    pub fn below(&mut self, n: u64) -> u64 {
        crate::mix::reduce(self.word(), n)
    }

    /// Standard normal, by Marsaglia's polar method, which generates numbers in pairs.
    pub fn gaussian(&mut self) -> f64 {
        if let Some(value) = self.spare.take() {
            return value;
        }
        loop {
            let u = 2.0 * self.uniform() - 1.0;
            let v = 2.0 * self.uniform() - 1.0;
            let s = u * u + v * v;
            if s > 0.0 && s < 1.0 {
                let scale = (-2.0 * libm::log(s) / s).sqrt();
                self.spare = Some(v * scale);
                return u * scale;
            }
        }
    }

    /// Standard Cauchy: the ratio of two standard normals.
    pub fn cauchy(&mut self) -> f64 {
        loop {
            let (a, b) = (self.gaussian(), self.gaussian());
            if b != 0.0 {
                return a / b;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn same_numbers_on_every_machine() {
        let mut s = Stream::new(42, 3);
        let words = [s.word(), s.word()];
        let normals = [s.gaussian().to_bits(), s.gaussian().to_bits()];
        let cauchy = s.cauchy().to_bits();
        assert_eq!(words, [18_139_548_505_297_483_778, 17_882_821_631_587_406_996]);
        assert_eq!(normals, [13_836_721_492_323_250_663, 13_831_946_856_930_369_389]);
        assert_eq!(cauchy, 4_613_840_365_454_746_980);
    }

    #[test]
    fn normals_have_the_right_moments() {
        let mut s = Stream::new(1, 0);
        let n = 200_000;
        let (mut m1, mut m2, mut m4) = (0.0, 0.0, 0.0);
        for _ in 0..n {
            let x = s.gaussian();
            m1 += x;
            m2 += x * x;
            m4 += x * x * x * x;
        }
        let n = f64::from(n);
        // Four standard errors: the variances of x, x^2 and x^4 are 1, 2 and 96.
        assert!((m1 / n).abs() < 4.0 * (1.0 / n).sqrt());
        assert!((m2 / n - 1.0).abs() < 4.0 * (2.0 / n).sqrt());
        assert!((m4 / n - 3.0).abs() < 4.0 * (96.0 / n).sqrt());
    }

    #[test]
    fn cauchy_quartiles_are_plus_and_minus_one() {
        let mut s = Stream::new(2, 0);
        let n = 100_000;
        let inside = (0..n).filter(|_| s.cauchy().abs() < 1.0).count();
        let sd = (0.25 * f64::from(n)).sqrt();
        assert!((inside as f64 - f64::from(n) / 2.0).abs() < 4.0 * sd);
    }
}
