//! A model of the data that a filter is designed for.

/// Sample queries, and the members around them.
#[derive(Debug, Clone, Default)]
pub struct Data {
    /// The sample queries, at least one.
    pub cases: Vec<Case>,
    /// Whether directions may be hashed, because vectors have about the same length.
    pub directions: bool,
    /// The centre that is subtracted before directions are hashed; empty for none.
    pub centre: Vec<f32>,
}

/// A sample query: its length, and the members around it.
#[derive(Debug, Clone, Default)]
pub struct Case {
    /// Whether no member is within far. The false positive rate of unrelated rows is estimated from such queries, if
    /// there are any.
    pub is_unrelated: bool,
    /// The l2 norm after normalization to length 1 (cosine only) and subtraction of the centre; 0 if it does not apply.
    pub length: f64,
    /// The members that are not within far, grouped by distance.
    pub others: Vec<Others>,
}

/// A group of members at about the same distance from a query.
#[derive(Debug, Clone, Copy, Default)]
pub struct Others {
    /// The mean distance.
    pub distance: f64,
    /// The mean chord between the directions of query and member, if directions are hashed.
    pub chord: f64,
    /// The number of members.
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
