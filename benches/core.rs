//! What hashing and asking cost without a server: `cargo bench --no-default-features`.
//!
//! `l2_distance` is the peer: what an exact comparison with one row costs.

use divan::{Bencher, black_box};
use pg_lsbf::filter::params::{Kind, Metric};
use pg_lsbf::filter::{Engine, Owned};
use pg_lsbf::hash::hadamard::Hadamard;
use pg_lsbf::hash::kernel::Matrix;
use pg_lsbf::hash::path::Path;
use pg_lsbf::hash::rng::Stream;
use pg_lsbf::theory::design::{Spec, parameters};
use pg_lsbf::vector::Vector;

fn main() {
    divan::main();
}

fn random(count: usize, seed: u64) -> Vec<f32> {
    let mut stream = Stream::new(seed, 0);
    (0..count).map(|_| stream.gaussian() as f32).collect()
}

/// (columns, rows): 16 and 70 projections are what the server's benchmark uses.
const SHAPES: [(usize, usize); 4] = [(384, 16), (384, 70), (1536, 70), (4096, 70)];

fn matrix(columns: usize, rows: usize) -> Matrix {
    let mut matrix = Matrix::new(rows, columns).expect("there is memory");
    let values = random(rows * columns, 1);
    values.iter().enumerate().for_each(|(i, &value)| matrix.set(i / columns, i % columns, value));
    matrix
}

#[divan::bench(args = [384, 1536, 4096])]
fn l2_distance(bencher: Bencher, dims: usize) {
    let (a, b) = (random(dims, 1), random(dims, 2));
    bencher.bench_local(|| {
        let mut sums = [0.0f32; 16];
        for (a, b) in black_box(&a).as_chunks::<16>().0.iter().zip(black_box(&b).as_chunks::<16>().0) {
            for l in 0..16 {
                sums[l] += (a[l] - b[l]) * (a[l] - b[l]);
            }
        }
        sums.iter().sum::<f32>()
    });
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
    let (functions, x) = (Hadamard::new(1, columns, rows), random(columns, 2));
    let mut out = vec![0.0; rows];
    bencher.bench_local(|| functions.project(path, black_box(&x), &mut out));
}

/// Sixteen projections in all, 7 x 10, or 25 tables of bits, with ten thousand members.
const FILTERS: [&str; 5] = ["dsbf l2 4x4", "lsbf l2 4x4", "lsbf l2 7x10", "ilbf l2 16", "dsbf bits 25"];

fn filter(name: &str) -> (Engine, Owned, Vec<f32>, Vec<u8>) {
    let (kind, metric, tables, hashes) = match name {
        "dsbf l2 4x4" => (Kind::Dsbf, Metric::L2, 4, Some(4)),
        "lsbf l2 4x4" => (Kind::Lsbf, Metric::L2, 4, Some(4)),
        "lsbf l2 7x10" => (Kind::Lsbf, Metric::L2, 7, Some(10)),
        "ilbf l2 16" => (Kind::Ilbf, Metric::L2, 16, None),
        _ => (Kind::Dsbf, Metric::Hamming, 25, None),
    };
    let dims = if metric == Metric::Hamming { 1024 } else { 384 };
    let spec = Spec {
        dims: Some(dims),
        capacity: Some(10_000),
        near: Some(0.01),
        tables: Some(tables),
        hashes,
        ..Spec::default()
    };
    let (params, dims) = parameters(kind, metric, &spec).expect("the parameters are in range");
    let mut engine = Engine::new(params, dims).expect("there is memory");
    let mut filter = Owned::new(&engine.params, dims);
    let mut stream = Stream::new(3, 0);
    let (mut x, mut bytes) = (vec![0.0; dims as usize], vec![0; dims as usize / 8]);
    for _ in 0..10_000 {
        x.iter_mut().for_each(|x| *x = stream.uniform() as f32);
        bytes.iter_mut().for_each(|b| *b = stream.word() as u8);
        filter.add(&mut engine, &vector(metric, &x, &bytes)).expect("vectors are finite");
    }
    x.iter_mut().for_each(|x| *x = 1.0 - *x);
    bytes.iter_mut().for_each(|b| *b = !*b);
    (engine, filter, x, bytes)
}

fn vector<'a>(metric: Metric, x: &'a [f32], bytes: &'a [u8]) -> Vector<'a> {
    match metric {
        Metric::Hamming => Vector::Bits { bytes, len: bytes.len() * 8 },
        _ => Vector::F32(x),
    }
}

#[divan::bench(args = FILTERS)]
fn member(bencher: Bencher, name: &str) {
    let (mut engine, filter, x, bytes) = filter(name);
    let vector = vector(engine.params.metric, &x, &bytes);
    bencher.bench_local(|| engine.member(&filter.image, black_box(&vector), 1.0));
}

#[divan::bench(args = FILTERS)]
fn add(bencher: Bencher, name: &str) {
    let (mut engine, mut filter, x, bytes) = filter(name);
    let vector = vector(engine.params.metric, &x, &bytes);
    bencher.bench_local(|| filter.add(&mut engine, black_box(&vector)));
}
