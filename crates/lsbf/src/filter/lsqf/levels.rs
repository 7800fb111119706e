//! Members that are added one by one and queried in between, for window functions.
//!
//! A new member is appended to a short list. When the list is full, it is merged with the smallest levels into a larger one.
//! Levels are stored like filters, and each is eight times as large as the one before, so that a member is moved a few times
//! only and a query searches few levels.

use super::super::change::Memory;
use super::body::{self, FEW, Members, Parts};
use super::change::{merge, too_large};
use super::fingerprint::Fingerprint;
use crate::error::Result;
use crate::limits::MAX_BYTES;
use crate::params::Layout;

/// The largest number of levels.
const LEVELS: usize = 12;
/// The ratio of the sizes of two levels, as a power of two.
const RATIO_BITS: u32 = 3;

/// The members, in memory of `M`. Nothing has to be dropped if that memory is freed by other means.
pub struct Levels<M: Memory> {
    memory: M,
    /// The last members in any order; allocated when the first is added.
    recent: Option<M::Image>,
    recent_count: u64,
    levels: [Option<Level<M::Image>>; LEVELS],
}

struct Level<I> {
    members: u64,
    body: I,
}

impl<M: Memory> Levels<M> {
    /// No members.
    pub fn new(memory: M) -> Levels<M> {
        Levels { memory, recent: None, recent_count: 0, levels: std::array::from_fn(|_| None) }
    }

    /// Starts with some members, which must be in order.
    pub fn start(&mut self, layout: &Layout, count: u64, members: impl Iterator<Item = Fingerprint>) -> Result<()> {
        let at = (0..LEVELS - 1).find(|&at| count <= capacity(at)).unwrap_or(LEVELS - 1);
        self.levels[at] = (count > 0).then(|| self.write(layout, count, members)).transpose()?;
        Ok(())
    }

    /// Calls `each` with every list of members until it returns true; returns whether it did.
    #[inline]
    pub fn any(&self, layout: &Layout, mut each: impl FnMut(Parts, &[u64]) -> bool) -> bool {
        let recent = self.recent.as_ref().filter(|_| self.recent_count > 0);
        recent.is_some_and(|recent| each(Parts::unordered(layout, self.recent_count), recent))
            || self.levels.iter().flatten().any(|level| each(Parts::new(layout, level.members), &level.body))
    }

    /// Adds a member.
    pub fn add(&mut self, layout: &Layout, member: &Fingerprint) -> Result<()> {
        if self.recent_count == FEW {
            self.merge(layout)?;
        }
        let words = Parts::unordered(layout, FEW).words() as usize;
        let recent = self.recent.get_or_insert_with(|| self.memory.zeroed(words));
        body::append(layout, recent, self.recent_count, member);
        self.recent_count += 1;
        Ok(())
    }

    /// Merges the recent members and the smallest levels into one level that has room for all of them.
    fn merge(&mut self, layout: &Layout) -> Result<()> {
        let Some(recent) = &mut self.recent else { return Ok(()) };
        let mut few: Vec<Fingerprint> = Members::unordered(layout, self.recent_count, &**recent).collect();
        few.sort_unstable();
        recent.fill(0);
        self.recent_count = 0;
        let (mut count, mut at) = (few.len() as u64, 0);
        while at < LEVELS {
            count += self.levels[at].as_ref().map_or(0, |level| level.members);
            if count <= capacity(at) {
                break;
            }
            at += 1;
        }
        let at = at.min(LEVELS - 1);
        let merged = {
            let mut all: Box<dyn Iterator<Item = Fingerprint>> = Box::new(few.into_iter());
            for level in self.levels[..=at].iter().flatten() {
                all = Box::new(merge(all, Members::new(layout, level.members, &*level.body)));
            }
            self.write(layout, count, all)?
        };
        for level in &mut self.levels[..=at] {
            if let Some(level) = level.take() {
                self.memory.free(level.body);
            }
        }
        self.levels[at] = Some(merged);
        Ok(())
    }

    fn write(&self, layout: &Layout, members: u64, all: impl Iterator<Item = Fingerprint>) -> Result<Level<M::Image>> {
        let parts = Parts::new(layout, members);
        if parts.words() > MAX_BYTES / 8 {
            return Err(too_large(parts.words().saturating_mul(8)));
        }
        let mut body = self.memory.zeroed(parts.words() as usize);
        body::write(layout, &parts, &mut body, all);
        Ok(Level { members, body })
    }
}

/// The largest number of members of a level.
fn capacity(level: usize) -> u64 {
    FEW << (RATIO_BITS * (level as u32 + 1))
}
