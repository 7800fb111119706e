//! LSBF with `match => 'any'`: each table is a blocked Bloom filter of its keys, with all bits of a key in one cache
//! line. A query tries the keys that a near member is likely to have, most likely first; with keys of blocks and of minima,
//! only its own. It is accepted if enough tables contain one of them.

pub mod curve;

use super::bits::{Body, BodyMut};
use super::kind::{BitKind, Counters, Kind};
use crate::error::{Error, Result};
use crate::hash::agreement::Reach;
use crate::hash::keys::Keys;
use crate::hash::probe::{AT_ONCE, RANKS, Walk};
use crate::hash::{Functions, Hasher, Lsh};
use crate::mix::{mix, reduce};
use crate::params::{Family, LINE, Params, shown};
use crate::vector::Vector;

/// The hash functions of a filter with `match => 'any'`, and scratch memory for one vector.
pub struct Probing {
    params: Params,
    hasher: Hasher,
    walk: Walk,
    dims: u32,
    /// With keys of blocks: which thetas queries can have, and the votes that they need.
    reach: Option<Reach>,
    /// The theta of the last query, its number of probes, and the votes it needs.
    last: (f64, u32, u32),
    /// The keys of a query that tries only its own, and the first words of their lines.
    own: Vec<(u64, u64)>,
}

impl Probing {
    /// Expands the hash functions of a filter.
    pub fn new(params: &Params, dims: u32) -> Result<Self> {
        let hasher = Hasher::new(params, Functions::new(params, dims)?);
        let own = Vec::with_capacity(params.tables as usize);
        let reach = params.family.has_blocks().then(|| Reach::of(params, dims));
        Ok(Probing { params: params.clone(), hasher, walk: Walk::default(), dims, reach, last: (0.0, 0, 0), own })
    }

    /// The largest theta of a query; infinity if there is none.
    pub fn max_theta(&self) -> f64 {
        self.reach.map_or(f64::INFINITY, |reach| reach.max_theta)
    }

    /// Checks that queries can have this theta.
    #[inline]
    pub fn check_theta(&self, theta: f64) -> Result<()> {
        match &self.reach {
            Some(reach) => check_theta(reach, theta),
            None => Ok(()),
        }
    }

    /// Prepares queries with this theta.
    #[inline]
    fn prepare(&mut self, theta: f64) {
        if self.last.0 != theta {
            let params = &self.params;
            self.last = match &self.reach {
                Some(reach) => (theta, 1, reach.votes(params, self.dims, theta)),
                None => (theta, curve::probes(params, theta), params.votes),
            };
        }
    }

    /// The number of tables that contain one of the query's keys. With `enough`, counting stops as soon as that number
    /// is reached or out of reach.
    fn count<B: Body + ?Sized>(&mut self, body: &B, enough: Option<u32>) -> Result<u32> {
        if self.reach.is_some() || self.params.family == Family::MinHash {
            return self.count_own(body, enough);
        }
        let probes = self.last.1;
        let mut votes = 0;
        for table in Table::all(&self.params) {
            let left = self.params.tables - table.number as u32;
            if enough.is_some_and(|enough| votes >= enough || votes + left < enough) {
                break;
            }
            let own = self.hasher.key(table.number)?;
            votes += u32::from(hits(&table, probes, own, &self.hasher, &mut self.walk, body));
        }
        self.walk.finish();
        Ok(votes)
    }

    /// The same for a query that tries only its own keys, all of which are known at once.
    fn count_own<B: Body + ?Sized>(&mut self, body: &B, enough: Option<u32>) -> Result<u32> {
        self.hasher.finish()?;
        let keys = &self.hasher.keys;
        self.own.clear();
        for (table, &key) in Table::all(&self.params).zip(keys.all()) {
            let key = keys.mixed(table.number, key);
            let start = table.line(key);
            body.prefetch(start as usize);
            self.own.push((key, start));
        }
        let (mut votes, mut left) = (0, self.params.tables);
        for &(key, start) in &self.own {
            if enough.is_some_and(|enough| votes >= enough || votes + left < enough) {
                break;
            }
            votes += u32::from(is_in_line(self.params.bloom_hashes, key, start, body));
            left -= 1;
        }
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
        self.prepare(theta);
        let enough = self.last.2;
        Ok(self.count(body, Some(enough))? >= enough)
    }

    fn votes<B: Body + ?Sized>(&mut self, _: Counters, body: &B, theta: f64) -> Result<u32> {
        self.prepare(theta);
        self.count(body, None)
    }

    fn bytes(&self) -> usize {
        self.hasher.bytes() + self.walk.bytes() + self.own.capacity() * size_of::<(u64, u64)>()
    }
}

impl BitKind for Probing {
    fn add<B: BodyMut + ?Sized>(&mut self, body: &mut B, vector: &Vector) -> Result<(u64, Counters)> {
        let Probing { params, hasher, .. } = self;
        hasher.finish()?;
        let with_key = |(table, &word): (Table, &u64)| (table, hasher.keys.mixed(table.number, word));
        // All lines are prefetched before the first is changed.
        for (table, key) in Table::all(params).zip(hasher.keys.all()).map(with_key) {
            body.prefetch(table.line(key) as usize);
        }
        let mut ones = 0;
        for (table, key) in Table::all(params).zip(hasher.keys.all()).map(with_key) {
            let start = table.line(key) * 64;
            ones += places(key, 0..table.hashes).map(|place| body.set(start + place)).sum::<u64>();
        }
        Ok((hasher.id(vector), Counters { ones, squares: 0 }))
    }
}

/// Checks that queries of a filter of blocks can have this theta.
pub fn check_theta(reach: &Reach, theta: f64) -> Result<()> {
    // The largest theta may be rounded.
    if theta <= reach.max_theta * (1.0 + 1e-9) {
        return Ok(());
    }
    Err(Error::parameter(format!(
        "theta must be at most {} for this filter, not {}",
        shown(reach.max_theta),
        shown(theta)
    ))
    .with_hint("Create the filter with a larger near, and query it with a smaller theta."))
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
