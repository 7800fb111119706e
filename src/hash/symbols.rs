//! Sampling for strings over an alphabet of more than two letters: the sampled letter is hashed to one bit by a
//! pairwise independent function, so that different letters agree with probability 1/2 (DSBF paper, section 3).

use super::Buckets;
use super::mix::mix;
use super::rng::Stream;
use crate::error::{Error, Result};
use crate::vector::Vector;

struct Sample {
    position: u32,
    a: u64,
    b: u64,
}

/// `tables x hashes` sampled positions, each with its function from letters to bits.
pub struct SymbolSampling {
    samples: Vec<Sample>,
    hashes: usize,
}

/// Multiply-add-shift: pairwise independent for letters below 2^32.
#[inline]
fn bit_of(letter: u32, sample: &Sample) -> u64 {
    sample.a.wrapping_mul(u64::from(letter)).wrapping_add(sample.b) >> 63
}

impl SymbolSampling {
    pub fn new(seed: u64, tables: usize, hashes: usize, dims: u32) -> Self {
        let mut samples = Vec::with_capacity(tables * hashes);
        for table in 0..tables {
            let mut stream = Stream::new(seed, table as u64);
            for _ in 0..hashes {
                let position = stream.below(u64::from(dims)) as u32;
                samples.push(Sample { position, a: stream.word(), b: stream.word() });
            }
        }
        SymbolSampling { samples, hashes }
    }

    pub fn hash(&self, vector: &Vector, out: &mut Buckets) -> Result<()> {
        match vector {
            Vector::Bytes(bytes) => self.sample(|i| u32::from(bytes[i]), &mut out.keys),
            Vector::Ints(ints) => self.sample(|i| ints[i] as u32, &mut out.keys),
            Vector::Text(text) if text.is_ascii() => {
                self.sample(|i| u32::from(text.as_bytes()[i]), &mut out.keys);
            }
            Vector::Text(text) => {
                // Letters of several bytes cannot be reached by position: they are laid out once.
                out.letters.clear();
                out.letters.extend(text.chars().map(u32::from));
                let letters = &out.letters;
                self.sample(|i| letters[i], &mut out.keys);
            }
            other => return Err(Error::data(format!("cannot sample the letters of {}", other.type_name()))),
        }
        Ok(())
    }

    fn sample(&self, letter: impl Fn(usize) -> u32, keys: &mut [u64]) {
        for (key, samples) in keys.iter_mut().zip(self.samples.chunks(self.hashes)) {
            *key = samples.iter().fold(0, |key, sample| key << 1 | bit_of(letter(sample.position as usize), sample));
        }
    }
}

/// A 64-bit hash of the whole string.
pub fn id(vector: &Vector) -> u64 {
    match vector {
        Vector::Bytes(bytes) => bytes.iter().fold(0, |id, &b| mix(id, u64::from(b))),
        Vector::Ints(ints) => ints.iter().fold(0, |id, &i| mix(id, u64::from(i as u32))),
        Vector::Text(text) => text.chars().fold(0, |id, c| mix(id, u64::from(u32::from(c)))),
        _ => 0,
    }
}
