//! Queries of a filter, and the estimates that the planner uses for them.

pub mod member;
pub mod planner;
