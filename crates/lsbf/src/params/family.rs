//! The locality-sensitive hash families.

use super::Metric;
use serde::{Deserialize, Serialize};

/// The locality-sensitive hash family. New families are appended: the number is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Family {
    Bits,
    Symbols,
    Gaussian,
    Cauchy,
    Hyperplane,
    MinHash,
    /// Gaussian projections by fast transforms.
    Hadamard,
    /// Hyperplanes by fast transforms.
    HadamardHyperplane,
    /// The nearest of the corners of a cross-polytope, randomly rotated by fast transforms.
    CrossPolytope,
}

impl Family {
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
            Family::CrossPolytope => "cross-polytope",
        }
    }

    /// The family whose law of collisions this one follows.
    pub fn law(self) -> Family {
        match self {
            Family::Hadamard => Family::Gaussian,
            Family::HadamardHyperplane => Family::Hyperplane,
            other => other,
        }
    }

    /// The family that follows the same law by fast transforms.
    pub fn fast(self) -> Option<Family> {
        match self.law() {
            Family::Gaussian => Some(Family::Hadamard),
            Family::Hyperplane => Some(Family::HadamardHyperplane),
            _ => None,
        }
    }

    /// Whether projections are made by fast transforms.
    pub fn is_fast(self) -> bool {
        self != self.law() || self == Family::CrossPolytope
    }

    /// Whether vectors are projected.
    pub fn projects(self) -> bool {
        matches!(self.law(), Family::Gaussian | Family::Cauchy | Family::Hyperplane | Family::CrossPolytope)
    }

    pub(super) fn serves(self, metric: Metric) -> bool {
        match self.law() {
            Family::Bits | Family::Symbols => metric == Metric::Hamming,
            Family::Gaussian => metric == Metric::L2,
            Family::Cauchy => metric == Metric::L1,
            Family::Hyperplane => metric == Metric::Cosine,
            Family::CrossPolytope => matches!(metric, Metric::L2 | Metric::Cosine | Metric::Hamming),
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

    /// Whether a hash is a corner of a cross-polytope.
    pub fn is_polytope(self) -> bool {
        self == Family::CrossPolytope
    }
}
