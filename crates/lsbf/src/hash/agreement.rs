//! In how many tables two strings agree, if keys are blocks of random partitions of the positions.
//!
//! Two strings that differ in r positions agree in the blocks that have none of these. The partition is random, so that the
//! number of such blocks has the same distribution whatever the strings are (docs/theory.md).

use crate::limits::MAX_THETA;
use crate::params::Params;

/// The number of differing positions at a distance. Smaller numbers are at smaller distances.
pub fn differing(dims: u32, distance: f64) -> u32 {
    /// Rounding errors of distances that users compute as a quotient.
    const ROUNDING: f64 = 1e-6;
    (distance * f64::from(dims) + ROUNDING).clamp(0.0, f64::from(dims)) as u32
}

/// The number of blocks of a partition without a differing position: its distribution, as the number of differing positions
/// grows from zero.
struct Untouched {
    dims: u32,
    /// The mean size of a block. Sizes differ by one if dims is not a multiple of the number of blocks.
    size: f64,
    /// The number of differing positions.
    differing: u32,
    /// The probability of every number of blocks.
    chances: Vec<f64>,
}

impl Untouched {
    fn new(dims: u32, blocks: u32) -> Untouched {
        let mut chances = vec![0.0; blocks as usize + 1];
        chances[blocks as usize] = 1.0;
        Untouched { dims, size: f64::from(dims) / f64::from(blocks), differing: 0, chances }
    }

    /// One more position differs. It is in one of k untouched blocks, none of whose positions differ, with a probability of k
    /// times their size by the number of positions that do not differ yet.
    fn touch(&mut self) {
        let rest = f64::from(self.dims - self.differing);
        self.differing += 1;
        for k in 1..self.chances.len() {
            let moved = self.chances[k] * (k as f64 * self.size / rest).min(1.0);
            self.chances[k] -= moved;
            self.chances[k - 1] += moved;
        }
    }

    /// Whether all blocks are touched.
    fn is_over(&self) -> bool {
        const REST: f64 = 1e-18;
        self.differing == self.dims || self.chances[1..].iter().sum::<f64>() < REST
    }

    fn up_to(dims: u32, blocks: u32, differing: u32) -> Untouched {
        let mut untouched = Untouched::new(dims, blocks);
        while untouched.differing < differing && !untouched.is_over() {
            untouched.touch();
        }
        untouched
    }
}

/// The probability that two strings at a distance agree in a table: that all differing positions are outside of its blocks.
pub fn chance(params: &Params, dims: u32, distance: f64) -> f64 {
    let dims = f64::from(dims);
    let (outside, differing) = (dims * (1.0 - f64::from(params.hashes) / f64::from(params.blocks())), distance * dims);
    if differing > outside {
        return 0.0;
    }
    // The quotient of two binomial coefficients.
    let log = |n: f64| libm::lgamma(n + 1.0);
    libm::exp(log(outside) - log(outside - differing) - log(dims) + log(dims - differing)).min(1.0)
}

/// The probability that two unrelated strings agree in a table: every bit of its blocks agrees with probability 1/2. Symbols of
/// unrelated strings are taken to differ.
pub fn unrelated(params: &Params, dims: u32) -> f64 {
    let positions = f64::from(dims) * f64::from(params.hashes) / f64::from(params.blocks());
    if params.family.has_symbols() { 0.0 } else { libm::exp2(-positions) }
}

/// Like [`chance`], after random positions of one of the strings were changed, `by` as a fraction of them.
///
/// With bits, the strings then agree in a table if the changed positions of its blocks are just those that differed before. A
/// changed symbol differs from all others.
pub fn chance_after(params: &Params, dims: u32, distance: f64, by: f64) -> f64 {
    /// More positions of a table differ and are changed so rarely that they do not count.
    const MOST: u32 = 24;
    if params.family.has_symbols() {
        return chance(params, dims, distance) * chance(params, dims, by);
    }
    let dims = f64::from(dims);
    let (inside, changed) = (dims * f64::from(params.hashes) / f64::from(params.blocks()), by * dims);
    let (outside, differing) = (dims - inside, distance * dims);
    let log = |n: f64| libm::lgamma(n + 1.0);
    let choose = |n: f64, k: f64| if k < 0.0 || k > n { f64::NEG_INFINITY } else { log(n) - log(k) - log(n - k) };
    let both = |count: u32| {
        let count = f64::from(count);
        // `count` of the differing positions are inside, and so are those changed.
        let differ = choose(inside, count) + choose(outside, differing - count) - choose(dims, differing);
        libm::exp(differ + choose(outside, changed - count) - choose(dims, changed))
    };
    (0..=MOST).map(both).sum::<f64>().min(1.0)
}

/// The number of ways to choose some of a number of blocks.
fn choices(blocks: usize, chosen: u32) -> usize {
    (0..chosen as usize).fold(1, |choices, at| choices * blocks.saturating_sub(at) / (at + 1))
}

/// The distribution of the number of tables in which two strings agree.
#[derive(Debug, Clone)]
pub struct Agreement {
    /// The probability of every number of tables of one partition.
    of_one: Vec<f64>,
    /// The probability of every number of tables, for one, two, ... partitions.
    of_many: Vec<Vec<f64>>,
}

impl Agreement {
    /// The distribution for up to `partitions` partitions, of strings at a distance.
    pub fn new(params: &Params, dims: u32, distance: f64, partitions: u32) -> Agreement {
        let untouched = Untouched::up_to(dims, params.blocks(), differing(dims, distance));
        let mut of_one = vec![0.0; choices(params.blocks() as usize, params.hashes) + 1];
        for (blocks, chance) in untouched.chances.into_iter().enumerate() {
            of_one[choices(blocks, params.hashes)] += chance;
        }
        let mut of_many = vec![of_one.clone()];
        while of_many.len() < partitions as usize {
            of_many.push(sums(&of_many[of_many.len() - 1], &of_one));
        }
        Agreement { of_one, of_many }
    }

    /// The distribution for a number of tables of whole partitions.
    pub fn of(&self, tables: u32) -> &[f64] {
        let partitions = tables as usize / (self.of_one.len() - 1);
        &self.of_many[partitions.clamp(1, self.of_many.len()) - 1]
    }

    /// The probability that one table agrees.
    pub fn mean(&self) -> f64 {
        let tables = (self.of_one.len() - 1) as f64;
        self.of_one.iter().enumerate().map(|(agreeing, chance)| agreeing as f64 / tables * chance).sum()
    }
}

/// The distribution of the sum of two independent numbers.
fn sums(a: &[f64], b: &[f64]) -> Vec<f64> {
    /// Smaller probabilities are left out, except that what is possible stays possible.
    const LEAST: f64 = 1e-30;
    let mut sums = vec![0.0; a.len() + b.len() - 1];
    for (x, &a) in a.iter().enumerate().filter(|(_, a)| **a > 0.0) {
        for (y, &b) in b.iter().enumerate().filter(|(_, b)| **b > 0.0) {
            sums[x + y] += (a * b).max(LEAST);
        }
    }
    sums
}

/// The probability that fewer than `votes` tables agree. It is zero only if that is impossible.
pub fn below(agreement: &[f64], votes: u32) -> f64 {
    // An empty sum would be -0.
    agreement.iter().take(votes as usize).fold(0.0f64, |sum, chance| sum + chance).min(1.0)
}

/// The fraction of rows that queries of a filter may miss at theta, if it was not made to miss fewer.
const MISSED: f64 = 0.02;

/// What a query with any theta needs to know about a filter of blocks.
#[derive(Debug, Clone, Copy)]
pub struct Reach {
    /// The largest fraction of rows at theta x near that a query misses.
    missed: f64,
    /// The largest theta.
    pub max_theta: f64,
}

impl Reach {
    /// The reach of a filter with these parameters.
    pub fn of(params: &Params, dims: u32) -> Reach {
        let near = differing(dims, params.near);
        let at_near =
            below(Agreement::new(params, dims, params.near, partitions(params)).of(params.tables), params.votes);
        // What is never missed at near is not missed at a larger distance, either.
        let missed = if at_near > 0.0 { at_near.max(MISSED) } else { 0.0 };
        let mut untouched = Untouched::new(dims, params.blocks());
        let mut largest = 0;
        while !untouched.is_over() {
            let none = untouched.chances.iter().take(params.hashes as usize).sum::<f64>();
            if none.powi(partitions(params) as i32) > missed {
                break;
            }
            largest = untouched.differing;
            untouched.touch();
        }
        let distance = f64::from(largest.max(near)) / f64::from(dims);
        Reach { missed, max_theta: (distance / params.near).clamp(1.0, MAX_THETA) }
    }

    /// The votes that a query with theta needs: as many as rows at theta x near can be expected to have.
    pub fn votes(&self, params: &Params, dims: u32, theta: f64) -> u32 {
        if theta == 1.0 {
            return params.votes;
        }
        let agreement = Agreement::new(params, dims, theta * params.near, partitions(params));
        let agreement = agreement.of(params.tables);
        let allowed = match theta < 1.0 {
            true => params.votes..params.tables + 1,
            false => 1..params.votes + 1,
        };
        // Never more than the larger radius, and never fewer than the smaller one.
        let most = allowed.clone().take_while(|&votes| below(agreement, votes) <= self.missed).last();
        most.unwrap_or(allowed.start)
    }
}

/// The number of partitions of a filter.
pub fn partitions(params: &Params) -> u32 {
    params.tables / params.tables_per_partition().unwrap_or(params.tables).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::rng::Stream;
    use crate::params::{Family, Kind, Metric, Probing};

    fn params(blocks: u32, hashes: u32, tables: u32, votes: u32, near: f64) -> Params {
        let probing = Some(Probing { probes: 1, blocks });
        let example = Params::example(Kind::Probing, Metric::Hamming, Family::Blocks);
        Params { probing, hashes, tables, votes, near, ..example }
    }

    /// Blocks without one of the differing positions, counted.
    #[test]
    fn the_law_is_that_of_counting() {
        const TRIALS: u32 = 40_000;
        let mut s = Stream::new(4, 0);
        for (dims, blocks, hashes, partitions, differing) in [
            (64u32, 5u32, 2u32, 1u32, 3u32),
            (64, 4, 1, 3, 8),
            (1000, 10, 1, 2, 14),
            (12, 6, 1, 1, 3),
            (23, 7, 3, 2, 2),
        ] {
            let per_partition = choices(blocks as usize, hashes) as u32;
            let params = params(blocks, hashes, partitions * per_partition, 1, 0.1);
            let distance = f64::from(differing) / f64::from(dims);
            let law = Agreement::new(&params, dims, distance, partitions);
            let mut counts = vec![0u32; params.tables as usize + 1];
            for _ in 0..TRIALS {
                let mut tables = 0;
                for _ in 0..partitions {
                    let mut order: Vec<u32> = (0..dims).collect();
                    let mut touched = vec![false; blocks as usize];
                    for place in 0..differing as usize {
                        let other = place + s.below(u64::from(dims) - place as u64) as usize;
                        order.swap(place, other);
                        touched[(order[place] % blocks) as usize] = true;
                    }
                    tables += choices(touched.iter().filter(|touched| !**touched).count(), hashes);
                }
                counts[tables] += 1;
            }
            for (tables, (&count, &chance)) in counts.iter().zip(law.of(params.tables)).enumerate() {
                let (expected, trials) = (chance * f64::from(TRIALS), f64::from(TRIALS));
                let sd = (expected * (1.0 - chance)).sqrt().max(1.0);
                // Unequal sizes are taken as their mean, which is off by less than two percent of all strings.
                let unequal = if dims % blocks == 0 { 0.0 } else { 0.02 * trials };
                let off = (f64::from(count) - expected).abs();
                assert!(off < 4.0 * sd + unequal, "{dims} {blocks} {hashes}: {tables} tables, {count} of {expected}");
            }
        }
    }

    #[test]
    fn strings_within_near_never_have_too_few_votes_if_there_are_more_blocks_than_differences() {
        for (blocks, hashes, partitions, r) in [(5, 1, 10, 4), (4, 1, 2, 3), (6, 2, 3, 3), (8, 3, 1, 5), (33, 1, 1, 32)]
        {
            let tables = partitions * choices(blocks as usize, hashes) as u32;
            let votes = partitions * choices((blocks - r) as usize, hashes) as u32;
            let params = params(blocks, hashes, tables, votes, f64::from(r) / 256.0);
            for differing in 0..=r {
                let law = Agreement::new(&params, 256, f64::from(differing) / 256.0, partitions);
                assert_eq!(below(law.of(tables), votes), 0.0);
            }
            let beyond = Agreement::new(&params, 256, f64::from(r + 1) / 256.0, partitions);
            assert!(below(beyond.of(tables), votes) > 0.0);
            let reach = Reach::of(&params, 256);
            let most = blocks - hashes;
            assert!((reach.max_theta - f64::from(most) / f64::from(r)).abs() < 1e-9, "{}", reach.max_theta);
            assert_eq!(reach.votes(&params, 256, reach.max_theta), partitions);
        }
    }

    #[test]
    fn votes_fall_with_theta() {
        let params = params(4, 1, 24, 4, 4.0 / 1024.0);
        let reach = Reach::of(&params, 1024);
        let votes: Vec<u32> =
            [0.1, 0.25, 0.5, 1.0, 1.25, 1.5, 2.0].map(|theta| reach.votes(&params, 1024, theta)).to_vec();
        assert!(votes.is_sorted_by(|a, b| a >= b) && votes[0] > 20 && votes[3] == 4, "{votes:?}");
        assert!(reach.max_theta > 1.0 && reach.max_theta < 4.0, "{}", reach.max_theta);
    }

    /// Random bits, and bits at a distance, before and after random positions are changed: counted.
    #[test]
    fn chances_are_those_of_counting() {
        const TRIALS: u32 = 400_000;
        const DIMS: usize = 60;
        let mut s = Stream::new(6, 0);
        let params = params(10, 1, 10, 1, 0.1);
        let subset = |count: usize, s: &mut Stream| {
            let mut order: Vec<usize> = (0..DIMS).collect();
            (0..count).for_each(|place| order.swap(place, place + s.below((DIMS - place) as u64) as usize));
            order[..count].iter().fold(0u64, |set, at| set | 1 << at)
        };
        // A block is any six positions.
        let block = 0b11_1111u64;
        let (mut random, mut before, mut after) = (0u32, 0u32, 0u32);
        for _ in 0..TRIALS {
            random += u32::from(s.word() & block == 0);
            let differ = subset(12, &mut s);
            before += u32::from(differ & block == 0);
            after += u32::from((differ ^ subset(9, &mut s)) & block == 0);
        }
        let at = |count: f64| count / DIMS as f64;
        for (found, chance) in [
            (random, unrelated(&params, 60)),
            (before, chance(&params, 60, at(12.0))),
            (after, chance_after(&params, 60, at(12.0), at(9.0))),
        ] {
            let expected = chance * f64::from(TRIALS);
            assert!((f64::from(found) - expected).abs() < 4.0 * expected.sqrt(), "{found} of {expected}");
        }
    }
}
