//! How often rows that are far from each other really meet. Distances alone do not tell: members in clusters hide behind each
//! other, and data does not spread evenly over all directions.

use super::sample::{Rows, questions};
use crate::filter::params::{LINE, Params, Probing};
use crate::filter::{Engine, Owned};

/// Tables that are filled.
const TABLES: u32 = 8;
/// Bits a key has there, and sets: so many that hardly any is known by chance.
const BITS_A_KEY: u64 = 64;
const HASHES: u32 = 14;
/// Fewer rows tell nothing.
const LEAST_ROWS: usize = 2000;

/// What was counted.
#[derive(Debug, Clone, Copy)]
pub struct Met {
    /// Members that were asked about.
    pub members: f64,
    /// Tables that were asked by rows without a near member, and those that knew one of their keys.
    pub asked: f64,
    pub hits: f64,
    /// The same of pairs of tables, both of which did: where hits come together, votes tell less.
    pub pairs_asked: f64,
    pub pairs: f64,
}

/// Fills tables with a sample, but for the rows that are questions, and asks them; `counts` says which questions count.
/// None where there are too few rows, or there is no such filter. `pause` is called now and then.
pub fn met(
    params: &Params,
    centre: &[f32],
    rows: &Rows,
    counts: impl Fn(usize) -> bool,
    mut pause: impl FnMut(),
) -> Option<Met> {
    let (count, asked) = (rows.len(), questions(rows.len()));
    if count < LEAST_ROWS {
        return None;
    }
    let lines = (count as u64 * BITS_A_KEY).div_ceil(LINE);
    let params = Params {
        capacity: count as u64,
        tables: TABLES,
        votes: 1,
        bits: lines * LINE * u64::from(TABLES),
        bloom_hashes: HASHES,
        ..params.clone()
    };
    let centred = params.probing.is_some_and(|Probing { centre, .. }| centre != 0);
    let centre = if centred { centre } else { &[] };
    let dims = rows.dims() as u32;
    let mut engine = Engine::centred(params.clone(), dims, centre.to_vec()).ok()?;
    let mut filter = Owned::centred(&params, dims, centre);
    let mut next = asked.iter().peekable();
    let mut members = 0.0;
    for at in 0..count {
        if at % 64 == 0 {
            pause();
        }
        if next.next_if(|&&question| question == at).is_none() {
            // Rows without a direction are in nobody's way.
            members += f64::from(rows.show(at, |row| filter.add(&mut engine, row)).is_ok());
        }
    }
    let mut met = Met { members, asked: 0.0, hits: 0.0, pairs_asked: 0.0, pairs: 0.0 };
    let pairs = |tables: u32| f64::from(tables * (tables.max(1) - 1) / 2);
    for (_, &question) in asked.iter().enumerate().filter(|&(case, _)| counts(case)) {
        pause();
        if let Ok(votes) = rows.show(question, |row| engine.votes(&filter.image, row, 1.0)) {
            met.asked += f64::from(TABLES);
            met.hits += f64::from(votes);
            met.pairs_asked += pairs(TABLES);
            met.pairs += pairs(votes);
        }
    }
    Some(met)
}
