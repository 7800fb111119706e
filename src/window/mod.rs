//! lsbf_seen and lsbf_first: window functions that query a filter of the preceding rows of the partition, then add the
//! current row.

pub mod pages;

use crate::boundary::call::{Call, boolean};
use crate::boundary::context::cleared;
use crate::cache::{engines, filters};
use crate::vector::arrays::{Read, for_each_input, prefetch};
use crate::window::pages::{Form, Words, copied};
use lsbf::error::{Code, Error, Result};
use lsbf::filter::bits::BodyMut;
use lsbf::filter::change::{Memory, check_alike};
use lsbf::filter::format::{Bits, Header, View};
use lsbf::filter::lsqf::change::{layout, members};
use lsbf::filter::lsqf::levels::Levels;
use lsbf::filter::{Adds, Counters, Engine};
use lsbf::mix::mix;
use pgrx::pg_sys::{self, Datum};
use std::ffi::c_void;

// From PostgreSQL's windowapi.h.
type WindowObject = *mut pg_sys::Node;
unsafe extern "C-unwind" {
    fn WinGetPartitionLocalMemory(window: WindowObject, size: usize) -> *mut c_void;
    fn WinGetCurrentPosition(window: WindowObject) -> i64;
    fn WinSetMarkPosition(window: WindowObject, position: i64);
    fn WinGetFuncArgCurrent(window: WindowObject, argument: i32, is_null: *mut bool) -> Datum;
}

/// The filter of a partition, from its first vector on. All of it is allocated in memory that is freed with the
/// partition.
struct Partition {
    /// The words of the prototype before its bits. They identify the prototype.
    prototype: *const u64,
    prototype_words: usize,
    /// A hash of the members of a quotient filter.
    members: u64,
    dims: u32,
    rows: Rows,
}

/// The rows of a partition so far. There is one of them in a partition, and a box would not be freed with its memory.
#[expect(clippy::large_enum_variant)]
enum Rows {
    /// The bits that they set.
    Bits(Counters, Words),
    /// The members of a quotient filter.
    Members(Levels<InContext>),
}

/// Allocates in a memory context.
struct InContext(pg_sys::MemoryContext);

impl Memory for InContext {
    type Image = &'static mut [u64];

    fn zeroed(&self, words: usize) -> Self::Image {
        // SAFETY: the context is that of the partition, and so the memory lives as long as the levels that use it.
        unsafe { cleared(self.0, words) }
    }

    fn copy(&self, image: &[u64]) -> Self::Image {
        let copy = self.zeroed(image.len());
        copy.copy_from_slice(image);
        copy
    }

    fn free(&self, image: Self::Image) {
        // SAFETY: allocated by `zeroed`.
        unsafe { pg_sys::pfree(image.as_mut_ptr().cast()) };
    }
}

impl Partition {
    /// # Safety
    /// The context must be that of the partition.
    unsafe fn new(engine: &Engine, prototype: &View, context: pg_sys::MemoryContext) -> Result<Partition> {
        let front = front(prototype);
        // SAFETY: guaranteed by the caller.
        let (copy, rows) = unsafe {
            let rows = match prototype.header.is_quotient {
                true => Rows::Members(members_of(engine, prototype, context)?),
                false => {
                    Rows::Bits(prototype.header.counters().unwrap_or_default(), words_of(engine, prototype, context))
                }
            };
            (copied(front, context), rows)
        };
        let members = hash_of_members(prototype);
        Ok(Partition { prototype: copy, prototype_words: front.len(), members, dims: engine.dims, rows })
    }

    /// All rows of a partition must have the prototype of its first row.
    #[inline]
    fn check(&self, prototype: &View) -> Result<()> {
        // SAFETY: `new` copied this many words.
        let first = unsafe { std::slice::from_raw_parts(self.prototype, self.prototype_words) };
        if first[SIZE_WORDS..] == front(prototype)[SIZE_WORDS..] && self.members == hash_of_members(prototype) {
            return Ok(());
        }
        let first = View::new(first)?;
        // The prototype may lack dims, which then come from the vectors.
        let dims = prototype.header.dims;
        let empty = !first.header.has_body && !prototype.header.has_body;
        if empty && first.stored() == prototype.stored() && (dims == 0 || dims == self.dims) {
            return Ok(());
        }
        Err(Error::prototypes_differ("partition", check_alike(&first, prototype).err()))
    }
}

/// The bits of a prototype.
///
/// # Safety
/// The context must be that of the partition.
unsafe fn words_of(engine: &Engine, prototype: &View, context: pg_sys::MemoryContext) -> Words {
    // SAFETY: guaranteed by the caller.
    let mut words = unsafe {
        match prototype.body() {
            Bits::Words(body) if !body.is_empty() => Words::from(body, context),
            _ => Words::new(engine.params.body_words() as usize, context),
        }
    };
    for place in prototype.list().positions() {
        match words.form() {
            Form::Whole(body) => body.set(place),
            Form::Pages(body) => body.set(place),
        };
    }
    words
}

/// The members of a prototype.
///
/// # Safety
/// The context must be that of the partition.
unsafe fn members_of(engine: &Engine, prototype: &View, context: pg_sys::MemoryContext) -> Result<Levels<InContext>> {
    let layout = layout(&engine.params, engine.dims)?;
    let mut levels = Levels::new(InContext(context));
    levels.start(&layout, prototype.header.ones, members(&layout, prototype))?;
    Ok(levels)
}

/// The length word and the magic number. They are not compared, as they do not describe the content of a filter.
const SIZE_WORDS: usize = 1;

/// A hash of some of the words of the members of a quotient filter, whose header has only their number; 0 for other filters.
/// It is computed for every row.
#[inline]
fn hash_of_members(filter: &View) -> u64 {
    const WORDS: usize = 256;
    if !filter.header.is_quotient || !filter.header.has_body {
        return 0;
    }
    let body = &filter.words[filter.header.body_start()..];
    body.iter().step_by(body.len().div_ceil(WORDS)).fold(0, |hash, &word| mix(hash, word))
}

fn front<'a>(filter: &View<'a>) -> &'a [u64] {
    &filter.words[..filter.header.body_start()]
}

/// The window object of a call; `None` if it was not called as a window function.
fn window_of(fcinfo: pg_sys::FunctionCallInfo) -> Option<WindowObject> {
    // SAFETY: only reads the node tag of the context.
    unsafe {
        let context = (*fcinfo).context;
        (!context.is_null() && (*context).type_ == pg_sys::NodeTag::T_WindowObjectData).then_some(context)
    }
}

/// Fetches the arguments of the current row into the call, and marks earlier rows as no longer needed.
///
/// An error in an argument jumps over this function and its caller: neither has anything to drop.
fn fetch_arguments(fcinfo: pg_sys::FunctionCallInfo) {
    let Some(window) = window_of(fcinfo) else { return };
    // SAFETY: the context is a window object, which these functions take. PostgreSQL does not set the arguments of a
    // window function.
    unsafe {
        // Without a mark PostgreSQL keeps all rows of the partition.
        WinSetMarkPosition(window, WinGetCurrentPosition(window));
        let count = (*fcinfo).nargs as usize;
        for (n, argument) in (*fcinfo).args.as_mut_slice(count).iter_mut().enumerate() {
            argument.value = WinGetFuncArgCurrent(window, n as i32, &mut argument.isnull);
        }
    }
}

/// The partition's pointer to its filter, initially null.
fn partition_pointer<'a>(call: &Call, name: &str) -> Result<&'a mut *mut Partition> {
    let window = window_of(call.fcinfo).ok_or_else(|| {
        Error::new(Code::WrongCall, format!("{name} must be called as a window function"))
            .with_hint(format!("Use {name}(vec, prototype) OVER (PARTITION BY ... ORDER BY ...)."))
    })?;
    let size = size_of::<*mut Partition>();
    // SAFETY: the memory is zeroed when the partition starts, and always requested with the same size.
    unsafe { Ok(&mut *pg_sys::ffi::pg_guard_ffi_boundary(|| WinGetPartitionLocalMemory(window, size)).cast()) }
}

/// Allocates the filter of a partition, in the memory context of `pointer`.
fn start<'a>(pointer: &mut *mut Partition, engine: &Engine, prototype: &View) -> Result<&'a mut Partition> {
    // SAFETY: PostgreSQL allocated `pointer` in the context that it resets at the end of the partition.
    unsafe {
        let context = pg_sys::GetMemoryChunkContext((&raw mut *pointer).cast());
        let partition = pg_sys::MemoryContextAlloc(context, size_of::<Partition>()).cast::<Partition>();
        partition.write(Partition::new(engine, prototype, context)?);
        *pointer = partition;
        Ok(&mut *partition)
    }
}

/// Whether a row is near a preceding one; NULL if its vector is NULL.
#[inline]
fn screen(call: &Call, read: Read, name: &str, adds: Adds) -> Result<Option<bool>> {
    let pointer = partition_pointer(call, name)?;
    let (Some(_), Some(theta)) = ((!call.is_null(0)).then_some(()), call.float8(2)) else { return Ok(None) };
    let vector = read(call, 0)?;
    prefetch(&vector);
    let prototype = filters::whole(call.filter(1).ok_or_else(Error::no_prototype)?)?;
    // SAFETY: the pointer is null or was set by `start`, and there is no other reference.
    let mut partition = unsafe { pointer.as_mut() };
    // If the prototype has no dims, those of the first vector in the partition are used.
    let dims = match (prototype.header.dims, &partition) {
        (0, Some(partition)) => partition.dims,
        (dims, _) => dims,
    };
    let with_dims = View { header: Header { dims, ..prototype.header }, words: prototype.words };
    engines::with(&with_dims, prototype.words.len(), &vector, |engine| {
        let partition = match &mut partition {
            Some(partition) => {
                partition.check(&prototype)?;
                partition
            }
            None => {
                prototype.check_list(&engine.params)?;
                start(pointer, engine, &prototype)?
            }
        };
        match &mut partition.rows {
            Rows::Members(levels) => engine.screen_levels(levels, &vector, theta, adds),
            Rows::Bits(counters, words) => match words.form() {
                Form::Whole(body) => engine.screen(counters, body, &vector, theta, adds),
                Form::Pages(body) => engine.screen(counters, body, &vector, theta, adds),
            },
        }
    })
    .map(Some)
}

fn seen(call: &Call, read: Read) -> Result<Datum> {
    Ok(screen(call, read, "lsbf_seen", Adds::All)?.map_or_else(|| call.null(), boolean))
}
for_each_input!("lsbf_seen" [fetch_arguments] -> pg_sys::BOOLOID, seen);

fn first(call: &Call, read: Read) -> Result<Datum> {
    Ok(screen(call, read, "lsbf_first", Adds::New)?.map_or_else(|| call.null(), |seen| boolean(!seen)))
}
for_each_input!("lsbf_first" [fetch_arguments] -> pg_sys::BOOLOID, first);
