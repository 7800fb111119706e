//! What is known of a filter without its bits: enough for every rate that is predicted.

use super::{bloom, crowding};
use crate::error::Result;
use crate::filter::format::{self, View};
use crate::filter::sketch;
use crate::params::Params;

/// What is known of a filter besides its bits.
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
            false => bloom::keys_from_fill(self.fill.min(1.0 - 1e-12), 1.0, partition),
        };
        crowding::foreign(params, self.fill, members).max(crowding::crowding(keys, members))
    }

    /// Reads an image.
    pub fn of(image: &[u64]) -> Result<Facts> {
        let image = View::new(image)?;
        image.check(&format::decode_params(image.stored())?)?;
        Facts::of_front(&image, image.words.len(), |params| Ok(image.verify_ones(params)))
    }

    /// Reads an image of `words` words of which only those before the bits are given. Bits are counted only if the header is
    /// insufficient: `verify_ones` counts those of an LSBF's verification filter.
    pub fn of_front(front: &View, words: usize, verify_ones: impl FnOnce(&Params) -> Result<u64>) -> Result<Facts> {
        let header = &front.header;
        let params = format::decode_params(front.stored())?;
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

    /// The same without any bits, for estimates: those of the verification filter are estimated from the members.
    pub fn estimated(front: &View, words: usize) -> Result<Facts> {
        let members = sketch::estimate(&front.sketch()?) as f64;
        Facts::of_front(front, words, |params| {
            let bits = params.verify_bits as f64;
            Ok((bloom::fill(members, f64::from(params.bloom_hashes), bits) * bits) as u64)
        })
    }
}
