//! lsbf_design and lsbf_design_for: filters chosen for what is wanted, best first.

use super::call::{self, Call, float8, int8, pg_function};
use super::construct::{centre, metric, prototype, symbols};
use super::error::notice;
use super::guard::check_for_interrupts;
use super::rows::Rows;
use super::sampling;
use super::source::Source;
use super::types;
use crate::error::{Error, Result};
use crate::filter::params::{Metric, shown};
use crate::limits::MAX_BYTES;
use crate::memory;
use crate::theory::choose::{self, Choice, Choices, Prefer, Wish};
use crate::theory::design::Spec;
use crate::theory::explain::rounded;
use crate::theory::sample::{self, Study};
use pgrx::pg_sys::{self, Datum, Oid};

fn prefer(call: &Call, n: usize) -> Result<Prefer> {
    call.text(n).map_or(Ok(Prefer::default()), Prefer::parse)
}

/// The columns of type lsbf_choice.
const COLUMNS: [Oid; 15] = {
    use pg_sys::{FLOAT8OID, INT4OID, INT8OID, TEXTOID};
    [
        types::LSBF,
        FLOAT8OID,
        FLOAT8OID,
        FLOAT8OID,
        FLOAT8OID,
        FLOAT8OID,
        TEXTOID,
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
    let number = |value: u32| Some(call::int4(value));
    [
        Some(prototype(p, dims, centre)),
        Some(float8(choice.bytes)),
        Some(float8(choice.fpr)),
        Some(float8(choice.fnr)),
        Some(float8(choice.strangers)),
        Some(float8(choice.cost)),
        Some(call::text(p.family.name())),
        number(p.tables),
        number(p.hashes),
        if p.family.is_polytope() { number(p.polytope()) } else { None },
        number(p.probes()),
        number(p.votes),
        Some(float8(p.near)),
        Some(float8(p.far)),
        Some(int8(p.capacity)),
    ]
}

fn answer(call: &Call, choices: &Choices, dims: u32, centre: &[f32]) -> Result<Datum> {
    if choices.list.is_empty() {
        return Err(Error::too_large(format!("no filter of at most {MAX_BYTES} bytes serves this purpose"))
            .with_hint("Lower capacity: several filters can be asked in place of one."));
    }
    let mut rows = Rows::new(call, &COLUMNS)?;
    choices.list.iter().for_each(|choice| rows.put(&columns(choice, dims, centre)));
    Ok(call.null())
}

/// Tells when what was wanted cannot be had.
fn tell(choices: &Choices, wish: &Wish, why: Option<String>) {
    if choices.reached && why.is_none() {
        return;
    }
    let message = match choices.list.first() {
        None => return,
        _ if choices.reached => why.clone().unwrap_or_default(),
        Some(best) => format!(
            "the wanted rates cannot be reached: the best filter misses {} of the vectors at {} and lets {} of those at {} pass",
            percent(best.fnr),
            shown(wish.near),
            percent(best.fpr),
            rounded(wish.far)
        ),
    };
    let hint = match (choices.reached, why) {
        (true, _) => None,
        (false, None) => Some("Raise fpr, fnr or far, or lower near.".to_string()),
        (false, Some(why)) => Some(format!("Raise fpr, fnr or far, or lower near: {why}.")),
    };
    notice(&message, hint.as_deref());
}

fn percent(rate: f64) -> String {
    if rate >= 0.001 { format!("{:.1} %", rate * 100.0) } else { format!("{:.4} %", rate * 100.0) }
}

/// lsbf_design(metric, near, capacity, dims, far, fpr, fnr, prefer, length, centre, alphabet, seed).
fn design(call: &Call) -> Result<Datum> {
    let metric = metric(call, 0)?;
    let dims = call.int4(3);
    let spec = Spec {
        near: call.float8(1),
        capacity: call.int8(2),
        dims,
        far: call.float8(4),
        length: call.float8(8),
        centre: centre(call, 9)?,
        symbols: symbols(call, 10)?,
        seed: call.int8(11).unwrap_or(0),
        ..Spec::default()
    };
    let dims = choose::check(metric, &spec)?;
    let wish = Wish {
        fpr: call.float8(5),
        fnr: call.float8(6),
        prefer: prefer(call, 7)?,
        ..choose::wish(metric, &spec, dims)?
    };
    let choices = choose::choices(metric, &spec, &wish, None)?;
    tell(&choices, &wish, None);
    if metric == Metric::L2 && spec.length.is_none() {
        notice(
            "other members are taken to be far away",
            Some("Where vectors have about one length, give length, or let lsbf_design_for look at the table."),
        );
    }
    answer(call, &choices, dims, &wish.centre)
}
pg_function!(lsbf_design -> types::ROW, design);

/// lsbf_design_for(relation, attribute, near, metric, far, fpr, fnr, prefer, capacity, sample, alphabet, seed).
fn design_for(call: &Call) -> Result<Datum> {
    let near = call.float8(2).ok_or_else(Error::no_near)?;
    let symbols = symbols(call, 10)?;
    let seed = call.int8(11).unwrap_or(0);
    let source = Source::find(call, 0, 1)?;
    let metric = match call.text(3) {
        Some(name) => Metric::parse(name)?,
        None => source.metric(symbols)?,
    };
    let spec = Spec {
        near: Some(near),
        far: call.float8(4),
        capacity: Some(call.int8(8).unwrap_or(1)),
        symbols,
        seed,
        ..Spec::default()
    };
    // Bad numbers are refused before a table is read.
    choose::check(metric, &spec)?;
    let wish =
        Wish { fpr: call.float8(5), fnr: call.float8(6), prefer: prefer(call, 7)?, ..choose::wish(metric, &spec, 0)? };
    choose::check_rates(&wish)?;
    let taken = sampling::sample(&source, metric, symbols, call.int4(9), seed as u64)?;
    memory::check_room(taken.work)?;
    let far = match (spec.far, metric) {
        (None, Metric::Hamming | Metric::Jaccard) => {
            choose::default_far(metric, near, sample::typical(metric, &taken.rows))
        }
        _ => wish.far,
    };
    let wish = Wish { far, ..wish };
    let mut study = sample::study(metric, &taken.rows, taken.population, near, wish.far, || {
        check_for_interrupts();
    });
    let dims = taken.rows.dims() as u32;
    let capacity = call.int8(8).map_or(taken.population.ceil().max(1.0) as u64, |given| given as u64);
    // Where many rows are where the centre is, directions from there tell nothing.
    let as_length = match metric {
        Metric::Cosine => (2.0 * near).sqrt(),
        Metric::Hamming => near.sqrt(),
        _ => near,
    };
    let is_spread = study.is_spread(as_length);
    if metric == Metric::Cosine && !is_spread {
        study.without_centre();
    }
    let why = warning(&study, taken.rows.len(), &wish);
    let wish = Wish {
        capacity,
        dims,
        // Bit strings are hashed by their directions whatever their lengths: sampled bits tell less.
        directions: match metric {
            Metric::Cosine => true,
            Metric::Hamming => !symbols && is_spread,
            _ => study.one_length && is_spread,
        },
        centre: study.centre,
        cases: study.cases,
        ..wish
    };
    let choices = choose::choices(metric, &spec, &wish, Some(&taken.rows))?;
    tell(&choices, &wish, why);
    let centre = wish.centre;
    drop((taken, wish.cases));
    memory::give_back();
    answer(call, &choices, dims, &centre)
}
pg_function!(lsbf_design_for -> types::ROW, design_for);

/// What makes the rates doubtful, in plain words.
fn warning(study: &Study, rows: usize, wish: &Wish) -> Option<String> {
    const FEW: usize = 200;
    const MOST: f64 = 0.5;
    const MANY: f64 = 0.02;
    // Rows with a few copies each are not many within far of each other.
    let many = study.pairs_within_far > MANY;
    if many && study.within_near > MOST {
        return Some(format!(
            "near {} is too large for this table: {} of its rows have another row within near, and two rows are {} apart as a rule",
            shown(wish.near),
            percent(study.within_near),
            rounded(study.median)
        ));
    }
    if many && study.within_far > MOST {
        return Some(format!(
            "{} of the rows have another row within far {}, and two rows are {} apart as a rule: most rows will pass",
            percent(study.within_far),
            shown(wish.far),
            rounded(study.median)
        ));
    }
    (rows < FEW).then(|| format!("only {rows} rows to learn from: the rates are guesses"))
}
