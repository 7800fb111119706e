//! Rates of the LSBF with `match => 'any'`.
//!
//! A table matches with probability q = 1 - (1 - g)(1 - c)(1 - e)^T, where g is the probability that a member at a
//! given distance has one of the first T keys of a query, c that another member has one, and e the false positive rate
//! of a cache line. Tables match independently, so that B ~ Bin(L, q) of them do, and a query is accepted if B >= v.
//!
//! g has no closed form if keys are tried in the order of their likelihood. It is estimated by simulation with fixed
//! random numbers: a pool of simulated hashes contains, for each, the costs of its alternatives, and which of them a
//! member at each of some distances has. Tables are assembled from the pool, and their keys are enumerated as in
//! `crate::hash::probe`.

use crate::binomial;
use crate::hash::probe::{Alternative, RANKS, Source, Walk};
use crate::hash::projection::neighbour;
use crate::hash::rng::Stream;
use crate::limits::MAX_PROBES;
use crate::params::{Family, Params};
use std::cell::RefCell;
use std::rc::Rc;

/// The number of distances at which g is estimated, four per doubling. They are normalized: see [`seen`].
const DISTANCES: usize = 33;

/// The largest of these distances, in widths of a bucket.
const LAST_DISTANCE: f64 = 2.0;

/// The number of probe counts for which g is estimated: 1, 2, 3, 4, 6, 8, 12, and so on.
const COUNTS: usize = 24;

/// The number of hashes in a pool, which can be drawn in a few hundredths of a second.
const POOL_SIZE: usize = 1 << 16;

/// The number of simulated tables for an accurate estimate.
pub const TABLES: u32 = 8000;

/// The number of simulated tables for a rough estimate.
pub const FIRST_LOOK: u32 = 2000;

/// The maximum number of keys that are enumerated for an estimate, in all tables.
const MAX_WALKED: u32 = 1_600_000;

/// The minimum number of simulated tables.
const MIN_TABLES: u32 = 400;

/// The number of tables whose keys are enumerated completely, to find how many there are.
const WALKED_OUT: u32 = 32;

/// The `i`-th distance.
fn distance(i: usize) -> f64 {
    LAST_DISTANCE * libm::exp2((i as f64 - (DISTANCES - 1) as f64) / 4.0)
}

/// The `i`-th probe count.
pub fn count(i: usize) -> u32 {
    match i {
        0 => 1,
        _ if i % 2 == 1 => 1 << i.div_ceil(2),
        _ => 3 << (i / 2 - 1),
    }
}

/// A distance normalized for the family: a multiple of the width, or a fraction of bits.
pub fn seen(params: &Params, distance: f64) -> f64 {
    match params.family {
        Family::Symbols => distance / 2.0,
        Family::Cauchy => distance / params.width,
        _ => distance,
    }
}

/// A simulated hash of a query: the costs of its alternatives, and which of them a member at each distance has (0 for
/// the query's own bucket).
struct Single {
    costs: Vec<f32>,
    members: [usize; DISTANCES],
}

/// None of the considered alternatives.
const NONE: usize = usize::MAX;

impl Single {
    /// A Cauchy projection.
    fn draw(s: &mut Stream) -> Single {
        let (inside, z) = (s.uniform(), s.cauchy());
        let shifts: Vec<(i64, f64)> = (1..=RANKS).map(|rank| neighbour(inside, rank)).collect();
        let member = |i: usize| {
            let shift = crate::hash::floor(inside + distance(i) * z);
            let found = shifts.iter().position(|alternative| alternative.0 == shift);
            if shift == 0 { 0 } else { found.map_or(NONE, |at| at + 1) }
        };
        let members = std::array::from_fn(member);
        Single { costs: shifts.iter().map(|alternative| alternative.1 as f32).collect(), members }
    }
}

/// g at every distance and probe count up to `max_probes`.
pub struct Curve {
    hashes: u32,
    tables: u32,
    max_probes: u32,
    /// The average number of keys that can be enumerated, which may be less than `max_probes`.
    keys: f64,
    hits: [[f64; COUNTS]; DISTANCES],
    /// The log odds of `hits`, for interpolation.
    odds: [[f64; COUNTS]; DISTANCES],
}

const REMEMBERED_CURVES: usize = 256;

thread_local! {
    static POOL: RefCell<Vec<Rc<Vec<Single>>>> = const { RefCell::new(Vec::new()) };
    static CURVES: RefCell<Vec<Rc<Curve>>> = const { RefCell::new(Vec::new()) };
}

/// Looks up a cached value, or makes it and puts it in front of the others.
fn remember<T: Clone>(kept: &RefCell<Vec<T>>, max: usize, is_it: impl Fn(&T) -> bool, make: impl FnOnce() -> T) -> T {
    if let Some(found) = kept.borrow().iter().find(|kept| is_it(kept)) {
        return found.clone();
    }
    let made = make();
    let mut kept = kept.borrow_mut();
    kept.truncate(max - 1);
    kept.insert(0, made.clone());
    made
}

/// The simulated hashes.
fn pool() -> Rc<Vec<Single>> {
    let draw = || {
        let mut s = Stream::new(2007, 0);
        Rc::new((0..POOL_SIZE).map(|_| Single::draw(&mut s)).collect())
    };
    POOL.with(|pool| remember(pool, 1, |_| true, draw))
}

/// A simulated table. Keys are words with one bit for each of its cheapest alternatives.
struct Drawn<'a> {
    table: Vec<&'a Single>,
    /// The hash and the number of the cheapest alternatives.
    cheapest: RefCell<Vec<(usize, usize)>>,
}

impl Source for Drawn<'_> {
    fn alternatives(&self, hash: usize, bound: f32, out: &mut Vec<Alternative>) {
        let costs = self.table[hash].costs.iter().copied().take_while(|&cost| cost < bound);
        out.extend(costs.zip(1..).map(|(cost, mark)| Alternative::new(cost, hash, mark)));
    }

    /// Called in the order of costs.
    fn word(&self, alternative: Alternative) -> u64 {
        let mut cheapest = self.cheapest.borrow_mut();
        let name = (alternative.hash(), alternative.mark() as usize);
        let at = cheapest.iter().position(|&known| known == name).unwrap_or_else(|| {
            cheapest.push(name);
            cheapest.len() - 1
        });
        1 << at
    }

    fn is_ranked(&self) -> bool {
        true
    }
}

impl Drawn<'_> {
    /// The key of a member; `None` if it takes an alternative that is not among the cheapest.
    fn member(&self, distance: usize) -> Option<u64> {
        let cheapest = self.cheapest.borrow();
        let taken = (0..).zip(&self.table).map(|(hash, single)| (hash, single.members[distance]));
        let mut taken = taken.filter(|&(_, rank)| rank != 0);
        taken.try_fold(0, |word, (hash, rank)| {
            let at = cheapest.iter().position(|&known| known == (hash, rank))?;
            Some(word | 1 << at)
        })
    }
}

impl Curve {
    /// The curve of a filter for up to `max_probes` probes, estimated from `tables` simulated tables.
    pub fn of(hashes: u32, max_probes: u32, tables: u32) -> Rc<Curve> {
        // With many probes, fewer tables are simulated, to limit the time.
        let tables = tables.min((MAX_WALKED / max_probes.max(1)).max(MIN_TABLES));
        let is_it = |kept: &Rc<Curve>| kept.hashes == hashes && kept.max_probes >= max_probes && kept.tables == tables;
        let make = || Rc::new(Curve::measure(hashes, max_probes, tables));
        CURVES.with(|curves| remember(curves, REMEMBERED_CURVES, is_it, make))
    }

    fn measure(hashes: u32, max_probes: u32, tables: u32) -> Curve {
        let pool = pool();
        let mut s = Stream::new(2007, 1);
        let mut walk = Walk::default();
        let mut found = [[0u32; COUNTS]; DISTANCES];
        let mut given = 0;
        let last = (0..COUNTS).find(|&i| count(i) >= max_probes).unwrap_or(COUNTS - 1);
        let probes = count(last) as usize - 1;
        for number in 0..tables {
            let table: Vec<&Single> = (0..hashes).map(|_| &pool[s.below(pool.len() as u64) as usize]).collect();
            let drawn = Drawn { table, cheapest: RefCell::default() };
            walk.start(drawn.table.len(), probes, &drawn);
            let wanted: [Option<u64>; DISTANCES] = std::array::from_fn(|distance| drawn.member(distance));
            // The number of the probe that finds each key. Members at similar distances often have the same key.
            let mut keys: Vec<(u64, usize)> = Vec::new();
            for word in wanted.into_iter().flatten().filter(|&word| word != 0) {
                if !keys.iter().any(|key| key.0 == word) {
                    keys.push((word, NONE));
                }
            }
            let (mut tried, mut missing) = (0, keys.len());
            // Only in some tables all keys are enumerated.
            let to_the_end = number < WALKED_OUT;
            while tried < probes && (missing > 0 || to_the_end) {
                let words = walk.next(drawn.table.len(), probes - tried, &drawn);
                if words.is_empty() {
                    break;
                }
                for word in words {
                    tried += 1;
                    if let Some(key) = keys.iter_mut().find(|key| key.0 == *word) {
                        key.1 = tried;
                        missing -= 1;
                    }
                }
            }
            given += if to_the_end { tried + 1 } else { 0 };
            let found_by = |word: u64| match word {
                0 => 0,
                _ => keys.iter().find(|key| key.0 == word).map_or(NONE, |key| key.1),
            };
            for (found, word) in found.iter_mut().zip(wanted) {
                let found_by = word.map_or(NONE, found_by);
                (0..=last).filter(|&at| found_by < count(at) as usize).for_each(|at| found[at] += 1);
            }
        }
        let mut hits = found.map(|found| found.map(|found| f64::from(found) / f64::from(tables)));
        // Remove noise: g decreases with the distance.
        for i in 1..DISTANCES {
            let nearer = hits[i - 1];
            hits[i].iter_mut().zip(nearer).for_each(|(hit, nearer)| *hit = hit.min(nearer));
        }
        let min = 0.5 / f64::from(tables);
        let odds = hits.map(|hits| hits.map(|hit| libm::log((hit + min) / (1.0 - hit + min))));
        Curve { hashes, tables, max_probes, keys: given as f64 / f64::from(WALKED_OUT.min(tables)), hits, odds }
    }

    /// The average number of keys that can be enumerated.
    pub fn keys(&self) -> f64 {
        self.keys
    }

    /// g at a normalized distance.
    pub fn hit(&self, seen: f64, probes: u32) -> f64 {
        let (low, high, share) = between(probes);
        self.at(seen, low) * (1.0 - share) + self.at(seen, high) * share
    }

    fn at(&self, seen: f64, count: usize) -> f64 {
        if seen <= distance(0) {
            // Linear, with g = 1 at distance 0.
            let first = self.hits[0][count];
            return 1.0 - (1.0 - first) * seen / distance(0);
        }
        let place = (libm::log2(seen / LAST_DISTANCE) * 4.0 + (DISTANCES - 1) as f64).min((DISTANCES - 1) as f64);
        let low = (place as usize).min(DISTANCES - 2);
        // Too few simulated tables were hit: extrapolate from the last reliable distance.
        let certain = 10.0 / f64::from(self.tables);
        if self.hits[low + 1][count] < certain {
            let last = (0..=low).rev().find(|&i| self.hits[i][count] >= certain);
            return last.map_or(0.0, |last| self.tail(last, seen, count));
        }
        // Between two distances, the log odds are almost linear.
        let share = place - low as f64;
        let odds = self.odds[low][count] * (1.0 - share) + self.odds[low + 1][count] * share;
        1.0 / (1.0 + libm::exp(-odds))
    }

    fn tail(&self, last: usize, seen: f64, at: usize) -> f64 {
        let known = libm::log(self.hits[last][at]);
        libm::exp(known - f64::from(self.hashes) * libm::log(seen / distance(last)))
    }
}

/// The two probe counts around a number of probes, and the weight of the second one.
fn between(probes: u32) -> (usize, usize, f64) {
    let high = (0..COUNTS).find(|&i| count(i) >= probes).unwrap_or(COUNTS - 1);
    let low = high.saturating_sub(1);
    if low == high || count(high) <= probes {
        return (high, high, 0.0);
    }
    let log = |n: u32| libm::log(f64::from(n));
    (low, high, (log(probes) - log(count(low))) / (log(count(high)) - log(count(low))))
}

/// g if all alternatives are equally likely: keys that differ in j bits are tried after all that differ in fewer.
fn flips(hashes: u32, p: f64, probes: u32) -> f64 {
    let (mut left, mut found) = (f64::from(probes), 0.0);
    for j in 0..=hashes {
        let keys = binomial::choose(hashes, j);
        found += binomial::pmf(hashes, p, j) * (left / keys).min(1.0);
        left -= keys;
        if left <= 0.0 {
            break;
        }
    }
    found
}

/// The probability that a member at this distance has one of the first `probes` keys of a query.
pub fn hit(params: &Params, distance: f64, probes: u32) -> f64 {
    hit_by(params, distance, probes, probes, TABLES)
}

fn hit_by(params: &Params, distance: f64, probes: u32, max_probes: u32, tables: u32) -> f64 {
    let seen = seen(params, distance.min(params.metric.largest()));
    match params.family {
        _ if !seen.is_finite() => 0.0,
        Family::MinHash | Family::Bits | Family::Symbols => closed(params, seen, probes),
        _ => Curve::of(params.hashes, max_probes, tables).hit(seen, probes),
    }
}

/// g in closed form, for the families that have one.
pub fn closed(params: &Params, seen: f64, probes: u32) -> f64 {
    match params.family {
        Family::MinHash => libm::pow(1.0 - seen, f64::from(params.hashes)),
        _ => flips(params.hashes, seen, probes),
    }
}

/// The number of probes at theta: the smallest one with which a member at theta x near is found as often as one at near
/// is at theta 1, up to the limit.
pub fn probes(params: &Params, theta: f64) -> u32 {
    let own = params.probes();
    if theta == 1.0 || params.family == Family::MinHash {
        return own;
    }
    let hit = |distance: f64, probes: u32| hit_by(params, distance, probes, MAX_PROBES, FIRST_LOOK);
    let target = hit(params.near, own);
    let (mut low, mut high) = if theta > 1.0 { (own, MAX_PROBES) } else { (1, own) };
    while low < high {
        let middle = low + (high - low) / 2;
        match hit(theta * params.near, middle) >= target {
            true => high = middle,
            false => low = middle + 1,
        }
    }
    high
}
