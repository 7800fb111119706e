//! The sections of docs/papers.md.

pub mod dsbf;
pub mod grid;
pub mod ilbf;
pub mod lecture;
pub mod lsbf;
pub mod lsqf;
