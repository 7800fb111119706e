//! A model of the data that a filter is designed for.

/// Sample queries, and the members around them.
#[derive(Debug, Clone, Default)]
pub struct Data {
    /// The sample queries, at least one.
    pub cases: Vec<Case>,
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
    /// The number of members.
    pub members: f64,
}
