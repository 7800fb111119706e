//! The locality-sensitive hash families.
//!
//! A family ([`Lsh`]) gives a vector `tables x hashes` buckets. Close vectors share buckets with the probability that
//! [`collision`] gives. [`keys::Keys`] makes one key per table of them; [`Hasher`] is a family with its keys.

pub mod bits;
pub mod collision;
pub mod hadamard;
pub(crate) mod hyperplane;
pub mod kernel;
pub(crate) mod keys;
pub(crate) mod linear;
pub(crate) mod minhash;
pub mod path;
pub(crate) mod polytope;
pub(crate) mod probe;
pub mod projection;
pub mod rng;
pub mod shingles;
pub(crate) mod symbols;

use crate::error::{Error, Result};
use crate::limits;
use crate::params::{Family, Params};
use crate::vector::Vector;
use keys::Keys;
use probe::{Alternative, Source, Wanted};
use std::ops::Range;

/// The buckets of a vector.
#[derive(Clone, Copy)]
pub enum Buckets<'a> {
    /// One word per table with one bit per hash, the first one highest.
    Bits(&'a [u64]),
    /// `tables x hashes` numbers, table by table.
    Numbers(&'a [i64]),
}

/// The hash functions of a family, expanded from a seed, with the memory that hashing a vector needs.
pub trait Lsh {
    /// Hashes a vector, whose type and dimensions were checked, at least for the first table.
    fn start(&mut self, vector: &Vector) -> Result<()>;

    /// Continues until the first `tables` tables have their buckets.
    #[inline]
    fn reach(&mut self, _tables: usize) -> Result<()> {
        Ok(())
    }

    /// The buckets found so far.
    fn buckets(&self) -> Buckets<'_>;

    /// A hash of the content of the vector hashed last, given its keys.
    fn id(&self, vector: &Vector, keys: &[u64]) -> u64;

    /// The unit of costs of a table's alternatives.
    #[inline]
    fn unit(&self, _hashes: Range<usize>) -> f32 {
        1.0
    }

    /// Lists the buckets that a near vector is likely to have instead of the own one.
    fn alternatives(&self, wanted: &Wanted, out: &mut Vec<Alternative>);

    /// The bucket of an alternative to a bucket, where buckets are numbers.
    #[inline]
    fn other(&self, own: i64, _mark: i16) -> i64 {
        own
    }

    /// Whether some alternatives are likelier than others.
    #[inline]
    fn is_ranked(&self) -> bool {
        true
    }

    /// The bytes it holds.
    fn bytes(&self) -> usize;
}

/// Any of the families.
pub enum Functions {
    Bits(bits::BitSampling),
    Symbols(symbols::SymbolSampling),
    Projection(projection::Projection),
    Hyperplane(hyperplane::Hyperplanes),
    MinHash(minhash::MinHash),
    Polytope(polytope::Polytopes),
}

impl Functions {
    /// Expands the functions of a filter for vectors of `dims` dimensions. The centre is empty if there is none.
    pub fn new(params: &Params, dims: u32, centre: &[f32]) -> Result<Functions> {
        Ok(match params.family {
            Family::Bits => Functions::Bits(bits::BitSampling::new(params, dims)),
            Family::Symbols => Functions::Symbols(symbols::SymbolSampling::new(params, dims)),
            Family::Gaussian | Family::Cauchy | Family::Hadamard => {
                Functions::Projection(projection::Projection::new(params, dims)?)
            }
            Family::Hyperplane | Family::HadamardHyperplane => {
                Functions::Hyperplane(hyperplane::Hyperplanes::new(params, dims)?)
            }
            Family::MinHash => Functions::MinHash(minhash::MinHash::new(params)),
            Family::CrossPolytope => Functions::Polytope(polytope::Polytopes::new(params, dims, centre)?),
        })
    }
}

/// Calls a method of whichever family it is.
macro_rules! family {
    ($functions:expr, $family:ident => $call:expr) => {
        match $functions {
            Functions::Bits($family) => $call,
            Functions::Symbols($family) => $call,
            Functions::Projection($family) => $call,
            Functions::Hyperplane($family) => $call,
            Functions::MinHash($family) => $call,
            Functions::Polytope($family) => $call,
        }
    };
}

impl Lsh for Functions {
    #[inline]
    fn start(&mut self, vector: &Vector) -> Result<()> {
        family!(self, family => family.start(vector))
    }

    #[inline]
    fn reach(&mut self, tables: usize) -> Result<()> {
        family!(self, family => family.reach(tables))
    }

    #[inline]
    fn buckets(&self) -> Buckets<'_> {
        family!(self, family => family.buckets())
    }

    fn id(&self, vector: &Vector, keys: &[u64]) -> u64 {
        family!(self, family => family.id(vector, keys))
    }

    #[inline]
    fn unit(&self, hashes: Range<usize>) -> f32 {
        family!(self, family => family.unit(hashes))
    }

    #[inline]
    fn alternatives(&self, wanted: &Wanted, out: &mut Vec<Alternative>) {
        family!(self, family => family.alternatives(wanted, out))
    }

    #[inline]
    fn other(&self, own: i64, mark: i16) -> i64 {
        family!(self, family => family.other(own, mark))
    }

    #[inline]
    fn is_ranked(&self) -> bool {
        family!(self, family => family.is_ranked())
    }

    fn bytes(&self) -> usize {
        family!(self, family => family.bytes())
    }
}

/// A family with the keys of its tables.
pub struct Hasher<F = Functions> {
    pub family: F,
    pub keys: Keys,
}

impl<F: Lsh> Hasher<F> {
    pub fn new(params: &Params, family: F) -> Self {
        Hasher { family, keys: Keys::new(params) }
    }

    /// The bytes it holds.
    pub fn bytes(&self) -> usize {
        self.family.bytes() + self.keys.bytes()
    }

    /// Makes the keys of all tables, for a vector that was started.
    #[inline]
    pub fn finish(&mut self) -> Result<()> {
        self.family.reach(self.keys.tables())?;
        self.keys.make(self.family.buckets());
        Ok(())
    }

    /// The key of one table, for a vector that was started. Tables are taken in order.
    #[inline]
    pub fn key(&mut self, table: usize) -> Result<u64> {
        self.family.reach(table + 1)?;
        Ok(self.keys.make_one(table, self.family.buckets()))
    }

    /// A hash of the content of the vector hashed last.
    pub fn id(&self, vector: &Vector) -> u64 {
        self.family.id(vector, self.keys.all())
    }

    /// The buckets that a near vector is likely to have in a table; of each hash at most `ranks`, nearest first.
    pub fn neighbours(&self, table: usize, ranks: usize) -> Neighbours<'_, F> {
        let first = table * self.keys.hashes();
        let unit = self.family.unit(first..first + self.keys.hashes());
        Neighbours { hasher: self, first, unit, ranks }
    }

    /// The key of a table with one alternative taken, where keys are mixed hash by hash.
    pub fn key_with(&self, table: usize, alternative: Alternative) -> u64 {
        let other = |own: i64| self.family.other(own, alternative.mark());
        self.keys.exchanged(table, alternative.hash(), self.family.buckets(), other)
    }
}

/// The alternatives to a table's own buckets.
pub struct Neighbours<'a, F> {
    hasher: &'a Hasher<F>,
    /// The table's first hash.
    first: usize,
    unit: f32,
    ranks: usize,
}

impl<F: Lsh> Source for Neighbours<'_, F> {
    #[inline]
    fn alternatives(&self, hash: usize, bound: f32, out: &mut Vec<Alternative>) {
        let wanted = Wanted { hash, at: self.first + hash, ranks: self.ranks, unit: self.unit, bound };
        self.hasher.family.alternatives(&wanted, out);
    }

    #[inline]
    fn word(&self, alternative: Alternative) -> u64 {
        let (family, at) = (&self.hasher.family, self.first + alternative.hash());
        self.hasher.keys.exchange(at, family.buckets(), |own| family.other(own, alternative.mark()))
    }

    #[inline]
    fn is_ranked(&self) -> bool {
        self.hasher.family.is_ranked()
    }
}

/// Rounds down. Without SSE4.1, `f64::floor` is a call; numbers beyond an i64 saturate.
#[inline(always)]
pub fn floor(x: f64) -> i64 {
    let whole = x as i64;
    whole.saturating_sub(i64::from(whole as f64 > x))
}

/// What projecting a vector costs, in multiplications.
pub fn projection_work(params: &Params, dims: u32) -> u64 {
    let (count, dims) = (params.projections(), u64::from(dims));
    match params.family {
        Family::CrossPolytope => hadamard::shared_cost(dims, count),
        family if family.is_fast() => hadamard::cost(dims, count),
        _ => dims * count,
    }
}

/// Random numbers that the functions of a filter are expanded to.
fn expanded(params: &Params, dims: u32) -> u64 {
    let count = params.projections();
    match params.family {
        family if !family.projects() => 0,
        family if family.is_fast() => hadamard::numbers(u64::from(dims), count),
        _ => u64::from(dims) * count,
    }
}

/// Bytes that expanded functions take, about.
pub fn expected_bytes(params: &Params, dims: u32) -> usize {
    (expanded(params, dims) as usize).saturating_mul(size_of::<f32>())
}

/// Checks that `dims` and the number of functions stay within the limits before anything is expanded.
pub fn check_expansion(params: &Params, dims: u32) -> Result<()> {
    let values = expanded(params, dims);
    if values > limits::MAX_EXPANDED {
        return Err(Error::too_large(format!(
            "{dims} dimensions x {} tables x {} hashes need {values} random numbers, the limit is {}",
            params.tables,
            params.hashes,
            limits::MAX_EXPANDED
        )));
    }
    Ok(())
}
