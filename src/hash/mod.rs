//! The locality-sensitive hash families behind one interface.
//!
//! A [`Hasher`] turns a vector into `tables x hashes` buckets. Close vectors share buckets with the probability that
//! [`crate::theory::collision`] gives; [`Hasher::of_table`] names the buckets a near vector is likely to have instead of a
//! table's own, for [`probe::Walk`].

pub mod bits;
pub mod hadamard;
pub mod kernel;
pub mod minhash;
pub mod mix;
pub mod path;
pub mod polytope;
pub mod probe;
pub mod projection;
pub mod rng;
pub mod shingles;
pub mod symbols;

use crate::error::{Error, Result};
use crate::filter::params::{Family, Kind, Params};
use crate::limits;
use crate::vector::Vector;
use mix::mix;
use probe::{Alternative, Source};

/// The random functions of a filter, expanded from its seed.
pub struct Hasher {
    functions: Functions,
    tables: usize,
    hashes: usize,
    /// Salts the key of each table, so that equal tuples in two tables are unrelated.
    salts: Vec<u64>,
    /// A salt for each hash of each table, where keys are xored together from their buckets (match any).
    words: Vec<u64>,
}

enum Functions {
    Bits(bits::BitSampling),
    Symbols(symbols::SymbolSampling),
    Projection(projection::Projection),
    Hyperplane(projection::Projection),
    MinHash(minhash::MinHash),
    Polytope(polytope::Polytopes),
}

/// What hashing a vector leaves behind; kept between rows so that nothing is allocated per row.
#[derive(Default)]
pub struct Buckets {
    /// A key a table: its tuple of buckets, mixed; where the buckets are bits, the bits themselves.
    pub keys: Vec<u64>,
    /// `tables x hashes` buckets, where they are not bits.
    pub values: Vec<i64>,
    /// Where in its bucket the projected vector lies, in units of the width (projections), or the signed
    /// projection (hyperplanes); empty for the other families.
    pub positions: Vec<f64>,
    /// Projections as cross-polytopes need them: first transforms, projections as they are, and with their names.
    first: Vec<f32>,
    rotated: Vec<f32>,
    corners: Vec<u32>,
    /// The largest of each hash.
    tops: Vec<u32>,
    /// Projections made so far, and what makes the vector one of length one.
    reached: usize,
    scale: f32,
    /// The elements of a set given as bits.
    ones: Vec<u64>,
    singles: Vec<f32>,
    doubles: Vec<f64>,
    letters: Vec<u32>,
    bytes: Vec<u8>,
    bits: bits::Scratch,
}

impl Buckets {
    /// Bytes held.
    pub fn bytes(&self) -> usize {
        let words = self.keys.capacity() + self.values.capacity() + self.positions.capacity() + self.ones.capacity();
        let halves = self.first.capacity()
            + self.rotated.capacity()
            + self.corners.capacity()
            + self.tops.capacity()
            + self.singles.capacity()
            + self.letters.capacity();
        (words + self.doubles.capacity()) * 8 + halves * 4 + self.bytes.capacity() + self.bits.bytes()
    }
}

impl Hasher {
    /// Expands the seed for vectors of `dims` dimensions.
    pub fn new(params: &Params, dims: u32) -> Result<Self> {
        Hasher::centred(params, dims, &[])
    }

    /// The same for vectors from which a centre is subtracted, where it is not empty.
    pub fn centred(params: &Params, dims: u32, centre: &[f32]) -> Result<Self> {
        let (tables, hashes) = (params.tables as usize, params.hashes as usize);
        let functions = match params.family {
            Family::Bits => Functions::Bits(bits::BitSampling::new(params.seed, tables, hashes, dims)),
            Family::Symbols => Functions::Symbols(symbols::SymbolSampling::new(params.seed, tables, hashes, dims)),
            Family::Gaussian | Family::Cauchy | Family::Hadamard => {
                Functions::Projection(projection::Projection::new(params, dims)?)
            }
            Family::Hyperplane | Family::HadamardHyperplane => {
                Functions::Hyperplane(projection::Projection::new(params, dims)?)
            }
            Family::MinHash => Functions::MinHash(minhash::MinHash::new(params.seed, tables, hashes)),
            Family::CrossPolytope => Functions::Polytope(polytope::Polytopes::new(params, dims, centre)?),
        };
        let mut salt = rng::Stream::new(params.seed, u64::MAX);
        let salts: Vec<u64> = (0..tables).map(|_| salt.word()).collect();
        let word = |at: usize| mix(salts[at / hashes], (at % hashes) as u64);
        let words = if params.kind == Kind::Probing { (0..tables * hashes).map(word).collect() } else { Vec::new() };
        Ok(Hasher { functions, tables, hashes, salts, words })
    }

    /// Hashes a table has.
    pub fn hashes(&self) -> usize {
        self.hashes
    }

    /// Bytes the expanded functions take.
    pub fn bytes(&self) -> usize {
        let salts = (self.salts.capacity() + self.words.capacity()) * size_of::<u64>();
        salts
            + match &self.functions {
                Functions::Projection(p) | Functions::Hyperplane(p) => p.bytes(),
                Functions::Polytope(p) => p.bytes(),
                Functions::Bits(_) => self.tables * self.hashes * 24 + (1 << 16),
                _ => self.tables * self.hashes * 24,
            }
    }

    /// Hashes a vector, whose dimensions were checked. Its keys are made by [`Hasher::make_keys`]: not all need them.
    pub fn hash(&self, vector: &Vector, out: &mut Buckets) -> Result<()> {
        out.keys.resize(self.tables, 0);
        match (&self.functions, vector) {
            (Functions::Bits(f), Vector::Bits { bytes, .. } | Vector::Bytes(bytes)) => {
                f.hash(bytes, &mut out.bits, &mut out.keys);
                return Ok(());
            }
            (Functions::Bits(_), _) => {
                return Err(Error::data(format!("cannot sample the bits of {}", vector.type_name())));
            }
            (Functions::Symbols(f), _) => return f.hash(vector, out),
            (Functions::Hyperplane(f), _) => return f.signs(vector, out),
            _ => out.values.resize(self.tables * self.hashes, 0),
        }
        match &self.functions {
            Functions::MinHash(f) => f.hash(vector, out),
            Functions::Projection(f) => f.buckets(vector, out),
            Functions::Polytope(f) => f.corners(vector, out),
            _ => Ok(()),
        }
    }

    /// Makes a vector ready for [`Hasher::key`], which hashes as much as is needed.
    pub fn start(&self, vector: &Vector, out: &mut Buckets) -> Result<()> {
        let Functions::Polytope(f) = &self.functions else {
            self.hash(vector, out)?;
            self.make_keys(out);
            return Ok(());
        };
        out.keys.resize(self.tables, 0);
        out.values.resize(self.tables * self.hashes, 0);
        f.start(vector, out)
    }

    /// The key of one table, of the vector that was made ready just now. Tables are asked for in order.
    #[inline]
    pub fn key(&self, table: usize, out: &mut Buckets) -> Result<u64> {
        if let Functions::Polytope(f) = &self.functions {
            f.reach((table + 1) * self.hashes * f.dims(), out)?;
            out.keys[table] = self.xored(table, &out.values);
        }
        Ok(out.keys[table])
    }

    /// Hashes what is left of the vector that was made ready just now.
    pub fn finish(&self, out: &mut Buckets) -> Result<()> {
        match &self.functions {
            Functions::Polytope(f) => f.reach(self.tables * self.hashes * f.dims(), out),
            _ => Ok(()),
        }
    }

    /// The key of a table where keys are xored together from their buckets.
    fn xored(&self, table: usize, values: &[i64]) -> u64 {
        let hashes = table * self.hashes..(table + 1) * self.hashes;
        let buckets = self.words[hashes.clone()].iter().zip(&values[hashes]);
        buckets.fold(self.salts[table], |key, (&word, &bucket)| key ^ mix(word, bucket as u64))
    }

    /// Makes the keys of what was hashed just now. Where buckets are bits, that was done already.
    pub fn make_keys(&self, out: &mut Buckets) {
        if self.is_binary() {
            return;
        }
        if !self.words.is_empty() {
            out.keys.iter_mut().enumerate().for_each(|(table, key)| *key = self.xored(table, &out.values));
            return;
        }
        // Hash by hash, so that the tables' mixings do not wait for each other.
        out.keys.copy_from_slice(&self.salts);
        for hash in 0..self.hashes {
            let buckets = out.values[hash..].iter().step_by(self.hashes);
            out.keys.iter_mut().zip(buckets).for_each(|(key, &bucket)| *key = mix(*key, bucket as u64));
        }
    }

    /// A 64-bit hash of the content of the vector that was hashed into `buckets` just now.
    pub fn id(&self, vector: &Vector, buckets: &mut Buckets) -> u64 {
        match (&self.functions, vector) {
            (Functions::Bits(_), Vector::Bits { bytes, .. } | Vector::Bytes(bytes)) => {
                xxhash_rust::xxh3::xxh3_64(bytes)
            }
            (Functions::Symbols(_), _) => symbols::id(vector),
            // Equal vectors have bit-identical projections, different ones practically never.
            (Functions::Projection(f) | Functions::Hyperplane(f), _) if f.is_fast() => {
                buckets.bytes.resize(buckets.positions.len() * 8, 0);
                let bytes = buckets.bytes.as_chunks_mut::<8>().0;
                bytes.iter_mut().zip(&buckets.positions).for_each(|(to, y)| *to = y.to_bits().to_le_bytes());
                xxhash_rust::xxh3::xxh3_64(&buckets.bytes)
            }
            // A few projections tell vectors apart as well as all.
            (Functions::Polytope(_), _) => {
                let told = buckets.rotated.iter().take(64);
                told.fold(0, |id, y| mix(id, u64::from(y.to_bits())))
            }
            // Sets with the same minima are alike to the filter.
            _ => {
                let id = buckets.keys.iter().fold(0, |id, &key| mix(id, key));
                buckets.positions.iter().fold(id, |id, y| mix(id, y.to_bits()))
            }
        }
    }

    /// The key of a table with one bucket shifted, as a walk says.
    pub fn shifted_key(&self, table: usize, hash: usize, word: u64, buckets: &Buckets) -> u64 {
        if self.is_binary() {
            return buckets.keys[table] ^ word;
        }
        let tuple = buckets.values[table * self.hashes..][..self.hashes].iter().enumerate();
        tuple.fold(self.salts[table], |key, (at, &bucket)| {
            mix(key, if at == hash { bucket.wrapping_add(word as i64) } else { bucket } as u64)
        })
    }

    /// The key that a table stores for the word of a walk (match any): bits are mixed at last, other buckets were before.
    #[inline]
    pub fn probed_key(&self, table: usize, word: u64) -> u64 {
        if self.is_binary() { mix(self.salts[table], word) } else { word }
    }

    /// The position in a partition of `bits` bits that a key stands for.
    #[inline]
    pub fn position(&self, table: usize, key: u64, bits: u64) -> u64 {
        if !self.is_binary() {
            mix::reduce(key, bits)
        } else if self.hashes < 64 && bits == 1 << self.hashes {
            // V = [m']: the sampled bits are the position "in the natural way".
            key
        } else {
            mix::reduce(mix(self.salts[table], key), bits)
        }
    }

    fn is_binary(&self) -> bool {
        matches!(self.functions, Functions::Bits(_) | Functions::Symbols(_) | Functions::Hyperplane(_))
    }

    /// What a vector that is near the one hashed just now is likely to have in a table, for a walk. At most `ranks` buckets of
    /// a hash are named, nearest first.
    pub fn of_table<'a>(&'a self, table: usize, ranks: usize, buckets: &'a Buckets) -> OfTable<'a> {
        let hashes = table * self.hashes..(table + 1) * self.hashes;
        let unit = match &self.functions {
            Functions::Polytope(f) => f.unit(hashes, buckets),
            Functions::Hyperplane(_) => {
                let largest = buckets.positions[hashes].iter().fold(0.0f64, |largest, y| largest.max(y.abs()));
                if largest > f64::MIN_POSITIVE * 16.0 { (1.0 / largest) as f32 } else { 0.0 }
            }
            _ => 1.0,
        };
        OfTable { hasher: self, buckets, first: table * self.hashes, unit, ranks }
    }
}

/// The alternatives to a table's own buckets. What is nearest to the vector costs least.
pub struct OfTable<'a> {
    hasher: &'a Hasher,
    buckets: &'a Buckets,
    /// The table's first hash.
    first: usize,
    /// What costs are measured in, where that depends on the vector.
    unit: f32,
    ranks: usize,
}

impl Source for OfTable<'_> {
    #[inline]
    fn alternatives(&self, hash: usize, bound: f32, out: &mut Vec<Alternative>) {
        let OfTable { hasher, buckets, unit, .. } = *self;
        let at = self.first + hash;
        let mut flipped = |cost: f32| {
            if self.ranks > 0 && cost < bound {
                out.push(Alternative::new(cost, hash, 0));
            }
        };
        match &hasher.functions {
            Functions::Projection(_) => {
                for rank in 1..=self.ranks {
                    let (shift, distance) = shifted(buckets.positions[at], rank);
                    let cost = distance as f32;
                    if cost >= bound {
                        break;
                    }
                    out.push(Alternative::new(cost, hash, shift as i16));
                }
            }
            Functions::Polytope(f) => f.alternatives(at, hash, unit, bound, buckets, out),
            Functions::Hyperplane(_) => flipped(buckets.positions[at].abs() as f32 * unit),
            Functions::Bits(_) | Functions::Symbols(_) => flipped(1.0),
            Functions::MinHash(_) => {}
        }
    }

    /// Where keys are mixed in one go, the word is how far the bucket is shifted.
    #[inline]
    fn word(&self, alternative: Alternative) -> u64 {
        let OfTable { hasher, buckets, .. } = *self;
        let at = self.first + alternative.hash();
        let mark = i64::from(alternative.mark());
        match &hasher.functions {
            _ if hasher.is_binary() => 1 << (hasher.hashes - 1 - alternative.hash()),
            Functions::Polytope(_) => probe::exchanged(hasher.words[at], buckets.values[at], mark),
            _ if hasher.words.is_empty() => mark as u64,
            _ => probe::exchanged(hasher.words[at], buckets.values[at], buckets.values[at].wrapping_add(mark)),
        }
    }

    /// Nothing tells which bit is likelier to differ.
    #[inline]
    fn tells(&self) -> bool {
        !matches!(self.hasher.functions, Functions::Bits(_) | Functions::Symbols(_))
    }
}

/// The bucket that is `rank`-nearest to a place inside a bucket: by how much it is shifted, and how far its border is.
#[inline]
pub fn shifted(inside: f64, rank: usize) -> (i64, f64) {
    let (nearest, side) = if inside < 0.5 { (inside, -1) } else { (1.0 - inside, 1) };
    let step = rank.div_ceil(2) as i64;
    match rank % 2 {
        1 => (side * step, (step - 1) as f64 + nearest),
        _ => (-side * step, (step - 1) as f64 + 1.0 - nearest),
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
