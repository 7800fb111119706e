//! Distance-sensitive Bloom filter: k partitions, each with one bit for a vector; B(u) counts the partitions that know
//! the query, and B(u) >= t is the answer (Kirsch and Mitzenmacher, section 2).

use super::bits;
use super::params::Params;
use crate::hash::{Buckets, Hasher};
use crate::theory;

#[inline]
fn position(params: &Params, hasher: &Hasher, buckets: &Buckets, table: usize) -> u64 {
    let partition = params.partition();
    let key = buckets.keys[table];
    table as u64 * partition + hasher.position(table, key, partition)
}

/// Sets a member's bits; returns how many were new.
pub fn add(params: &Params, hasher: &Hasher, buckets: &Buckets, body: &mut [u64]) -> u64 {
    (0..params.tables as usize).map(|table| bits::set(body, position(params, hasher, buckets, table))).sum()
}

/// Which tables know the query.
pub fn hits(params: &Params, hasher: &Hasher, buckets: &Buckets, body: &[u64]) -> impl Iterator<Item = bool> {
    (0..params.tables as usize).map(|table| bits::get(body, position(params, hasher, buckets, table)))
}

/// B(u).
pub fn votes(params: &Params, hasher: &Hasher, buckets: &Buckets, body: &[u64]) -> u32 {
    hits(params, hasher, buckets, body).map(u32::from).sum()
}

/// Whether B(u) reaches the threshold; stops as soon as that is decided.
pub fn member(params: &Params, hasher: &Hasher, buckets: &Buckets, body: &[u64], threshold: u32) -> bool {
    let mut missing = threshold;
    let mut left = params.tables;
    for table in 0..params.tables as usize {
        if missing == 0 || left < missing {
            break;
        }
        missing -= u32::from(bits::get(body, position(params, hasher, buckets, table)));
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
