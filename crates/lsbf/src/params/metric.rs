//! The distance functions.

use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// A distance function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Metric {
    /// The fraction of positions that differ.
    Hamming,
    /// The Euclidean distance.
    L2,
    /// The taxicab distance.
    L1,
    /// 1 - cosine similarity.
    Cosine,
    /// 1 - |intersection| / |union|.
    Jaccard,
}

impl Metric {
    /// All metrics.
    pub const ALL: [Metric; 5] = [Metric::Hamming, Metric::L2, Metric::L1, Metric::Cosine, Metric::Jaccard];

    /// The name in SQL.
    pub fn name(self) -> &'static str {
        match self {
            Metric::Hamming => "hamming",
            Metric::L2 => "l2",
            Metric::L1 => "l1",
            Metric::Cosine => "cosine",
            Metric::Jaccard => "jaccard",
        }
    }

    /// The metric with this name.
    pub fn parse(name: &str) -> Result<Self> {
        let found = Metric::ALL.into_iter().find(|m| m.name().eq_ignore_ascii_case(name));
        found.ok_or_else(|| {
            let names = Metric::ALL.map(Metric::name).join(", ");
            Error::parameter(format!("unrecognized metric \"{name}\"")).with_hint(format!("Valid metrics are {names}."))
        })
    }

    /// The typical distance between unrelated vectors.
    pub fn unrelated(self) -> f64 {
        match self {
            Metric::Hamming => 0.5,
            Metric::Cosine => 1.0,
            Metric::Jaccard => 0.95,
            Metric::L2 | Metric::L1 => f64::INFINITY,
        }
    }

    /// The largest distance two vectors can have.
    pub fn largest(self) -> f64 {
        match self {
            Metric::Hamming | Metric::Jaccard => 1.0,
            Metric::Cosine => 2.0,
            Metric::L2 | Metric::L1 => f64::INFINITY,
        }
    }
}
