//! Reads a column of a relation as a query of the caller would: with the caller's privileges, through views and row
//! security policies.
//!
//! The relation is locked first, so that what is looked up about it stays valid. It is then read by a query, which
//! refers to the relation and to types by name, and a concurrent session can change what a name refers to. Therefore
//! the plan is checked to read the locked relation, and every batch of rows to have the expected type.

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

/// Maximum number of bytes that are read: larger tables are sampled, by random pages.
const MAX_READ: i64 = 256 << 20;
/// Maximum number of rows fetched at once.
const MAX_BATCH: usize = 256;
/// Approximate number of bytes fetched at once.
const BATCH_BYTES: usize = 4 << 20;

/// Types that are read without conversion, and their names. The names are qualified: unqualified, `bit` means `bit(1)`.
const NATIVE: [(Oid, &CStr); 9] = [
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

/// An open relation. It stays locked until the transaction ends.
struct Open(pg_sys::Relation);

impl Drop for Open {
    fn drop(&mut self) {
        // SAFETY: opened by `Source::locked`.
        unsafe { pg_sys::relation_close(self.0, pg_sys::NoLock as i32) };
    }
}

/// A column of a relation. Names are quoted, in the encoding of the database.
pub struct Source {
    relation: Oid,
    _open: Open,
    from: CString,
    column: CString,
    /// The casts that are applied to the column, and their result type.
    cast: CString,
    type_: Oid,
    /// The name of the column in messages.
    label: String,
}

impl Source {
    /// The column that is named by two arguments of a call, a regclass and a text.
    pub fn find(call: &Call, relation: usize, attribute: usize) -> Result<Source> {
        let missing = |name: &str| Error::parameter(format!("{name} must not be null"));
        let relation = call.arg(relation, &[pg_sys::REGCLASSOID]).ok_or_else(|| missing("relation"))?;
        let attribute = call.arg(attribute, &[pg_sys::TEXTOID]).ok_or_else(|| missing("attribute"))?;
        let attribute = c_string(bytes(attribute))?;
        Source::locked(Oid::from(relation.value() as u32), &attribute)
    }

    fn locked(relation: Oid, attribute: &CStr) -> Result<Source> {
        // SAFETY: lookups by OID and name; the relation is locked and cannot change.
        unsafe {
            let opened = pg_sys::try_relation_open(relation, pg_sys::AccessShareLock as i32);
            if opened.is_null() {
                return Err(Error::new(
                    Code::NoTable,
                    format!("relation with OID {} does not exist", relation.to_u32()),
                ));
            }
            let open = Open(opened);
            let schema = pg_sys::get_namespace_name(pg_sys::get_rel_namespace(relation));
            let from = owned(pg_sys::quote_qualified_identifier(schema, pg_sys::get_rel_name(relation)));
            let number = pg_sys::get_attnum(relation, attribute.as_ptr());
            if number == pg_sys::InvalidAttrNumber as i16 {
                let (relation, column) = (name(from.as_ptr()), name(attribute.as_ptr()));
                let message = format!("column \"{column}\" of relation {relation} does not exist");
                return Err(Error::new(Code::NoColumn, message));
            }
            let column = owned(pg_sys::quote_identifier(attribute.as_ptr()));
            let label = format!("{}.{}", name(from.as_ptr()), name(column.as_ptr()));
            let (cast, type_) = cast(pg_sys::getBaseType(pg_sys::get_atttype(relation, number)), &label)?;
            Ok(Source { relation, _open: open, from, column, cast, type_, label })
        }
    }

    /// The default metric for the type of the column.
    pub fn metric(&self, symbols: bool) -> Result<Metric> {
        match self.type_ {
            pg_sys::BITOID | pg_sys::VARBITOID | pg_sys::BYTEAOID => Ok(Metric::Hamming),
            pg_sys::INT4ARRAYOID | pg_sys::INT8ARRAYOID | pg_sys::TEXTARRAYOID if !symbols => Ok(Metric::Jaccard),
            pg_sys::FLOAT4ARRAYOID | pg_sys::FLOAT8ARRAYOID => Ok(Metric::L2),
            _ if symbols => Ok(Metric::Hamming),
            _ => Err(Error::parameter("metric must be specified for a column of type text").with_hint(
                "To compare documents, store lsbf_shingles(text), which is a set. To compare strings of equal \
                     length, use metric => 'hamming', alphabet => 'symbols'.",
            )),
        }
    }

    /// Samples the values of the column. Returns the sample and the estimated number of rows.
    pub fn sample(&self, mut sample: Reservoir, seed: u64) -> Result<(Reservoir, f64)> {
        let named = |error: Error| Error { message: format!("{} in {}", error.message, self.label), ..error };
        let share = self.read(seed, |datum| sample.offer(|| self.vector(datum)).map_err(named))?;
        if sample.rows.is_empty() {
            return Err(Error::data(format!("{} contains no vectors", self.label))
                .with_hint("To choose a filter without a table, use lsbf_design(metric, near, capacity)."));
        }
        let population = sample.offered as f64 / share;
        Ok((sample, population))
    }

    /// A value of the column as a vector.
    fn vector<'a>(&self, datum: Datum) -> Result<Vector<'a>> {
        of_type(datum, self.type_).unwrap_or_else(|| Err(self.unexpected_type(self.type_)))
    }

    fn unexpected_type(&self, type_: Oid) -> Error {
        // SAFETY: a catalog lookup, which accepts OIDs that do not exist.
        let type_ = unsafe { name(pg_sys::format_type_be(type_)) };
        Error::new(Code::Changed, format!("values of {} have unexpected type {type_}", self.label))
            .with_hint("A cast was changed while the column was being read. Try again.")
    }

    /// Calls `each` with the values of all rows, or of the rows on random pages. Returns the fraction of pages that
    /// were read.
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
        // SAFETY: the current context outlives the call. The new one is reset after each batch.
        let memory = unsafe { Context::new(pg_sys::CurrentMemoryContext, c"lsbf_design_for") };
        // SAFETY: an ordinary use of a cursor; values are used before their batch is freed.
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
            // Computed values may be large, so that the first batch is one row.
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
                batch = (BATCH_BYTES / (bytes / count).max(1)).clamp(1, 2 * count).min(MAX_BATCH) as _;
                for &row in rows {
                    if let Some(datum) =
                        value(row, (*table).tupdesc, self.type_).map_err(|type_| self.unexpected_type(type_))?
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

    /// Checks that a plan reads the relation that was locked: a schema can be renamed and another one take its name
    /// before the query is planned.
    unsafe fn check_plan(&self, portal: pg_sys::Portal) -> Result<()> {
        // SAFETY: an open portal has a plan, and lists have the length that they state.
        let first = unsafe {
            let plans = &*(*portal).stmts;
            let plan = (*plans.elements).ptr_value.cast::<pg_sys::PlannedStmt>();
            let entries = (*plan)
                .rtable
                .as_ref()
                .map_or(&[][..], |list| std::slice::from_raw_parts(list.elements, list.length as usize));
            // The relation in FROM comes first. For a view, PostgreSQL 15 has its OID in the entry after that one.
            let oid = |cell: &pg_sys::ListCell| (*cell.ptr_value.cast::<pg_sys::RangeTblEntry>()).relid;
            entries.iter().map(oid).find(|&relation| relation != pg_sys::InvalidOid)
        };
        match first == Some(self.relation) {
            true => Ok(()),
            false => {
                Err(Error::new(Code::Changed, format!("relation of {} was replaced by another relation", self.label))
                    .with_hint("A schema was renamed concurrently. Try again."))
            }
        }
    }

    /// The fraction of the table's pages to read.
    fn share(&self) -> Result<f64> {
        // SAFETY: a catalog lookup by OID.
        let kind = unsafe { pg_sys::get_rel_relkind(self.relation) } as u8;
        if !matches!(kind, pg_sys::RELKIND_RELATION | pg_sys::RELKIND_MATVIEW | pg_sys::RELKIND_PARTITIONED_TABLE) {
            return Ok(1.0);
        }
        // The size includes all partitions. Foreign partitions cannot be sampled: then everything is read.
        let oid = self.relation.to_u32();
        let query = format!(
            "WITH RECURSIVE parts (part) AS (SELECT pg_catalog.int8 '{oid}'::pg_catalog.oid UNION ALL
               SELECT inhrelid FROM pg_catalog.pg_inherits, parts WHERE inhparent OPERATOR(pg_catalog.=) part)
             SELECT CASE WHEN pg_catalog.bool_or(relkind OPERATOR(pg_catalog.=) 'f') THEN 0
               ELSE pg_catalog.sum(pg_catalog.pg_relation_size(part::pg_catalog.regclass)) END::pg_catalog.int8
             FROM parts, pg_catalog.pg_class WHERE oid OPERATOR(pg_catalog.=) part"
        );
        let query = c_string(query.as_bytes())?;
        // SAFETY: an ordinary use of SPI; the result is at most one number.
        let size = unsafe {
            connect()?;
            pg_sys::SPI_execute(query.as_ptr(), true, 1);
            let size = match pg_sys::SPI_processed {
                0 => None,
                _ => {
                    let table = &*pg_sys::SPI_tuptable;
                    value(*table.vals, table.tupdesc, pg_sys::INT8OID).map_err(|type_| self.unexpected_type(type_))?
                }
            };
            pg_sys::SPI_finish();
            size.map_or(0, |size| size.value() as i64)
        };
        Ok(if size > MAX_READ { MAX_READ as f64 / size as f64 } else { 1.0 })
    }
}

/// The casts that are applied to a column of a type, and their result type. Types that are not native, such as
/// pgvector's, are converted to arrays.
fn cast(given: Oid, label: &str) -> Result<(CString, Oid)> {
    let type_ = match given {
        given if NATIVE.iter().any(|(native, _)| *native == given) => given,
        pg_sys::NUMERICARRAYOID => pg_sys::FLOAT8ARRAYOID,
        pg_sys::VARCHAROID | pg_sys::BPCHAROID => pg_sys::TEXTOID,
        _ => pg_sys::FLOAT4ARRAYOID,
    };
    // pgvector has no cast from sparsevec to arrays, but it has one to vector.
    let is_sparse = signature::type_code(given) == signature::SPARSEVEC;
    // SAFETY: catalog lookups by OID.
    unsafe {
        let mut function = pg_sys::InvalidOid;
        let explicit = pg_sys::CoercionContext::COERCION_EXPLICIT;
        let path = pg_sys::find_coercion_pathway(type_, given, explicit, &mut function);
        if path == pg_sys::CoercionPathType::COERCION_PATH_NONE && !is_sparse {
            let given = name(pg_sys::format_type_be(given));
            return Err(Error::parameter(format!("{label} is of type {given}, which is not a vector type")).with_hint(
                "Use a column of type real[], double precision[], bit, bytea or one of pgvector's types. For sets, \
                     use integer[], text[] or lsbf_shingles(text).",
            ));
        }
        let via = match is_sparse {
            true => [b"::", schema_of(given).to_bytes(), b".vector"].concat(),
            false => Vec::new(),
        };
        let to = NATIVE.iter().find(|(native, _)| *native == type_).map_or(c"", |(_, name)| *name);
        Ok((c_string(&[via.as_slice(), b"::", to.to_bytes()].concat())?, type_))
    }
}

/// The quoted name of the schema of a type.
unsafe fn schema_of(type_: Oid) -> CString {
    // SAFETY: the row is pinned until it is released.
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

/// The first column of a row; `None` if it is NULL. If it does not have the expected type, the error is its type.
unsafe fn value(
    row: pg_sys::HeapTuple,
    descriptor: pg_sys::TupleDesc,
    expected: Oid,
) -> std::result::Result<Option<Datum>, Oid> {
    // SAFETY: the descriptor is that of the row and has at least one column.
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

/// A copy of a name returned by PostgreSQL; empty if there is none.
unsafe fn owned(name: *const c_char) -> CString {
    // SAFETY: names are C strings.
    if name.is_null() { CString::default() } else { unsafe { CStr::from_ptr(name) }.to_owned() }
}

fn c_string(bytes: &[u8]) -> Result<CString> {
    CString::new(bytes).map_err(|_| Error::parameter("a name must not contain a zero byte"))
}

fn connect() -> Result<()> {
    // SAFETY: every connection is finished before the function returns; an error finishes all of them.
    match unsafe { pg_sys::SPI_connect() } {
        code if code == pg_sys::SPI_OK_CONNECT as i32 => Ok(()),
        code => Err(Error::data(format!("SPI_connect failed: {code}"))),
    }
}
