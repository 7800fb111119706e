//! The one error type of the pure core: a message in PostgreSQL's style and the class of SQLSTATE it belongs to.

/// The class of an error; the glue maps each to an SQLSTATE.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Code {
    /// 22023: a parameter is out of range or two parameters contradict each other.
    Parameter,
    /// 22000: the data do not fit the filter.
    Data,
    /// 22P02: text that is not a filter or a vector.
    Text,
    /// 22P03: bytes that are not a filter.
    Binary,
    /// 54000: larger than the limits allow.
    TooLarge,
    /// 53200: no memory for the expanded functions.
    OutOfMemory,
    /// 42P01: there is no such table.
    NoTable,
    /// 42703: a table has no such column.
    NoColumn,
    /// 22021: bytes that are no text.
    Encoding,
    /// 42P13: an SQL function was declared with types that its code does not read.
    Declaration,
    /// 55000: a table was changed while it was looked at.
    Changed,
}

/// What went wrong, and what would work where that is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    pub code: Code,
    pub message: String,
    pub hint: Option<String>,
}

pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Error { code, message: message.into(), hint: None }
    }

    pub fn parameter(message: impl Into<String>) -> Self {
        Self::new(Code::Parameter, message)
    }

    pub fn data(message: impl Into<String>) -> Self {
        Self::new(Code::Data, message)
    }

    pub fn too_large(message: impl Into<String>) -> Self {
        Self::new(Code::TooLarge, message)
    }

    /// `near` was left out.
    pub fn no_near() -> Self {
        Self::parameter("near must be given: the distance within which vectors count as close")
            .with_hint("Look at the distances of rows that belong together, in the unit of the metric; hamming and jaccard go from 0 to 1.")
    }

    /// `capacity` was left out.
    pub fn no_capacity() -> Self {
        Self::parameter("capacity must be given: the number of members the filter is to hold")
            .with_hint("lsbf_design_for(table, column, near => ...) takes it, and all else, from a table.")
    }

    /// The prototype was left out.
    pub fn no_prototype() -> Self {
        Self::parameter("prototype must not be null")
            .with_hint("Make one with lsbf_design_for, dsbf_new, lsbf_new or ilbf_new.")
    }

    /// Rows of one `scope`, a group or a partition, came with different prototypes.
    pub fn prototypes_differ(scope: &str, difference: Option<Error>) -> Self {
        let difference = difference.map_or_else(|| "they have different members".into(), |error| error.message);
        Self::parameter(format!("the prototype must be the same for all rows of a {scope}: {difference}"))
            .with_hint("Give it as a subquery, (SELECT prototype FROM ...), which is evaluated once.")
    }

    /// A vector of length zero, under cosine.
    pub fn zero_vector() -> Self {
        Self::data("a zero vector has no direction, so no cosine distance")
            .with_hint("Aggregates pass over NULL: CASE WHEN ... THEN vec END leaves such rows out.")
    }

    /// A set without elements.
    pub fn empty_set() -> Self {
        Self::data("an empty set has no Jaccard distance to another set")
            .with_hint("Aggregates pass over NULL: nullif(elements, '{}') leaves such rows out.")
    }

    /// What would work: a sentence, with the function to call where there is one.
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}
