//! Filters with few members, stored as lists, compared with the same filters stored as words.

use lsbf::design::{Options, parameters};
use lsbf::filter::bits::BodyMut;
use lsbf::filter::format::Bits;
use lsbf::filter::{Engine, Owned};
use lsbf::filter::{Queried, Source};
use lsbf::limits::MAX_LISTED;
use lsbf::params::{Kind, Metric};
use lsbf::vector::Vector;
use lsbf_tools::filters;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use std::hint::black_box;
use std::time::Instant;

/// Rounds of queries; the best counts.
const ROUNDS: usize = 15;
/// Different queries: half of them members.
const QUERIES: usize = 200;

/// A vector of any metric.
enum Row {
    Reals(Vec<f32>),
    Bits(Vec<u8>),
    Set(Vec<i32>),
}

impl Row {
    fn draw(metric: Metric, dims: usize, rng: &mut SmallRng) -> Row {
        match metric {
            Metric::Hamming => Row::Bits((0..dims / 8).map(|_| rng.random()).collect()),
            Metric::Jaccard => Row::Set((0..43).map(|_| rng.random_range(0..1 << 20)).collect()),
            _ => Row::Reals((0..dims).map(|_| 1e6 * rng.random::<f32>()).collect()),
        }
    }

    fn view(&self) -> Vector<'_> {
        match self {
            Row::Reals(x) => Vector::F32(x),
            Row::Bits(bytes) => Vector::Bits { bytes, len: bytes.len() * 8 },
            Row::Set(x) => Vector::Ints(x),
        }
    }
}

/// Nanoseconds of one call, for all rows.
fn time(rows: &[Row], mut call: impl FnMut(&Vector)) -> f64 {
    let best = (0..ROUNDS).map(|_| {
        let start = Instant::now();
        (0..20).for_each(|_| rows.iter().for_each(|row| call(&row.view())));
        start.elapsed().as_nanos() as f64 / (20 * rows.len()) as f64
    });
    best.fold(f64::INFINITY, f64::min)
}

/// Filters of this kind with as many members as fit into a list, and a quarter of it.
fn measure(name: &str, kind: Kind, metric: Metric, options: Options) {
    let (params, dims) = parameters(kind, metric, &options).expect("the parameters are in range");
    let mut engine = Engine::new(params.clone(), dims).expect("memory is available");
    for most in [MAX_LISTED / 8, MAX_LISTED] {
        let mut rng = SmallRng::seed_from_u64(1);
        let (mut filter, mut members) = (Owned::new(&params, dims), Vec::new());
        loop {
            let row = Row::draw(metric, dims as usize, &mut rng);
            let mut more = filter.clone();
            more.add(&mut engine, &row.view()).expect("rows are valid");
            if more.view().header.ones > most || !more.view().header.is_sparse {
                break;
            }
            filter = more;
            members.push(row);
        }
        let view = filter.view();
        let Bits::List(list) = view.body() else { panic!("{name} is not a list") };
        let mut words = vec![0u64; params.body_words() as usize];
        list.positions().for_each(|at| _ = words[..].set(at));
        let as_words = Queried { counters: view.queried().counters, body: Source::Words(&words) };
        let count = members.len();
        let mut queries: Vec<Row> = (0..QUERIES / 2).map(|_| Row::draw(metric, dims as usize, &mut rng)).collect();
        let half = QUERIES / 2;
        queries.extend(members.into_iter().take(half));
        let as_list = view.queried();
        let mut ratio = |rows: &[Row]| {
            let mut query = |filter: &Queried| {
                time(rows, |row| _ = black_box(engine.contains(filter, row, 1.0).expect("rows are valid")))
            };
            let (words, list) = (query(&as_words), query(&as_list));
            format!("{words:7.1} {list:7.1} {:5.2}", list / words)
        };
        let (unrelated, own) = (ratio(&queries[..half]), ratio(&queries[half..]));
        println!("{name:18} {count:5} {:5} {unrelated}    {own}", view.header.ones);
    }
}

/// Prints the time of a query of words and of a list, for unrelated rows and for members.
pub fn print() {
    println!("{:18} {:>5} {:>5} {:>21}    {:>21}", "", "", "bits", "unrelated:", "members:");
    println!(
        "{:18} {:>5} {:>5} {:>7} {:>7} {:>5}    {:>7} {:>7} {:>5}",
        "kind", "rows", "set", "words", "list", "ratio", "words", "list", "ratio"
    );
    for name in ["dsbf", "lsbf", "lsbf70", "ilbf", "bits"] {
        let dims = if name == "bits" { 1024 } else { 384 };
        let (kind, metric, options) = filters::options(name, 10_000, dims).expect("the kind exists");
        measure(name, kind, metric, options);
    }
    let few = |near: f64| Options { near: Some(near), capacity: Some(10_000), ..Options::default() };
    let any = Kind::Probing;
    measure("ilbf 64", Kind::Ilbf, Metric::L2, Options { dims: Some(384), ..few(1.0) });
    measure(
        "blocks",
        any,
        Metric::Hamming,
        Options { dims: Some(1024), blocks: Some(4), tables: Some(24), hashes: Some(1), ..few(4.0 / 1024.0) },
    );
    measure("any l1", any, Metric::L1, Options { dims: Some(64), far: Some(4.0), ..few(1.0) });
    measure("any jaccard", any, Metric::Jaccard, few(0.2));
    measure("dsbf jaccard", Kind::Dsbf, Metric::Jaccard, few(0.2));
}
