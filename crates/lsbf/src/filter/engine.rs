//! The expanded hash functions of a filter, which query and change it.

use super::bits::BodyMut;
use super::dsbf::Dsbf;
use super::format::{self, Header, View};
use super::ilbf::{self, Ilbf};
use super::kind::{Counters, Kind as _};
use super::list::{Content, Front, Growing};
use super::lsbf::Lsbf;
use super::probing::Probing;
use super::queried::{Queried, Source, body};
use super::sketch::{self, ListChange};
use crate::error::{Error, Result};
use crate::hash;
use crate::params::{self, Input, Kind, Params};
use crate::vector::Vector;
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
}

/// Dispatches a call to the kind.
macro_rules! kind {
    ($functions:expr, $kind:ident => $call:expr) => {
        match $functions {
            Functions::Dsbf($kind) => $call,
            Functions::Lsbf($kind) => $call,
            Functions::Ilbf($kind) => $call,
            Functions::Probing($kind) => $call,
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
    /// The centre as stored.
    stored_centre: Vec<u8>,
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
            Kind::Probing => Functions::Probing(Probing::new(&params, dims, &centre)?),
        };
        Ok(Engine {
            stored: format::encode_params(&params),
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

    /// Whether this is the engine of a filter with these stored parameters, dims and centre.
    #[inline]
    pub fn is_of(&self, stored: &[u8], dims: u32, centre: &[u8]) -> bool {
        // Most filters have no centre. Comparing two empty slices by memcmp takes longer than all the rest: their dangling
        // pointers are slow to load from with AVX-512.
        self.dims == dims
            && self.stored == stored
            && self.stored_centre.len() == centre.len()
            && (centre.is_empty() || self.stored_centre == centre)
    }

    /// Checks and hashes a vector.
    #[inline]
    fn start<'a>(&mut self, vector: &Vector<'a>) -> Result<Input<'a>> {
        let input = self.params.input(vector)?;
        input.check_dims(&self.params, self.dims)?;
        kind!(&mut self.functions, kind => kind.start(&input.vector()))?;
        Ok(input)
    }

    fn check_theta(&self, theta: f64) -> Result<()> {
        params::check_theta(theta)?;
        ilbf::check_theta(&self.params, theta)
    }

    /// Whether a filter probably has a member within theta x near of the vector.
    #[inline]
    pub fn contains(&mut self, filter: &Queried, vector: &Vector, theta: f64) -> Result<bool> {
        self.check_theta(theta)?;
        self.start(vector)?;
        let Some(counters) = filter.counters else { return Ok(false) };
        body!(filter, body => kind!(&mut self.functions, kind => kind.contains(counters, body, theta)))
    }

    /// The number of matching tables or projections, which is compared with the filter's threshold.
    pub fn votes(&mut self, filter: &Queried, vector: &Vector, theta: f64) -> Result<u32> {
        self.check_theta(theta)?;
        self.start(vector)?;
        if filter.counters.is_none() {
            return Ok(0);
        }
        body!(filter, body => kind!(&mut self.functions, kind => kind.votes(body, theta)))
    }

    /// An estimate of the distance to the nearest member (ILBF); `None` if no member is near.
    pub fn distance(&mut self, filter: &Queried, vector: &Vector) -> Result<Option<f64>> {
        if self.params.kind != Kind::Ilbf || self.params.aligned {
            let given = if self.params.aligned { "a filter with aligned blooms" } else { self.params.kind.name() };
            return Err(Error::parameter(format!(
                "approx_distance requires an ilbf filter with centred windows, not {given}"
            ))
            .with_hint("Create the filter with ilbf_new, without blooms_aligned."));
        }
        self.start(vector)?;
        Ok(match (&mut self.functions, filter.counters) {
            (Functions::Ilbf(ilbf), Some(counters)) => body!(filter, body => ilbf.distance(counters, body)),
            _ => None,
        })
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
            *counters += kind!(functions, kind => kind.add(body, &input.vector()))?.1;
        }
        Ok(found)
    }

    /// Adds a member in place to a filter whose bits are words.
    pub fn add_in_place(&mut self, header: &Header, image: &mut [u64], vector: &Vector) -> Result<()> {
        let input = self.start(vector)?;
        let (front, body) = image.split_at_mut(header.body_start());
        let (id, added) = kind!(&mut self.functions, kind => kind.add(body, &input.vector()))?;
        sketch::add(&mut front[header.words()..], id);
        format::set_counters(image, header.ones + added.ones, header.squares + added.squares);
        Ok(())
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
        let added = kind!(&mut self.functions, kind => kind.add(&mut body, &input.vector()));
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
