//! What a filter is: its kind, its metric and every number that decides how it hashes.

use crate::error::{Error, Result};
use crate::limits;
use crate::vector::{Parsed, Vector, parse_bits, parse_reals, parse_set};
use serde::{Deserialize, Serialize};

/// Bits of a line of the Bloom filter where any table may match: a cache line.
pub const LINE: u64 = 512;

/// The three filters of the papers, and the LSBF of which any table may answer. New kinds are appended: the number is
/// stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kind {
    /// Distance-sensitive Bloom filter (Kirsch and Mitzenmacher 2006).
    Dsbf,
    /// Locality-sensitive Bloom filter (Hua and others 2012).
    Lsbf,
    /// Integer-granularity locality-sensitive Bloom filter (Qian and others 2016).
    Ilbf,
    /// LSBF with `match => 'any'`: every table tries several keys of a query, and some tables must know one.
    Probing,
}

/// What "close" means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Metric {
    /// Share of positions that differ.
    Hamming,
    L2,
    L1,
    /// 1 - cos.
    Cosine,
    /// 1 - |intersection| / |union|.
    Jaccard,
}

/// The locality-sensitive hash family. New families are appended: the number is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Family {
    Bits,
    Symbols,
    Gaussian,
    Cauchy,
    Hyperplane,
    MinHash,
    /// Gaussian projections by fast transforms.
    Hadamard,
    /// Hyperplanes by fast transforms.
    HadamardHyperplane,
    /// The nearest of the corners of a cross-polytope, randomly rotated by fast transforms.
    CrossPolytope,
}

/// The parameters of a filter, as stored. What a kind does not use is zero.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Params {
    pub kind: Kind,
    pub metric: Metric,
    pub family: Family,
    pub seed: u64,
    pub capacity: u64,
    pub near: f64,
    pub far: f64,
    /// Width of a projection's bucket; the length of vectors for cross-polytopes; 0 for families without.
    pub width: f64,
    /// k (DSBF, ILBF), L (LSBF).
    pub tables: u32,
    /// l' (DSBF), M (LSBF), 1 (ILBF).
    pub hashes: u32,
    /// Bits of the whole array, without the verification filter.
    pub bits: u64,
    /// LSBF: bits of the verification filter, 0 for none.
    pub verify_bits: u64,
    /// LSBF: k of the verification filter. ILBF: k'. Match any: bits a key sets.
    pub bloom_hashes: u32,
    /// LSBF: how many buckets the active overflow looks to either side, 0 for none.
    pub overflow: u32,
    /// LSBF: the overflow also looks where a foreign bit hides the miss.
    pub robust: bool,
    /// ILBF: m.
    pub blooms: u32,
    /// ILBF: u.
    pub slots: u32,
    /// ILBF: the paper's aligned blocks in place of centred windows.
    pub aligned: bool,
    /// Threshold; 0: chosen from the theory.
    pub votes: u32,
    /// Match any; stored behind the others, by that kind only.
    #[serde(skip)]
    pub probing: Option<Probing>,
}

/// What only a filter with `match => 'any'` has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Probing {
    /// Keys of a query that a table tries.
    pub probes: u32,
    /// Dimensions of a cross-polytope, 0 for other families.
    pub polytope: u32,
    /// A hash of the centre that is subtracted from vectors, 0 for none. The centre itself follows the parameters.
    pub centre: u64,
}

impl Kind {
    pub const ALL: [Kind; 4] = [Kind::Dsbf, Kind::Lsbf, Kind::Ilbf, Kind::Probing];
    /// The kinds of the papers.
    pub const OF_PAPERS: [Kind; 3] = [Kind::Dsbf, Kind::Lsbf, Kind::Ilbf];

    pub fn name(self) -> &'static str {
        match self {
            Kind::Dsbf => "dsbf",
            Kind::Lsbf | Kind::Probing => "lsbf",
            Kind::Ilbf => "ilbf",
        }
    }
}

impl Metric {
    pub const ALL: [Metric; 5] = [Metric::Hamming, Metric::L2, Metric::L1, Metric::Cosine, Metric::Jaccard];

    pub fn name(self) -> &'static str {
        match self {
            Metric::Hamming => "hamming",
            Metric::L2 => "l2",
            Metric::L1 => "l1",
            Metric::Cosine => "cosine",
            Metric::Jaccard => "jaccard",
        }
    }

    pub fn parse(name: &str) -> Result<Self> {
        let found = Metric::ALL.into_iter().find(|m| m.name().eq_ignore_ascii_case(name));
        found.ok_or_else(|| {
            let names = Metric::ALL.map(Metric::name).join(", ");
            Error::parameter(format!("unknown metric \"{name}\"")).with_hint(format!("The metrics are {names}."))
        })
    }

    /// The distance that vectors without any relation have.
    pub fn unrelated(self) -> f64 {
        match self {
            Metric::Hamming => 0.5,
            Metric::Cosine => 1.0,
            Metric::Jaccard => 0.95,
            Metric::L2 | Metric::L1 => f64::INFINITY,
        }
    }

    /// The largest distance two vectors can have.
    pub fn largest(self) -> f64 {
        match self {
            Metric::Hamming | Metric::Jaccard => 1.0,
            Metric::Cosine => 2.0,
            Metric::L2 | Metric::L1 => f64::INFINITY,
        }
    }
}

impl Family {
    pub fn name(self) -> &'static str {
        match self {
            Family::Bits => "bits",
            Family::Symbols => "symbols",
            Family::Gaussian => "gaussian",
            Family::Cauchy => "cauchy",
            Family::Hyperplane => "hyperplane",
            Family::MinHash => "minhash",
            Family::Hadamard => "hadamard",
            Family::HadamardHyperplane => "hadamard hyperplane",
            Family::CrossPolytope => "cross-polytope",
        }
    }

    /// The family whose law of collisions this one follows.
    pub fn law(self) -> Family {
        match self {
            Family::Hadamard => Family::Gaussian,
            Family::HadamardHyperplane => Family::Hyperplane,
            other => other,
        }
    }

    /// The family that follows the same law by fast transforms.
    pub fn fast(self) -> Option<Family> {
        match self.law() {
            Family::Gaussian => Some(Family::Hadamard),
            Family::Hyperplane => Some(Family::HadamardHyperplane),
            _ => None,
        }
    }

    /// Whether projections are made by fast transforms.
    pub fn is_fast(self) -> bool {
        self != self.law() || self == Family::CrossPolytope
    }

    /// Whether vectors are projected.
    pub fn projects(self) -> bool {
        matches!(self.law(), Family::Gaussian | Family::Cauchy | Family::Hyperplane | Family::CrossPolytope)
    }

    fn serves(self, metric: Metric) -> bool {
        match self.law() {
            Family::Bits | Family::Symbols => metric == Metric::Hamming,
            Family::Gaussian => metric == Metric::L2,
            Family::Cauchy => metric == Metric::L1,
            Family::Hyperplane => metric == Metric::Cosine,
            Family::CrossPolytope => matches!(metric, Metric::L2 | Metric::Cosine | Metric::Hamming),
            _ => metric == Metric::Jaccard,
        }
    }

    /// Whether a hash is one bit.
    pub fn is_binary(self) -> bool {
        matches!(self.law(), Family::Bits | Family::Symbols | Family::Hyperplane)
    }

    /// Whether buckets have a width.
    pub fn has_width(self) -> bool {
        matches!(self.law(), Family::Gaussian | Family::Cauchy)
    }

    /// Whether a hash is a corner of a cross-polytope.
    pub fn is_polytope(self) -> bool {
        self == Family::CrossPolytope
    }
}

fn check(holds: bool, message: impl FnOnce() -> String) -> Result<()> {
    if holds { Ok(()) } else { Err(Error::parameter(message())) }
}

/// A number as PostgreSQL prints it, for messages.
pub fn shown(value: f64) -> String {
    match value {
        _ if value.is_infinite() => if value > 0.0 { "Infinity" } else { "-Infinity" }.into(),
        _ if value != 0.0 && !(1e-4..1e15).contains(&value.abs()) => format!("{value:e}"),
        _ => format!("{value}"),
    }
}

/// Checks an integer parameter against its bounds.
pub fn in_range(name: &str, value: u64, low: u64, high: u64) -> Result<()> {
    check((low..=high).contains(&value), || format!("{name} must be between {low} and {high}, not {value}"))
}

/// Checks theta.
pub fn check_theta(theta: f64) -> Result<()> {
    check(theta > 0.0 && theta <= limits::MAX_THETA, || {
        format!("theta must be greater than 0 and at most {}, not {}", limits::MAX_THETA, shown(theta))
    })
}

/// Checks dims where it is known.
pub fn check_dims(dims: u64) -> Result<()> {
    in_range("dims", dims, 1, u64::from(limits::MAX_DIMS))
}

impl Params {
    /// Keys of a query that a table tries (match any).
    pub fn probes(&self) -> u32 {
        self.probing.map_or(1, |probing| probing.probes)
    }

    /// Dimensions of a cross-polytope; 0 for other families.
    pub fn polytope(&self) -> u32 {
        self.probing.map_or(0, |probing| probing.polytope)
    }

    /// A hash of the centre, 0 where there is none.
    pub fn centre(&self) -> u64 {
        self.probing.map_or(0, |probing| probing.centre)
    }

    /// Numbers a vector is projected to, where it is.
    pub fn projections(&self) -> u64 {
        u64::from(self.tables) * u64::from(self.hashes) * u64::from(self.polytope().max(1))
    }

    /// Bits of one table's partition (DSBF, LSBF).
    pub fn partition(&self) -> u64 {
        self.bits / u64::from(self.tables)
    }

    /// Whether the bits of a tuple are its position: V = [m'] in the DSBF paper.
    pub fn is_natural(&self) -> bool {
        self.family.is_binary() && self.hashes < 63 && self.partition() == 1 << self.hashes
    }

    /// Words of the array, without the verification filter.
    pub fn array_words(&self) -> u64 {
        self.bits.div_ceil(64)
    }

    /// Words of the whole body.
    pub fn body_words(&self) -> u64 {
        self.array_words() + self.verify_bits.div_ceil(64)
    }

    /// Checks everything that an implementation or a theory relies on. Parameters from outside come through here.
    pub fn validate(&self) -> Result<()> {
        let name = self.kind.name();
        check(self.family.serves(self.metric), || {
            format!("family {} does not belong to metric {}", self.family.name(), self.metric.name())
        })?;
        check(self.kind == Kind::Probing || !self.family.is_polytope(), || {
            format!("family {} does not belong to {name}", self.family.name())
        })?;
        in_range("capacity", self.capacity, 1, limits::MAX_CAPACITY)?;
        in_range("tables", u64::from(self.tables), 1, u64::from(limits::MAX_TABLES))?;
        in_range("hashes", u64::from(self.hashes), 1, u64::from(limits::MAX_HASHES))?;
        check(self.votes <= self.tables, || {
            format!("votes must be at most tables, but votes is {} and tables is {}", self.votes, self.tables)
        })?;
        let largest = self.metric.largest();
        check(self.near.is_finite() && self.near > 0.0 && self.near < largest, || match largest.is_finite() {
            true => format!(
                "near must be greater than 0 and less than {largest} for {}, not {}",
                self.metric.name(),
                shown(self.near)
            ),
            false => format!("near must be a finite number greater than 0, not {}", shown(self.near)),
        })
        .map_err(|error| match self.metric {
            Metric::Hamming => error.with_hint("It is the share of places that differ: divide their number by dims."),
            _ => error,
        })?;
        check(self.far.is_finite() && self.far <= largest, || match largest.is_finite() {
            true => format!("far must be at most {largest} for {}, not {}", self.metric.name(), shown(self.far)),
            false => format!("far must be finite, not {}", shown(self.far)),
        })?;
        check(self.near < self.far, || {
            format!("near must be less than far, but near is {} and far is {}", shown(self.near), shown(self.far))
        })
        .map_err(|error| error.with_hint("Leave far out to have it chosen."))?;
        if self.family.is_polytope() {
            check(self.width.is_finite() && self.width > 0.0, || {
                format!("length must be a finite number greater than 0, not {}", shown(self.width))
            })?;
        } else if self.family.has_width() {
            check(self.width.is_finite() && self.width > 0.0, || {
                format!("width must be a finite number greater than 0, not {}", shown(self.width))
            })?;
        } else {
            check(self.width == 0.0, || format!("width has no meaning for {}", self.metric.name()))?;
        }
        let words = self.bits.div_ceil(64).saturating_add(self.verify_bits.div_ceil(64));
        if words > limits::MAX_BYTES / 8 {
            return Err(Error::too_large(format!(
                "a filter of {} bytes would exceed the limit of {} bytes",
                words.saturating_mul(8),
                limits::MAX_BYTES
            ))
            .with_hint("Lower capacity or tables, or set bits; several filters can be asked in place of one."));
        }
        match self.kind {
            Kind::Dsbf | Kind::Lsbf | Kind::Probing => {
                check(self.bits.is_multiple_of(u64::from(self.tables)) && self.bits > 0, || {
                    format!("bits must be a multiple of tables, but {} is not a multiple of {}", self.bits, self.tables)
                })?;
                check(self.blooms == 0 && self.slots == 0 && !self.aligned, || {
                    format!("blooms and slots have no meaning for {name}")
                })?;
            }
            Kind::Ilbf => {
                check(self.family.has_width(), || format!("{name} does not support metric {}", self.metric.name()))?;
                check(self.hashes == 1, || format!("hashes must be 1 for {name}, not {}", self.hashes))?;
                in_range("blooms", u64::from(self.blooms), 2, u64::from(u32::MAX))?;
                in_range("slots", u64::from(self.slots), 8, u64::from(limits::MAX_SLOTS))?;
                check(self.slots.is_multiple_of(64) || 64 % self.slots == 0, || {
                    format!("slots must divide 64 or be a multiple of 64, not {}", self.slots)
                })?;
                check(self.bits == u64::from(self.blooms) * u64::from(self.slots), || {
                    "bits must be blooms x slots".into()
                })?;
                in_range(
                    "bloom_hashes",
                    u64::from(self.bloom_hashes),
                    1,
                    u64::from(limits::MAX_BLOOM_HASHES.min(self.slots)),
                )?;
            }
        }
        check(self.kind == Kind::Probing || self.probing.is_none(), || format!("probes have no meaning for {name}"))?;
        match self.kind {
            Kind::Probing => self.validate_probing()?,
            Kind::Lsbf => {
                in_range("overflow", u64::from(self.overflow), 0, u64::from(limits::MAX_OVERFLOW))?;
                check(self.votes == 0, || format!("votes has no meaning for {name}"))?;
                if self.verify_bits > 0 {
                    check(self.verify_bits >= 64, || {
                        format!("verify_bits must be 0 or at least 64, not {}", self.verify_bits)
                    })?;
                    in_range("bloom_hashes", u64::from(self.bloom_hashes), 1, u64::from(limits::MAX_BLOOM_HASHES))?;
                } else {
                    check(self.bloom_hashes == 0, || "bloom_hashes needs a verification filter".into())?;
                }
            }
            _ => check(self.verify_bits == 0 && self.overflow == 0 && !self.robust, || {
                format!("verify_bits and overflow have no meaning for {name}")
            })?,
        }
        check(self.kind != Kind::Dsbf || self.bloom_hashes == 0, || format!("bloom_hashes has no meaning for {name}"))
    }

    fn validate_probing(&self) -> Result<()> {
        let Some(probing) = self.probing else { return Err(Error::parameter("probes must be given")) };
        check(self.verify_bits == 0 && self.overflow == 0 && !self.robust, || {
            "verify_bits, overflow and robust have no meaning where any table may match".into()
        })?;
        let line = LINE * u64::from(self.tables);
        check(self.bits.is_multiple_of(line), || {
            format!("bits must be a multiple of {LINE} x tables, but {} is not a multiple of {line}", self.bits)
        })?;
        in_range("votes", u64::from(self.votes), 1, u64::from(self.tables))?;
        in_range("bloom_hashes", u64::from(self.bloom_hashes), 1, u64::from(limits::MAX_LINE_HASHES))?;
        in_range("probes", u64::from(probing.probes), 1, u64::from(limits::MAX_PROBES))?;
        check(self.family != Family::MinHash || probing.probes == 1, || {
            format!("probes must be 1 for {}, not {}", self.metric.name(), probing.probes)
        })?;
        if !self.family.is_polytope() {
            return check(probing.polytope == 0 && probing.centre == 0, || {
                format!("polytope and centre have no meaning for {} hashes", self.family.name())
            });
        }
        let most = limits::MAX_POLYTOPE;
        check(probing.polytope.is_power_of_two() && (2..=most).contains(&probing.polytope), || {
            format!("polytope must be a power of two from 2 to {most}, not {}", probing.polytope)
        })
    }

    /// The first parameter in which two filters differ, with both values: what users say before what follows from it.
    pub fn difference(&self, other: &Params) -> Option<(&'static str, String, String)> {
        let named = |p: &Params| {
            [
                ("kind", p.kind.name().to_string()),
                ("match", if p.kind == Kind::Probing { "any" } else { "all" }.to_string()),
                ("metric", p.metric.name().to_string()),
                ("alphabet", p.family.law().name().to_string()),
                ("transform", if p.family.is_fast() { "hadamard" } else { "dense" }.to_string()),
                ("seed", (p.seed as i64).to_string()),
                ("capacity", p.capacity.to_string()),
                ("near", shown(p.near)),
                ("far", shown(p.far)),
                ("tables", p.tables.to_string()),
                ("hashes", p.hashes.to_string()),
                ("width", shown(p.width)),
                ("overflow", p.overflow.to_string()),
                ("robust", p.robust.to_string()),
                ("blooms", p.blooms.to_string()),
                ("slots", p.slots.to_string()),
                ("blooms_aligned", p.aligned.to_string()),
                ("bits", p.bits.to_string()),
                ("verify_bits", p.verify_bits.to_string()),
                ("bloom_hashes", p.bloom_hashes.to_string()),
                ("votes", p.votes.to_string()),
                ("probes", p.probes().to_string()),
                ("polytope", p.polytope().to_string()),
                ("centre", format!("{:016x}", p.centre())),
            ]
        };
        let pairs = named(self).into_iter().zip(named(other));
        pairs.into_iter().find(|(x, y)| x != y).map(|((name, x), (_, y))| (name, x, y))
    }

    /// Whether vectors are bit strings.
    pub fn takes_bits(&self) -> bool {
        self.metric == Metric::Hamming && self.family != Family::Symbols
    }

    /// Reads text as the vector this metric expects; none where it is taken as it is.
    pub fn read_text(&self, vector: &Vector) -> Result<Option<Parsed>> {
        let Vector::Text(text) = vector else { return Ok(None) };
        match self.family {
            Family::Symbols => Ok(None),
            _ if self.takes_bits() => parse_bits(text).map(Some),
            Family::MinHash => parse_set(text).map(Some),
            _ => parse_reals(text).map(Some),
        }
    }

    /// The dimensions of a vector under this metric; 0 for sets, which have none. Types that do not fit are errors.
    pub fn dims_of(&self, vector: &Vector) -> Result<u32> {
        if let Some(parsed) = self.read_text(vector)? {
            return self.dims_of(&parsed.view());
        }
        let (dims, fits) = match (self.family, vector) {
            (_, Vector::Bits { len, .. }) if self.takes_bits() => (*len, true),
            (_, Vector::Bytes(bytes)) if self.takes_bits() => (bytes.len() * 8, true),
            _ if self.takes_bits() => (0, false),
            (Family::Symbols, Vector::Bytes(bytes)) => (bytes.len(), true),
            (Family::Symbols, Vector::Text(text)) if text.is_ascii() => (text.len(), true),
            (Family::Symbols, Vector::Text(text)) => (text.chars().count(), true),
            (Family::Symbols, Vector::Ints(ints)) => (ints.len(), true),
            (family, vector) if family.projects() => match vector {
                Vector::F32(x) | Vector::Dense(x) => (x.len(), true),
                Vector::F64(x) => (x.len(), true),
                Vector::F16(x) => (x.len(), true),
                Vector::Ints(x) => (x.len(), true),
                Vector::BigInts(x) => (x.len(), true),
                Vector::Sparse { dims, .. } => (*dims, true),
                _ => (0, false),
            },
            (
                Family::MinHash,
                Vector::Ints(_) | Vector::BigInts(_) | Vector::Hashed(_) | Vector::Bits { .. } | Vector::Bytes(_),
            ) => return Ok(0),
            _ => (0, false),
        };
        if !fits {
            let given = vector.type_name();
            let message = format!(
                "a filter of kind {} for metric {} cannot take a value of type {given}",
                self.kind.name(),
                self.metric.name()
            );
            return Err(Error::data(message)
                .with_hint(format!("It takes {}; lsbf_info(filter) shows what it was made for.", self.input_types())));
        }
        if dims == 0 {
            let what = match self.family {
                _ if self.takes_bits() => "bit string",
                Family::Symbols => "string",
                _ => "vector",
            };
            return Err(Error::data(format!("{what} must not be empty")));
        }
        if dims > limits::MAX_DIMS as usize {
            return Err(Error::too_large(format!("{dims} dimensions, the limit is {}", limits::MAX_DIMS)));
        }
        Ok(dims as u32)
    }

    /// The SQL types a filter takes.
    pub fn input_types(&self) -> &'static str {
        match self.family {
            _ if self.takes_bits() => "bit, bit varying or bytea",
            Family::Symbols => "text, integer[] or bytea (strings over an alphabet)",
            Family::MinHash => {
                "integer[], bigint[] or text[] (sets), bit, bit varying or bytea (the set of their ones)"
            }
            _ => "real[], double precision[], other arrays of numbers or a vector type of pgvector",
        }
    }

    /// What one dimension is called in messages.
    pub fn unit(&self) -> &'static str {
        match self.family {
            _ if self.takes_bits() => "bits",
            Family::Symbols => "letters",
            _ => "dimensions",
        }
    }
}
