//! The exact distance of the nearest member, by comparison with all members.

use crate::rows::Row;
use crate::sets::Metric;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Queries that are compared with a member while it is in the CPU cache.
const GROUP: usize = 16;

/// The distance of the nearest member for every query. Runs on two threads and shows its progress.
pub fn distances<R: Row>(metric: Metric, members: &[R], queries: &[R]) -> Vec<f64> {
    let mut found = vec![f64::INFINITY; queries.len()];
    let done = AtomicUsize::new(0);
    let half = queries.len().div_ceil(2).max(1);
    std::thread::scope(|scope| {
        for (queries, found) in queries.chunks(half).zip(found.chunks_mut(half)) {
            let (done, total) = (&done, queries.len() * 2);
            scope.spawn(move || {
                for (queries, found) in queries.chunks(GROUP).zip(found.chunks_mut(GROUP)) {
                    group(metric, members, queries, found);
                    progress(done.fetch_add(queries.len(), Ordering::Relaxed), queries.len(), total);
                }
            });
        }
    });
    found
}

fn group<R: Row>(metric: Metric, members: &[R], queries: &[R], found: &mut [f64]) {
    for member in members {
        for (query, smallest) in queries.iter().zip(found.iter_mut()) {
            *smallest = smallest.min(query.score(member, metric));
        }
    }
    found.iter_mut().for_each(|score| *score = R::distance(*score, metric));
}

/// Prints a line after every fifth of the work.
fn progress(before: usize, more: usize, total: usize) {
    let part = |count: usize| 5 * count / total.max(1);
    if part(before + more) > part(before) && total >= 5000 {
        eprintln!("    exact distances: {} % of {total} rows", 20 * part(before + more));
    }
}
