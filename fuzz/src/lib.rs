//! Code shared by the fuzz targets.

pub mod guard;
pub mod mutate;
pub mod promises;
pub mod vectors;
