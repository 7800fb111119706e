//! Rows with planted near-duplicates, to be found by screening.

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use rand_distr::StandardNormal;
use std::io::Result;

/// One row in `EVERY` is planted.
const EVERY: usize = 20;

fn scaled(mut x: Vec<f32>, length: f64) -> Vec<f32> {
    let norm = x.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>().sqrt();
    x.iter_mut().for_each(|x| *x = (f64::from(*x) * length / norm) as f32);
    x
}

fn direction(seed: u64, dims: usize) -> Vec<f32> {
    let mut rng = SmallRng::seed_from_u64(seed);
    (0..dims).map(|_| rng.sample(StandardNormal)).collect()
}

/// A row that is unrelated to the others except for a common component, as embeddings have. It is generated from its
/// number, so that rows need not be kept for later copies.
fn original(id: usize, common: &[f32]) -> Vec<f32> {
    let own = scaled(direction(1 + id as u64, common.len()), 0.917);
    scaled(own.iter().zip(common).map(|(a, b)| a + b).collect(), 1.0)
}

/// The earlier row that a planted one is a copy of.
fn source(id: usize) -> Option<usize> {
    if id % EVERY != EVERY - 1 {
        return None;
    }
    let at = ((id as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize % id;
    Some(if at % EVERY == EVERY - 1 { at - 1 } else { at })
}

/// Unit vectors. A planted one is at distance `near` of an earlier one, whose number it comes with.
pub fn rows(
    rows: usize,
    dims: usize,
    near: f64,
    mut each: impl FnMut(usize, Option<usize>, &[f32]) -> Result<()>,
) -> Result<()> {
    let common = scaled(direction(0, dims), 0.4);
    for id in 0..rows {
        let Some(source) = source(id) else {
            each(id, None, &original(id, &common))?;
            continue;
        };
        // Rotated by the angle whose chord is `near`, towards the orthogonal part of a random direction.
        let from = original(source, &common);
        let noise = scaled(direction((1 << 40) + id as u64, dims), 1.0);
        let along: f32 = from.iter().zip(&noise).map(|(a, b)| a * b).sum();
        let noise = scaled(noise.iter().zip(&from).map(|(n, x)| n - along * x).collect(), 1.0);
        let (sin, cos) = (2.0 * (near / 2.0).asin()).sin_cos();
        let copy: Vec<f32> = from.iter().zip(&noise).map(|(x, n)| cos as f32 * x + sin as f32 * n).collect();
        each(id, Some(source), &copy)?;
    }
    Ok(())
}
