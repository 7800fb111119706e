//! The type `lsbf`: how it is made, stored, shown, compared and described.

pub mod compare;
pub mod inspect;
pub mod io;
pub mod new;
