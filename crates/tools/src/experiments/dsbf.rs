//! Table 1 and Figures 1 and 2 of the DSBF paper.

use super::{Count, Progress, parallel};
use lsbf::binomial;
use lsbf::filter::Owned;
use lsbf::filter::bits::is_set;
use lsbf::filter::dsbf::{find_positions, threshold};
use lsbf::filter::format::Bits;
use lsbf::hash::rng::Stream;
use lsbf::hash::{Functions, Hasher, Lsh};
use lsbf::params::{Family, Kind, Metric, Params};
use lsbf::rates::dsbf;
use lsbf::vector::Vector;

/// l, the length of a string.
pub const LENGTH: usize = 65_536;
/// The largest k.
pub const MAX_TABLES: usize = 25;

/// One of the two settings of the paper.
#[derive(Debug, Clone, Copy)]
pub struct Setting {
    pub name: &'static str,
    pub members: usize,
    /// epsilon and delta.
    pub near: f64,
    pub far: f64,
    /// l'.
    pub hashes: u32,
    pub seed: u64,
    /// k, false positives and false negatives of Table 1.
    pub table: [(usize, f64, f64); 5],
}

pub const SETTINGS: [Setting; 2] = [
    Setting {
        name: "a",
        members: 1_000,
        near: 0.1,
        far: 0.4,
        hashes: 21,
        seed: 1,
        table: [
            (5, 0.04744, 0.124236),
            (10, 0.09235, 0.015366),
            (15, 0.134926, 0.001934),
            (20, 0.01572, 0.002816),
            (25, 0.023874, 0.000372),
        ],
    },
    Setting {
        name: "b",
        members: 10_000,
        near: 0.05,
        far: 0.4,
        hashes: 24,
        seed: 2,
        table: [
            (5, 0.025958, 0.019746),
            (10, 0.001338, 0.00495),
            (15, 0.000068, 0.00125),
            (20, 0.000158, 0.000034),
            (25, 0.000006, 0.000012),
        ],
    },
];

/// How a query changes the chosen bits of a member.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Convention {
    /// Each bit is redrawn, so that half of them change. The numbers in the paper's table follow this convention.
    Redrawn,
    /// Each bit is flipped, as the text of the paper describes it.
    Flipped,
}

impl Convention {
    pub const ALL: [Convention; 2] = [Convention::Redrawn, Convention::Flipped];

    /// The distance of a query in which this fraction of the bits is chosen.
    pub fn distance(self, fraction: f64) -> f64 {
        match self {
            Convention::Redrawn => fraction / 2.0,
            Convention::Flipped => fraction,
        }
    }
}

impl Setting {
    /// The filter of section 3, positions "in the natural way": k partitions of 2^l' bits.
    pub fn params(&self, tables: usize, seed: u64) -> Params {
        Params {
            kind: Kind::Dsbf,
            metric: Metric::Hamming,
            family: Family::Bits,
            seed,
            capacity: self.members as u64,
            near: self.near,
            far: self.far,
            width: 0.0,
            tables: tables as u32,
            hashes: self.hashes,
            bits: (tables as u64) << self.hashes,
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

    /// ceil(t).
    pub fn threshold(&self, tables: usize) -> u32 {
        threshold(&self.params(tables, 0), 1.0)
    }

    /// The rates of false positives and false negatives according to the theory.
    pub fn theory(&self, tables: usize, convention: Convention) -> (f64, f64) {
        let q = |share: f64| dsbf::law(convention.distance(share), self.hashes, self.members as u64);
        let (threshold, tables) = (self.threshold(tables), tables as u32);
        (binomial::at_least(tables, q(self.far), threshold), binomial::below(tables, q(self.near), threshold))
    }
}

/// Masks of bits to change. The masks of both conventions are computed in one pass over the chosen bits.
struct Changes {
    order: Vec<u16>,
    redrawn: Vec<u8>,
    flipped: Vec<u8>,
}

impl Changes {
    fn new() -> Self {
        let empty = vec![0; LENGTH / 8];
        Changes { order: (0..=u16::MAX).collect(), redrawn: empty.clone(), flipped: empty }
    }

    /// Chooses `count` distinct bits.
    fn draw(&mut self, count: usize, random: &mut Stream) {
        self.redrawn.fill(0);
        self.flipped.fill(0);
        for i in 0..count {
            let word = random.word();
            let (number, coin) = (word >> 32, word & 1);
            let at = i + ((number * (LENGTH - i) as u64) >> 32) as usize;
            self.order.swap(i, at);
            let bit = usize::from(self.order[i]);
            self.flipped[bit / 8] |= 1 << (bit % 8);
            self.redrawn[bit / 8] |= (coin as u8) << (bit % 8);
        }
    }
}

/// False positives and false negatives of one or more filters, by convention and k.
#[derive(Debug, Clone)]
pub struct Outcome {
    counts: Vec<[Count; 2]>,
}

impl Outcome {
    fn new() -> Self {
        Outcome { counts: vec![[Count::default(); 2]; Convention::ALL.len() * MAX_TABLES] }
    }

    fn at(convention: Convention, tables: usize) -> usize {
        convention as usize * MAX_TABLES + tables - 1
    }

    pub fn positives(&self, convention: Convention, tables: usize) -> Count {
        self.counts[Self::at(convention, tables)][0]
    }

    pub fn negatives(&self, convention: Convention, tables: usize) -> Count {
        self.counts[Self::at(convention, tables)][1]
    }
}

/// How the bits that queries change are chosen.
#[derive(Debug, Clone, Copy)]
pub enum Masks {
    /// Bits are chosen anew for every query.
    Fresh,
    /// Queries share this number of masks, rotated by a random number of words: a hundred times faster.
    Pool(usize),
}

/// Builds `filters` filters and queries each for `queries` near and `queries` far strings.
///
/// Every table has its own random numbers, so that the first k tables of a filter are a filter with k tables: one
/// filter of 25 tables is enough for every k.
pub fn run(setting: &Setting, filters: usize, queries: usize, masks: Masks, progress: Progress) -> Outcome {
    let parts = parallel(filters, progress, |i| run_one(setting, setting.seed + 1000 * i as u64, queries, masks));
    let mut total = Outcome::new();
    for part in parts {
        for (sum, counts) in total.counts.iter_mut().zip(part.counts) {
            for (sum, count) in sum.iter_mut().zip(counts) {
                *sum = [*sum, count].into_iter().sum();
            }
        }
    }
    total
}

fn run_one(setting: &Setting, seed: u64, queries: usize, masks: Masks) -> Outcome {
    let params = setting.params(MAX_TABLES, seed);
    let mut random = Stream::new(seed, 1 << 40);
    let mut engine = super::engine(&params, LENGTH as u32);
    let mut filter = Owned::new(&params, LENGTH as u32);
    let members: Vec<Vec<u8>> =
        (0..setting.members).map(|_| (0..LENGTH / 64).flat_map(|_| random.word().to_le_bytes()).collect()).collect();
    for member in &members {
        filter.add(&mut engine, &Vector::Bytes(member)).expect("members are valid vectors");
    }
    let functions = Functions::new(&params, LENGTH as u32).expect("the parameters are valid");
    let mut hasher = Hasher::new(&params, functions);
    let thresholds: Vec<u32> = (1..=MAX_TABLES).map(|k| setting.threshold(k)).collect();
    let Bits::Words(body) = filter.view().body() else { unreachable!("a filter with this many members is not a list") };

    let mut outcome = Outcome::new();
    let (mut positions, mut query) = (Vec::new(), vec![0u8; LENGTH / 8]);
    for (kind, share) in [(0, setting.far), (1, setting.near)] {
        let count = (share * LENGTH as f64) as usize;
        let mut pool: Vec<Changes> = Vec::new();
        for number in 0..queries {
            let rotation = draw_masks(masks, &mut pool, number == 0, count, &mut random);
            let changes = &pool[random.below(pool.len() as u64) as usize];
            let member = &members[random.below(members.len() as u64) as usize];
            for convention in Convention::ALL {
                let mask = match convention {
                    Convention::Redrawn => &changes.redrawn,
                    Convention::Flipped => &changes.flipped,
                };
                change(member, mask, rotation, &mut query);
                hasher
                    .family
                    .start(&Vector::Bytes(&query))
                    .and_then(|()| hasher.finish())
                    .expect("queries are valid vectors");
                find_positions(&params, &hasher, body, &mut positions);
                let mut found = 0;
                for ((k, &at), threshold) in (1..).zip(&positions).zip(&thresholds) {
                    found += u32::from(is_set(body, at));
                    outcome.counts[Outcome::at(convention, k)][kind].record((found >= *threshold) == (kind == 0));
                }
            }
        }
    }
    outcome
}

/// Draws the masks of a query into a pool; returns the number of words to rotate them by.
fn draw_masks(masks: Masks, pool: &mut Vec<Changes>, is_first: bool, count: usize, random: &mut Stream) -> usize {
    match masks {
        Masks::Fresh => {
            if pool.is_empty() {
                pool.push(Changes::new());
            }
            pool[0].draw(count, random);
            0
        }
        Masks::Pool(size) => {
            if is_first {
                pool.extend((0..size).map(|_| {
                    let mut changes = Changes::new();
                    changes.draw(count, random);
                    changes
                }));
            }
            random.below(LENGTH as u64 / 64) as usize
        }
    }
}

/// Writes a member to `out` with the bits of a mask changed. The mask is rotated by `rotation` words.
fn change(member: &[u8], mask: &[u8], rotation: usize, out: &mut [u8]) {
    let (member, mask, out) = (member.as_chunks::<8>().0, mask.as_chunks::<8>().0, out.as_chunks_mut::<8>().0);
    let (end, start) = mask.split_at(rotation);
    let (first, last) = out.split_at_mut(start.len());
    for (out, (member, mask)) in [(first, (&member[..start.len()], start)), (last, (&member[start.len()..], end))] {
        for ((out, &member), &mask) in out.iter_mut().zip(member).zip(mask) {
            *out = (u64::from_ne_bytes(member) ^ u64::from_ne_bytes(mask)).to_ne_bytes();
        }
    }
}
