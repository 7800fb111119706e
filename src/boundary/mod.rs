//! Where calls, values, errors and memory cross between PostgreSQL and Rust.

pub mod call;
pub mod context;
pub mod encoding;
pub mod error;
pub mod guard;
pub mod image;
// Test programs run outside of a server, where no error can be raised.
#[cfg(not(feature = "pg_test"))]
mod heap;
pub mod rows;
pub mod signature;
pub mod toast;
pub mod varlena;
