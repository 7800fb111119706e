//! Distance-sensitive Bloom filter (Kirsch and Mitzenmacher, section 2). A member sets one bit in each of k partitions.
//! B(u) is the number of partitions in which the bit of a query u is set; u is accepted if B(u) >= t.

use super::bits::{Body, BodyMut, is_set, set_all};
use super::kind::{BitKind, Counters, Kind};
use crate::error::Result;
use crate::hash::collision;
use crate::hash::{Functions, Hasher, Lsh};
use crate::params::Params;
use crate::vector::Vector;

/// The hash functions of a DSBF, and scratch memory for one vector.
pub struct Dsbf {
    params: Params,
    hasher: Hasher,
    /// The vector's position in each table.
    positions: Vec<u64>,
    /// The theta of the last query, and its threshold.
    threshold: (f64, u32),
}

impl Dsbf {
    /// Expands the hash functions of a filter.
    pub fn new(params: &Params, dims: u32) -> Result<Self> {
        let hasher = Hasher::new(params, Functions::new(params, dims)?);
        Ok(Dsbf { params: params.clone(), hasher, positions: Vec::new(), threshold: (0.0, 0) })
    }

    fn threshold(&mut self, theta: f64) -> u32 {
        if self.threshold.0 != theta {
            self.threshold = (theta, threshold(&self.params, theta));
        }
        self.threshold.1
    }
}

impl Kind for Dsbf {
    #[inline]
    fn start(&mut self, vector: &Vector) -> Result<()> {
        self.hasher.family.start(vector)?;
        self.hasher.finish()
    }

    #[inline]
    fn contains<B: Body + ?Sized>(&mut self, _: Counters, body: &B, theta: f64) -> Result<bool> {
        find_positions(&self.params, &self.hasher, body, &mut self.positions);
        let mut missing = self.threshold(theta);
        let mut left = self.positions.len() as u32;
        for &at in &self.positions {
            if missing == 0 || left < missing {
                break;
            }
            missing -= u32::from(is_set(body, at));
            left -= 1;
        }
        Ok(missing == 0)
    }

    /// B(u).
    fn votes<B: Body + ?Sized>(&mut self, _: Counters, body: &B, _: f64) -> Result<u32> {
        find_positions(&self.params, &self.hasher, body, &mut self.positions);
        Ok(count_set(&self.positions, body))
    }

    fn bytes(&self) -> usize {
        self.hasher.bytes() + self.positions.capacity() * size_of::<u64>()
    }
}

impl BitKind for Dsbf {
    #[inline]
    fn add<B: BodyMut + ?Sized>(&mut self, body: &mut B, vector: &Vector) -> Result<(u64, Counters)> {
        find_positions(&self.params, &self.hasher, body, &mut self.positions);
        let id = self.hasher.id(vector);
        Ok((id, Counters { ones: set_all(body, &self.positions), squares: 0 }))
    }
}

/// Finds the position of a vector in every table, and prefetches them.
#[inline]
pub fn find_positions(params: &Params, hasher: &Hasher, body: &(impl Body + ?Sized), out: &mut Vec<u64>) {
    let (keys, partition) = (&hasher.keys, params.partition());
    out.clear();
    out.extend(keys.all().iter().enumerate().map(|(table, &key)| {
        let at = table as u64 * partition + keys.position(table, key, partition);
        body.prefetch((at / 64) as usize);
        at
    }));
}

/// The number of these bits that are set.
pub(super) fn count_set(positions: &[u64], body: &(impl Body + ?Sized)) -> u32 {
    positions.iter().map(|&at| u32::from(is_set(body, at))).sum()
}

/// ceil(t), t = k p(theta near)^l' / 2: the threshold for vectors at theta x near, at least 1.
pub fn threshold(params: &Params, theta: f64) -> u32 {
    let hit = |distance: f64| collision::tuple(params, distance);
    let near = hit(params.near);
    let t = match params.votes {
        0 => f64::from(params.tables) * hit(theta * params.near) / 2.0,
        votes => f64::from(votes) * (hit(theta * params.near) / near).min(f64::from(params.tables)),
    };
    ((t - 1e-9).ceil() as u32).clamp(1, params.tables)
}
