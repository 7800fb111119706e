//! Rows for benchmarks: real ones from a file, or generated ones with similar properties.

use half::f16;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use rand_distr::StandardNormal;
use std::io::{Error, Result};

/// The data of a NumPy file with `columns` columns of type `descr`, without the header.
fn npy(file: &str, descr: &str, columns: usize) -> Result<Vec<u8>> {
    let mut bytes = std::fs::read(file)?;
    let invalid = |what: &str| Error::other(format!("{file}: {what}"));
    if bytes.len() < 10 || &bytes[..8] != b"\x93NUMPY\x01\0" {
        return Err(invalid("not a NumPy file of format 1.0"));
    }
    let header = 10 + usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    let text = String::from_utf8_lossy(&bytes[10..header.min(bytes.len())]).into_owned();
    if !text.contains(&format!("'descr': '{descr}'")) || !text.contains(&format!(", {columns})")) {
        return Err(invalid(&format!("expected {columns} columns of {descr}, found {text}")));
    }
    bytes.drain(..header);
    Ok(bytes)
}

/// A pseudo-random number derived from `id`.
fn scattered(id: usize) -> usize {
    ((id as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize
}

/// Unit vectors. Generated ones have a common component, as embeddings do, and near-duplicates: one row in four is an
/// earlier one with noise of length 0.05 to 0.6.
pub fn vectors(
    rows: usize,
    dims: usize,
    file: Option<&str>,
    mut each: impl FnMut(usize, &[f32]) -> Result<()>,
) -> Result<()> {
    if let Some(file) = file {
        let bytes = npy(file, "<f2", dims)?;
        let real = bytes.as_chunks::<2>().0;
        for (id, row) in real.chunks_exact(dims).take(rows).enumerate() {
            let row: Vec<f32> = row.iter().map(|&x| f16::from_le_bytes(x).to_f32()).collect();
            each(id, &row)?;
        }
        return Ok(());
    }
    let mut rng = SmallRng::seed_from_u64(5);
    let mut direction = |length: f32| {
        let x: Vec<f32> = (0..dims).map(|_| rng.sample(StandardNormal)).collect();
        let scale = length / x.iter().map(|x| x * x).sum::<f32>().sqrt();
        x.into_iter().map(|x| x * scale).collect::<Vec<f32>>()
    };
    let common = direction(0.4);
    let mut generated: Vec<Vec<f32>> = Vec::new();
    for id in 0..rows {
        let (from, length) = match id % 4 {
            3 => (&generated[scattered(id) % generated.len()], 0.05 + 0.55 * (id % 97) as f32 / 96.0),
            _ => (&common, 0.917),
        };
        let mut x: Vec<f32> = direction(length).iter().zip(from).map(|(a, b)| a + b).collect();
        let norm = x.iter().map(|x| x * x).sum::<f32>().sqrt();
        x.iter_mut().for_each(|x| *x /= norm);
        each(id, &x)?;
        generated.push(x);
    }
    Ok(())
}

/// Bit strings with few bits set, like fingerprints of molecules. Of generated ones, one row in four is an earlier one
/// with a few bits flipped.
pub fn bits(
    rows: usize,
    dims: usize,
    file: Option<&str>,
    mut each: impl FnMut(usize, &[u8]) -> Result<()>,
) -> Result<()> {
    let bytes = dims / 8;
    if let Some(file) = file {
        let data = npy(file, "|u1", bytes)?;
        return data.chunks_exact(bytes).take(rows).enumerate().try_for_each(|(id, row)| each(id, row));
    }
    let mut rng = SmallRng::seed_from_u64(6);
    let mut generated: Vec<Vec<u8>> = Vec::new();
    for id in 0..rows {
        let (mut x, flips) = match id % 4 {
            3 => (generated[scattered(id) % generated.len()].clone(), 1 + id % 16),
            _ => (vec![0u8; bytes], dims / 20),
        };
        for _ in 0..flips {
            let at = rng.random_range(0..bytes * 8);
            x[at / 8] ^= 1 << (at % 8);
        }
        each(id, &x)?;
        generated.push(x);
    }
    Ok(())
}
