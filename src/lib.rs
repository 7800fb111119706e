//! Locality-sensitive Bloom filters for PostgreSQL: is anything over there close to this?
//!
//! `hash`, `filter` and `theory` are pure Rust; `pg` is the glue and exists only where a `pgNN` feature is on.

pub mod error;
pub mod filter;
pub mod hash;
pub mod limits;
pub mod memory;
pub mod pause;
pub mod prefetch;
pub mod theory;
pub mod vector;

#[cfg(any(feature = "pg15", feature = "pg16", feature = "pg17", feature = "pg18"))]
pub mod pg;

/// `cargo pgrx test` looks for this at the root of the crate.
#[cfg(all(test, feature = "pg_test"))]
pub use pg::pg_test;
