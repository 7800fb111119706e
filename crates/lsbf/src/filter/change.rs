//! Adding members to filters and merging filters.

use super::engine::{Engine, Grown};
use super::format::{self, Bits, View};
use super::{bits, count, ilbf, list, lsqf, sketch};
use crate::error::{Error, Result};
use crate::interrupt;
use crate::params::Params;
use crate::vector::Vector;
use std::ops::DerefMut;

/// An allocator of filter images.
pub trait Memory {
    /// An allocated image.
    type Image: DerefMut<Target = [u64]>;

    /// Allocates a zeroed image.
    fn zeroed(&self, words: usize) -> Self::Image;

    /// A copy of an image.
    fn copy(&self, image: &[u64]) -> Self::Image;

    /// Frees an image.
    fn free(&self, image: Self::Image) {
        drop(image);
    }
}

/// A filter to change.
pub enum Target<'a> {
    /// Changed in place unless it must be reallocated.
    Own(&'a mut [u64]),
    /// Copied before it is changed, because others may refer to it.
    Shared(&'a [u64]),
}

impl Target<'_> {
    fn words(&self) -> &[u64] {
        match self {
            Target::Own(words) => words,
            Target::Shared(words) => words,
        }
    }
}

/// Where the result of a change is.
pub enum Outcome<I> {
    /// The first filter, changed in place or unchanged.
    First,
    /// The second filter, which equals the union.
    Second,
    /// A new filter.
    New(I),
}

/// Adds a member.
pub fn add<M: Memory>(engine: &mut Engine, target: Target, vector: &Vector, memory: &M) -> Result<Outcome<M::Image>> {
    let filter = View::new(target.words())?;
    if filter.header.is_quotient {
        return engine.with_member(&filter, vector, |words| memory.zeroed(words)).map(Outcome::New);
    }
    if !filter.header.has_body || filter.header.is_sparse {
        return add_to_list(engine, target, vector, memory);
    }
    let header = filter.header;
    match target {
        Target::Own(words) => {
            engine.add_in_place(&header, words, vector)?;
            Ok(Outcome::First)
        }
        Target::Shared(words) => {
            let mut copy = memory.copy(words);
            engine.add_in_place(&header, &mut copy, vector)?;
            Ok(Outcome::New(copy))
        }
    }
}

/// Removes a member. Only quotient filters store members separately.
pub fn remove<M: Memory>(engine: &mut Engine, filter: &View, vector: &Vector, memory: &M) -> Result<Option<M::Image>> {
    if !filter.header.is_quotient {
        let kind = engine.params.kind.name();
        return Err(Error::parameter(format!("members cannot be removed from a filter of kind {kind}"))
            .with_hint("Members share bits in a Bloom filter. Use lsqf_new, or build the filter again."));
    }
    engine.without_member(filter, vector, |words| memory.zeroed(words))
}

/// Adds a member to a filter that has none or whose bits are a list.
fn add_to_list<M: Memory>(
    engine: &mut Engine,
    target: Target,
    vector: &Vector,
    memory: &M,
) -> Result<Outcome<M::Image>> {
    let filter = View::new(target.words())?;
    // Stored filters may be corrupt.
    if matches!(target, Target::Shared(_)) {
        filter.check_list(&engine.params)?;
    }
    let header = filter.header;
    match (engine.grown(&filter, vector, |words| memory.zeroed(words))?, target) {
        (Grown::Same, _) => Ok(Outcome::First),
        (Grown::New(image), _) => Ok(Outcome::New(image)),
        (Grown::Register(at, entry), Target::Own(words)) => {
            format::set_register(words, &header, at, entry);
            Ok(Outcome::First)
        }
        (Grown::Register(at, entry), Target::Shared(words)) => {
            let mut copy = memory.copy(words);
            format::set_register(&mut copy, &header, at, entry);
            Ok(Outcome::New(copy))
        }
    }
}

/// Merges `other` into a filter with the same parameters.
pub fn union<M: Memory>(target: Target, other: &View, memory: &M) -> Result<Outcome<M::Image>> {
    let ours = View::new(target.words())?;
    let params = format::decode_params(ours.stored())?;
    check_alike(&ours, other)?;
    // Stored filters may be corrupt.
    ours.check(&params)?;
    other.check(&params)?;
    let (a, b) = (ours.header, other.header);
    if !b.has_body {
        return Ok(if a.has_body || a.dims != 0 { Outcome::First } else { Outcome::Second });
    }
    if !a.has_body {
        return Ok(Outcome::Second);
    }
    if a.is_quotient {
        return lsqf::change::union(&params, &ours, other, |words| memory.zeroed(words));
    }
    if a.is_sparse && b.is_sparse {
        let union = list::union(&params, (&ours, other), &ours.centre()?, |words| memory.zeroed(words))?;
        return Ok(union.map_or(Outcome::First, Outcome::New));
    }
    // Merge the list into the words, whichever of the two filters it is.
    if a.is_sparse {
        let mut copy = memory.copy(other.words);
        merge_into(&params, &mut copy, &ours)?;
        return Ok(Outcome::New(copy));
    }
    match target {
        Target::Own(words) => {
            merge_into(&params, words, other)?;
            Ok(Outcome::First)
        }
        Target::Shared(words) => {
            let mut copy = memory.copy(words);
            merge_into(&params, &mut copy, other)?;
            Ok(Outcome::New(copy))
        }
    }
}

/// Merges a filter with members into an image whose bits are words.
fn merge_into(params: &Params, image: &mut [u64], other: &View) -> Result<()> {
    let header = format::header_of(image);
    let (front, body) = image.split_at_mut(header.body_start());
    sketch::merge(&mut front[header.words()..], &other.sketch()?);
    let mut counters = header.counters().unwrap_or_default();
    match other.body() {
        Bits::Words(words) => {
            // Chunks of whole Bloom filters, so that the squares can be counted (ILBF).
            let bloom = (params.slots as usize).div_ceil(64).max(1);
            let chunk = (1 << 16) / bloom * bloom;
            (counters.ones, counters.squares) = (0, 0);
            for (to, from) in body.chunks_mut(chunk).zip(words.chunks(chunk)) {
                counters.ones += count::merge(to, from);
                counters.squares += ilbf::squares(params, to);
                interrupt::check();
            }
        }
        Bits::List(list) => list.positions().for_each(|position| counters += list::set(params, position, body)),
    }
    format::set_counters(image, counters.ones, counters.squares);
    Ok(())
}

/// Whether a filter has all bits of another filter with the same parameters, so that merging them would not change it.
pub fn includes(filter: &View, other: &View) -> Result<bool> {
    let params = format::decode_params(other.stored())?;
    // Stored filters may be corrupt.
    filter.check(&params)?;
    other.check(&params)?;
    if !other.header.has_body || !filter.header.has_body {
        return Ok(!other.header.has_body);
    }
    if other.header.is_quotient {
        return Ok(lsqf::change::common(filter, other)? == other.header.ones);
    }
    Ok(match (other.body(), filter.body()) {
        (Bits::Words(theirs), Bits::Words(ours)) => theirs.iter().zip(ours).all(|(theirs, ours)| theirs & !ours == 0),
        (Bits::List(theirs), Bits::Words(ours)) => theirs.positions().all(|at| bits::is_set(ours, at)),
        // Both are sorted, so that one pass suffices.
        (Bits::List(theirs), Bits::List(ours)) => {
            let mut ours = ours.positions();
            theirs.positions().all(|at| ours.any(|position| position == at))
        }
        // A list has fewer bits set than words.
        (Bits::Words(_), Bits::List(_)) => false,
    })
}

/// Checks that two filters can be merged; the error names the parameter that differs.
pub fn check_alike(a: &View, b: &View) -> Result<()> {
    if a.stored() != b.stored() || a.header.dims != b.header.dims {
        let (x, y) = (format::decode_params(a.stored())?, format::decode_params(b.stored())?);
        // Of a centre, the parameters have a hash.
        match x.difference(&y) {
            Some(("centre", ..)) => return Err(differ("centre", "")),
            Some((name, x, y)) => return Err(differ(name, &format!(": {x} and {y}"))),
            None => {}
        }
        let (x, y) = (a.header.dims, b.header.dims);
        if x != y && x != 0 && y != 0 {
            return Err(differ("dims", &format!(": {x} and {y}")));
        }
    }
    // The parameters contain only a hash of the centre, which may collide.
    if a.centre_bytes()? != b.centre_bytes()? {
        return Err(differ("centre", ""));
    }
    Ok(())
}

fn differ(name: &str, values: &str) -> Error {
    Error::data(format!("filters differ in {name}{values}")).with_hint(
        "Only filters created from the same prototype can be merged. Use lsbf_info(filter) to see all parameters.",
    )
}

#[cfg(test)]
mod tests {
    use super::super::Owned;
    use super::*;
    use crate::params::{Family, Kind, Metric};

    #[test]
    fn an_empty_filter_is_included_in_every_filter_and_includes_only_itself() {
        for bits in [5 * 512, 5 << 16] {
            let params = Params { bits, ..Params::example(Kind::Dsbf, Metric::L2, Family::Gaussian) };
            let mut engine = Engine::new(params.clone(), 2).unwrap();
            let empty = Owned::new(&params, 2);
            let (mut few, mut many) = (empty.clone(), empty.clone());
            few.add(&mut engine, &Vector::F32(&[1.0, 2.0])).unwrap();
            for i in 0..3000 {
                many.add(&mut engine, &Vector::F32(&[i as f32, 2.0])).unwrap();
            }
            let includes = |a: &Owned, b: &Owned| includes(&a.view(), &b.view()).unwrap();
            for filter in [&empty, &few, &many] {
                assert!(includes(filter, &empty) && includes(filter, filter));
            }
            assert!(includes(&many, &few) && !includes(&few, &many));
            assert!(!includes(&empty, &few) && !includes(&empty, &many));
        }
    }
}
