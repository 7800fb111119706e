//! A filter to query, in whatever form its bits are stored.

use super::bits::Fetch;
use super::format::{Bits, View};
use super::kind::Counters;
use super::sparse::Sparse;

/// A filter to query.
#[derive(Clone, Copy)]
pub struct Queried<'a> {
    /// The counters; `None` for a filter without members.
    pub counters: Option<Counters>,
    /// The bits.
    pub body: Source<'a>,
}

/// The bits of a filter.
#[derive(Clone, Copy)]
pub enum Source<'a> {
    /// Words in memory.
    Words(&'a [u64]),
    /// A list in memory.
    List(Sparse<'a>),
    /// Words that are fetched on demand.
    Fetched(&'a dyn Fetch),
}

/// Calls a generic function with the bits in their form.
macro_rules! body {
    ($queried:expr, $body:ident => $call:expr) => {
        match $queried.body {
            Source::Words($body) => $call,
            Source::List(ref $body) => $call,
            Source::Fetched($body) => $call,
        }
    };
}
pub(super) use body;

impl<'a> View<'a> {
    /// The filter to query.
    #[inline]
    pub fn queried(&self) -> Queried<'a> {
        let body = match self.body() {
            Bits::Words(words) => Source::Words(words),
            Bits::List(list) => Source::List(list),
        };
        Queried { counters: self.header.counters(), body }
    }

    /// The filter to query if only the words before the bits are in memory.
    #[inline]
    pub fn queried_by<'b>(&self, bits: &'b dyn Fetch) -> Queried<'b> {
        Queried { counters: self.header.counters(), body: Source::Fetched(bits) }
    }
}
