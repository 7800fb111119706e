//! The filters: how they are stored, queried and changed.
//!
//! [`format`] is the layout of a filter's bytes, [`kind`] what every kind can do with its bits, [`engine::Engine`] the
//! expanded hash functions that serve all filters with the same parameters, and [`change`] adds and merges.

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
pub mod owned;
pub mod probing;
pub(crate) mod queried;
pub mod sketch;

pub use engine::{Adds, Engine};
pub use kind::Counters;
pub use owned::Owned;
pub use queried::Queried;
