//! Queries of a filter, and what the planner knows of them.

pub mod member;
pub mod planner;
