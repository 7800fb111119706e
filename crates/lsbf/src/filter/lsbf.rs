//! Locality-sensitive Bloom filter (Hua and others, section 3). A member sets one bit in each of L partitions, and a
//! query is accepted if all of its bits are set. A verification filter contains the members' combinations of positions.
//! The active overflow also tries the neighbouring buckets of one table.

use super::bits::{Body, BodyMut, bloom_positions, is_set, set_all};
use super::dsbf::{count_set, find_positions};
use super::kind::{BitKind, Counters, Kind};
use crate::error::Result;
use crate::hash::probe::Walk;
use crate::hash::{Functions, Hasher, Lsh};
use crate::limits::MAX_OVERFLOW;
use crate::mix::mix;
use crate::params::Params;
use crate::vector::Vector;

/// The hash functions of an LSBF, and scratch memory for one vector.
pub struct Lsbf {
    params: Params,
    hasher: Hasher,
    /// The vector's position in each table.
    positions: Vec<u64>,
    walk: Walk,
}

impl Lsbf {
    pub fn new(params: &Params, dims: u32) -> Result<Self> {
        let hasher = Hasher::new(params, Functions::new(params, dims)?);
        Ok(Lsbf { params: params.clone(), hasher, positions: Vec::new(), walk: Walk::default() })
    }

    /// Whether the query is accepted with a neighbouring bucket in one table.
    fn replaced(&mut self, body: &(impl Body + ?Sized), table: usize, steps: u32) -> bool {
        let Lsbf { params, hasher, positions, walk } = self;
        let (partition, own) = (params.partition(), positions[table]);
        let neighbours = hasher.neighbours(table, 2 * steps as usize);
        let found = walk.singles(hasher.keys.hashes(), &neighbours).iter().any(|&neighbour| {
            let key = hasher.key_with(table, neighbour);
            positions[table] = table as u64 * partition + hasher.keys.position(table, key, partition);
            is_set(body, positions[table]) && verified(params, positions, body)
        });
        positions[table] = own;
        found
    }
}

impl Kind for Lsbf {
    #[inline]
    fn start(&mut self, vector: &Vector) -> Result<()> {
        self.hasher.family.start(vector)?;
        self.hasher.finish()
    }

    #[inline]
    fn contains<B: Body + ?Sized>(&mut self, _: Counters, body: &B, theta: f64) -> Result<bool> {
        find_positions(&self.params, &self.hasher, body, &mut self.positions);
        let steps = steps(&self.params, theta);
        let mut misses = self.positions.iter().enumerate().filter(|&(_, &at)| !is_set(body, at));
        Ok(match (misses.next(), misses.next()) {
            (None, _) if verified(&self.params, &self.positions, body) => true,
            (_, Some(_)) => false,
            (Some((table, _)), None) => self.replaced(body, table, steps),
            // All bits are set, but not by the same member: the bit of another member may hide a single miss.
            (None, _) if self.params.robust => {
                (0..self.params.tables as usize).any(|table| self.replaced(body, table, steps))
            }
            (None, _) => false,
        })
    }

    fn votes<B: Body + ?Sized>(&mut self, _: Counters, body: &B, _: f64) -> Result<u32> {
        find_positions(&self.params, &self.hasher, body, &mut self.positions);
        Ok(count_set(&self.positions, body))
    }

    fn bytes(&self) -> usize {
        self.hasher.bytes() + self.walk.bytes() + self.positions.capacity() * size_of::<u64>()
    }
}

impl BitKind for Lsbf {
    #[inline]
    fn add<B: BodyMut + ?Sized>(&mut self, body: &mut B, vector: &Vector) -> Result<(u64, Counters)> {
        let Lsbf { params, hasher, positions, .. } = self;
        find_positions(params, hasher, body, positions);
        let id = hasher.id(vector);
        let mut ones = set_all(body, positions);
        if params.verify_bits > 0 {
            ones += verification(params, positions).map(|at| body.set(at)).sum::<u64>();
        }
        Ok((id, Counters { ones, squares: 0 }))
    }
}

/// The bits of a member in the verification filter, counted from the start of the body. Their key is a hash of the
/// member's positions in all partitions.
fn verification(params: &Params, positions: &[u64]) -> impl Iterator<Item = u64> {
    let start = params.array_words() * 64;
    let signature = positions.iter().fold(0, |key, &position| mix(key, position));
    bloom_positions(signature, params.bloom_hashes, params.verify_bits).map(move |at| start + at)
}

fn verified(params: &Params, positions: &[u64], body: &(impl Body + ?Sized)) -> bool {
    params.verify_bits == 0 || verification(params, positions).all(|at| is_set(body, at))
}

/// The number of buckets to either side that the overflow tries, which grows with theta.
pub fn steps(params: &Params, theta: f64) -> u32 {
    (f64::from(params.overflow) * theta).min(f64::from(MAX_OVERFLOW)) as u32
}
