//! Derives the parameters of a filter from the user's requirements.
//!
//! [`parameters`] derives the missing parameters from [`Options`]: `papers` for the papers' filters, [`choose`] for
//! those with `match => 'any'`. A [`request`] has the requirements, and [`data`] is a model of the data, which is
//! assumed or taken from a sample ([`reservoir`], [`sample`]). [`choose`] searches for the best filters, and [`advise`]
//! combines all of this.

pub mod advise;
pub mod choose;
mod crowd;
pub mod data;
mod hits;
pub(crate) mod options;
mod papers;
pub mod quotient;
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
        Kind::Dsbf => papers::parameters(kind, metric, options, papers::derive_dsbf),
        Kind::Lsbf => papers::parameters(kind, metric, options, papers::derive_lsbf),
        Kind::Ilbf => papers::parameters(kind, metric, options, papers::derive_ilbf),
        Kind::Probing => choose::parameters(metric, options),
        Kind::Lsqf => quotient::parameters(metric, options),
    }
}
