//! Multi-probe LSH (Lv and others 2007): enumerates the keys of a table that a near vector is likely to have, most
//! likely first.
//!
//! Every hash of a query has alternatives to its own bucket, each with a cost: the less likely, the higher. A key has,
//! for every hash, the own bucket or one alternative. The cheapest alternatives of all hashes of a table are sorted by
//! cost. The order in which sets of them are tried is then the same for all queries: by total cost, where the j-th
//! cheapest alternative costs j (j + 48). This formula was found by experiment to need the fewest keys. Sets with two
//! alternatives of the same hash are skipped. Every set is an earlier one with one more alternative, so that a key
//! takes a single XOR.
//!
//! The active overflow of the LSBF paper corresponds to the sets with one alternative.

use std::cell::Cell;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::OnceLock;

/// An alternative to the own bucket of a hash: its cost, its hash, and its mark, which identifies it to its source. All
/// three are in one word, so that the order of words is that of costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Alternative(u64);

impl Alternative {
    /// The cost must not be negative, and the hash must be below 64.
    #[inline]
    pub fn new(cost: f32, hash: usize, mark: i16) -> Alternative {
        // Marks are made nonnegative, so that they sort correctly.
        Alternative(u64::from(cost.to_bits()) << 32 | (hash as u64) << 16 | u64::from(mark as u16 ^ 0x8000))
    }

    #[inline]
    pub fn hash(self) -> usize {
        (self.0 >> 16 & 0xffff) as usize
    }

    #[inline]
    pub fn mark(self) -> i16 {
        (self.0 as u16 ^ 0x8000) as i16
    }
}

/// A source of alternatives.
pub trait Source {
    /// Lists the cheapest alternatives of a hash that cost less than `bound`, in any order.
    fn alternatives(&self, hash: usize, bound: f32, out: &mut Vec<Alternative>);

    /// The word to XOR into a key to take an alternative.
    fn word(&self, alternative: Alternative) -> u64;

    /// Whether some alternatives are more likely than others.
    fn is_ranked(&self) -> bool;
}

/// Which alternatives a family should list.
pub struct Wanted {
    /// The number of the hash within its table.
    pub hash: usize,
    /// The number of the hash among those of all tables.
    pub at: usize,
    /// The maximum number of alternatives to list, nearest first.
    pub ranks: usize,
    /// Only alternatives with costs below this are listed.
    pub bound: f32,
}

impl Wanted {
    /// Lists the other value of a binary hash.
    #[inline]
    pub fn flipped(&self, cost: f32, out: &mut Vec<Alternative>) {
        if self.ranks > 0 && cost < self.bound {
            out.push(Alternative::new(cost, self.hash, 0));
        }
    }
}

/// The maximum number of alternatives per hash. More would rarely find more members, and cause more conflicting sets.
pub const RANKS: usize = 6;
/// The maximum number of alternatives per table.
const SINGLES: usize = 64;
/// The maximum number of sets of alternatives that are tried.
const SETS: usize = 1 << 15;
/// The number of sets that a 16-bit index can address.
const NAMED: usize = 1 << 16;
/// The maximum number of sets, and thus of keys, that are enumerated at once.
pub const AT_ONCE: usize = 64;

/// A set of alternatives: another set, and one more alternative, which costs more than all of the other set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Set {
    rest: u16,
    single: u8,
}

/// The sets in the order in which they are tried; the first one is empty.
pub struct Order {
    sets: Vec<Set>,
    /// The most expensive alternative that occurs up to each set.
    dearest: Vec<u8>,
}

impl Order {
    /// The order for a source. If alternatives are ranked, the j-th one, counted from 0, costs (j + 1)(j + 49);
    /// otherwise every hash has one alternative, and all cost the same.
    fn of(source: &impl Source, hashes: usize) -> &'static Order {
        static RANKED: OnceLock<Order> = OnceLock::new();
        static UNRANKED: [OnceLock<Order>; SINGLES + 1] = [const { OnceLock::new() }; SINGLES + 1];
        match source.is_ranked() {
            true => RANKED.get_or_init(|| Order::new(SINGLES, |j| (j + 1) * (j + 49))),
            false => UNRANKED[hashes.min(SINGLES)].get_or_init(|| Order::new(hashes.min(SINGLES), |_| 1)),
        }
    }

    fn new(singles: usize, cost: impl Fn(u32) -> u32) -> Order {
        // Candidates, ordered by cost, then by size, then by content.
        let mut waiting = BinaryHeap::from([Reverse((cost(0), 1u32, 0u16, 0u32))]);
        let (mut sets, mut costs) = (vec![Set { rest: 0, single: 0 }], vec![0]);
        while let Some(Reverse((total, size, rest, single))) = waiting.pop()
            && sets.len() < SETS
        {
            let this = sets.len() as u16;
            sets.push(Set { rest, single: single as u8 });
            costs.push(total);
            if single as usize + 1 < singles {
                waiting.push(Reverse((costs[usize::from(rest)] + cost(single + 1), size, rest, single + 1)));
                waiting.push(Reverse((total + cost(single + 1), size + 1, this, single + 1)));
            }
        }
        let mut max = 0;
        let dearest = sets.iter().map(|set| {
            max = set.single.max(max);
            max
        });
        Order { dearest: dearest.collect(), sets }
    }
}

/// Enumerates the keys of a table. Its memory is reused for all tables and queries of an engine.
pub struct Walk {
    alternatives: Vec<Alternative>,
    /// For each of the cheapest alternatives, its XOR word and the bit of its hash; all bits if there is no such
    /// alternative.
    singles: [(u64, u64); SINGLES],
    count: usize,
    /// The same for every set so far; a skipped set has all bits. There is space for all sets that a 16-bit index can
    /// address, so that no bounds check is needed.
    sets: Vec<(u64, u64)>,
    /// The XOR words of the sets that were enumerated last.
    words: [u64; AT_ONCE],
    tried: usize,
    /// The number of alternatives that were requested.
    wanted: usize,
    /// The first bound for the costs of alternatives, as 16 times its binary logarithm: the one that the previous table
    /// needed.
    guess: i32,
}

thread_local! {
    /// The memory for sets, one megabyte, which all engines share.
    static SPARE: Cell<Vec<(u64, u64)>> = const { Cell::new(Vec::new()) };
}

/// The hashes of a missing alternative: all. `ALWAYS` is set in every set, so that missing alternatives always
/// conflict. The 64th hash of a table, which has this bit, therefore has no alternatives.
const MISSING: u64 = u64::MAX;
const ALWAYS: u64 = 1 << 63;

impl Default for Walk {
    fn default() -> Self {
        Walk {
            alternatives: Vec::new(),
            singles: [(0, MISSING); SINGLES],
            count: 0,
            sets: Vec::new(),
            words: [0; AT_ONCE],
            tried: 1,
            wanted: 0,
            guess: 0,
        }
    }
}

const LOWEST_GUESS: i32 = -400;
const HIGHEST_GUESS: i32 = 200;

impl Walk {
    /// Starts the enumeration of about `probes` keys of a table of `hashes` hashes.
    pub fn start(&mut self, hashes: usize, probes: usize, source: &impl Source) {
        let order = Order::of(source, hashes);
        // Some sets will be skipped.
        let reached = (5 * probes + 32).min(order.sets.len() - 1);
        self.list(hashes, (usize::from(order.dearest[reached]) + 1).min(5 * hashes), true, source);
        if self.sets.is_empty() {
            self.sets = SPARE.take();
            self.sets.resize(NAMED, (0, 0));
            self.sets[0] = (0, ALWAYS);
        }
        self.tried = 1;
    }

    /// Releases the memory for sets to the next query, of this engine or another.
    pub fn finish(&mut self) {
        if !self.sets.is_empty() {
            SPARE.set(std::mem::take(&mut self.sets));
        }
    }

    /// Bytes of memory held.
    pub fn bytes(&self) -> usize {
        self.sets.capacity() * size_of::<(u64, u64)>() + self.alternatives.capacity() * size_of::<Alternative>()
    }

    /// Lists the `wanted` cheapest alternatives. If `bounded`, only those below a bound are listed, which is raised
    /// until they are enough.
    fn list(&mut self, hashes: usize, wanted: usize, bounded: bool, source: &impl Source) {
        let mut guess = if bounded { self.guess } else { HIGHEST_GUESS };
        loop {
            let bound = if guess < HIGHEST_GUESS { libm::exp2f(guess as f32 / 16.0) } else { f32::INFINITY };
            self.alternatives.clear();
            (0..hashes).for_each(|hash| source.alternatives(hash, bound, &mut self.alternatives));
            if self.alternatives.len() >= wanted || guess == HIGHEST_GUESS {
                break;
            }
            guess = (guess + 4).min(HIGHEST_GUESS);
        }
        if bounded {
            let many = self.alternatives.len() > wanted + wanted / 2;
            self.guess = if many && guess > LOWEST_GUESS { guess - 1 } else { guess };
        }
        self.alternatives.sort_unstable();
        self.wanted = wanted;
        self.count = self.alternatives.len().min(wanted);
        self.singles.fill((0, MISSING));
        for (single, &alternative) in self.singles.iter_mut().zip(&self.alternatives[..self.count]) {
            *single = (source.word(alternative), 1 << alternative.hash());
        }
    }

    /// The XOR words of at most `max` further keys; none if there are no more.
    #[inline]
    pub fn next(&mut self, hashes: usize, max: usize, source: &impl Source) -> &[u64] {
        let order = Order::of(source, hashes);
        let mut count = 0;
        while count == 0 && self.tried < order.sets.len() {
            let from = self.tried;
            let to = (from + AT_ONCE).min(order.sets.len());
            if usize::from(order.dearest[to - 1]) >= self.wanted && self.wanted < SINGLES {
                self.list(hashes, SINGLES, false, source);
            }
            if usize::from(order.dearest[from]) >= self.count && self.beyond(order, from) {
                break;
            }
            let Walk { sets, singles, words, .. } = self;
            let sets = &mut sets[..NAMED];
            for (i, set) in order.sets[from..to].iter().enumerate() {
                // SAFETY: every 16-bit index is within the sets; a set's alternative is below SINGLES (`Order::new`);
                // there are at most AT_ONCE sets in a block, and no more words than sets.
                let (sets, singles, words) = unsafe {
                    (sets.as_mut_ptr(), singles.get_unchecked(usize::from(set.single)), words.get_unchecked_mut(count))
                };
                // SAFETY: as above; `from + i` is below the number of sets of an order, so below NAMED.
                let (rest, own) = unsafe { (*sets.add(usize::from(set.rest)), &mut *sets.add(from + i)) };
                // A set with a missing or conflicting alternative has all hashes, and so do all sets that extend it.
                let free = rest.1 & singles.1 == 0;
                *words = rest.0 ^ singles.0;
                *own = (*words, if free { rest.1 | singles.1 } else { MISSING });
                count += usize::from(free);
            }
            self.tried = to;
            if count > max {
                // The next call starts again after the last set that is returned.
                let mut free = (from..to).filter(|&at| self.sets[at].1 != MISSING);
                self.tried = free.nth(max).unwrap_or(to);
                count = max;
            }
        }
        &self.words[..count]
    }

    /// Whether all further sets have a missing alternative.
    fn beyond(&self, order: &Order, from: usize) -> bool {
        let there = |set: &Set| usize::from(set.single) < self.count;
        !order.sets[from..].iter().any(there)
    }

    /// All alternatives of a table, cheapest first.
    pub fn singles(&mut self, hashes: usize, source: &impl Source) -> &[Alternative] {
        self.alternatives.clear();
        (0..hashes).for_each(|hash| source.alternatives(hash, f32::INFINITY, &mut self.alternatives));
        self.alternatives.sort_unstable();
        &self.alternatives
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::rng::Stream;

    /// The costs of the alternatives of some hashes. Every hash has a byte of the word, which shows its alternative.
    struct Lists(Vec<Vec<f32>>, bool);

    impl Source for Lists {
        fn alternatives(&self, hash: usize, bound: f32, out: &mut Vec<Alternative>) {
            for (mark, &cost) in (1..).zip(&self.0[hash]) {
                if cost < bound {
                    out.push(Alternative::new(cost, hash, mark));
                }
            }
        }

        fn word(&self, alternative: Alternative) -> u64 {
            (alternative.mark() as u64) << (8 * alternative.hash())
        }

        fn is_ranked(&self) -> bool {
            self.1
        }
    }

    fn random(hashes: usize, ranks: usize, s: &mut Stream) -> Lists {
        let list = |s: &mut Stream| (0..ranks).map(|_| s.uniform() as f32).collect();
        Lists((0..hashes).map(|_| list(s)).collect(), true)
    }

    fn walk(walk: &mut Walk, lists: &Lists, probes: usize, at_once: usize) -> Vec<u64> {
        let hashes = lists.0.len();
        walk.start(hashes, probes, lists);
        let mut words = Vec::new();
        while words.len() < probes {
            let next = walk.next(hashes, at_once.min(probes - words.len()), lists);
            if next.is_empty() {
                break;
            }
            words.extend_from_slice(next);
        }
        words
    }

    #[test]
    fn every_key_is_enumerated_once() {
        let mut s = Stream::new(3, 0);
        for (hashes, ranks) in [(1, 1), (1, 5), (2, 3), (3, 4), (8, 1)] {
            let words = walk(&mut Walk::default(), &random(hashes, ranks, &mut s), 5000, 10);
            let mut different = words.clone();
            different.sort_unstable();
            different.dedup();
            assert_eq!(different.len(), words.len());
            assert_eq!(different.len() + 1, (ranks + 1).pow(hashes as u32), "{hashes} x {ranks}");
        }
    }

    #[test]
    fn likely_keys_come_first() {
        // Hash 0 has a likely alternative, hash 1 an unlikely one, hash 2 one in between.
        let lists = Lists(vec![vec![0.01, 0.9], vec![0.8], vec![0.1]], true);
        let words = walk(&mut Walk::default(), &lists, 3, 3);
        assert_eq!(words, [1, 1 << 16, 1 << 16 | 1]);
    }

    #[test]
    fn unranked_alternatives_are_combined_in_order_of_number() {
        let lists = Lists(vec![vec![1.0]; 6], false);
        let words = walk(&mut Walk::default(), &lists, 63, 7);
        let changes: Vec<u32> = words.iter().map(|word| word.count_ones()).collect();
        assert_eq!(changes.len(), 63);
        assert!(changes.is_sorted(), "{changes:?}");
    }

    #[test]
    fn the_order_of_keys_depends_neither_on_their_number_nor_on_previous_tables() {
        let mut s = Stream::new(5, 0);
        let (one, other) = (random(7, 5, &mut s), random(3, 2, &mut s));
        let all = walk(&mut Walk::default(), &one, 2000, 16);
        assert_eq!(all.len(), 2000);
        let mut used = Walk::default();
        for (probes, at_once) in [(1, 1), (10, 10), (300, 7), (1000, 64), (1000, 1000), (1000, 1), (50, 50)] {
            walk(&mut used, &other, probes, at_once);
            assert_eq!(walk(&mut used, &one, probes, at_once), all[..probes], "{probes} {at_once}");
        }
    }

    #[test]
    fn hashes_without_alternatives_are_skipped() {
        let found = |lists: Vec<Vec<f32>>| walk(&mut Walk::default(), &Lists(lists, true), 9, 9);
        assert_eq!(found(vec![vec![], vec![0.5], vec![]]), [1 << 8]);
        assert!(found(vec![vec![]]).is_empty());
    }

    #[test]
    fn singles_come_cheapest_first() {
        let mut s = Stream::new(4, 0);
        let lists = random(6, 4, &mut s);
        let mut walk = Walk::default();
        let singles = walk.singles(6, &lists);
        assert_eq!(singles.len(), 24);
        let cost = |single: &Alternative| lists.0[single.hash()][single.mark() as usize - 1];
        assert!(singles.is_sorted_by(|a, b| cost(a) <= cost(b)));
    }
}
