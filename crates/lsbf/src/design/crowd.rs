//! How often rows that are far from each other really collide. Distances alone do not show it: members in clusters hide
//! behind each other, and data does not spread evenly over all directions.

use super::rows::Rows;
use super::sample::queries;
use crate::filter::{Engine, Owned};
use crate::interrupt;
use crate::params::{LINE, Params, Probing};

/// Tables that are filled.
const TABLES: u32 = 8;
/// Bits for each key, and bits that a key sets.
const BITS_PER_KEY: u64 = 64;
const HASHES: u32 = 14;
/// Fewer rows show nothing.
const LEAST_ROWS: usize = 2000;

/// What was counted.
#[derive(Debug, Clone, Copy)]
pub struct Counts {
    /// Members that were added.
    pub members: f64,
    /// Tables queried with rows that have no near member, and those that contained one of their keys.
    pub tables: f64,
    pub hits: f64,
    /// The same for pairs of tables: where hits coincide, votes separate less.
    pub pairs: f64,
    pub pair_hits: f64,
}

/// Fills tables with a sample, except for the rows that serve as queries, and queries them; `counts` says which queries
/// count. `None` if there are too few rows, or no such filter.
pub fn count(params: &Params, centre: &[f32], rows: &Rows, counts: impl Fn(usize) -> bool) -> Option<Counts> {
    let (count, queries) = (rows.len(), queries(rows.len()));
    if count < LEAST_ROWS {
        return None;
    }
    let params = dense_enough(params, count);
    let centred = params.probing.is_some_and(|Probing { centre, .. }| centre != 0);
    let centre = if centred { centre } else { &[] };
    let dims = rows.dims() as u32;
    let mut engine = Engine::centred(params.clone(), dims, centre.to_vec()).ok()?;
    let mut filter = Owned::centred(&params, dims, centre);
    let mut next = queries.iter().peekable();
    let mut members = 0.0;
    for at in 0..count {
        if at % 64 == 0 {
            interrupt::check();
        }
        if next.next_if(|&&query| query == at).is_none() {
            // A row without a direction collides with none.
            members += f64::from(rows.show(at, |row| filter.add(&mut engine, row)).is_ok());
        }
    }
    let mut found = Counts { members, tables: 0.0, hits: 0.0, pairs: 0.0, pair_hits: 0.0 };
    let pairs = |tables: u32| f64::from(tables * (tables.max(1) - 1) / 2);
    for (_, &query) in queries.iter().enumerate().filter(|&(case, _)| counts(case)) {
        interrupt::check();
        if let Ok(votes) = rows.show(query, |row| filter.votes(&mut engine, row, 1.0)) {
            found.tables += f64::from(TABLES);
            found.hits += f64::from(votes);
            found.pairs += pairs(TABLES);
            found.pair_hits += pairs(votes);
        }
    }
    Some(found)
}

/// The same hash functions with so many bits that a table hardly ever contains a key by chance.
fn dense_enough(params: &Params, members: usize) -> Params {
    let lines = (members as u64 * BITS_PER_KEY).div_ceil(LINE);
    Params {
        capacity: members as u64,
        tables: TABLES,
        votes: 1,
        bits: lines * LINE * u64::from(TABLES),
        bloom_hashes: HASHES,
        ..params.clone()
    }
}
