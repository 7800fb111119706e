//! Bit sampling for the Hamming distance: a hash is one bit of the string, at a random position.

use super::path::Path;
use super::probe::{Alternative, Wanted};
use super::rng::Stream;
use super::{Buckets, Lsh};
use crate::error::{Error, Result};
use crate::params::Params;
use crate::vector::Vector;

/// `tables x hashes` sampled positions.
pub struct BitSampling {
    method: Method,
    hashes: usize,
    scratch: Scratch,
    /// The sampled bits of each table, the first one most significant.
    tuples: Vec<u64>,
}

/// How bits are sampled; the result is the same.
enum Method {
    /// 32 bits at once, for short strings.
    #[cfg(target_arch = "x86_64")]
    Shuffled(Shuffles),
    /// From a string that is expanded to one byte per bit. A 16-bit index is always within that memory, which saves the
    /// bounds checks.
    Spread(Vec<u16>),
    /// Bit by bit, for long strings.
    Direct(Vec<u32>),
}

/// The maximum number of bits of a string that is expanded.
const SPREAD_BITS: usize = 1 << 16;

/// Scratch memory for one string: one byte per bit, and the sampled bits.
#[derive(Default)]
struct Scratch {
    spread: Vec<u8>,
    #[cfg(target_arch = "x86_64")]
    sampled: Vec<u32>,
}

impl Scratch {
    /// Bytes of memory held.
    fn bytes(&self) -> usize {
        #[cfg(target_arch = "x86_64")]
        let sampled = self.sampled.capacity() * size_of::<u32>();
        #[cfg(not(target_arch = "x86_64"))]
        let sampled = 0;
        self.spread.capacity() + sampled
    }
}

/// The bits of every byte value as eight bytes, least significant bit first.
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
    /// Draws the positions of a filter.
    pub fn new(params: &Params, dims: u32) -> Self {
        Self::on(Path::best(), params.seed, params.tables as usize, params.hashes as usize, dims)
    }

    fn on(path: Path, seed: u64, tables: usize, hashes: usize, dims: u32) -> Self {
        // Count from the least significant bit of each byte; the first bit of a string is the most significant one.
        let mut positions = Vec::with_capacity(tables * hashes);
        for table in 0..tables {
            let mut stream = Stream::new(seed, table as u64);
            positions.extend((0..hashes).map(|_| stream.below(u64::from(dims)) as u32 ^ 7));
        }
        let method = match path {
            #[cfg(target_arch = "x86_64")]
            Path::Avx2 | Path::Avx512 if dims as usize <= shuffle::MAX_BYTES * 8 => {
                Method::Shuffled(Shuffles::new(&positions, hashes, dims as usize))
            }
            _ if dims as usize <= SPREAD_BITS => Method::Spread(positions.iter().map(|&at| at as u16).collect()),
            _ => Method::Direct(positions),
        };
        BitSampling { method, hashes, scratch: Scratch::default(), tuples: vec![0; tables] }
    }

    fn sample(&mut self, bytes: &[u8]) {
        let (scratch, keys) = (&mut self.scratch, &mut self.tuples);
        match &self.method {
            #[cfg(target_arch = "x86_64")]
            Method::Shuffled(shuffles) => {
                scratch.sampled.resize(shuffles.groups() + 2, 0);
                // SAFETY: this method is only chosen if the processor has AVX2; there is space for all groups.
                unsafe { shuffles.sample(bytes, &mut scratch.sampled) };
                cut(&scratch.sampled, self.hashes, keys);
            }
            Method::Spread(positions) => {
                scratch.spread.resize(SPREAD_BITS, 0);
                let spread = scratch.spread.first_chunk_mut::<SPREAD_BITS>().expect("resized above");
                for (bits, &byte) in spread.as_chunks_mut::<8>().0.iter_mut().zip(bytes) {
                    *bits = SPREAD[usize::from(byte)];
                }
                for (key, sampled) in keys.iter_mut().zip(positions.chunks_exact(self.hashes)) {
                    *key = sampled.iter().fold(0, |key, &at| key << 1 | u64::from(spread[usize::from(at)]));
                }
            }
            Method::Direct(positions) => {
                let bit = |at: u32| u64::from(bytes[(at / 8) as usize] >> (at % 8) & 1);
                for (key, sampled) in keys.iter_mut().zip(positions.chunks_exact(self.hashes)) {
                    *key = sampled.iter().fold(0, |key, &at| key << 1 | bit(at));
                }
            }
        }
    }
}

impl Lsh for BitSampling {
    fn start(&mut self, vector: &Vector) -> Result<()> {
        match vector {
            Vector::Bits { bytes, .. } | Vector::Bytes(bytes) => {
                self.sample(bytes);
                Ok(())
            }
            other => Err(Error::data(format!("cannot sample the bits of {}", other.type_name()))),
        }
    }

    fn buckets(&self) -> Buckets<'_> {
        Buckets::Bits(&self.tuples)
    }

    fn id(&self, vector: &Vector, _: &[u64]) -> u64 {
        id(vector)
    }

    fn alternatives(&self, wanted: &Wanted, out: &mut Vec<Alternative>) {
        wanted.flipped(1.0, out);
    }

    fn is_ranked(&self) -> bool {
        false
    }

    fn bytes(&self) -> usize {
        self.tuples.len() * self.hashes * 24 + self.scratch.bytes().max(SPREAD_BITS)
    }
}

/// A hash of the content of a bit string.
pub fn id(vector: &Vector) -> u64 {
    match vector {
        Vector::Bits { bytes, .. } | Vector::Bytes(bytes) => xxhash_rust::xxh3::xxh3_64(bytes),
        _ => 0,
    }
}

/// Splits sampled bits into keys of `hashes` bits. Two more words follow the last bit.
#[cfg(target_arch = "x86_64")]
fn cut(row: &[u32], hashes: usize, keys: &mut [u64]) {
    let mask = u64::MAX >> (64 - hashes);
    for (table, key) in keys.iter_mut().enumerate() {
        let start = table * hashes;
        let [first, second, third] = [0, 1, 2].map(|i| u64::from(row[start / 32 + i]));
        // Shift in two steps, because a shift by 64 overflows.
        *key = ((first | second << 32) >> (start % 32) | third << 1 << (63 - start % 32)) & mask;
    }
}

#[cfg(target_arch = "x86_64")]
use shuffle::Shuffles;

#[cfg(target_arch = "x86_64")]
mod shuffle {
    use std::arch::x86_64::*;

    /// Bits that are sampled at once.
    const GROUP: usize = 32;
    /// Bytes that a shuffle chooses from.
    const PIECE: usize = 16;
    /// The longest string for which this is faster than the other methods.
    pub const MAX_BYTES: usize = 256;

    #[derive(Clone, Copy)]
    #[repr(C, align(32))]
    struct Lanes([u8; GROUP]);

    /// The arguments of the shuffles.
    pub struct Shuffles {
        /// For each group of samples, the bit to test in each sampled byte.
        masks: Vec<Lanes>,
        /// For each group of samples and each piece of the string, the indices of the sampled bytes in that piece.
        indices: Vec<Lanes>,
        pieces: usize,
    }

    impl Shuffles {
        /// Positions are counted from the least significant bit of each byte. The first one of a table becomes the most
        /// significant bit of its key.
        pub fn new(positions: &[u32], hashes: usize, dims: usize) -> Shuffles {
            const NOWHERE: u8 = 0x80;
            let pieces = dims.div_ceil(8 * PIECE);
            let groups = positions.len().div_ceil(GROUP);
            let mut masks = vec![Lanes([0; GROUP]); groups];
            let mut indices = vec![Lanes([NOWHERE; GROUP]); groups * pieces];
            for (table, sampled) in positions.chunks_exact(hashes).enumerate() {
                for (i, &at) in sampled.iter().rev().enumerate() {
                    let (sample, byte) = (table * hashes + i, at as usize / 8);
                    let (group, lane) = (sample / GROUP, sample % GROUP);
                    masks[group].0[lane] = 1 << (at % 8);
                    indices[group * pieces + byte / PIECE].0[lane] = (byte % PIECE) as u8;
                }
            }
            Shuffles { masks, indices, pieces }
        }

        pub fn groups(&self) -> usize {
            self.masks.len()
        }

        /// Writes the sampled bits, 32 per word.
        ///
        /// SAFETY: the processor must have AVX2.
        #[target_feature(enable = "avx2")]
        pub unsafe fn sample(&self, bytes: &[u8], out: &mut [u32]) {
            let mut string = [0; MAX_BYTES];
            string[..bytes.len()].copy_from_slice(bytes);
            let pieces = &string.as_chunks::<PIECE>().0[..self.pieces];
            let groups = self.masks.iter().zip(self.indices.chunks_exact(self.pieces));
            for ((mask, indices), out) in groups.zip(out) {
                let mut sampled = _mm256_setzero_si256();
                for (piece, indices) in pieces.iter().zip(indices) {
                    // SAFETY: a piece has 16 bytes, and indices have 32.
                    let (piece, indices) = unsafe {
                        (_mm_loadu_si128(piece.as_ptr().cast()), _mm256_load_si256(indices.0.as_ptr().cast()))
                    };
                    let found = _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(piece), indices);
                    sampled = _mm256_or_si256(sampled, found);
                }
                // SAFETY: a mask has 32 bytes.
                let mask = unsafe { _mm256_load_si256(mask.0.as_ptr().cast()) };
                let set = _mm256_cmpeq_epi8(_mm256_and_si256(sampled, mask), mask);
                *out = _mm256_movemask_epi8(set) as u32;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_consists_of_the_sampled_bits_first_one_most_significant() {
        let mut s = Stream::new(1, 0);
        for dims in [1usize, 5, 8, 100, 1024, 2048, 2049, 1 << 16, (1 << 16) + 1, 100_001] {
            let mut bytes: Vec<u8> = (0..dims.div_ceil(8)).map(|_| s.word() as u8).collect();
            if !dims.is_multiple_of(8) {
                *bytes.last_mut().unwrap() &= 0xff << (8 - dims % 8);
            }
            for (tables, hashes) in [(1, 1), (3, 40), (25, 24), (7, 64), (9, 63), (40, 13)] {
                for path in Path::available() {
                    let mut sampling = BitSampling::on(path, 7, tables, hashes, dims as u32);
                    sampling.scratch.spread.resize(SPREAD_BITS, 1);
                    sampling.sample(&bytes);
                    for (table, &key) in sampling.tuples.iter().enumerate() {
                        let mut stream = Stream::new(7, table as u64);
                        let expected = (0..hashes).fold(0, |key, _| {
                            let at = stream.below(dims as u64) as usize;
                            key << 1 | u64::from(bytes[at / 8] >> (7 - at % 8) & 1)
                        });
                        assert_eq!(key, expected, "{path:?}, {dims} bits, {hashes} hashes, table {table}");
                    }
                }
            }
        }
    }
}
