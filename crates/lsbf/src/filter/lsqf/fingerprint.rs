//! The fingerprint of a member: its cell and its code, as one number of up to 320 bits.

use crate::params::Layout;

const WORDS: usize = 5;
/// Words of a code.
pub const CODE_WORDS: usize = 4;
/// A code as a number, least significant word first.
pub type Code = [u64; CODE_WORDS];

/// The bits of the cell, followed by those of the code, most significant first. Fingerprints are ordered by cell and code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Fingerprint([u64; WORDS]);

/// Shifts a number of several words, most significant first, to the left.
fn shifted(words: [u64; WORDS], by: u32) -> [u64; WORDS] {
    let (whole, bits) = ((by / 64) as usize, by % 64);
    let word = |at: usize| words.get(at).copied().unwrap_or(0);
    std::array::from_fn(|at| {
        // Shift in two steps, because a shift by 64 overflows.
        word(at + whole) << bits | word(at + whole + 1) >> 1 >> (63 - bits)
    })
}

impl Fingerprint {
    /// A fingerprint.
    #[inline]
    pub fn new(layout: &Layout, cell: u32, code: &Code) -> Fingerprint {
        let number = [0, code[3], code[2], code[1], code[0]];
        let mut words = shifted(number, 64 * WORDS as u32 - layout.cell_bits - layout.code_bits());
        words[0] |= u64::from(cell) << (64 - layout.cell_bits);
        Fingerprint(words)
    }

    /// The first `bits` bits of the cell.
    #[inline]
    pub fn prefix(&self, bits: u32) -> u32 {
        if bits == 0 { 0 } else { (self.0[0] >> (64 - bits)) as u32 }
    }

    /// The code.
    pub fn code(&self, layout: &Layout) -> Code {
        let unused = 64 * CODE_WORDS as u32 - layout.code_bits();
        let aligned = shifted(self.0, layout.cell_bits);
        // Right-align the code by shifting whole words and bits.
        let (whole, bits) = ((unused / 64) as usize, unused % 64);
        let word = |at: usize| at.checked_sub(1 + whole).map_or(0, |at| aligned[at]);
        let right: [u64; WORDS] =
            std::array::from_fn(|at| word(at) >> bits | word(at.wrapping_sub(1).min(WORDS)) << 1 << (63 - bits));
        [right[4], right[3], right[2], right[1]]
    }

    /// Bytes of a fingerprint in a list of records.
    pub fn record_bytes(layout: &Layout) -> usize {
        let bytes = (layout.cell_bits + layout.code_bits()).div_ceil(8) as usize;
        RECORDS.into_iter().find(|&size| size >= bytes).unwrap_or(WORDS * 8)
    }

    /// The fingerprint as a record.
    pub fn record(&self) -> [u8; WORDS * 8] {
        let mut bytes = [0; WORDS * 8];
        bytes.as_chunks_mut::<8>().0.iter_mut().zip(&self.0).for_each(|(to, word)| *to = word.to_be_bytes());
        bytes
    }

    /// Reads a record.
    pub fn of_record(record: &[u8]) -> Fingerprint {
        let mut bytes = [0; WORDS * 8];
        bytes[..record.len()].copy_from_slice(record);
        let mut words = [0; WORDS];
        words.iter_mut().zip(bytes.as_chunks::<8>().0).for_each(|(word, bytes)| *word = u64::from_be_bytes(*bytes));
        Fingerprint(words)
    }
}

/// The sizes of records for which there is a sort function.
const RECORDS: [usize; 16] = [3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 14, 16, 20, 24, 28, 36];

/// Sorts records of this size.
pub fn sort_records(records: &mut [u8], size: usize) {
    macro_rules! sorted {
        ($($size:literal)*) => {
            match size {
                $($size => sort(records.as_chunks_mut::<$size>().0),)*
                _ => sort(records.as_chunks_mut::<{ WORDS * 8 }>().0),
            }
        };
    }
    sorted!(3 4 5 6 7 8 9 10 11 12 14 16 20 24 28 36);
}

/// Sorts records: by their first byte, and then those with the same first byte, so that it can be interrupted in between.
fn sort<const N: usize>(records: &mut [[u8; N]]) {
    /// Fewer records are sorted at once.
    const FEW: usize = 1 << 12;
    if records.len() <= FEW {
        return records.sort_unstable();
    }
    let mut ends = [0usize; 256];
    records.iter().for_each(|record| ends[usize::from(record[0])] += 1);
    let mut next = [0usize; 256];
    let mut total = 0;
    for (end, next) in ends.iter_mut().zip(&mut next) {
        *next = total;
        total += *end;
        *end = total;
    }
    let starts = next;
    for byte in 0..256 {
        crate::interrupt::check();
        // Exchange each record that is in the wrong part with one that belongs here.
        while next[byte] < ends[byte] {
            let belongs = usize::from(records[next[byte]][0]);
            if belongs != byte {
                records.swap(next[byte], next[belongs]);
            }
            next[belongs] += 1;
        }
    }
    for byte in 0..256 {
        crate::interrupt::check();
        records[starts[byte]..ends[byte]].sort_unstable();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mix::mix;
    use crate::params::{Metric, Params};

    fn layouts() -> impl Iterator<Item = Layout> {
        [8, 10, 52, 63, 64, 65, 104, 128, 200, 256].into_iter().flat_map(|bits| {
            [14, 18, 22].map(|cell_bits| {
                let mut params = Params { bits, ..Params::quotient_example(Metric::L2) };
                params.quotient.as_mut().unwrap().cell_bits = cell_bits;
                Layout::of(&params, 384).unwrap()
            })
        })
    }

    #[test]
    fn cell_and_code_are_recovered() {
        for layout in layouts() {
            for i in 0..50 {
                let bits = layout.code_bits();
                let mut code: Code = std::array::from_fn(|at| mix(i, at as u64));
                for (at, word) in code.iter_mut().enumerate() {
                    let left = bits.saturating_sub(64 * at as u32);
                    *word &= if left >= 64 { u64::MAX } else { (1 << left) - 1 };
                }
                let cell = mix(i, 9) as u32 & ((1 << layout.cell_bits) - 1);
                let made = Fingerprint::new(&layout, cell, &code);
                assert_eq!((made.prefix(layout.cell_bits), made.code(&layout)), (cell, code), "{layout:?}");
                let size = Fingerprint::record_bytes(&layout);
                assert_eq!(Fingerprint::of_record(&made.record()[..size]), made);
                assert!(made.record()[size..].iter().all(|&byte| byte == 0));
            }
        }
    }

    #[test]
    fn records_are_sorted_like_fingerprints() {
        for layout in layouts() {
            let size = Fingerprint::record_bytes(&layout);
            let cell = |i| mix(i, 9) as u32 & ((1 << layout.cell_bits) - 1) >> (i % 5);
            let mut all: Vec<Fingerprint> =
                (0..5000).map(|i| Fingerprint::new(&layout, cell(i), &[mix(i, 1) & 0xff, 0, 0, 0])).collect();
            let mut records: Vec<u8> = all.iter().flat_map(|one| one.record()[..size].to_vec()).collect();
            sort_records(&mut records, size);
            all.sort_unstable();
            assert!(records.chunks(size).map(Fingerprint::of_record).eq(all));
        }
    }
}
