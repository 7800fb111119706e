//! What the programs share: data, experiments, plots.

pub mod copy;
pub mod data;
pub mod experiments;
pub mod filters;
pub mod modules;
pub mod plot;
