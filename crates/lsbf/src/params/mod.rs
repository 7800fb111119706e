//! What a filter is: its kind, its metric and every number that decides how it hashes.

mod difference;
mod family;
mod input;
mod kind;
mod metric;
mod validate;

pub use family::Family;
pub use input::{Input, wrong_dims};
pub use kind::Kind;
pub use metric::Metric;
pub use validate::{check_dims, check_theta, in_range, shown};

use serde::{Deserialize, Serialize};

/// Bits of a line of the Bloom filter where any table may match: a cache line.
pub const LINE: u64 = 512;

/// The parameters of a filter, as stored. What a kind does not use is zero.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Params {
    pub kind: Kind,
    pub metric: Metric,
    pub family: Family,
    pub seed: u64,
    pub capacity: u64,
    pub near: f64,
    pub far: f64,
    /// Width of a projection's bucket; the length of vectors for cross-polytopes; 0 for families without.
    pub width: f64,
    /// k (DSBF, ILBF), L (LSBF).
    pub tables: u32,
    /// l' (DSBF), M (LSBF), 1 (ILBF).
    pub hashes: u32,
    /// Bits of the whole array, without the verification filter.
    pub bits: u64,
    /// LSBF: bits of the verification filter, 0 for none.
    pub verify_bits: u64,
    /// LSBF: k of the verification filter. ILBF: k'. Match any: bits a key sets.
    pub bloom_hashes: u32,
    /// LSBF: how many buckets the active overflow looks to either side, 0 for none.
    pub overflow: u32,
    /// LSBF: the overflow also looks where a foreign bit hides the miss.
    pub robust: bool,
    /// ILBF: m.
    pub blooms: u32,
    /// ILBF: u.
    pub slots: u32,
    /// ILBF: the paper's aligned blocks in place of centred windows.
    pub aligned: bool,
    /// Threshold; 0: chosen from the theory.
    pub votes: u32,
    /// Match any; stored behind the others, by that kind only.
    #[serde(skip)]
    pub probing: Option<Probing>,
}

/// What only a filter with `match => 'any'` has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Probing {
    /// Keys of a query that a table tries.
    pub probes: u32,
    /// Dimensions of a cross-polytope, 0 for other families.
    pub polytope: u32,
    /// A hash of the centre that is subtracted from vectors, 0 for none. The centre itself follows the parameters.
    pub centre: u64,
}

impl Params {
    /// Keys of a query that a table tries (match any).
    pub fn probes(&self) -> u32 {
        self.probing.map_or(1, |probing| probing.probes)
    }

    /// Dimensions of a cross-polytope; 0 for other families.
    pub fn polytope(&self) -> u32 {
        self.probing.map_or(0, |probing| probing.polytope)
    }

    /// A hash of the centre, 0 where there is none.
    pub fn centre(&self) -> u64 {
        self.probing.map_or(0, |probing| probing.centre)
    }

    /// Numbers a vector is projected to, where it is.
    pub fn projections(&self) -> u64 {
        u64::from(self.tables) * u64::from(self.hashes) * u64::from(self.polytope().max(1))
    }

    /// Bits of one table's partition (DSBF, LSBF).
    pub fn partition(&self) -> u64 {
        self.bits / u64::from(self.tables)
    }

    /// Whether the bits of a tuple are its position: V = [m'] in the DSBF paper.
    pub fn is_natural(&self) -> bool {
        self.family.is_binary() && self.hashes < 63 && self.partition() == 1 << self.hashes
    }

    /// Words of the array, without the verification filter.
    pub fn array_words(&self) -> u64 {
        self.bits.div_ceil(64)
    }

    /// Words of the whole body.
    pub fn body_words(&self) -> u64 {
        self.array_words() + self.verify_bits.div_ceil(64)
    }
}

#[cfg(test)]
impl Params {
    /// Some valid parameters of a kind, for tests of what is below the design of filters.
    pub fn example(kind: Kind, metric: Metric, family: Family) -> Params {
        Params {
            kind,
            metric,
            family,
            seed: 0,
            capacity: 100,
            near: 1.0,
            far: 8.0,
            width: 4.0,
            tables: 5,
            hashes: 3,
            bits: 5 * 512,
            verify_bits: 0,
            bloom_hashes: 0,
            overflow: 0,
            robust: false,
            blooms: 0,
            slots: 0,
            aligned: false,
            votes: 0,
            probing: None,
        }
    }
}
