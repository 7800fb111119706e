//! Approximately Gaussian projections by fast Hadamard transforms.
//!
//! The vector is divided into blocks of 128 elements. Each block is multiplied by random signs, transformed, shuffled,
//! and multiplied by random factors. Then all blocks are added up and transformed once more, so that every projection
//! is a sum of all elements with random coefficients, and by the central limit theorem practically normal. The shuffle
//! keeps projections independent even if vectors differ in a few elements only. The factors have different magnitudes,
//! because otherwise all projections would be on a lattice, where distant vectors could collide. `tests/projections.rs`
//! compares the result with the distribution of normal projections. A pass takes about ten additions per element for up
//! to 128 projections; a dense matrix takes one multiplication per element and projection.
//!
//! The order of all operations is fixed: a transform consists of butterflies of distance 1, 2, 4, and so on, and blocks
//! are added in order. Every [`Path`] therefore gives the same bits.

use super::path::Path;
use super::rng::Stream;
use crate::memory;
use std::ops::{Add, Mul, Sub};

/// Elements of a block. They fit into registers, and a sum of 128 random signs is close to normal.
pub const BLOCK: usize = 128;
/// Elements that are shuffled among themselves: those of one register.
const GROUP: usize = 8;
const GROUPS: usize = BLOCK / GROUP;
/// The minimum number of projections that are computed.
const MIN_SUMS: usize = 16;

type Group<T> = [T; GROUP];

/// A block of elements, aligned to cache lines.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
struct Block<T>([Group<T>; GROUPS]);

/// The random numbers of a block.
struct Random {
    /// Signs before the transform, 1 or -1.
    before: Block<f32>,
    /// The shuffle: the group that each group is taken from.
    order: [usize; GROUPS],
    /// The shuffle: the element of that group that each element is taken from.
    places: Block<i32>,
    /// Factors after the shuffle: 0.5 to 1.5, with random signs, or signs only.
    after: Block<f32>,
}

/// Random numbers for every block of every pass. A pass computes 128 projections.
pub struct Hadamard {
    passes: Vec<Vec<Random>>,
    /// Normalizes the variance of a projection to the squared length of the vector.
    scale: f64,
}

/// The cost of `count` projections, in multiplications of the matrix kernel, as measured in docs/scaling.md.
pub fn cost(dims: u64, count: u64) -> u64 {
    const PER_ELEMENT: u64 = 6;
    let block = BLOCK as u64;
    count.div_ceil(block) * (dims.div_ceil(block) + 1) * block * PER_ELEMENT
}

/// The cost of `count` projections if all passes share the first transforms.
pub fn shared_cost(dims: u64, count: u64) -> u64 {
    let (block, blocks, passes) = (BLOCK as u64, dims.div_ceil(BLOCK as u64), count.div_ceil(BLOCK as u64));
    // The first transform takes about three quarters of the work on a block.
    block * (5 * blocks + passes * (2 * blocks + 5))
}

/// The number of random numbers for `count` projections.
pub fn numbers(dims: u64, count: u64) -> u64 {
    let block = size_of::<Random>() / size_of::<f32>();
    count.div_ceil(BLOCK as u64) * dims.div_ceil(BLOCK as u64) * block as u64
}

impl Random {
    fn draw(stream: &mut Stream, after: impl FnOnce(&mut Stream) -> Block<f32>) -> Random {
        let before = signs(stream);
        let order = shuffled(stream);
        let places = Block(std::array::from_fn(|_| shuffled::<GROUP>(stream).map(|place| place as i32)));
        Random { before, order, places, after: after(stream) }
    }
}

fn factors(stream: &mut Stream) -> Block<f32> {
    let mut factor = || {
        let word = stream.word();
        let size = 0.5 + (word >> 11) as f64 / (1u64 << 53) as f64;
        (if word & 1 == 1 { -size } else { size }) as f32
    };
    Block(std::array::from_fn(|_| std::array::from_fn(|_| factor())))
}

/// The mean square of uniform numbers from 0.5 to 1.5.
const FACTOR_SQUARED: f64 = 13.0 / 12.0;

fn signs(stream: &mut Stream) -> Block<f32> {
    let words = [stream.word(), stream.word()];
    let sign = |i: usize| if words[i / 64] >> (i % 64) & 1 == 1 { -1.0 } else { 1.0 };
    Block(std::array::from_fn(|group| std::array::from_fn(|i| sign(group * GROUP + i))))
}

/// A random permutation of the numbers below N.
fn shuffled<const N: usize>(stream: &mut Stream) -> [usize; N] {
    let mut order = std::array::from_fn(|i| i);
    for last in (1..N).rev() {
        order.swap(last, stream.below(last as u64 + 1) as usize);
    }
    order
}

impl Hadamard {
    /// Draws the random numbers for `count` projections; `None` if there is not enough memory. Stream numbers count
    /// down from that of the salts.
    pub fn new(seed: u64, dims: usize, count: usize) -> Option<Hadamard> {
        Hadamard::draw(seed, dims, count, factors, FACTOR_SQUARED)
    }

    /// The same with signs instead of factors: the projections of a pass are then orthogonal.
    pub fn orthogonal(seed: u64, dims: usize, count: usize) -> Option<Hadamard> {
        Hadamard::draw(seed, dims, count, signs, 1.0)
    }

    fn draw(
        seed: u64,
        dims: usize,
        count: usize,
        after: fn(&mut Stream) -> Block<f32>,
        squared: f64,
    ) -> Option<Hadamard> {
        let mut passes = Vec::new();
        for pass in 0..count.div_ceil(BLOCK) as u64 {
            let mut stream = Stream::new(seed, u64::MAX - 1 - pass);
            let mut blocks = Vec::new();
            memory::reserve(&mut blocks, dims.div_ceil(BLOCK)).ok()?;
            blocks.extend((0..dims.div_ceil(BLOCK)).map(|_| Random::draw(&mut stream, after)));
            passes.push(blocks);
        }
        Some(Hadamard { passes, scale: 1.0 / (BLOCK as f64 * squared).sqrt() })
    }

    /// Bytes of memory held.
    pub fn bytes(&self) -> usize {
        self.passes.iter().map(|blocks| size_of_val(&blocks[..])).sum()
    }

    /// Projects a vector, which must have the dimensions given to [`Hadamard::new`].
    pub fn project<T: Number>(&self, path: Path, x: &[T], out: &mut [f64]) {
        for (blocks, out) in self.passes.iter().zip(out.chunks_mut(BLOCK)) {
            // The number of projections, rounded up to a power of two.
            let sums = out.len().next_power_of_two().max(MIN_SUMS);
            let mut block = Block([[T::default(); GROUP]; GROUPS]);
            T::pass(path, x, blocks, &mut block.0[..sums / GROUP]);
            for (y, &sum) in out.iter_mut().zip(block.0.as_flattened()) {
                *y = sum.into() * self.scale;
            }
        }
    }

    /// The first transform of every block, with the signs of the first pass, as input of [`Hadamard::pass_singles`].
    pub fn first_singles(&self, path: Path, x: &[f32], out: &mut Vec<f32>) {
        let blocks = self.passes.first().map_or(&[][..], |blocks| blocks);
        out.resize(blocks.len() * BLOCK, 0.0);
        let out = out.as_chunks_mut::<GROUP>().0;
        match path {
            // SAFETY: the processor supports every available path.
            #[cfg(target_arch = "x86_64")]
            Path::Avx512 => unsafe { avx512::first(x, blocks, out) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Path::Avx2 => unsafe { avx2::first(x, blocks, out) },
            _ => first_plain(x, blocks, out),
        }
    }

    /// The projections of one pass in single precision, without scaling, for hashes that only compare projections. All
    /// passes share the first transforms, which saves more than half of the work; each has its own shuffle and factors.
    pub fn pass_singles(&self, path: Path, pass: usize, first: &[f32], out: &mut [f32]) {
        let first = first.as_chunks::<GROUP>().0;
        if out.len() == BLOCK {
            out.fill(0.0);
            return self.pass_block(path, pass, first, out.as_chunks_mut().0);
        }
        let sums = out.len().next_power_of_two().max(MIN_SUMS);
        let mut block = Block([[0.0f32; GROUP]; GROUPS]);
        self.pass_block(path, pass, first, &mut block.0[..sums / GROUP]);
        out.copy_from_slice(&block.0.as_flattened()[..out.len()]);
    }

    /// Adds one pass to sums, which are zero.
    fn pass_block(&self, path: Path, pass: usize, first: &[Group<f32>], sums: &mut [Group<f32>]) {
        match path {
            // SAFETY: the processor supports every available path, and every AVX-512 processor has AVX2.
            #[cfg(target_arch = "x86_64")]
            Path::Avx512 if sums.len() == GROUPS => unsafe { avx512::second(first, &self.passes[pass], sums) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Path::Avx2 | Path::Avx512 => unsafe { avx2::second(first, &self.passes[pass], sums) },
            _ => {
                let blocks = first.as_chunks::<GROUPS>().0.iter().zip(&self.passes[pass]);
                blocks.for_each(|(block, random)| add_shuffled(block, random, sums));
                transform(sums);
            }
        }
    }
}

fn first_plain(x: &[f32], blocks: &[Random], out: &mut [Group<f32>]) {
    let mut out = out.as_chunks_mut::<GROUPS>().0.iter_mut();
    for_each_block(x, blocks, |x, random| {
        if let Some(block) = out.next() {
            sign(x, random, block);
            transform(block);
        }
    });
}

/// Single- and double-precision numbers, which can be transformed.
#[expect(private_interfaces, reason = "only this module calls it")]
pub trait Number:
    Copy + Default + Into<f64> + From<f32> + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self>
{
    /// Adds all blocks to the sums, which are initially zero, and transforms them. There are 2, 4, 8 or 16 groups of
    /// sums. A block is first reduced to that number of groups: its second half is repeatedly added to its first.
    fn pass(path: Path, x: &[Self], blocks: &[Random], sums: &mut [Group<Self>]);
}

#[expect(private_interfaces, reason = "only this module calls it")]
impl Number for f32 {
    fn pass(path: Path, x: &[f32], blocks: &[Random], sums: &mut [Group<f32>]) {
        match path {
            // AVX-512 was not faster: its gain between groups is lost within them.
            // SAFETY: the processor supports every available path, and every AVX-512 processor has AVX2.
            #[cfg(target_arch = "x86_64")]
            Path::Avx2 | Path::Avx512 => unsafe { avx2::pass(x, blocks, sums) },
            _ => plain(x, blocks, sums),
        }
    }
}

#[expect(private_interfaces, reason = "only this module calls it")]
impl Number for f64 {
    fn pass(_: Path, x: &[f64], blocks: &[Random], sums: &mut [Group<f64>]) {
        plain(x, blocks, sums);
    }
}

/// Calls `each` with every block of a vector and its random numbers; the last block is padded with zeros.
#[inline(always)]
fn for_each_block<T: Number>(x: &[T], blocks: &[Random], mut each: impl FnMut(&[Group<T>], &Random)) {
    let (whole, rest) = x.as_chunks::<BLOCK>();
    whole.iter().zip(blocks).for_each(|(x, random)| each(x.as_chunks().0, random));
    if !rest.is_empty() {
        let mut last = [T::default(); BLOCK];
        last[..rest.len()].copy_from_slice(rest);
        each(last.as_chunks().0, &blocks[whole.len()]);
    }
}

fn plain<T: Number>(x: &[T], blocks: &[Random], sums: &mut [Group<T>]) {
    for_each_block(x, blocks, |x, random| {
        let mut block = [[T::default(); GROUP]; GROUPS];
        sign(x, random, &mut block);
        transform(&mut block);
        add_shuffled(&block, random, sums);
    });
    transform(sums);
}

/// Multiplies a block by its signs.
fn sign<T: Number>(x: &[Group<T>], random: &Random, block: &mut [Group<T>; GROUPS]) {
    for ((to, x), signs) in block.iter_mut().zip(x).zip(&random.before.0) {
        *to = std::array::from_fn(|i| x[i] * T::from(signs[i]));
    }
}

/// Shuffles a transformed block, multiplies it by its factors, reduces it to the number of sums and adds it to them.
fn add_shuffled<T: Number>(block: &[Group<T>; GROUPS], random: &Random, sums: &mut [Group<T>]) {
    let mut shuffled = [[T::default(); GROUP]; GROUPS];
    for (group, to) in shuffled.iter_mut().enumerate() {
        let from = &block[random.order[group] & (GROUPS - 1)];
        for ((to, &place), &factor) in to.iter_mut().zip(&random.places.0[group]).zip(&random.after.0[group]) {
            *to = from[place as usize & (GROUP - 1)] * T::from(factor);
        }
    }
    let mut groups = GROUPS;
    while groups > sums.len() {
        groups /= 2;
        // With a slice of each half, LLVM 22 has read numbers of one round before the round before had written them.
        for group in 0..groups {
            shuffled[group] = added(&shuffled[group], &shuffled[group + groups]);
        }
    }
    sums.iter_mut().zip(&shuffled).for_each(|(sum, group)| *sum = added(sum, group));
}

fn added<T: Number>(a: &Group<T>, b: &Group<T>) -> Group<T> {
    std::array::from_fn(|i| a[i] + b[i])
}

fn transform<T: Number>(groups: &mut [Group<T>]) {
    /// With a constant distance, this is compiled to a few shuffles.
    #[inline(always)]
    fn within<T: Number, const DISTANCE: usize>(x: Group<T>) -> Group<T> {
        std::array::from_fn(|i| match i & DISTANCE {
            0 => x[i] + x[i ^ DISTANCE],
            _ => x[i ^ DISTANCE] - x[i],
        })
    }
    groups.iter_mut().for_each(|x| *x = within::<T, 4>(within::<T, 2>(within::<T, 1>(*x))));
    let mut distance = 1;
    while distance < groups.len() {
        for part in groups.chunks_exact_mut(2 * distance) {
            let (low, high) = part.split_at_mut(distance);
            for (a, b) in low.iter_mut().zip(high) {
                (*a, *b) = (std::array::from_fn(|i| a[i] + b[i]), std::array::from_fn(|i| a[i] - b[i]));
            }
        }
        distance *= 2;
    }
}

/// Adds and subtracts pairs of registers. It is unrolled, because otherwise the compiler would not keep them in registers.
#[cfg(target_arch = "x86_64")]
macro_rules! butterflies {
    ($x:ident, $add:ident, $sub:ident, $($low:literal $high:literal),*) => {
        $(
            let (a, b) = ($x[$low], $x[$high]);
            ($x[$low], $x[$high]) = ($add(a, b), $sub(a, b));
        )*
    };
}

/// The same with one register per group. Macros unroll all loops, because otherwise the compiler would not keep the
/// groups in registers.
#[cfg(target_arch = "x86_64")]
mod avx2 {
    use super::{GROUPS, Group, Random, for_each_block};
    use std::arch::x86_64::*;

    macro_rules! for_each_group {
        ($each:expr) => {
            for_each_group!($each, 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15)
        };
        ($each:expr, $($group:literal)*) => {
            [$($each($group)),*]
        };
    }

    /// SAFETY: the processor must have AVX2, and there must be random numbers for all of `x`.
    #[target_feature(enable = "avx2")]
    pub unsafe fn pass(x: &[f32], blocks: &[Random], sums: &mut [Group<f32>]) {
        for_each_block(x, blocks, |x, random| {
            let block = transformed(x, random);
            let mut stored = [[0.0; 8]; GROUPS];
            for_each_group!(|group: usize| store(&mut stored[group], block[group]));
            add_shuffled(&stored, random, sums);
        });
        finish(sums);
    }

    /// SAFETY: the processor must have AVX2; there must be random numbers for all of `x`, and space for its blocks.
    #[target_feature(enable = "avx2")]
    pub unsafe fn first(x: &[f32], blocks: &[Random], out: &mut [Group<f32>]) {
        let mut out = out.as_chunks_mut::<GROUPS>().0.iter_mut();
        for_each_block(x, blocks, |x, random| {
            let block = transformed(x, random);
            if let Some(to) = out.next() {
                for_each_group!(|group: usize| store(&mut to[group], block[group]));
            }
        });
    }

    /// SAFETY: the processor must have AVX2.
    #[target_feature(enable = "avx2")]
    pub unsafe fn second(first: &[Group<f32>], blocks: &[Random], sums: &mut [Group<f32>]) {
        let first = first.as_chunks::<GROUPS>().0;
        if let Some(sums) = sums.as_mut_array::<GROUPS>() {
            // All blocks are added up in a register before the next group.
            let sum = |group: usize| {
                let add = |sum, (block, random)| _mm256_add_ps(sum, shuffled(block, random, group));
                within(first.iter().zip(blocks).fold(_mm256_setzero_ps(), add))
            };
            let all = between(for_each_group!(sum));
            for_each_group!(|group: usize| store(&mut sums[group], all[group]));
            return;
        }
        for (block, random) in first.iter().zip(blocks) {
            add_shuffled(block, random, sums);
        }
        finish(sums);
    }

    /// A group of a shuffled block, multiplied by its factors.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn shuffled(block: &[Group<f32>; GROUPS], random: &Random, group: usize) -> __m256 {
        let from = load(&block[random.order[group] & (GROUPS - 1)]);
        // SAFETY: eight integers have the size of a register.
        let places = unsafe { _mm256_load_si256(random.places.0[group].as_ptr().cast()) };
        _mm256_mul_ps(_mm256_permutevar8x32_ps(from, places), load(&random.after.0[group]))
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    fn transformed(x: &[Group<f32>], random: &Random) -> [__m256; GROUPS] {
        let signed = |group: usize| within(_mm256_mul_ps(load(&x[group]), load(&random.before.0[group])));
        between(for_each_group!(signed))
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    fn add_shuffled(stored: &[Group<f32>; GROUPS], random: &Random, sums: &mut [Group<f32>]) {
        let groups = sums.len();
        let block: [__m256; GROUPS] = for_each_group!(|group: usize| shuffled(stored, random, group));
        let half = |block: &[__m256], i: usize| _mm256_add_ps(block[i], block[i + block.len() / 2]);
        let mut keep = |groups: &[__m256]| {
            sums.iter_mut().zip(groups).for_each(|(sum, &group)| store(sum, _mm256_add_ps(load(sum), group)));
        };
        if groups == 16 {
            return keep(&block);
        }
        let block: [__m256; 8] = std::array::from_fn(|i| half(&block, i));
        if groups == 8 {
            return keep(&block);
        }
        let block: [__m256; 4] = std::array::from_fn(|i| half(&block, i));
        if groups == 4 {
            return keep(&block);
        }
        keep(&[half(&block, 0), half(&block, 1)]);
    }

    /// The last transform.
    #[target_feature(enable = "avx2")]
    fn finish(sums: &mut [Group<f32>]) {
        sums.iter_mut().for_each(|sum| store(sum, within(load(sum))));
        let mut distance = 1;
        while distance < sums.len() {
            for part in sums.chunks_exact_mut(2 * distance) {
                let (low, high) = part.split_at_mut(distance);
                for (a, b) in low.iter_mut().zip(high) {
                    let (x, y) = (load(a), load(b));
                    store(a, _mm256_add_ps(x, y));
                    store(b, _mm256_sub_ps(x, y));
                }
            }
            distance *= 2;
        }
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    fn load(group: &Group<f32>) -> __m256 {
        // SAFETY: a group has the size of a register.
        unsafe { _mm256_loadu_ps(group.as_ptr()) }
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    fn store(to: &mut Group<f32>, group: __m256) {
        // SAFETY: a group has the size of a register.
        unsafe { _mm256_storeu_ps(to.as_mut_ptr(), group) }
    }

    /// Butterflies of distance 1, 2 and 4: the swapped elements plus the elements with alternating signs.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn within(x: __m256) -> __m256 {
        let odd = _mm256_setr_ps(0.0, -0.0, 0.0, -0.0, 0.0, -0.0, 0.0, -0.0);
        let pairs = _mm256_setr_ps(0.0, 0.0, -0.0, -0.0, 0.0, 0.0, -0.0, -0.0);
        let upper = _mm256_setr_ps(0.0, 0.0, 0.0, 0.0, -0.0, -0.0, -0.0, -0.0);
        let x = _mm256_add_ps(_mm256_permute_ps::<0b10_11_00_01>(x), _mm256_xor_ps(x, odd));
        let x = _mm256_add_ps(_mm256_permute_ps::<0b01_00_11_10>(x), _mm256_xor_ps(x, pairs));
        _mm256_add_ps(_mm256_permute2f128_ps::<1>(x, x), _mm256_xor_ps(x, upper))
    }

    /// Butterflies of distance 8, 16, 32 and 64.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn between(mut x: [__m256; GROUPS]) -> [__m256; GROUPS] {
        butterflies!(x, _mm256_add_ps, _mm256_sub_ps, 0 1, 2 3, 4 5, 6 7, 8 9, 10 11, 12 13, 14 15);
        butterflies!(x, _mm256_add_ps, _mm256_sub_ps, 0 2, 1 3, 4 6, 5 7, 8 10, 9 11, 12 14, 13 15);
        butterflies!(x, _mm256_add_ps, _mm256_sub_ps, 0 4, 1 5, 2 6, 3 7, 8 12, 9 13, 10 14, 11 15);
        butterflies!(x, _mm256_add_ps, _mm256_sub_ps, 0 8, 1 9, 2 10, 3 11, 4 12, 5 13, 6 14, 7 15);
        x
    }
}

/// The same with one register per two groups, for full passes that share the first transforms.
#[cfg(target_arch = "x86_64")]
mod avx512 {
    use super::{GROUPS, Group, Random, for_each_block};
    use std::arch::x86_64::*;

    /// Registers of a block.
    const COUNT: usize = GROUPS / 2;
    type Pair = [Group<f32>; 2];

    /// SAFETY: the processor must have AVX-512F; there must be random numbers for all of `x`, and space for its blocks.
    #[target_feature(enable = "avx512f")]
    pub unsafe fn first(x: &[f32], blocks: &[Random], out: &mut [Group<f32>]) {
        let mut out = out.as_chunks_mut::<GROUPS>().0.iter_mut();
        for_each_block(x, blocks, |x, random| {
            let (x, signs) = (x.as_chunks::<2>().0, random.before.0.as_chunks::<2>().0);
            if let (Some(x), Some(to)) = (x.as_array::<COUNT>(), out.next()) {
                let signed = std::array::from_fn(|at| _mm512_mul_ps(load(&x[at]), load(&signs[at])));
                store(transformed(signed), to);
            }
        });
    }

    /// SAFETY: the processor must have AVX-512F, and there must be sums for a whole block.
    #[target_feature(enable = "avx512f")]
    pub unsafe fn second(first: &[Group<f32>], blocks: &[Random], sums: &mut [Group<f32>]) {
        let mut all = [_mm512_setzero_ps(); COUNT];
        for (block, random) in first.as_chunks::<GROUPS>().0.iter().zip(blocks) {
            for (pair, sum) in all.iter_mut().enumerate() {
                *sum = _mm512_add_ps(*sum, shuffled(block, random, pair));
            }
        }
        if let Some(sums) = sums.as_mut_array::<GROUPS>() {
            store(transformed(all), sums);
        }
    }

    /// Two groups of a shuffled block, multiplied by their factors.
    #[target_feature(enable = "avx512f")]
    #[inline]
    fn shuffled(block: &[Group<f32>; GROUPS], random: &Random, pair: usize) -> __m512 {
        let group = |at: usize| {
            let from = &block[random.order[2 * pair + at] & (GROUPS - 1)];
            // SAFETY: a group has the size of half a register.
            unsafe { _mm256_loadu_pd(from.as_ptr().cast()) }
        };
        let from = _mm512_insertf64x4::<1>(_mm512_castpd256_pd512(group(0)), group(1));
        // SAFETY: sixteen integers have the size of a register.
        let places = unsafe { _mm512_loadu_si512(random.places.0[2 * pair..][..2].as_ptr().cast()) };
        // Places are within a group.
        let second = _mm512_set_epi32(8, 8, 8, 8, 8, 8, 8, 8, 0, 0, 0, 0, 0, 0, 0, 0);
        let shuffled = _mm512_permutexvar_ps(_mm512_or_si512(places, second), _mm512_castpd_ps(from));
        _mm512_mul_ps(shuffled, load(&random.after.0.as_chunks::<2>().0[pair]))
    }

    #[target_feature(enable = "avx512f")]
    #[inline]
    fn load(pair: &Pair) -> __m512 {
        // SAFETY: two groups have the size of a register.
        unsafe { _mm512_loadu_ps(pair.as_ptr().cast()) }
    }

    #[target_feature(enable = "avx512f")]
    #[inline]
    fn store(block: [__m512; COUNT], to: &mut [Group<f32>; GROUPS]) {
        for (pair, to) in block.into_iter().zip(to.as_chunks_mut::<2>().0) {
            // SAFETY: two groups have the size of a register.
            unsafe { _mm512_storeu_ps(to.as_mut_ptr().cast(), pair) }
        }
    }

    /// All butterflies of a block.
    #[target_feature(enable = "avx512f")]
    #[inline]
    fn transformed(block: [__m512; COUNT]) -> [__m512; COUNT] {
        let mut x = block.map(|x| within(x));
        butterflies!(x, _mm512_add_ps, _mm512_sub_ps, 0 1, 2 3, 4 5, 6 7);
        butterflies!(x, _mm512_add_ps, _mm512_sub_ps, 0 2, 1 3, 4 6, 5 7);
        butterflies!(x, _mm512_add_ps, _mm512_sub_ps, 0 4, 1 5, 2 6, 3 7);
        x
    }

    /// Butterflies of distance 1, 2, 4 and 8: the swapped elements plus the elements with alternating signs.
    #[target_feature(enable = "avx512f")]
    #[inline]
    fn within(x: __m512) -> __m512 {
        // The products are exact.
        let add = |swapped: __m512, x: __m512, signs: __m512| _mm512_fmadd_ps(x, signs, swapped);
        let (s, t) = (1.0, -1.0);
        let x = add(
            _mm512_permute_ps::<0b10_11_00_01>(x),
            x,
            _mm512_setr_ps(s, t, s, t, s, t, s, t, s, t, s, t, s, t, s, t),
        );
        let x = add(
            _mm512_permute_ps::<0b01_00_11_10>(x),
            x,
            _mm512_setr_ps(s, s, t, t, s, s, t, t, s, s, t, t, s, s, t, t),
        );
        let swapped = _mm512_shuffle_f32x4::<0b10_11_00_01>(x, x);
        let x = add(swapped, x, _mm512_setr_ps(s, s, s, s, t, t, t, t, s, s, s, s, t, t, t, t));
        let swapped = _mm512_shuffle_f32x4::<0b01_00_11_10>(x, x);
        add(swapped, x, _mm512_setr_ps(s, s, s, s, s, s, s, s, t, t, t, t, t, t, t, t))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_path_gives_the_same_bits() {
        let mut s = Stream::new(9, 0);
        for (dims, count) in [(1, 1), (7, 5), (129, 4), (384, 30), (384, 60), (384, 70), (1000, 17), (100, 300)] {
            let functions = Hadamard::new(3, dims, count).unwrap();
            let x: Vec<f32> = (0..dims).map(|_| s.gaussian() as f32).collect();
            let doubles: Vec<f64> = x.iter().map(|&x| f64::from(x)).collect();
            let on = |path| {
                let mut rotated = vec![0.0; count];
                let mut first = Vec::new();
                functions.first_singles(path, &x, &mut first);
                for (pass, rotated) in rotated.chunks_mut(BLOCK).enumerate() {
                    functions.pass_singles(path, pass, &first, rotated);
                }
                let (mut single, mut double) = (vec![0.0; count], vec![0.0; count]);
                functions.project(path, &x, &mut single);
                functions.project(path, &doubles, &mut double);
                single
                    .iter()
                    .zip(&double)
                    .for_each(|(a, b)| assert!((a - b).abs() < 1e-4, "{a} is not {b} {path:?} {dims} {count}"));
                // The first pass is the same, except for the scale.
                let scaled = rotated.iter().map(|&y| f64::from(y) * functions.scale).take(BLOCK);
                assert!(scaled.zip(&single).all(|(a, b)| a == *b), "{path:?} {dims} {count}");
                let rotated = rotated.into_iter().map(f64::from);
                single.into_iter().chain(double).chain(rotated).map(f64::to_bits).collect::<Vec<_>>()
            };
            for path in Path::available() {
                assert_eq!(on(path), on(Path::Plain), "{path:?} {dims} x {count}");
            }
        }
    }

    #[test]
    fn same_numbers_on_every_machine() {
        let x: Vec<f32> = (0..200).map(|i| i as f32 / 8.0).collect();
        let mut out = [0.0; 20];
        Hadamard::new(42, x.len(), out.len()).unwrap().project(Path::Plain, &x, &mut out);
        assert_eq!(
            [out[0], out[7], out[19]].map(f64::to_bits),
            [4_639_578_939_825_518_194, 13_866_120_468_619_505_279, 4_639_861_488_923_202_791]
        );
    }

    #[test]
    fn the_variance_of_projections_is_the_squared_length() {
        let mut s = Stream::new(11, 0);
        for dims in [3, 100, 128, 500] {
            let x: Vec<f64> = (0..dims).map(|_| s.gaussian()).collect();
            let length = x.iter().map(|x| x * x).sum::<f64>();
            let mut out = vec![0.0; 100 * BLOCK];
            Hadamard::new(5, dims, out.len()).unwrap().project(Path::Plain, &x, &mut out);
            // Four standard errors of the mean of 100 passes, whose standard deviation is at most 20 %.
            let found = out.iter().map(|y| y * y).sum::<f64>() / out.len() as f64 / length;
            assert!((found - 1.0).abs() < 4.0 * 0.02, "{dims}: {found}");
        }
    }
}
