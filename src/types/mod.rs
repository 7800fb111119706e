//! The type `lsbf`: constructors, input and output, comparison, and functions that describe a filter.

pub mod compare;
pub mod inspect;
pub mod io;
pub mod new;
