//! The number of distinct members: a HyperLogLog sketch in every filter.
//!
//! A plain counter would count common members of merged filters twice. The sketch depends only on the set of members,
//! like the bits, so that merging is idempotent and a parallel build equals a serial one. Estimator: Ertl,
//! "New cardinality estimation algorithms for HyperLogLog sketches", 2017. Standard error 1.04/sqrt(1024) = 3.3 %.

const BITS: u32 = 10;
const REGISTERS: usize = 1 << BITS;
const MAX_RANK: u8 = (64 - BITS + 1) as u8;
/// The number of words of the sketch.
pub const WORDS: usize = REGISTERS / 8;

/// Adds a member by its 64-bit content hash; returns whether that changed the sketch. Each byte of `words` is a
/// register.
#[inline]
pub fn add(words: &mut [u64], id: u64) -> bool {
    let (register, rank) = register_of(id);
    let shift = (register % 8) * 8;
    let word = u64::from_le(words[register / 8]);
    let is_higher = (word >> shift & 0xff) < rank;
    if is_higher {
        words[register / 8] = (word & !(0xff << shift) | rank << shift).to_le();
    }
    is_higher
}

/// The register of a member, and its minimum rank.
#[inline]
fn register_of(id: u64) -> (usize, u64) {
    let id = crate::mix::mix(id, 0);
    let rank = ((id << BITS).leading_zeros() + 1).min(u32::from(MAX_RANK));
    ((id >> (64 - BITS)) as usize, u64::from(rank))
}

/// What a member changes in a list of registers.
pub enum ListChange {
    /// Nothing.
    None,
    /// This entry of the list, which has the same register.
    Entry(usize, u16),
    /// There is one more entry.
    Longer,
}

/// What adding a member by its 64-bit content hash changes in the listed registers.
pub fn list_change(list: &[[u8; 2]], id: u64) -> ListChange {
    let new = entry_of(id);
    let register = usize::from(new >> RANK_BITS);
    let entry = |at: usize| u16::from_le_bytes(list[at]);
    let at = list.partition_point(|&entry| usize::from(u16::from_le_bytes(entry) >> RANK_BITS) < register);
    match at < list.len() && usize::from(entry(at) >> RANK_BITS) == register {
        true if entry(at) >= new => ListChange::None,
        true => ListChange::Entry(at, new),
        false => ListChange::Longer,
    }
}

/// The number of bits of a listed register that are its rank.
const RANK_BITS: u32 = 16 - BITS;

/// What a member adds to the listed registers, by its 64-bit content hash.
#[inline]
pub fn entry_of(id: u64) -> u16 {
    let (register, rank) = register_of(id);
    (register as u16) << RANK_BITS | rank as u16
}

/// Sorts entries, and keeps only the one with the highest rank of each register; returns their number.
pub fn merge_entries(entries: &mut [u16]) -> usize {
    entries.sort_unstable();
    let mut kept = 0;
    for at in 0..entries.len() {
        if at + 1 == entries.len() || entries[at] >> RANK_BITS != entries[at + 1] >> RANK_BITS {
            entries[kept] = entries[at];
            kept += 1;
        }
    }
    kept
}

/// The registers that are set, in order, each with its number and its rank in one integer.
pub fn listed(words: &[u64; WORDS]) -> impl Iterator<Item = u16> {
    let ranks = words.iter().flat_map(|word| word.to_ne_bytes()).enumerate();
    ranks.filter(|&(_, rank)| rank > 0).map(|(register, rank)| (register as u16) << RANK_BITS | u16::from(rank))
}

/// The number of registers that are set.
pub fn count(words: &[u64; WORDS]) -> u32 {
    words.iter().map(|word| word.to_ne_bytes().iter().filter(|&&rank| rank > 0).count() as u32).sum()
}

/// The sketch of listed registers; `None` if they are out of order or out of range.
pub fn unlisted(list: impl Iterator<Item = u16>) -> Option<[u64; WORDS]> {
    let (mut words, mut next) = ([0; WORDS], 0);
    for entry in list {
        let (register, rank) = (usize::from(entry >> RANK_BITS), entry & ((1 << RANK_BITS) - 1));
        if register < next || rank == 0 || rank > u16::from(MAX_RANK) {
            return None;
        }
        words[register / 8] |= (u64::from(rank) << (register % 8 * 8)).to_le();
        next = register + 1;
    }
    Some(words)
}

/// Merges another sketch into this one.
pub fn merge(words: &mut [u64], other: &[u64]) {
    for (a, b) in words.iter_mut().zip(other) {
        let (x, y) = (a.to_ne_bytes(), b.to_ne_bytes());
        *a = u64::from_ne_bytes(std::array::from_fn(|i| x[i].max(y[i])));
    }
}

/// Whether every register is in range and at least one is set.
pub fn is_valid(words: &[u64]) -> bool {
    let mut ranks = words.iter().flat_map(|word| word.to_ne_bytes());
    ranks.clone().all(|rank| rank <= MAX_RANK) && ranks.any(|rank| rank > 0)
}

/// Estimates the number of distinct members.
pub fn estimate(words: &[u64]) -> u64 {
    let mut counts = [0u32; MAX_RANK as usize + 1];
    for byte in words.iter().flat_map(|w| w.to_ne_bytes()) {
        counts[usize::from(byte.min(MAX_RANK))] += 1;
    }
    let m = REGISTERS as f64;
    let mut z = m * tau(1.0 - f64::from(counts[MAX_RANK as usize]) / m);
    for rank in (1..MAX_RANK as usize).rev() {
        z = 0.5 * (z + f64::from(counts[rank]));
    }
    z += m * sigma(f64::from(counts[0]) / m);
    (m * m / (2.0 * std::f64::consts::LN_2 * z)).round() as u64
}

fn sigma(mut x: f64) -> f64 {
    if x == 1.0 {
        return f64::INFINITY;
    }
    let (mut y, mut z) = (1.0, x);
    loop {
        x *= x;
        let before = z;
        z += x * y;
        y += y;
        if z == before {
            return z;
        }
    }
}

fn tau(mut x: f64) -> f64 {
    if x == 0.0 || x == 1.0 {
        return 0.0;
    }
    let (mut y, mut z) = (1.0, 1.0 - x);
    loop {
        x = x.sqrt();
        let before = z;
        y *= 0.5;
        z -= (1.0 - x) * (1.0 - x) * y;
        if z == before {
            return z / 3.0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn estimates_stay_within_four_standard_errors() {
        for n in [0u64, 1, 2, 5, 50, 1_000, 20_000, 1_000_000] {
            let mut words = [0; WORDS];
            for id in 0..n {
                add(&mut words, id.wrapping_mul(0x9e37_79b9_7f4a_7c15));
            }
            let error = estimate(&words) as f64 - n as f64;
            assert!(error.abs() <= 0.5 + 4.0 * 0.033 * n as f64, "{n}: {error}");
        }
    }

    #[test]
    fn merged_entries_are_the_sketch_of_all_members() {
        for n in [0u64, 1, 2, 30, 5000] {
            let mut words = [0; WORDS];
            let mut entries: Vec<u16> = (0..n).map(entry_of).chain((0..n / 2).map(entry_of)).collect();
            (0..n).for_each(|id| _ = add(&mut words, id));
            let count = merge_entries(&mut entries);
            assert!(listed(&words).eq(entries[..count].iter().copied()), "{n} members");
            assert_eq!(unlisted(entries[..count].iter().copied()), Some(words));
        }
    }

    #[test]
    fn merging_is_the_sketch_of_the_union() {
        let sketch = |ids: std::ops::Range<u64>| {
            let mut words = [0; WORDS];
            for id in ids {
                add(&mut words, id);
            }
            words
        };
        let mut merged = sketch(0..600);
        merge(&mut merged, &sketch(300..1000));
        assert_eq!(merged, sketch(0..1000));
        let before = merged;
        merge(&mut merged, &before);
        assert_eq!(merged, before);
    }
}
