//! Adding, removing and merging members.

use super::super::change::Outcome;
use super::super::format::{self, Header, View};
use super::super::list::Front;
use super::body::{self, Members, Parts};
use super::fingerprint::Fingerprint;
use crate::error::{Error, Result};
use crate::limits::MAX_BYTES;
use crate::params::{Layout, Params};
use std::cmp::Ordering;
use std::iter::Peekable;
use std::ops::DerefMut;

/// The layout of a quotient filter.
pub fn layout(params: &Params, dims: u32) -> Result<Layout> {
    Layout::of(params, dims).ok_or_else(|| Error::data("not a quotient filter"))
}

/// The members of a filter, in order.
pub fn members<'a>(layout: &'a Layout, filter: &View<'a>) -> Members<'a, [u64]> {
    let header = &filter.header;
    let body = if header.has_body { &filter.words[header.body_start()..] } else { &[][..] };
    Members::new(layout, if header.has_body { header.ones } else { 0 }, body)
}

/// Writes a filter of `count` members, which must be in order, into zeroed memory from `allocate`.
pub fn write<M>(
    params: &Params,
    front: Front,
    count: u64,
    members: impl Iterator<Item = Fingerprint>,
    allocate: impl FnOnce(usize) -> M,
) -> Result<M>
where
    M: DerefMut<Target = [u64]>,
{
    let layout = layout(params, front.dims)?;
    let parts = Parts::new(&layout, count);
    let header = Header {
        has_body: count > 0,
        ones: count,
        is_quotient: true,
        ..Header::empty(front.stored.len(), front.dims, !front.centre.is_empty(), false)
    };
    if parts.words() > MAX_BYTES / 8 {
        return Err(too_large(parts.words().saturating_mul(8)));
    }
    let mut image = allocate(header.image_words(params));
    format::write_front(&mut image, &header, front.stored, front.centre);
    if count > 0 {
        body::write(&layout, &parts, &mut image[header.body_start()..], members);
    }
    Ok(image)
}

/// Writes a filter of the members with these records, which must be in order.
pub fn write_records<M>(params: &Params, front: Front, records: &[u8], allocate: impl FnOnce(usize) -> M) -> Result<M>
where
    M: DerefMut<Target = [u64]>,
{
    let size = Fingerprint::record_bytes(&layout(params, front.dims)?);
    let members = records.chunks_exact(size).map(Fingerprint::of_record);
    write(params, front, (records.len() / size) as u64, members, allocate)
}

/// The error for a filter with too many members.
pub fn too_large(bytes: u64) -> Error {
    Error::too_large(format!("filter of {bytes} bytes exceeds the limit of {MAX_BYTES}"))
        .with_hint("Use fewer bits, or several filters.")
}

/// Two lists of members in order, merged.
pub struct Merged<A: Iterator, B: Iterator> {
    a: Peekable<A>,
    b: Peekable<B>,
}

/// Merges two lists of members in order.
pub fn merge<A, B>(a: A, b: B) -> Merged<A, B>
where
    A: Iterator<Item = Fingerprint>,
    B: Iterator<Item = Fingerprint>,
{
    Merged { a: a.peekable(), b: b.peekable() }
}

impl<A, B> Iterator for Merged<A, B>
where
    A: Iterator<Item = Fingerprint>,
    B: Iterator<Item = Fingerprint>,
{
    type Item = Fingerprint;

    fn next(&mut self) -> Option<Fingerprint> {
        match (self.a.peek(), self.b.peek()) {
            (Some(a), Some(b)) if b < a => self.b.next(),
            (Some(_), _) => self.a.next(),
            _ => self.b.next(),
        }
    }
}

/// The members of `a` without one of each of the members of `b`.
fn without<'a>(
    a: impl Iterator<Item = Fingerprint> + 'a,
    b: impl Iterator<Item = Fingerprint> + 'a,
) -> impl Iterator<Item = Fingerprint> + 'a {
    let mut b = b.peekable();
    a.filter(move |member| {
        while b.next_if(|other| other < member).is_some() {}
        b.next_if_eq(member).is_none()
    })
}

/// The number of members that two filters with the same parameters have in common.
pub fn common(a: &View, b: &View) -> Result<u64> {
    let params = format::decode_params(a.stored())?;
    a.check(&params)?;
    b.check(&params)?;
    let layout = layout(&params, a.header.dims)?;
    let (mut a, mut b) = (members(&layout, a).peekable(), members(&layout, b).peekable());
    let mut common = 0;
    while let (Some(x), Some(y)) = (a.peek(), b.peek()) {
        let order = x.cmp(y);
        common += u64::from(order == Ordering::Equal);
        if order != Ordering::Greater {
            a.next();
        }
        if order != Ordering::Less {
            b.next();
        }
    }
    Ok(common)
}

/// A filter with one more member.
pub fn add<M>(
    params: &Params,
    front: Front,
    filter: &View,
    member: Fingerprint,
    allocate: impl FnOnce(usize) -> M,
) -> Result<M>
where
    M: DerefMut<Target = [u64]>,
{
    let layout = layout(params, front.dims)?;
    let all = merge(members(&layout, filter), std::iter::once(member));
    write(params, front, filter.header.ones + 1, all, allocate)
}

/// A filter without one of the members with this fingerprint; `None` if there is none.
pub fn remove<M>(
    params: &Params,
    front: Front,
    filter: &View,
    member: Fingerprint,
    allocate: impl FnOnce(usize) -> M,
) -> Result<Option<M>>
where
    M: DerefMut<Target = [u64]>,
{
    let layout = layout(params, front.dims)?;
    if !members(&layout, filter).any(|other| other == member) {
        return Ok(None);
    }
    let left = without(members(&layout, filter), std::iter::once(member));
    write(params, front, filter.header.ones - 1, left, allocate).map(Some)
}

/// The union of two filters with the same parameters, both of which have members: every member as often as in both together.
pub fn union<M>(params: &Params, a: &View, b: &View, allocate: impl FnOnce(usize) -> M) -> Result<Outcome<M>>
where
    M: DerefMut<Target = [u64]>,
{
    let layout = layout(params, a.header.dims)?;
    let centre = a.centre()?;
    let front = Front { stored: a.stored(), dims: a.header.dims, centre: &centre };
    let count = a.header.ones.saturating_add(b.header.ones);
    let all = merge(members(&layout, a), members(&layout, b));
    write(params, front, count, all, allocate).map(Outcome::New)
}

/// Checks the members of a filter whose length is right: they are in order, and the directory and all padding are as they
/// would be written.
pub fn check(params: &Params, filter: &View) -> std::result::Result<(), &'static str> {
    let Ok(layout) = layout(params, filter.header.dims) else { return Err("it is not a quotient filter") };
    let count = filter.header.ones;
    if !members(&layout, filter).is_sorted() {
        return Err("its members are not in order");
    }
    let body = &filter.words[filter.header.body_start()..];
    body::check(&Parts::new(&layout, count), body)
}
