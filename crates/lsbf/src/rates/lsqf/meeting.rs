//! Which unrelated members a query meets: those in the cells that it visits, counted with some vectors as queries and all as
//! members.

use super::pass::Curve;
use crate::error::{Code, Result};
use crate::filter::Engine;
use crate::hash::rng::Stream;
use crate::interrupt;
use crate::params::{Layout, MAX_GRID, Metric};
use crate::vector::Vector;

/// The number of distances that are distinguished, their number per doubling, and the first one, as a multiple of near. At
/// the last one, residues of every layout are as good as random.
const BINS: usize = 89;
const PER_DOUBLING: f64 = 8.0;
const FIRST: f64 = 0.25;
/// Members whose distance is computed for one query; if it meets more, every n-th.
const COMPARED: usize = 1000;
/// Distances of at least this fraction of far count as far.
const NOT_NEARER: f64 = 0.98;

/// Vectors of a table, one after the other.
#[derive(Clone, Copy)]
pub struct Table<'a> {
    /// All vectors.
    pub values: &'a [f32],
    /// The dimensions.
    pub dims: usize,
}

impl<'a> Table<'a> {
    fn rows(&self) -> usize {
        self.values.len() / self.dims
    }

    fn row(&self, at: usize) -> &'a [f32] {
        &self.values[at * self.dims..][..self.dims]
    }
}

/// The members that a query met: the number of them at each distance.
type Around = [f32; BINS];

/// What the queries met.
pub struct Meeting {
    /// The fraction of members at distance near in cells that are not visited, if it was measured.
    pub missed: Option<f64>,
    /// What rows without a member within far met.
    unrelated: Vec<Around>,
    /// What vectors at far from their nearest member met.
    at_far: Vec<Around>,
    /// The number of rows of the table.
    rows: f64,
}

/// The distances that queries distinguish, as lengths.
#[derive(Clone, Copy)]
pub struct Distances {
    /// The distance within which a query should find a member.
    pub near: f64,
    /// Nearer members are not counted.
    pub far: f64,
}

/// The bin of a distance, and the place within it.
fn place(distance: f64) -> f64 {
    (PER_DOUBLING * libm::log2((distance / FIRST).max(1.0)) + 0.5).min((BINS - 1) as f64)
}

fn bin(distance: f64) -> usize {
    place(distance) as usize
}

/// The distance in the middle of a bin.
fn centre(bin: usize) -> f64 {
    FIRST * libm::exp2(bin as f64 / PER_DOUBLING)
}

impl Meeting {
    /// Counts what these rows of a table meet at a theta. A row does not meet itself.
    pub fn count(engine: &mut Engine, table: Table, queries: &[usize], theta: f64, near: f64) -> Result<Meeting> {
        let rows = Rows::new(engine, table)?;
        Meeting::of_rows(engine, &rows, queries, theta, Distances { near, far: 0.0 })
    }

    /// What vectors in random directions meet at a theta, given some of them, the first of which are queries. How many members
    /// a query meets is in proportion to the number of cells that it visits. In what proportion, as cells are not all equally
    /// likely, and how far these members are, is counted for all queries together.
    pub fn of_random(engine: &mut Engine, table: Table, queries: usize, theta: f64, near: f64) -> Result<Meeting> {
        const ENOUGH: f32 = 20.0;
        let rows = Rows::new(engine, table)?;
        let cell_bits = Layout::of(&engine.params, engine.dims).map_or(0, |layout| layout.cell_bits);
        let mut fractions = Vec::with_capacity(queries);
        let (mut met, mut any): (Around, Around) = ([0.0; BINS], [0.0; BINS]);
        for query in 0..queries {
            interrupt::check();
            let vector = table.row(query);
            let visited = engine.visited(&Vector::F32(vector), theta)?.map(<[u32]>::len);
            let mut count = 0;
            for &(cell, row) in rows.cells.iter().filter(|&&(_, row)| row as usize != query) {
                let is_met = engine.visits(cell);
                count += usize::from(is_met);
                // Of the pairs that do not meet, some are enough.
                if is_met || row as usize % queries == (query + 1) % queries {
                    let bin = bin(distance(vector, table.row(row as usize)) / near);
                    met[bin] += f32::from(u8::from(is_met));
                    any[bin] += 1.0;
                }
            }
            fractions.push(match visited {
                Some(cells) => cells as f32 / (1u64 << cell_bits) as f32,
                None => count as f32 / table.rows() as f32,
            });
        }
        let all_met: f32 = met.iter().sum();
        let expected = fractions.iter().sum::<f32>() * table.rows() as f32;
        // If hardly any cell is visited, all members are far away, and their distances do not matter.
        let (distances, proportion) = if all_met < ENOUGH { (any, 1.0) } else { (met, all_met / expected) };
        // None, if the vectors cannot be hashed.
        let share = proportion / distances.iter().sum::<f32>().max(1.0);
        let unrelated = fractions.iter().map(|fraction| distances.map(|count| count * share * fraction)).collect();
        Ok(Meeting { missed: None, unrelated, at_far: Vec::new(), rows: 1.0 })
    }

    /// The same for a sample of a table at theta 1, and also for vectors at far from the rows `planted`, in random directions.
    pub fn of_sample(
        engine: &mut Engine,
        table: Table,
        unrelated: &[usize],
        planted: &[usize],
        distances: Distances,
    ) -> Result<Meeting> {
        let rows = Rows::new(engine, table)?;
        let mut meeting = Meeting::of_rows(engine, &rows, unrelated, 1.0, distances)?;
        let mut stream = Stream::new(4, 0);
        for &from in planted {
            interrupt::check();
            let query = step(engine.params.metric, table.row(from), distances.far, &mut stream);
            let Some(met) = rows.around(engine, &query, from, 1.0, distances)? else { continue };
            // Only if its nearest member is the one that it is planted at.
            if met.nearest >= NOT_NEARER * distances.far {
                meeting.at_far.push(met.counts);
            }
        }
        Ok(meeting)
    }

    fn of_rows(
        engine: &mut Engine,
        rows: &Rows,
        queries: &[usize],
        theta: f64,
        distances: Distances,
    ) -> Result<Meeting> {
        let table = rows.table;
        let mut unrelated = Vec::with_capacity(queries.len());
        for &query in queries {
            interrupt::check();
            let met = rows.around(engine, table.row(query), query, theta, distances)?;
            unrelated.extend(met.map(|met| met.counts));
        }
        // The bound for cells of polytopes is measured, that for cells of a grid is cautious.
        let is_cautious = table.dims <= MAX_GRID as usize;
        let missed = is_cautious.then(|| missed(engine, table, distances.near)).transpose()?;
        Ok(Meeting { missed, unrelated, at_far: Vec::new(), rows: table.rows().max(1) as f64 })
    }

    /// The fraction of queries without a member within far, as a multiple of near, that one of the members met lets pass, given
    /// the probability for each, if the table stands for this number of members.
    pub fn passed_unrelated(&self, curve: &Curve, members: f64, far: f64) -> f64 {
        self.passed(&self.unrelated, members, |bin| curve.at(centre(bin).max(far)))
    }

    /// The same for queries at far, without the member that is their nearest one.
    pub fn passed_at_far(&self, curve: &Curve, members: f64, far: f64) -> f64 {
        let queries = if self.at_far.is_empty() { &self.unrelated } else { &self.at_far };
        self.passed(queries, members, |bin| curve.at(centre(bin).max(far)))
    }

    /// The same for any distance of the nearest member, if all members were counted: queries count as far as it is likely that
    /// none is nearer.
    pub fn passed_beyond(&self, curve: &Curve, members: f64, nearest: f64) -> f64 {
        let (first, share) = (bin(nearest), place(nearest).fract());
        // The distances of a bin are evenly divided.
        let is_beyond: [f64; BINS] = std::array::from_fn(|bin| match bin {
            _ if bin < first => 0.0,
            _ if bin == first => 1.0 - share,
            _ => 1.0,
        });
        let chances = std::array::from_fn(|bin| is_beyond[bin] * curve.at(centre(bin).max(nearest)));
        let (mut passed, mut all) = (0.0, 0.0);
        for around in &self.unrelated {
            let nearer = around.iter().zip(&is_beyond).map(|(&count, beyond)| f64::from(count) * (1.0 - beyond));
            let weight = libm::exp(-nearer.sum::<f64>() * members / self.rows);
            passed += weight * self.passed_one(around, members, &chances);
            all += weight;
        }
        if all > 0.0 { passed / all } else { 0.0 }
    }

    fn passed(&self, queries: &[Around], members: f64, chance: impl FnMut(usize) -> f64) -> f64 {
        let chances = std::array::from_fn(chance);
        let passed = queries.iter().map(|around| self.passed_one(around, members, &chances));
        passed.sum::<f64>() / queries.len().max(1) as f64
    }

    /// The probability that one of the members that a query met lets it pass.
    fn passed_one(&self, around: &Around, members: f64, chances: &[f64; BINS]) -> f64 {
        let expected: f64 = around.iter().zip(chances).map(|(&count, chance)| f64::from(count) * chance).sum();
        -libm::expm1(-expected * members / self.rows)
    }
}

/// The rows of a table that can be members, in the order of their cells.
struct Rows<'a> {
    table: Table<'a>,
    cells: Vec<(u32, u32)>,
}

/// What one query met.
struct Met {
    counts: Around,
    /// The distance of the nearest one.
    nearest: f64,
}

impl<'a> Rows<'a> {
    fn new(engine: &mut Engine, table: Table<'a>) -> Result<Rows<'a>> {
        let mut cells = Vec::with_capacity(table.rows());
        for at in 0..table.rows() {
            if at % 64 == 0 {
                interrupt::check();
            }
            match engine.cell(&Vector::F32(table.row(at))) {
                Ok(cell) => cells.push((cell, at as u32)),
                Err(error) if error.code == Code::Parameter => return Err(error),
                // Vectors that cannot be hashed, such as zero vectors, cannot be members.
                Err(_) => {}
            }
        }
        cells.sort_unstable();
        Ok(Rows { table, cells })
    }

    /// The rows that a query meets, other than `own`; `None` if it cannot be hashed.
    fn around(
        &self,
        engine: &mut Engine,
        query: &[f32],
        own: usize,
        theta: f64,
        Distances { near, far }: Distances,
    ) -> Result<Option<Met>> {
        let Ok(visited) = engine.visited(&Vector::F32(query), theta) else { return Ok(None) };
        let in_cell = |cell: u32| {
            let first = self.cells.partition_point(|&(other, _)| other < cell);
            self.cells[first..].iter().take_while(move |&&(other, _)| other == cell)
        };
        let met: Vec<usize> = match visited {
            Some(visited) => visited.iter().flat_map(|&cell| in_cell(cell)).map(|&(_, row)| row as usize).collect(),
            // A query that would visit very many cells reads all members, and compares their cells.
            None => {
                let is_met = |&&(cell, _): &&(u32, u32)| engine.visits(cell);
                self.cells.iter().filter(is_met).map(|&(_, row)| row as usize).collect()
            }
        };
        let step = met.len().div_ceil(COMPARED).max(1);
        let mut result = Met { counts: [0.0; BINS], nearest: f64::INFINITY };
        for &other in met.iter().step_by(step).filter(|&&other| other != own) {
            let distance = distance(query, self.table.row(other));
            result.nearest = result.nearest.min(distance);
            if distance > NOT_NEARER * far {
                result.counts[bin(distance / near)] += step as f32;
            }
        }
        Ok(Some(result))
    }
}

/// A vector at a distance from a row, in a random direction. For the cosine distance, both have length 1.
fn step(metric: Metric, row: &[f32], distance: f64, stream: &mut Stream) -> Vec<f32> {
    let mut aside: Vec<f64> = row.iter().map(|_| stream.gaussian()).collect();
    let mut keep = 1.0;
    let mut move_by = distance;
    if metric == Metric::Cosine {
        let along: f64 = aside.iter().zip(row).map(|(a, &x)| a * f64::from(x)).sum();
        aside.iter_mut().zip(row).for_each(|(a, &x)| *a -= along * f64::from(x));
        keep = 1.0 - distance * distance / 2.0;
        move_by = libm::sqrt((1.0 - keep * keep).max(0.0));
    }
    let length = libm::sqrt(aside.iter().map(|a| a * a).sum()).max(f64::MIN_POSITIVE);
    let moved = |(&x, a): (&f32, &f64)| (keep * f64::from(x) + move_by * a / length) as f32;
    row.iter().zip(&aside).map(moved).collect()
}

/// The fraction of rows whose cell is not visited by queries at distance near in a random direction.
fn missed(engine: &mut Engine, table: Table, near: f64) -> Result<f64> {
    const PAIRS: usize = 1 << 13;
    let mut stream = Stream::new(3, 0);
    let mut missed = 0.0;
    for pair in 0..PAIRS {
        if pair % 64 == 0 {
            interrupt::check();
        }
        let row = table.row(pair % table.rows());
        let query = step(engine.params.metric, row, near, &mut stream);
        let Ok(own) = engine.cell(&Vector::F32(row)) else { continue };
        engine.visited(&Vector::F32(&query), 1.0)?;
        missed += f64::from(u8::from(!engine.visits(own)));
    }
    // Not zero, so that the fraction at other distances follows from it.
    Ok((missed + 0.5) / PAIRS as f64)
}

fn distance(a: &[f32], b: &[f32]) -> f64 {
    const LANES: usize = 16;
    let mut sums = [0.0f32; LANES];
    let ((a, rest), (b, other_rest)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
    for (a, b) in a.iter().zip(b) {
        for (sum, (a, b)) in sums.iter_mut().zip(a.iter().zip(b)) {
            *sum += (a - b) * (a - b);
        }
    }
    let rest: f32 = rest.iter().zip(other_rest).map(|(a, b)| (a - b) * (a - b)).sum();
    f64::from(sums.iter().sum::<f32>() + rest).sqrt()
}
