//! Where calls, values, errors and memory cross between PostgreSQL and Rust.

pub mod call;
pub mod context;
pub mod encoding;
pub mod error;
pub mod guard;
pub mod image;
// The programs that run tests are no servers: they have no errors to raise.
#[cfg(not(feature = "pg_test"))]
mod heap;
pub mod rows;
pub mod signature;
pub mod toast;
pub mod varlena;
