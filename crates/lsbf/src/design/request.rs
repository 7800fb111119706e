//! What a user wants of a filter.

use crate::error::{Error, Result};

/// What is wanted.
#[derive(Debug, Clone, Default)]
pub struct Request {
    pub near: f64,
    pub far: f64,
    pub capacity: u64,
    /// 0 if not known.
    pub dims: u32,
    pub goals: Goals,
}

/// How good the filter has to be.
#[derive(Debug, Clone, Copy, Default)]
pub struct Goals {
    /// The share of rows at far that may pass.
    pub fpr: Option<f64>,
    /// The share of rows at near that may be missed.
    pub fnr: Option<f64>,
    pub prefer: Prefer,
}

/// What matters most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Prefer {
    Small,
    #[default]
    Balanced,
    Fast,
    Sharp,
}

impl Prefer {
    const ALL: [(Prefer, &'static str); 4] =
        [(Prefer::Small, "small"), (Prefer::Balanced, "balanced"), (Prefer::Fast, "fast"), (Prefer::Sharp, "sharp")];

    pub fn parse(name: &str) -> Result<Prefer> {
        let found = Prefer::ALL.into_iter().find(|(_, known)| known.eq_ignore_ascii_case(name));
        found.map(|(prefer, _)| prefer).ok_or_else(|| {
            let names = Prefer::ALL.map(|(_, name)| name).join(", ");
            Error::parameter(format!("unknown preference \"{name}\""))
                .with_hint(format!("The preferences are {names}."))
        })
    }

    /// The rates that are aimed at where none are given: of rows at far that pass, and of rows at near that do not.
    pub fn rates(self) -> (f64, f64) {
        match self {
            Prefer::Small => (0.135, 0.0175),
            Prefer::Balanced => (0.05, 0.01),
            Prefer::Fast => (0.08, 0.01),
            Prefer::Sharp => (0.006, 0.0135),
        }
    }

    /// Of rows that have no member within far, no more than this share of the rate at far should pass.
    pub fn unrelated(self) -> f64 {
        match self {
            Prefer::Small => 0.065,
            Prefer::Balanced | Prefer::Fast => 0.13,
            Prefer::Sharp => 0.08,
        }
    }

    /// What is to be as low as can be.
    pub fn price(self, bytes: f64, cost: f64) -> f64 {
        // Up to so many bytes they weigh little, then much up to a quarter more, and then as usual.
        let budget = |most: f64, weight: f64| {
            let over = over(bytes, most);
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

/// By how much a rate is too high, as a logarithm.
pub fn over(rate: f64, most: f64) -> f64 {
    libm::log(rate / most).max(0.0)
}
