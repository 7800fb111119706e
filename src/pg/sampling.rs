//! Rows of a table, taken at random with the rights of the caller, in bounded memory.

use super::input::of_type;
use crate::error::{Code, Error, Result};
use crate::filter::params::{Kind, Metric, Params};
use crate::hash::rng::Stream;
use crate::theory::design::{Spec, parameters};
use crate::theory::sample::Rows;
use crate::vector::Vector;
use pgrx::PgMemoryContexts;
use pgrx::pg_sys::{self, Datum, Oid};
use std::ffi::{CStr, CString};

/// Rows taken where nothing is said, and at most.
const SAMPLE: i64 = 20_000;
const MOST_ROWS: i64 = 1_000_000;
/// Bytes that the rows taken may have together.
const MOST_BYTES: usize = 32 << 20;
/// Rows that are taken however long they are.
const LEAST_ROWS: usize = 10;
/// Of larger tables only so many bytes are read, in pages chosen at random.
const MOST_READ: i64 = 256 << 20;
/// Rows fetched at once, and about how many bytes.
const BATCH: usize = 256;
const BATCH_BYTES: usize = 4 << 20;

/// A column of a table.
pub struct Source {
    /// The column as an expression, the type it has, and what it is taken from.
    relation: Oid,
    column: String,
    expression: String,
    type_: Oid,
    from: String,
    name: String,
}

/// What was taken, and how many rows there are.
pub struct Taken {
    pub rows: Rows,
    pub population: f64,
    /// Bytes that studying them takes, about.
    pub work: usize,
}

fn owned(name: *const std::ffi::c_char) -> String {
    // SAFETY: PostgreSQL's names are C strings.
    unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned()
}

fn c_string(text: &str) -> Result<CString> {
    CString::new(text).map_err(|_| Error::parameter("a name must not contain a zero byte"))
}

impl Source {
    pub fn find(relation: Datum, attribute: &str) -> Result<Source> {
        let relation = Oid::from(relation.value() as u32);
        let column = c_string(attribute)?;
        // SAFETY: plain catalog lookups by number and name.
        unsafe {
            let name = pg_sys::get_rel_name(relation);
            if name.is_null() {
                return Err(Error::new(Code::NoTable, format!("relation {} does not exist", relation.to_u32())));
            }
            let schema = pg_sys::get_namespace_name(pg_sys::get_rel_namespace(relation));
            let from = owned(pg_sys::quote_qualified_identifier(schema, name));
            let number = pg_sys::get_attnum(relation, column.as_ptr());
            if number == pg_sys::InvalidAttrNumber as i16 {
                return Err(Error::new(Code::NoColumn, format!("relation {from} has no column \"{attribute}\"")));
            }
            let given = pg_sys::getBaseType(pg_sys::get_atttype(relation, number));
            let quoted = owned(pg_sys::quote_identifier(column.as_ptr()));
            // Vectors of other types, as pgvector's, are read as arrays.
            let (expression, type_) = match given {
                given if READ.contains(&given) => (quoted.clone(), given),
                pg_sys::NUMERICARRAYOID => (format!("{quoted}::pg_catalog.float8[]"), pg_sys::FLOAT8ARRAYOID),
                pg_sys::VARCHAROID | pg_sys::BPCHAROID => (format!("{quoted}::pg_catalog.text"), pg_sys::TEXTOID),
                // pgvector has no cast from sparsevec to arrays, but one to vector.
                other => {
                    let by = owned(pg_sys::format_type_be_qualified(other));
                    let mut function = pg_sys::InvalidOid;
                    let explicit = pg_sys::CoercionContext::COERCION_EXPLICIT;
                    let path = pg_sys::find_coercion_pathway(pg_sys::FLOAT4ARRAYOID, other, explicit, &mut function);
                    if path == pg_sys::CoercionPathType::COERCION_PATH_NONE && !by.ends_with(".sparsevec") {
                        let type_ = owned(pg_sys::format_type_be(other));
                        return Err(Error::parameter(format!("{from}.{attribute} is of type {type_}, which is no vector"))
                            .with_hint("Vectors are real[], double precision[], bit, bytea, pgvector's types, and sets: integer[], text[], lsbf_shingles(text)."));
                    }
                    let by = by.strip_suffix(".sparsevec").map_or(String::new(), |schema| format!("::{schema}.vector"));
                    (format!("{quoted}{by}::pg_catalog.float4[]"), pg_sys::FLOAT4ARRAYOID)
                }
            };
            Ok(Source { relation, column: quoted, expression, type_, name: format!("{from}.{}", attribute), from })
        }
    }

    /// The metric that is meant where none is given.
    pub fn metric(&self, symbols: bool) -> Result<Metric> {
        match self.type_ {
            pg_sys::BITOID | pg_sys::VARBITOID | pg_sys::BYTEAOID => Ok(Metric::Hamming),
            pg_sys::INT4ARRAYOID | pg_sys::INT8ARRAYOID | pg_sys::TEXTARRAYOID if !symbols => Ok(Metric::Jaccard),
            pg_sys::FLOAT4ARRAYOID | pg_sys::FLOAT8ARRAYOID => Ok(Metric::L2),
            _ if symbols => Ok(Metric::Hamming),
            _ => Err(Error::parameter("metric must be given for a column of type text")
                .with_hint("For documents store lsbf_shingles(text), a set; strings of one length are metric => 'hamming', alphabet => 'symbols'.")),
        }
    }

    /// Takes rows at random.
    pub fn sample(&self, metric: Metric, symbols: bool, wanted: Option<i64>, seed: u64) -> Result<Taken> {
        let wanted = wanted.unwrap_or(SAMPLE);
        if !(LEAST_ROWS as i64..=MOST_ROWS).contains(&wanted) {
            return Err(Error::parameter(format!("sample must be between {LEAST_ROWS} and {MOST_ROWS}, not {wanted}")));
        }
        let spec = Spec { capacity: Some(10), near: Some(0.1), symbols, ..Spec::default() };
        let reader = parameters(Kind::Lsbf, metric, &spec)?.0;
        let mut reservoir = Reservoir {
            rows: Rows::new(metric, symbols),
            most: wanted as usize,
            bytes: 0,
            seen: 0,
            stream: Stream::new(seed, 0),
            reader,
        };
        let unreadable = || Error::data(format!("{} is of a type that cannot be read", self.name));
        let vector = |datum| of_type(datum, self.type_).unwrap_or_else(|| Err(unreadable()));
        let named = |error: Error| Error { message: format!("{} in {}", error.message, self.name), ..error };
        let share = self.read(seed, |datum| reservoir.offer(|| vector(datum)).map_err(named))?;
        if reservoir.rows.is_empty() {
            return Err(Error::data(format!("{} has no vectors to learn from", self.name))
                .with_hint("lsbf_design(metric, near, capacity) chooses without a table."));
        }
        // Copies of the rows, one in a list that doubles; questions and what is counted of them.
        const QUESTIONS: usize = 16 << 20;
        let work = 4 * reservoir.bytes + QUESTIONS;
        Ok(Taken { rows: reservoir.rows, population: reservoir.seen as f64 / share, work })
    }

    /// Calls `each` with the values of all rows, or of those on some pages; the share of the pages that were read.
    fn read(&self, seed: u64, mut each: impl FnMut(Datum) -> Result<()>) -> Result<f64> {
        let share = self.share()?;
        let sampled = match share < 1.0 {
            true => format!(" TABLESAMPLE pg_catalog.system ({}) REPEATABLE ({})", share * 100.0, seed % (1 << 31)),
            false => String::new(),
        };
        let Source { expression, column, from, .. } = self;
        let query = c_string(&format!("SELECT {expression} FROM {from}{sampled} WHERE {column} IS NOT NULL"))?;
        let mut result = Ok(());
        // What a batch needs is given back after each.
        let mut memory = PgMemoryContexts::new("lsbf_design_for");
        // SAFETY: the calls are those of any function that reads through a cursor; values are used before their batch goes.
        unsafe {
            connect()?;
            let portal = pg_sys::SPI_cursor_open_with_args(
                std::ptr::null(),
                query.as_ptr(),
                0,
                std::ptr::null_mut(),
                std::ptr::null_mut(),
                std::ptr::null(),
                true,
                0,
            );
            // Values that are computed may be large, whatever of them is kept.
            let mut batch = 1;
            loop {
                pgrx::check_for_interrupts!();
                pg_sys::SPI_cursor_fetch(portal, true, batch);
                let (count, table) = (pg_sys::SPI_processed as usize, pg_sys::SPI_tuptable);
                let bytes: usize = (0..count).map(|i| (*(*(*table).vals.add(i))).t_len as usize).sum();
                batch = (BATCH_BYTES / (bytes / count.max(1)).max(1)).clamp(1, 2 * count.max(1)).min(BATCH) as _;
                memory.switch_to(|_| {
                    for i in 0..count {
                        let mut is_null = false;
                        let datum = pg_sys::SPI_getbinval(*(*table).vals.add(i), (*table).tupdesc, 1, &mut is_null);
                        if !is_null && result.is_ok() {
                            result = each(datum);
                        }
                    }
                });
                memory.reset();
                pg_sys::SPI_freetuptable(table);
                if count == 0 || result.is_err() {
                    break;
                }
            }
            pg_sys::SPI_cursor_close(portal);
            pg_sys::SPI_finish();
        }
        result.map(|()| share)
    }

    /// The share of a table's pages that is read.
    fn share(&self) -> Result<f64> {
        // SAFETY: a plain catalog lookup.
        let kind = unsafe { pg_sys::get_rel_relkind(self.relation) } as u8;
        if !matches!(kind, pg_sys::RELKIND_RELATION | pg_sys::RELKIND_MATVIEW | pg_sys::RELKIND_PARTITIONED_TABLE) {
            return Ok(1.0);
        }
        // With all partitions; foreign ones have no pages that could be sampled.
        let number = self.relation.to_u32();
        let query = c_string(&format!(
            "WITH RECURSIVE parts (part) AS (SELECT pg_catalog.int8 '{number}'::pg_catalog.oid UNION ALL
               SELECT inhrelid FROM pg_catalog.pg_inherits, parts WHERE inhparent OPERATOR(pg_catalog.=) part)
             SELECT CASE WHEN pg_catalog.bool_or(relkind OPERATOR(pg_catalog.=) 'f') THEN 0
               ELSE pg_catalog.sum(pg_catalog.pg_relation_size(part::pg_catalog.regclass)) END::pg_catalog.int8
             FROM parts, pg_catalog.pg_class WHERE oid OPERATOR(pg_catalog.=) part"
        ))?;
        // SAFETY: as above; the result is one number, or none.
        let size = unsafe {
            connect()?;
            pg_sys::SPI_execute(query.as_ptr(), true, 1);
            let mut is_null = true;
            let size = match pg_sys::SPI_processed {
                0 => Datum::null(),
                _ => pg_sys::SPI_getbinval(
                    *(*pg_sys::SPI_tuptable).vals,
                    (*pg_sys::SPI_tuptable).tupdesc,
                    1,
                    &mut is_null,
                ),
            };
            pg_sys::SPI_finish();
            if is_null { 0 } else { size.value() as i64 }
        };
        Ok(if size > MOST_READ { MOST_READ as f64 / size as f64 } else { 1.0 })
    }
}

/// Types that are read as they are.
const READ: [Oid; 9] = [
    pg_sys::FLOAT4ARRAYOID,
    pg_sys::FLOAT8ARRAYOID,
    pg_sys::INT4ARRAYOID,
    pg_sys::INT8ARRAYOID,
    pg_sys::TEXTARRAYOID,
    pg_sys::BITOID,
    pg_sys::VARBITOID,
    pg_sys::BYTEAOID,
    pg_sys::TEXTOID,
];

fn connect() -> Result<()> {
    // SAFETY: every connection is finished before its function returns; an error finishes all.
    match unsafe { pg_sys::SPI_connect() } {
        code if code == pg_sys::SPI_OK_CONNECT as i32 => Ok(()),
        code => Err(Error::data(format!("SPI_connect failed: {code}"))),
    }
}

/// A sample of rows that are seen one by one: each is kept with the same chance (Vitter's algorithm R).
struct Reservoir {
    rows: Rows,
    most: usize,
    bytes: usize,
    seen: u64,
    stream: Stream,
    reader: Params,
}

impl Reservoir {
    /// Looks at a row only where it is to be kept: those that are not need not be fetched.
    fn offer<'a>(&mut self, row: impl FnOnce() -> Result<Vector<'a>>) -> Result<()> {
        self.seen += 1;
        let at = match self.rows.len() < self.most {
            true => None,
            false => Some(self.stream.below(self.seen) as usize).filter(|&at| at < self.most),
        };
        if at.is_none() && self.rows.len() >= self.most {
            return Ok(());
        }
        let vector = row()?;
        let bytes = Rows::row_bytes(&vector);
        // Empty sets, which documents without words are, have no distance: they are passed over.
        if bytes == 0 && self.reader.metric == Metric::Jaccard {
            self.seen -= 1;
            return Ok(());
        }
        let freed = at.map_or(0, |at| self.rows.bytes_of(at));
        if self.bytes + bytes > MOST_BYTES + freed && self.rows.len() >= LEAST_ROWS {
            // There is no room for more, nor for a longer one.
            self.most = self.rows.len();
            return Ok(());
        }
        self.bytes = self.bytes + bytes - freed;
        self.rows.put(&self.reader, &vector, at)
    }
}
