//! The stored members of a quotient filter: their fingerprints in ascending order.
//!
//! ```text
//! directory  for every two blocks of eight prefixes of cells, 24 bytes: for each block, 4 bytes with the number of members
//!            of smaller prefixes, its base; then for each block, a byte per prefix
//! crowds     for some blocks, 4 bytes per prefix
//! entries    for every member, the bits of its code, then those of its cell that are not part of the prefix
//! padding    one zero word
//! ```
//! The members of a prefix end where those of the next one begin. Their end is stored relative to the base of the block in a
//! byte. A block with 255 members or more is crowded: its last byte is 255, the first four are the number of its crowd, and
//! its ends are there. Crowds are numbered in the order of their blocks. There is space for as many as there can be, so that
//! the size of a body depends only on the number of members.
//!
//! All parts are padded with zeros to whole words. The number of bits of a prefix depends on the number of members; without a
//! prefix, there is no directory.

use super::super::bits::Body;
use super::fingerprint::{CODE_WORDS, Code, Fingerprint};
use crate::interrupt;
use crate::params::Layout;

/// The number of members up to which there is no directory.
pub const FEW: u64 = 64;
/// Prefixes of a block, and words of two blocks in the directory.
const BLOCK: u64 = 8;
const PAIR: u64 = 3;
/// Members of a block that is crowded, and the byte that is the last one of such a block.
const CROWDED: u64 = 255;
/// Words of a crowd.
const CROWD: u64 = 4;

/// Where the parts of a body are.
#[derive(Debug, Clone, Copy)]
pub struct Parts {
    /// The number of members.
    pub members: u64,
    /// The number of bits of a prefix.
    pub prefix_bits: u32,
    /// The bits of a cell that are stored with a code.
    pub rest_bits: u32,
    /// The bits of a code.
    code_bits: u32,
    /// The first words of the crowds and of the entries.
    crowds: u64,
    entries: u64,
}

/// The number of bits of a prefix for a number of members: fewer members need a smaller directory.
pub fn prefix_bits(layout: &Layout, members: u64) -> u32 {
    /// The largest number of members for prefixes of one, two, ... polytopes.
    const CORNERS: [(u64, u32); 3] = [(1 << 12, 7), (1 << 17, 14), (1 << 21, 18)];
    let bits = match layout.grid {
        _ if members <= FEW => 0,
        0 => CORNERS.iter().find(|(most, _)| members <= *most).map_or(22, |(_, bits)| *bits),
        _ => members.ilog2(),
    };
    bits.min(layout.cell_bits)
}

impl Parts {
    /// The parts of a filter with this number of members.
    #[inline]
    pub fn new(layout: &Layout, members: u64) -> Parts {
        let prefix_bits = prefix_bits(layout, members);
        let (blocks, crowds) = match prefix_bits {
            0 => (0, 0),
            _ => {
                let blocks = (1u64 << prefix_bits) / BLOCK;
                (blocks, blocks.min(members / CROWDED))
            }
        };
        let directory = blocks / 2 * PAIR;
        Parts {
            members,
            prefix_bits,
            rest_bits: layout.cell_bits - prefix_bits,
            code_bits: layout.code_bits(),
            crowds: directory,
            entries: directory + crowds * CROWD,
        }
    }

    /// The parts of a list of members in any order, without a directory. There are at most [`FEW`] members.
    pub fn unordered(layout: &Layout, members: u64) -> Parts {
        Parts::new(layout, members.min(FEW))
    }

    /// The bits of an entry.
    #[inline]
    pub fn stride(&self) -> u64 {
        u64::from(self.code_bits + self.rest_bits)
    }

    /// Whether codes have more bits than these.
    #[inline(always)]
    pub fn has_more(&self, bits: u64) -> bool {
        u64::from(self.code_bits) > bits
    }

    /// The number of words of the body.
    pub fn words(&self) -> u64 {
        self.members.saturating_mul(self.stride()).div_ceil(64).saturating_add(self.entries).saturating_add(1)
    }

    /// The position of the first bit of an entry.
    #[inline(always)]
    pub fn entry(&self, at: u64) -> u64 {
        self.entries * 64 + at * self.stride()
    }

    /// The member whose entry is at a position.
    #[inline]
    pub fn member(&self, entry: u64) -> u64 {
        (entry - self.entries * 64) / self.stride()
    }

    /// The first word of two blocks in the directory, and the number of the block of a prefix among them.
    #[inline(always)]
    fn pair(prefix: u64) -> (usize, u64) {
        ((prefix / (2 * BLOCK) * PAIR) as usize, prefix / BLOCK % 2)
    }

    /// Prefetches the directory of a prefix.
    #[inline(always)]
    pub fn prefetch<B: Body + ?Sized>(&self, body: &B, prefix: u32) {
        let (pair, block) = Self::pair(prefix.into());
        body.prefetch(pair);
        // The words of a pair may be in two cache lines.
        body.prefetch(pair + 1 + block as usize);
    }

    /// The members with a prefix, in a filter with a directory: the number of the first one, and of the one after the last.
    #[inline(always)]
    pub fn range<B: Body + ?Sized>(&self, body: &B, prefix: u32) -> (u64, u64) {
        let (pair, block) = Self::pair(prefix.into());
        let base = body.word(pair) >> (32 * block) & 0xffff_ffff;
        let ends = body.word(pair + 1 + block as usize);
        let place = u64::from(prefix) % BLOCK;
        let (first, last) = match ends >> 56 {
            CROWDED => self.crowded(body, ends, base, place),
            _ => (base + (ends << 8 >> (8 * place) & 0xff), base + (ends >> (8 * place) & 0xff)),
        };
        // A body may be corrupt.
        let last = last.min(self.members);
        (first.min(last), last)
    }

    /// The members with a prefix of a crowded block.
    #[cold]
    fn crowded<B: Body + ?Sized>(&self, body: &B, ends: u64, base: u64, place: u64) -> (u64, u64) {
        let end = |place: u64| self.crowd(body, ends & 0xffff_ffff, place);
        (if place == 0 { base } else { end(place - 1) }, end(place))
    }

    /// An end in a crowd. If a body is corrupt, it may be outside the crowds.
    fn crowd<B: Body + ?Sized>(&self, body: &B, crowd: u64, place: u64) -> u64 {
        let word = (self.crowds + crowd * CROWD + place / 2).min(self.entries);
        body.word(word as usize) >> (place % 2 * 32) & 0xffff_ffff
    }

    /// The prefix of a member.
    pub fn prefix_of<B: Body + ?Sized>(&self, body: &B, member: u64) -> u32 {
        if self.prefix_bits == 0 {
            return 0;
        }
        // The last prefix that begins at the member or before.
        let (mut low, mut high) = (0, 1u32 << self.prefix_bits);
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if self.range(body, middle).0 <= member { low = middle } else { high = middle }
        }
        low
    }

    /// The bits of the cell of an entry that are not part of the prefix.
    #[inline(always)]
    pub fn rest<B: Body + ?Sized>(&self, body: &B, entry: u64) -> u32 {
        match self.rest_bits {
            0 => 0,
            bits => body.bits(entry + u64::from(self.code_bits)) as u32 & ((1 << bits) - 1),
        }
    }

    /// The code of an entry.
    #[inline(always)]
    pub fn code<B: Body + ?Sized>(&self, body: &B, entry: u64) -> Code {
        let mut code = [0; CODE_WORDS];
        for (number, word) in code.iter_mut().enumerate() {
            let left = self.code_bits.saturating_sub(64 * number as u32);
            match left {
                0 => break,
                1..64 => *word = body.bits(entry + 64 * number as u64) & ((1 << left) - 1),
                _ => *word = body.bits(entry + 64 * number as u64),
            }
        }
        code
    }
}

/// All members in order.
pub struct Members<'a, B: ?Sized> {
    layout: &'a Layout,
    parts: Parts,
    body: &'a B,
    at: u64,
    /// A prefix, and the end of its members.
    prefix: u32,
    end: u64,
}

impl<'a, B: Body + ?Sized> Members<'a, B> {
    /// The members of a body.
    pub fn new(layout: &'a Layout, members: u64, body: &'a B) -> Self {
        let parts = Parts::new(layout, members);
        let end = if parts.prefix_bits > 0 { parts.range(body, 0).1 } else { members };
        Members { layout, parts, body, at: 0, prefix: 0, end }
    }

    /// The members of a list without a directory.
    pub fn unordered(layout: &'a Layout, members: u64, body: &'a B) -> Self {
        Members { layout, parts: Parts::unordered(layout, members), body, at: 0, prefix: 0, end: members }
    }
}

impl<B: Body + ?Sized> Iterator for Members<'_, B> {
    type Item = Fingerprint;

    fn next(&mut self) -> Option<Fingerprint> {
        let parts = &self.parts;
        if self.at == parts.members {
            return None;
        }
        // The directory of a corrupt filter may end before.
        while self.at >= self.end && self.prefix + 1 < 1 << parts.prefix_bits {
            self.prefix += 1;
            self.end = parts.range(self.body, self.prefix).1;
        }
        let entry = parts.entry(self.at);
        let cell = self.prefix << parts.rest_bits | parts.rest(self.body, entry);
        self.at += 1;
        if self.at.is_multiple_of(1 << 16) {
            interrupt::check();
        }
        Some(Fingerprint::new(self.layout, cell, &parts.code(self.body, entry)))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = (self.parts.members - self.at) as usize;
        (left, Some(left))
    }
}

/// Appends a member to a list without a directory, in zeroed memory.
pub fn append(layout: &Layout, body: &mut [u64], count: u64, member: &Fingerprint) {
    Writer::new(&Parts::unordered(layout, count), body, count).put(layout, member);
}

/// Writes members in ascending order into a zeroed body. There must be as many as `parts` says.
pub fn write(layout: &Layout, parts: &Parts, body: &mut [u64], members: impl Iterator<Item = Fingerprint>) {
    let mut writer = Writer::new(parts, body, 0);
    for member in members {
        writer.put(layout, &member);
    }
    writer.finish();
}

struct Writer<'a> {
    parts: &'a Parts,
    body: &'a mut [u64],
    at: u64,
    /// The prefix of the last member.
    prefix: u64,
    /// The base of its block, the ends of prefixes in this block, and the number of crowds before.
    base: u64,
    ends: [u64; BLOCK as usize],
    crowds: u64,
}

impl<'a> Writer<'a> {
    fn new(parts: &'a Parts, body: &'a mut [u64], at: u64) -> Self {
        Writer { parts, body, at, prefix: 0, base: 0, ends: [0; BLOCK as usize], crowds: 0 }
    }

    fn put(&mut self, layout: &Layout, member: &Fingerprint) {
        let (parts, at) = (self.parts, self.at);
        if parts.prefix_bits > 0 {
            self.reach(u64::from(member.prefix(parts.prefix_bits)));
        }
        let entry = parts.entry(at);
        let mut left = parts.code_bits;
        for (number, &word) in member.code(layout).iter().enumerate().take(parts.code_bits.div_ceil(64) as usize) {
            self.set(entry + 64 * number as u64, word, left.min(64));
            left = left.saturating_sub(64);
        }
        let rest = u64::from(member.prefix(layout.cell_bits)) & ((1 << parts.rest_bits) - 1);
        self.set(entry + u64::from(parts.code_bits), rest, parts.rest_bits);
        self.at += 1;
        if self.at.is_multiple_of(1 << 16) {
            interrupt::check();
        }
    }

    /// Ends all prefixes before this one.
    fn reach(&mut self, prefix: u64) {
        while self.prefix < prefix {
            self.ends[(self.prefix % BLOCK) as usize] = self.at;
            self.prefix += 1;
            if self.prefix.is_multiple_of(BLOCK) {
                self.end_block();
            }
        }
    }

    /// Writes the block before the current prefix.
    fn end_block(&mut self) {
        let (pair, block) = Parts::pair(self.prefix - BLOCK);
        self.set(pair as u64 * 64 + 32 * block, self.base, 32);
        let mut bytes = self.ends.map(|end| (end - self.base) as u8);
        if self.at - self.base >= CROWDED {
            let crowd = (self.parts.crowds + self.crowds * CROWD) * 64;
            for (place, end) in self.ends.into_iter().enumerate() {
                self.set(crowd + 32 * place as u64, end, 32);
            }
            bytes = (self.crowds | CROWDED << 56).to_le_bytes();
            self.crowds += 1;
        }
        self.set((pair as u64 + 1 + block) * 64, u64::from_le_bytes(bytes), 64);
        self.base = self.at;
    }

    fn finish(&mut self) {
        if self.parts.prefix_bits > 0 {
            self.reach(1 << self.parts.prefix_bits);
        }
    }

    /// Sets bits, which are zero before.
    #[inline]
    fn set(&mut self, at: u64, value: u64, bits: u32) {
        if bits == 0 {
            return;
        }
        let (word, shift) = ((at / 64) as usize, (at % 64) as u32);
        let or = |word: &mut u64, value: u64| *word = (u64::from_le(*word) | value).to_le();
        or(&mut self.body[word], value << shift);
        if shift + bits > 64 {
            or(&mut self.body[word + 1], value >> (64 - shift));
        }
    }
}

/// Checks the directory and the padding of a body with members in order: all is as [`write()`] writes it.
pub fn check(parts: &Parts, body: &[u64]) -> std::result::Result<(), &'static str> {
    const WRONG: &str = "its directory is wrong";
    let is_zero = |from: u64, to: u64| {
        (from..to).step_by(64).all(|at| {
            let count = (to - at).min(64);
            body.bits(at) << (64 - count) == 0
        })
    };
    let end = parts.entry(parts.members);
    let words = body.len() as u64;
    if body[words as usize - 1] != 0 || !is_zero(end, (words - 1) * 64) {
        return Err("padding is not zero");
    }
    if parts.prefix_bits == 0 {
        return Ok(());
    }
    let (mut members, mut crowds) = (0, 0);
    for prefix in (0..1u64 << parts.prefix_bits).step_by(BLOCK as usize) {
        if prefix % (1 << 16) == 0 {
            interrupt::check();
        }
        members = check_block(parts, body, prefix, members, &mut crowds).ok_or(WRONG)?;
    }
    if members != parts.members || !is_zero((parts.crowds + crowds * CROWD) * 64, parts.entries * 64) {
        return Err(WRONG);
    }
    Ok(())
}

/// Checks the block of a prefix, whose base must be this; returns the base of the next block. `crowds` counts crowds.
fn check_block(parts: &Parts, body: &[u64], prefix: u64, base: u64, crowds: &mut u64) -> Option<u64> {
    let (pair, block) = Parts::pair(prefix);
    let ends = body.word(pair + 1 + block as usize);
    let mut last = base;
    for place in 0..BLOCK {
        let end = match ends >> 56 {
            CROWDED => parts.crowd(body, *crowds, place),
            _ => base + (ends >> (8 * place) & 0xff),
        };
        if end < last || end > parts.members {
            return None;
        }
        last = end;
    }
    let is_crowded = last - base >= CROWDED;
    let is_right = match ends >> 56 {
        CROWDED => is_crowded && ends & u64::MAX >> 8 == *crowds,
        _ => !is_crowded,
    };
    *crowds += u64::from(is_crowded);
    (is_right && body.word(pair) >> (32 * block) & 0xffff_ffff == base).then_some(last)
}
