//! Bit sampling for the Hamming distance: a hash is one bit of the string.

use super::rng::Stream;

/// `tables x hashes` sampled positions.
pub struct BitSampling {
    positions: Positions,
    hashes: usize,
}

/// Bits counted from the lowest of each byte.
enum Positions {
    /// Of strings that are laid out one bit a byte before they are sampled: then a sample is one look. A 16-bit number
    /// never points outside that memory, so nothing needs to be checked.
    Short(Vec<u16>),
    Long(Vec<u32>),
}

const SHORT: usize = 1 << 16;

/// One byte a bit.
pub struct Spread(Box<[u8; SHORT]>);

impl Default for Spread {
    fn default() -> Self {
        Spread(vec![0; SHORT].try_into().expect("it is that long"))
    }
}

/// The bits of each byte, one a byte, lowest first.
const SPREAD: [[u8; 8]; 256] = {
    let mut table = [[0; 8]; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut bit = 0;
        while bit < 8 {
            table[byte][bit] = (byte >> bit & 1) as u8;
            bit += 1;
        }
        byte += 1;
    }
    table
};

impl BitSampling {
    pub fn new(seed: u64, tables: usize, hashes: usize, dims: u32) -> Self {
        let mut positions = Vec::with_capacity(tables * hashes);
        for table in 0..tables {
            let mut stream = Stream::new(seed, table as u64);
            for _ in 0..hashes {
                // The first bit of a string is the highest of its first byte.
                positions.push(stream.below(u64::from(dims)) as u32 ^ 7);
            }
        }
        let positions = match dims as usize <= SHORT {
            true => Positions::Short(positions.iter().map(|&at| at as u16).collect()),
            false => Positions::Long(positions),
        };
        BitSampling { positions, hashes }
    }

    /// The sampled bits of each table, the first one highest.
    pub fn hash(&self, bytes: &[u8], spread: &mut Spread, keys: &mut [u64]) {
        match &self.positions {
            Positions::Short(positions) => {
                for (bits, &byte) in spread.0.as_chunks_mut::<8>().0.iter_mut().zip(bytes) {
                    *bits = SPREAD[usize::from(byte)];
                }
                for (key, sampled) in keys.iter_mut().zip(positions.chunks_exact(self.hashes)) {
                    *key = sampled.iter().fold(0, |key, &at| key << 1 | u64::from(spread.0[usize::from(at)]));
                }
            }
            Positions::Long(positions) => {
                let bit = |at: u32| u64::from(bytes[(at / 8) as usize] >> (at % 8) & 1);
                for (key, sampled) in keys.iter_mut().zip(positions.chunks_exact(self.hashes)) {
                    *key = sampled.iter().fold(0, |key, &at| key << 1 | bit(at));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_made_of_the_sampled_bits_first_one_highest() {
        let mut s = Stream::new(1, 0);
        for dims in [1usize, 5, 8, 1024, 1 << 16, (1 << 16) + 1, 100_001] {
            let mut bytes: Vec<u8> = (0..dims.div_ceil(8)).map(|_| s.word() as u8).collect();
            if !dims.is_multiple_of(8) {
                *bytes.last_mut().unwrap() &= 0xff << (8 - dims % 8);
            }
            let (tables, hashes) = (3, 40);
            let mut keys = vec![0; tables];
            let mut spread = Spread(vec![1; SHORT].try_into().unwrap());
            BitSampling::new(7, tables, hashes, dims as u32).hash(&bytes, &mut spread, &mut keys);
            for (table, &key) in keys.iter().enumerate() {
                let mut stream = Stream::new(7, table as u64);
                let expected = (0..hashes).fold(0, |key, _| {
                    let at = stream.below(dims as u64) as usize;
                    key << 1 | u64::from(bytes[at / 8] >> (7 - at % 8) & 1)
                });
                assert_eq!(key, expected, "{dims} bits, table {table}");
            }
        }
    }
}
