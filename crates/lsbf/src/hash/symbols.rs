//! Sampling for strings over an alphabet of more than two symbols: the sampled symbol is hashed to one bit by a
//! pairwise independent function, so that different symbols agree with probability 1/2 (DSBF paper, section 3).

use super::probe::{Alternative, Wanted};
use super::rng::Stream;
use super::{Buckets, Lsh};
use crate::error::{Error, Result};
use crate::mix::mix;
use crate::params::Params;
use crate::vector::Vector;

struct Sample {
    position: u32,
    a: u64,
    b: u64,
}

/// `tables x hashes` sampled positions, each with its hash function from symbols to bits.
pub struct SymbolSampling {
    samples: Vec<Sample>,
    hashes: usize,
    /// The characters of a string with multibyte characters, which cannot be indexed directly.
    symbols: Vec<u32>,
    /// The bits of each table, the first one most significant.
    tuples: Vec<u64>,
}

/// Multiply-add-shift hashing: pairwise independent for symbols below 2^32.
#[inline]
fn bit_of(symbol: u32, sample: &Sample) -> u64 {
    sample.a.wrapping_mul(u64::from(symbol)).wrapping_add(sample.b) >> 63
}

impl SymbolSampling {
    /// Draws the positions and hash functions of a filter.
    pub fn new(params: &Params, dims: u32) -> Self {
        let (tables, hashes) = (params.tables as usize, params.hashes as usize);
        let mut samples = Vec::with_capacity(tables * hashes);
        for table in 0..tables {
            let mut stream = Stream::new(params.seed, table as u64);
            for _ in 0..hashes {
                let position = stream.below(u64::from(dims)) as u32;
                samples.push(Sample { position, a: stream.word(), b: stream.word() });
            }
        }
        SymbolSampling { samples, hashes, symbols: Vec::new(), tuples: vec![0; tables] }
    }
}

/// A hash of the content of a string.
pub fn id(vector: &Vector) -> u64 {
    match vector {
        Vector::Bytes(bytes) => bytes.iter().fold(0, |id, &b| mix(id, u64::from(b))),
        Vector::Ints(ints) => ints.iter().fold(0, |id, &i| mix(id, u64::from(i as u32))),
        Vector::Text(text) => text.chars().fold(0, |id, c| mix(id, u64::from(u32::from(c)))),
        _ => 0,
    }
}

fn sample(samples: &[Sample], hashes: usize, symbol: impl Fn(usize) -> u32, tuples: &mut [u64]) {
    for (tuple, samples) in tuples.iter_mut().zip(samples.chunks(hashes)) {
        *tuple = samples.iter().fold(0, |tuple, sample| tuple << 1 | bit_of(symbol(sample.position as usize), sample));
    }
}

impl Lsh for SymbolSampling {
    fn start(&mut self, vector: &Vector) -> Result<()> {
        let SymbolSampling { samples, hashes, symbols, tuples } = self;
        match vector {
            Vector::Bytes(bytes) => sample(samples, *hashes, |i| u32::from(bytes[i]), tuples),
            Vector::Ints(ints) => sample(samples, *hashes, |i| ints[i] as u32, tuples),
            Vector::Text(text) if text.is_ascii() => {
                sample(samples, *hashes, |i| u32::from(text.as_bytes()[i]), tuples);
            }
            Vector::Text(text) => {
                symbols.clear();
                symbols.extend(text.chars().map(u32::from));
                sample(samples, *hashes, |i| symbols[i], tuples);
            }
            other => return Err(Error::data(format!("cannot sample the symbols of {}", other.type_name()))),
        }
        Ok(())
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
        self.samples.capacity() * size_of::<Sample>()
            + self.symbols.capacity() * size_of::<u32>()
            + self.tuples.capacity() * size_of::<u64>()
    }
}
