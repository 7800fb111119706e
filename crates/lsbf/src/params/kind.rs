//! The kinds of filters.

use serde::{Deserialize, Serialize};

/// The three filters of the papers, and the LSBF of which any table may answer. New kinds are appended: the number is
/// stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kind {
    /// Distance-sensitive Bloom filter (Kirsch and Mitzenmacher 2006).
    Dsbf,
    /// Locality-sensitive Bloom filter (Hua and others 2012).
    Lsbf,
    /// Integer-granularity locality-sensitive Bloom filter (Qian and others 2016).
    Ilbf,
    /// LSBF with `match => 'any'`: every table tries several keys of a query, and some tables must know one.
    Probing,
}

impl Kind {
    pub const ALL: [Kind; 4] = [Kind::Dsbf, Kind::Lsbf, Kind::Ilbf, Kind::Probing];
    /// The kinds of the papers.
    pub const OF_PAPERS: [Kind; 3] = [Kind::Dsbf, Kind::Lsbf, Kind::Ilbf];

    pub fn name(self) -> &'static str {
        match self {
            Kind::Dsbf => "dsbf",
            Kind::Lsbf | Kind::Probing => "lsbf",
            Kind::Ilbf => "ilbf",
        }
    }
}
