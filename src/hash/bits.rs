//! Bit sampling for the Hamming distance: a hash is one bit of the string.

use super::rng::Stream;

/// `tables x hashes` sampled positions.
pub struct BitSampling {
    /// Bits counted from the lowest of each byte, as words of eight bytes have them.
    positions: Vec<u32>,
    hashes: usize,
}

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
        BitSampling { positions, hashes }
    }

    /// The sampled bits of each table, the first one highest. `words` is memory for the string.
    pub fn hash(&self, bytes: &[u8], words: &mut Vec<u64>, keys: &mut [u64]) {
        let (whole, rest) = bytes.as_chunks::<8>();
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        words.clear();
        words.extend(whole.iter().chain([&last]).map(|word| u64::from_le_bytes(*word)));
        let words = words.as_slice();
        for (key, sampled) in keys.iter_mut().zip(self.positions.chunks_exact(self.hashes)) {
            *key = sampled.iter().fold(0, |key, &at| key << 1 | words[(at / 64) as usize] >> (at % 64) & 1);
        }
    }
}
