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
