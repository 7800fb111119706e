//! LSBF with `match => 'any'`: each table is a Bloom filter of its keys, every key within one cache line. A query tries the
//! keys a near member is likely to have, most likely first; the answer is yes when enough tables know one of them.

use super::bits::{Body, BodyMut};
use super::params::{LINE, Params};
use crate::error::Result;
use crate::hash::mix::{mix, reduce};
use crate::hash::probe::{AT_ONCE, RANKS, Walk};
use crate::hash::{Buckets, Hasher};

const LINE_WORDS: u64 = LINE / 64;
/// Places in a line that the key itself gives, and that every further word of random bits does.
const FIRST: u32 = 4;
const MORE: u32 = 7;

/// A table of the filter.
#[derive(Clone, Copy)]
struct Table {
    number: usize,
    /// Its first word, and its lines.
    start: u64,
    lines: u64,
    /// Bits a key sets.
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

    /// Where a key's line starts, in words.
    #[inline]
    fn line(&self, key: u64) -> u64 {
        self.start + reduce(key, self.lines) * LINE_WORDS
    }
}

/// Some of the places a key has in its line.
#[inline(always)]
fn places(key: u64, numbers: std::ops::Range<u32>) -> impl Iterator<Item = u64> {
    numbers.map(move |i| match i.checked_sub(FIRST) {
        None => key >> (9 * i),
        Some(i) => mix(key, 1 + u64::from(i / MORE)) >> (9 * (i % MORE)),
    } & (LINE - 1))
}

/// Sets a member's bits; returns how many were new.
pub fn add(params: &Params, hasher: &Hasher, buckets: &Buckets, body: &mut (impl BodyMut + ?Sized)) -> u64 {
    let mut new = 0;
    for (table, &word) in Table::all(params).zip(&buckets.keys) {
        let key = hasher.probed_key(table.number, word);
        let start = table.line(key) * 64;
        new += places(key, 0..table.hashes).map(|place| body.set(start + place)).sum::<u64>();
    }
    new
}

/// Whether a line has all the places of a key.
#[inline(always)]
fn knows(hashes: u32, key: u64, start: u64, body: &(impl Body + ?Sized)) -> bool {
    // Half of all bits are set. Four at once seldom are, so that the processor knows where to go on.
    let first = match hashes {
        FIRST.. => body.all_set(start as usize, places(key, 0..FIRST)),
        _ => body.all_set(start as usize, places(key, 0..hashes)),
    };
    first && body.all_set(start as usize, places(key, FIRST.min(hashes)..hashes))
}

/// A query that was made ready.
pub struct Query<'a> {
    pub params: &'a Params,
    pub hasher: &'a Hasher,
    pub probes: u32,
}

impl Query<'_> {
    /// Tables that know one of the first keys of the query. Where it is said how many are enough, counting ends when so many
    /// do or no longer can.
    pub fn votes<B>(&self, buckets: &mut Buckets, walk: &mut Walk, body: &B, enough: Option<u32>) -> Result<u32>
    where
        B: Body + ?Sized,
    {
        let mut votes = 0;
        for table in Table::all(self.params) {
            let left = self.params.tables - table.number as u32;
            if enough.is_some_and(|enough| votes >= enough || votes + left < enough) {
                break;
            }
            let own = self.hasher.key(table.number, buckets)?;
            votes += u32::from(self.hits(&table, own, buckets, walk, body));
        }
        Ok(votes)
    }

    /// Whether a table knows one of the keys.
    #[inline]
    fn hits<B>(&self, table: &Table, own: u64, buckets: &Buckets, walk: &mut Walk, body: &B) -> bool
    where
        B: Body + ?Sized,
    {
        if any_known(table, self.hasher, own, &[0], body) {
            return true;
        }
        let (hashes, source) = (self.hasher.hashes(), self.hasher.of_table(table.number, RANKS, buckets));
        let mut left = self.probes as usize - 1;
        if left > 0 {
            walk.start(hashes, left, &source);
        }
        while left > 0 {
            let words = walk.next(hashes, left, &source);
            if words.is_empty() {
                break;
            }
            left -= words.len();
            if any_known(table, self.hasher, own, words, body) {
                return true;
            }
        }
        false
    }
}

/// Whether one of a few keys is known, given by what is xored into the own one. All their lines are on their way into the
/// cache before the first is looked at.
#[inline]
fn any_known(table: &Table, hasher: &Hasher, own: u64, words: &[u64], body: &(impl Body + ?Sized)) -> bool {
    let mut batch = [(0, 0); AT_ONCE];
    for (slot, word) in batch.iter_mut().zip(words) {
        let key = hasher.probed_key(table.number, own ^ word);
        let start = table.line(key);
        body.prefetch(start as usize);
        *slot = (key, start);
    }
    batch[..words.len()].iter().any(|&(key, start)| knows(table.hashes, key, start, body))
}
