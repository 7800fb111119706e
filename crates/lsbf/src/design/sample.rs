//! Analysis of a sample of rows: their centre, their lengths and their distances.

use super::data::{Case, Others};
use super::rows::Rows;
use crate::hash::kernel::Matrix;
use crate::hash::path::Path;
use crate::interrupt;
use crate::params::Metric;

/// The result of an analysis.
#[derive(Debug, Clone)]
pub struct Study {
    /// The mean of all rows; empty if it does not apply.
    pub centre: Vec<f32>,
    /// Some of the rows, as sample queries.
    pub cases: Vec<Case>,
    /// The fraction of rows that have another row within near.
    pub within_near: f64,
    /// The fraction of rows that have another row within far.
    pub within_far: f64,
    /// The fraction of pairs of rows that are within far.
    pub pairs_within_far: f64,
    /// The median distance between two rows.
    pub median: f64,
}

/// The maximum number of sample queries.
const QUERIES: usize = 512;

/// The number of bins of the histogram of distances, sixteen per doubling: in a table of blocks, a member that is a little nearer
/// matches much more often.
const BINS: usize = 192;

/// The median distance of some pairs of rows (not for real vectors).
pub fn median_distance(metric: Metric, rows: &Rows) -> f64 {
    const PAIRS: usize = 1000;
    let count = rows.len();
    if count < 2 {
        return metric.unrelated();
    }
    let pairs = Pairs { rows };
    // Consecutive rows of the sample are unrelated.
    let mut found: Vec<f64> = (0..PAIRS.min(count - 1)).map(|at| pairs.distance(at, at + 1)).collect();
    found.sort_by(f64::total_cmp);
    found[found.len() / 2]
}

/// Analyzes a sample of a table with about `population` rows.
pub fn study(metric: Metric, rows: &Rows, population: f64, near: f64, far: f64) -> Study {
    match rows {
        Rows::Reals { dims, values } => Vectors::new(metric, *dims, values.clone()).study(population, near, far),
        Rows::Bits { len, bytes } => {
            let bit = |row: &[u8], at: usize| f32::from(row[at / 8] >> (7 - at % 8) & 1);
            let rows = bytes.chunks_exact(len.div_ceil(8).max(1));
            let values: Vec<f32> = rows.flat_map(|row| (0..*len).map(move |at| bit(row, at))).collect();
            Vectors::new(metric, *len, values).study(population, near, far)
        }
        _ => Pairs { rows }.study(population, near, far),
    }
}

/// Counts the rows around all sample queries.
struct Counter {
    near: f64,
    far: f64,
    /// The number of table rows per sampled row.
    weight: f64,
    largest: f64,
    cases: Vec<Case>,
    within_near: usize,
    within_far: usize,
    pairs: usize,
    pairs_within_far: usize,
    distances: Vec<f64>,
}

/// A bin of a histogram: the number of rows, and the sum of their distances.
#[derive(Clone, Copy, Default)]
struct Bin {
    distance: f64,
    members: f64,
}

/// A histogram of the distances of the rows beyond far from one sample query, and the distance of the nearest row.
struct Around {
    bins: [Bin; BINS],
    nearest: f64,
}

/// The bin of a ratio of at least 1: the doublings, and the first four bits of the fraction.
fn bin(ratio: f64) -> usize {
    ((ratio.to_bits() >> 48) - (1023 << 4)) as usize
}

impl Around {
    fn new() -> Around {
        Around { bins: [Bin::default(); BINS], nearest: f64::INFINITY }
    }

    fn count(&mut self, counter: &mut Counter, distance: f64) {
        self.nearest = self.nearest.min(distance);
        if counter.distances.len() < 1 << 16 {
            counter.distances.push(distance);
        }
        counter.pairs += 1;
        if distance <= counter.far {
            counter.pairs_within_far += 1;
            return;
        }
        let bin = &mut self.bins[bin(distance / counter.far).min(BINS - 1)];
        bin.distance += distance;
        bin.members += 1.0;
    }

    fn close(self, counter: &mut Counter, length: f64) {
        counter.within_near += usize::from(self.nearest <= counter.near);
        counter.within_far += usize::from(self.nearest <= counter.far);
        let filled = self.bins.iter().filter(|bin| bin.members > 0.0);
        let mean = |bin: &Bin| Others { distance: bin.distance / bin.members, members: bin.members * counter.weight };
        let is_unrelated = self.nearest > counter.far;
        counter.cases.push(Case { is_unrelated, length, others: filled.map(mean).collect() });
    }
}

impl Counter {
    fn new(metric: Metric, rows: usize, population: f64, near: f64, far: f64) -> Counter {
        Counter {
            near,
            far,
            weight: population / rows.max(1) as f64,
            largest: metric.largest(),
            cases: Vec::new(),
            within_near: 0,
            within_far: 0,
            pairs: 0,
            pairs_within_far: 0,
            distances: Vec::new(),
        }
    }

    fn finish(mut self, centre: Vec<f32>) -> Study {
        let queries = self.cases.len().max(1) as f64;
        self.distances.sort_by(f64::total_cmp);
        let median = self.distances.get(self.distances.len() / 2).copied().unwrap_or(self.largest);
        Study {
            centre,
            within_near: self.within_near as f64 / queries,
            within_far: self.within_far as f64 / queries,
            pairs_within_far: self.pairs_within_far as f64 / self.pairs.max(1) as f64,
            cases: self.cases,
            median,
        }
    }
}

impl Study {
    /// The median distance from the centre; `None` if it is zero.
    pub fn typical_length(&self) -> Option<f64> {
        let mut lengths: Vec<f64> = self.cases.iter().map(|case| case.length).collect();
        lengths.sort_by(f64::total_cmp);
        lengths.get(lengths.len() / 2).copied().filter(|&length| length > 0.0)
    }
}

/// The rows that serve as sample queries, evenly spaced. They become the cases, in this order.
pub fn queries(rows: usize) -> Vec<usize> {
    let count = rows.min(QUERIES);
    (0..count).map(|i| i * rows / count).collect()
}

/// Numeric vectors and bit strings, analyzed by matrix products.
struct Vectors {
    metric: Metric,
    dims: usize,
    /// The rows minus the centre: otherwise distances between rows far from the origin would be lost to rounding.
    values: Vec<f32>,
    centre: Vec<f32>,
}

fn dot(x: &[f32], y: &[f32]) -> f64 {
    x.iter().zip(y).map(|(&x, &y)| f64::from(x) * f64::from(y)).sum()
}

impl Vectors {
    fn new(metric: Metric, dims: usize, mut values: Vec<f32>) -> Self {
        let mut sums = vec![0.0f64; dims];
        for row in values.chunks_exact(dims.max(1)) {
            sums.iter_mut().zip(row).for_each(|(sum, &x)| *sum += f64::from(x));
        }
        let count = (values.len() / dims.max(1)).max(1) as f64;
        let centre: Vec<f32> = sums.iter().map(|sum| (sum / count) as f32).collect();
        for row in values.chunks_exact_mut(dims.max(1)) {
            row.iter_mut().zip(&centre).for_each(|(x, centre)| *x -= centre);
        }
        Vectors { metric, dims, values, centre }
    }

    fn study(self, population: f64, near: f64, far: f64) -> Study {
        let rows: Vec<&[f32]> = self.values.chunks_exact(self.dims.max(1)).collect();
        let queries = queries(rows.len());
        let mut counter = Counter::new(self.metric, rows.len(), population, near, far);
        let mut around: Vec<Around> = queries.iter().map(|_| Around::new()).collect();
        // Multiply every row by all queries at once, so that the rows are read only once.
        let Some(mut matrix) = Matrix::new(queries.len(), self.dims) else { return counter.finish(Vec::new()) };
        for (row, &query) in queries.iter().enumerate() {
            rows[query].iter().enumerate().for_each(|(column, &x)| matrix.set(row, column, x));
        }
        let squares: Vec<f64> = queries.iter().map(|&query| dot(rows[query], rows[query])).collect();
        let mut products = vec![0.0; queries.len()];
        for (number, row) in rows.iter().enumerate() {
            if number % 64 == 0 {
                interrupt::check();
            }
            let square = dot(row, row);
            matrix.multiply(Path::best(), row, &mut products);
            for (i, &product) in products.iter().enumerate() {
                if queries[i] == number {
                    continue;
                }
                let its_square = squares[i];
                let apart = libm::sqrt((square + its_square - 2.0 * product).max(0.0));
                let distance = match self.metric {
                    Metric::Hamming => apart * apart / self.dims as f64,
                    Metric::Cosine => apart * apart / 2.0,
                    Metric::L1 => rows[queries[i]].iter().zip(*row).map(|(x, y)| f64::from((x - y).abs())).sum(),
                    _ => apart,
                };
                around[i].count(&mut counter, distance);
            }
        }
        // Lengths of bit strings are fractions of the largest possible one.
        let scale = if self.metric == Metric::Hamming { 1.0 / libm::sqrt(self.dims as f64) } else { 1.0 };
        let lengths: Vec<f64> = squares.iter().map(|square| libm::sqrt(*square) * scale).collect();
        for (around, &length) in around.into_iter().zip(&lengths) {
            around.close(&mut counter, length);
        }
        counter.finish(self.centre)
    }
}

/// Strings and sets, compared pair by pair.
struct Pairs<'a> {
    rows: &'a Rows,
}

impl Pairs<'_> {
    fn study(self, population: f64, near: f64, far: f64) -> Study {
        let count = self.rows.len();
        let metric = if matches!(self.rows, Rows::Sets(_)) { Metric::Jaccard } else { Metric::Hamming };
        let mut counter = Counter::new(metric, count, population, near, far);
        for query in queries(count) {
            let mut around = Around::new();
            for other in (0..count).filter(|&other| other != query) {
                if other % 256 == 0 {
                    interrupt::check();
                }
                let distance = self.distance(query, other);
                around.count(&mut counter, distance);
            }
            around.close(&mut counter, 0.0);
        }
        counter.finish(Vec::new())
    }

    fn distance(&self, a: usize, b: usize) -> f64 {
        match self.rows {
            Rows::Bits { len, bytes } => {
                let width = len.div_ceil(8);
                let (x, y) = (&bytes[a * width..][..width], &bytes[b * width..][..width]);
                let differ: u32 = x.iter().zip(y).map(|(x, y)| (x ^ y).count_ones()).sum();
                f64::from(differ) / *len as f64
            }
            Rows::Symbols { len, symbols } => {
                let (x, y) = (&symbols[a * len..][..*len], &symbols[b * len..][..*len]);
                x.iter().zip(y).filter(|(x, y)| x != y).count() as f64 / *len as f64
            }
            Rows::Sets(sets) => jaccard(&sets[a], &sets[b]),
            Rows::Reals { .. } => f64::INFINITY,
        }
    }
}

/// The Jaccard distance of two sets in ascending order.
fn jaccard(a: &[u64], b: &[u64]) -> f64 {
    let (mut i, mut j, mut both) = (0, 0, 0);
    while i < a.len() && j < b.len() {
        match a[i].cmp(&b[j]) {
            std::cmp::Ordering::Less => i += 1,
            std::cmp::Ordering::Greater => j += 1,
            std::cmp::Ordering::Equal => (i, j, both) = (i + 1, j + 1, both + 1),
        }
    }
    1.0 - f64::from(both) / (a.len() + b.len() - both as usize).max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::design::{Options, parameters};
    use crate::hash::rng::Stream;
    use crate::params::Kind;
    use crate::params::Params;
    use crate::vector::Vector;

    fn params(metric: Metric) -> Params {
        let options = Options { capacity: Some(10), near: Some(0.1), ..Options::default() };
        parameters(Kind::Dsbf, metric, &options).unwrap().0
    }

    #[test]
    fn centre_lengths_and_distances_are_those_of_the_rows() {
        let mut rows = Rows::new(Metric::L2, false);
        let params = params(Metric::L2);
        let mut s = Stream::new(1, 0);
        // Unit vectors around (3, 0, 0, ...). Every tenth row is almost equal to the one before.
        let mut all: Vec<Vec<f32>> = Vec::new();
        for i in 0..500 {
            let mut row: Vec<f32> = (0..64).map(|_| s.gaussian() as f32).collect();
            let length = row.iter().map(|x| x * x).sum::<f32>().sqrt();
            row.iter_mut().for_each(|x| *x /= length);
            row[0] += 3.0;
            if i % 10 == 9 {
                row = all[i - 1].clone();
                row[1] += 0.05;
            }
            rows.put(&params, &Vector::F32(&row), None).unwrap();
            all.push(row);
        }
        let study = study(Metric::L2, &rows, 5000.0, 0.1, 0.5);
        assert!((study.centre[0] - 3.0).abs() < 0.02 && study.centre[1].abs() < 0.05);
        assert!((study.median - std::f64::consts::SQRT_2).abs() < 0.1, "{}", study.median);
        assert!((study.within_near - 0.2).abs() < 0.06, "{}", study.within_near);
        assert!((study.within_far - 0.2).abs() < 0.06);
        for case in study.cases.iter().filter(|case| case.is_unrelated) {
            assert!((case.length - 1.0).abs() < 0.2);
            let members: f64 = case.others.iter().map(|others| others.members).sum();
            assert!((4900.0..5000.0).contains(&members), "{members}");
        }
    }

    #[test]
    fn bins_divide_every_doubling_into_sixteen() {
        let mut s = Stream::new(2, 0);
        assert_eq!([1.0, 1.1, 2.0, 3.0, 4.0].map(bin), [0, 1, 16, 24, 32]);
        assert!(bin(f64::INFINITY) > BINS);
        for _ in 0..1000 {
            let ratio = libm::exp(9.0 * s.uniform());
            let doublings = libm::floor(libm::log2(ratio));
            let fraction = ratio / libm::exp2(doublings) - 1.0;
            assert_eq!(bin(ratio), (16.0 * (doublings + fraction)) as usize, "{ratio}");
        }
    }

    #[test]
    fn a_row_can_replace_another() {
        let mut rows = Rows::new(Metric::Hamming, false);
        let params = params(Metric::Hamming);
        for byte in [1u8, 2, 3] {
            rows.put(&params, &Vector::Bits { bytes: &[byte, 0], len: 16 }, None).unwrap();
        }
        rows.put(&params, &Vector::Bits { bytes: &[1, 0], len: 16 }, Some(1)).unwrap();
        assert!(matches!(&rows, Rows::Bits { bytes, .. } if bytes[..] == [1, 0, 1, 0, 3, 0]));
        let refused = rows.put(&params, &Vector::Bits { bytes: &[1], len: 8 }, None).unwrap_err();
        assert_eq!(refused.message, "expected 16 bits, not 8");
    }

    #[test]
    fn sets_are_compared_by_their_elements() {
        assert_eq!(jaccard(&[1, 2, 3], &[2, 3, 4]), 0.5);
        assert_eq!(jaccard(&[1, 2], &[1, 2]), 0.0);
        assert_eq!(jaccard(&[1], &[2]), 1.0);
    }
}
