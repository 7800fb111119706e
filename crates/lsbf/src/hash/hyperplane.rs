//! Random hyperplanes for the cosine distance: a hash is the side of a hyperplane that the vector is on.

use super::linear::{Linear, check_direction};
use super::probe::{Alternative, Wanted};
use super::{Buckets, Lsh, projection};
use crate::error::Result;
use crate::params::Params;
use crate::vector::Vector;

/// `tables x hashes` hyperplanes through the origin.
pub struct Hyperplanes {
    linear: Linear,
    hashes: usize,
    /// The sides for each table, the first one most significant.
    tuples: Vec<u64>,
}

impl Hyperplanes {
    /// Draws the hyperplanes of a filter.
    pub fn new(params: &Params, dims: u32) -> Result<Self> {
        let (linear, _) = Linear::new(params, dims)?;
        Ok(Hyperplanes { linear, hashes: params.hashes as usize, tuples: vec![0; params.tables as usize] })
    }
}

impl Lsh for Hyperplanes {
    #[inline]
    fn start(&mut self, vector: &Vector) -> Result<()> {
        self.linear.project(vector)?;
        let y = &self.linear.projections;
        check_direction(vector, y)?;
        for (tuple, y) in self.tuples.iter_mut().zip(y.chunks(self.hashes)) {
            *tuple = y.iter().fold(0, |tuple, &y| tuple << 1 | u64::from(y >= 0.0));
        }
        Ok(())
    }

    #[inline]
    fn buckets(&self) -> Buckets<'_> {
        Buckets::Bits(&self.tuples)
    }

    fn id(&self, _: &Vector, keys: &[u64]) -> u64 {
        projection::id(self.linear.is_fast(), keys, &self.linear.projections)
    }

    /// The closer a vector is to a hyperplane, the more likely is a near vector on the other side.
    #[inline]
    fn alternatives(&self, wanted: &Wanted, out: &mut Vec<Alternative>) {
        wanted.flipped(self.linear.projections[wanted.at].abs() as f32, out);
    }

    fn bytes(&self) -> usize {
        self.linear.bytes() + self.tuples.capacity() * size_of::<u64>()
    }
}
