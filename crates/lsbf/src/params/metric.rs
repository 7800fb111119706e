//! What "close" means.

use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// What "close" means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Metric {
    /// Share of positions that differ.
    Hamming,
    L2,
    L1,
    /// 1 - cos.
    Cosine,
    /// 1 - |intersection| / |union|.
    Jaccard,
}

impl Metric {
    pub const ALL: [Metric; 5] = [Metric::Hamming, Metric::L2, Metric::L1, Metric::Cosine, Metric::Jaccard];

    pub fn name(self) -> &'static str {
        match self {
            Metric::Hamming => "hamming",
            Metric::L2 => "l2",
            Metric::L1 => "l1",
            Metric::Cosine => "cosine",
            Metric::Jaccard => "jaccard",
        }
    }

    pub fn parse(name: &str) -> Result<Self> {
        let found = Metric::ALL.into_iter().find(|m| m.name().eq_ignore_ascii_case(name));
        found.ok_or_else(|| {
            let names = Metric::ALL.map(Metric::name).join(", ");
            Error::parameter(format!("unknown metric \"{name}\"")).with_hint(format!("The metrics are {names}."))
        })
    }

    /// The distance that vectors without any relation have.
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
