//! Filters and vectors for integration tests.
#![allow(dead_code)]

use lsbf::design::{Options, parameters};
use lsbf::filter::{Engine, Owned};
use lsbf::hash::rng::Stream;
use lsbf::params::{Kind, Metric, Params};
use lsbf::vector::Vector;

/// A value of any input type.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    Bits(Vec<u8>, usize),
    Ints(Vec<i32>),
    Reals(Vec<f64>),
}

impl Value {
    pub fn view(&self) -> Vector<'_> {
        match self {
            Value::Bits(bytes, len) => Vector::Bits { bytes, len: *len },
            Value::Ints(x) => Vector::Ints(x),
            Value::Reals(x) => Vector::F64(x),
        }
    }
}

/// A metric, and for Hamming whether values are strings over an alphabet.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Space {
    pub metric: Metric,
    pub symbols: bool,
}

pub const SPACES: [Space; 6] = [
    Space { metric: Metric::Hamming, symbols: false },
    Space { metric: Metric::Hamming, symbols: true },
    Space { metric: Metric::L2, symbols: false },
    Space { metric: Metric::L1, symbols: false },
    Space { metric: Metric::Cosine, symbols: false },
    Space { metric: Metric::Jaccard, symbols: false },
];

impl Space {
    /// A random value, unrelated to all others.
    pub fn random(self, dims: usize, s: &mut Stream) -> Value {
        match (self.metric, self.symbols) {
            (Metric::Hamming, false) => {
                let mut bytes: Vec<u8> = (0..dims.div_ceil(8)).map(|_| s.word() as u8).collect();
                if !dims.is_multiple_of(8) {
                    *bytes.last_mut().unwrap() &= 0xff << (8 - dims % 8);
                }
                Value::Bits(bytes, dims)
            }
            (Metric::Hamming, true) => Value::Ints((0..dims).map(|_| s.below(1 << 20) as i32).collect()),
            (Metric::Jaccard, _) => Value::Ints((0..dims).map(|_| s.below(1 << 30) as i32).collect()),
            _ => Value::Reals((0..dims).map(|_| s.gaussian() * 100.0).collect()),
        }
    }

    /// A copy of a value with a small change.
    pub fn nudged(self, value: &Value, s: &mut Stream) -> Value {
        let mut new = value.clone();
        match &mut new {
            Value::Bits(bytes, len) => {
                let bit = s.below(*len as u64) as usize;
                bytes[bit / 8] ^= 0x80 >> (bit % 8);
            }
            Value::Ints(x) => {
                let at = s.below(x.len() as u64) as usize;
                x[at] = s.below(1 << 20) as i32;
            }
            Value::Reals(x) => x.iter_mut().for_each(|v| *v += s.gaussian()),
        }
        new
    }

    pub fn near(self) -> f64 {
        match self.metric {
            Metric::L2 | Metric::L1 => 10.0,
            Metric::Cosine => 0.001,
            Metric::Jaccard => 0.05,
            Metric::Hamming => 0.01,
        }
    }
}

/// Every kind of filter with every space that it supports.
pub fn all() -> Vec<(Kind, Space)> {
    let pairs = Kind::ALL.into_iter().flat_map(|kind| SPACES.map(|space| (kind, space)));
    let supports = |(kind, space): &(Kind, Space)| match kind {
        Kind::Ilbf => matches!(space.metric, Metric::L2 | Metric::L1),
        Kind::Lsqf => matches!(space.metric, Metric::L2 | Metric::Cosine),
        Kind::Probing => !matches!(space.metric, Metric::L2 | Metric::Cosine),
        _ => true,
    };
    pairs.filter(supports).collect()
}

/// The same for filters whose members set bits, so that they are sets: adding a member twice changes nothing.
pub fn of_bits() -> Vec<(Kind, Space)> {
    all().into_iter().filter(|(kind, _)| *kind != Kind::Lsqf).collect()
}

/// The largest theta of queries.
pub fn max_theta(engine: &Engine) -> f64 {
    engine.max_theta().min(lsbf::limits::MAX_THETA)
}

pub fn params(kind: Kind, space: Space, capacity: i64, seed: i64) -> Params {
    let near = space.near();
    let mut options =
        Options { capacity: Some(capacity), near: Some(near), seed, symbols: space.symbols, ..Options::default() };
    if kind == Kind::Lsqf {
        (options.bits, options.cells, options.max_theta, options.fnr) = (Some(64), Some(18), Some(16.0), Some(0.01));
    }
    if kind == Kind::Probing {
        // Specify all parameters, so that these filters do not change with the defaults.
        (options.tables, options.votes, options.bloom_hashes, options.bits) =
            (Some(6), Some(3), Some(10), Some(6 * 32 * capacity.max(16)));
        options.probes = Some(if space.metric == Metric::Jaccard { 1 } else { 40 });
        match space.metric {
            // Cauchy projections have heavy tails.
            Metric::L1 => (options.hashes, options.width) = (Some(5), Some(20.0 * near)),
            Metric::Hamming => options.hashes = Some(30),
            _ => options.hashes = Some(6),
        }
    }
    parameters(kind, space.metric, &options).unwrap().0
}

pub fn engine(params: &Params, dims: usize) -> Engine {
    centred(params, dims, &[])
}

/// An engine with a centre; an empty one stands for none.
pub fn centred(params: &Params, dims: usize, centre: &[f32]) -> Engine {
    let dims = if params.metric == Metric::Jaccard { 0 } else { dims as u32 };
    Engine::centred(params.clone(), dims, centre.to_vec()).unwrap()
}

pub fn build(engine: &mut Engine, values: &[Value]) -> Owned {
    let mut filter = Owned::centred(&engine.params, engine.dims, &engine.centre);
    values.iter().for_each(|v| filter.add(engine, &v.view()).unwrap());
    filter
}
