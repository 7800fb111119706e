//! The data sets: members, and queries, some of them planted at known distances.

use crate::nearest;
use crate::rows::{Row, normalize};
use lsbf_tools::copy::Copy;
use lsbf_tools::data;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use rand_distr::StandardNormal;
use std::io::Result;

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Metric {
    L2,
    Cosine,
    Hamming,
    Jaccard,
}

impl Metric {
    fn name(self) -> &'static str {
        match self {
            Metric::L2 => "l2",
            Metric::Cosine => "cosine",
            Metric::Hamming => "hamming",
            Metric::Jaccard => "jaccard",
        }
    }

    /// The distance of `times` times R, where R is the l2 distance that corresponds to `near`: the cosine distance
    /// grows with its square.
    pub fn times(self, near: f64, times: f64) -> f64 {
        if self == Metric::Cosine { near * times * times } else { near * times }
    }
}

/// How rows are generated if there is no file of real ones.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Source {
    /// Unit vectors.
    Unit,
    /// Vectors of varying length.
    Lengths,
    /// Vectors in a cube.
    Cube,
    /// Clusters of different widths.
    Clusters,
    /// Bit strings.
    Bits,
}

pub struct Set {
    pub name: &'static str,
    pub metric: Metric,
    pub near: f64,
    dims: usize,
    source: Source,
    file: &'static str,
}

const SENTENCES: &str = "sentences_384.f16.npy";
const FINGERPRINTS: &str = "fingerprints_1024.u8.npy";

pub const SETS: [Set; 8] = [
    set("sentences_l2", Metric::L2, 0.2, 384, Source::Unit, SENTENCES),
    set("sentences_cosine", Metric::Cosine, 0.02, 384, Source::Unit, SENTENCES),
    set("fingerprints_hamming", Metric::Hamming, 0.004, 1024, Source::Bits, FINGERPRINTS),
    set("fingerprints_jaccard", Metric::Jaccard, 0.1, 1024, Source::Bits, FINGERPRINTS),
    set("unit_l2", Metric::L2, 0.2, 128, Source::Unit, ""),
    set("lengths_l2", Metric::L2, 1.0, 96, Source::Lengths, ""),
    set("cube_l2", Metric::L2, 0.1, 10, Source::Cube, ""),
    set("clusters_l2", Metric::L2, 0.5, 64, Source::Clusters, ""),
];

const fn set(name: &'static str, metric: Metric, near: f64, dims: usize, source: Source, file: &'static str) -> Set {
    Set { name, metric, near, dims, source, file }
}

pub fn find(name: &str) -> Option<&'static Set> {
    SETS.iter().find(|set| set.name == name)
}

/// Prints one line per set, for scripts/quality.sh.
pub fn list() {
    for set in &SETS {
        let kind = if set.source == Source::Bits { "bit" } else { "vector" };
        let file = if set.file.is_empty() { "-" } else { set.file };
        println!("{} {kind}({}) {} {} {file}", set.name, set.dims, set.metric.name(), set.near);
    }
}

/// Maximum number of rows planted at R/2, at R and at far.
const MAX_PLANTED: usize = 1500;
/// Maximum number of rows planted at each distance of the curve.
const MAX_ON_CURVE: usize = 500;
/// A row planted at far is used only if no other member is nearer than this fraction of far.
const MIN_FAR: f64 = 0.98;

impl Set {
    /// The numbers of members and of all rows: four in five rows are members. Of bit strings there are a third more
    /// rows, and three in four are members.
    fn members(&self, rows: usize) -> (usize, usize) {
        match self.source {
            Source::Bits => (rows, rows + rows / 3),
            _ => (rows * 4 / 5, rows),
        }
    }

    fn reals(&self, rows: usize, file: Option<&str>) -> Result<Vec<Vec<f32>>> {
        match self.source {
            Source::Lengths => return Ok(of_many_lengths(rows, self.dims, self.near)),
            Source::Cube => return Ok(in_a_cube(rows, self.dims)),
            Source::Clusters => return Ok(in_clusters(rows, self.dims)),
            Source::Unit | Source::Bits => {}
        }
        let mut all = Vec::with_capacity(rows);
        data::vectors(rows, self.dims, file, |_, x| {
            all.push(x.to_vec());
            Ok(())
        })?;
        if self.metric == Metric::Cosine {
            all.iter_mut().for_each(|x| normalize(x));
        }
        Ok(all)
    }

    fn bits(&self, rows: usize, file: Option<&str>) -> Result<Vec<Vec<u8>>> {
        let mut all = Vec::with_capacity(rows);
        data::bits(rows, self.dims, file, |_, x| {
            all.push(x.to_vec());
            Ok(())
        })?;
        Ok(all)
    }

    pub fn write_members(&self, rows: usize, file: Option<&str>) -> Result<()> {
        let (members, _) = self.members(rows);
        let mut copy = Copy::to_stdout()?;
        match self.source {
            Source::Bits => self.bits(members, file)?.iter().enumerate().try_for_each(|(id, x)| copy.bits(id, x))?,
            _ => self.reals(members, file)?.iter().enumerate().try_for_each(|(id, x)| copy.vector(id, x))?,
        }
        copy.end()
    }

    /// Writes the queries. With a far of 0, none are planted at far.
    pub fn write_queries(&self, rows: usize, far: f64, file: Option<&str>) -> Result<()> {
        let (members, rows) = self.members(rows);
        match self.source {
            Source::Bits => self.write(&self.bits(rows, file)?, members, far),
            _ => self.write(&self.reals(rows, file)?, members, far),
        }
    }

    fn write<R: Row>(&self, rows: &[R], members: usize, far: f64) -> Result<()> {
        let (members, natural) = rows.split_at(members.min(rows.len()));
        let planted = MAX_PLANTED.min(members.len() / 8);
        let mut out = Queries { copy: Copy::to_stdout()?, id: 0 };
        for (row, distance) in natural.iter().zip(nearest::distances(self.metric, members, natural)) {
            out.put("natural", distance, row)?;
        }
        let mut rng = SmallRng::seed_from_u64(11);
        let mut next = 0;
        let mut plant = |count: usize, distance: f64, keep_length: bool| -> Vec<R> {
            let one = |_| {
                next += 1;
                members[next * 7919 % members.len()].planted(self.metric, distance, keep_length, &mut rng)
            };
            (0..count).map(one).collect()
        };
        // A step in a random direction makes a unit vector longer, but the rows of such data are all unit vectors.
        let has_one_length = self.source == Source::Unit && self.metric == Metric::L2;
        for (kind, times) in [("half", 0.5), ("near", 1.0)] {
            let distance = self.metric.times(self.near, times);
            plant(planted, distance, false).iter().try_for_each(|row| out.put(kind, distance, row))?;
        }
        for quarters in 1..=20 {
            let distance = self.metric.times(self.near, f64::from(quarters) / 4.0);
            plant(MAX_ON_CURVE.min(planted), distance, has_one_length)
                .iter()
                .try_for_each(|row| out.put("curve", distance, row))?;
        }
        for (kind, keep_length) in [("far", false), ("far, same length", true)] {
            if far == 0.0 || keep_length && !has_one_length {
                continue;
            }
            let rows = plant(planted, far, keep_length);
            for (row, distance) in rows.iter().zip(nearest::distances(self.metric, members, &rows)) {
                if distance >= MIN_FAR * far {
                    out.put(kind, distance, row)?;
                }
            }
        }
        out.copy.end()
    }
}

struct Queries {
    copy: Copy,
    id: i32,
}

impl Queries {
    fn put(&mut self, kind: &str, distance: f64, row: &impl Row) -> Result<()> {
        self.copy.row(4)?;
        self.copy.field(&self.id.to_be_bytes())?;
        self.copy.field(kind.as_bytes())?;
        self.copy.field(&distance.to_be_bytes())?;
        row.put(&mut self.copy)?;
        self.id += 1;
        Ok(())
    }
}

/// Vectors in random directions whose lengths vary widely: the median is eight times near, and two in three are within
/// a factor of two of it. One in four is an earlier one with noise of up to five times near.
/// Vectors that are uniform in a cube.
fn in_a_cube(rows: usize, dims: usize) -> Vec<Vec<f32>> {
    let mut rng = SmallRng::seed_from_u64(8);
    (0..rows).map(|_| (0..dims).map(|_| rng.random_range(0.0..1.0)).collect()).collect()
}

/// Normal vectors around 200 centres, with a standard deviation of 0.06 to 0.3 per coordinate: members are farther apart than near 0.5.
fn in_clusters(rows: usize, dims: usize) -> Vec<Vec<f32>> {
    const CLUSTERS: usize = 200;
    let mut rng = SmallRng::seed_from_u64(9);
    let mut normal = || (0..dims).map(|_| rng.sample(StandardNormal)).collect::<Vec<f32>>();
    let centres: Vec<Vec<f32>> = (0..CLUSTERS).map(|_| normal()).collect();
    let row = |id: usize| {
        let spread = 0.06 * 5f32.powf((id % CLUSTERS) as f32 / CLUSTERS as f32);
        centres[id % CLUSTERS].iter().zip(normal()).map(|(centre, x)| centre + spread * x).collect()
    };
    (0..rows).map(row).collect()
}

fn of_many_lengths(rows: usize, dims: usize, near: f64) -> Vec<Vec<f32>> {
    let mut rng = SmallRng::seed_from_u64(7);
    let mut generated: Vec<Vec<f32>> = Vec::with_capacity(rows);
    let origin = vec![0.0; dims];
    for id in 0..rows {
        let spread: f64 = rng.sample(StandardNormal);
        let mut direction: Vec<f32> = (0..dims).map(|_| rng.sample(StandardNormal)).collect();
        normalize(&mut direction);
        let (from, length) = match id % 4 {
            3 => (&generated[rng.random_range(0..generated.len())], near * rng.random_range(0.2..5.0)),
            _ => (&origin, near * 8.0 * (0.7 * spread).exp()),
        };
        let x = from.iter().zip(&direction).map(|(from, d)| from + length as f32 * d).collect();
        generated.push(x);
    }
    generated
}
