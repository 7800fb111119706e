//! What every kind of filter can do with a body of bits, wherever that is stored.

use super::bits::{Body, BodyMut};
use crate::error::Result;
use crate::vector::Vector;

/// What a filter counts of its bits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    pub ones: u64,
    /// ILBF: sum over all Blooms of their bits set, squared.
    pub squares: u64,
}

impl std::ops::AddAssign for Counters {
    fn add_assign(&mut self, more: Counters) {
        self.ones += more.ones;
        self.squares += more.squares;
    }
}

/// A kind of filter: its hash functions, and the memory that a row needs. Vectors are started, then queried or added.
pub(super) trait Kind {
    /// Hashes a vector, whose type and dimensions were checked, as far as a query needs.
    fn start(&mut self, vector: &Vector) -> Result<()>;

    /// Whether the vector has a near member.
    fn contains<B: Body + ?Sized>(&mut self, counters: Counters, body: &B, theta: f64) -> Result<bool>;

    /// The number that is compared with the threshold.
    fn votes<B: Body + ?Sized>(&mut self, body: &B, theta: f64) -> Result<u32>;

    /// Makes the vector a member. Returns a hash of its content, and what is added to the counters.
    fn add<B: BodyMut + ?Sized>(&mut self, body: &mut B, vector: &Vector) -> Result<(u64, Counters)>;

    /// The bytes it holds.
    fn bytes(&self) -> usize;
}
