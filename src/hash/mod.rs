//! The locality-sensitive hash families behind one interface.
//!
//! A [`Hasher`] turns a vector into `tables x hashes` buckets. Close vectors share buckets with the probability that
//! [`crate::theory::collision`] gives; [`Hasher::neighbours`] names the buckets next to a table's own, nearest first.

pub mod bits;
pub mod hadamard;
pub mod kernel;
pub mod minhash;
pub mod mix;
pub mod path;
pub mod projection;
pub mod rng;
pub mod symbols;

use crate::error::{Error, Result};
use crate::filter::params::{Family, Params};
use crate::limits;
use crate::vector::Vector;
use mix::mix;

/// The random functions of a filter, expanded from its seed.
pub struct Hasher {
    functions: Functions,
    tables: usize,
    hashes: usize,
    /// Salts the key of each table, so that equal tuples in two tables are unrelated.
    salts: Vec<u64>,
}

enum Functions {
    Bits(bits::BitSampling),
    Symbols(symbols::SymbolSampling),
    Projection(projection::Projection),
    Hyperplane(projection::Projection),
    MinHash(minhash::MinHash),
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
    neighbours: Vec<Neighbour>,
    singles: Vec<f32>,
    doubles: Vec<f64>,
    letters: Vec<u32>,
    bytes: Vec<u8>,
    bits: bits::Scratch,
}

/// One bucket of a table shifted: which of its hashes, by how much (a bit is flipped), and how far away that is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Neighbour {
    pub hash: usize,
    pub shift: i64,
    pub distance: f64,
}

impl Hasher {
    /// Expands the seed for vectors of `dims` dimensions.
    pub fn new(params: &Params, dims: u32) -> Result<Self> {
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
        };
        let mut salt = rng::Stream::new(params.seed, u64::MAX);
        let salts = (0..tables).map(|_| salt.word()).collect();
        Ok(Hasher { functions, tables, hashes, salts })
    }

    /// Bytes the expanded functions take.
    pub fn bytes(&self) -> usize {
        match &self.functions {
            Functions::Projection(p) | Functions::Hyperplane(p) => p.bytes(),
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
            _ => Ok(()),
        }
    }

    /// Makes the keys of what was hashed just now. Where buckets are bits, that was done already.
    pub fn make_keys(&self, out: &mut Buckets) {
        if self.is_binary() {
            return;
        }
        // Hash by hash, so that the tables' mixings do not wait for each other.
        out.keys.copy_from_slice(&self.salts);
        for hash in 0..self.hashes {
            let buckets = out.values[hash..].iter().step_by(self.hashes);
            out.keys.iter_mut().zip(buckets).for_each(|(key, &bucket)| *key = mix(*key, bucket as u64));
        }
    }

    #[inline]
    fn mixed(&self, table: usize, values: &[i64]) -> u64 {
        let tuple = &values[table * self.hashes..][..self.hashes];
        tuple.iter().fold(self.salts[table], |key, &bucket| mix(key, bucket as u64))
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
            // Sets with the same minima are alike to the filter.
            _ => {
                let id = buckets.keys.iter().fold(0, |id, &key| mix(id, key));
                buckets.positions.iter().fold(id, |id, y| mix(id, y.to_bits()))
            }
        }
    }

    /// The key of a table with the `i`-th of the neighbours found last in place of its own bucket.
    pub fn shifted_key(&self, table: usize, i: usize, buckets: &mut Buckets) -> u64 {
        let Neighbour { hash, shift, .. } = buckets.neighbours[i];
        if self.is_binary() {
            return buckets.keys[table] ^ 1 << (self.hashes - 1 - hash);
        }
        let at = table * self.hashes + hash;
        let own = buckets.values[at];
        buckets.values[at] = own.wrapping_add(shift);
        let key = self.mixed(table, &buckets.values);
        buckets.values[at] = own;
        key
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

    /// The buckets next to a table's own, one hash shifted by at most `steps`, nearest border first.
    pub fn neighbours<'a>(&self, table: usize, steps: u32, buckets: &'a mut Buckets) -> &'a [Neighbour] {
        let base = table * self.hashes;
        let list = &mut buckets.neighbours;
        list.clear();
        for hash in 0..self.hashes {
            match &self.functions {
                Functions::Projection(_) => {
                    let inside = buckets.positions[base + hash];
                    for step in 1..=i64::from(steps) {
                        let whole = (step - 1) as f64;
                        list.push(Neighbour { hash, shift: -step, distance: whole + inside });
                        list.push(Neighbour { hash, shift: step, distance: whole + 1.0 - inside });
                    }
                }
                Functions::MinHash(_) => {}
                binary => {
                    let distance = match binary {
                        Functions::Hyperplane(_) => buckets.positions[base + hash].abs(),
                        _ => 0.0,
                    };
                    if steps > 0 {
                        list.push(Neighbour { hash, shift: 1, distance });
                    }
                }
            }
        }
        list.sort_unstable_by(|a, b| a.distance.total_cmp(&b.distance).then(a.hash.cmp(&b.hash)));
        list
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
    let (count, dims) = (u64::from(params.tables) * u64::from(params.hashes), u64::from(dims));
    if params.family.is_fast() { hadamard::cost(dims, count) } else { dims * count }
}

/// Checks that `dims` and the number of functions stay within the limits before anything is expanded.
pub fn check_expansion(params: &Params, dims: u32) -> Result<()> {
    let count = u64::from(params.tables) * u64::from(params.hashes);
    let values = match params.family {
        family if !family.projects() => return Ok(()),
        family if family.is_fast() => hadamard::numbers(u64::from(dims), count),
        _ => u64::from(dims) * count,
    };
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
