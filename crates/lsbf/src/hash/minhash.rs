//! MinHash for the Jaccard distance: a hash is the minimum of the set's elements under a random order.
//!
//! An order is given by two words of 32 bits. The place of an element in it: one half of its hash, mixed with the two words by
//! a multiplication, and compared with the other half bit by bit. Minima under several orders are found together, in the lanes
//! of registers.

use super::isa::{Isa, Task, run};
use super::path::Path;
use super::probe::{Alternative, Wanted};
use super::rng::Stream;
use super::{Buckets, Lsh};
use crate::error::{Error, Result};
use crate::limits;
use crate::memory;
use crate::mix::mix;
use crate::params::Params;
use crate::vector::Vector;
use crate::vector::set::{for_each_one, not_a_set, number_element};

/// Orders whose minima are computed together: those that fit into registers.
const TOGETHER: usize = 32;

/// The words of some orders; those behind the last one are not used.
struct Orders {
    adders: [u32; TOGETHER],
    factors: [u32; TOGETHER],
}

/// `tables x hashes` random orders.
pub struct MinHash {
    path: Path,
    orders: Vec<Orders>,
    /// The minimum of the last set under each order.
    minima: Vec<i64>,
    /// The two halves of each element of the last set.
    elements: Vec<[u32; 2]>,
    /// The elements that stand for the positions of a bit string.
    positions: Vec<[u32; 2]>,
}

/// Positions whose elements are kept.
const KEPT: usize = 1 << 14;
/// Elements that are written at once.
const FEW: usize = 4;

/// The two halves of the hash of an element.
#[inline]
fn halves(element: u64) -> [u32; 2] {
    [element as u32, (element >> 32) as u32]
}

impl MinHash {
    /// Draws the orders of a filter.
    pub fn new(params: &Params) -> Self {
        Self::on(Path::best(), params.seed, params.tables as usize, params.hashes as usize)
    }

    fn on(path: Path, seed: u64, tables: usize, hashes: usize) -> Self {
        let mut words = Vec::with_capacity(tables * hashes);
        for table in 0..tables {
            let mut stream = Stream::new(seed, table as u64);
            words.extend((0..hashes).map(|_| stream.word()));
        }
        let together = |words: &[u64]| Orders {
            adders: std::array::from_fn(|i| words.get(i).map_or(0, |&word| word as u32)),
            factors: std::array::from_fn(|i| words.get(i).map_or(1, |&word| (word >> 32) as u32 | 1)),
        };
        let orders = words.chunks(TOGETHER).map(together).collect();
        MinHash { path, orders, minima: vec![0; words.len()], elements: Vec::new(), positions: Vec::new() }
    }

    /// Prepares for a set of `len` elements, which may be repeated.
    fn clear(&mut self, len: usize) -> Result<()> {
        if len == 0 {
            return Err(Error::empty_set());
        }
        let hashes = self.minima.len();
        let max = limits::MAX_SET.min(limits::MAX_SET_WORK / hashes);
        if len > max {
            return Err(Error::too_large(format!(
                "set of {len} elements exceeds the limit of {max} for {hashes} hashes"
            )));
        }
        self.elements.clear();
        memory::reserve(&mut self.elements, len)
    }

    fn take(&mut self, len: usize, elements: impl Iterator<Item = u64>) -> Result<()> {
        self.clear(len)?;
        elements.for_each(|element| self.elements.push(halves(element)));
        Ok(())
    }

    /// Takes the positions of the 1 bits.
    fn take_ones(&mut self, bytes: &[u8]) -> Result<()> {
        let (words, rest) = bytes.as_chunks::<8>();
        let words: usize = words.iter().map(|word| u64::from_ne_bytes(*word).count_ones() as usize).sum();
        let count = words + rest.iter().map(|byte| byte.count_ones() as usize).sum::<usize>();
        self.clear(count)?;
        if bytes.len() > KEPT / 8 {
            let MinHash { elements, .. } = self;
            for_each_one(bytes, |at| elements.push(halves(number_element(at as i64))));
            return Ok(());
        }
        // All positions of the words, and of one more word.
        let positions = (bytes.len().next_multiple_of(8) + 8) * 8;
        if self.positions.len() < positions {
            let more = self.positions.len()..positions;
            memory::reserve(&mut self.positions, more.len())?;
            self.positions.extend(more.map(|at| halves(number_element(at as i64))));
        }
        memory::reserve(&mut self.elements, count + FEW)?;
        self.elements.resize(count + FEW, [0; 2]);
        let mut end = 0;
        for (word, positions) in bytes.chunks(8).zip(self.positions.chunks(64)) {
            let mut bits = [0; 8];
            bits[..word.len()].copy_from_slice(word);
            let mut ones = u64::from_le_bytes(bits);
            let mut left = ones.count_ones() as usize;
            loop {
                // Write some, although there are usually fewer: branches would be mispredicted.
                for to in self.elements[end..][..FEW].iter_mut() {
                    // The first position of a byte is its highest bit.
                    *to = positions[((ones.trailing_zeros() ^ 7) % 64) as usize];
                    ones &= ones.wrapping_sub(1);
                }
                end += left.min(FEW);
                if left <= FEW {
                    break;
                }
                left -= FEW;
            }
        }
        self.elements.truncate(end);
        Ok(())
    }
}

struct Minima<'a> {
    orders: &'a [Orders],
    elements: &'a [[u32; 2]],
    minima: &'a mut [i64],
}

impl Task for Minima<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        for (orders, minima) in self.orders.iter().zip(self.minima.chunks_mut(TOGETHER)) {
            let Orders { adders, factors } = orders;
            let mut least = [u32::MAX; TOGETHER];
            for &[first, second] in self.elements {
                for i in 0..TOGETHER {
                    let place = (first ^ adders[i]).wrapping_mul(factors[i]) ^ second;
                    least[i] = least[i].min(place);
                }
            }
            minima.iter_mut().zip(least).for_each(|(to, least)| *to = i64::from(least));
        }
    }
}

impl Lsh for MinHash {
    fn start(&mut self, vector: &Vector) -> Result<()> {
        match vector {
            Vector::Ints(ints) => self.take(ints.len(), ints.iter().map(|&i| number_element(i64::from(i))))?,
            Vector::BigInts(ints) => self.take(ints.len(), ints.iter().map(|&i| number_element(i)))?,
            Vector::Hashed(hashes) => self.take(hashes.len(), hashes.iter().copied())?,
            Vector::Bits { bytes, .. } | Vector::Bytes(bytes) => self.take_ones(bytes)?,
            other => return Err(not_a_set(other)),
        }
        run(self.path, Minima { orders: &self.orders, elements: &self.elements, minima: &mut self.minima });
        Ok(())
    }

    fn buckets(&self) -> Buckets<'_> {
        Buckets::Numbers(&self.minima)
    }

    /// Sets with the same minima count as one member: the filter cannot distinguish them.
    fn id(&self, _: &Vector, keys: &[u64]) -> u64 {
        keys.iter().fold(0, |id, &key| mix(id, key))
    }

    /// The minimum of a similar set that does not share it is unpredictable.
    fn alternatives(&self, _: &Wanted, _: &mut Vec<Alternative>) {}

    fn bytes(&self) -> usize {
        size_of_val(&self.orders[..])
            + self.minima.capacity() * size_of::<i64>()
            + (self.elements.capacity() + self.positions.capacity()) * size_of::<[u32; 2]>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn minima(path: Path, seed: u64, hashes: usize, set: &[i64]) -> Vec<i64> {
        let mut functions = MinHash::on(path, seed, 1, hashes);
        functions.start(&Vector::BigInts(set)).unwrap();
        functions.minima
    }

    #[test]
    fn every_path_gives_the_same_minima() {
        let set: Vec<i64> = (0..50).map(|i| i * i).collect();
        for path in Path::available() {
            for hashes in [1, 31, 32, 33, 240] {
                assert_eq!(minima(path, 1, hashes, &set), minima(Path::Plain, 1, hashes, &set), "{path:?} {hashes}");
            }
        }
        assert_eq!(minima(Path::Plain, 1, 2, &set), [50_288_081, 23_927_866]);
    }

    #[test]
    fn a_bit_string_is_the_set_of_its_positions() {
        let mut functions = MinHash::on(Path::best(), 1, 1, 40);
        for bits in [1, 7, 8, 64, 1000, 3 * KEPT] {
            let at: Vec<i64> = (0..bits as i64).filter(|at| at % 3 == 0 || *at + 1 == bits as i64).collect();
            let mut bytes = vec![0u8; bits.div_ceil(8)];
            at.iter().for_each(|&at| bytes[at as usize / 8] |= 128 >> (at % 8));
            functions.start(&Vector::Bits { bytes: &bytes, len: bits }).unwrap();
            assert_eq!(functions.minima, minima(Path::best(), 1, 40, &at), "{bits}");
        }
        assert!(functions.start(&Vector::Bytes(&[0, 0])).is_err());
    }

    /// Of two sets with `shared` common elements among `all`, each hash agrees with probability shared / all, independently
    /// of the others: over many pairs, mean and variance of the number of hashes that agree are those of the binomial law.
    #[test]
    fn hashes_agree_as_often_as_elements_are_shared() {
        const HASHES: usize = 60;
        const PAIRS: usize = 4000;
        for (shared, all) in [(1, 2), (1, 40), (20, 40), (38, 40), (2700, 3000)] {
            let trials = if all > 100 { PAIRS / 10 } else { PAIRS };
            let p = shared as f64 / all as f64;
            let (mut sum, mut squares) = (0.0, 0.0);
            for trial in 0..trials {
                // Consecutive numbers, as sets of identifiers often are.
                let start = (trial * 10_000) as i64;
                let own = (all - shared) / 2;
                let a: Vec<i64> = (0..shared + own).map(|i| start + i as i64).collect();
                let b: Vec<i64> =
                    (0..all).filter(|&i| i < shared || i >= shared + own).map(|i| start + i as i64).collect();
                let (a, b) = (minima(Path::best(), 7, HASHES, &a), minima(Path::best(), 7, HASHES, &b));
                let agree = a.iter().zip(&b).filter(|(a, b)| a == b).count() as f64;
                sum += agree;
                squares += (agree - HASHES as f64 * p).powi(2);
            }
            let (trials, hashes) = (trials as f64, HASHES as f64);
            let variance = hashes * p * (1.0 - p);
            let off = (sum / trials - hashes * p) / (variance / trials).sqrt();
            assert!(off.abs() < 4.0, "{shared} of {all}: {off} standard deviations from the mean");
            // The standard deviation of the mean square, about that of normal numbers with some excess.
            let ratio = squares / trials / variance;
            let excess = (1.0 - 6.0 * p * (1.0 - p)) / variance;
            let spread = ((2.0 + excess) / trials).sqrt();
            assert!(
                (ratio - 1.0).abs() < 4.0 * spread,
                "{shared} of {all}: variance {ratio} of the law's, sd {spread}"
            );
        }
    }
}
