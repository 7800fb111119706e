//! Filters with any number of random members, built without a server.

use lsbf::design::{Options, parameters};
use lsbf::filter::lsqf::fingerprint::{Fingerprint, sort_records};
use lsbf::filter::{Engine, Owned};
use lsbf::params::{Kind, Layout, Metric};
use lsbf::vector::Vector;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

/// The parameters that scripts/bench.sh also uses in a server: 16 projections in total (`lsbf70`: 70), or sampled bits.
pub fn options(kind: &str, members: usize, dims: usize) -> Option<(Kind, Metric, Options)> {
    let common =
        Options { dims: Some(dims as i64), capacity: Some(members as i64), near: Some(1.0), ..Options::default() };
    Some(match kind {
        "dsbf" => (Kind::Dsbf, Metric::L2, Options { tables: Some(4), hashes: Some(4), ..common }),
        "lsbf" => (Kind::Lsbf, Metric::L2, Options { tables: Some(4), hashes: Some(4), ..common }),
        "lsbf70" => (Kind::Lsbf, Metric::L2, Options { tables: Some(7), hashes: Some(10), ..common }),
        // A quarter of the default number of Blooms, so that ten million members stay below the maximum size.
        "ilbf" => (Kind::Ilbf, Metric::L2, Options { tables: Some(16), blooms: Some((4 * members) as i64), ..common }),
        "bits" => (Kind::Dsbf, Metric::Hamming, Options { tables: Some(25), near: Some(0.01), ..common }),
        _ => return None,
    })
}

/// Coordinates are uniform in 0..SPREAD: so wide that members rarely share buckets.
const SPREAD: f32 = 1e6;

/// Random unrelated vectors, drawn one after the other into the same buffers.
pub struct Draw {
    rng: SmallRng,
    x: Vec<f32>,
    bytes: Vec<u8>,
}

impl Draw {
    pub fn new(seed: u64, dims: usize) -> Draw {
        Draw { rng: SmallRng::seed_from_u64(seed), x: vec![0.0; dims], bytes: vec![0; dims.div_ceil(8)] }
    }

    /// Draws a vector.
    pub fn reals(&mut self) -> &[f32] {
        self.x.iter_mut().for_each(|x| *x = SPREAD * self.rng.random::<f32>());
        &self.x
    }

    /// Draws a vector or a bit string, depending on the metric.
    pub fn next(&mut self, metric: Metric) -> Vector<'_> {
        match metric {
            Metric::Hamming => self.rng.fill(&mut self.bytes[..]),
            _ => _ = self.reals(),
        }
        self.last(metric)
    }

    /// The vector drawn last.
    pub fn last(&self, metric: Metric) -> Vector<'_> {
        match metric {
            Metric::Hamming => Vector::Bits { bytes: &self.bytes, len: self.x.len() },
            _ => Vector::F32(&self.x),
        }
    }
}

/// A filter of random members, with its engine.
pub fn random(kind: &str, members: usize, dims: usize) -> Option<(Engine, Owned)> {
    let (kind, metric, options) = options(kind, members, dims)?;
    let (params, dims) = parameters(kind, metric, &options).expect("the parameters are in range");
    let mut engine = Engine::new(params, dims).expect("memory is available");
    let mut filter = Owned::new(&engine.params, dims);
    let mut draw = Draw::new(1, dims as usize);
    for _ in 0..members {
        filter.add(&mut engine, &draw.next(metric)).expect("drawn vectors are finite");
    }
    Some((engine, filter))
}

/// A quotient filter of random members, like the one that lsbf_design_for chooses for them in benches/server/large.sql.
pub fn quotient(members: usize, dims: usize) -> (Engine, Owned) {
    const NEAR: f64 = 1e6;
    // Those of larger filters must be distinguished by more bits.
    let cells = if members > 1 << 17 { 18 } else { 14 };
    let centre = vec![SPREAD / 2.0; dims];
    let options = Options {
        dims: Some(dims as i64),
        near: Some(NEAR),
        bits: Some(58),
        cells: Some(cells),
        centre: Some(centre.clone()),
        ..Options::default()
    };
    let (params, dims) = parameters(Kind::Lsqf, Metric::L2, &options).expect("the parameters are in range");
    let mut engine = Engine::centred(params, dims, centre).expect("memory is available");
    let layout = Layout::of(&engine.params, dims).expect("it is a quotient filter");
    let mut draw = Draw::new(1, dims as usize);
    let mut records = Vec::new();
    for _ in 0..members {
        let member = engine.fingerprint(&Vector::F32(draw.reals())).expect("drawn vectors are finite");
        records.extend_from_slice(&member.record()[..Fingerprint::record_bytes(&layout)]);
    }
    sort_records(&mut records, Fingerprint::record_bytes(&layout));
    let image = engine.write_records(&records, |words| vec![0; words]).expect("memory is available");
    (engine, Owned { image })
}

/// Queries a filter of ten thousand members `rows` times or, for the kind `distance`, computes `rows` distances. The
/// vectors are the same hundred, drawn beforehand.
pub fn query(kind: &str, rows: usize) -> Option<()> {
    let dims = if kind == "bits" { 1024 } else { 384 };
    let mut draw = Draw::new(2, dims);
    if kind == "distance" {
        let pool: Vec<Vec<f32>> = (0..101).map(|_| draw.reals().to_vec()).collect();
        let sum: f32 = (0..rows).map(|row| distance(&pool[row % 100], &pool[100])).sum();
        eprintln!("mean distance {}", sum / rows as f32);
        return Some(());
    }
    let (mut engine, filter) = random(kind, 10_000, dims)?;
    let metric = engine.params.metric;
    let mut pool: Vec<Draw> = (0..100).map(|seed| Draw::new(100 + seed, dims)).collect();
    pool.iter_mut().for_each(|draw| _ = draw.next(metric));
    let passed = (0..rows).filter(|row| {
        let vector = pool[row % 100].last(metric);
        engine.contains(&filter.view().queried(), &vector, 1.0).expect("drawn vectors are finite")
    });
    eprintln!("{} of {rows} passed", passed.count());
    Some(())
}

/// The l2 distance, as an exact comparison with one row computes it.
pub fn distance(a: &[f32], b: &[f32]) -> f32 {
    let mut sums = [0.0f32; 16];
    for (a, b) in a.as_chunks::<16>().0.iter().zip(b.as_chunks::<16>().0) {
        for l in 0..16 {
            sums[l] += (a[l] - b[l]) * (a[l] - b[l]);
        }
    }
    sums.iter().sum::<f32>().sqrt()
}
