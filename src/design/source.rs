//! A column of a relation, read as its caller would read it: with the caller's rights, through views and policies.
//!
//! The relation is locked before anything is looked up, so that what was found stays true. It is then read by a query,
//! where names are all there is to go by, and names can come to mean something else at any time. So the plan is checked to
//! read the relation that was locked, and every batch of rows to be of the type they are read as.

use crate::boundary::call::Call;
use crate::boundary::context::Context;
use crate::boundary::guard::check_for_interrupts;
use crate::boundary::signature::{self, name};
use crate::boundary::varlena::bytes;
use crate::vector::arrays::of_type;
use lsbf::design::reservoir::Reservoir;
use lsbf::error::{Code, Error, Result};
use lsbf::params::Metric;
use lsbf::vector::Vector;
use pgrx::pg_sys::{self, Datum, Oid};
use std::ffi::{CStr, CString, c_char};

/// Of larger tables only so many bytes are read, in pages chosen at random.
const MOST_READ: i64 = 256 << 20;
/// Rows fetched at once, and about how many bytes.
const BATCH: usize = 256;
const BATCH_BYTES: usize = 4 << 20;

/// Types that are read as they are, and their names. As these are qualified, `bit` does not mean `bit(1)`.
const READ: [(Oid, &CStr); 9] = [
    (pg_sys::FLOAT4ARRAYOID, c"pg_catalog.float4[]"),
    (pg_sys::FLOAT8ARRAYOID, c"pg_catalog.float8[]"),
    (pg_sys::INT4ARRAYOID, c"pg_catalog.int4[]"),
    (pg_sys::INT8ARRAYOID, c"pg_catalog.int8[]"),
    (pg_sys::TEXTARRAYOID, c"pg_catalog.text[]"),
    (pg_sys::BITOID, c"pg_catalog.bit"),
    (pg_sys::VARBITOID, c"pg_catalog.varbit"),
    (pg_sys::BYTEAOID, c"pg_catalog.bytea"),
    (pg_sys::TEXTOID, c"pg_catalog.text"),
];

/// A relation that is open. It stays locked until the transaction ends.
struct Open(pg_sys::Relation);

impl Drop for Open {
    fn drop(&mut self) {
        // SAFETY: it was opened by us.
        unsafe { pg_sys::relation_close(self.0, pg_sys::NoLock as i32) };
    }
}

/// A column of a relation. Names are in the database's encoding, quoted.
pub struct Source {
    relation: Oid,
    _open: Open,
    from: CString,
    column: CString,
    /// What the column is cast to, and the type that has.
    cast: CString,
    type_: Oid,
    /// What it is called in messages.
    label: String,
}

impl Source {
    /// The column that two arguments of a call name: a regclass and a text.
    pub fn find(call: &Call, relation: usize, attribute: usize) -> Result<Source> {
        let missing = |name: &str| Error::parameter(format!("{name} must not be null"));
        let relation = call.arg(relation, &[pg_sys::REGCLASSOID]).ok_or_else(|| missing("relation"))?;
        let attribute = call.arg(attribute, &[pg_sys::TEXTOID]).ok_or_else(|| missing("attribute"))?;
        let attribute = c_string(bytes(attribute))?;
        Source::locked(Oid::from(relation.value() as u32), &attribute)
    }

    fn locked(relation: Oid, attribute: &CStr) -> Result<Source> {
        // SAFETY: lookups by number and name, of a relation that cannot change any more once it is open.
        unsafe {
            let opened = pg_sys::try_relation_open(relation, pg_sys::AccessShareLock as i32);
            if opened.is_null() {
                return Err(Error::new(Code::NoTable, format!("relation {} does not exist", relation.to_u32())));
            }
            let open = Open(opened);
            let schema = pg_sys::get_namespace_name(pg_sys::get_rel_namespace(relation));
            let from = owned(pg_sys::quote_qualified_identifier(schema, pg_sys::get_rel_name(relation)));
            let number = pg_sys::get_attnum(relation, attribute.as_ptr());
            if number == pg_sys::InvalidAttrNumber as i16 {
                let message =
                    format!("relation {} has no column \"{}\"", name(from.as_ptr()), name(attribute.as_ptr()));
                return Err(Error::new(Code::NoColumn, message));
            }
            let column = owned(pg_sys::quote_identifier(attribute.as_ptr()));
            let label = format!("{}.{}", name(from.as_ptr()), name(column.as_ptr()));
            let (cast, type_) = cast(pg_sys::getBaseType(pg_sys::get_atttype(relation, number)), &label)?;
            Ok(Source { relation, _open: open, from, column, cast, type_, label })
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

    /// Offers the column's values to a sample; returns it with the estimated number of rows.
    pub fn sample(&self, mut sample: Reservoir, seed: u64) -> Result<(Reservoir, f64)> {
        let named = |error: Error| Error { message: format!("{} in {}", error.message, self.label), ..error };
        let share = self.read(seed, |datum| sample.offer(|| self.vector(datum)).map_err(named))?;
        if sample.rows.is_empty() {
            return Err(Error::data(format!("{} has no vectors to learn from", self.label))
                .with_hint("lsbf_design(metric, near, capacity) chooses without a table."));
        }
        let population = sample.offered as f64 / share;
        Ok((sample, population))
    }

    /// A value of the column.
    fn vector<'a>(&self, datum: Datum) -> Result<Vector<'a>> {
        of_type(datum, self.type_).unwrap_or_else(|| Err(self.is_other(self.type_)))
    }

    fn is_other(&self, type_: Oid) -> Error {
        // SAFETY: names a type, one that does not exist, too.
        let type_ = unsafe { name(pg_sys::format_type_be(type_)) };
        Error::new(Code::Changed, format!("{} is read as type {type_}, which was not expected", self.label))
            .with_hint("A cast was changed while the column was read: try again.")
    }

    /// Calls `each` with the values of all rows, or of those on some pages; returns the share of the pages that were read.
    fn read(&self, seed: u64, mut each: impl FnMut(Datum) -> Result<()>) -> Result<f64> {
        let share = self.share()?;
        let sampled = match share < 1.0 {
            true => format!(" TABLESAMPLE pg_catalog.system ({}) REPEATABLE ({})", share * 100.0, seed % (1 << 31)),
            false => String::new(),
        };
        let (from, column, cast) = (self.from.to_bytes(), self.column.to_bytes(), self.cast.to_bytes());
        let query =
            [b"SELECT ", column, cast, b" FROM ", from, sampled.as_bytes(), b" WHERE ", column, b" IS NOT NULL"];
        let query = c_string(&query.concat())?;
        // What a batch needs is given back after each.
        // SAFETY: the current context outlives the call.
        let memory = unsafe { Context::new(pg_sys::CurrentMemoryContext, c"lsbf_design_for") };
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
            self.check_plan(portal)?;
            // Values that are computed may be large, whatever of them is kept.
            let mut batch = 1;
            loop {
                check_for_interrupts();
                pg_sys::SPI_cursor_fetch(portal, true, batch);
                let (count, table) = (pg_sys::SPI_processed as usize, pg_sys::SPI_tuptable);
                if count == 0 {
                    break;
                }
                let rows = std::slice::from_raw_parts((*table).vals, count);
                let bytes: usize = rows.iter().map(|row| (**row).t_len as usize).sum();
                batch = (BATCH_BYTES / (bytes / count).max(1)).clamp(1, 2 * count).min(BATCH) as _;
                for &row in rows {
                    if let Some(datum) =
                        value(row, (*table).tupdesc, self.type_).map_err(|type_| self.is_other(type_))?
                    {
                        memory.with(|| each(datum))?;
                    }
                }
                memory.reset();
                pg_sys::SPI_freetuptable(table);
            }
            pg_sys::SPI_cursor_close(portal);
            pg_sys::SPI_finish();
        }
        Ok(share)
    }

    /// Checks that a plan reads the relation that was locked: between two lookups, a schema can be renamed and another one
    /// take its place.
    unsafe fn check_plan(&self, portal: pg_sys::Portal) -> Result<()> {
        // SAFETY: an open portal has its plan; lists are as long as they say.
        let first = unsafe {
            let plans = &*(*portal).stmts;
            let plan = (*plans.elements).ptr_value.cast::<pg_sys::PlannedStmt>();
            let entries = (*plan)
                .rtable
                .as_ref()
                .map_or(&[][..], |list| std::slice::from_raw_parts(list.elements, list.length as usize));
            // The relation of FROM comes first. Of a view, PostgreSQL 15 keeps its number in the entry behind it.
            let number = |cell: &pg_sys::ListCell| (*cell.ptr_value.cast::<pg_sys::RangeTblEntry>()).relid;
            entries.iter().map(number).find(|&relation| relation != pg_sys::InvalidOid)
        };
        match first == Some(self.relation) {
            true => Ok(()),
            false => {
                Err(Error::new(Code::Changed, format!("the relation of {} was replaced by another one", self.label))
                    .with_hint("A schema was renamed while it was looked up: try again."))
            }
        }
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
        let query = format!(
            "WITH RECURSIVE parts (part) AS (SELECT pg_catalog.int8 '{number}'::pg_catalog.oid UNION ALL
               SELECT inhrelid FROM pg_catalog.pg_inherits, parts WHERE inhparent OPERATOR(pg_catalog.=) part)
             SELECT CASE WHEN pg_catalog.bool_or(relkind OPERATOR(pg_catalog.=) 'f') THEN 0
               ELSE pg_catalog.sum(pg_catalog.pg_relation_size(part::pg_catalog.regclass)) END::pg_catalog.int8
             FROM parts, pg_catalog.pg_class WHERE oid OPERATOR(pg_catalog.=) part"
        );
        let query = c_string(query.as_bytes())?;
        // SAFETY: as above; the result is one number, or none.
        let size = unsafe {
            connect()?;
            pg_sys::SPI_execute(query.as_ptr(), true, 1);
            let size = match pg_sys::SPI_processed {
                0 => None,
                _ => {
                    let table = &*pg_sys::SPI_tuptable;
                    value(*table.vals, table.tupdesc, pg_sys::INT8OID).map_err(|type_| self.is_other(type_))?
                }
            };
            pg_sys::SPI_finish();
            size.map_or(0, |size| size.value() as i64)
        };
        Ok(if size > MOST_READ { MOST_READ as f64 / size as f64 } else { 1.0 })
    }
}

/// How a column of a type is read: what it is cast to, and the type that this has. Vectors of other types, as pgvector's, are
/// read as arrays.
fn cast(given: Oid, label: &str) -> Result<(CString, Oid)> {
    let type_ = match given {
        given if READ.iter().any(|(read, _)| *read == given) => given,
        pg_sys::NUMERICARRAYOID => pg_sys::FLOAT8ARRAYOID,
        pg_sys::VARCHAROID | pg_sys::BPCHAROID => pg_sys::TEXTOID,
        _ => pg_sys::FLOAT4ARRAYOID,
    };
    // pgvector has no cast from sparsevec to arrays, but one to vector.
    let is_sparse = signature::known(given) == signature::SPARSEVEC;
    // SAFETY: lookups by number.
    unsafe {
        let mut function = pg_sys::InvalidOid;
        let explicit = pg_sys::CoercionContext::COERCION_EXPLICIT;
        let path = pg_sys::find_coercion_pathway(type_, given, explicit, &mut function);
        if path == pg_sys::CoercionPathType::COERCION_PATH_NONE && !is_sparse {
            let given = name(pg_sys::format_type_be(given));
            return Err(Error::parameter(format!("{label} is of type {given}, which is not a vector type"))
                .with_hint("Vectors are real[], double precision[], bit, bytea, pgvector's types, and sets: integer[], text[], lsbf_shingles(text)."));
        }
        let by = match is_sparse {
            true => [b"::", schema_of(given).to_bytes(), b".vector"].concat(),
            false => Vec::new(),
        };
        let read = READ.iter().find(|(read, _)| *read == type_).map_or(c"", |(_, name)| *name);
        Ok((c_string(&[by.as_slice(), b"::", read.to_bytes()].concat())?, type_))
    }
}

/// The quoted name of the schema that a type is in.
unsafe fn schema_of(type_: Oid) -> CString {
    // SAFETY: the row stays pinned while it is looked at.
    unsafe {
        let row = pg_sys::SearchSysCache1(pg_sys::SysCacheIdentifier::TYPEOID as i32, Datum::from(type_));
        if row.is_null() {
            return CString::default();
        }
        let schema = (*pg_sys::GETSTRUCT(row).cast::<pg_sys::FormData_pg_type>()).typnamespace;
        pg_sys::ReleaseSysCache(row);
        owned(pg_sys::quote_identifier(pg_sys::get_namespace_name(schema)))
    }
}

/// The first column of a row, unless it is NULL; its type where that is not the one expected.
unsafe fn value(
    row: pg_sys::HeapTuple,
    descriptor: pg_sys::TupleDesc,
    expected: Oid,
) -> std::result::Result<Option<Datum>, Oid> {
    // SAFETY: the row is one of the descriptor's, which has a column.
    unsafe {
        let type_ = pg_sys::SPI_gettypeid(descriptor, 1);
        if type_ != expected {
            return Err(type_);
        }
        let mut is_null = true;
        let datum = pg_sys::SPI_getbinval(row, descriptor, 1, &mut is_null);
        Ok((!is_null).then_some(datum))
    }
}

/// A copy of a name of PostgreSQL's; empty where there is none.
unsafe fn owned(name: *const c_char) -> CString {
    // SAFETY: PostgreSQL's names are C strings.
    if name.is_null() { CString::default() } else { unsafe { CStr::from_ptr(name) }.to_owned() }
}

fn c_string(bytes: &[u8]) -> Result<CString> {
    CString::new(bytes).map_err(|_| Error::parameter("a name must not contain a zero byte"))
}

fn connect() -> Result<()> {
    // SAFETY: every connection is finished before its function returns; an error finishes all.
    match unsafe { pg_sys::SPI_connect() } {
        code if code == pg_sys::SPI_OK_CONNECT as i32 => Ok(()),
        code => Err(Error::data(format!("SPI_connect failed: {code}"))),
    }
}
