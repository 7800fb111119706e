//! Integer-granularity locality-sensitive Bloom filter (Qian and others, section II). The filter consists of m small
//! Bloom filters of u slots (bits) each, "Blooms" for short. Each of k projections of a member selects a Bloom, and the
//! member's id is added to the selected ones. A query ORs the Blooms around each of its projections, and counts for
//! every slot in how many of the k results it is set.

mod counting;
pub(crate) mod distance;
pub mod votes;

use super::bits::{Body, BodyMut};
use super::count;
use super::kind::{self, Counters};
use crate::error::{Error, Result};
use crate::hash::projection::Projection;
use crate::hash::{Hasher, Lsh};
use crate::limits;
use crate::mix::{mix, reduce};
use crate::params::{Kind, Params, shown};
use crate::vector::Vector;
use counting::{Scratch, mask, modulo};
use distance::DistancePlan;
use std::collections::BTreeMap;
use votes::VotePlan;

/// The number of distance plans that are kept, of 40 kB each.
const DISTANCE_PLANS: usize = 32;

/// The hash functions of an ILBF, and scratch memory for one vector.
pub struct Ilbf {
    params: Params,
    hasher: Hasher<Projection>,
    /// The first bit of the Bloom that each projection selects.
    starts: Vec<u64>,
    scratch: Box<Scratch>,
    /// The counters of the last query, and their level of fill.
    level: (Counters, u64),
    /// The thresholds at each theta, by level of fill, because filters with the same parameters share this engine.
    /// There are only a few hundred levels.
    plans: BTreeMap<u64, VotePlan>,
    distances: BTreeMap<u64, DistancePlan>,
}

impl Ilbf {
    /// Expands the hash functions of a filter.
    pub fn new(params: &Params, dims: u32) -> Result<Self> {
        Ok(Ilbf {
            params: params.clone(),
            hasher: Hasher::new(params, Projection::new(params, dims)?),
            starts: Vec::new(),
            scratch: Box::default(),
            level: (Counters::default(), 0),
            plans: BTreeMap::new(),
            distances: BTreeMap::new(),
        })
    }

    /// The level of fill of a filter.
    fn level(&mut self, counters: Counters) -> u64 {
        if self.level.0 != counters {
            self.level = (counters, votes::fill_level(&self.params, counters.ones, counters.squares));
        }
        self.level.1
    }

    /// An estimate of the distance to the nearest member; `None` if no member is near.
    pub fn distance(&mut self, counters: Counters, body: &(impl Body + ?Sized)) -> Option<f64> {
        let level = self.level(counters);
        let Ilbf { params, hasher, scratch, plans, distances, .. } = self;
        let votes = plans.entry(level).or_insert_with(|| VotePlan::new(params, level));
        if distances.len() >= DISTANCE_PLANS && !distances.contains_key(&level) {
            distances.clear();
        }
        let plan = distances.entry(level).or_insert_with(|| DistancePlan::new(params, votes, level));
        plan.estimate(params.tables, |theta| counting::votes(params, projections(hasher), body, theta, scratch))
    }
}

impl kind::Kind for Ilbf {
    #[inline]
    fn start(&mut self, vector: &Vector) -> Result<()> {
        self.hasher.family.start(vector)
    }

    #[inline]
    fn contains<B: Body + ?Sized>(&mut self, counters: Counters, body: &B, theta: f64) -> Result<bool> {
        let level = self.level(counters);
        let Ilbf { params, hasher, scratch, plans, .. } = self;
        let plan = plans.entry(level).or_insert_with(|| VotePlan::new(params, level));
        Ok(plan.accepts(theta, |theta| counting::votes(params, projections(hasher), body, theta, scratch)))
    }

    fn votes<B: Body + ?Sized>(&mut self, _: Counters, body: &B, theta: f64) -> Result<u32> {
        Ok(counting::votes(&self.params, projections(&self.hasher), body, theta, &mut self.scratch))
    }

    fn bytes(&self) -> usize {
        self.hasher.bytes()
            + size_of::<Scratch>()
            + self.starts.capacity() * size_of::<u64>()
            + self.plans.values().map(VotePlan::bytes).sum::<usize>()
            + self.distances.values().map(DistancePlan::bytes).sum::<usize>()
    }
}

impl kind::BitKind for Ilbf {
    #[inline]
    fn add<B: BodyMut + ?Sized>(&mut self, body: &mut B, vector: &Vector) -> Result<(u64, Counters)> {
        let Ilbf { params, hasher, starts, .. } = self;
        hasher.finish()?;
        starts.clear();
        starts.extend(hasher.family.numbers().iter().map(|&bucket| {
            let start = modulo(bucket, i64::from(params.blooms)) as u64 * u64::from(params.slots);
            body.prefetch((start / 64) as usize);
            start
        }));
        let id = hasher.id(vector);
        Ok((id, write(params, starts, id, body)))
    }
}

/// The bucket of each projection, and its position within the bucket.
#[inline]
fn projections(hasher: &Hasher<Projection>) -> impl Iterator<Item = (i64, f64)> {
    let family = &hasher.family;
    family.numbers().iter().copied().zip(family.fractions().iter().copied())
}

/// Finds the k' distinct slots of an id; returns their number.
fn slots(params: &Params, id: u64, out: &mut [u64; limits::MAX_BLOOM_HASHES as usize]) -> usize {
    let (count, mut found, mut draw) = (params.bloom_hashes as usize, 0, 0);
    while found < count {
        let slot = reduce(mix(id, draw), u64::from(params.slots));
        draw += 1;
        if !out[..found].contains(&slot) {
            out[found] = slot;
            found += 1;
        }
    }
    found
}

/// Adds a member's id to its k Blooms; returns by how much the counters grew.
fn write(params: &Params, starts: &[u64], id: u64, body: &mut (impl BodyMut + ?Sized)) -> Counters {
    let mut own = [0; limits::MAX_BLOOM_HASHES as usize];
    let found = slots(params, id, &mut own);
    let mut added = Counters::default();
    for &start in starts {
        let before = ones(params, body, start);
        let new: u64 = own[..found].iter().map(|slot| body.set(start + slot)).sum();
        added += Counters { ones: new, squares: new * (2 * before + new) };
    }
    added
}

/// Sets one bit; returns by how much the counters grew.
pub(super) fn set(params: &Params, at: u64, body: &mut (impl BodyMut + ?Sized)) -> Counters {
    let before = ones(params, body, at - at % u64::from(params.slots));
    let new = body.set(at);
    Counters { ones: new, squares: new * (2 * before + 1) }
}

/// The number of bits set in one Bloom.
fn ones(params: &Params, body: &(impl Body + ?Sized), start: u64) -> u64 {
    let first = (start / 64) as usize;
    let words = (first..first + params.slots.div_ceil(64) as usize).map(|at| body.word(at));
    words.map(|word| u64::from((word >> (start % 64) & mask(params)).count_ones())).sum()
}

/// The sum, over all Blooms in these words, of the square of the number of bits set; 0 for other kinds.
pub fn squares(params: &Params, words: &[u64]) -> u64 {
    if params.kind == Kind::Ilbf { count::squares(words, params.slots) } else { 0 }
}

/// Checks that theta is an integer for aligned blocks, which are not defined for others.
pub fn check_theta(params: &Params, theta: f64) -> Result<()> {
    if params.aligned && theta.fract() != 0.0 {
        return Err(Error::parameter(format!("theta must be an integer for aligned blooms, not {}", shown(theta)))
            .with_hint("Filters created without blooms_aligned accept any theta."));
    }
    Ok(())
}
