//! Finds the members in the cells that a query visits, and scores their codes.

use super::body::Parts;
use super::likelihood::Likelihood;
use super::score::{BATCH, Costs};
use crate::filter::bits::{Body, bits_of};
use crate::hash::cells::{Cells, Visits};
use crate::hash::isa::{Isa, Portable};
use crate::hash::path::Path;
use crate::interrupt;
use crate::params::{CELL_BITS, Layout};

/// Cells whose directory and codes are prefetched.
const AHEAD: usize = 32;
/// Words of a filter that may not be in the cache of a processor core, so that prefetching is worthwhile.
const LARGE: u64 = 1 << 16;
/// Members that are added at once.
const FEW: u64 = 8;
/// The number of members of a cell up to which all are scored. If there are more, many may be equal.
const MANY: u64 = 64;

/// The costs of all residues for one query, and scratch memory.
pub struct Query {
    /// The costs of residues.
    pub costs: Costs,
    visits: Visits,
    cell_bits: u32,
    scratch: Scratch,
}

/// Members to be scored: the positions of their entries, the two words at each position, the first bits of their codes, and
/// the scores of these.
struct Scratch {
    positions: [u64; BATCH + FEW as usize],
    words: [[u64; 2]; BATCH],
    codes: [u64; BATCH],
    scores: [u16; BATCH],
}

impl Query {
    /// Allocates the tables of a layout.
    pub fn new(path: Path, layout: &Layout, likelihood: &Likelihood) -> Query {
        let scratch = Scratch {
            positions: [0; BATCH + FEW as usize],
            words: [[0; 2]; BATCH],
            codes: [0; BATCH],
            scores: [0; BATCH],
        };
        let (costs, cell_bits) = (Costs::new(path, layout, likelihood), layout.cell_bits);
        Query { costs, visits: Visits::new(), cell_bits, scratch }
    }

    /// Bytes of memory held.
    pub fn bytes(&self) -> usize {
        self.costs.bytes() + self.visits.bytes() + size_of::<Scratch>()
    }

    /// The cells that a query visits; `None` for all cells.
    pub fn visited(&mut self, cells: &Cells) -> Option<&[u32]> {
        cells.visit::<Portable>(self.cell_bits, &mut self.visits);
        self.visits.get()
    }

    /// Calls `found` with the score and the number of members of every code that matches, until it returns `None`. Otherwise
    /// it returns a limit of the scores of further codes.
    #[inline(always)]
    pub fn search<I: Isa, B: Body + ?Sized>(
        &mut self,
        cells: &Cells,
        parts: Parts,
        body: &B,
        limit: u32,
        found: impl FnMut(u32, u64) -> Option<u32>,
    ) {
        let Query { costs, visits, scratch, .. } = self;
        let mut batch = Batch {
            costs,
            cells,
            parts,
            body,
            scratch,
            are_visited: parts.rest_bits == 0,
            count: 0,
            equal_until: None,
            limit: Some(limit),
            found,
        };
        // A near member is most likely in the query's own cell: it is searched first, while other cells are found.
        let is_large = is_large(&parts);
        let own = own_prefix(cells, &parts);
        let own_members = own.map(|own| batch.find(own, is_large));
        // If there are too many cells, those with the same first bits are visited together.
        // One call, so that it is inlined.
        let mut bits = parts.prefix_bits;
        while bits > 0 {
            cells.visit::<I>(bits, visits);
            if visits.get().is_some() {
                break;
            }
            bits = CELL_BITS.into_iter().rev().find(|&fewer| fewer < bits).unwrap_or(0);
        }
        let is_first = own.is_some_and(|own| bits == parts.prefix_bits && visits.put_first(own));
        let own_members = own_members.filter(|_| is_first);
        match visits.get() {
            Some(visits) if bits > 0 && bits == parts.prefix_bits => batch.visit(visits, own_members, is_large),
            Some(visits) if bits > 0 => batch.visit_together(visits, parts.prefix_bits - bits),
            _ => {
                batch.are_visited = false;
                batch.add_all(0, parts.members);
            }
        }
        batch.score();
    }
}

/// Whether prefetching is worthwhile.
#[inline(always)]
fn is_large(parts: &Parts) -> bool {
    parts.words() > LARGE
}

/// The prefix of the query's own cell, if its members are to be scored before all others.
#[inline(always)]
fn own_prefix(cells: &Cells, parts: &Parts) -> Option<u32> {
    cells.own_visited().filter(|_| is_large(parts)).map(|cell| cell >> parts.rest_bits)
}

/// Prefetches what is read first, after the costs of cells have been computed.
#[inline(always)]
pub fn prefetch<B: Body + ?Sized>(cells: &Cells, parts: &Parts, body: &B) {
    own_prefix(cells, parts).inspect(|&own| parts.prefetch(body, own));
}

/// Members to be scored.
struct Batch<'a, B: ?Sized, F> {
    costs: &'a Costs,
    cells: &'a Cells,
    parts: Parts,
    body: &'a B,
    scratch: &'a mut Scratch,
    /// Whether it is known that their cells are visited.
    are_visited: bool,
    /// The number of members.
    count: usize,
    /// If every member stands for all that are equal to it: the end of its cell, where they end.
    equal_until: Option<u64>,
    /// The limit of scores; `None` if the query is answered.
    limit: Option<u32>,
    found: F,
}

impl<B: Body + ?Sized, F: FnMut(u32, u64) -> Option<u32>> Batch<'_, B, F> {
    /// Finds the members of a cell, and prefetches them if that is worthwhile.
    #[inline(always)]
    fn find(&self, prefix: u32, is_large: bool) -> (u64, u64) {
        let (parts, body) = (&self.parts, self.body);
        let (first, last) = parts.range(body, prefix);
        if is_large {
            body.prefetch((parts.entry(first) / 64) as usize);
            body.prefetch((parts.entry(last) / 64) as usize);
        }
        (first, last)
    }

    /// Adds the members of these cells, of which those of the first one may have been found.
    #[inline(always)]
    fn visit(&mut self, visits: &[u32], own: Option<(u64, u64)>, is_large: bool) {
        let mut rest = visits;
        if let Some((first, last)) = own {
            self.add(first, last);
            self.score();
            if self.limit.is_none() {
                return;
            }
            rest = &rest[1..];
        }
        let mut ranges = [(0, 0); AHEAD];
        for visits in rest.chunks(AHEAD) {
            if is_large {
                visits.iter().for_each(|&prefix| self.parts.prefetch(self.body, prefix));
            }
            for (range, &prefix) in ranges.iter_mut().zip(visits) {
                *range = self.find(prefix, is_large);
            }
            for &(first, last) in &ranges[..visits.len()] {
                self.add(first, last);
            }
            if self.limit.is_none() {
                return;
            }
        }
    }

    /// Adds the members of all cells with these first bits, which have `more` bits after them.
    #[inline(never)]
    fn visit_together(&mut self, visits: &[u32], more: u32) {
        self.are_visited = false;
        for &first_bits in visits {
            let cell = first_bits << more;
            let first = self.parts.range(self.body, cell).0;
            let last = self.parts.range(self.body, cell | ((1 << more) - 1)).1;
            self.add_all(first, last);
            if self.limit.is_none() {
                return;
            }
        }
    }

    /// Adds the members from `first` to before `last`.
    fn add_all(&mut self, first: u64, last: u64) {
        for first in (first..last).step_by(MANY as usize) {
            self.add(first, last.min(first + MANY));
            if self.limit.is_none() {
                return;
            }
            interrupt::check();
        }
    }

    /// Adds some members, from `first` to before `last`.
    #[inline(always)]
    fn add(&mut self, first: u64, last: u64) {
        if last - first > MANY {
            return self.add_many(first, last);
        }
        let (mut position, stride) = (self.parts.entry(first), self.parts.stride());
        let mut left = last - first;
        loop {
            // Write all eight, although there are usually fewer: branches would be mispredicted.
            for (more, to) in self.scratch.positions[self.count..][..FEW as usize].iter_mut().enumerate() {
                *to = position + more as u64 * stride;
            }
            self.count += left.min(FEW) as usize;
            if self.count > BATCH - FEW as usize {
                self.score();
            }
            if left <= FEW {
                return;
            }
            left -= FEW;
            position += FEW * stride;
        }
    }

    /// Adds the members of a cell that has many. They are in order, and often many are equal.
    #[inline(never)]
    fn add_many(&mut self, first: u64, last: u64) {
        self.score();
        self.equal_until = Some(last);
        let mut at = first;
        while at < last && self.limit.is_some() {
            self.scratch.positions[self.count] = self.parts.entry(at);
            self.count += 1;
            if self.count == BATCH {
                self.score();
                interrupt::check();
            }
            at = if at + 1 < last && self.is_same(at, at + 1) { self.after(at, last) } else { at + 1 };
        }
        self.score();
        self.equal_until = None;
    }

    /// Scores all members that were added.
    #[inline(always)]
    fn score(&mut self) {
        let count = std::mem::take(&mut self.count);
        let Some(limit) = self.limit else { return };
        if count == 0 {
            return;
        }
        let Scratch { positions, words, codes, scores } = &mut *self.scratch;
        for (words, &position) in words.iter_mut().zip(&positions[..count]) {
            *words = self.body.pair((position / 64) as usize);
        }
        // Shift all, because a fixed number is compiled to vector instructions.
        let eight = words.as_chunks::<8>().0.iter().zip(positions.as_chunks::<8>().0).zip(codes.as_chunks_mut::<8>().0);
        for ((words, positions), codes) in eight.take(count.div_ceil(8)) {
            for ((&words, &position), code) in words.iter().zip(positions).zip(codes) {
                *code = bits_of(words, position);
            }
        }
        if self.costs.first(codes, count, limit, scores) {
            self.match_all(count);
        }
    }

    /// Reports the members whose codes match, given the scores of the first bits of each.
    #[inline(never)]
    fn match_all(&mut self, count: usize) {
        for at in 0..count {
            let Some(limit) = self.limit else { return };
            let (entry, score) = (self.scratch.positions[at], u32::from(self.scratch.scores[at]));
            if score > limit {
                continue;
            }
            let member = self.parts.member(entry);
            let score = match self.parts.has_more(self.costs.first_bits()) {
                true => score + self.costs.rest(|from| self.body.bits(entry + from)),
                false => score,
            };
            if score <= limit && self.is_visited(member) {
                let count = self.equal_until.map_or(1, |end| self.after(member, end) - member);
                self.limit = (self.found)(score, count).map(|new| new.min(limit));
            }
        }
    }

    /// Whether the cell of a member is visited. A filter is divided by the first bits of cells only; this compares the others.
    fn is_visited(&self, member: u64) -> bool {
        let (parts, body) = (&self.parts, self.body);
        let cell = || parts.prefix_of(body, member) << parts.rest_bits | parts.rest(body, parts.entry(member));
        self.are_visited || self.cells.contains(cell())
    }

    /// Whether two entries of a cell are equal.
    #[inline]
    fn is_same(&self, a: u64, b: u64) -> bool {
        let (parts, a, b) = (&self.parts, self.parts.entry(a), self.parts.entry(b));
        // Most entries differ in their first bits.
        let unused = 64 - parts.stride().min(64);
        (self.body.bits(a) ^ self.body.bits(b)) << unused == 0
            && parts.code(self.body, a) == parts.code(self.body, b)
            && parts.rest(self.body, a) == parts.rest(self.body, b)
    }

    /// The first entry after `at` that differs from it. Entries are in order, so that it can be searched in large steps.
    fn after(&self, at: u64, last: u64) -> u64 {
        let (mut same, mut step) = (at, 1);
        while same + step < last && self.is_same(at, same + step) {
            same += step;
            step *= 2;
        }
        let mut end = (same + step).min(last);
        while same + 1 < end {
            let middle = same + (end - same) / 2;
            if self.is_same(at, middle) { same = middle } else { end = middle }
        }
        end
    }
}
