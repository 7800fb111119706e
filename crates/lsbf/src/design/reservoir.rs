//! A random sample of a stream of rows, in bounded memory.

use super::options::Options;
use super::parameters;
use super::rows::Rows;
use crate::error::{Error, Result};
use crate::hash::rng::Stream;
use crate::params::{Kind, Metric, Params};
use crate::vector::Vector;

/// The default size of a sample.
const DEFAULT_ROWS: i64 = 20_000;
/// The largest size of a sample that can be requested.
const MAX_ROWS: i64 = 1_000_000;
/// The maximum size of a sample in bytes.
const MAX_BYTES: usize = 32 << 20;
/// The number of rows that are kept even if they exceed `MAX_BYTES`.
const MIN_ROWS: usize = 10;

/// Reservoir sampling: every offered row is kept with the same probability (Vitter's algorithm R).
pub struct Reservoir {
    /// The sampled rows.
    pub rows: Rows,
    max_rows: usize,
    bytes: usize,
    /// The number of rows offered.
    pub offered: u64,
    stream: Stream,
    /// Parameters for parsing and checking vectors.
    reader: Params,
}

impl Reservoir {
    /// An empty sample of at most `size` rows for a metric.
    pub fn new(metric: Metric, symbols: bool, size: Option<i64>, seed: u64) -> Result<Reservoir> {
        let size = size.unwrap_or(DEFAULT_ROWS);
        if !(MIN_ROWS as i64..=MAX_ROWS).contains(&size) {
            return Err(Error::parameter(format!("sample must be between {MIN_ROWS} and {MAX_ROWS}, not {size}")));
        }
        let options = Options { capacity: Some(10), near: Some(0.1), symbols, ..Options::default() };
        Ok(Reservoir {
            rows: Rows::new(metric, symbols),
            max_rows: size as usize,
            bytes: 0,
            offered: 0,
            stream: Stream::new(seed, 0),
            reader: parameters(Kind::Lsbf, metric, &options)?.0,
        })
    }

    /// Offers a row, which is read only if it is kept.
    pub fn offer<'a>(&mut self, row: impl FnOnce() -> Result<Vector<'a>>) -> Result<()> {
        self.offered += 1;
        let at = match self.rows.len() < self.max_rows {
            true => None,
            false => Some(self.stream.below(self.offered) as usize).filter(|&at| at < self.max_rows),
        };
        if at.is_none() && self.rows.len() >= self.max_rows {
            return Ok(());
        }
        let vector = row()?;
        let bytes = Rows::row_bytes(&vector);
        // Skip empty sets, such as those of documents without words: they have no distance.
        if bytes == 0 && self.reader.metric == Metric::Jaccard {
            self.offered -= 1;
            return Ok(());
        }
        let freed = at.map_or(0, |at| self.rows.bytes_of(at));
        if self.bytes + bytes > MAX_BYTES + freed && self.rows.len() >= MIN_ROWS {
            // No space for another row, nor for a longer one.
            self.max_rows = self.rows.len();
            return Ok(());
        }
        self.bytes = self.bytes + bytes - freed;
        self.rows.put(&self.reader, &vector, at)
    }

    /// The approximate memory for the analysis of the sample, in bytes: copies of the rows, one of them in a growing
    /// vector, and the counts around the sample queries.
    pub fn work_bytes(&self) -> usize {
        const QUERIES: usize = 16 << 20;
        4 * self.bytes + QUERIES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_sampled_with_the_same_probability() {
        // 400 samples of 10 out of 100 rows: each row is expected 40 times, with a standard deviation of 6.
        let mut taken = [0u32; 100];
        for seed in 0..400 {
            let mut sample = Reservoir::new(Metric::L2, false, Some(10), seed).unwrap();
            for row in &ROWS {
                sample.offer(|| Ok(Vector::F32(std::slice::from_ref(row)))).unwrap();
            }
            assert_eq!((sample.rows.len(), sample.offered), (10, 100));
            (0..10).for_each(|at| sample.rows.with_row(at, |row| taken[first(row)] += 1));
        }
        assert!(taken.iter().all(|&times| (40.0 - f64::from(times)).abs() < 5.0 * 6.0), "{taken:?}");
        let thirds = [&taken[..33], &taken[33..66]].map(|part| part.iter().sum::<u32>());
        // A third is expected 1,320 times; the standard deviation is below 33.
        assert!(thirds.iter().all(|&times| (1320.0 - f64::from(times)).abs() < 5.0 * 33.0), "{thirds:?}");
    }

    static ROWS: [f32; 100] = {
        let mut rows = [0.0; 100];
        let mut i = 0;
        while i < 100 {
            rows[i] = i as f32;
            i += 1;
        }
        rows
    };

    fn first(row: &Vector) -> usize {
        match row {
            Vector::F32(x) => x[0] as usize,
            _ => usize::MAX,
        }
    }

    #[test]
    fn empty_sets_are_not_counted_and_invalid_sizes_are_rejected() {
        let mut sample = Reservoir::new(Metric::Jaccard, false, None, 0).unwrap();
        sample.offer(|| Ok(Vector::Ints(&[]))).unwrap();
        sample.offer(|| Ok(Vector::Ints(&[1, 2]))).unwrap();
        assert_eq!((sample.rows.len(), sample.offered), (1, 1));
        for size in [-1, 9, 1_000_001] {
            assert!(Reservoir::new(Metric::L2, false, Some(size), 0).is_err());
        }
    }
}
