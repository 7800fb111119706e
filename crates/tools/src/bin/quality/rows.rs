//! Vectors and bit strings: how far apart two are, and how one is planted at a distance from another.

use crate::sets::Metric;
use lsbf_tools::copy::Copy;
use rand::RngExt;
use rand::rngs::SmallRng;
use rand_distr::StandardNormal;
use std::io::Result;

pub trait Row: Clone + Sync {
    /// Something that grows with the distance and is quick to compute.
    fn score(&self, other: &Self, metric: Metric) -> f64;
    /// The distance a score stands for.
    fn distance(score: f64, metric: Metric) -> f64;
    /// Another row at this distance, as far as bits allow, in a random direction; a vector of length one stays one if it is to.
    fn planted(&self, metric: Metric, distance: f64, keep_length: bool, rng: &mut SmallRng) -> Self;
    /// Writes the row as a field.
    fn put(&self, copy: &mut Copy) -> Result<()>;
}

fn dot(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

pub fn to_length_one(x: &mut [f32]) {
    let length = dot(x, x).sqrt();
    x.iter_mut().for_each(|x| *x /= length);
}

impl Row for Vec<f32> {
    /// The square of the l2 distance.
    fn score(&self, other: &Self, _: Metric) -> f64 {
        let mut sums = [0.0f32; 16];
        let ((a, rest), (b, other_rest)) = (self.as_chunks::<16>(), other.as_chunks::<16>());
        for (a, b) in a.iter().zip(b) {
            for l in 0..16 {
                sums[l] += (a[l] - b[l]) * (a[l] - b[l]);
            }
        }
        let rest: f32 = rest.iter().zip(other_rest).map(|(a, b)| (a - b) * (a - b)).sum();
        f64::from(sums.iter().sum::<f32>() + rest)
    }

    /// For cosine, vectors are of length one.
    fn distance(score: f64, metric: Metric) -> f64 {
        if metric == Metric::Cosine { score / 2.0 } else { score.sqrt() }
    }

    fn planted(&self, metric: Metric, distance: f64, keep_length: bool, rng: &mut SmallRng) -> Self {
        let mut way: Vec<f32> = self.iter().map(|_| rng.sample(StandardNormal)).collect();
        if metric != Metric::Cosine && !keep_length {
            to_length_one(&mut way);
            return self.iter().zip(&way).map(|(x, w)| x + distance as f32 * w).collect();
        }
        let shared = dot(self, &way);
        way.iter_mut().zip(self).for_each(|(w, x)| *w -= shared * x);
        to_length_one(&mut way);
        let cos = 1.0 - if metric == Metric::Cosine { distance } else { distance * distance / 2.0 };
        let sin = (1.0 - cos * cos).sqrt();
        self.iter().zip(&way).map(|(x, w)| cos as f32 * x + sin as f32 * w).collect()
    }

    fn put(&self, copy: &mut Copy) -> Result<()> {
        copy.vector_field(self)
    }
}

/// Bits that `of` sets in the words of two bit strings.
fn count(a: &[u8], b: &[u8], of: impl Fn(u64, u64) -> u64) -> u32 {
    let words = a.as_chunks::<8>().0.iter().zip(b.as_chunks::<8>().0);
    words.map(|(&a, &b)| of(u64::from_le_bytes(a), u64::from_le_bytes(b)).count_ones()).sum()
}

fn bit(x: &[u8], at: usize) -> bool {
    x[at / 8] >> (at % 8) & 1 == 1
}

/// Flips so many bits that are as wanted, each once.
fn flip(x: &mut [u8], mut flips: usize, among: impl Fn(usize) -> bool, rng: &mut SmallRng) {
    let mut places: Vec<usize> = (0..x.len() * 8).filter(|&at| among(at)).collect();
    while flips > 0 && !places.is_empty() {
        let at = places.swap_remove(rng.random_range(0..places.len()));
        x[at / 8] ^= 1 << (at % 8);
        flips -= 1;
    }
}

/// Elements to take from a set of `size` and to add to it, so that it is so far by Jaccard; as many of one as of the other
/// where there is a choice.
fn exchange(size: usize, distance: f64) -> (usize, usize) {
    let off = |&(taken, added): &(usize, usize)| {
        let found = (taken + added) as f64 / (size + added) as f64;
        ((found - distance).abs() * 1e6).round() as usize * 1000 + taken.abs_diff(added)
    };
    let all = (0..=size / 2).flat_map(|taken| (0..=size).map(move |added| (taken, added)));
    all.min_by_key(off).unwrap_or_default()
}

impl Row for Vec<u8> {
    fn score(&self, other: &Self, metric: Metric) -> f64 {
        if metric == Metric::Jaccard {
            let (both, any) = (count(self, other, |a, b| a & b), count(self, other, |a, b| a | b));
            return 1.0 - f64::from(both) / f64::from(any.max(1));
        }
        f64::from(count(self, other, |a, b| a ^ b)) / (self.len() * 8) as f64
    }

    fn distance(score: f64, _: Metric) -> f64 {
        score
    }

    fn planted(&self, metric: Metric, distance: f64, _: bool, rng: &mut SmallRng) -> Self {
        let mut found = self.clone();
        if metric == Metric::Jaccard {
            let (taken, added) = exchange(count(self, self, |a, _| a) as usize, distance);
            flip(&mut found, taken, |at| bit(self, at), rng);
            flip(&mut found, added, |at| !bit(self, at), rng);
        } else {
            flip(&mut found, (distance * (self.len() * 8) as f64).round() as usize, |_| true, rng);
        }
        found
    }

    fn put(&self, copy: &mut Copy) -> Result<()> {
        copy.bits_field(self)
    }
}
