//! The quotient filter beside the papers' filters, on the papers' own settings.

use super::{Count, Progress, engine, ilbf, lsbf, parallel};
use ::lsbf::design::{Options, parameters};
use ::lsbf::filter::Owned;
use ::lsbf::hash::rng::Stream;
use ::lsbf::params::{Family, Kind, Metric, Params};
use ::lsbf::rates::{self, Facts};
use ::lsbf::vector::Vector;

/// Members, and the vectors that are queried.
#[derive(Debug, Clone, Copy)]
enum Space {
    /// Bit strings; queries differ in a fraction of the bits.
    Bits,
    /// Vectors that are uniform in a cube; queries differ in every coordinate by the same amount, up or down.
    Steps(f64),
    /// Vectors that are uniform in a cube; queries are at a distance in a random direction.
    Directions(f64),
}

/// A setting of a paper.
pub struct Setting {
    pub name: &'static str,
    space: Space,
    dims: usize,
    members: usize,
    /// What near and far queries differ by.
    near: f64,
    far: f64,
    /// The filters: their names, parameters and theta.
    filters: Vec<(String, Params, f64)>,
}

/// What a filter did with near queries, far queries and unrelated vectors, and the predicted rates of the first two.
pub struct Rates {
    pub name: String,
    pub bytes: f64,
    pub missed: Count,
    pub passed: Count,
    pub unrelated: Count,
    pub predicted: [f64; 2],
}

impl Space {
    fn member(self, dims: usize, random: &mut Stream) -> Vec<f64> {
        match self {
            Space::Bits => (0..dims).map(|_| (random.word() & 1) as f64).collect(),
            Space::Steps(side) | Space::Directions(side) => (0..dims).map(|_| side * random.uniform()).collect(),
        }
    }

    fn query(self, member: &[f64], difference: f64, random: &mut Stream) -> Vec<f64> {
        match self {
            Space::Bits => {
                let mut query = member.to_vec();
                let mut left = (difference * member.len() as f64).round() as usize;
                while left > 0 {
                    let at = random.below(member.len() as u64) as usize;
                    if query[at] == member[at] {
                        query[at] = 1.0 - query[at];
                        left -= 1;
                    }
                }
                query
            }
            Space::Steps(_) => {
                let step = |x: &f64| if random.word() & 1 == 0 { x + difference } else { x - difference };
                member.iter().map(step).collect()
            }
            Space::Directions(_) => {
                let step: Vec<f64> = member.iter().map(|_| random.gaussian()).collect();
                let scale = difference / step.iter().map(|x| x * x).sum::<f64>().sqrt();
                member.iter().zip(step).map(|(x, step)| x + scale * step).collect()
            }
        }
    }

    /// The l2 distance of a query from its member.
    fn length(self, dims: usize, difference: f64) -> f64 {
        match self {
            Space::Bits => (difference * dims as f64).sqrt(),
            Space::Steps(_) => difference * (dims as f64).sqrt(),
            Space::Directions(_) => difference,
        }
    }
}

/// A quotient filter for these distances. Members are around the middle of their space, at a typical distance.
fn quotient(space: Space, dims: usize, (near, far): (f64, f64), bits: i64) -> (String, Params, f64) {
    let side = match space {
        Space::Bits => 1.0,
        Space::Steps(side) | Space::Directions(side) => side,
    };
    // Coordinates in a cube have a variance of a twelfth, bits of a quarter.
    let variance = if matches!(space, Space::Bits) { 0.25 } else { side * side / 12.0 };
    let options = Options {
        dims: Some(dims as i64),
        near: Some(space.length(dims, near)),
        far: Some(space.length(dims, far)),
        bits: Some(bits),
        cells: Some(14),
        length: Some((dims as f64 * variance).sqrt()),
        centre: Some(vec![side as f32 / 2.0; dims]),
        ..Options::default()
    };
    let (params, _) = parameters(Kind::Lsqf, Metric::L2, &options).expect("these options are valid");
    (format!("LSQF, {bits} bits"), params, 1.0)
}

/// The settings of the three papers.
pub fn settings() -> Vec<Setting> {
    let bits = |tables: u32, hashes: u32| Params {
        near: 0.05,
        far: 0.2,
        tables,
        hashes,
        bits: u64::from(tables) << hashes,
        capacity: 1000,
        ..Params { family: Family::Bits, metric: Metric::Hamming, ..super::dsbf::SETTINGS[0].params(5, 0) }
    };
    let steps = Space::Steps(1000.0);
    let directions = Space::Directions(1e4);
    let near = ilbf::table_difference(1);
    vec![
        Setting {
            name: "DSBF, Table 1 (a): 1000 bit strings",
            space: Space::Bits,
            dims: 2048,
            members: 1000,
            near: 0.05,
            far: 0.2,
            filters: vec![
                ("DSBF, k = 10, l' = 21".into(), bits(10, 21), 1.0),
                ("DSBF, k = 25, l' = 21".into(), bits(25, 21), 1.0),
                quotient(Space::Bits, 2048, (0.05, 0.2), 48),
                quotient(Space::Bits, 2048, (0.05, 0.2), 96),
            ],
        },
        Setting {
            name: "ILBF, Table I, theta = 1: 500 vectors, d = 20",
            space: steps,
            dims: ilbf::DIMS,
            members: ilbf::MEMBERS,
            near,
            far: 100.0 * near,
            filters: vec![
                ("ILBF, aligned, v = 6".into(), ilbf::params(true, 6, 0), 1.0),
                ("ILBF, centred, v = 10".into(), ilbf::params(false, 10, 0), 1.0),
                quotient(steps, ilbf::DIMS, (near, 100.0 * near), 40),
            ],
        },
        Setting {
            name: "LSBF: 10000 vectors, d = 20, far = 8 R",
            space: directions,
            dims: 20,
            members: 10_000,
            near: 1.0,
            far: 8.0,
            filters: vec![
                ("LSBF, L = 7, M = 10, robust".into(), lsbf::params(lsbf::SHAPES[0], lsbf::Scheme::Robust, 0), 1.0),
                quotient(directions, 20, (1.0, 8.0), 24),
                quotient(directions, 20, (1.0, 8.0), 40),
            ],
        },
    ]
}

impl Setting {
    /// Measures all filters over `draws` draws of hash functions and members, with `queries` queries of each sort.
    pub fn measure(&self, draws: usize, queries: usize, progress: Progress) -> Vec<Rates> {
        let parts = parallel(draws, progress, |draw| self.one_draw(draw as u64, queries));
        let of = |at: usize| {
            let parts = || parts.iter().map(|part| &part[at]);
            let mean = |of: &dyn Fn(&Rates) -> f64| parts().map(of).sum::<f64>() / draws as f64;
            Rates {
                name: self.filters[at].0.clone(),
                bytes: mean(&|rates| rates.bytes),
                missed: parts().map(|rates| rates.missed).sum(),
                passed: parts().map(|rates| rates.passed).sum(),
                unrelated: parts().map(|rates| rates.unrelated).sum(),
                predicted: [0, 1].map(|at| mean(&|rates| rates.predicted[at])),
            }
        };
        (0..self.filters.len()).map(of).collect()
    }

    fn one_draw(&self, draw: u64, queries: usize) -> Vec<Rates> {
        let mut random = Stream::new(40 + draw, 1 << 40);
        let members: Vec<Vec<f64>> = (0..self.members).map(|_| self.space.member(self.dims, &mut random)).collect();
        let mut drawn = |difference: f64| -> Vec<Vec<f64>> {
            let mut one = |_| {
                let member = &members[random.below(members.len() as u64) as usize];
                self.space.query(member, difference, &mut random)
            };
            (0..queries).map(&mut one).collect()
        };
        let (near, far) = (drawn(self.near), drawn(self.far));
        let unrelated: Vec<Vec<f64>> = (0..queries).map(|_| self.space.member(self.dims, &mut random)).collect();
        self.filters.iter().map(|filter| self.one_filter(filter, draw, &members, [&near, &far, &unrelated])).collect()
    }

    fn one_filter(
        &self,
        (name, params, theta): &(String, Params, f64),
        draw: u64,
        members: &[Vec<f64>],
        [near, far, unrelated]: [&[Vec<f64>]; 3],
    ) -> Rates {
        let params = Params { seed: 90 + draw, ..params.clone() };
        let centre = if params.centre() == 0 { Vec::new() } else { vec![self.middle() as f32; self.dims] };
        let mut engine = match centre.is_empty() {
            true => engine(&params, self.dims as u32),
            false => ::lsbf::filter::Engine::centred(params.clone(), self.dims as u32, centre.clone())
                .expect("parameters of an experiment can be expanded"),
        };
        let mut filter = Owned::centred(&params, self.dims as u32, &centre);
        let is_bits = params.metric == Metric::Hamming;
        let with = |x: &[f64], call: &mut dyn FnMut(&Vector)| match is_bits {
            true => call(&Vector::Bytes(&packed(x))),
            false => call(&Vector::F64(x)),
        };
        for member in members {
            with(member, &mut |vector| filter.add(&mut engine, vector).expect("members are valid vectors"));
        }
        let mut count = |queries: &[Vec<f64>], expected: bool| {
            let mut count = Count::default();
            for query in queries {
                with(query, &mut |vector| {
                    let found = engine.contains(&filter.view().queried(), vector, *theta);
                    count.record(found.expect("queries are valid vectors") == expected);
                });
            }
            count
        };
        let (missed, passed, unrelated) = (count(near, false), count(far, true), count(unrelated, true));
        let facts = Facts::of(&filter.image).expect("the filter is valid");
        let distance = |difference: f64| match is_bits {
            true => difference,
            false => self.space.length(self.dims, difference),
        };
        let predicted = |difference: f64| rates::acceptance(&facts, distance(difference), *theta);
        Rates {
            name: name.clone(),
            bytes: (filter.image.len() * 8) as f64 / members.len() as f64,
            missed,
            passed,
            unrelated,
            predicted: [1.0 - predicted(self.near), predicted(self.far)],
        }
    }

    fn middle(&self) -> f64 {
        match self.space {
            Space::Bits => 0.5,
            Space::Steps(side) | Space::Directions(side) => side / 2.0,
        }
    }
}

/// Bits, eight to a byte.
fn packed(bits: &[f64]) -> Vec<u8> {
    let byte = |bits: &[f64]| bits.iter().fold(0, |byte, bit| byte << 1 | *bit as u8);
    bits.chunks(8).map(byte).collect()
}
