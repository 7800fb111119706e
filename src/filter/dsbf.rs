//! Distance-sensitive Bloom filter: k partitions, each with one bit for a vector; B(u) counts the partitions that know
//! the query, and B(u) >= t is the answer (Kirsch and Mitzenmacher, section 2).

use super::bits::{self, Body, BodyMut};
use super::params::Params;
use crate::hash::Hasher;
use crate::theory;

/// The bit of every table that a vector has, each on its way into the cache.
pub fn positions(params: &Params, hasher: &Hasher, keys: &[u64], body: &(impl Body + ?Sized), out: &mut Vec<u64>) {
    let partition = params.partition();
    out.clear();
    out.extend(keys.iter().enumerate().map(|(table, &key)| {
        let at = table as u64 * partition + hasher.position(table, key, partition);
        body.prefetch((at / 64) as usize);
        at
    }));
}

/// Sets a member's bits; returns how many were new.
pub fn add(positions: &[u64], body: &mut (impl BodyMut + ?Sized)) -> u64 {
    positions.iter().map(|&at| body.set(at)).sum()
}

/// B(u).
pub fn votes(positions: &[u64], body: &(impl Body + ?Sized)) -> u32 {
    positions.iter().map(|&at| u32::from(bits::get(body, at))).sum()
}

/// Whether B(u) reaches the threshold; stops as soon as that is decided.
pub fn member(positions: &[u64], body: &(impl Body + ?Sized), threshold: u32) -> bool {
    let mut missing = threshold;
    let mut left = positions.len() as u32;
    for &at in positions {
        if missing == 0 || left < missing {
            break;
        }
        missing -= u32::from(bits::get(body, at));
        left -= 1;
    }
    missing == 0
}

/// ceil(t), t = k p(theta near)^l' / 2: what a vector at theta x near is compared with. At least one table must hit.
pub fn threshold(params: &Params, theta: f64) -> u32 {
    let hit = |distance: f64| theory::collision::tuple(params, distance);
    let near = hit(params.near);
    let t = match params.votes {
        0 => f64::from(params.tables) * hit(theta * params.near) / 2.0,
        votes => f64::from(votes) * (hit(theta * params.near) / near).min(f64::from(params.tables)),
    };
    ((t - 1e-9).ceil() as u32).clamp(1, params.tables)
}
