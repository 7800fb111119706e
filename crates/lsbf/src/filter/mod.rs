//! The filters: how they are stored, queried and changed.
//!
//! [`mod@format`] defines the bytes of a filter, `kind` the operations of every kind on its bits, [`Engine`] holds the
//! expanded hash functions of all filters with the same parameters, and [`change`] adds members and merges filters.

pub mod bits;
pub mod change;
pub mod count;
pub mod dsbf;
pub(crate) mod engine;
pub mod format;
pub mod ilbf;
pub(crate) mod kind;
pub mod list;
pub(crate) mod lsbf;
pub mod lsqf;
pub mod owned;
pub mod probing;
pub(crate) mod queried;
pub mod sketch;
pub mod sparse;

pub use engine::{Adds, Engine};
pub use kind::Counters;
pub use owned::Owned;
pub use queried::{Queried, Source};
