//! The cells of a quotient filter: which one a vector is in, and which ones a query visits.

use super::corners::Corners;
use super::grid::Grid;
use super::isa::{ITEMS, Isa, Items};

/// The largest number of cells that a query visits one by one. If there are more, it reads all members.
pub const MAX_VISITS: usize = 2048;
/// The largest number of cells that are added at once.
const STEP: usize = 128;
/// Space for all cells, those added at once, and undefined ones after them.
const CAPACITY: usize = MAX_VISITS + STEP + ITEMS;

/// How cells are found.
pub enum Cells {
    /// Corners of cross-polytopes.
    Corners(Box<Corners>),
    /// Cells of a grid.
    Grid(Box<Grid>),
}

impl Cells {
    /// The cell of a rotated vector.
    #[inline]
    pub fn own(&self, y: &[f32]) -> u32 {
        match self {
            Cells::Corners(corners) => corners.own(y),
            Cells::Grid(grid) => grid.own(y),
        }
    }

    /// Prepares a query at a radius, as a multiple of near.
    #[inline(always)]
    pub fn prepare(&mut self, y: &[f32], radius: f32) {
        match self {
            Cells::Corners(corners) => corners.prepare(y, radius),
            Cells::Grid(grid) => grid.prepare(y, radius),
        }
    }

    /// Finds the cells that the query visits, as their first `bits` bits.
    #[inline(always)]
    pub fn visit<I: Isa>(&self, bits: u32, visits: &mut Visits) {
        match self {
            Cells::Corners(corners) => corners.visit::<I>(bits, visits),
            Cells::Grid(grid) => grid.visit(bits, visits),
        }
    }

    /// The cell of a vector equal to the query; `None` if it is not known.
    #[inline(always)]
    pub fn own_visited(&self) -> Option<u32> {
        match self {
            Cells::Corners(corners) => Some(corners.own_visited()),
            Cells::Grid(_) => None,
        }
    }

    /// Whether the query visits a cell.
    pub fn contains(&self, cell: u32) -> bool {
        match self {
            Cells::Corners(corners) => corners.contains(cell),
            Cells::Grid(grid) => grid.contains(cell),
        }
    }

    /// Bytes of memory held.
    pub fn bytes(&self) -> usize {
        match self {
            Cells::Corners(_) => size_of::<Corners>(),
            Cells::Grid(_) => size_of::<Grid>(),
        }
    }
}

/// Names that may be appended to cells, and what they cost.
struct Names {
    costs: [f32; STEP + ITEMS],
    names: [u32; STEP + ITEMS],
}

/// All names in order.
static ALL: [[u32; ITEMS]; STEP / ITEMS] = all();

const fn all() -> [[u32; ITEMS]; STEP / ITEMS] {
    let mut all = [[0; ITEMS]; STEP / ITEMS];
    let mut name = 0;
    while name < STEP {
        all[name / ITEMS][name % ITEMS] = name as u32;
        name += 1;
    }
    all
}

/// Space for items in a list.
#[inline(always)]
fn space<T>(list: &mut [T], at: usize) -> &mut [T; ITEMS] {
    list[at..at + ITEMS].as_mut_array().expect("space for items")
}

impl Names {
    /// Lists the names, from 0 on, that cost at most the budget; returns their number in groups. Absent names cost more than
    /// any budget.
    #[inline(always)]
    fn list<I: Isa>(&mut self, costs: &[[f32; ITEMS]], budget: f32) -> usize {
        let mut total = 0;
        for (costs, names) in costs.iter().zip(&ALL) {
            let items = Items { costs: *costs, names: *names };
            total += I::keep(costs, budget, &items, (space(&mut self.costs, total), space(&mut self.names, total)));
        }
        self.costs[total..][..ITEMS].fill(f32::INFINITY);
        total.div_ceil(ITEMS)
    }
}

/// The cells that a query visits, none of them twice.
pub struct Visits {
    cells: Vec<u32>,
    /// What the rest of each cell may cost.
    rests: Vec<f32>,
    /// The cells found so far, while longer ones are found.
    shorter: Vec<u32>,
    shorter_rests: Vec<f32>,
    /// What is appended to them.
    names: Box<Names>,
    /// What a whole cell may cost.
    budget: f32,
    count: usize,
    /// Whether there are too many.
    is_all: bool,
}

impl Visits {
    /// Allocates the lists.
    pub fn new() -> Visits {
        let (cells, rests) = (vec![0; CAPACITY], vec![0.0; CAPACITY]);
        let (shorter, shorter_rests) = (cells.clone(), rests.clone());
        let names = Box::new(Names { costs: [0.0; STEP + ITEMS], names: [0; STEP + ITEMS] });
        Visits { cells, rests, shorter, shorter_rests, names, budget: 0.0, count: 0, is_all: false }
    }

    /// The cells; `None` for all of them.
    #[inline(always)]
    pub fn get(&self) -> Option<&[u32]> {
        (!self.is_all).then(|| &self.cells[..self.count])
    }

    /// Makes a cell the first one; returns whether it is visited. Cells must be in ascending order.
    #[inline(always)]
    pub fn put_first(&mut self, cell: u32) -> bool {
        let cells = &mut self.cells[..self.count];
        let before: u32 = cells.iter().map(|&other| u32::from(other < cell)).sum();
        let is_visited = cells.get(before as usize) == Some(&cell);
        if is_visited {
            cells.swap(0, before as usize);
        }
        is_visited
    }

    /// Starts with one cell of no bits, whose rest may cost `budget`.
    #[inline(always)]
    pub fn start(&mut self, budget: f32) {
        (self.cells[0], self.rests[0], self.count, self.is_all) = (0, budget, 1, false);
        self.budget = budget;
    }

    /// Visits these cells.
    pub fn set(&mut self, cells: Option<&[u32]>) {
        (self.count, self.is_all) = (0, cells.is_none());
        if let Some(cells) = cells {
            self.count = cells.len().min(MAX_VISITS);
            self.cells[..self.count].copy_from_slice(&cells[..self.count]);
        }
    }

    /// Replaces every cell by longer ones: those names of `bits` bits are appended to it that cost at most what the rest may
    /// cost. There are at most [`STEP`] names.
    #[inline(always)]
    pub fn extend<I: Isa>(&mut self, bits: u32, costs: &[[f32; ITEMS]]) {
        if self.is_all {
            return;
        }
        std::mem::swap(&mut self.cells, &mut self.shorter);
        std::mem::swap(&mut self.rests, &mut self.shorter_rests);
        let groups = self.names.list::<I>(costs, self.budget);
        let (costs, names) = (&self.names.costs.as_chunks().0[..groups], &self.names.names.as_chunks().0[..groups]);
        // Slices, because vectors would be read again for every cell.
        let (cells, rests) = (&mut self.cells[..CAPACITY], &mut self.rests[..CAPACITY]);
        let (shorter, shorter_rests) = (&self.shorter[..self.count], &self.shorter_rests[..self.count]);
        let mut count = 0;
        for (&cell, &rest) in shorter.iter().zip(shorter_rests) {
            let start = cell << bits;
            for (costs, names) in costs.iter().zip(names) {
                let items = Items { costs: costs.map(|cost| rest - cost), names: names.map(|name: u32| start | name) };
                count += I::keep(costs, rest, &items, (space(rests, count), space(cells, count)));
            }
            if count > MAX_VISITS {
                self.is_all = true;
                return;
            }
        }
        self.count = count;
    }

    /// Bytes of memory held.
    pub fn bytes(&self) -> usize {
        2 * CAPACITY * (size_of::<u32>() + size_of::<f32>()) + size_of::<Names>()
    }
}
