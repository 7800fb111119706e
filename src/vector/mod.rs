//! Vectors, bit strings and sets read from the arguments of a call.

pub mod arrays;
pub mod pgvector;
mod shingles;
