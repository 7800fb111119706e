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
    pairs.filter(|(kind, s)| *kind != Kind::Ilbf || matches!(s.metric, Metric::L2 | Metric::L1)).collect()
}

pub fn params(kind: Kind, space: Space, capacity: i64, seed: i64) -> Params {
    let near = space.near();
    let mut options =
        Options { capacity: Some(capacity), near: Some(near), seed, symbols: space.symbols, ..Options::default() };
    if kind == Kind::Probing {
        // Specify all parameters, so that these filters do not change with the defaults.
        (options.tables, options.votes, options.bloom_hashes, options.bits) =
            (Some(6), Some(3), Some(10), Some(6 * 32 * capacity.max(16)));
        options.probes = Some(if space.metric == Metric::Jaccard { 1 } else { 40 });
        match space.metric {
            Metric::L2 => (options.hashes, options.width) = (Some(8), Some(4.0 * near)),
            // Cauchy projections have heavy tails.
            Metric::L1 => (options.hashes, options.width) = (Some(5), Some(20.0 * near)),
            Metric::Cosine => (options.hashes, options.polytope, options.far) = (Some(9), Some(16), Some(near * 5.2)),
            Metric::Hamming => options.hashes = Some(30),
            Metric::Jaccard => options.hashes = Some(6),
        }
    }
    parameters(kind, space.metric, &options).unwrap().0
}

pub fn engine(params: &Params, dims: usize) -> Engine {
    let dims = if params.metric == Metric::Jaccard { 0 } else { dims as u32 };
    Engine::new(params.clone(), dims).unwrap()
}

pub fn build(engine: &mut Engine, values: &[Value]) -> Owned {
    let mut filter = Owned::centred(&engine.params, engine.dims, &engine.centre);
    values.iter().for_each(|v| filter.add(engine, &v.view()).unwrap());
    filter
}
