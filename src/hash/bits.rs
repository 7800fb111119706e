//! Bit sampling for the Hamming distance: a hash is one bit of the string.

use super::rng::Stream;

/// `tables x hashes` sampled positions.
pub struct BitSampling {
    /// Byte offset and the shift that brings the sampled bit down.
    positions: Vec<(u32, u8)>,
    hashes: usize,
}

impl BitSampling {
    pub fn new(seed: u64, tables: usize, hashes: usize, dims: u32) -> Self {
        let mut positions = Vec::with_capacity(tables * hashes);
        for table in 0..tables {
            let mut stream = Stream::new(seed, table as u64);
            for _ in 0..hashes {
                let bit = stream.below(u64::from(dims)) as u32;
                positions.push((bit / 8, 7 - (bit % 8) as u8));
            }
        }
        BitSampling { positions, hashes }
    }

    /// The sampled bits of each table, the first one highest.
    pub fn hash(&self, bytes: &[u8], keys: &mut [u64]) {
        for (key, sampled) in keys.iter_mut().zip(self.positions.chunks(self.hashes)) {
            *key =
                sampled.iter().fold(0, |key, &(byte, shift)| key << 1 | u64::from(bytes[byte as usize] >> shift & 1));
        }
    }
}
