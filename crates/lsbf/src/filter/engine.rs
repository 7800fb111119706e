//! The expanded hash functions of a filter, which query and change it.

use super::bits::BodyMut;
use super::change::Memory;
use super::dsbf::Dsbf;
use super::format::{self, Header, View};
use super::ilbf::{self, Ilbf};
use super::kind::{BitKind as _, Counters, Kind as _};
use super::list::{Content, Front, Gathered, Growing};
use super::lsbf::Lsbf;
use super::lsqf::fingerprint::Fingerprint;
use super::lsqf::levels::Levels;
use super::lsqf::{self, Lsqf};
use super::probing::Probing;
use super::queried::{Queried, Source, body};
use super::sketch::{self, ListChange};
use crate::error::{Code, Error, Result};
use crate::hash;
use crate::params::{self, Input, Kind, Params};
use crate::vector::Vector;
use std::cell::Cell;
use std::ops::DerefMut;

/// Which vectors [`Engine::screen`] adds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Adds {
    /// All vectors.
    All,
    /// Vectors without a near member.
    New,
}

/// How adding a member changes a list.
pub(super) enum Grown<M> {
    /// The filter does not change.
    Same,
    /// One entry of the list of registers changes.
    Register(usize, u16),
    /// A new image.
    New(M),
}

/// The hash functions of any kind of filter.
enum Functions {
    Dsbf(Dsbf),
    Lsbf(Lsbf),
    Ilbf(Ilbf),
    Probing(Probing),
    Lsqf(Box<Lsqf>),
}

/// Dispatches a call to the kind.
macro_rules! kind {
    ($functions:expr, $kind:ident => $call:expr) => {
        match $functions {
            Functions::Dsbf($kind) => $call,
            Functions::Lsbf($kind) => $call,
            Functions::Ilbf($kind) => $call,
            Functions::Probing($kind) => $call,
            Functions::Lsqf($kind) => $call,
        }
    };
}

/// Dispatches a call to a kind whose members set bits.
macro_rules! bit_kind {
    ($functions:expr, $kind:ident => $call:expr) => {
        match $functions {
            Functions::Dsbf($kind) => $call,
            Functions::Lsbf($kind) => $call,
            Functions::Ilbf($kind) => $call,
            Functions::Probing($kind) => $call,
            Functions::Lsqf(_) => Err(Error::data("members of a quotient filter are not bits")),
        }
    };
}

/// The hash functions of all filters with the same parameters, dims and centre, and scratch memory for one vector.
pub struct Engine {
    /// The parameters.
    pub params: Params,
    /// The dimensions of vectors; 0 for sets.
    pub dims: u32,
    /// The parameters as stored.
    pub stored: Vec<u8>,
    /// Subtracted from vectors; empty if there is none.
    pub centre: Vec<f32>,
    /// The centre as stored, and the address of one that was last found to be equal.
    stored_centre: Vec<u8>,
    compared: Cell<usize>,
    functions: Functions,
    /// The positions that a member adds to a list.
    new: Vec<u64>,
}

impl Engine {
    /// Expands the hash functions of a filter for vectors of `dims` dimensions.
    pub fn new(params: Params, dims: u32) -> Result<Self> {
        Engine::centred(params, dims, Vec::new())
    }

    /// Expands the hash functions of a filter with a centre; an empty one stands for none.
    pub fn centred(params: Params, dims: u32, centre: Vec<f32>) -> Result<Self> {
        if params.centre() != if centre.is_empty() { 0 } else { format::centre_hash(&centre) } {
            return Err(Error::data("centre does not match the parameters of the filter"));
        }
        let functions = match params.kind {
            Kind::Dsbf => Functions::Dsbf(Dsbf::new(&params, dims)?),
            Kind::Lsbf => Functions::Lsbf(Lsbf::new(&params, dims)?),
            Kind::Ilbf => Functions::Ilbf(Ilbf::new(&params, dims)?),
            Kind::Probing => Functions::Probing(Probing::new(&params, dims)?),
            Kind::Lsqf => Functions::Lsqf(Box::new(Lsqf::new(&params, dims, &centre)?)),
        };
        Ok(Engine {
            stored: format::encode_params(&params),
            compared: Cell::new(0),
            stored_centre: centre.iter().flat_map(|x| x.to_le_bytes()).collect(),
            params,
            dims,
            centre,
            functions,
            new: Vec::new(),
        })
    }

    /// Bytes of memory held.
    pub fn bytes(&self) -> usize {
        size_of::<Engine>()
            + kind!(&self.functions, kind => kind.bytes())
            + self.stored.capacity()
            + self.centre.capacity() * size_of::<f32>()
            + self.stored_centre.capacity()
            + self.new.capacity() * size_of::<u64>()
    }

    /// The approximate memory that an engine will need, in bytes.
    pub fn expected_bytes(params: &Params, dims: u32) -> usize {
        const SCRATCH: usize = 8 << 10;
        size_of::<Engine>() + SCRATCH + hash::expected_bytes(params, dims)
    }

    /// Whether this is the engine of a filter with these stored parameters, dims and centre. The parameters have a hash of the
    /// centre, so that a centre at the address of the last one is not compared again.
    #[inline]
    pub fn is_of(&self, stored: &[u8], dims: u32, centre: &[u8]) -> bool {
        if self.dims != dims || self.stored != stored || self.stored_centre.len() != centre.len() {
            return false;
        }
        // Comparing two empty slices by memcmp takes longer than all the rest: their dangling pointers are slow to load from
        // with AVX-512.
        let is_same =
            centre.is_empty() || self.compared.get() == centre.as_ptr().addr() || self.stored_centre == centre;
        self.compared.set(centre.as_ptr().addr());
        is_same
    }

    /// The number of words of a filter with this header.
    #[inline]
    pub fn image_words(&self, header: &Header) -> usize {
        match &self.functions {
            Functions::Lsqf(lsqf) if header.has_body => header.body_start() + lsqf.body_words(header.ones),
            _ => header.image_words(&self.params),
        }
    }

    /// Checks and hashes a vector.
    #[inline]
    fn start<'a>(&mut self, vector: &Vector<'a>) -> Result<Input<'a>> {
        let input = self.params.input(vector)?;
        input.check_dims(&self.params, self.dims)?;
        kind!(&mut self.functions, kind => kind.start(&input.vector()))?;
        Ok(input)
    }

    /// The largest theta of a query; infinity if there is none.
    pub fn max_theta(&self) -> f64 {
        match &self.functions {
            Functions::Lsqf(lsqf) => lsqf.layout.max_theta(self.params.metric),
            Functions::Probing(probing) => probing.max_theta(),
            _ => f64::INFINITY,
        }
    }

    #[inline]
    fn check_theta(&self, theta: f64) -> Result<()> {
        params::check_theta(theta)?;
        match &self.functions {
            Functions::Lsqf(lsqf) => lsqf.check_theta(theta),
            Functions::Probing(probing) => probing.check_theta(theta),
            _ => ilbf::check_theta(&self.params, theta),
        }
    }

    /// Whether a filter probably has a member within theta x near of the vector.
    #[inline]
    pub fn contains(&mut self, filter: &Queried, vector: &Vector, theta: f64) -> Result<bool> {
        self.check_theta(theta)?;
        self.start(vector)?;
        let Some(counters) = filter.counters else { return Ok(false) };
        body!(filter, body => kind!(&mut self.functions, kind => kind.contains(counters, body, theta)))
    }

    /// The number of matching tables or projections, which is compared with the filter's threshold; for quotient filters,
    /// the number of members that match.
    pub fn votes(&mut self, filter: &Queried, vector: &Vector, theta: f64) -> Result<u32> {
        self.check_theta(theta)?;
        self.start(vector)?;
        let Some(counters) = filter.counters else { return Ok(0) };
        body!(filter, body => kind!(&mut self.functions, kind => kind.votes(counters, body, theta)))
    }

    /// An estimate of the distance to the nearest member (ILBF, LSQF); `None` if no member is near.
    pub fn distance(&mut self, filter: &Queried, vector: &Vector) -> Result<Option<f64>> {
        if !matches!(self.params.kind, Kind::Ilbf | Kind::Lsqf) || self.params.aligned {
            let given = if self.params.aligned { "a filter with aligned blooms" } else { self.params.kind.name() };
            return Err(Error::parameter(format!(
                "approx_distance requires an lsqf filter or an ilbf filter with centred windows, not {given}"
            ))
            .with_hint("Create the filter with lsqf_new, or with ilbf_new without blooms_aligned."));
        }
        self.start(vector)?;
        let near = self.params.near;
        Ok(match (&mut self.functions, filter.counters) {
            (Functions::Ilbf(ilbf), Some(counters)) => body!(filter, body => ilbf.distance(counters, body)),
            (Functions::Lsqf(lsqf), Some(counters)) => body!(filter, body => lsqf.distance(counters.ones, body, near)),
            _ => None,
        })
    }

    /// The functions of a quotient filter.
    fn lsqf(&mut self) -> Result<&mut Lsqf> {
        match &mut self.functions {
            Functions::Lsqf(lsqf) => Ok(lsqf),
            _ => Err(Error::data("not a quotient filter")),
        }
    }

    /// The fingerprint of a vector (LSQF).
    pub fn fingerprint(&mut self, vector: &Vector) -> Result<Fingerprint> {
        self.start(vector)?;
        self.lsqf()?.fingerprint()
    }

    /// The cells that a query visits; `None` for all cells (LSQF).
    pub fn visited(&mut self, vector: &Vector, theta: f64) -> Result<Option<&[u32]>> {
        self.start(vector)?;
        Ok(self.lsqf()?.visited(theta))
    }

    /// Whether the query whose cells were last asked for visits a cell (LSQF).
    pub fn visits(&self, cell: u32) -> bool {
        matches!(&self.functions, Functions::Lsqf(lsqf) if lsqf.visits(cell))
    }

    /// The cell of a vector (LSQF).
    pub fn cell(&mut self, vector: &Vector) -> Result<u32> {
        let member = self.fingerprint(vector)?;
        Ok(member.prefix(self.lsqf()?.layout.cell_bits))
    }

    /// A filter with one more member (LSQF).
    pub(super) fn with_member<M>(
        &mut self,
        filter: &View,
        vector: &Vector,
        allocate: impl FnOnce(usize) -> M,
    ) -> Result<M>
    where
        M: DerefMut<Target = [u64]>,
    {
        let member = self.fingerprint(vector)?;
        let front = Front { stored: &self.stored, dims: self.dims, centre: &self.centre };
        lsqf::change::add(&self.params, front, filter, member, allocate)
    }

    /// A filter with one member fewer; `None` if there is no such member (LSQF).
    pub(super) fn without_member<M>(
        &mut self,
        filter: &View,
        vector: &Vector,
        allocate: impl FnOnce(usize) -> M,
    ) -> Result<Option<M>>
    where
        M: DerefMut<Target = [u64]>,
    {
        let member = match self.fingerprint(vector) {
            // A vector that is too long cannot be a member.
            Err(error) if error.code == Code::Parameter => return Ok(None),
            member => member?,
        };
        let front = Front { stored: &self.stored, dims: self.dims, centre: &self.centre };
        lsqf::change::remove(&self.params, front, filter, member, allocate)
    }

    /// Writes a filter of `count` members with these records, which are sorted, into memory from `allocate` (LSQF).
    pub fn write_records<M>(&self, records: &[u8], allocate: impl FnOnce(usize) -> M) -> Result<M>
    where
        M: DerefMut<Target = [u64]>,
    {
        let front = Front { stored: &self.stored, dims: self.dims, centre: &self.centre };
        lsqf::change::write_records(&self.params, front, records, allocate)
    }

    /// Queries members and then adds the vector, always or only if no member is near (LSQF).
    pub fn screen_levels<M: Memory>(
        &mut self,
        levels: &mut Levels<M>,
        vector: &Vector,
        theta: f64,
        adds: Adds,
    ) -> Result<bool> {
        self.check_theta(theta)?;
        self.start(vector)?;
        let lsqf = self.lsqf()?;
        let found = lsqf.is_in(levels, theta);
        if !found || adds == Adds::All {
            levels.add(&lsqf.layout, &lsqf.fingerprint()?)?;
        }
        Ok(found)
    }

    /// Queries a filter and then adds the vector, always or only if no member is near. The vector is hashed only once.
    /// `body` consists of the bit words of a filter of this engine.
    pub fn screen<B>(
        &mut self,
        counters: &mut Counters,
        body: &mut B,
        vector: &Vector,
        theta: f64,
        adds: Adds,
    ) -> Result<bool>
    where
        B: BodyMut + ?Sized,
    {
        self.check_theta(theta)?;
        let input = self.start(vector)?;
        let functions = &mut self.functions;
        let found = counters.ones > 0 && kind!(&mut *functions, kind => kind.contains(*counters, body, theta))?;
        if !found || adds == Adds::All {
            *counters += bit_kind!(functions, kind => kind.add(body, &input.vector()))?.1;
        }
        Ok(found)
    }

    /// Adds a member in place to a filter whose bits are words.
    pub fn add_in_place(&mut self, header: &Header, image: &mut [u64], vector: &Vector) -> Result<()> {
        let input = self.start(vector)?;
        let (front, body) = image.split_at_mut(header.body_start());
        let (id, added) = bit_kind!(&mut self.functions, kind => kind.add(body, &input.vector()))?;
        sketch::add(&mut front[header.words()..], id);
        format::set_counters(image, header.ones + added.ones, header.squares + added.squares);
        Ok(())
    }

    /// The bits that a vector sets as a member, some perhaps twice, and its entry in the list of registers.
    pub fn positions(&mut self, vector: &Vector) -> Result<(&[u64], u16)> {
        let input = self.start(vector)?;
        let mut body = Gathered { positions: std::mem::take(&mut self.new) };
        body.positions.clear();
        let added = bit_kind!(&mut self.functions, kind => kind.add(&mut body, &input.vector()));
        self.new = body.positions;
        Ok((&self.new, sketch::entry_of(added?.0)))
    }

    /// Adds a member to a filter that has none or whose bits are a list. Writes a new image into zeroed memory from
    /// `allocate`, which takes the number of words.
    pub(super) fn grown<M>(
        &mut self,
        filter: &View,
        vector: &Vector,
        allocate: impl FnOnce(usize) -> M,
    ) -> Result<Grown<M>>
    where
        M: DerefMut<Target = [u64]>,
    {
        let input = self.start(vector)?;
        let mut body = Growing { list: filter.list(), new: std::mem::take(&mut self.new) };
        body.new.clear();
        let added = bit_kind!(&mut self.functions, kind => kind.add(&mut body, &input.vector()));
        self.new = body.new;
        let (id, added) = added?;
        if self.new.is_empty() && filter.header.is_sparse {
            match sketch::list_change(filter.register_list(), id) {
                ListChange::None => return Ok(Grown::Same),
                ListChange::Entry(at, entry) => return Ok(Grown::Register(at, entry)),
                ListChange::Longer => {}
            }
        }
        let mut sketch = filter.sketch()?;
        sketch::add(&mut sketch, id);
        let mut counters = filter.header.counters().unwrap_or_default();
        counters += added;
        let front = Front { stored: &self.stored, dims: self.dims, centre: &self.centre };
        let content = Content { counters, sketch, list: filter.list(), new: &self.new };
        Ok(Grown::New(content.write(&self.params, front, allocate)))
    }
}
