//! Where calls, values, errors and memory cross between PostgreSQL and Rust.

pub mod call;
pub mod context;
pub mod encoding;
pub mod error;
pub mod guard;
// The programs that run tests are no servers: they have no errors to raise.
#[cfg(not(feature = "pg_test"))]
mod heap;
pub mod rows;
pub mod signature;
