//! LSBF with `match => 'any'`: each table is a blocked Bloom filter of its keys, with all bits of a key in one cache
//! line. A query tries the keys that a near member is likely to have, most likely first. It is accepted if enough
//! tables contain one of them.

pub mod curve;

use super::bits::{Body, BodyMut};
use super::kind::{Counters, Kind};
use crate::error::Result;
use crate::hash::keys::Keys;
use crate::hash::probe::{AT_ONCE, RANKS, Walk};
use crate::hash::{Functions, Hasher, Lsh};
use crate::mix::{mix, reduce};
use crate::params::{LINE, Params};
use crate::vector::Vector;

/// The hash functions of a filter with `match => 'any'`, and scratch memory for one vector.
pub struct Probing {
    params: Params,
    hasher: Hasher,
    walk: Walk,
    /// The theta of the last query, and its number of probes.
    probes: (f64, u32),
}

impl Probing {
    /// Expands the hash functions of a filter.
    pub fn new(params: &Params, dims: u32, centre: &[f32]) -> Result<Self> {
        let hasher = Hasher::new(params, Functions::new(params, dims, centre)?);
        Ok(Probing { params: params.clone(), hasher, walk: Walk::default(), probes: (0.0, 0) })
    }

    /// The number of tables that contain one of the query's keys. With `enough`, counting stops as soon as that number
    /// is reached or out of reach.
    fn count<B: Body + ?Sized>(&mut self, body: &B, theta: f64, enough: Option<u32>) -> Result<u32> {
        if self.probes.0 != theta {
            self.probes = (theta, curve::probes(&self.params, theta));
        }
        let mut votes = 0;
        for table in Table::all(&self.params) {
            let left = self.params.tables - table.number as u32;
            if enough.is_some_and(|enough| votes >= enough || votes + left < enough) {
                break;
            }
            let own = self.hasher.key(table.number)?;
            votes += u32::from(hits(&table, self.probes.1, own, &self.hasher, &mut self.walk, body));
        }
        self.walk.finish();
        Ok(votes)
    }
}

impl Kind for Probing {
    #[inline]
    fn start(&mut self, vector: &Vector) -> Result<()> {
        self.hasher.family.start(vector)
    }

    #[inline]
    fn contains<B: Body + ?Sized>(&mut self, _: Counters, body: &B, theta: f64) -> Result<bool> {
        let enough = self.params.votes;
        Ok(self.count(body, theta, Some(enough))? >= enough)
    }

    fn votes<B: Body + ?Sized>(&mut self, body: &B, theta: f64) -> Result<u32> {
        self.count(body, theta, None)
    }

    fn add<B: BodyMut + ?Sized>(&mut self, body: &mut B, vector: &Vector) -> Result<(u64, Counters)> {
        let Probing { params, hasher, .. } = self;
        hasher.finish()?;
        let mut ones = 0;
        for (table, &word) in Table::all(params).zip(hasher.keys.all()) {
            let key = hasher.keys.mixed(table.number, word);
            let start = table.line(key) * 64;
            ones += places(key, 0..table.hashes).map(|place| body.set(start + place)).sum::<u64>();
        }
        Ok((hasher.id(vector), Counters { ones, squares: 0 }))
    }

    fn bytes(&self) -> usize {
        self.hasher.bytes() + self.walk.bytes()
    }
}

const LINE_WORDS: u64 = LINE / 64;
/// The number of positions in a line that are taken from the key itself.
const FIRST: u32 = 4;
/// The number of positions that are taken from each further hash of the key.
const MORE: u32 = 7;

/// A table of the filter.
#[derive(Clone, Copy)]
struct Table {
    number: usize,
    /// The first word.
    start: u64,
    /// The number of cache lines.
    lines: u64,
    /// The number of bits that a key sets.
    hashes: u32,
}

impl Table {
    fn all(params: &Params) -> impl Iterator<Item = Table> {
        let (lines, hashes) = (params.partition() / LINE, params.bloom_hashes);
        (0..params.tables as usize).map(move |number| {
            let start = number as u64 * lines * LINE_WORDS;
            Table { number, start, lines, hashes }
        })
    }

    /// The first word of a key's line.
    #[inline]
    fn line(&self, key: u64) -> u64 {
        self.start + reduce(key, self.lines) * LINE_WORDS
    }
}

/// Some of the positions of a key in its line.
#[inline(always)]
fn places(key: u64, numbers: std::ops::Range<u32>) -> impl Iterator<Item = u64> {
    numbers.map(move |i| match i.checked_sub(FIRST) {
        None => key >> (9 * i),
        Some(i) => mix(key, 1 + u64::from(i / MORE)) >> (9 * (i % MORE)),
    } & (LINE - 1))
}

/// Whether all bits of a key are set in its line.
#[inline(always)]
fn is_in_line(hashes: u32, key: u64, start: u64, body: &(impl Body + ?Sized)) -> bool {
    // About half of all bits are set, but rarely four at once: the branch after four is well predictable.
    let first = match hashes {
        FIRST.. => body.all_set(start as usize, places(key, 0..FIRST)),
        _ => body.all_set(start as usize, places(key, 0..hashes)),
    };
    first && body.all_set(start as usize, places(key, FIRST.min(hashes)..hashes))
}

/// Whether a table contains one of the query's first `probes` keys.
#[inline]
fn hits<B>(table: &Table, probes: u32, own: u64, hasher: &Hasher, walk: &mut Walk, body: &B) -> bool
where
    B: Body + ?Sized,
{
    if contains_any(table, &hasher.keys, own, &[0], body) {
        return true;
    }
    let (hashes, neighbours) = (hasher.keys.hashes(), hasher.neighbours(table.number, RANKS));
    let mut left = probes as usize - 1;
    if left > 0 {
        walk.start(hashes, left, &neighbours);
    }
    while left > 0 {
        let words = walk.next(hashes, left, &neighbours);
        if words.is_empty() {
            break;
        }
        left -= words.len();
        if contains_any(table, &hasher.keys, own, words, body) {
            return true;
        }
    }
    false
}

/// Whether a table contains one of a few keys, given as XOR differences to the query's own key. All lines are
/// prefetched before the first is read.
#[inline]
fn contains_any(table: &Table, keys: &Keys, own: u64, words: &[u64], body: &(impl Body + ?Sized)) -> bool {
    let mut batch = [(0, 0); AT_ONCE];
    for (slot, word) in batch.iter_mut().zip(words) {
        let key = keys.mixed(table.number, own ^ word);
        let start = table.line(key);
        body.prefetch(start as usize);
        *slot = (key, start);
    }
    batch[..words.len()].iter().any(|&(key, start)| is_in_line(table.hashes, key, start, body))
}
