//! The scaling study: what asking and adding cost as members, dimensions and tables grow. Writes docs/scaling.md.

use lsbf::design::{Options, parameters};
use lsbf::filter::{Engine, Owned};
use lsbf::params::Metric;
use lsbf::vector::Vector;
use lsbf_tools::filters::{Draw, options};
use lsbf_tools::plot::{Axis, Mark, Plot, Series};
use std::fmt::Write;
use std::path::Path;
use std::time::Instant;

/// Vectors asked and added in turn: so many that their bits do not stay in the caches between two rounds.
const POOL: usize = 50_000;
const ROUNDS: usize = 5;

/// Nanoseconds of one call, the best of several rounds over all vectors.
fn nanoseconds(pool: &[Vec<f32>], mut call: impl FnMut(&Vector)) -> f64 {
    let rounds = (0..ROUNDS).map(|_| {
        let start = Instant::now();
        pool.iter().for_each(|x| call(&Vector::F32(x)));
        start.elapsed().as_secs_f64() * 1e9 / pool.len() as f64
    });
    rounds.fold(f64::INFINITY, f64::min)
}

fn pool(count: usize, dims: usize, seed: u64) -> Vec<Vec<f32>> {
    let mut draw = Draw::new(seed, dims);
    (0..count).map(|_| draw.reals().to_vec()).collect()
}

struct Costs {
    ask: f64,
    add: f64,
    bytes: usize,
}

/// What a filter costs that has `members` members already.
fn costs(kind: &str, change: impl Fn(Options) -> Options, members: usize, dims: usize, pool: &[Vec<f32>]) -> Costs {
    let (kind, metric, common) = options(kind, members, dims).expect("the kind is known");
    let (params, dims) = parameters(kind, metric, &change(common)).expect("the parameters are in range");
    let mut engine = Engine::new(params, dims).expect("there is memory for the functions");
    let mut filter = Owned::new(&engine.params, dims);
    let mut draw = Draw::new(1, dims as usize);
    (0..members).for_each(|_| filter.add(&mut engine, &draw.next(Metric::L2)).expect("vectors are finite"));
    let ask = nanoseconds(pool, |vector| {
        std::hint::black_box(engine.contains(&filter.view().queried(), vector, 1.0).expect("vectors are finite"));
    });
    let add = nanoseconds(pool, |vector| filter.add(&mut engine, vector).expect("vectors are finite"));
    Costs { ask, add, bytes: filter.image.len() * 8 }
}

const KINDS: [&str; 3] = ["dsbf", "lsbf", "ilbf"];

struct Report {
    text: String,
    folder: std::path::PathBuf,
}

impl Report {
    fn say(&mut self, line: &str) {
        writeln!(self.text, "{line}").expect("text can be written");
    }

    fn picture(&mut self, name: &str, plot: Plot) -> std::io::Result<()> {
        std::fs::write(self.folder.join(format!("scaling/{name}.svg")), plot.svg())?;
        self.say(&format!("\n![{}](scaling/{name}.svg)\n", plot.title));
        Ok(())
    }
}

pub fn write() -> std::io::Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    std::fs::create_dir_all(folder.join("scaling"))?;
    let mut report = Report { text: String::new(), folder };
    report.say("# How the cost grows\n");
    report.say(
        "Written by `make scaling`; do not edit. Hashing and probing alone, without a server, on one core; times are the \
         best of five rounds over 50,000 random vectors that are not members. They are those of one machine: what \
         travels is the shape of the curves.\n",
    );
    report.say(&format!("{}\n", machine()));
    members(&mut report)?;
    dimensions(&mut report)?;
    tables(&mut report)?;
    std::fs::write(report.folder.join("scaling.md"), report.text)
}

/// The processor and its caches.
fn machine() -> String {
    let read = |file: &str| std::fs::read_to_string(file).map_or_else(|_| "?".into(), |text| text.trim().to_string());
    let cpu = read("/proc/cpuinfo");
    let model = cpu.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": ")).map_or("?", |(_, m)| m);
    let cache = |index: usize| read(&format!("/sys/devices/system/cpu/cpu0/cache/index{index}/size"));
    format!("{model}; caches: {} of data, {}, {}.", cache(0), cache(2), cache(3))
}

fn members(report: &mut Report) -> std::io::Result<()> {
    const DIMS: usize = 64;
    const COUNTS: [usize; 9] = [1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000, 10_000_000];
    report.say("## Members\n");
    report.say(
        "16 projections of 64 dimensions. A question reads a bit for each table (DSBF and LSBF: 4, and a few of the \
         verification filter) or two neighbouring Blooms for each projection (ILBF: 16), wherever the hash points.\n",
    );
    report.say("| members | DSBF size | ask | add | LSBF size | ask | add | ILBF size | ask | add |");
    report.say("|---|---|---|---|---|---|---|---|---|---|");
    let pool = pool(POOL, DIMS, 2);
    let mut series: Vec<Series> = Vec::new();
    for (colour, kind) in KINDS.iter().enumerate() {
        series.push(Series::new(format!("{}, ask", kind.to_uppercase()), colour, Mark::Marked, Vec::new()));
        series.push(Series::new(format!("{}, add", kind.to_uppercase()), colour, Mark::Dashed, Vec::new()));
    }
    for count in COUNTS {
        eprintln!("{count} members");
        let mut row = format!("| {count} |");
        for (i, kind) in KINDS.iter().enumerate() {
            let costs = costs(kind, |options| options, count, DIMS, &pool);
            let size = costs.bytes as f64 / 1e6;
            write!(row, " {size:.2} MB | {:.0} ns | {:.0} ns |", costs.ask, costs.add).expect("text can be written");
            series[2 * i].points.push((count as f64, costs.ask));
            series[2 * i + 1].points.push((count as f64, costs.add));
        }
        report.say(&row);
    }
    let highest = series.iter().flat_map(|s| &s.points).map(|p| p.1).fold(0.0, f64::max);
    let plot = Plot {
        title: "Time of a question and of an addition, by members",
        x: Axis::log("members", 1e3, 1e7),
        y: Axis::linear("nanoseconds", 0.0, highest * 1.1),
        series,
    };
    report.picture("members", plot)?;
    report.say(
        "**Where cache misses begin.** While a filter fits into the second-level cache, every probe is served from it \
         and a curve is flat: hashing is all there is. Once it is larger, its probes are misses in that cache, and beyond \
         the third-level cache reads from memory, of which most also miss the TLB (4 kB pages). The positions of all tables \
         are computed first and fetched ahead together, so that a question waits about as long as for one or two of them, \
         not for the sum of all. An LSBF question ends at its second empty table.\n",
    );
    Ok(())
}

fn dimensions(report: &mut Report) -> std::io::Result<()> {
    const COUNTS: [usize; 10] = [8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096];
    report.say("## Dimensions\n");
    report.say(
        "Asking a DSBF of 10,000 members, with 16 (4 x 4) and 70 (7 x 10) projections: by a dense matrix, and by fast \
         Hadamard transforms. The last two columns show which one is chosen where `transform` is not given.\n",
    );
    report.say("| dims | 16, dense | 16, hadamard | 70, dense | 70, hadamard | 16 | 70 |");
    report.say("|---|---|---|---|---|---|---|");
    let variants = [(4, 4, false), (4, 4, true), (7, 10, false), (7, 10, true)];
    let names = ["16, dense", "16, hadamard", "70, dense", "70, hadamard"];
    let marks = [Mark::Dashed, Mark::Marked];
    let mut series: Vec<Series> = (0..4).map(|i| Series::new(names[i], i / 2, marks[i % 2], Vec::new())).collect();
    for dims in COUNTS {
        eprintln!("{dims} dimensions");
        let pool = pool((POOL * 64 / dims).clamp(1_000, POOL), dims, 3);
        let mut row = format!("| {dims} |");
        for (i, &(tables, hashes, fast)) in variants.iter().enumerate() {
            let change = |s| Options { tables: Some(tables), hashes: Some(hashes), fast: Some(fast), ..s };
            let costs = costs("dsbf", change, 10_000, dims, &pool);
            write!(row, " {:.0} ns |", costs.ask).expect("text can be written");
            series[i].points.push((dims as f64, costs.ask));
        }
        for (tables, hashes) in [(4, 4), (7, 10)] {
            let (kind, metric, common) = options("dsbf", 10_000, dims).expect("the kind is known");
            let given = Options { tables: Some(tables), hashes: Some(hashes), ..common };
            let family = parameters(kind, metric, &given).expect("the parameters are in range").0.family;
            write!(row, " {} |", if family.is_fast() { "hadamard" } else { "dense" }).expect("text can be written");
        }
        report.say(&row);
    }
    let plot = Plot {
        title: "Time of a question, by dimensions",
        x: Axis::log("dimensions", 8.0, 4096.0),
        y: Axis::log("nanoseconds", 50.0, 2e4),
        series,
    };
    report.picture("dimensions", plot)?;
    report.say(
        "A dense matrix takes one multiplication for each projection and dimension, and once it is larger than the \
         first-level cache the time to read it. A fast transform takes about ten additions a dimension for up to 128 \
         projections, in blocks of 128 dimensions. Beyond some thousand dimensions reading the vectors themselves shows.\n",
    );
    Ok(())
}

fn tables(report: &mut Report) -> std::io::Result<()> {
    const DIMS: usize = 128;
    report.say("## Tables\n");
    report.say("DSBF of 100,000 members, 4 hashes a table, 128 dimensions; ILBF with so many projections.\n");
    report.say("| tables | DSBF ask | DSBF add | ILBF ask | ILBF add |");
    report.say("|---|---|---|---|---|");
    let pool = pool(POOL, DIMS, 4);
    let mut series: Vec<Series> = ["DSBF, ask", "DSBF, add", "ILBF, ask", "ILBF, add"]
        .into_iter()
        .enumerate()
        .map(|(i, name)| Series::new(name, i / 2, [Mark::Marked, Mark::Dashed][i % 2], Vec::new()))
        .collect();
    for tables in [1, 2, 4, 8, 16, 32, 64, 128, 255] {
        eprintln!("{tables} tables");
        let dsbf = costs("dsbf", |s| Options { tables: Some(tables), ..s }, 100_000, DIMS, &pool);
        let ilbf = costs("ilbf", |s| Options { tables: Some(tables), ..s }, 100_000, DIMS, &pool);
        let found = [dsbf.ask, dsbf.add, ilbf.ask, ilbf.add];
        report.say(&format!(
            "| {tables} | {:.0} ns | {:.0} ns | {:.0} ns | {:.0} ns |",
            found[0], found[1], found[2], found[3]
        ));
        series.iter_mut().zip(found).for_each(|(series, ns)| series.points.push((tables as f64, ns)));
    }
    let highest = series.iter().flat_map(|s| &s.points).map(|p| p.1).fold(0.0, f64::max);
    let plot = Plot {
        title: "Time of a question and of an addition, by tables",
        x: Axis::log("tables", 1.0, 255.0),
        y: Axis::log("nanoseconds", 50.0, highest * 1.3),
        series,
    };
    report.picture("tables", plot)?;
    report.say("Costs grow in proportion to tables times hashes, up to what a vector costs in any case.");
    Ok(())
}
