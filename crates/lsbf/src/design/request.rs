//! The requirements for a filter.

use crate::error::{Error, Result};
use crate::params::Metric;

/// The requirements for a filter.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// The distance within which a query should find a member.
    pub near: f64,
    /// The distance at or beyond which a query should find no member.
    pub far: f64,
    /// The number of members.
    pub capacity: u64,
    /// The dimensions; 0 if not known.
    pub dims: u32,
    /// The desired error rates.
    pub goals: Goals,
}

/// The desired error rates and the preference among filters that reach them.
#[derive(Debug, Clone, Copy, Default)]
pub struct Goals {
    /// The maximum false positive rate at far.
    pub fpr: Option<f64>,
    /// The maximum false negative rate at near.
    pub fnr: Option<f64>,
    /// What to optimize.
    pub prefer: Prefer,
}

/// What to optimize.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Prefer {
    /// Small filters.
    Small,
    /// A balance of size and speed.
    #[default]
    Balanced,
    /// Fast queries.
    Fast,
    /// Few false positives.
    Sharp,
}

impl Prefer {
    const ALL: [(Prefer, &'static str); 4] =
        [(Prefer::Small, "small"), (Prefer::Balanced, "balanced"), (Prefer::Fast, "fast"), (Prefer::Sharp, "sharp")];

    /// The preference with this name in SQL.
    pub fn parse(name: &str) -> Result<Prefer> {
        let found = Prefer::ALL.into_iter().find(|(_, valid)| valid.eq_ignore_ascii_case(name));
        found.map(|(prefer, _)| prefer).ok_or_else(|| {
            let names = Prefer::ALL.map(|(_, name)| name).join(", ");
            Error::parameter(format!("unrecognized preference \"{name}\""))
                .with_hint(format!("Valid preferences are {names}."))
        })
    }

    /// The default error rates: false positives at far, and false negatives at near.
    pub fn rates(self, metric: Metric) -> (f64, f64) {
        // Blocks of positions take little time and space.
        if metric == Metric::Hamming {
            let fpr = match self {
                Prefer::Sharp => 0.0006,
                other => other.rates(Metric::Jaccard).0,
            };
            return (fpr, 0.005);
        }
        match self {
            Prefer::Small => (0.135, 0.0175),
            Prefer::Balanced => (0.05, 0.01),
            Prefer::Fast => (0.08, 0.01),
            Prefer::Sharp => (0.006, 0.0135),
        }
    }

    /// The desired false positive rate of rows without a member within far, relative to the rate at far.
    pub fn unrelated(self) -> f64 {
        match self {
            Prefer::Small => 0.065,
            Prefer::Balanced | Prefer::Fast => 0.13,
            Prefer::Sharp => 0.08,
        }
    }

    /// The objective that is minimized, given bytes per member and the cost of a query.
    pub fn price(self, bytes: f64, cost: f64) -> f64 {
        // Bytes have a low weight up to `max`, a high weight up to a quarter more, and the usual weight beyond.
        let budget = |max: f64, weight: f64| {
            let over = over(bytes, max);
            weight * (libm::log(bytes) - over) + 6.0 * over.min(0.25) + (over - 0.25).max(0.0)
        };
        let (log_bytes, cost) = (libm::log(bytes), libm::log(cost));
        match self {
            Prefer::Small => budget(11.95, 0.25) + 0.45 * cost,
            Prefer::Balanced => log_bytes + 0.5 * cost,
            Prefer::Fast => 0.5 * log_bytes + cost,
            Prefer::Sharp => budget(23.9, 0.5) + 0.1 * cost,
        }
    }
}

/// The logarithm of the ratio by which a value exceeds its maximum, or 0.
pub fn over(value: f64, max: f64) -> f64 {
    libm::log(value / max).max(0.0)
}
