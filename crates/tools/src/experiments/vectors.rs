//! Vectors for every metric: unrelated members, and vectors at an exact distance from a member.

use lsbf::hash::rng::Stream;
use lsbf::params::Family;
use lsbf::vector::Vector;

/// An owned vector.
#[derive(Debug, Clone, PartialEq)]
pub enum Data {
    Bits(Vec<u8>),
    Symbols(Vec<i32>),
    Reals(Vec<f64>),
    Set(Vec<i64>),
}

impl Data {
    pub fn view(&self) -> Vector<'_> {
        match self {
            Data::Bits(bytes) => Vector::Bytes(bytes),
            Data::Symbols(symbols) => Vector::Ints(symbols),
            Data::Reals(x) => Vector::F64(x),
            Data::Set(set) => Vector::BigInts(set),
        }
    }
}

/// The distribution of members. They are unrelated: each is drawn independently.
#[derive(Debug, Clone, Copy)]
pub struct Distribution {
    pub family: Family,
    /// The number of bits, symbols, coordinates or elements of a set.
    pub size: usize,
    /// The number of symbols in the alphabet, or of elements that sets are drawn from.
    pub alphabet: u64,
    /// Coordinates of l1 and l2 are uniform in 0..spread.
    pub spread: f64,
}

impl Distribution {
    /// A distribution whose members are as far from each other as the theory assumes.
    pub fn wide(family: Family) -> Distribution {
        let (size, alphabet) = match family.law() {
            Family::Bits => (2_048, 2),
            Family::Symbols => (500, 1 << 20),
            Family::Gaussian | Family::Cauchy => (24, 0),
            Family::Hyperplane => (128, 0),
            // Two sets have about 5 % of their union in common.
            _ => (120, 1_260),
        };
        Distribution { family, size, alphabet, spread: 1e6 }
    }

    /// The dims to create an engine with.
    pub fn dims(&self) -> u32 {
        match self.family {
            Family::MinHash => 0,
            _ => self.size as u32,
        }
    }

    pub fn member(&self, random: &mut Stream) -> Data {
        match self.family.law() {
            Family::Bits => Data::Bits((0..self.size / 8).map(|_| random.word() as u8).collect()),
            Family::Symbols => Data::Symbols((0..self.size).map(|_| random.below(self.alphabet) as i32).collect()),
            Family::Gaussian | Family::Cauchy => {
                Data::Reals((0..self.size).map(|_| random.uniform() * self.spread).collect())
            }
            Family::Hyperplane => Data::Reals((0..self.size).map(|_| random.gaussian()).collect()),
            _ => {
                let mut set = Vec::with_capacity(self.size);
                distinct(self.alphabet as usize, self.size, random, |element| set.push(element as i64));
                Data::Set(set)
            }
        }
    }

    /// The distance closest to `distance` that two vectors of this size can have.
    pub fn attainable(&self, distance: f64) -> f64 {
        let size = self.size as f64;
        match self.family {
            Family::Bits | Family::Symbols => (distance * size).round() / size,
            Family::MinHash => {
                let common = self.common(distance) as f64;
                1.0 - common / (2.0 * size - common)
            }
            _ => distance,
        }
    }

    /// The number of elements that two sets of this size at a Jaccard distance have in common.
    fn common(&self, distance: f64) -> usize {
        let similarity = 1.0 - distance;
        (2.0 * self.size as f64 * similarity / (1.0 + similarity)).round() as usize
    }

    /// A vector at the attainable distance closest to `distance` from a member.
    pub fn at_distance(&self, member: &Data, distance: f64, random: &mut Stream) -> Data {
        let changes = (distance * self.size as f64).round() as usize;
        match member {
            Data::Bits(bytes) => {
                let mut bytes = bytes.clone();
                distinct(self.size, changes, random, |i| bytes[i / 8] ^= 0x80 >> (i % 8));
                Data::Bits(bytes)
            }
            Data::Symbols(symbols) => {
                let mut symbols = symbols.clone();
                let mut new = Stream::new(random.word(), 0);
                distinct(self.size, changes, random, |i| {
                    let shift = 1 + new.below(self.alphabet - 1);
                    symbols[i] = ((symbols[i] as u64 + shift) % self.alphabet) as i32;
                });
                Data::Symbols(symbols)
            }
            Data::Reals(x) if self.family.law() == Family::Hyperplane => Data::Reals(rotated(x, distance, random)),
            Data::Reals(x) => {
                let step: Vec<f64> = x.iter().map(|_| random.gaussian()).collect();
                let length = match self.family {
                    Family::Cauchy => step.iter().map(|s| s.abs()).sum::<f64>(),
                    _ => step.iter().map(|s| s * s).sum::<f64>().sqrt(),
                };
                Data::Reals(x.iter().zip(step).map(|(x, s)| x + s * distance / length).collect())
            }
            Data::Set(set) => {
                let mut is_member = vec![false; self.alphabet as usize];
                set.iter().for_each(|&element| is_member[element as usize] = true);
                let others: Vec<i64> =
                    (0..self.alphabet as i64).filter(|&element| !is_member[element as usize]).collect();
                let common = self.common(distance);
                let mut moved = Vec::with_capacity(self.size);
                distinct(self.size, common, random, |i| moved.push(set[i]));
                distinct(others.len(), self.size - common, random, |i| moved.push(others[i]));
                Data::Set(moved)
            }
        }
    }
}

/// Visits `count` distinct numbers below `size`.
pub fn distinct(size: usize, count: usize, random: &mut Stream, mut visit: impl FnMut(usize)) {
    let mut all: Vec<usize> = (0..size).collect();
    for i in 0..count {
        all.swap(i, i + random.below((size - i) as u64) as usize);
        visit(all[i]);
    }
}

/// A vector at cosine distance `distance`: `x` rotated in a random plane that contains it.
fn rotated(x: &[f64], distance: f64, random: &mut Stream) -> Vec<f64> {
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let step: Vec<f64> = x.iter().map(|_| random.gaussian()).collect();
    let along = dot(&step, x) / dot(x, x);
    let across: Vec<f64> = step.iter().zip(x).map(|(s, x)| s - along * x).collect();
    let cosine = 1.0 - distance;
    let scale = (1.0 - cosine * cosine).sqrt() * (dot(x, x) / dot(&across, &across)).sqrt();
    x.iter().zip(across).map(|(x, a)| cosine * x + scale * a).collect()
}
