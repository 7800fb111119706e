//! Keys of blocks, for the Hamming distance. Each partition divides the positions of a string at random into blocks of about
//! equal size, and a table's key is a hash of the content of some blocks of one partition.
//!
//! Strings that differ in r positions agree in all but r blocks of every partition at least. Unlike sampled positions, blocks
//! use every position, and keys of few blocks are long however short the strings are.

use super::probe::{Alternative, Wanted};
use super::rng::Stream;
use super::{Buckets, Lsh, agreement, bits, symbols};
use crate::error::{Error, Result};
use crate::interrupt;
use crate::mix::mix;
use crate::params::Params;
use crate::vector::Vector;

/// The stream of the numbers that content is hashed with.
const NUMBERS: u64 = u64::MAX - 1;

/// The partitions of a filter, and the hashes of a string's blocks.
pub struct Blocks {
    blocks: usize,
    content: Content,
    /// The hash of every block of the last string, partition by partition.
    hashes: Vec<u64>,
    /// The blocks that each table of a partition combines, one after the other.
    choices: Vec<usize>,
    /// The number of blocks that a key combines.
    chosen: usize,
    numbers: Vec<i64>,
}

/// How the content of blocks is hashed.
enum Content {
    Bits(Masks),
    Symbols(Places),
}

/// Checks that strings have enough positions for the blocks of a filter.
pub fn check(params: &Params, dims: u32) -> Result<()> {
    if params.blocks() <= dims || dims == 0 {
        return Ok(());
    }
    Err(Error::parameter(format!("blocks must be at most the number of dimensions, {dims}, not {}", params.blocks())))
}

/// The number of 4-byte numbers that the seed of a filter is expanded to.
pub fn expanded(params: &Params, dims: u32) -> u64 {
    let blocks = u64::from(agreement::partitions(params)) * u64::from(params.blocks());
    let dims = u64::from(dims);
    match params.family.has_symbols() {
        true => 2 * dims + dims * u64::from(agreement::partitions(params)) / 2,
        false => (blocks + 1) * dims.div_ceil(128) * 4,
    }
}

impl Blocks {
    /// Draws the partitions of a filter.
    pub fn new(params: &Params, dims: u32) -> Result<Blocks> {
        check(params, dims)?;
        let (blocks, partitions) = (params.blocks() as usize, agreement::partitions(params) as usize);
        let chosen = params.hashes as usize;
        let content = match params.family.has_symbols() {
            true => Content::Symbols(Places::new(params.seed, dims, blocks, partitions)),
            false => Content::Bits(Masks::new(params.seed, dims, blocks, partitions)),
        };
        let hashes = vec![0; partitions * blocks];
        Ok(Blocks { blocks, content, hashes, choices: choices(blocks, chosen), chosen, numbers: Vec::new() })
    }

    /// Combines the hashes of blocks to one number for every table.
    fn combine(&mut self) {
        let Blocks { blocks, hashes, choices, chosen, numbers, .. } = self;
        numbers.clear();
        if *chosen == 1 {
            numbers.extend(hashes.iter().map(|&hash| hash as i64));
            return;
        }
        for hashes in hashes.chunks_exact(*blocks) {
            let combined = |choice: &[usize]| choice.iter().fold(0u64, |sum, &block| sum.wrapping_add(hashes[block]));
            numbers.extend(choices.chunks_exact(*chosen).map(|choice| combined(choice) as i64));
        }
    }
}

/// All choices of some blocks, in ascending order.
fn choices(blocks: usize, chosen: usize) -> Vec<usize> {
    let mut all = Vec::new();
    let mut choice: Vec<usize> = (0..chosen).collect();
    loop {
        all.extend(&choice);
        let Some(at) = (0..chosen).rev().find(|&at| choice[at] < blocks - chosen + at) else { return all };
        choice[at] += 1;
        (at + 1..chosen).for_each(|next| choice[next] = choice[next - 1] + 1);
    }
}

/// Calls `put` with every position and its block. Sizes of blocks differ by at most one.
fn partition(seed: u64, number: usize, dims: u32, blocks: usize, mut put: impl FnMut(usize, usize)) {
    const STEP: usize = 1 << 16;
    let mut stream = Stream::new(seed, number as u64);
    let mut order: Vec<u32> = (0..dims).collect();
    for place in 0..order.len() {
        if place % STEP == 0 {
            interrupt::check();
        }
        let other = place + stream.below((order.len() - place) as u64) as usize;
        order.swap(place, other);
        put(order[place] as usize, place % blocks);
    }
}

/// Bit strings: the words of a string are masked by block, and hashed in pairs.
struct Masks {
    /// For each block of each partition, the words with a one at each of its positions.
    masks: Vec<u64>,
    numbers: Vec<u64>,
    /// The words of the last string, an even number.
    words: Vec<u64>,
}

impl Masks {
    fn new(seed: u64, dims: u32, blocks: usize, partitions: usize) -> Masks {
        let count = (dims as usize).div_ceil(128) * 2;
        let mut masks = vec![0; partitions * blocks * count];
        for number in 0..partitions {
            // The first position of a string is the highest bit of its first byte.
            partition(seed, number, dims, blocks, |at, block| {
                masks[(number * blocks + block) * count + at / 64] |= 1 << ((at % 64) ^ 7);
            });
        }
        let mut stream = Stream::new(seed, NUMBERS);
        Masks { masks, numbers: (0..count).map(|_| stream.word()).collect(), words: vec![0; count] }
    }

    #[inline]
    fn hash(&mut self, bytes: &[u8], hashes: &mut [u64]) {
        let (whole, rest) = bytes.as_chunks::<8>();
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        let words = whole.iter().chain([&last]).map(|word| u64::from_le_bytes(*word));
        self.words.iter_mut().zip(words).for_each(|(to, word)| *to = word);
        let (words, numbers) = (self.words.as_chunks::<2>().0, self.numbers.as_chunks::<2>().0);
        for (hash, masks) in hashes.iter_mut().zip(self.masks.chunks_exact(self.words.len())) {
            let mut sum = 0u64;
            for ((word, mask), number) in words.iter().zip(masks.as_chunks::<2>().0).zip(numbers) {
                let masked = |at: usize| u128::from(word[at] & mask[at] ^ number[at]);
                let product = masked(0) * masked(1);
                sum = sum.wrapping_add(product as u64 ^ (product >> 64) as u64);
            }
            *hash = sum;
        }
    }
}

/// Strings over an alphabet: the hash of every symbol at its place is added to that of the block.
struct Places {
    /// The block of each position, counted through all partitions: one after the other for each position.
    blocks: Vec<u16>,
    partitions: usize,
    numbers: Vec<u64>,
}

impl Places {
    fn new(seed: u64, dims: u32, blocks: usize, partitions: usize) -> Places {
        let mut of_position = vec![0; dims as usize * partitions];
        for number in 0..partitions {
            partition(seed, number, dims, blocks, |at, block| {
                of_position[at * partitions + number] = (number * blocks + block) as u16;
            });
        }
        let mut stream = Stream::new(seed, NUMBERS);
        let numbers = (0..dims).map(|_| stream.word()).collect();
        Places { blocks: of_position, partitions, numbers }
    }

    #[inline]
    fn hash(&self, symbols: impl Iterator<Item = u32>, hashes: &mut [u64]) {
        hashes.fill(0);
        for ((symbol, &number), blocks) in symbols.zip(&self.numbers).zip(self.blocks.chunks_exact(self.partitions)) {
            let hash = mix(number, u64::from(symbol));
            for &block in blocks {
                let sum = &mut hashes[usize::from(block)];
                *sum = sum.wrapping_add(hash);
            }
        }
    }
}

impl Lsh for Blocks {
    #[inline]
    fn start(&mut self, vector: &Vector) -> Result<()> {
        let Blocks { content, hashes, .. } = self;
        match (content, vector) {
            (Content::Bits(masks), Vector::Bits { bytes, .. } | Vector::Bytes(bytes)) => masks.hash(bytes, hashes),
            (Content::Symbols(places), Vector::Bytes(bytes)) => places.hash(bytes.iter().map(|&b| b.into()), hashes),
            (Content::Symbols(places), Vector::Ints(ints)) => places.hash(ints.iter().map(|&i| i as u32), hashes),
            (Content::Symbols(places), Vector::Text(text)) => places.hash(text.chars().map(u32::from), hashes),
            (_, other) => return Err(Error::data(format!("cannot hash blocks of {}", other.type_name()))),
        }
        self.combine();
        Ok(())
    }

    #[inline]
    fn buckets(&self) -> Buckets<'_> {
        Buckets::Numbers(&self.numbers)
    }

    fn id(&self, vector: &Vector, _: &[u64]) -> u64 {
        match self.content {
            Content::Bits(_) => bits::id(vector),
            Content::Symbols(_) => symbols::id(vector),
        }
    }

    /// A block that differs can have any content.
    fn alternatives(&self, _: &Wanted, _: &mut Vec<Alternative>) {}

    fn bytes(&self) -> usize {
        let content = match &self.content {
            Content::Bits(masks) => (masks.masks.len() + masks.numbers.len() + masks.words.len()) * size_of::<u64>(),
            Content::Symbols(places) => {
                places.blocks.len() * size_of::<u16>() + places.numbers.len() * size_of::<u64>()
            }
        };
        let words = self.hashes.len() + self.choices.len() + self.numbers.capacity();
        content + words * size_of::<u64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::{Family, Kind, Metric, Probing};

    fn functions(family: Family, dims: u32, blocks: u32, hashes: u32, partitions: u32) -> Blocks {
        let probing = Some(Probing { probes: 1, blocks });
        let params = Params { probing, hashes, ..Params::example(Kind::Probing, Metric::Hamming, family) };
        let tables = params.tables_per_partition().unwrap() * partitions;
        Blocks::new(&Params { tables, ..params }, dims).unwrap()
    }

    fn numbers(functions: &mut Blocks, vector: &Vector) -> Vec<i64> {
        functions.start(vector).unwrap();
        functions.numbers.clone()
    }

    /// A position belongs to one block of every partition: a change of it changes just the keys with this block.
    #[test]
    fn every_position_is_in_one_block_of_every_partition() {
        for (dims, blocks, hashes, partitions) in [
            (1, 1, 1, 2),
            (8, 3, 1, 1),
            (64, 5, 2, 3),
            (65, 4, 1, 2),
            (128, 7, 3, 1),
            (1000, 10, 1, 4),
            (1024, 4, 2, 2),
        ] {
            let mut bits = functions(Family::Blocks, dims, blocks, hashes, partitions);
            let mut symbols = functions(Family::SymbolBlocks, dims, blocks, hashes, partitions);
            let width = dims.div_ceil(8) as usize;
            let string: Vec<u8> = (0..width).map(|at| (at * 37) as u8).collect();
            let own = numbers(&mut bits, &Vector::Bits { bytes: &string, len: dims as usize });
            let letters = vec![7; dims as usize];
            let own_letters = numbers(&mut symbols, &Vector::Ints(&letters));
            let per_partition = own.len() / partitions as usize;
            // Choices with one of the blocks.
            let with_it = per_partition * hashes as usize / blocks as usize;
            let mut sizes = vec![0; own.len()];
            for at in 0..dims as usize {
                let mut other = string.clone();
                other[at / 8] ^= 128 >> (at % 8);
                let changed = numbers(&mut bits, &Vector::Bits { bytes: &other, len: dims as usize });
                let mut other = letters.clone();
                other[at] = 8;
                let changed_letters = numbers(&mut symbols, &Vector::Ints(&other));
                for (own, changed) in [(&own, &changed), (&own_letters, &changed_letters)] {
                    for (own, changed) in own.chunks(per_partition).zip(changed.chunks(per_partition)) {
                        let differ = own.iter().zip(changed).filter(|(own, changed)| own != changed).count();
                        assert_eq!(differ, with_it, "{dims} {blocks} {hashes} {at}");
                    }
                }
                sizes.iter_mut().zip(own.iter().zip(&changed)).for_each(|(size, (a, b))| *size += usize::from(a != b));
            }
            if hashes == 1 {
                let smallest = dims as usize / blocks as usize;
                assert!(sizes.iter().all(|&size| size == smallest || size == smallest + 1), "{sizes:?}");
            }
        }
    }

    #[test]
    fn same_numbers_on_every_machine() {
        let mut bits = functions(Family::Blocks, 72, 3, 2, 1);
        let bytes = [0xf0, 1, 2, 3, 4, 5, 6, 7, 0x80];
        let found = numbers(&mut bits, &Vector::Bytes(&bytes));
        assert_eq!(found, numbers(&mut bits, &Vector::Bits { bytes: &bytes, len: 72 }));
        assert_eq!(found, [-2_413_469_727_082_078_364, 238_973_855_625_471_412, -2_800_952_616_512_491_278]);
        let mut symbols = functions(Family::SymbolBlocks, 5, 2, 1, 1);
        let found = numbers(&mut symbols, &Vector::Text("héllo"));
        assert_eq!(found, numbers(&mut symbols, &Vector::Ints(&[104, 233, 108, 108, 111])));
        assert_eq!(found, [-4_468_671_433_199_895_261, 7_277_221_020_390_421_960]);
    }

    /// Keys of many different strings differ, and their highest bits are uniform.
    #[test]
    fn hashes_are_spread_evenly() {
        const STRINGS: usize = 64_000;
        const PARTS: usize = 64;
        let mut bits = functions(Family::Blocks, 128, 4, 1, 1);
        let mut found = std::collections::HashSet::new();
        let mut parts = vec![0.0; PARTS];
        for number in 0..STRINGS as u128 {
            // Strings with two ones, and some with more.
            let string = (1u128 << (number % 128)) | (1 << (number / 128 % 128)) | (number / 16384) << 3;
            let hash = numbers(&mut bits, &Vector::Bytes(&string.to_be_bytes()))[0] as u64;
            if found.insert(hash) {
                parts[(mix(hash, 1) >> 58) as usize] += 1.0;
            }
        }
        let blocks: std::collections::HashSet<u128> = {
            let Content::Bits(masks) = &bits.content else { panic!() };
            let [low, high] = masks.masks[..2] else { panic!() };
            let mask = u128::from(low.swap_bytes()) << 64 | u128::from(high.swap_bytes());
            (0..STRINGS as u128)
                .map(|number| ((1u128 << (number % 128)) | (1 << (number / 128 % 128)) | (number / 16384) << 3) & mask)
                .collect()
        };
        assert_eq!(found.len(), blocks.len());
        let expected = found.len() as f64 / PARTS as f64;
        let deviation: f64 = parts.iter().map(|count| (count - expected) * (count - expected) / expected).sum();
        // A chi-square number with 63 degrees of freedom has mean 63 and standard deviation 11.2.
        assert!((deviation - 63.0).abs() < 4.0 * 11.2, "{deviation}");
    }
}
