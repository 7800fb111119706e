//! The locality-sensitive hash families.

use super::Metric;
use serde::{Deserialize, Serialize};

/// A locality-sensitive hash family. New families are appended, because the variant's number is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Family {
    /// Bit sampling, for the Hamming distance of bit strings.
    Bits,
    /// Sampled symbols, each hashed to one bit, for the Hamming distance of strings over an alphabet.
    Symbols,
    /// Gaussian projections cut into buckets, for the l2 distance.
    Gaussian,
    /// Cauchy projections cut into buckets, for the l1 distance.
    Cauchy,
    /// The side of a random hyperplane, for the cosine distance.
    Hyperplane,
    /// MinHash, for the Jaccard distance.
    MinHash,
    /// Like [`Family::Gaussian`], with projections computed by fast Hadamard transforms.
    Hadamard,
    /// Like [`Family::Hyperplane`], with projections computed by fast Hadamard transforms.
    HadamardHyperplane,
    /// Blocks of a random partition of the positions, for the Hamming distance of bit strings.
    Blocks,
    /// Coordinates of a randomly rotated vector, for quotient filters.
    Rotation,
    /// Like [`Family::Blocks`], for strings over an alphabet.
    SymbolBlocks,
}

impl Family {
    /// The name used in error messages and by `lsbf_info`.
    pub fn name(self) -> &'static str {
        match self {
            Family::Bits => "bits",
            Family::Symbols => "symbols",
            Family::Gaussian => "gaussian",
            Family::Cauchy => "cauchy",
            Family::Hyperplane => "hyperplane",
            Family::MinHash => "minhash",
            Family::Hadamard => "hadamard",
            Family::HadamardHyperplane => "hadamard hyperplane",
            Family::Blocks => "blocks",
            Family::Rotation => "rotation",
            Family::SymbolBlocks => "blocks of symbols",
        }
    }

    /// The family with the same collision probabilities that does without fast transforms.
    pub fn law(self) -> Family {
        match self {
            Family::Hadamard => Family::Gaussian,
            Family::HadamardHyperplane => Family::Hyperplane,
            other => other,
        }
    }

    /// The family with the same collision probabilities that uses fast transforms, if there is one.
    pub fn fast(self) -> Option<Family> {
        match self.law() {
            Family::Gaussian => Some(Family::Hadamard),
            Family::Hyperplane => Some(Family::HadamardHyperplane),
            _ => None,
        }
    }

    /// Whether projections are computed by fast transforms.
    pub fn is_fast(self) -> bool {
        self != self.law()
    }

    /// Whether vectors are projected.
    pub fn projects(self) -> bool {
        !matches!(self, Family::Bits | Family::Symbols | Family::MinHash | Family::Blocks | Family::SymbolBlocks)
    }

    pub(super) fn serves(self, metric: Metric) -> bool {
        match self.law() {
            Family::Bits | Family::Symbols | Family::Blocks | Family::SymbolBlocks => metric == Metric::Hamming,
            Family::Gaussian => metric == Metric::L2,
            Family::Cauchy => metric == Metric::L1,
            Family::Hyperplane => metric == Metric::Cosine,
            Family::Rotation => matches!(metric, Metric::L2 | Metric::Cosine),
            _ => metric == Metric::Jaccard,
        }
    }

    /// Whether a hash is one bit.
    pub fn is_binary(self) -> bool {
        matches!(self.law(), Family::Bits | Family::Symbols | Family::Hyperplane)
    }

    /// Whether buckets have a width.
    pub fn has_width(self) -> bool {
        matches!(self.law(), Family::Gaussian | Family::Cauchy)
    }

    /// Whether vectors are strings over an alphabet.
    pub fn has_symbols(self) -> bool {
        matches!(self, Family::Symbols | Family::SymbolBlocks)
    }

    /// Whether hashes are those of blocks.
    pub fn has_blocks(self) -> bool {
        matches!(self, Family::Blocks | Family::SymbolBlocks)
    }

    /// What the vectors are, as far as families of the same metric differ in it.
    pub fn alphabet(self) -> &'static str {
        match self.law() {
            Family::Blocks => Family::Bits.name(),
            Family::SymbolBlocks => Family::Symbols.name(),
            other => other.name(),
        }
    }
}
