//! Filters on Rust's heap.

use super::change::{self, Memory, Outcome, Target};
use super::engine::Engine;
use super::format::{self, Header, View};
use crate::error::Result;
use crate::params::Params;
use crate::vector::Vector;

/// Allocates images on Rust's heap.
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

/// A filter on Rust's heap. Its hash functions are in an [`Engine`], which many filters can share.
#[derive(Debug, Clone, PartialEq)]
pub struct Owned {
    /// The image of the filter.
    pub image: Vec<u64>,
}

impl Owned {
    /// Creates an empty filter. `dims` may be 0 if it is not known yet.
    pub fn new(params: &Params, dims: u32) -> Self {
        Owned::centred(params, dims, &[])
    }

    /// Creates an empty filter with a centre; an empty one stands for none.
    pub fn centred(params: &Params, dims: u32, centre: &[f32]) -> Self {
        let stored = format::encode_params(params);
        let header = Header::new(params, stored.len(), dims, !centre.is_empty());
        let mut image = vec![0; header.image_words(params)];
        format::write_front(&mut image, &header, &stored, centre);
        Owned { image }
    }

    /// Reads the bytes of a text, binary or bytea form, which are validated completely.
    pub fn read(payload: &[u8]) -> Result<Self> {
        Ok(Owned { image: format::read_payload(payload, |words| vec![0; words])? })
    }

    /// A view of the filter.
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

    /// Removes a member (LSQF); returns whether it was one.
    pub fn remove(&mut self, engine: &mut Engine, vector: &Vector) -> Result<bool> {
        let image = change::remove(engine, &self.view(), vector, &Heap)?;
        let removed = image.is_some();
        self.image = image.unwrap_or_else(|| std::mem::take(&mut self.image));
        Ok(removed)
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

    /// Whether the filter probably has a member within theta x near.
    pub fn contains(&self, engine: &mut Engine, vector: &Vector, theta: f64) -> Result<bool> {
        engine.contains(&self.view().queried(), vector, theta)
    }

    /// The number of votes, which is compared with the threshold.
    pub fn votes(&self, engine: &mut Engine, vector: &Vector, theta: f64) -> Result<u32> {
        engine.votes(&self.view().queried(), vector, theta)
    }

    /// An estimate of the distance to the nearest member (ILBF, LSQF).
    pub fn distance(&self, engine: &mut Engine, vector: &Vector) -> Result<Option<f64>> {
        engine.distance(&self.view().queried(), vector)
    }
}
