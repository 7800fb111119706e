//! The scores of codes: sums of the costs of their residues.

use super::MAX_COORDINATES;
use super::likelihood::{Likelihood, POSITIONS};
use crate::hash::path::Path;
use crate::params::{Layout, MAX_RESIDUE_BITS};

/// Codes that are scored at once.
pub const BATCH: usize = 256;
/// Entries of a table of costs: those of up to eight bits of a code.
const TABLE: usize = 256;
/// Bytes of a word, and values of four bits.
const BYTES: usize = 8;
const NIBBLES: usize = 16;

/// The costs of all residues for one query.
pub enum Costs {
    /// Tables for vector instructions.
    Nibbles(Box<Nibbles>),
    /// Tables for portable code.
    Groups(Groups),
}

/// The costs of every four bits of a code: two residues of two bits, or one of four bits.
pub struct Nibbles {
    kernel: Kernel,
    /// By position: the costs of residues relative to the query's own. Those of residues of two bits are repeated.
    costs: [u128; POSITIONS],
    residue_bits: u32,
    words: Vec<Word>,
}

/// The costs of one word of a code, by byte.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Word {
    low: [[u8; NIBBLES]; BYTES],
    high: [[u8; NIBBLES]; BYTES],
}

/// The vector instructions that scores are computed with.
#[derive(Clone, Copy)]
enum Kernel {
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

/// The costs of groups of residues, each of up to eight bits of a code.
pub struct Groups {
    tables: Vec<[u16; TABLE]>,
    /// The residues and the bits of a group.
    group: usize,
    group_bits: u32,
    residue_bits: u32,
}

impl Costs {
    /// Allocates the tables of a layout.
    pub fn new(path: Path, layout: &Layout, likelihood: &Likelihood) -> Costs {
        match Kernel::of(path).filter(|_| matches!(layout.residue_bits, 2 | 4)) {
            Some(kernel) => Costs::Nibbles(Box::new(Nibbles::new(kernel, layout, likelihood))),
            None => Costs::Groups(Groups::new(layout)),
        }
    }

    /// Bytes of memory held.
    pub fn bytes(&self) -> usize {
        match self {
            Costs::Nibbles(nibbles) => size_of::<Nibbles>() + size_of_val(&nibbles.words[..]),
            Costs::Groups(groups) => size_of_val(&groups.tables[..]),
        }
    }

    /// Computes the costs of all residues for a query with these residues and positions.
    #[inline(always)]
    pub fn weigh(&mut self, likelihood: &Likelihood, residues: &[u8], positions: &[u8]) {
        match self {
            Costs::Nibbles(nibbles) => nibbles.weigh(residues, positions),
            Costs::Groups(groups) => groups.weigh(likelihood, residues, positions),
        }
    }

    /// The bits of a code that [`Costs::first`] reads.
    #[inline(always)]
    pub fn first_bits(&self) -> u64 {
        match self {
            Costs::Nibbles(_) => 64,
            Costs::Groups(groups) => u64::from(groups.at_once() as u32 * groups.group_bits),
        }
    }

    /// Computes the scores of the first bits of `count` codes; returns false if none is at most `limit`. Scores may be
    /// missing then.
    #[inline(always)]
    pub fn first(&self, codes: &[u64; BATCH], count: usize, limit: u32, scores: &mut [u16; BATCH]) -> bool {
        let limit = limit.min(u32::from(u16::MAX)) as u16;
        match self {
            Costs::Nibbles(nibbles) => nibbles.first(codes, count, limit, scores),
            Costs::Groups(groups) => {
                let (tables, mask) = (groups.part(0), groups.mask());
                let mut least = u16::MAX;
                for (score, &code) in scores.iter_mut().zip(&codes[..count]) {
                    *score = sum(tables, code, groups.group_bits, mask);
                    least = least.min(*score);
                }
                least <= limit
            }
        }
    }

    /// The score of the rest of a code, which `bits` reads from a position on.
    #[cold]
    pub fn rest(&self, bits: impl Fn(u64) -> u64) -> u32 {
        let first = self.first_bits();
        let mut score = 0;
        match self {
            Costs::Nibbles(nibbles) => {
                for (number, word) in nibbles.words.iter().enumerate().skip(1) {
                    let code = bits(number as u64 * first);
                    for (at, (low, high)) in word.low.iter().zip(&word.high).enumerate() {
                        let byte = (code >> (8 * at)) as usize;
                        score += u32::from(low[byte % NIBBLES]) + u32::from(high[byte / NIBBLES % NIBBLES]);
                    }
                }
            }
            Costs::Groups(groups) => {
                let parts = groups.tables.len().div_ceil(groups.at_once());
                for part in 1..parts {
                    let code = bits(part as u64 * first);
                    score += u32::from(sum(groups.part(part), code, groups.group_bits, groups.mask()));
                }
            }
        }
        score
    }
}

impl Kernel {
    /// The instructions of a path; `None` for portable code.
    fn of(path: Path) -> Option<Kernel> {
        match path {
            #[cfg(target_arch = "x86_64")]
            Path::Avx512
                if std::arch::is_x86_feature_detected!("avx512vbmi")
                    && std::arch::is_x86_feature_detected!("avx512bw")
                    && std::arch::is_x86_feature_detected!("avx512vl") =>
            {
                Some(Kernel::Avx512)
            }
            #[cfg(target_arch = "x86_64")]
            Path::Avx2 | Path::Avx512 => Some(Kernel::Avx2),
            _ => None,
        }
    }
}

impl Nibbles {
    fn new(kernel: Kernel, layout: &Layout, likelihood: &Likelihood) -> Nibbles {
        let cost = |position: usize, residue: usize| likelihood.costs(position)[residue & (layout.residues() - 1)];
        let costs = |position: usize| std::array::from_fn(|residue| cost(position, residue));
        let words = layout.code_bits().div_ceil(64) as usize;
        Nibbles {
            kernel,
            costs: std::array::from_fn(|position| u128::from_le_bytes(costs(position))),
            residue_bits: layout.residue_bits,
            words: vec![Word { low: [[0; NIBBLES]; BYTES], high: [[0; NIBBLES]; BYTES] }; words],
        }
    }

    #[inline(always)]
    fn weigh(&mut self, residues: &[u8], positions: &[u8]) {
        match self.residue_bits {
            2 => self.weigh_pairs(residues, positions),
            _ => self.weigh_singles(residues, positions),
        }
    }

    /// The costs of pairs of residues of two bits.
    #[inline(always)]
    fn weigh_pairs(&mut self, residues: &[u8], positions: &[u8]) {
        const PER_WORD: usize = 4 * BYTES;
        // Absent residues cost nothing.
        let mut costs = [0u32; MAX_COORDINATES];
        for ((costs, &own), &position) in costs.iter_mut().zip(residues).zip(positions) {
            *costs = (self.costs[usize::from(position) % POSITIONS] as u32).rotate_left(8 * u32::from(own));
        }
        for (word, costs) in self.words.iter_mut().zip(costs.as_chunks::<PER_WORD>().0) {
            for (byte, &[a, b, c, d]) in costs.as_chunks::<4>().0.iter().enumerate() {
                word.low[byte] = pairs(a, b);
                word.high[byte] = pairs(c, d);
            }
        }
    }

    /// The costs of residues of four bits.
    #[inline(always)]
    fn weigh_singles(&mut self, residues: &[u8], positions: &[u8]) {
        for (at, (&own, &position)) in residues.iter().zip(positions).enumerate() {
            let Some(word) = self.words.get_mut(at / (2 * BYTES)) else { return };
            let tables = if at % 2 == 0 { &mut word.low } else { &mut word.high };
            let costs = self.costs[usize::from(position) % POSITIONS].rotate_left(8 * u32::from(own));
            tables[at / 2 % BYTES] = costs.to_le_bytes();
        }
    }

    #[inline(always)]
    fn first(&self, codes: &[u64; BATCH], count: usize, limit: u16, scores: &mut [u16; BATCH]) -> bool {
        let Some(word) = self.words.first() else { return false };
        match self.kernel {
            // SAFETY: the processor has the instructions of its kernel.
            #[cfg(target_arch = "x86_64")]
            Kernel::Avx2 => unsafe { x86::avx2(word, codes, count, limit, scores) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Kernel::Avx512 => unsafe { x86::avx512(word, codes, count, limit, scores) },
        }
    }
}

/// The costs of all pairs of residues of two bits, given those of either.
#[inline(always)]
fn pairs(first: u32, second: u32) -> [u8; NIBBLES] {
    let (first, second) = (first.to_le_bytes(), second.to_le_bytes());
    // No sum exceeds a byte.
    std::array::from_fn(|both| first[both % 4].wrapping_add(second[both / 4]))
}

#[inline(always)]
fn sum(tables: &[[u16; TABLE]], mut code: u64, bits: u32, mask: u64) -> u16 {
    let mut score = 0;
    for table in tables {
        score += table[(code & mask) as usize & (TABLE - 1)];
        code >>= bits;
    }
    score
}

impl Groups {
    fn new(layout: &Layout) -> Groups {
        let group = match layout.residue_bits {
            ..=2 => 4,
            3 | 4 => 2,
            _ => 1,
        };
        let groups = (layout.coordinates as usize).div_ceil(group);
        let group_bits = group as u32 * layout.residue_bits;
        Groups { tables: vec![[0; TABLE]; groups], group, group_bits, residue_bits: layout.residue_bits }
    }

    /// Groups that are read at once.
    #[inline(always)]
    fn at_once(&self) -> usize {
        (64 / self.group_bits) as usize
    }

    /// The tables of the groups of one word.
    #[inline(always)]
    fn part(&self, number: usize) -> &[[u16; TABLE]] {
        let start = number * self.at_once();
        &self.tables[start..self.tables.len().min(start + self.at_once())]
    }

    #[inline(always)]
    fn mask(&self) -> u64 {
        (1 << self.group_bits) - 1
    }

    #[inline(always)]
    fn weigh(&mut self, likelihood: &Likelihood, residues: &[u8], positions: &[u8]) {
        const MAX: usize = 1 << MAX_RESIDUE_BITS;
        let count = 1usize << self.residue_bits;
        let mut costs = [0u16; MAX];
        for (number, table) in self.tables.iter_mut().enumerate() {
            // Costs of the residues so far, and how many values they have together.
            let mut size = 1;
            table[0] = 0;
            for at in number * self.group..(number + 1) * self.group {
                match (residues.get(at), positions.get(at)) {
                    (Some(&own), Some(&position)) => {
                        let all = likelihood.costs(usize::from(position));
                        for (residue, cost) in costs[..count].iter_mut().enumerate() {
                            *cost = u16::from(all[residue.wrapping_sub(usize::from(own)) & (count - 1)]);
                        }
                    }
                    // An absent residue costs nothing.
                    _ => costs[..count].fill(0),
                }
                for residue in (0..count).rev() {
                    let (first, others) = table.split_at_mut(size);
                    match residue {
                        0 => first.iter_mut().for_each(|sum| *sum += costs[0]),
                        _ => others[(residue - 1) * size..][..size]
                            .iter_mut()
                            .zip(first)
                            .for_each(|(sum, first)| *sum = *first + costs[residue]),
                    }
                }
                size *= count;
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{BATCH, Word};
    use std::arch::x86_64::*;

    /// Codes per step.
    const STEP: usize = 32;

    /// Looks up both halves of every byte. The bytes of 32 codes are first sorted by their place in the code, because a
    /// register has one table only.
    ///
    /// SAFETY: the processor must have AVX2.
    #[target_feature(enable = "avx2")]
    pub unsafe fn avx2(word: &Word, codes: &[u64; BATCH], count: usize, limit: u16, scores: &mut [u16; BATCH]) -> bool {
        let table = |table: &[u8; 16]| {
            // SAFETY: a table has 16 bytes.
            _mm256_broadcastsi128_si256(unsafe { _mm_loadu_si128(table.as_ptr().cast()) })
        };
        let nibble = _mm256_set1_epi8(15);
        let ones = _mm256_set1_epi8(1);
        // Bytes of the two codes of a half register, in pairs.
        let pairs = _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15));
        let above = _mm256_set1_epi16(limit as i16);
        let mut found = false;
        let steps = codes.as_chunks::<STEP>().0.iter().zip(scores.as_chunks_mut::<STEP>().0);
        for (codes, scores) in steps.take(count.div_ceil(STEP)) {
            let load = |at: usize| {
                // SAFETY: there are 32 codes, four to a register.
                let four = unsafe { _mm256_loadu_si256(codes.as_ptr().add(4 * at).cast()) };
                _mm256_shuffle_epi8(four, pairs)
            };
            let loaded: [__m256i; 8] = [load(0), load(1), load(2), load(3), load(4), load(5), load(6), load(7)];
            // [first four bytes, last four bytes] of four, then of eight codes per half register.
            let four = |a: usize| {
                let (a, b) = (loaded[2 * a], loaded[2 * a + 1]);
                [_mm256_unpacklo_epi16(a, b), _mm256_unpackhi_epi16(a, b)]
            };
            let fours = [four(0), four(1), four(2), four(3)];
            let eight = |a: usize, half: usize| {
                let (a, b) = (fours[2 * a][half], fours[2 * a + 1][half]);
                [_mm256_unpacklo_epi32(a, b), _mm256_unpackhi_epi32(a, b)]
            };
            let eights = [[eight(0, 0), eight(0, 1)], [eight(1, 0), eight(1, 1)]];
            let (mut first, mut second) = (_mm256_setzero_si256(), _mm256_setzero_si256());
            for byte in 0..8 {
                let (a, b) = (eights[0][byte / 4][byte / 2 % 2], eights[1][byte / 4][byte / 2 % 2]);
                let bytes = if byte % 2 == 0 { _mm256_unpacklo_epi64(a, b) } else { _mm256_unpackhi_epi64(a, b) };
                let low = _mm256_shuffle_epi8(table(&word.low[byte]), _mm256_and_si256(bytes, nibble));
                let shifted = _mm256_and_si256(_mm256_srli_epi16::<4>(bytes), nibble);
                let high = _mm256_shuffle_epi8(table(&word.high[byte]), shifted);
                first = _mm256_add_epi16(first, _mm256_maddubs_epi16(_mm256_unpacklo_epi8(low, high), ones));
                second = _mm256_add_epi16(second, _mm256_maddubs_epi16(_mm256_unpackhi_epi8(low, high), ones));
            }
            let least = _mm256_min_epu16(first, second);
            if _mm256_movemask_epi8(_mm256_cmpeq_epi16(_mm256_min_epu16(least, above), least)) == 0 {
                scores.fill(u16::MAX);
                continue;
            }
            found = true;
            let (mut one, mut two) = ([0u16; 16], [0u16; 16]);
            // SAFETY: sixteen scores fill a register.
            unsafe {
                _mm256_storeu_si256(one.as_mut_ptr().cast(), first);
                _mm256_storeu_si256(two.as_mut_ptr().cast(), second);
            }
            // The score at each place of a register, and the number of its code: registers of four codes alternate.
            for place in 0..16 {
                let (half, within) = (place / 8, place % 8);
                let code = |register: usize| 4 * register + 2 * half + within % 2;
                scores[code(within / 2)] = one[place];
                scores[code(4 + within / 2)] = two[place];
            }
        }
        found
    }

    /// Looks up both halves of every byte of eight codes at once, in tables of two registers.
    ///
    /// SAFETY: the processor must have AVX-512 F, BW, VL and VBMI.
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi")]
    pub unsafe fn avx512(
        word: &Word,
        codes: &[u64; BATCH],
        count: usize,
        limit: u16,
        scores: &mut [u16; BATCH],
    ) -> bool {
        let table = |bytes: &[[u8; 16]], part: usize| {
            // SAFETY: eight tables of 16 bytes fill two registers.
            unsafe { _mm512_loadu_si512(bytes.as_flattened().as_ptr().add(64 * part).cast()) }
        };
        let low = [table(&word.low, 0), table(&word.low, 1)];
        let high = [table(&word.high, 0), table(&word.high, 1)];
        let nibble = _mm512_set1_epi8(15);
        let places = _mm512_set1_epi64(0x7060_5040_3020_1000);
        let zero = _mm512_setzero_si512();
        let limit = _mm512_set1_epi64(i64::from(limit));
        let mut found = 0;
        let steps = codes.as_chunks::<8>().0.iter().zip(scores.as_chunks_mut::<8>().0);
        for (codes, scores) in steps.take(count.div_ceil(8)) {
            // SAFETY: eight codes fill a register.
            let codes = unsafe { _mm512_loadu_si512(codes.as_ptr().cast()) };
            let index = |nibbles: __m512i| _mm512_or_si512(_mm512_and_si512(nibbles, nibble), places);
            let first = _mm512_permutex2var_epi8(low[0], index(codes), low[1]);
            let second = _mm512_permutex2var_epi8(high[0], index(_mm512_srli_epi64::<4>(codes)), high[1]);
            let sums = _mm512_add_epi64(_mm512_sad_epu8(first, zero), _mm512_sad_epu8(second, zero));
            found |= _mm512_cmple_epu64_mask(sums, limit);
            // SAFETY: eight scores of 16 bits.
            unsafe { _mm_storeu_si128(scores.as_mut_ptr().cast(), _mm512_cvtepi64_epi16(sums)) };
        }
        found != 0
    }
}
