//! Locality-sensitive Bloom filters.

pub mod balance;
pub mod binomial;
pub mod design;
pub mod error;
pub mod filter;
pub mod hash;
pub mod interrupt;
pub mod limits;
pub mod memory;
pub mod mix;
pub mod params;
pub mod prefetch;
pub mod rates;
pub mod vector;
