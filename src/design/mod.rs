//! lsbf_design and lsbf_design_for: filters that meet the given requirements, best first. They are chosen by
//! [`lsbf::design::advise`].

mod source;

use crate::boundary::call::{self, Call, float8, int8, pg_function};
use crate::boundary::error::notice;
use crate::boundary::rows::Rows;
use crate::boundary::signature;
use crate::types::new::{centre, metric, prototype, symbols};
use lsbf::design::Options;
use lsbf::design::advise::{self, Advice};
use lsbf::design::choose::Choice;
use lsbf::design::request::{Goals, Prefer};
use lsbf::design::reservoir::Reservoir;
use lsbf::error::{Error, Result};
use lsbf::memory;
use lsbf::params::{Kind, Metric};
use pgrx::pg_sys::{self, Datum, Oid};
use source::Source;

/// The columns of type lsbf_choice.
const COLUMNS: [Oid; 17] = {
    use pg_sys::{FLOAT8OID, INT4OID, INT8OID, TEXTOID};
    [
        signature::LSBF,
        FLOAT8OID,
        FLOAT8OID,
        FLOAT8OID,
        FLOAT8OID,
        FLOAT8OID,
        TEXTOID,
        TEXTOID,
        INT8OID,
        INT4OID,
        INT4OID,
        INT4OID,
        INT4OID,
        INT4OID,
        FLOAT8OID,
        FLOAT8OID,
        INT8OID,
    ]
};

fn columns(choice: &Choice, dims: u32, centre: &[f32]) -> [Option<Datum>; COLUMNS.len()] {
    let p = &choice.params;
    let centre = if p.centre() == 0 { &[] } else { centre };
    // Quotient filters are not divided into tables.
    let number = |value: u32| (p.kind != Kind::Lsqf).then(|| call::int4(value));
    [
        Some(prototype(p, dims, centre)),
        Some(float8(choice.bytes)),
        Some(float8(choice.fpr)),
        Some(float8(choice.fnr)),
        Some(float8(choice.unrelated)),
        Some(float8(choice.cost)),
        Some(call::text(p.kind.name())),
        Some(call::text(p.family.name())),
        Some(int8(p.bits)),
        number(p.tables),
        number(p.hashes),
        p.family.has_blocks().then(|| call::int4(p.blocks())),
        number(p.probes()),
        number(p.votes),
        Some(float8(p.near)),
        Some(float8(p.far)),
        Some(int8(choice.capacity)),
    ]
}

/// Returns the choices as rows, and sends remarks as notices.
fn report(call: &Call, advice: &Advice) -> Result<Datum> {
    let mut rows = Rows::new(call, &COLUMNS)?;
    advice.notices.iter().for_each(|remark| notice(&remark.message, remark.hint.as_deref()));
    advice.choices.iter().for_each(|choice| rows.put(&columns(choice, advice.dims, &advice.centre)));
    Ok(call.null())
}

/// Reads three arguments, beginning with the `n`-th: fpr, fnr, prefer.
fn goals(call: &Call, n: usize) -> Result<Goals> {
    let prefer = call.text(n + 2).map_or(Ok(Prefer::default()), Prefer::parse)?;
    Ok(Goals { fpr: call.float8(n), fnr: call.float8(n + 1), prefer })
}

/// lsbf_design(metric, near, capacity, dims, far, fpr, fnr, prefer, length, centre, alphabet, seed, max_theta).
fn design(call: &Call) -> Result<Datum> {
    let options = Options {
        near: call.float8(1),
        capacity: call.int8(2),
        dims: call.int4(3),
        far: call.float8(4),
        length: call.float8(8),
        centre: centre(call, 9)?,
        symbols: symbols(call, 10)?,
        seed: call.int8(11).unwrap_or(0),
        max_theta: call.float8(12),
        ..Options::default()
    };
    report(call, &advise::without_data(metric(call, 0)?, &options, &goals(call, 5)?)?)
}
pg_function!("lsbf_design" -> signature::ROW, design);

/// lsbf_design_for(relation, attribute, near, metric, far, fpr, fnr, prefer, capacity, sample, alphabet, seed, max_theta).
fn design_for(call: &Call) -> Result<Datum> {
    let options = Options {
        near: Some(call.float8(2).ok_or_else(Error::no_near)?),
        far: call.float8(4),
        capacity: call.int8(8),
        symbols: symbols(call, 10)?,
        seed: call.int8(11).unwrap_or(0),
        max_theta: call.float8(12),
        ..Options::default()
    };
    let source = Source::find(call, 0, 1)?;
    let metric = match call.text(3) {
        Some(name) => Metric::parse(name)?,
        None => source.metric(options.symbols)?,
    };
    let goals = goals(call, 5)?;
    // Reject invalid arguments before the table is read.
    advise::check(metric, &options, &goals)?;
    let sample = Reservoir::new(metric, options.symbols, call.int4(9), options.seed as u64)?;
    let (sample, population) = source.sample(sample, options.seed as u64)?;
    let advice = advise::for_sample(metric, &options, &goals, sample, population)?;
    memory::trim();
    report(call, &advice)
}
pg_function!("lsbf_design_for" -> signature::ROW, design_for);
