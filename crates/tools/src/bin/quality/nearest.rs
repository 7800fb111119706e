//! The exact distance of the nearest member, by comparing with all of them.

use crate::rows::Row;
use crate::sets::Metric;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Rows that are compared with a member while it is in the cache.
const GROUP: usize = 16;

/// Of every asked row, on two threads, with progress.
pub fn distances<R: Row>(metric: Metric, members: &[R], asked: &[R]) -> Vec<f64> {
    let mut found = vec![f64::INFINITY; asked.len()];
    let done = AtomicUsize::new(0);
    let half = asked.len().div_ceil(2).max(1);
    std::thread::scope(|scope| {
        for (asked, found) in asked.chunks(half).zip(found.chunks_mut(half)) {
            let (done, total) = (&done, asked.len() * 2);
            scope.spawn(move || {
                for (asked, found) in asked.chunks(GROUP).zip(found.chunks_mut(GROUP)) {
                    group(metric, members, asked, found);
                    progress(done.fetch_add(asked.len(), Ordering::Relaxed), asked.len(), total);
                }
            });
        }
    });
    found
}

fn group<R: Row>(metric: Metric, members: &[R], asked: &[R], found: &mut [f64]) {
    for member in members {
        for (row, least) in asked.iter().zip(found.iter_mut()) {
            *least = least.min(row.score(member, metric));
        }
    }
    found.iter_mut().for_each(|score| *score = R::distance(*score, metric));
}

/// A line for every fifth of the work.
fn progress(before: usize, more: usize, total: usize) {
    let part = |count: usize| 5 * count / total.max(1);
    if part(before + more) > part(before) && total >= 5000 {
        eprintln!("    exact distances: {} % of {total} rows", 20 * part(before + more));
    }
}
