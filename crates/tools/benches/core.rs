//! Times of hashing and queries without a server: `cargo bench -p lsbf-tools`.
//!
//! `l2_distance` is the baseline: an exact comparison with one row.

use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use lsbf::filter::{Engine, Owned};
use lsbf::hash::hadamard::Hadamard;
use lsbf::hash::kernel::Matrix;
use lsbf::hash::path::Path;
use lsbf::hash::rng::Stream;
use lsbf::vector::Vector;
use lsbf_tools::filters::{self, Draw};

fn main() {
    divan::main();
}

fn random(count: usize, seed: u64) -> Vec<f32> {
    let mut stream = Stream::new(seed, 0);
    (0..count).map(|_| stream.gaussian() as f32).collect()
}

/// (columns, rows): the server's benchmark uses 16 and 70 projections.
const SHAPES: [(usize, usize); 4] = [(384, 16), (384, 70), (1536, 70), (4096, 70)];

fn matrix(columns: usize, rows: usize) -> Matrix {
    let mut matrix = Matrix::new(rows, columns).expect("memory is available");
    let values = random(rows * columns, 1);
    values.iter().enumerate().for_each(|(i, &value)| matrix.set(i / columns, i % columns, value));
    matrix
}

#[divan::bench(args = [384, 1536, 4096])]
fn l2_distance(bencher: Bencher, dims: usize) {
    let (a, b) = (random(dims, 1), random(dims, 2));
    bencher.bench_local(|| filters::distance(black_box(&a), black_box(&b)));
}

#[divan::bench(args = Path::available().into_iter().flat_map(|path| SHAPES.map(|shape| (path, shape))))]
fn dense(bencher: Bencher, (path, (columns, rows)): (Path, (usize, usize))) {
    let (matrix, x, mut out) = (matrix(columns, rows), random(columns, 2), vec![0.0; rows]);
    bencher.bench_local(|| matrix.multiply(path, black_box(&x), &mut out));
}

#[divan::bench(args = Path::available().into_iter().flat_map(|path| [384, 1536].map(|dims| (path, dims))))]
fn dense_doubles(bencher: Bencher, (path, dims): (Path, usize)) {
    let (matrix, mut out) = (matrix(dims, 16), vec![0.0; 16]);
    let x: Vec<f64> = random(dims, 2).iter().map(|&x| f64::from(x) / 3.0).collect();
    bencher.bench_local(|| matrix.multiply_double(path, black_box(&x), &mut out));
}

#[divan::bench(args = Path::available().into_iter().flat_map(|path| SHAPES.map(|shape| (path, shape))))]
fn hadamard(bencher: Bencher, (path, (columns, rows)): (Path, (usize, usize))) {
    let (functions, x) = (Hadamard::new(1, columns, rows).expect("memory is available"), random(columns, 2));
    let mut out = vec![0.0; rows];
    bencher.bench_local(|| functions.project(path, black_box(&x), &mut out));
}

/// Filters of ten thousand members each; see src/filters.rs.
const FILTERS: [&str; 5] = ["dsbf", "lsbf", "lsbf70", "ilbf", "bits"];

fn filter(kind: &str) -> (Engine, Owned, Draw) {
    let dims = if kind == "bits" { 1024 } else { 384 };
    let (engine, filter) = filters::random(kind, 10_000, dims).expect("the kind exists");
    let mut unrelated = Draw::new(2, dims);
    unrelated.next(engine.params.metric);
    (engine, filter, unrelated)
}

#[divan::bench(args = FILTERS)]
fn member(bencher: Bencher, kind: &str) {
    let (mut engine, filter, unrelated) = filter(kind);
    let vector = unrelated.last(engine.params.metric);
    bencher.bench_local(|| engine.contains(&filter.view().queried(), black_box(&vector), 1.0));
}

#[divan::bench(args = FILTERS)]
fn add(bencher: Bencher, kind: &str) {
    let (mut engine, mut filter, unrelated) = filter(kind);
    let vector = unrelated.last(engine.params.metric);
    bencher.bench_local(|| filter.add(&mut engine, black_box(&vector)));
}

/// 8,192 queries of quotient filters: the vectors are members, or unrelated to them. The environment variable LSBF_PATH selects
/// the instruction set.
#[divan::bench(args = [(24_000, 1), (24_000, 2), (1_000_000, 1), (1_000_000, 2)])]
fn quotient_member(bencher: Bencher, (members, seed): (usize, u64)) {
    // Too many to be predicted by the processor.
    const VECTORS: usize = 8192;
    let (mut engine, filter) = filters::quotient(members, 384);
    let mut draw = Draw::new(seed, 384);
    let vectors: Vec<Vec<f32>> = (0..VECTORS).map(|_| draw.reals().to_vec()).collect();
    let mut passes = |vector: &Vec<f32>| engine.contains(&filter.view().queried(), &Vector::F32(vector), 1.0);
    bencher.counter(ItemsCount::new(VECTORS)).bench_local(|| vectors.iter().filter(|x| passes(x) == Ok(true)).count());
}
