//! What the fuzz targets share.

pub mod guard;
pub mod mutate;
pub mod promises;
pub mod vectors;
