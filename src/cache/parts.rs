//! A stored filter, of which a query reads only the blocks that it needs.

use super::filters::{self, Whole};
use crate::boundary::error::raise;
use crate::boundary::toast::{Toasted, truncated};
use lsbf::filter::bits::Fetch;
use lsbf::filter::format::{RESERVED, View};
use std::cell::{OnceCell, RefCell};
use std::collections::BTreeMap;

/// Words fetched at once: a chunk of a TOAST table is about four times as large.
const BLOCK: usize = 64;
/// A query may fetch at least this many blocks of any filter.
const MIN_BLOCKS: usize = 64;
/// Fetching a block takes about as long as reading this many bytes of the whole filter.
pub const BLOCK_COST: usize = 16 << 10;

/// A stored filter that is read block by block.
pub struct Parts<'a> {
    /// Everything before the bits.
    pub front: View<'a>,
    toasted: Toasted,
    /// The blocks fetched so far, by their numbers.
    blocks: RefCell<BTreeMap<usize, [u64; BLOCK]>>,
    /// The whole filter, once a query has read so much of it that this is cheaper.
    whole: OnceCell<Whole<'a>>,
}

impl<'a> Parts<'a> {
    pub fn new(front: View<'a>, toasted: Toasted) -> Self {
        Parts { front, toasted, blocks: RefCell::default(), whole: OnceCell::new() }
    }

    /// Words of the whole filter.
    pub fn words(&self) -> usize {
        self.toasted.size() / 8
    }

    fn fetch_block(&self, number: usize) -> [u64; BLOCK] {
        let start = self.front.header.body_start() + number * BLOCK;
        let count = self.words().saturating_sub(start).min(BLOCK);
        let bytes = self.toasted.fetch_exact(start * 8 - RESERVED, count * 8);
        let mut words = [0; BLOCK];
        for (word, bytes) in words.iter_mut().zip(bytes.as_chunks::<8>().0) {
            *word = u64::from_le_bytes(*bytes);
        }
        words
    }

    /// Whether a query reads so much of the filter that reading the whole costs less.
    fn is_too_much(&self) -> bool {
        self.blocks.borrow().len() >= MIN_BLOCKS.max(self.toasted.size() / BLOCK_COST / 2)
    }

    /// The whole filter, which is kept for the next query.
    fn read_whole(&self) -> Whole<'a> {
        filters::whole(self.toasted.datum()).unwrap_or_else(|error| raise(error))
    }
}

impl Fetch for Parts<'_> {
    fn word(&self, at: usize) -> u64 {
        let (number, place) = (at / BLOCK, at % BLOCK);
        if let Some(block) = self.blocks.borrow().get(&number) {
            return block[place];
        }
        if self.is_too_much() {
            let whole = self.whole.get_or_init(|| self.read_whole());
            let word = whole.words.get(whole.header.body_start() + at);
            return word.map_or_else(|| raise(truncated()), |word| u64::from_le(*word));
        }
        let block = self.fetch_block(number);
        self.blocks.borrow_mut().insert(number, block);
        block[place]
    }
}

impl Drop for Parts<'_> {
    /// Counts the blocks: the count decides when the whole filter is read.
    fn drop(&mut self) {
        filters::count_fetched(&self.toasted, self.blocks.borrow().len());
    }
}
