//! Filters on Rust's heap, for everything that happens without PostgreSQL.

use super::change::{self, Memory, Outcome, Target};
use super::engine::Engine;
use super::format::{self, Header, View};
use crate::error::Result;
use crate::params::Params;
use crate::vector::Vector;

/// Rust's heap.
pub struct Heap;

impl Memory for Heap {
    type Image = Vec<u64>;

    fn zeroed(&self, words: usize) -> Vec<u64> {
        vec![0; words]
    }

    fn copy(&self, image: &[u64]) -> Vec<u64> {
        image.to_vec()
    }
}

/// A filter that owns its memory. Its functions are those of an [`Engine`], which serves many filters.
#[derive(Debug, Clone, PartialEq)]
pub struct Owned {
    pub image: Vec<u64>,
}

impl Owned {
    /// An empty filter. `dims` may be 0 until the first vector is known.
    pub fn new(params: &Params, dims: u32) -> Self {
        Owned::centred(params, dims, &[])
    }

    /// An empty filter with a centre.
    pub fn centred(params: &Params, dims: u32, centre: &[f32]) -> Self {
        let stored = format::encode_params(params);
        let header = Header::empty(stored.len(), dims, !centre.is_empty(), false);
        let mut image = vec![0; header.image_words(params)];
        format::write_front(&mut image, &header, &stored, centre);
        Owned { image }
    }

    /// Reads the bytes of a text, binary or bytea form; all of them are checked.
    pub fn read(payload: &[u8]) -> Result<Self> {
        Ok(Owned { image: format::read_payload(payload, |words| vec![0; words])? })
    }

    /// The filter with its header read.
    pub fn view(&self) -> View<'_> {
        View::valid(&self.image)
    }

    /// Adds a member.
    pub fn add(&mut self, engine: &mut Engine, vector: &Vector) -> Result<()> {
        if let Outcome::New(image) = change::add(engine, Target::Own(&mut self.image), vector, &Heap)? {
            self.image = image;
        }
        Ok(())
    }

    /// Merges another filter into this one.
    pub fn merge(&mut self, other: &Owned) -> Result<()> {
        match change::union(Target::Own(&mut self.image), &other.view(), &Heap)? {
            Outcome::First => {}
            Outcome::Second => self.image.clone_from(&other.image),
            Outcome::New(image) => self.image = image,
        }
        Ok(())
    }

    /// Whether the vector has a near member.
    pub fn contains(&self, engine: &mut Engine, vector: &Vector, theta: f64) -> Result<bool> {
        engine.contains(&self.view().queried(), vector, theta)
    }

    /// The number that is compared with the threshold.
    pub fn votes(&self, engine: &mut Engine, vector: &Vector, theta: f64) -> Result<u32> {
        engine.votes(&self.view().queried(), vector, theta)
    }

    /// An estimate of the distance to the nearest member (ILBF).
    pub fn distance(&self, engine: &mut Engine, vector: &Vector) -> Result<Option<f64>> {
        engine.distance(&self.view().queried(), vector)
    }
}
