//! Functions that describe a filter: kind, members, error rates, parameters.

use crate::boundary::call::{self, Call, float8, int8, pg_function};
use crate::boundary::guard::check_for_interrupts;
use crate::boundary::rows::{Rows, row};
use crate::boundary::signature;
use crate::boundary::toast::truncated;
use crate::cache::filters;
use crate::types::new::prototype;
use lsbf::error::{Error, Result};
use lsbf::filter::change::check_alike;
use lsbf::filter::format;
use lsbf::filter::{ilbf, lsqf, probing, sketch};
use lsbf::hash::agreement::Reach;
use lsbf::params::{Family, Kind, Layout, check_theta, shown};
use lsbf::rates::explain::explain;
use lsbf::rates::{Acceptance, Facts, bloom, false_negatives, false_positives, rejection, threshold};
use pgrx::pg_sys::{self, Datum, Oid};

/// The facts that rates are computed from. The bits of the filter are read only if the header is insufficient.
fn facts(call: &Call, n: usize) -> Result<Facts> {
    let datum = call.required_filter(n);
    let (front, words) = filters::front(datum)?;
    Facts::of_front(&front, words, |params| {
        let whole = filters::whole(datum)?;
        match whole.words.len() == whole.header.image_words(params) {
            true => Ok(whole.verify_ones(params)),
            false => Err(truncated()),
        }
    })
}

fn theta(call: &Call, n: usize, facts: &Facts) -> Result<f64> {
    let theta = call.float8(n).unwrap_or(1.0);
    check_theta(theta)?;
    match Layout::of(&facts.params, facts.dims) {
        Some(layout) => lsqf::check_theta(&layout, facts.params.metric, theta)?,
        None if facts.params.family.has_blocks() => {
            probing::check_theta(&Reach::of(&facts.params, facts.dims), theta)?;
        }
        None => ilbf::check_theta(&facts.params, theta)?,
    }
    Ok(theta)
}

pg_function!("lsbf_kind" -> pg_sys::TEXTOID, |call| {
    let (front, _) = filters::front(call.required_filter(0))?;
    Ok(call::text(format::decode_params(front.stored())?.kind.name()))
});
// The filter without its members, as a prototype.
pg_function!("lsbf_empty" -> signature::LSBF, |call| {
    let (front, _) = filters::front(call.required_filter(0))?;
    let params = format::decode_params(front.stored())?;
    Ok(prototype(&params, front.header.dims, &front.centre()?))
});
pg_function!("lsbf_members" -> pg_sys::INT8OID, |call| {
    let (front, _) = filters::front(call.required_filter(0))?;
    Ok(int8(front.members()?))
});
pg_function!("lsbf_fpr" -> pg_sys::FLOAT8OID, |call| {
    let facts = facts(call, 0)?;
    Ok(float8(false_positives(&facts, theta(call, 1, &facts)?)))
});
pg_function!("lsbf_fnr" -> pg_sys::FLOAT8OID, |call| {
    let distance = call.float8(1).unwrap_or(f64::NAN);
    if distance.is_nan() || distance < 0.0 {
        return Err(Error::parameter(format!("distance must be at least 0, not {}", shown(distance))));
    }
    let facts = facts(call, 0)?;
    Ok(float8(rejection(&facts, distance, theta(call, 2, &facts)?)))
});

pg_function!("lsbf_explain" -> pg_sys::TEXTOID, |call| Ok(call::text(&explain(&facts(call, 0)?))));

/// lsbf_curve: the predicted fraction of rows that pass, by the distance of their nearest member.
fn curve(call: &Call) -> Result<Datum> {
    const MAX_POINTS: i64 = 10_000;
    let mut rows = Rows::new(call, &[pg_sys::FLOAT8OID; 2])?;
    // The function is not strict, because only `upto` may be NULL.
    let (Some(_), Some(_), Some(points)) = (call.filter(0), call.float8(1), call.int4(3)) else {
        return Ok(Datum::null());
    };
    let facts = facts(call, 0)?;
    let (theta, largest) = (theta(call, 1, &facts)?, facts.params.metric.largest());
    let upto = call.float8(2).unwrap_or((2.0 * theta * facts.params.far).min(largest));
    if !(upto > 0.0 && upto <= f64::MAX) {
        return Err(Error::parameter(format!("upto must be a finite distance greater than 0, not {}", shown(upto))));
    }
    if !(1..=MAX_POINTS).contains(&points) {
        return Err(Error::parameter(format!("points must be between 1 and {MAX_POINTS}, not {points}")));
    }
    let acceptance = Acceptance::new(&facts, theta);
    for point in 0..=points {
        check_for_interrupts();
        let distance = upto * (point as f64 / points as f64);
        let passed = acceptance.at(distance.min(largest));
        rows.put(&[Some(float8(distance)), Some(float8(passed))]);
    }
    Ok(Datum::null())
}
pg_function!("lsbf_curve" -> signature::ROW, curve);

// Computed from the members of quotient filters, and from the member sketches of others: by the bits, members of two filters
// that are near each other would count as common.
pg_function!("lsbf_overlap" -> pg_sys::FLOAT8OID, |call| {
    let (first, second) = (call.required_filter(0), call.required_filter(1));
    let ((a, _), (b, _)) = (filters::front(first)?, filters::front(second)?);
    check_alike(&a, &b)?;
    if !a.header.has_body || !b.header.has_body {
        return Ok(float8(0.0));
    }
    if a.header.is_quotient {
        let (a, b) = (filters::whole(first)?, filters::whole(second)?);
        let common = lsqf::change::common(&a, &b)? as f64;
        let (a, b) = (a.header.ones as f64, b.header.ones as f64);
        return Ok(float8(bloom::overlap(a, b, a + b - common)));
    }
    let (a, b) = (a.sketch()?, b.sketch()?);
    let mut union = a;
    sketch::merge(&mut union, &b);
    let [a, b, union] = [a, b, union].map(|sketch| sketch::estimate(&sketch) as f64);
    Ok(float8(bloom::overlap(a, b, union)))
});

/// The columns of lsbf_info.
const INFO: [Oid; 34] = {
    use pg_sys::{BOOLOID, FLOAT8OID, INT4OID, INT8OID, TEXTOID};
    [
        TEXTOID, TEXTOID, TEXTOID, INT4OID, INT8OID, FLOAT8OID, FLOAT8OID, FLOAT8OID, INT4OID, INT4OID, INT8OID,
        INT8OID, INT4OID, INT4OID, BOOLOID, INT8OID, INT4OID, BOOLOID, INT4OID, INT8OID, INT8OID, INT8OID, FLOAT8OID,
        INT8OID, FLOAT8OID, FLOAT8OID, TEXTOID, INT4OID, INT4OID, FLOAT8OID, BOOLOID, INT4OID, INT4OID, FLOAT8OID,
    ]
};

/// lsbf_info: all parameters and statistics in one row.
fn info(call: &Call) -> Result<Datum> {
    let facts = facts(call, 0)?;
    let (p, acceptance) = (&facts.params, Acceptance::new(&facts, 1.0));
    let some = |applies: bool, datum: Datum| applies.then_some(datum);
    let (is_lsbf, is_ilbf, is_any) = (p.kind == Kind::Lsbf, p.kind == Kind::Ilbf, p.kind == Kind::Probing);
    let layout = Layout::of(p, facts.dims);
    let reach = p.family.has_blocks().then(|| Reach::of(p, facts.dims));
    // Some of the layout depends on the dimensions.
    let (is_bits, known) = (layout.is_none(), layout.filter(|_| facts.dims > 0));
    let values: Vec<Option<Datum>> = vec![
        Some(call::text(p.kind.name())),
        Some(call::text(p.metric.name())),
        Some(call::text(p.family.name())),
        some(facts.dims != 0 && p.family != Family::MinHash, call::int4(facts.dims)),
        some(is_bits, int8(p.capacity)),
        Some(float8(p.near)),
        Some(float8(p.far)),
        some(p.family.has_width(), float8(p.width)),
        some(is_bits, call::int4(p.tables)),
        some(is_bits, call::int4(p.hashes)),
        Some(int8(p.bits)),
        some(is_lsbf, int8(p.verify_bits)),
        some(is_ilbf || is_any || p.verify_bits > 0, call::int4(p.bloom_hashes)),
        some(is_lsbf, call::int4(p.overflow)),
        some(is_lsbf, call::boolean(p.robust)),
        some(is_ilbf, int8(u64::from(p.blooms))),
        some(is_ilbf, call::int4(p.slots)),
        some(is_ilbf, call::boolean(p.aligned)),
        threshold(&facts).filter(|_| is_bits).map(call::int4),
        Some(Datum::from(p.seed as i64)),
        Some(int8(facts.members)),
        some(is_bits, int8(facts.ones)),
        some(is_bits, float8(facts.fill)),
        Some(int8(facts.bytes as u64)),
        some(facts.ones > 0, float8(acceptance.at(p.far))),
        some(facts.ones > 0, float8(false_negatives(&facts, 1.0))),
        some(is_lsbf || is_any, call::text(if is_any { "any" } else { "all" })),
        some(is_any, call::int4(p.probes())),
        some(p.family.has_blocks(), call::int4(p.blocks())),
        some(!is_bits && p.width > 0.0, float8(p.width)),
        some(!is_bits, call::boolean(p.centre() != 0)),
        known.map(|layout| call::int4(layout.coordinates)),
        layout.map(|layout| call::int4(layout.cell_bits)),
        known.map(|layout| layout.max_theta(p.metric)).or(reach.map(|reach| reach.max_theta)).map(float8),
    ];
    row(call, &INFO, &values)
}
pg_function!("lsbf_info" -> signature::ROW, info);
