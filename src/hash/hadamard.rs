//! Gaussian-like projections by fast Hadamard transforms: random signs, a transform, random signs, a transform. One pass
//! gives as many projections as the vector has dimensions, rounded up to a power of two, for 2 D log2 D additions, where
//! a dense matrix takes D multiplications for each.
//!
//! A projection is a sum of all elements with random signs, twice over, and by the central limit theorem as good as
//! normal; `tests/projections.rs` holds its collisions against the law of normal ones. A transform is butterflies of
//! distance 1, 2, 4, and so on. Their order fixes every rounding, so that every [`Path`] gives the same bits.

use super::path::Path;
use super::rng::Stream;
use std::ops::{Add, Mul, Sub};

const LANES: usize = 16;
/// Below this many terms a sum of random signs is not yet close to normal.
const MIN_SIZE: usize = 128;

/// Sixteen neighbouring elements.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
pub struct Line<T>([T; LANES]);

/// Numbers that can be transformed: singles and doubles.
pub trait Number:
    Copy + Default + Into<f64> + From<f32> + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self>
{
    /// Signs, transform, signs, transform; `work` has a line for each line of signs.
    fn pass(path: Path, x: &[Self], signs: &Signs, work: &mut [Line<Self>]);
}

impl Number for f32 {
    fn pass(path: Path, x: &[f32], signs: &Signs, work: &mut [Line<f32>]) {
        match path {
            // SAFETY: a path is only handed out where the processor has it.
            #[cfg(target_arch = "x86_64")]
            Path::Sse2 => unsafe { simd::sse2(x, signs, work) },
            // Wider registers were slower: what is gained between lines is lost within them.
            #[cfg(target_arch = "x86_64")]
            Path::Avx2 | Path::Avx512 => unsafe { simd::avx2(x, signs, work) },
            _ => plain(x, signs, work),
        }
    }
}

impl Number for f64 {
    fn pass(_: Path, x: &[f64], signs: &Signs, work: &mut [Line<f64>]) {
        plain(x, signs, work);
    }
}

/// Two random signs for each element, 1 or -1.
pub type Signs = [Vec<Line<f32>>; 2];

/// The random signs of every pass.
pub struct Hadamard {
    passes: Vec<Signs>,
    /// Makes a projection's variance the squared length of the vector.
    scale: f64,
}

/// Elements of a vector once it is padded with zeros.
fn padded(dims: usize) -> usize {
    dims.next_power_of_two().max(MIN_SIZE)
}

/// Additions it takes to project a vector to `count` numbers.
pub fn cost(dims: u64, count: u64) -> u64 {
    let size = padded(dims as usize) as u64;
    count.div_ceil(size) * 2 * size * u64::from(size.ilog2())
}

impl Hadamard {
    /// Signs for `count` projections. The streams are counted down from the one before the salts'.
    pub fn new(seed: u64, dims: usize, count: usize) -> Hadamard {
        let size = padded(dims);
        let signs = |stream: &mut Stream| {
            let mut signs = Vec::with_capacity(size / LANES);
            for _ in 0..size / 64 {
                let word = stream.word();
                signs.extend((0..64 / LANES).map(|part| {
                    let sign = |l: usize| if word >> (part * LANES + l) & 1 == 1 { -1.0 } else { 1.0 };
                    Line(std::array::from_fn(sign))
                }));
            }
            signs
        };
        let passes = (0..count.div_ceil(size) as u64).map(|pass| {
            let mut stream = Stream::new(seed, u64::MAX - 1 - pass);
            [signs(&mut stream), signs(&mut stream)]
        });
        Hadamard { passes: passes.collect(), scale: 1.0 / (size as f64).sqrt() }
    }

    pub fn bytes(&self) -> usize {
        self.passes.iter().map(|[first, _]| 2 * size_of_val(&first[..])).sum()
    }

    /// Projects a vector of no more elements than there are signs. `work` is memory for one transform.
    pub fn project<T: Number>(&self, path: Path, x: &[T], work: &mut Vec<Line<T>>, out: &mut [f64]) {
        for (signs, out) in self.passes.iter().zip(out.chunks_mut(self.passes[0][0].len() * LANES)) {
            work.resize(signs[0].len(), Line([T::default(); LANES]));
            T::pass(path, x, signs, work);
            for (y, &sum) in out.iter_mut().zip(work.iter().flat_map(|line| &line.0)) {
                *y = sum.into() * self.scale;
            }
        }
    }
}

fn plain<T: Number>(x: &[T], [first, second]: &Signs, work: &mut [Line<T>]) {
    let (whole, rest) = x.as_chunks::<LANES>();
    let mut tail = [T::default(); LANES];
    tail[..rest.len()].copy_from_slice(rest);
    let zeros = [T::default(); LANES];
    let lines = whole.iter().chain([&tail]).chain(std::iter::repeat(&zeros));
    for ((to, from), signs) in work.iter_mut().zip(lines).zip(first) {
        *to = within(from, signs);
    }
    between(work);
    for (line, signs) in work.iter_mut().zip(second) {
        *line = within(&line.0, signs);
    }
    between(work);
}

/// Signs, and butterflies of distance 1 to 8.
fn within<T: Number>(x: &[T; LANES], signs: &Line<f32>) -> Line<T> {
    /// With a distance known when compiled, this becomes a few shuffles.
    #[inline(always)]
    fn butterflies<T: Number, const DISTANCE: usize>(x: [T; LANES]) -> [T; LANES] {
        std::array::from_fn(|l| match l & DISTANCE {
            0 => x[l] + x[l ^ DISTANCE],
            _ => x[l ^ DISTANCE] - x[l],
        })
    }
    let x = std::array::from_fn(|l| x[l] * T::from(signs.0[l]));
    Line(butterflies::<T, 8>(butterflies::<T, 4>(butterflies::<T, 2>(butterflies::<T, 1>(x)))))
}

fn between<T: Number>(work: &mut [Line<T>]) {
    let mut distance = 1;
    while distance < work.len() {
        for block in work.chunks_exact_mut(2 * distance) {
            let (low, high) = block.split_at_mut(distance);
            for (Line(a), Line(b)) in low.iter_mut().zip(high) {
                (*a, *b) = (std::array::from_fn(|l| a[l] + b[l]), std::array::from_fn(|l| a[l] - b[l]));
            }
        }
        distance *= 2;
    }
}

/// The same with vector registers.
#[cfg(target_arch = "x86_64")]
mod simd {
    use super::{LANES, Line, Signs};
    use std::arch::x86_64::*;

    macro_rules! pass {
        ($name:ident: $feature:literal, $width:literal, $load:ident, $store:ident, $add:ident, $sub:ident, $multiply:ident, $within:ident) => {
            /// SAFETY: the processor must have the feature, `work` as many lines as there are of each sign, a power of
            /// two, and `x` at most as many elements.
            #[target_feature(enable = $feature)]
            pub unsafe fn $name(x: &[f32], [first, second]: &Signs, work: &mut [Line<f32>]) {
                let (whole, rest) = x.as_chunks::<LANES>();
                let mut tail = [0.0; LANES];
                tail[..rest.len()].copy_from_slice(rest);
                let zeros = [0.0; LANES];
                let size = work.len() * LANES;
                let data = work.as_mut_ptr().cast::<f32>();
                let lines = whole.iter().chain([&tail]).chain(std::iter::repeat(&zeros));
                // SAFETY: `data` has `size` elements, and every offset below is a multiple of the width and less.
                unsafe {
                    for (i, (signs, from)) in first.iter().zip(lines).enumerate() {
                        start(signs, from.as_ptr(), data.add(i * LANES));
                    }
                    between(data, size);
                    for (i, signs) in second.iter().enumerate() {
                        start(signs, data.add(i * LANES), data.add(i * LANES));
                    }
                    between(data, size);
                }

                /// Signs, and butterflies within a line.
                #[target_feature(enable = $feature)]
                unsafe fn start(signs: &Line<f32>, from: *const f32, to: *mut f32) {
                    // SAFETY: all three are lines.
                    unsafe {
                        let signed = |at: usize| $multiply($load(from.add(at)), $load(signs.0.as_ptr().add(at)));
                        let line = $within(std::array::from_fn(|part| signed(part * $width)));
                        line.into_iter().enumerate().for_each(|(part, x)| $store(to.add(part * $width), x));
                    }
                }

                /// Butterflies between lines; two distances at once while there are two, which moves data half as often.
                #[target_feature(enable = $feature)]
                unsafe fn between(data: *mut f32, size: usize) {
                    let mut distance = LANES;
                    // SAFETY: the four places are `distance` apart within the next `4 * distance` elements.
                    unsafe {
                        while 4 * distance <= size {
                            for block in (0..size).step_by(4 * distance) {
                                for at in (block..block + distance).step_by($width) {
                                    let place = |n: usize| data.add(at + n * distance);
                                    let (a, b, c, d) =
                                        ($load(place(0)), $load(place(1)), $load(place(2)), $load(place(3)));
                                    let (p, q, r, s) = ($add(a, b), $sub(a, b), $add(c, d), $sub(c, d));
                                    $store(place(0), $add(p, r));
                                    $store(place(1), $add(q, s));
                                    $store(place(2), $sub(p, r));
                                    $store(place(3), $sub(q, s));
                                }
                            }
                            distance *= 4;
                        }
                        if 2 * distance <= size {
                            for at in (0..distance).step_by($width) {
                                let (a, b) = ($load(data.add(at)), $load(data.add(at + distance)));
                                $store(data.add(at), $add(a, b));
                                $store(data.add(at + distance), $sub(a, b));
                            }
                        }
                    }
                }
            }
        };
    }

    pass!(sse2: "sse2", 4, _mm_loadu_ps, _mm_storeu_ps, _mm_add_ps, _mm_sub_ps, _mm_mul_ps, within_sse2);
    pass!(avx2: "avx2", 8, _mm256_loadu_ps, _mm256_storeu_ps, _mm256_add_ps, _mm256_sub_ps, _mm256_mul_ps, within_avx2);

    // A butterfly within a register: the lanes swapped, plus the register with every second of them negated.

    #[target_feature(enable = "sse2")]
    fn within_sse2(x: [__m128; 4]) -> [__m128; 4] {
        let (odd, upper) = (_mm_setr_ps(0.0, -0.0, 0.0, -0.0), _mm_setr_ps(0.0, 0.0, -0.0, -0.0));
        let [a, b, c, d] = x.map(|x| {
            let x = _mm_add_ps(_mm_shuffle_ps::<0b10_11_00_01>(x, x), _mm_xor_ps(x, odd));
            _mm_add_ps(_mm_shuffle_ps::<0b01_00_11_10>(x, x), _mm_xor_ps(x, upper))
        });
        let [p, q, r, s] = [_mm_add_ps(a, b), _mm_sub_ps(a, b), _mm_add_ps(c, d), _mm_sub_ps(c, d)];
        [_mm_add_ps(p, r), _mm_add_ps(q, s), _mm_sub_ps(p, r), _mm_sub_ps(q, s)]
    }

    #[target_feature(enable = "avx2")]
    fn within_avx2(x: [__m256; 2]) -> [__m256; 2] {
        let odd = _mm256_setr_ps(0.0, -0.0, 0.0, -0.0, 0.0, -0.0, 0.0, -0.0);
        let pairs = _mm256_setr_ps(0.0, 0.0, -0.0, -0.0, 0.0, 0.0, -0.0, -0.0);
        let upper = _mm256_setr_ps(0.0, 0.0, 0.0, 0.0, -0.0, -0.0, -0.0, -0.0);
        let [a, b] = x.map(|x| {
            let x = _mm256_add_ps(_mm256_permute_ps::<0b10_11_00_01>(x), _mm256_xor_ps(x, odd));
            let x = _mm256_add_ps(_mm256_permute_ps::<0b01_00_11_10>(x), _mm256_xor_ps(x, pairs));
            _mm256_add_ps(_mm256_permute2f128_ps::<1>(x, x), _mm256_xor_ps(x, upper))
        });
        [_mm256_add_ps(a, b), _mm256_sub_ps(a, b)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_path_gives_the_same_bits() {
        let mut s = Stream::new(9, 0);
        for (dims, count) in [(1, 1), (7, 5), (129, 4), (384, 70), (1000, 17), (100, 300)] {
            let functions = Hadamard::new(3, dims, count);
            let x: Vec<f32> = (0..dims).map(|_| s.gaussian() as f32).collect();
            let doubles: Vec<f64> = x.iter().map(|&x| f64::from(x)).collect();
            let on = |path| {
                let (mut single, mut double) = (vec![0.0; count], vec![0.0; count]);
                // Memory that was used before.
                functions.project(path, &x, &mut vec![Line([7.0; LANES]); 9], &mut single);
                functions.project(path, &doubles, &mut vec![Line([7.0; LANES]); 9], &mut double);
                single.iter().zip(&double).for_each(|(a, b)| assert!((a - b).abs() < 1e-4, "{a} is not {b}"));
                single.into_iter().chain(double).map(f64::to_bits).collect::<Vec<_>>()
            };
            for path in Path::available() {
                assert_eq!(on(path), on(Path::Plain), "{path:?} {dims} x {count}");
            }
        }
    }

    #[test]
    fn a_pass_keeps_lengths() {
        let mut s = Stream::new(11, 0);
        for dims in [3, 128, 200, 512] {
            let x: Vec<f64> = (0..dims).map(|_| s.gaussian()).collect();
            let mut out = vec![0.0; padded(dims)];
            Hadamard::new(5, dims, out.len()).project(Path::Plain, &x, &mut Vec::new(), &mut out);
            let (before, after) = (x.iter().map(|x| x * x).sum::<f64>(), out.iter().map(|y| y * y).sum::<f64>());
            assert!((after / out.len() as f64 / before - 1.0).abs() < 1e-12, "{before} {after}");
        }
    }
}
