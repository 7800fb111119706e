//! The kinds of filters.

use serde::{Deserialize, Serialize};

/// The three filters of the papers, the multi-probe LSBF and the quotient filter. New kinds are appended, because the
/// variant's number is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kind {
    /// Distance-sensitive Bloom filter (Kirsch and Mitzenmacher 2006).
    Dsbf,
    /// Locality-sensitive Bloom filter (Hua and others 2012).
    Lsbf,
    /// Integer-granularity locality-sensitive Bloom filter (Qian and others 2016).
    Ilbf,
    /// LSBF with `match => 'any'`: a query tries several keys per table, and a minimum number of tables must contain
    /// one.
    Probing,
    /// Locality-sensitive quotient filter: a cell and a code of every member.
    Lsqf,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Kind; 5] = [Kind::Dsbf, Kind::Lsbf, Kind::Ilbf, Kind::Probing, Kind::Lsqf];
    /// The kinds of the papers.
    pub const OF_PAPERS: [Kind; 3] = [Kind::Dsbf, Kind::Lsbf, Kind::Ilbf];

    /// The name in SQL. Both kinds of LSBF have the same one.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Dsbf => "dsbf",
            Kind::Lsbf | Kind::Probing => "lsbf",
            Kind::Ilbf => "ilbf",
            Kind::Lsqf => "lsqf",
        }
    }
}
