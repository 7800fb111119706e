//! What is known of the data.

/// The members, as seen from some queries.
#[derive(Debug, Clone, Default)]
pub struct Data {
    /// At least one.
    pub cases: Vec<Case>,
    /// Whether directions may be hashed: vectors have about the same length.
    pub directions: bool,
    /// What is subtracted first if directions are hashed; empty for nothing.
    pub centre: Vec<f32>,
}

/// A query: its length, and the members around it.
#[derive(Debug, Clone, Default)]
pub struct Case {
    /// Whether no member lies within far. The rate at which unrelated rows pass is estimated from these, if there are any.
    pub is_unrelated: bool,
    /// Its length after the centre is subtracted; for cosine, that of a vector of length 1. 0 if it has no meaning.
    pub length: f64,
    /// Members that are not near.
    pub others: Vec<Others>,
}

/// Some members at about the same distance.
#[derive(Debug, Clone, Copy, Default)]
pub struct Others {
    pub distance: f64,
    /// The chord of the two directions, if directions are hashed.
    pub chord: f64,
    pub members: f64,
}

impl Data {
    /// The median length of the queries.
    pub fn typical_length(&self) -> f64 {
        let mut lengths: Vec<f64> = self.cases.iter().map(|case| case.length).filter(|length| *length > 0.0).collect();
        lengths.sort_by(f64::total_cmp);
        lengths.get(lengths.len() / 2).copied().unwrap_or(1.0)
    }
}
