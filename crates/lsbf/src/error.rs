//! The error type of this crate: a message in PostgreSQL's style and the SQLSTATE it is reported with.

/// The class of an error, which the extension maps to an SQLSTATE.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Code {
    /// 22023: a parameter is out of range or two parameters contradict each other.
    Parameter,
    /// 22000: the data does not match the filter.
    Data,
    /// 22P02: invalid text representation of a filter or a vector.
    Text,
    /// 22P03: invalid binary representation of a filter.
    Binary,
    /// 54000: a limit is exceeded.
    TooLarge,
    /// 53200: a fallible allocation failed.
    OutOfMemory,
    /// 42P01: undefined table.
    NoTable,
    /// 42703: undefined column.
    NoColumn,
    /// 22021: bytes that are not valid text in the server's encoding.
    Encoding,
    /// 42P13: an SQL function was declared with argument types that its implementation does not support.
    Declaration,
    /// 55000: a table was changed while it was being read.
    Changed,
    /// 0A000: a function was called where its result cannot be returned.
    Context,
    /// 42809: a window function was called as a plain function.
    WrongCall,
}

/// An error with an optional hint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    /// The class of the error.
    pub code: Code,
    /// The primary message: lower case, without a period.
    pub message: String,
    /// What to do next, as a sentence.
    pub hint: Option<String>,
}

/// The result of a fallible operation of this crate.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// An error without a hint.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Error { code, message: message.into(), hint: None }
    }

    /// An error of class [`Code::Parameter`].
    pub fn parameter(message: impl Into<String>) -> Self {
        Self::new(Code::Parameter, message)
    }

    /// An error of class [`Code::Data`].
    pub fn data(message: impl Into<String>) -> Self {
        Self::new(Code::Data, message)
    }

    /// An error of class [`Code::TooLarge`].
    pub fn too_large(message: impl Into<String>) -> Self {
        Self::new(Code::TooLarge, message)
    }

    /// `near` was omitted.
    pub fn no_near() -> Self {
        Self::parameter("near must be specified").with_hint(
            "It is the distance within which two vectors count as close. \
             Look at the distances between rows that belong together; hamming and jaccard distances range from 0 to 1.",
        )
    }

    /// `capacity` was omitted.
    pub fn no_capacity() -> Self {
        Self::parameter("capacity must be specified").with_hint(
            "It is the number of members that the filter is designed for. \
             lsbf_design_for(table, column, near => ...) takes it from a table.",
        )
    }

    /// The prototype is NULL.
    pub fn no_prototype() -> Self {
        Self::parameter("prototype must not be null")
            .with_hint("Create one with lsbf_design_for, lsqf_new, dsbf_new, lsbf_new or ilbf_new.")
    }

    /// The rows of one `scope`, a group or a partition, have different prototypes.
    pub fn prototypes_differ(scope: &str, difference: Option<Error>) -> Self {
        let difference =
            difference.map_or_else(|| "the prototypes have different members".into(), |error| error.message);
        Self::parameter(format!("prototype must be the same for all rows of a {scope}: {difference}"))
            .with_hint("Pass it as a subquery, (SELECT prototype FROM ...), which is evaluated only once.")
    }

    /// A prototype of an aggregate over a quotient filter that has members: every parallel worker would add them.
    pub fn prototype_has_members() -> Self {
        Self::parameter("the prototype of a filter of kind lsqf must not have members").with_hint(
            "Aggregate with an empty prototype, and merge the result: filter | lsbf_agg(vec, lsbf_empty(filter)).",
        )
    }

    /// A zero vector, for metric cosine.
    pub fn zero_vector() -> Self {
        Self::data("cosine distance is not defined for zero vectors")
            .with_hint("Aggregates skip NULLs: CASE WHEN ... THEN vec END leaves such rows out.")
    }

    /// An empty set.
    pub fn empty_set() -> Self {
        Self::data("Jaccard distance is not defined for empty sets")
            .with_hint("Aggregates skip NULLs: nullif(elements, '{}') leaves such rows out.")
    }

    /// Adds a hint: a sentence that tells what to do next.
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
