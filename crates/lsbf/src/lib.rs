#![doc = include_str!("../README.md")]
#![deny(missing_docs)]

pub mod balance;
pub mod binomial;
pub mod design;
pub mod error;
pub mod filter;
mod handle;
pub mod hash;
pub mod interrupt;
pub mod limits;
pub mod memory;
pub mod mix;
pub mod params;
pub mod prefetch;
pub mod rates;
pub mod vector;

pub use design::Options;
pub use error::Error;
pub use handle::Filter;
pub use params::{Kind, Metric};
pub use vector::Vector;
