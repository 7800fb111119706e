//! The parameters of a filter: its kind, its metric and every number that determines how it hashes.

mod difference;
mod family;
mod input;
mod kind;
mod metric;
mod quotient;
mod validate;

pub use family::Family;
pub use input::{Input, wrong_dims};
pub use kind::Kind;
pub use metric::Metric;
pub use quotient::{CELL_BITS, Layout, MAX_DENSE, MAX_GRID, MAX_RESIDUE_BITS, PASS, Quotient, length, radius};
pub use validate::{check_any, check_dims, check_theta, in_range, shown};

use crate::limits::MAX_TABLES;
use serde::{Deserialize, Serialize};

/// Bits of a cache line. With `match => 'any'`, all bits of a key are in one line.
pub const LINE: u64 = 512;

/// The parameters of a filter, as stored. Parameters that a kind does not use are zero.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Params {
    /// The kind of filter.
    pub kind: Kind,
    /// The distance function.
    pub metric: Metric,
    /// The locality-sensitive hash family.
    pub family: Family,
    /// Filters with the same seed and the same other parameters hash alike.
    pub seed: u64,
    /// The number of members that the filter is designed for.
    pub capacity: u64,
    /// The distance within which a query should find a member.
    pub near: f64,
    /// The distance at or beyond which a query should find no member.
    pub far: f64,
    /// Width of a projection's bucket; for rotations the typical length of vectors, 0 if it is not known;
    /// 0 for other families.
    pub width: f64,
    /// The papers' k (DSBF, ILBF) or L (LSBF).
    pub tables: u32,
    /// Hashes per table: the papers' l' (DSBF) or M (LSBF); 1 for the ILBF; the blocks that a key combines.
    pub hashes: u32,
    /// Bits of the whole array, without the verification filter. LSQF: the maximum number of bits of a code.
    pub bits: u64,
    /// LSBF: bits of the verification filter, 0 for none.
    pub verify_bits: u64,
    /// Bits that a key sets. LSBF: in the verification filter. ILBF: the paper's k'. Match any: in its cache line.
    pub bloom_hashes: u32,
    /// LSBF: the number of buckets to either side that the active overflow tries; 0 for none.
    pub overflow: u32,
    /// LSBF: the overflow also tries tables whose bit is set, possibly by another member.
    pub robust: bool,
    /// ILBF: the number of small Bloom filters, the paper's m.
    pub blooms: u32,
    /// ILBF: bits of a small Bloom filter, the paper's u.
    pub slots: u32,
    /// ILBF: queries read the paper's aligned blocks instead of centred windows.
    pub aligned: bool,
    /// The number of tables that must match; 0 if it is derived from the theory.
    pub votes: u32,
    /// Match any only; stored after the other parameters.
    #[serde(skip)]
    pub probing: Option<Probing>,
    /// LSQF only; stored after the other parameters.
    #[serde(skip)]
    pub quotient: Option<Quotient>,
}

/// Parameters that only a filter with `match => 'any'` has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Probing {
    /// Keys per table that a query tries.
    pub probes: u32,
    /// The number of blocks into which the positions are divided (Hamming), 0 for other families.
    pub blocks: u32,
}

impl Params {
    /// Keys per table that a query tries; 1 for kinds without probing.
    pub fn probes(&self) -> u32 {
        self.probing.map_or(1, |probing| probing.probes)
    }

    /// The number of blocks; 0 for other families.
    pub fn blocks(&self) -> u32 {
        self.probing.map_or(0, |probing| probing.blocks)
    }

    /// The number of tables whose keys are blocks of the same partition: every choice of `hashes` blocks. `None` if there are
    /// too many.
    pub fn tables_per_partition(&self) -> Option<u32> {
        let (blocks, mut choices) = (u64::from(self.blocks()), 1u64);
        for chosen in 0..u64::from(self.hashes).min(blocks) {
            choices = choices * (blocks - chosen) / (chosen + 1);
            if choices > u64::from(MAX_TABLES) * u64::from(MAX_TABLES) {
                return None;
            }
        }
        u32::try_from(choices).ok().filter(|&choices| choices <= MAX_TABLES)
    }

    /// A hash of the centre; 0 if there is none.
    pub fn centre(&self) -> u64 {
        self.quotient.map_or(0, |quotient| quotient.centre)
    }

    /// The number of projections of a vector.
    pub fn projections(&self) -> u64 {
        u64::from(self.tables) * u64::from(self.hashes)
    }

    /// Bits of one table's partition (DSBF, LSBF).
    pub fn partition(&self) -> u64 {
        self.bits / u64::from(self.tables)
    }

    /// Whether the bits of a tuple are used directly as its position: V = [m'] in the DSBF paper.
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
    /// Valid parameters for unit tests of modules that must not depend on the design of filters.
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
            quotient: None,
        }
    }

    /// Valid parameters of a quotient filter.
    pub fn quotient_example(metric: Metric) -> Params {
        Params {
            far: 1.5,
            near: 0.5,
            tables: 1,
            hashes: 1,
            capacity: 1,
            bits: 52,
            quotient: Some(Quotient { cell_bits: 18, max_theta: 1.25, fnr: 0.01, centre: 0 }),
            ..Params::example(Kind::Lsqf, metric, Family::Rotation)
        }
    }
}
