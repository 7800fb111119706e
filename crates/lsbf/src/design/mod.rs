//! From what a user wants to the parameters of a filter.
//!
//! [`options`] are given by hand, [`papers`] derives the parameters of the papers' filters from them. [`request`] says what is
//! wanted and [`data`] what is known of the data, from a sample ([`reservoir`], [`sample`]) or assumed; [`choose`] finds the
//! filters that serve best, and [`advise`] does all of this at once.

pub mod advise;
pub mod choose;
mod crowd;
pub mod data;
mod hits;
pub(crate) mod options;
mod papers;
pub mod request;
pub mod reservoir;
pub mod rows;
pub mod sample;

use crate::error::Result;
use crate::params::{Kind, Metric, Params};
pub use options::Options;

/// The parameters of a filter, and its dims (0 if they are to be taken from the first vector).
pub fn parameters(kind: Kind, metric: Metric, options: &Options) -> Result<(Params, u32)> {
    match kind {
        Kind::Probing => choose::parameters(metric, options),
        _ => papers::parameters(kind, metric, options),
    }
}
