//! lsbf_seen and lsbf_first: window functions that ask a filter of the rows before the current one, then add it.

pub mod pages;

use crate::boundary::call::{Call, boolean, pg_function};
use crate::cache::{engines, filters};
use crate::vector::arrays::{Read, prefetch};
use crate::window::pages::{Form, Words, copied};
use lsbf::error::{Error, Result};
use lsbf::filter::bits::BodyMut;
use lsbf::filter::change::check_alike;
use lsbf::filter::format::{Bits, Header, View};
use lsbf::filter::{Adds, Counters, Engine};
use pgrx::pg_sys::{self, Datum};
use std::ffi::c_void;

// PostgreSQL's windowapi.h.
type WindowObject = *mut pg_sys::Node;
unsafe extern "C-unwind" {
    fn WinGetPartitionLocalMemory(window: WindowObject, size: usize) -> *mut c_void;
    fn WinGetCurrentPosition(window: WindowObject) -> i64;
    fn WinSetMarkPosition(window: WindowObject, position: i64);
    fn WinGetFuncArgCurrent(window: WindowObject, argument: i32, is_null: *mut bool) -> Datum;
}

/// What a partition remembers, from its first vector on. All of it lies in memory that ends with the partition.
struct Partition {
    /// The words of the prototype in front of its bits: what its content is told by.
    prototype: *const u64,
    prototype_words: usize,
    dims: u32,
    counters: Counters,
    words: Words,
}

impl Partition {
    /// # Safety
    /// The context must be that of the partition.
    unsafe fn new(engine: &Engine, prototype: &View, context: pg_sys::MemoryContext) -> Partition {
        let (front, count) = (front(prototype), engine.params.body_words() as usize);
        // SAFETY: as asked of the caller.
        let (copy, mut words) = unsafe {
            let words = match prototype.body() {
                Bits::Words(body) if !body.is_empty() => Words::from(body, context),
                _ => Words::new(count, context),
            };
            (copied(front, context), words)
        };
        for place in prototype.list().places() {
            match words.form() {
                Form::Whole(body) => body.set(place),
                Form::Pages(body) => body.set(place),
            };
        }
        let counters = prototype.header.counters().unwrap_or_default();
        Partition { prototype: copy, prototype_words: front.len(), dims: engine.dims, counters, words }
    }

    /// All rows of a partition must come with the prototype of its first one.
    #[inline]
    fn check(&self, prototype: &View) -> Result<()> {
        // SAFETY: it was copied when the partition started.
        let first = unsafe { std::slice::from_raw_parts(self.prototype, self.prototype_words) };
        if first[SIZE_WORDS..] == front(prototype)[SIZE_WORDS..] {
            return Ok(());
        }
        let first = View::new(first)?;
        // Dims may be told by the prototype or by the vectors.
        let dims = prototype.header.dims;
        let empty = !first.header.has_body && !prototype.header.has_body;
        if empty && first.stored() == prototype.stored() && (dims == 0 || dims == self.dims) {
            return Ok(());
        }
        Err(Error::prototypes_differ("partition", check_alike(&first, prototype).err()))
    }
}

/// PostgreSQL's length and the magic number, which tell nothing about what a filter is like.
const SIZE_WORDS: usize = 1;

fn front<'a>(filter: &View<'a>) -> &'a [u64] {
    &filter.words[..filter.header.body_start()]
}

/// The window object of a call; none where it was not called as a window function.
fn window_of(fcinfo: pg_sys::FunctionCallInfo) -> Option<WindowObject> {
    // SAFETY: a plain look at the call's context.
    unsafe {
        let context = (*fcinfo).context;
        (!context.is_null() && (*context).type_ == pg_sys::NodeTag::T_WindowObjectData).then_some(context)
    }
}

/// Fetches the arguments of the current row into the call, and says that no earlier row is needed any more.
///
/// What an argument raises jumps over this function and its caller: neither has anything to drop.
fn fetch_arguments(fcinfo: pg_sys::FunctionCallInfo) {
    let Some(window) = window_of(fcinfo) else { return };
    // SAFETY: the context is a window object, which these functions take. The arguments are ours to fill: PostgreSQL left
    // them empty.
    unsafe {
        // Else PostgreSQL keeps all rows of the partition.
        WinSetMarkPosition(window, WinGetCurrentPosition(window));
        let count = (*fcinfo).nargs as usize;
        for (n, argument) in (*fcinfo).args.as_mut_slice(count).iter_mut().enumerate() {
            argument.value = WinGetFuncArgCurrent(window, n as i32, &mut argument.isnull);
        }
    }
}

/// Defines one SQL-callable window function for each type a vector may have. Arguments are fetched outside of what turns
/// errors of PostgreSQL into Rust's and back, so that theirs stay as they are.
macro_rules! for_each_window_input {
    ($body:ident -> $result:expr, $($read:ident => $name:ident),* $(,)?) => {
        $(pg_function!($name -> $result, fetch_arguments, |call| $body(call, crate::vector::arrays::$read));)*
    };
}

/// Where the partition keeps a pointer to what it remembers, null at first.
fn kept<'a>(call: &Call, name: &str) -> Result<&'a mut *mut Partition> {
    let window = window_of(call.fcinfo).ok_or_else(|| {
        Error::parameter(format!("{name} was not called as a window function"))
            .with_hint(format!("Write {name}(vec, prototype) OVER (PARTITION BY ... ORDER BY ...)."))
    })?;
    let size = size_of::<*mut Partition>();
    // SAFETY: the partition's memory is zeroed when the partition starts, and as large as was asked for then.
    unsafe { Ok(&mut *pg_sys::ffi::pg_guard_ffi_boundary(|| WinGetPartitionLocalMemory(window, size)).cast()) }
}

/// Begins to remember, in the memory context that `kept` lies in.
fn start<'a>(kept: &mut *mut Partition, engine: &Engine, prototype: &View) -> &'a mut Partition {
    // SAFETY: PostgreSQL made `kept` in the context that ends with the partition.
    unsafe {
        let context = pg_sys::GetMemoryChunkContext((&raw mut *kept).cast());
        let partition = pg_sys::MemoryContextAlloc(context, size_of::<Partition>()).cast::<Partition>();
        partition.write(Partition::new(engine, prototype, context));
        *kept = partition;
        &mut *partition
    }
}

/// Whether a row is near one before it; NULL without a vector.
#[inline]
fn screen(call: &Call, read: Read, name: &str, adds: Adds) -> Result<Option<bool>> {
    let kept = kept(call, name)?;
    let (Some(_), Some(theta)) = ((!call.is_null(0)).then_some(()), call.float8(2)) else { return Ok(None) };
    let vector = read(call, 0)?;
    prefetch(&vector);
    let prototype = filters::whole(call.filter(1).ok_or_else(Error::no_prototype)?)?;
    // SAFETY: it is null or was made by `start`, and nobody else has it.
    let mut partition = unsafe { kept.as_mut() };
    // Where the prototype does not say how many dimensions vectors have, the first one of the partition does.
    let dims = match (prototype.header.dims, &partition) {
        (0, Some(partition)) => partition.dims,
        (dims, _) => dims,
    };
    let sized = View { header: Header { dims, ..prototype.header }, words: prototype.words };
    engines::with(&sized, prototype.words.len(), &vector, |engine| {
        let partition = match &mut partition {
            Some(partition) => {
                partition.check(&prototype)?;
                partition
            }
            None => {
                prototype.check_list(&engine.params)?;
                start(kept, engine, &prototype)
            }
        };
        let counters = &mut partition.counters;
        match partition.words.form() {
            Form::Whole(body) => engine.screen(counters, body, &vector, theta, adds),
            Form::Pages(body) => engine.screen(counters, body, &vector, theta, adds),
        }
    })
    .map(Some)
}

fn seen(call: &Call, read: Read) -> Result<Datum> {
    Ok(screen(call, read, "lsbf_seen", Adds::All)?.map_or_else(|| call.null(), boolean))
}
for_each_window_input!(seen -> pg_sys::BOOLOID,
    bits => lsbf_seen_bit, bytea => lsbf_seen_bytea, float4s => lsbf_seen_real, float8s => lsbf_seen_double,
    int4s => lsbf_seen_int, int8s => lsbf_seen_bigint, numerics => lsbf_seen_numeric,
    texts => lsbf_seen_texts, untyped => lsbf_seen_text,
    vector => lsbf_seen_vector, halfvec => lsbf_seen_halfvec, sparsevec => lsbf_seen_sparsevec,
);

fn first(call: &Call, read: Read) -> Result<Datum> {
    Ok(screen(call, read, "lsbf_first", Adds::New)?.map_or_else(|| call.null(), |seen| boolean(!seen)))
}
for_each_window_input!(first -> pg_sys::BOOLOID,
    bits => lsbf_first_bit, bytea => lsbf_first_bytea, float4s => lsbf_first_real, float8s => lsbf_first_double,
    int4s => lsbf_first_int, int8s => lsbf_first_bigint, numerics => lsbf_first_numeric,
    texts => lsbf_first_texts, untyped => lsbf_first_text,
    vector => lsbf_first_vector, halfvec => lsbf_first_halfvec, sparsevec => lsbf_first_sparsevec,
);
