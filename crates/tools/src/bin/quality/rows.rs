//! Vectors and bit strings: the distance between two of them, and planting one at a distance from another.

use crate::sets::Metric;
use lsbf_tools::copy::Copy;
use rand::RngExt;
use rand::rngs::SmallRng;
use rand_distr::StandardNormal;
use std::io::Result;

pub trait Row: Clone + Sync {
    /// A function of the distance that increases with it and is faster to compute.
    fn score(&self, other: &Self, metric: Metric) -> f64;
    /// Converts a score to the distance.
    fn distance(score: f64, metric: Metric) -> f64;
    /// A row in a random direction at this distance, or at the closest one that bit strings can have. With
    /// `keep_length`, a unit vector stays a unit vector.
    fn planted(&self, metric: Metric, distance: f64, keep_length: bool, rng: &mut SmallRng) -> Self;
    /// Writes the row as a field of COPY.
    fn put(&self, copy: &mut Copy) -> Result<()>;
}

fn dot(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

pub fn normalize(x: &mut [f32]) {
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

    /// For cosine, all rows are unit vectors.
    fn distance(score: f64, metric: Metric) -> f64 {
        if metric == Metric::Cosine { score / 2.0 } else { score.sqrt() }
    }

    fn planted(&self, metric: Metric, distance: f64, keep_length: bool, rng: &mut SmallRng) -> Self {
        let mut direction: Vec<f32> = self.iter().map(|_| rng.sample(StandardNormal)).collect();
        if metric != Metric::Cosine && !keep_length {
            normalize(&mut direction);
            return self.iter().zip(&direction).map(|(x, w)| x + distance as f32 * w).collect();
        }
        let shared = dot(self, &direction);
        direction.iter_mut().zip(self).for_each(|(w, x)| *w -= shared * x);
        normalize(&mut direction);
        let cos = 1.0 - if metric == Metric::Cosine { distance } else { distance * distance / 2.0 };
        let sin = (1.0 - cos * cos).sqrt();
        self.iter().zip(&direction).map(|(x, w)| cos as f32 * x + sin as f32 * w).collect()
    }

    fn put(&self, copy: &mut Copy) -> Result<()> {
        copy.vector_field(self)
    }
}

/// The number of bits that are set after combining two bit strings with `of`.
fn count(a: &[u8], b: &[u8], of: impl Fn(u64, u64) -> u64) -> u32 {
    let words = a.as_chunks::<8>().0.iter().zip(b.as_chunks::<8>().0);
    words.map(|(&a, &b)| of(u64::from_le_bytes(a), u64::from_le_bytes(b)).count_ones()).sum()
}

fn bit(x: &[u8], at: usize) -> bool {
    x[at / 8] >> (at % 8) & 1 == 1
}

/// Flips `flips` distinct random bits among those that `among` selects.
fn flip(x: &mut [u8], mut flips: usize, among: impl Fn(usize) -> bool, rng: &mut SmallRng) {
    let mut places: Vec<usize> = (0..x.len() * 8).filter(|&at| among(at)).collect();
    while flips > 0 && !places.is_empty() {
        let at = places.swap_remove(rng.random_range(0..places.len()));
        x[at / 8] ^= 1 << (at % 8);
        flips -= 1;
    }
}

/// The numbers of elements to remove from a set of `size` and to add to it for a Jaccard distance. Of equally good
/// pairs, the one with the most similar numbers.
fn exchange(size: usize, distance: f64) -> (usize, usize) {
    let error = |&(removed, added): &(usize, usize)| {
        let found = (removed + added) as f64 / (size + added) as f64;
        ((found - distance).abs() * 1e6).round() as usize * 1000 + removed.abs_diff(added)
    };
    let all = (0..=size / 2).flat_map(|removed| (0..=size).map(move |added| (removed, added)));
    all.min_by_key(error).unwrap_or_default()
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
            let (removed, added) = exchange(count(self, self, |a, _| a) as usize, distance);
            flip(&mut found, removed, |at| bit(self, at), rng);
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
