//! Code shared by the programs in src/bin: data, experiments, plots.

pub mod copy;
pub mod data;
pub mod experiments;
pub mod filters;
pub mod modules;
pub mod plot;
