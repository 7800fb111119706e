//! A filter as a query sees it, in whatever form its bits are.

use super::bits::Fetch;
use super::format::{Bits, View};
use super::kind::Counters;
use super::list::Sparse;

/// A filter to be queried.
#[derive(Clone, Copy)]
pub struct Queried<'a> {
    /// `None` for a filter without members.
    pub counters: Option<Counters>,
    pub body: Source<'a>,
}

/// Where the bits are.
#[derive(Clone, Copy)]
pub enum Source<'a> {
    Words(&'a [u64]),
    List(Sparse<'a>),
    Fetched(&'a dyn Fetch),
}

/// Calls a function with the bits, in whichever form they are.
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
    /// The filter as a query sees it.
    #[inline]
    pub fn queried(&self) -> Queried<'a> {
        let body = match self.body() {
            Bits::Words(words) => Source::Words(words),
            Bits::List(list) => Source::List(list),
        };
        Queried { counters: self.header.counters(), body }
    }

    /// The same if only the words before the bits are in memory.
    #[inline]
    pub fn queried_by<'b>(&self, bits: &'b dyn Fetch) -> Queried<'b> {
        Queried { counters: self.header.counters(), body: Source::Fetched(bits) }
    }
}
