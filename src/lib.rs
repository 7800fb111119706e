//! Locality-sensitive Bloom filters for PostgreSQL.
#[cfg(any(feature = "pg14", feature = "pg15", feature = "pg16", feature = "pg17", feature = "pg18"))]
pub mod pg;
#[cfg(all(test, feature = "pg_test"))]
pub use pg::pg_test;
