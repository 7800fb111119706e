//! Differences in random directions, to simulate the scores of codes of few coordinates.

use super::likelihood::POSITIONS;
use crate::hash;
use crate::hash::rng::Stream;
use crate::params::Layout;

/// Other coordinates up to which their squares are drawn one by one.
const MAX_DRAWN: u32 = 128;

/// One coordinate: its standardized difference, and the position of the query within its bucket, from 0 to 1.
pub type Coordinate = (f32, f32);

/// Random differences of the coordinates of a code, whose squares and those of the other coordinates add up to their number.
/// The coordinates are divided into two halves that are drawn independently, given their lengths: in every group, each
/// of `PAIRED` first halves goes with each of as many second ones.
pub struct Directions<const PAIRED: usize> {
    /// Of each group, one after the other: the first halves and the second ones.
    of_groups: Vec<Coordinate>,
    /// The number of coordinates of the two halves.
    counts: [usize; 2],
}

impl<const PAIRED: usize> Directions<PAIRED> {
    /// Draws this number of groups from a stream.
    pub fn new(layout: &Layout, groups: usize, mut stream: Stream) -> Self {
        let (count, dims) = (layout.coordinates as usize, f64::from(layout.rotated));
        let counts = [count - count / 2, count / 2];
        let mut of_groups = Vec::with_capacity(groups * count * PAIRED);
        let mut half = Vec::new();
        for _ in 0..groups {
            // The squared lengths of the halves and of the other coordinates.
            let squares = counts.map(|count| square(count as u32, &mut stream));
            let all = squares[0] + squares[1] + square(layout.rotated - layout.coordinates, &mut stream);
            for (square, &count) in squares.iter().zip(&counts) {
                let length = (dims * square / all).sqrt();
                for _ in 0..PAIRED {
                    half.clear();
                    half.extend((0..count).map(|_| (stream.gaussian(), stream.uniform())));
                    let scale = length / half.iter().map(|(g, _)| g * g).sum::<f64>().sqrt();
                    of_groups.extend(half.iter().map(|&(g, position)| ((g * scale) as f32, position as f32)));
                }
            }
        }
        Directions { of_groups, counts }
    }

    /// Calls `each` for every group with the scores of its first and its second halves, given the score of a half. Any first
    /// one and any second one add up to the score of a direction.
    pub fn scores(
        &self,
        score: impl Fn(usize, &[Coordinate]) -> i64,
        mut each: impl FnMut(&[i64; PAIRED], &[i64; PAIRED]),
    ) {
        let [first, second] = self.counts;
        for (number, group) in self.of_groups.chunks_exact((first + second) * PAIRED).enumerate() {
            let (firsts, seconds) = group.split_at(first * PAIRED);
            let of_half = |halves: &[Coordinate], count: usize| -> [i64; PAIRED] {
                std::array::from_fn(|at| score(number, &halves[at * count..][..count]))
            };
            each(&of_half(firsts, first), &of_half(seconds, second));
        }
    }
}

/// The sum of the squares of this number of normal numbers.
fn square(count: u32, stream: &mut Stream) -> f64 {
    if count <= MAX_DRAWN {
        return (0..count).map(|_| stream.gaussian()).map(|g| g * g).sum();
    }
    // Wilson and Hilferty: its third root is almost normal.
    let (count, spread) = (f64::from(count), 2.0 / (9.0 * f64::from(count)));
    let root = 1.0 - spread + spread.sqrt() * stream.gaussian();
    count * root * root * root
}

/// The position, and the bucket relative to the query's own, of a member at a distance in widths of a bucket.
#[inline(always)]
pub fn bucket((g, position): Coordinate, distance: f32) -> (usize, i64) {
    let at = (position * POSITIONS as f32) as usize % POSITIONS;
    (at, hash::floor(f64::from(position + g * distance)))
}
