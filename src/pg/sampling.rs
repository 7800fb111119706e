//! Rows of a table, taken at random in bounded memory.

use super::source::Source;
use crate::error::{Error, Result};
use crate::filter::params::{Kind, Metric, Params};
use crate::hash::rng::Stream;
use crate::theory::design::{Spec, parameters};
use crate::theory::sample::Rows;
use crate::vector::Vector;

/// Rows taken where nothing is said, and at most.
const SAMPLE: i64 = 20_000;
const MOST_ROWS: i64 = 1_000_000;
/// Bytes that the rows taken may have together.
const MOST_BYTES: usize = 32 << 20;
/// Rows that are taken however long they are.
const LEAST_ROWS: usize = 10;

/// What was taken, and how many rows there are.
pub struct Taken {
    pub rows: Rows,
    pub population: f64,
    /// Bytes that studying them takes, about.
    pub work: usize,
}

/// Takes rows of a column at random.
pub fn sample(source: &Source, metric: Metric, symbols: bool, wanted: Option<i64>, seed: u64) -> Result<Taken> {
    let wanted = wanted.unwrap_or(SAMPLE);
    if !(LEAST_ROWS as i64..=MOST_ROWS).contains(&wanted) {
        return Err(Error::parameter(format!("sample must be between {LEAST_ROWS} and {MOST_ROWS}, not {wanted}")));
    }
    let spec = Spec { capacity: Some(10), near: Some(0.1), symbols, ..Spec::default() };
    let reader = parameters(Kind::Lsbf, metric, &spec)?.0;
    let mut reservoir = Reservoir {
        rows: Rows::new(metric, symbols),
        most: wanted as usize,
        bytes: 0,
        seen: 0,
        stream: Stream::new(seed, 0),
        reader,
    };
    let named = |error: Error| Error { message: format!("{} in {}", error.message, source.label), ..error };
    let share = source.read(seed, |datum| reservoir.offer(|| source.vector(datum)).map_err(named))?;
    if reservoir.rows.is_empty() {
        return Err(Error::data(format!("{} has no vectors to learn from", source.label))
            .with_hint("lsbf_design(metric, near, capacity) chooses without a table."));
    }
    // Copies of the rows, one in a list that doubles; questions and what is counted of them.
    const QUESTIONS: usize = 16 << 20;
    let work = 4 * reservoir.bytes + QUESTIONS;
    Ok(Taken { rows: reservoir.rows, population: reservoir.seen as f64 / share, work })
}

/// A sample of rows that are seen one by one: each is kept with the same chance (Vitter's algorithm R).
struct Reservoir {
    rows: Rows,
    most: usize,
    bytes: usize,
    seen: u64,
    stream: Stream,
    reader: Params,
}

impl Reservoir {
    /// Looks at a row only where it is to be kept: those that are not need not be fetched.
    fn offer<'a>(&mut self, row: impl FnOnce() -> Result<Vector<'a>>) -> Result<()> {
        self.seen += 1;
        let at = match self.rows.len() < self.most {
            true => None,
            false => Some(self.stream.below(self.seen) as usize).filter(|&at| at < self.most),
        };
        if at.is_none() && self.rows.len() >= self.most {
            return Ok(());
        }
        let vector = row()?;
        let bytes = Rows::row_bytes(&vector);
        // Empty sets, which documents without words are, have no distance: they are passed over.
        if bytes == 0 && self.reader.metric == Metric::Jaccard {
            self.seen -= 1;
            return Ok(());
        }
        let freed = at.map_or(0, |at| self.rows.bytes_of(at));
        if self.bytes + bytes > MOST_BYTES + freed && self.rows.len() >= LEAST_ROWS {
            // There is no room for more, nor for a longer one.
            self.most = self.rows.len();
            return Ok(());
        }
        self.bytes = self.bytes + bytes - freed;
        self.rows.put(&self.reader, &vector, at)
    }
}
