//! The filters: what is stored, how a member is added and how a question is answered.

pub mod bits;
pub mod count;
pub mod dsbf;
pub mod header;
pub mod ilbf;
pub mod lsbf;
pub mod params;
pub mod probing;
pub mod sketch;
pub mod sparse;

use crate::error::{Error, Result};
use crate::hash::probe::Walk;
use crate::hash::{self, Buckets, Hasher};
use crate::theory;
use crate::vector::{Parsed, Vector};
use bits::{Body, BodyMut};
use header::{Bits, Header, View};
use params::{Family, Kind, Params};
use sparse::{Content, Front, Growing};
use std::collections::BTreeMap;
use std::ops::DerefMut;

/// Levels of fill that an engine remembers for approx_distance.
const DISTANCE_PLANS: usize = 32;

/// What a filter counts of its bits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    pub ones: u64,
    /// ILBF: sum over all Blooms of their bits set, squared.
    pub squares: u64,
}

impl Counters {
    pub fn of(header: &Header) -> Counters {
        Counters { ones: header.ones, squares: header.squares }
    }

    /// As much of a header as a question looks at.
    fn header(self) -> Header {
        let Counters { ones, squares } = self;
        Header { ones, squares, ..Header::empty(0, 0, false, ones > 0) }
    }

    fn add(&mut self, more: Counters) {
        self.ones += more.ones;
        self.squares += more.squares;
    }
}

/// Which vectors become members when they are screened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Adds {
    /// Every one.
    All,
    /// Those without a member near them.
    New,
}

/// A filter's functions, ready to use, with the memory a row needs. Made once for all filters that hash alike.
pub struct Engine {
    pub params: Params,
    /// The parameters as stored.
    pub stored: Vec<u8>,
    pub dims: u32,
    /// What is subtracted from vectors; empty for none.
    pub centre: Vec<f32>,
    /// The centre as stored.
    stored_centre: Vec<u8>,
    hasher: Hasher,
    buckets: Buckets,
    /// The bit a vector has in each table (DSBF, LSBF); the start of its Bloom for each projection (ILBF).
    positions: Vec<u64>,
    walk: Walk,
    ilbf: Box<ilbf::Scratch>,
    /// The bits that a member adds to a list.
    new: Vec<u64>,
    /// The threshold (DSBF) or the number of probes (match any) found last, with the theta it was found for.
    threshold: (f64, u32),
    /// The level of fill found last, with the counters it was found for (ILBF).
    level: ((u64, u64), u64),
    /// The votes asked for at each theta, by the level of fill they were found for (ILBF): filters that hash alike
    /// are asked in turn. A few hundred levels cover every fill there is.
    plans: BTreeMap<u64, theory::ilbf::VotePlan>,
    /// What approx_distance needs besides, of 40 kB each.
    distances: BTreeMap<u64, theory::ilbf::DistancePlan>,
}

impl Engine {
    /// Makes ready the functions of a filter for vectors of `dims` dimensions.
    pub fn new(params: Params, dims: u32) -> Result<Self> {
        Engine::centred(params, dims, Vec::new())
    }

    /// The same for filters with a centre.
    pub fn centred(params: Params, dims: u32, centre: Vec<f32>) -> Result<Self> {
        if params.centre() != if centre.is_empty() { 0 } else { header::centre_hash(&centre) } {
            return Err(Error::data("the centre is not the one the filter was made with"));
        }
        let hasher = Hasher::centred(&params, dims, &centre)?;
        Ok(Engine {
            stored: header::encode_params(&params),
            hasher,
            params,
            dims,
            stored_centre: centre.iter().flat_map(|x| x.to_le_bytes()).collect(),
            centre,
            buckets: Buckets::default(),
            positions: Vec::new(),
            walk: Walk::default(),
            ilbf: Box::default(),
            new: Vec::new(),
            threshold: (0.0, 0),
            level: ((0, 0), 0),
            plans: BTreeMap::new(),
            distances: BTreeMap::new(),
        })
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        size_of::<Engine>()
            + size_of::<ilbf::Scratch>()
            + self.hasher.bytes()
            + self.buckets.bytes()
            + self.walk.bytes()
            + self.stored.capacity()
            + self.centre.capacity() * size_of::<f32>()
            + self.stored_centre.capacity()
            + (self.positions.capacity() + self.new.capacity()) * size_of::<u64>()
            + self.plans.values().map(theory::ilbf::VotePlan::bytes).sum::<usize>()
            + self.distances.values().map(theory::ilbf::DistancePlan::bytes).sum::<usize>()
    }

    /// Bytes that the expanded functions of a filter take, about, before they are expanded.
    pub fn expected_bytes(params: &Params, dims: u32) -> usize {
        size_of::<Engine>() + size_of::<ilbf::Scratch>() + hash::expected_bytes(params, dims)
    }

    /// Whether this is the engine of a filter with these parameters, as stored, dims and centre.
    #[inline]
    pub fn is_of(&self, stored: &[u8], dims: u32, centre: &[u8]) -> bool {
        self.dims == dims && self.stored == stored && self.stored_centre == centre
    }

    fn hash(&mut self, vector: &Vector) -> Result<()> {
        match self.params.read_text(vector)? {
            Some(parsed) => self.hash_typed(&parsed.view()),
            None => self.hash_typed(vector),
        }
    }

    fn hash_typed(&mut self, vector: &Vector) -> Result<()> {
        self.check_dims(vector)?;
        self.hasher.hash(vector, &mut self.buckets)
    }

    fn check_dims(&self, vector: &Vector) -> Result<()> {
        match self.params.dims_of(vector)? {
            dims if dims == self.dims => Ok(()),
            dims => Err(wrong_dims(&self.params, self.dims, dims)),
        }
    }

    /// Makes a new image of a filter without members, or with a list of bits, and one more member, in zeroed memory of so
    /// many words as are asked for. None where the filter is the same as before.
    pub fn grown<M>(&mut self, filter: &View, vector: &Vector, allocate: impl FnOnce(usize) -> M) -> Result<Option<M>>
    where
        M: DerefMut<Target = [u64]>,
    {
        let parsed = self.params.read_text(vector)?;
        let vector = parsed.as_ref().map_or(*vector, Parsed::view);
        self.hash_typed(&vector)?;
        let mut body = Growing { list: filter.list(), new: std::mem::take(&mut self.new) };
        body.new.clear();
        let (id, counters) = self.write(Counters::of(&filter.header), &mut body, &vector);
        self.new = body.new;
        let mut sketch = filter.sketch()?;
        if !sketch::add(&mut sketch, id) && self.new.is_empty() {
            return Ok(None);
        }
        let front = Front { stored: &self.stored, dims: self.dims, centre: &self.centre };
        let content = Content { counters, sketch, list: filter.list(), new: &self.new };
        Ok(Some(content.write(&self.params, front, allocate)))
    }

    /// Adds a member to an image with bit words and this header.
    pub fn add_in(&mut self, header: &Header, image: &mut [u64], vector: &Vector) -> Result<()> {
        // Read once: the same vector given as text or typed is the same member.
        let parsed = self.params.read_text(vector)?;
        let vector = parsed.as_ref().map_or(*vector, Parsed::view);
        self.hash_typed(&vector)?;
        let (front, body) = image.split_at_mut(header.body_start());
        let (id, counters) = self.write(Counters::of(header), body, &vector);
        sketch::add(&mut front[header.words()..], id);
        header::set_counters(image, counters.ones, counters.squares);
        Ok(())
    }

    /// Writes the vector that was hashed just now into a body; returns its id and what the counters become.
    fn write<B>(&mut self, counters: Counters, body: &mut B, vector: &Vector) -> (u64, Counters)
    where
        B: BodyMut + ?Sized,
    {
        self.hasher.make_keys(&mut self.buckets);
        let (params, positions) = (&self.params, &mut self.positions);
        // What is to be changed is on its way into the cache while the id is made.
        match params.kind {
            Kind::Dsbf | Kind::Lsbf => dsbf::positions(params, &self.hasher, &self.buckets.keys, body, positions),
            Kind::Ilbf => ilbf::starts(params, &self.buckets, body, positions),
            Kind::Probing => {}
        }
        let id = self.hasher.id(vector, &mut self.buckets);
        let (new, squares) = match params.kind {
            Kind::Dsbf => (dsbf::add(positions, body), 0),
            Kind::Lsbf => (lsbf::add(params, positions, body), 0),
            Kind::Ilbf => ilbf::add(params, positions, id, body),
            Kind::Probing => (probing::add(params, &self.hasher, &self.buckets, body), 0),
        };
        (id, Counters { ones: counters.ones + new, squares: counters.squares + squares })
    }

    /// Whether something near is in a body, to which the vector is then added: always, or where nothing near was. It is
    /// hashed once for both. The body is one of this engine's filters, without the words in front of it.
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
        let parsed = self.params.read_text(vector)?;
        let vector = &parsed.as_ref().map_or(*vector, Parsed::view);
        let seen = self.member_in(&counters.header(), body, vector, theta)?;
        if !seen || adds == Adds::All {
            // A question may have been answered before all of its hashes were made.
            self.hasher.finish(&mut self.buckets)?;
            *counters = self.write(*counters, body, vector).1;
        }
        Ok(seen)
    }

    /// Whether something near is in a filter.
    pub fn member(&mut self, image: &[u64], vector: &Vector, theta: f64) -> Result<bool> {
        let image = View::new(image)?;
        match image.body() {
            Bits::Words(words) => self.member_in(&image.header, words, vector, theta),
            Bits::List(list) => self.member_in(&image.header, &list, vector, theta),
        }
    }

    /// The same with a filter's header and words apart.
    pub fn member_in<B>(&mut self, header: &Header, body: &B, vector: &Vector, theta: f64) -> Result<bool>
    where
        B: Body + ?Sized,
    {
        if self.params.kind == Kind::Probing {
            let votes = self.params.votes;
            return Ok(self.probing_votes(header, body, vector, theta, Some(votes))? >= votes);
        }
        if !self.prepare(header, body, vector, theta)? {
            return Ok(false);
        }
        let params = &self.params;
        Ok(match params.kind {
            Kind::Dsbf => {
                if self.threshold.0 != theta {
                    self.threshold = (theta, dsbf::threshold(params, theta));
                }
                dsbf::member(&self.positions, body, self.threshold.1)
            }
            Kind::Lsbf => {
                let (hasher, buckets, steps) = (&self.hasher, &self.buckets, lsbf::steps(params, theta));
                let query = lsbf::Query { params, hasher, buckets, steps };
                let found = query.member(&mut self.positions, &mut self.walk, body);
                self.walk.finish();
                found
            }
            Kind::Ilbf => {
                let level = fill_level(params, header, &mut self.level);
                let plan = self.plans.entry(level).or_insert_with(|| theory::ilbf::VotePlan::new(params, level));
                let (buckets, scratch) = (&self.buckets, &mut self.ilbf);
                plan.accepts(theta, |theta| ilbf::votes(params, buckets, body, theta, scratch))
            }
            Kind::Probing => false,
        })
    }

    /// Tables that hit, counted until there are `enough`, where that is said (match any).
    fn probing_votes<B>(
        &mut self,
        header: &Header,
        body: &B,
        vector: &Vector,
        theta: f64,
        enough: Option<u32>,
    ) -> Result<u32>
    where
        B: Body + ?Sized,
    {
        params::check_theta(theta)?;
        let parsed = self.params.read_text(vector)?;
        let vector = &parsed.as_ref().map_or(*vector, Parsed::view);
        self.check_dims(vector)?;
        self.hasher.start(vector, &mut self.buckets)?;
        if !header.has_body {
            return Ok(0);
        }
        if self.threshold.0 != theta {
            self.threshold = (theta, theory::probing::probes(&self.params, theta));
        }
        let query = probing::Query { params: &self.params, hasher: &self.hasher, probes: self.threshold.1 };
        let votes = query.votes(&mut self.buckets, &mut self.walk, body, enough);
        self.walk.finish();
        votes
    }

    /// Hashes a question. False where there is no member to be found.
    fn prepare<B>(&mut self, header: &Header, body: &B, vector: &Vector, theta: f64) -> Result<bool>
    where
        B: Body + ?Sized,
    {
        params::check_theta(theta)?;
        ilbf::check_theta(&self.params, theta)?;
        self.hash(vector)?;
        if header.has_body && self.params.kind != Kind::Ilbf {
            self.hasher.make_keys(&mut self.buckets);
        }
        if header.has_body && matches!(self.params.kind, Kind::Dsbf | Kind::Lsbf) {
            dsbf::positions(&self.params, &self.hasher, &self.buckets.keys, body, &mut self.positions);
        }
        Ok(header.has_body)
    }

    /// The number that is compared with the threshold.
    pub fn votes(&mut self, image: &[u64], vector: &Vector, theta: f64) -> Result<u32> {
        let image = View::new(image)?;
        match image.body() {
            Bits::Words(words) => self.votes_in(&image.header, words, vector, theta),
            Bits::List(list) => self.votes_in(&image.header, &list, vector, theta),
        }
    }

    /// The same with a filter's header and words apart.
    pub fn votes_in<B>(&mut self, header: &Header, body: &B, vector: &Vector, theta: f64) -> Result<u32>
    where
        B: Body + ?Sized,
    {
        if self.params.kind == Kind::Probing {
            return self.probing_votes(header, body, vector, theta, None);
        }
        if !self.prepare(header, body, vector, theta)? {
            return Ok(0);
        }
        Ok(match self.params.kind {
            Kind::Dsbf | Kind::Lsbf => dsbf::votes(&self.positions, body),
            Kind::Ilbf => ilbf::votes(&self.params, &self.buckets, body, theta, &mut self.ilbf),
            Kind::Probing => 0,
        })
    }

    /// The distance to the nearest member that explains the votes best (ILBF).
    pub fn distance(&mut self, image: &[u64], vector: &Vector) -> Result<Option<f64>> {
        let image = View::new(image)?;
        match image.body() {
            Bits::Words(words) => self.distance_in(&image.header, words, vector),
            Bits::List(list) => self.distance_in(&image.header, &list, vector),
        }
    }

    /// The same with a filter's header and words apart.
    pub fn distance_in<B>(&mut self, header: &Header, body: &B, vector: &Vector) -> Result<Option<f64>>
    where
        B: Body + ?Sized,
    {
        if self.params.kind != Kind::Ilbf || self.params.aligned {
            let given = if self.params.aligned { "a filter with aligned blooms" } else { self.params.kind.name() };
            return Err(Error::parameter(format!(
                "approx_distance needs an ilbf filter with centred windows, not {given}"
            ))
            .with_hint("Build the filter from ilbf_new."));
        }
        if !self.prepare(header, body, vector, 1.0)? {
            return Ok(None);
        }
        let params = &self.params;
        let level = fill_level(params, header, &mut self.level);
        let votes = self.plans.entry(level).or_insert_with(|| theory::ilbf::VotePlan::new(params, level));
        if self.distances.len() >= DISTANCE_PLANS && !self.distances.contains_key(&level) {
            self.distances.clear();
        }
        let make = || theory::ilbf::DistancePlan::new(params, votes, level);
        let plan = self.distances.entry(level).or_insert_with(make);
        let (buckets, scratch) = (&self.buckets, &mut self.ilbf);
        Ok(plan.estimate(params.tables, |theta| ilbf::votes(params, buckets, body, theta, scratch)))
    }
}

/// The level of fill of an ILBF; `last` remembers the one found last.
fn fill_level(params: &Params, header: &Header, last: &mut ((u64, u64), u64)) -> u64 {
    let counters = (header.ones, header.squares);
    if last.0 != counters {
        *last = (counters, theory::ilbf::fill_level(params, header.ones, header.squares));
    }
    last.1
}

/// The error for a vector of the wrong length.
pub fn wrong_dims(params: &Params, expected: u32, given: u32) -> Error {
    Error::data(format!("expected {expected} {unit}, not {given}", unit = params.unit()))
        .with_hint("lsbf_info(filter) shows what the filter was made for.")
}

/// Whether two filters can be merged, and if not, why.
pub fn check_alike(a: &Params, a_dims: u32, b: &Params, b_dims: u32) -> Result<()> {
    if let Some((name, x, y)) = a.difference(b) {
        return Err(differ(name, &format!(": {x} and {y}")));
    }
    if a_dims != b_dims && a_dims != 0 && b_dims != 0 {
        return Err(differ("dims", &format!(": {a_dims} and {b_dims}")));
    }
    Ok(())
}

fn differ(name: &str, values: &str) -> Error {
    Error::data(format!("filters differ in {name}{values}"))
        .with_hint("Only filters made from the same prototype can be merged; lsbf_info(filter) shows all parameters.")
}

/// The same for filters as they are stored. Parameters hold a hash of the centre, which can be forged: centres are compared.
pub fn check_alike_stored(a: &View, b: &View) -> Result<()> {
    if a.stored() != b.stored() || a.header.dims != b.header.dims {
        let params = |view: &View| header::decode_params(view.stored());
        check_alike(&params(a)?, a.header.dims, &params(b)?, b.header.dims)?;
    }
    if a.centre_bytes()? != b.centre_bytes()? {
        return Err(differ("centre", ""));
    }
    Ok(())
}

/// What is known of a filter besides its bits: enough for every rate the theory predicts.
#[derive(Debug, Clone, PartialEq)]
pub struct Facts {
    pub params: Params,
    pub dims: u32,
    pub ones: u64,
    /// ILBF: sum over all Blooms of their bits set, squared.
    pub squares: u64,
    /// Share of the array's bits that are set.
    pub fill: f64,
    /// Share of the verification filter's bits that are set.
    pub verify_fill: f64,
    pub members: u64,
    pub bytes: usize,
}

impl Facts {
    /// The chance that a position is set by others, as seen by a vector from the same source as the members.
    pub fn foreign(&self) -> f64 {
        let (params, members) = (&self.params, self.members as f64);
        let partition = params.partition() as f64;
        let keys = match params.is_natural() {
            true => self.fill * partition,
            false => theory::bloom::keys_from_fill(self.fill.min(1.0 - 1e-12), 1.0, partition),
        };
        theory::collision::foreign(params, self.fill, members).max(theory::collision::crowding(keys, members))
    }

    /// Reads an image.
    pub fn of(image: &[u64]) -> Result<Facts> {
        let image = View::new(image)?;
        image.check(&header::decode_params(image.stored())?)?;
        Facts::of_front(&image, image.words.len(), |params| Ok(image.verify_ones(params)))
    }

    /// Reads an image of `words` words of which only those before the bits are at hand. The bits are counted only where
    /// the header does not tell: `verify_ones` counts those of an LSBF's verification filter.
    pub fn of_front(front: &View, words: usize, verify_ones: impl FnOnce(&Params) -> Result<u64>) -> Result<Facts> {
        let header = &front.header;
        let params = header::decode_params(front.stored())?;
        let mut facts = Facts {
            dims: header.dims,
            ones: header.ones,
            squares: header.squares,
            fill: 0.0,
            verify_fill: 0.0,
            members: 0,
            bytes: words * 8,
            params,
        };
        if header.has_body {
            let verify_ones = if facts.params.verify_bits == 0 { 0 } else { verify_ones(&facts.params)? };
            facts.members = sketch::estimate(&front.sketch()?);
            facts.fill = header.ones.saturating_sub(verify_ones) as f64 / facts.params.bits as f64;
            facts.verify_fill = verify_ones as f64 / facts.params.verify_bits.max(1) as f64;
        }
        Ok(facts)
    }
}

const VALID: &str = "an image inside is valid";

/// A filter that owns its memory: for tests, experiments and everything that happens without PostgreSQL.
#[derive(Debug, Clone, PartialEq)]
pub struct Owned {
    pub image: Vec<u64>,
}

impl Owned {
    pub fn new(params: &Params, dims: u32) -> Self {
        Owned::centred(params, dims, &[])
    }

    /// Reads the bytes of a text, binary or bytea form.
    pub fn read(payload: &[u8]) -> Result<Self> {
        Ok(Owned { image: header::read_payload(payload, zeroed)? })
    }

    /// The same with a centre.
    pub fn centred(params: &Params, dims: u32, centre: &[f32]) -> Self {
        let stored = header::encode_params(params);
        let header = Header::empty(stored.len(), dims, !centre.is_empty(), false);
        let mut image = vec![0; header.image_words(params)];
        header::write_front(&mut image, &header, &stored, centre);
        Owned { image }
    }

    /// Adds a member.
    pub fn add(&mut self, engine: &mut Engine, vector: &Vector) -> Result<()> {
        let header = header::header_of(&self.image);
        if header.has_body && !header.is_sparse {
            return engine.add_in(&header, &mut self.image, vector);
        }
        if let Some(image) = engine.grown(&View::valid(&self.image), vector, zeroed)? {
            self.image = image;
        }
        Ok(())
    }

    /// Merges another filter into this one.
    pub fn merge(&mut self, params: &Params, other: &Owned) {
        let (ours, theirs) = (View::valid(&self.image), View::valid(&other.image));
        match (ours.header, theirs.header) {
            (_, Header { has_body: false, .. }) => {}
            (Header { has_body: false, .. }, _) => self.image.clone_from(&other.image),
            (Header { is_sparse: true, .. }, Header { is_sparse: true, .. }) => {
                let centre = ours.centre().expect(VALID);
                if let Some(image) = sparse::union(params, (&ours, &theirs), &centre, zeroed).expect(VALID) {
                    self.image = image;
                }
            }
            (Header { is_sparse: true, .. }, _) => {
                let mut image = other.image.clone();
                merge(params, &mut image, &ours, |_| {}).expect(VALID);
                self.image = image;
            }
            _ => merge(params, &mut self.image, &theirs, |_| {}).expect(VALID),
        }
    }
}

fn zeroed(words: usize) -> Vec<u64> {
    vec![0; words]
}

/// Merges a filter with members into an image with bit words that hashes alike. `pause` is called now and then, for
/// interrupts.
pub fn merge(params: &Params, image: &mut [u64], other: &View, mut pause: impl FnMut(usize)) -> Result<()> {
    let header = header::header_of(image);
    let (front, body) = image.split_at_mut(header.body_start());
    sketch::merge(&mut front[header.words()..], &other.sketch()?);
    let mut counters = Counters::default();
    match other.body() {
        Bits::Words(words) => {
            // Whole Blooms, where there are any.
            let bloom = (params.slots as usize).div_ceil(64).max(1);
            let chunk = (1 << 16) / bloom * bloom;
            for (i, (to, from)) in body.chunks_mut(chunk).zip(words.chunks(chunk)).enumerate() {
                counters.ones += count::merge(to, from);
                counters.squares += ilbf::squares(params, to);
                pause(i);
            }
        }
        Bits::List(list) => {
            counters = Counters::of(&header);
            list.places().for_each(|place| counters.add(sparse::set(params, place, body)));
        }
    }
    header::set_counters(image, counters.ones, counters.squares);
    Ok(())
}

/// Whether vectors of this filter have dims that must be known before hashing.
pub fn needs_dims(params: &Params) -> bool {
    params.family != Family::MinHash
}
