//! Amplification: AND, OR and their combinations, measured with the hash functions of a filter.

use super::{Count, Progress, parallel};
use lsbf::hash::bits::BitSampling;
use lsbf::hash::rng::Stream;
use lsbf::hash::{Buckets, Lsh};
use lsbf::params::{Family, Kind, Metric, Params};
use lsbf::vector::Vector;

/// p, 4-way AND then 4-way OR, 4-way OR then 4-way AND: Figure 1 of the lecture.
pub const FIGURE: [(f64, f64, f64); 4] =
    [(0.2, 0.0064, 0.1215), (0.4, 0.0985, 0.5740), (0.6, 0.4260, 0.9015), (0.8, 0.8785, 0.9936)];

pub fn and_or(p: f64) -> f64 {
    1.0 - (1.0 - p.powi(4)).powi(4)
}

pub fn or_and(p: f64) -> f64 {
    (1.0 - (1.0 - p).powi(4)).powi(4)
}

const LENGTH: usize = 1_000;

/// Four tables of four sampled bits each.
fn params(seed: u64) -> Params {
    Params {
        kind: Kind::Dsbf,
        metric: Metric::Hamming,
        family: Family::Bits,
        seed,
        capacity: 1,
        near: 0.1,
        far: 0.4,
        width: 0.0,
        tables: 4,
        hashes: 4,
        bits: 64,
        verify_bits: 0,
        bloom_hashes: 0,
        overflow: 0,
        robust: false,
        blooms: 0,
        slots: 0,
        aligned: false,
        votes: 0,
        probing: None,
        quotient: None,
    }
}

/// Compares pairs of strings that agree in a fraction `p` of their bits, each pair with its own hash functions: how
/// often some table agrees in all four bits (AND-OR), and how often every table agrees in some bit (OR-AND).
pub fn amplified(p: f64, pairs: usize, progress: Progress) -> (Count, Count) {
    const PARTS: usize = 20;
    let differ = ((1.0 - p) * LENGTH as f64).round() as usize;
    let parts = parallel(PARTS, progress, |part| {
        let (mut and_or, mut or_and) = (Count::default(), Count::default());
        let mut random = Stream::new(part as u64, 1 << 41);
        for _ in 0..pairs / PARTS {
            let mut sampling = BitSampling::new(&params(random.word()), LENGTH as u32);
            let x: Vec<u8> = (0..LENGTH / 8).map(|_| random.word() as u8).collect();
            let mut y = x.clone();
            super::vectors::distinct(LENGTH, differ, &mut random, |bit| y[bit / 8] ^= 1 << (bit % 8));
            let (first, second) = (sampled(&mut sampling, &x), sampled(&mut sampling, &y));
            let differences = || first.iter().zip(&second).map(|(a, b)| a ^ b);
            and_or.record(differences().any(|bits| bits == 0));
            or_and.record(differences().all(|bits| bits != 0b1111));
        }
        (and_or, or_and)
    });
    (parts.iter().map(|part| part.0).sum(), parts.iter().map(|part| part.1).sum())
}

/// The sampled bits of each table.
fn sampled(sampling: &mut BitSampling, string: &[u8]) -> Vec<u64> {
    sampling.start(&Vector::Bytes(string)).expect("the string is valid");
    match sampling.buckets() {
        Buckets::Bits(tuples) => tuples.to_vec(),
        Buckets::Numbers(_) => unreachable!("the buckets of sampled bits are bits"),
    }
}
