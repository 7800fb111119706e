//! Measures how often unrelated rows collide, with a filter that is built from the sample. Distances are not enough to
//! predict this: members of a cluster share their keys, and data is not distributed evenly over all directions.

use super::rows::Rows;
use super::sample::queries;
use crate::filter::{Engine, Owned};
use crate::interrupt;
use crate::params::{LINE, Params};

/// The number of tables. With keys of blocks, those of whole partitions.
const TABLES: u32 = 8;
/// Bits per key.
const BITS_PER_KEY: u64 = 64;
/// Bits that a key sets.
const HASHES: u32 = 14;
/// The minimum number of sampled rows.
const MIN_ROWS: usize = 2000;

/// The number of collisions.
#[derive(Debug, Clone, Copy)]
pub struct Counts {
    /// The number of members that were added.
    pub members: f64,
    /// The number of tables, summed over all unrelated queries.
    pub tables: f64,
    /// The number of those tables that contained one of the query's keys.
    pub hits: f64,
    /// The number of pairs of tables: if both tables of a pair match together, votes separate less.
    pub pairs: f64,
    /// The number of pairs of which both tables matched.
    pub pair_hits: f64,
}

/// Builds a filter from all rows but the sample queries, and queries it with those that `counts` selects. `None` if
/// there are too few rows, or if the filter cannot be built.
pub fn count(params: &Params, rows: &Rows, counts: impl Fn(usize) -> bool) -> Option<Counts> {
    let (count, queries) = (rows.len(), queries(rows.len()));
    if count < MIN_ROWS {
        return None;
    }
    let params = dense_enough(params, count);
    let dims = rows.dims() as u32;
    let mut engine = Engine::new(params.clone(), dims).ok()?;
    let mut filter = Owned::new(&params, dims);
    let mut next = queries.iter().peekable();
    let mut members = 0.0;
    for at in 0..count {
        if at % 64 == 0 {
            interrupt::check();
        }
        if next.next_if(|&&query| query == at).is_none() {
            members += f64::from(rows.with_row(at, |row| filter.add(&mut engine, row)).is_ok());
        }
    }
    let mut found = Counts { members, tables: 0.0, hits: 0.0, pairs: 0.0, pair_hits: 0.0 };
    let pairs = |tables: u32| f64::from(tables * (tables.max(1) - 1) / 2);
    for (_, &query) in queries.iter().enumerate().filter(|&(case, _)| counts(case)) {
        interrupt::check();
        if let Ok(votes) = rows.with_row(query, |row| filter.votes(&mut engine, row, 1.0)) {
            found.tables += f64::from(params.tables);
            found.hits += f64::from(votes);
            found.pairs += pairs(params.tables);
            found.pair_hits += pairs(votes);
        }
    }
    Some(found)
}

/// The same hash functions with enough bits that false positives of the Bloom filters are negligible.
fn dense_enough(params: &Params, members: usize) -> Params {
    let lines = (members as u64 * BITS_PER_KEY).div_ceil(LINE);
    let tables = match params.family.has_blocks() {
        true => TABLES.next_multiple_of(params.tables_per_partition().unwrap_or(TABLES)),
        false => TABLES,
    };
    Params {
        capacity: members as u64,
        tables,
        votes: 1,
        bits: lines * LINE * u64::from(tables),
        bloom_hashes: HASHES,
        ..params.clone()
    }
}
