//! The locality-sensitive hash families.
//!
//! A family ([`Lsh`]) maps a vector to `tables x hashes` buckets. [`collision`] has the probability that close vectors
//! share a bucket. `Keys` combines the buckets of each table to a key, and [`Hasher`] is a family with its keys.

pub mod agreement;
pub mod bits;
pub(crate) mod blocks;
pub(crate) mod cells;
pub mod collision;
pub(crate) mod corners;
pub(crate) mod grid;
pub mod hadamard;
pub(crate) mod hyperplane;
pub(crate) mod isa;
pub mod kernel;
pub(crate) mod keys;
pub(crate) mod linear;
pub(crate) mod minhash;
pub mod path;
pub(crate) mod probe;
pub mod projection;
pub mod rng;
pub(crate) mod rotation;
pub mod shingles;
pub(crate) mod symbols;

use crate::error::{Error, Result};
use crate::limits;
use crate::params::{Family, MAX_DENSE, MAX_GRID, PASS, Params};
use crate::vector::Vector;
use keys::Keys;
use probe::{Alternative, Source, Wanted};

/// The buckets of a vector.
#[derive(Clone, Copy)]
pub enum Buckets<'a> {
    /// One word per table with one bit per hash, the first one most significant.
    Bits(&'a [u64]),
    /// `tables x hashes` numbers, table by table.
    Numbers(&'a [i64]),
}

/// The expanded hash functions of a family, and scratch memory for one vector.
pub trait Lsh {
    /// Hashes a vector whose type and dimensions have been checked, at least for the first table.
    fn start(&mut self, vector: &Vector) -> Result<()>;

    /// Continues until the buckets of the first `tables` tables are computed.
    #[inline]
    fn reach(&mut self, _tables: usize) -> Result<()> {
        Ok(())
    }

    /// The buckets of the last vector.
    fn buckets(&self) -> Buckets<'_>;

    /// A hash of the content of the last vector, given its keys.
    fn id(&self, vector: &Vector, keys: &[u64]) -> u64;

    /// Lists the buckets that a near vector is likely to have instead of this vector's own.
    fn alternatives(&self, wanted: &Wanted, out: &mut Vec<Alternative>);

    /// The bucket of an alternative, if buckets are numbers.
    #[inline]
    fn other(&self, own: i64, _mark: i16) -> i64 {
        own
    }

    /// Whether some alternatives are more likely than others.
    #[inline]
    fn is_ranked(&self) -> bool {
        true
    }

    /// Bytes of memory held.
    fn bytes(&self) -> usize;
}

/// The hash functions of any family.
pub enum Functions {
    /// Bit sampling.
    Bits(bits::BitSampling),
    /// Sampled symbols.
    Symbols(symbols::SymbolSampling),
    /// Projections cut into buckets.
    Projection(projection::Projection),
    /// Sides of hyperplanes.
    Hyperplane(hyperplane::Hyperplanes),
    /// Minima of sets.
    MinHash(minhash::MinHash),
    /// Blocks of partitions.
    Blocks(blocks::Blocks),
}

impl Functions {
    /// Expands the hash functions of a filter for vectors of `dims` dimensions.
    pub fn new(params: &Params, dims: u32) -> Result<Functions> {
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
            Family::Blocks | Family::SymbolBlocks => Functions::Blocks(blocks::Blocks::new(params, dims)?),
            Family::Rotation => return Err(Error::data("rotations are not divided into tables")),
        })
    }
}

/// Dispatches a call to the family.
macro_rules! family {
    ($functions:expr, $family:ident => $call:expr) => {
        match $functions {
            Functions::Bits($family) => $call,
            Functions::Symbols($family) => $call,
            Functions::Projection($family) => $call,
            Functions::Hyperplane($family) => $call,
            Functions::MinHash($family) => $call,
            Functions::Blocks($family) => $call,
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
    /// The hash functions.
    pub family: F,
    /// The keys.
    pub keys: Keys,
}

impl<F: Lsh> Hasher<F> {
    /// A family with the salts of a filter's keys.
    pub fn new(params: &Params, family: F) -> Self {
        Hasher { family, keys: Keys::new(params) }
    }

    /// Bytes of memory held.
    pub fn bytes(&self) -> usize {
        self.family.bytes() + self.keys.bytes()
    }

    /// Computes the keys of all tables, after [`Lsh::start`].
    #[inline]
    pub fn finish(&mut self) -> Result<()> {
        self.family.reach(self.keys.tables())?;
        self.keys.make(self.family.buckets());
        Ok(())
    }

    /// Computes the key of one table, after [`Lsh::start`]. Tables must be taken in order.
    #[inline]
    pub fn key(&mut self, table: usize) -> Result<u64> {
        self.family.reach(table + 1)?;
        Ok(self.keys.make_one(table, self.family.buckets()))
    }

    /// A hash of the content of the last vector.
    pub fn id(&self, vector: &Vector) -> u64 {
        self.family.id(vector, self.keys.all())
    }

    /// The buckets that a near vector is likely to have in a table: at most `ranks` per hash, nearest first.
    pub fn neighbours(&self, table: usize, ranks: usize) -> Neighbours<'_, F> {
        let first = table * self.keys.hashes();
        Neighbours { hasher: self, first, ranks }
    }

    /// The key of a table with one alternative, for keys whose buckets are mixed one after the other.
    pub fn key_with(&self, table: usize, alternative: Alternative) -> u64 {
        let other = |own: i64| self.family.other(own, alternative.mark());
        self.keys.exchanged(table, alternative.hash(), self.family.buckets(), other)
    }
}

/// The alternatives to the buckets of a table.
pub struct Neighbours<'a, F> {
    hasher: &'a Hasher<F>,
    /// The table's first hash.
    first: usize,
    ranks: usize,
}

impl<F: Lsh> Source for Neighbours<'_, F> {
    #[inline]
    fn alternatives(&self, hash: usize, bound: f32, out: &mut Vec<Alternative>) {
        let wanted = Wanted { hash, at: self.first + hash, ranks: self.ranks, bound };
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

/// Rounds down, saturating. Without SSE4.1, `f64::floor` would be a function call.
#[inline(always)]
pub fn floor(x: f64) -> i64 {
    let whole = x as i64;
    whole.saturating_sub(i64::from(whole as f64 > x))
}

/// Coordinates of rotations by fast transforms.
const ROTATED: u64 = PASS as u64 + rotation::SECOND as u64;

/// The cost of a rotation, given that of fast transforms: short vectors are multiplied by a matrix, longer ones are
/// transformed, and in between they are both.
fn rotation_cost(dims: u64, transforms: u64) -> u64 {
    let product = if dims <= u64::from(MAX_DENSE) { dims * dims } else { 0 };
    product + if dims > u64::from(MAX_GRID) { transforms } else { 0 }
}

/// The cost of projecting a vector, in multiplications.
pub fn projection_work(params: &Params, dims: u32) -> u64 {
    let (count, dims) = (params.projections(), u64::from(dims));
    match params.family {
        Family::Rotation => rotation_cost(dims, hadamard::shared_cost(dims, ROTATED)),
        family if family.is_fast() => hadamard::cost(dims, count),
        _ => dims * count,
    }
}

/// The number of random numbers that the seed of a filter is expanded to.
fn expanded(params: &Params, dims: u32) -> u64 {
    let count = params.projections();
    match params.family {
        Family::Rotation => rotation_cost(u64::from(dims), hadamard::numbers(u64::from(dims), ROTATED)),
        family if family.has_blocks() => blocks::expanded(params, dims),
        family if !family.projects() => 0,
        family if family.is_fast() => hadamard::numbers(u64::from(dims), count),
        _ => u64::from(dims) * count,
    }
}

/// The approximate memory of the expanded functions, in bytes.
pub fn expected_bytes(params: &Params, dims: u32) -> usize {
    (expanded(params, dims) as usize).saturating_mul(size_of::<f32>())
}

/// Checks that the expanded functions stay within the limits.
pub fn check_expansion(params: &Params, dims: u32) -> Result<()> {
    blocks::check(params, dims)?;
    let values = expanded(params, dims);
    if values > limits::MAX_EXPANDED {
        let (tables, hashes) = (params.tables, params.hashes);
        let what = match params.blocks() {
            0 => format!("{tables} tables x {hashes} hashes"),
            blocks => format!("{tables} tables of {blocks} blocks"),
        };
        return Err(Error::too_large(format!(
            "{dims} dimensions x {what} require {values} random numbers, which exceeds the limit of {}",
            limits::MAX_EXPANDED
        )));
    }
    Ok(())
}
