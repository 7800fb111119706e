//! Vectors of every metric: members without any relation, and vectors at an exact distance from one of them.

use lsbf::hash::rng::Stream;
use lsbf::params::Family;
use lsbf::vector::Vector;

/// An owned vector.
#[derive(Debug, Clone, PartialEq)]
pub enum Data {
    Bits(Vec<u8>),
    Letters(Vec<i32>),
    Reals(Vec<f64>),
    Set(Vec<i64>),
}

impl Data {
    pub fn view(&self) -> Vector<'_> {
        match self {
            Data::Bits(bytes) => Vector::Bytes(bytes),
            Data::Letters(letters) => Vector::Ints(letters),
            Data::Reals(x) => Vector::F64(x),
            Data::Set(set) => Vector::BigInts(set),
        }
    }
}

/// Where members come from. They are unrelated: each is drawn on its own.
#[derive(Debug, Clone, Copy)]
pub struct World {
    pub family: Family,
    /// Bits, letters, coordinates or elements of a set.
    pub size: usize,
    /// Letters of the alphabet, or elements that sets are made of.
    pub letters: u64,
    /// Coordinates of l1 and l2 are uniform in 0..spread.
    pub spread: f64,
}

impl World {
    /// A world in which unrelated members are as far from each other as the theory takes them to be.
    pub fn wide(family: Family) -> World {
        let (size, letters) = match family.law() {
            Family::Bits => (2_048, 2),
            Family::Symbols => (500, 1 << 20),
            Family::Gaussian | Family::Cauchy => (24, 0),
            Family::Hyperplane => (128, 0),
            // Two sets share 5 % of what is in either.
            _ => (120, 1_260),
        };
        World { family, size, letters, spread: 1e6 }
    }

    /// What an engine is told.
    pub fn dims(&self) -> u32 {
        match self.family {
            Family::MinHash => 0,
            _ => self.size as u32,
        }
    }

    pub fn member(&self, random: &mut Stream) -> Data {
        match self.family.law() {
            Family::Bits => Data::Bits((0..self.size / 8).map(|_| random.word() as u8).collect()),
            Family::Symbols => Data::Letters((0..self.size).map(|_| random.below(self.letters) as i32).collect()),
            Family::Gaussian | Family::Cauchy => {
                Data::Reals((0..self.size).map(|_| random.uniform() * self.spread).collect())
            }
            Family::Hyperplane => Data::Reals((0..self.size).map(|_| random.gaussian()).collect()),
            _ => {
                let mut set = Vec::with_capacity(self.size);
                distinct(self.letters as usize, self.size, random, |element| set.push(element as i64));
                Data::Set(set)
            }
        }
    }

    /// A distance near `distance` that two vectors of this size can have exactly.
    pub fn possible(&self, distance: f64) -> f64 {
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

    /// Elements that two sets of this size at a Jaccard distance share.
    fn common(&self, distance: f64) -> usize {
        let similarity = 1.0 - distance;
        (2.0 * self.size as f64 * similarity / (1.0 + similarity)).round() as usize
    }

    /// A vector at the possible distance next to `distance` from a member.
    pub fn at_distance(&self, member: &Data, distance: f64, random: &mut Stream) -> Data {
        let changes = (distance * self.size as f64).round() as usize;
        match member {
            Data::Bits(bytes) => {
                let mut bytes = bytes.clone();
                distinct(self.size, changes, random, |i| bytes[i / 8] ^= 0x80 >> (i % 8));
                Data::Bits(bytes)
            }
            Data::Letters(letters) => {
                let mut letters = letters.clone();
                let mut new = Stream::new(random.word(), 0);
                distinct(self.size, changes, random, |i| {
                    let shift = 1 + new.below(self.letters - 1);
                    letters[i] = ((letters[i] as u64 + shift) % self.letters) as i32;
                });
                Data::Letters(letters)
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
                let mut is_member = vec![false; self.letters as usize];
                set.iter().for_each(|&element| is_member[element as usize] = true);
                let others: Vec<i64> =
                    (0..self.letters as i64).filter(|&element| !is_member[element as usize]).collect();
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

/// A vector at cosine distance `distance`: the angle is laid off in a random plane through `x`.
fn rotated(x: &[f64], distance: f64, random: &mut Stream) -> Vec<f64> {
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let step: Vec<f64> = x.iter().map(|_| random.gaussian()).collect();
    let along = dot(&step, x) / dot(x, x);
    let across: Vec<f64> = step.iter().zip(x).map(|(s, x)| s - along * x).collect();
    let cosine = 1.0 - distance;
    let scale = (1.0 - cosine * cosine).sqrt() * (dot(x, x) / dot(&across, &across)).sqrt();
    x.iter().zip(across).map(|(x, a)| cosine * x + scale * a).collect()
}
