//! The operations of every kind of filter on its bits, in whatever form they are stored.

use super::bits::{Body, BodyMut};
use crate::error::Result;
use crate::vector::Vector;

/// The counters of a filter.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    /// The number of bits set; for quotient filters, the number of members.
    pub ones: u64,
    /// ILBF: the sum, over all small Bloom filters, of the square of the number of bits set.
    pub squares: u64,
}

impl std::ops::AddAssign for Counters {
    fn add_assign(&mut self, more: Counters) {
        self.ones += more.ones;
        self.squares += more.squares;
    }
}

/// A kind of filter: its hash functions and scratch memory for one vector. [`Kind::start`] is called before all others.
pub(super) trait Kind {
    /// Hashes a vector whose type and dimensions have been checked, as far as a query needs.
    fn start(&mut self, vector: &Vector) -> Result<()>;

    /// Whether the filter probably has a member within theta x near.
    fn contains<B: Body + ?Sized>(&mut self, counters: Counters, body: &B, theta: f64) -> Result<bool>;

    /// The number of votes, which is compared with the threshold.
    fn votes<B: Body + ?Sized>(&mut self, counters: Counters, body: &B, theta: f64) -> Result<u32>;

    /// Bytes of memory held.
    fn bytes(&self) -> usize;
}

/// A kind of filter whose members set bits.
pub(super) trait BitKind: Kind {
    /// Adds the vector. Returns a hash of its content, and by how much the counters grew.
    fn add<B: BodyMut + ?Sized>(&mut self, body: &mut B, vector: &Vector) -> Result<(u64, Counters)>;
}
