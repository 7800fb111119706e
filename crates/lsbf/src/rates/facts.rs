//! The properties of a filter that its predicted error rates depend on.

use super::{bloom, crowding};
use crate::error::Result;
use crate::filter::format::{self, View};
use crate::params::Params;

/// The parameters of a filter, and what is counted or estimated of its content.
#[derive(Debug, Clone, PartialEq)]
pub struct Facts {
    /// The parameters.
    pub params: Params,
    /// The dimensions; 0 for sets, or if not known yet.
    pub dims: u32,
    /// The number of bits set, including those of the verification filter.
    pub ones: u64,
    /// ILBF: the sum, over all small Bloom filters, of the square of the number of bits set.
    pub squares: u64,
    /// The fraction of the array's bits that are set.
    pub fill: f64,
    /// The fraction of the verification filter's bits that are set.
    pub verify_fill: f64,
    /// The estimated number of distinct members.
    pub members: u64,
    /// The size in bytes.
    pub bytes: usize,
}

impl Facts {
    /// The probability that other members have set the bit that a query reads, for a query from the same distribution
    /// as the members.
    pub(super) fn set_by_others(&self) -> f64 {
        let (params, members) = (&self.params, self.members as f64);
        let partition = params.partition() as f64;
        let keys = match params.is_natural() {
            true => self.fill * partition,
            false => bloom::keys_from_fill(self.fill.min(1.0 - 1e-12), 1.0, partition),
        };
        crowding::set_by_others(params, self.fill, members).max(crowding::shared_keys(keys, members))
    }

    /// The facts of an image.
    pub fn of(image: &[u64]) -> Result<Facts> {
        let image = View::new(image)?;
        image.check(&format::decode_params(image.stored())?)?;
        Facts::of_front(&image, image.words.len(), |params| Ok(image.verify_ones(params)))
    }

    /// The facts of an image of `words` words, of which `front` has those before the bits. Bits are counted only if the
    /// header is insufficient: `verify_ones` counts those of an LSBF's verification filter.
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
            facts.members = front.members()?;
            let bits = if header.is_quotient { 0 } else { header.ones.saturating_sub(verify_ones) };
            facts.fill = bits as f64 / facts.params.bits as f64;
            facts.verify_fill = verify_ones as f64 / facts.params.verify_bits.max(1) as f64;
        }
        Ok(facts)
    }

    /// Like [`Facts::of_front`], but with the bits of the verification filter estimated from the number of members.
    pub fn estimated(front: &View, words: usize) -> Result<Facts> {
        let members = front.members()? as f64;
        Facts::of_front(front, words, |params| {
            let bits = params.verify_bits as f64;
            Ok((bloom::fill(members, f64::from(params.bloom_hashes), bits) * bits) as u64)
        })
    }
}
