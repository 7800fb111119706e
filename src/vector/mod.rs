//! Vectors, bit strings and sets read from the arguments of a call.

pub mod arrays;
mod distance;
pub mod pgvector;
mod shingles;
