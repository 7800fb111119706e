//! Filters that lie in a TOAST table. One that is queried many times in a transaction is read once and kept for all of its
//! statements and functions; of one that is queried once, only the chunks it touches are read.

use super::engines;
use crate::boundary::context::{Context, create};
use crate::boundary::error::raise;
use crate::boundary::guard::check_for_interrupts;
use crate::cache;
use crate::types::image;
use lsbf::error::{Code, Error, Result};
use lsbf::filter::bits::Body;
use lsbf::filter::format::{FRONT, Header, RESERVED, View};
use lsbf::mix::mix;
use pgrx::pg_sys::{self, Datum, MemoryContext};
use pgrx::varlena::{set_varsize_4b, vardata_any, varsize_any_exhdr};
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasherDefault, Hash, Hasher};
use std::ops::{Deref, Range};
use std::ptr::NonNull;

/// A filter to be queried.
pub enum Filter<'a> {
    Whole(Whole<'a>),
    Parts(Parts<'a>),
}

/// Most filters that are remembered, read or not.
const REMEMBERED: usize = 4096;
/// Smaller filters are read whole at once: that takes no longer than a few chunks do.
const PARTS_FROM: usize = 128 << 10;
/// Fetching a block takes about as long as reading so many bytes of the whole.
const BLOCK_COST: usize = 16 << 10;
/// Bytes fetched at once where all of a filter is read: interrupts are checked in between.
const PIECE: usize = 1 << 20;

/// A TOAST pointer, by what it points to.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Key {
    value: u32,
    relation: u32,
    size: i32,
    extinfo: u32,
}

impl Key {
    fn of(toast: &pg_sys::varatt_external) -> Key {
        let (value, relation) = (toast.va_valueid.to_u32(), toast.va_toastrelid.to_u32());
        Key { value, relation, size: toast.va_rawsize, extinfo: toast.va_extinfo }
    }
}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(u64::from(self.value) << 32 | u64::from(self.relation));
    }
}

/// Values are numbered in turn.
#[derive(Default)]
struct Mixed(u64);
impl Hasher for Mixed {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {
        unreachable!("keys are numbers")
    }

    fn write_u64(&mut self, key: u64) {
        self.0 = mix(0, key);
    }
}

/// All of a stored filter.
struct Read {
    _context: Context,
    words: *const u64,
    count: usize,
    header: Header,
}

/// A stored filter that the transaction has met.
#[derive(Default)]
struct Met {
    /// All of it, once it was read.
    read: Option<Read>,
    /// Blocks of it that were fetched, and one for each query by parts.
    fetched: Cell<usize>,
    /// Calls that use it.
    uses: Cell<usize>,
}

/// The stored filters that the transaction has met.
struct Filters {
    met: HashMap<Key, Box<Met>, BuildHasherDefault<Mixed>>,
    /// The one used last, if it was read: most often the next one, too.
    last: Option<(Key, NonNull<Met>)>,
    /// Bytes of those that were read.
    bytes: usize,
    /// What their memory is part of; made when it is needed first.
    parent: MemoryContext,
}

thread_local! {
    static FILTERS: RefCell<Filters> = const {
        RefCell::new(Filters {
            met: HashMap::with_hasher(BuildHasherDefault::new()),
            last: None,
            bytes: 0,
            parent: std::ptr::null_mut(),
        })
    };
}

impl Filters {
    fn parent(&mut self) -> MemoryContext {
        if self.parent.is_null() {
            // SAFETY: the parent exists as long as the process, and so does what is made here.
            self.parent = unsafe { create(pg_sys::TopMemoryContext, c"pg_lsbf filters") };
        }
        self.parent
    }

    /// A filter, met now or before.
    #[inline]
    fn meet(&mut self, key: Key) -> &mut Met {
        if self.met.len() >= REMEMBERED && !self.met.contains_key(&key) {
            self.forget();
        }
        self.met.entry(key).or_default()
    }

    /// Forgets every other filter that is not in use.
    #[cold]
    fn forget(&mut self) {
        self.last = None;
        let mut nth = 0;
        self.met.retain(|_, met| {
            nth += 1;
            nth % 2 == 0 || met.uses.get() > 0
        });
        self.bytes = self.met.iter().filter(|(_, met)| met.read.is_some()).map(|(key, _)| key.size as usize).sum();
    }

    /// Whether a filter is small, or was queried so often that it should be read whole: the second time where there is room
    /// for it, else when so many blocks of it were fetched that reading it would have cost no more.
    fn is_worth_reading(&self, size: usize, fetched: usize) -> bool {
        size < PARTS_FROM
            || fetched > 0 && self.bytes + engines::held() + size <= cache::limit()
            || fetched > size / BLOCK_COST
    }

    /// Drops filters that are not in use until the others have at most so many bytes.
    fn shrink(&mut self, most: usize) {
        self.last = None;
        let idle = |met: &Met| met.read.is_some() && met.uses.get() == 0;
        let mut keys: Vec<Key> = self.met.iter().filter(|(_, met)| idle(met)).map(|(key, _)| *key).collect();
        while self.bytes > most && !keys.is_empty() {
            let key = keys.swap_remove(cache::draw(keys.len()));
            if let Some(met) = self.met.get_mut(&key) {
                self.bytes -= key.size as usize;
                // It must earn its place again, else filters that do not fit would be read in turn.
                (met.read, met.fetched) = (None, Cell::new(1));
            }
        }
    }

    /// Reads all of a filter.
    #[cold]
    fn read(&mut self, key: Key, datum: Datum, toast: &pg_sys::varatt_external) -> Result<()> {
        let (size, limit) = (key.size as usize, cache::limit());
        if self.bytes + engines::held() + size > limit {
            self.shrink(limit.saturating_sub(engines::held() + size));
            if self.bytes + engines::held() + size > limit {
                engines::make_room(limit.saturating_sub(self.bytes + size));
            }
        }
        // SAFETY: the parent exists as long as the process.
        let context = unsafe { Context::new(self.parent(), c"pg_lsbf filter") };
        let words = match is_compressed(toast) {
            true => decompressed(&context, datum),
            false => copied(&context, datum, size),
        };
        let view = View::new(words)?;
        let (count, header, words) = (words.len(), view.header, words.as_ptr());
        self.meet(key).read = Some(Read { _context: context, words, count, header });
        self.bytes += size;
        Ok(())
    }

    /// A filter of which all is there, in use until it is dropped.
    #[inline]
    fn hold<'a>(&mut self, key: Key, datum: Datum, toast: &pg_sys::varatt_external) -> Result<Whole<'a>> {
        if self.meet(key).read.is_none() {
            self.read(key, datum, toast)?;
        }
        let met = NonNull::from(self.meet(key));
        self.last = Some((key, met));
        self.held_last(&key).ok_or_else(damaged)
    }

    /// The same for the filter used last, if it is this one.
    #[inline]
    fn held_last<'a>(&self, key: &Key) -> Option<Whole<'a>> {
        let (_, used) = self.last.filter(|(last, _)| last == key)?;
        // SAFETY: what is met is boxed, and `last` is forgotten when anything is dropped. What was read stays where it is while it
        // is in use.
        unsafe {
            let met = used.as_ref();
            let read = met.read.as_ref()?;
            met.uses.set(met.uses.get() + 1);
            let words = std::slice::from_raw_parts(read.words, read.count);
            Some(Whole { view: View { header: read.header, words }, used: Some(used) })
        }
    }
}

/// Detoasts a compressed filter.
fn decompressed<'a>(context: &Context, datum: Datum) -> &'a [u64] {
    // SAFETY: the datum is a filter; its copy has a four-byte header and the alignment of memory that is allocated.
    unsafe {
        let value = context.with(|| pg_sys::pg_detoast_datum(datum.cast_mut_ptr()));
        std::slice::from_raw_parts(value.cast(), pgrx::varlena::varsize_any(value) / 8)
    }
}

/// Copies a filter piece by piece, so that it can be interrupted.
fn copied<'a>(context: &Context, datum: Datum, size: usize) -> &'a [u64] {
    // SAFETY: as much is allocated as is filled, and a piece is as long as was asked for.
    unsafe {
        let image = pg_sys::MemoryContextAlloc(context.get(), size.next_multiple_of(8)).cast::<u8>();
        set_varsize_4b(image.cast(), size as i32);
        for start in (RESERVED..size).step_by(PIECE) {
            check_for_interrupts();
            let piece = fetch(datum, start - RESERVED, PIECE.min(size - start));
            if piece.len() != PIECE.min(size - start) {
                raise(damaged());
            }
            image.add(start).copy_from_nonoverlapping(piece.as_ptr(), piece.len());
            free(piece);
        }
        std::slice::from_raw_parts(image.cast(), size / 8)
    }
}

/// All words of a filter. A stored one is kept, and not given up while this is there.
pub struct Whole<'a> {
    view: View<'a>,
    used: Option<NonNull<Met>>,
}

impl Whole<'_> {
    /// A filter that is not stored, or not kept.
    fn passing(datum: Datum) -> Result<Self> {
        Ok(Whole { view: image::read(datum)?, used: None })
    }
}

impl<'a> Deref for Whole<'a> {
    type Target = View<'a>;

    #[inline]
    fn deref(&self) -> &View<'a> {
        &self.view
    }
}

impl Drop for Whole<'_> {
    #[inline]
    fn drop(&mut self) {
        if let Some(met) = self.used {
            // SAFETY: what is in use is not forgotten, and boxed, so that it does not move.
            let uses = unsafe { &met.as_ref().uses };
            uses.set(uses.get() - 1);
        }
    }
}

#[inline]
fn toast_pointer(datum: Datum) -> Option<pg_sys::varatt_external> {
    let pointer: *const pg_sys::varattrib_1b_e = datum.cast_mut_ptr();
    // SAFETY: the tag is read only where the first byte says that this is an external value.
    unsafe {
        if !pgrx::varlena::varatt_is_1b_e(pointer.cast())
            || u32::from((*pointer).va_tag) != pg_sys::vartag_external::VARTAG_ONDISK
        {
            return None;
        }
        Some((&raw const (*pointer).va_data).cast::<pg_sys::varatt_external>().read_unaligned())
    }
}

/// Parts of a compressed value cannot be read without what comes before them.
fn is_compressed(toast: &pg_sys::varatt_external) -> bool {
    const SIZE_BITS: u32 = 30;
    i64::from(toast.va_extinfo & ((1 << SIZE_BITS) - 1)) < i64::from(toast.va_rawsize) - RESERVED as i64
}

/// A filter to be queried: whole where it was read or is worth reading, else by parts.
#[inline]
pub fn open<'a>(datum: Datum) -> Result<Filter<'a>> {
    let Some(toast) = toast_pointer(datum) else { return Whole::passing(datum).map(Filter::Whole) };
    FILTERS.with_borrow_mut(|filters| {
        let key = Key::of(&toast);
        if let Some(whole) = filters.held_last(&key) {
            return Ok(Filter::Whole(whole));
        }
        let met = filters.meet(key);
        let (is_read, fetched) = (met.read.is_some(), met.fetched.get());
        if !is_read && !is_compressed(&toast) && !filters.is_worth_reading(key.size as usize, fetched) {
            let front = front_of(datum, &toast)?;
            // A list is read whole: it is large for its centre only.
            if !front.header.is_sparse {
                filters.meet(key).fetched.set(fetched + 1);
                return Ok(Filter::Parts(Parts::new(front, datum, toast)));
            }
        }
        filters.hold(key, datum, &toast).map(Filter::Whole)
    })
}

/// All words of a filter.
#[inline]
pub fn whole<'a>(datum: Datum) -> Result<Whole<'a>> {
    let Some(toast) = toast_pointer(datum) else { return Whole::passing(datum) };
    FILTERS.with_borrow_mut(|filters| {
        let key = Key::of(&toast);
        filters.held_last(&key).map_or_else(|| filters.hold(key, datum, &toast), Ok)
    })
}

/// Drops filters that are not in use until the others have at most so many bytes.
pub fn shrink(most: usize) {
    FILTERS.with(|filters| {
        if let Ok(mut filters) = filters.try_borrow_mut() {
            filters.shrink(most);
        }
    });
}

/// How many filters are kept, and their bytes.
pub fn kept() -> (usize, usize) {
    FILTERS.with_borrow(|filters| (filters.met.values().filter(|met| met.read.is_some()).count(), filters.bytes))
}

/// Forgets all filters, at the end of a transaction: then values may be removed, and their numbers used again.
pub fn release() {
    FILTERS.with(|filters| {
        if let Ok(mut filters) = filters.try_borrow_mut() {
            filters.last = None;
            filters.met = HashMap::default();
            filters.bytes = 0;
        }
    });
}

/// The words before the bits, and the number of all words: read without the rest where that is possible.
pub fn front<'a>(datum: Datum) -> Result<(View<'a>, usize)> {
    let (front, words) = match toast_pointer(datum) {
        Some(toast) if !is_compressed(&toast) => (front_of(datum, &toast)?, toast.va_rawsize as usize / 8),
        _ => image::read(datum).map(|view| (view, view.words.len()))?,
    };
    // Pages can be damaged.
    if front.header.has_body && front.words.len() < front.header.body_start() {
        return Err(damaged());
    }
    Ok((front, words))
}

fn front_of<'a>(datum: Datum, toast: &pg_sys::varatt_external) -> Result<View<'a>> {
    let front = first_bytes(datum, FRONT)?;
    let needed = front.header.body_start() * 8;
    if needed > toast.va_rawsize as usize {
        return Err(damaged());
    }
    // A centre lies before the bits, too.
    if needed > FRONT { first_bytes(datum, needed) } else { Ok(front) }
}

fn first_bytes<'a>(datum: Datum, count: usize) -> Result<View<'a>> {
    let front = image::allocate(count / 8);
    let read = fetch(datum, 0, count - RESERVED);
    // SAFETY: a slice is not longer than was asked for.
    unsafe {
        let to = front.as_mut_ptr().cast::<u8>().add(RESERVED);
        std::ptr::copy_nonoverlapping(read.as_ptr(), to, read.len());
    }
    View::new(&front[..(RESERVED + read.len()) / 8])
}

/// Bytes of a stored value, counted behind its length word; fewer at its end. They live in the row's memory.
fn fetch<'a>(datum: Datum, offset: usize, length: usize) -> &'a [u8] {
    // SAFETY: the datum is a toasted value that is not compressed; a value has less than 1 GB.
    unsafe {
        let slice = pg_sys::detoast_attr_slice(datum.cast_mut_ptr(), offset as i32, length as i32);
        std::slice::from_raw_parts(vardata_any(slice).cast(), varsize_any_exhdr(slice))
    }
}

/// Frees what was fetched.
///
/// # Safety
/// The bytes must be those of [`fetch`], and not be used any more.
unsafe fn free(bytes: &[u8]) {
    // SAFETY: the bytes lie behind the head of the slice that was fetched.
    unsafe { pg_sys::pfree(bytes.as_ptr().cast_mut().sub(RESERVED).cast()) };
}

/// The bytes of a filter without PostgreSQL's length, read piece by piece where it is stored and not compressed.
pub struct Bytes {
    datum: Datum,
    toast: Option<pg_sys::varatt_external>,
    /// All of it, where it is not read by pieces: its own memory, or a copy that is freed with this.
    plain: *mut pg_sys::varlena,
    len: usize,
}

impl Bytes {
    pub fn of(datum: Datum) -> Bytes {
        let toast = toast_pointer(datum);
        if let Some(toast) = toast.filter(|toast| !is_compressed(toast)) {
            let len = toast.va_rawsize as usize - RESERVED;
            return Bytes { datum, toast: Some(toast), plain: std::ptr::null_mut(), len };
        }
        // SAFETY: the datum is a varlena.
        unsafe {
            let plain = pg_sys::pg_detoast_datum_packed(datum.cast_mut_ptr());
            Bytes { datum, toast, plain, len: varsize_any_exhdr(plain) }
        }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.len
    }

    /// Whether both are one value: the same in a TOAST table, or in memory.
    pub fn is_same(&self, other: &Bytes) -> bool {
        match (&self.toast, &other.toast) {
            (Some(ours), Some(theirs)) => Key::of(ours) == Key::of(theirs),
            _ => self.datum == other.datum,
        }
    }

    pub fn piece(&self, range: Range<usize>) -> Piece<'_> {
        if self.plain.is_null() {
            let bytes = fetch(self.datum, range.start, range.len());
            if bytes.len() != range.len() {
                raise(damaged());
            }
            return Piece { bytes, is_fetched: true };
        }
        // SAFETY: it is as long as its header says.
        let bytes = unsafe { std::slice::from_raw_parts(vardata_any(self.plain).cast::<u8>(), self.len) };
        Piece { bytes: &bytes[range], is_fetched: false }
    }
}

impl Drop for Bytes {
    fn drop(&mut self) {
        if !self.plain.is_null() && self.plain != self.datum.cast_mut_ptr() {
            // SAFETY: PostgreSQL made the copy for us.
            unsafe { pg_sys::pfree(self.plain.cast()) };
        }
    }
}

/// Some bytes of a filter.
pub struct Piece<'a> {
    bytes: &'a [u8],
    is_fetched: bool,
}

impl Deref for Piece<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.bytes
    }
}

impl Drop for Piece<'_> {
    fn drop(&mut self) {
        if self.is_fetched {
            // SAFETY: they were fetched for this piece.
            unsafe { free(self.bytes) };
        }
    }
}

/// Words fetched at once: a chunk of a TOAST table has about four times as many.
const BLOCK: usize = 64;
/// Blocks of any filter that may be fetched for one question.
const LEAST_BLOCKS: usize = 64;

/// A stored filter, of which only what is asked for is read.
pub struct Parts<'a> {
    pub front: View<'a>,
    /// Words of the whole filter.
    pub words: usize,
    datum: Datum,
    toast: pg_sys::varatt_external,
    /// The blocks fetched so far, by their numbers.
    blocks: RefCell<BTreeMap<usize, [u64; BLOCK]>>,
    /// All of it, where a question touches so much that this is cheaper.
    whole: OnceCell<Whole<'a>>,
}

impl<'a> Parts<'a> {
    fn new(front: View<'a>, datum: Datum, toast: pg_sys::varatt_external) -> Self {
        let words = toast.va_rawsize as usize / 8;
        Parts { front, words, datum, toast, blocks: RefCell::default(), whole: OnceCell::new() }
    }

    fn fetch_block(&self, number: usize) -> [u64; BLOCK] {
        let start = self.front.header.body_start() + number * BLOCK;
        let bytes = fetch(self.datum, start * 8 - RESERVED, BLOCK * 8);
        let mut words = [0; BLOCK];
        for (word, bytes) in words.iter_mut().zip(bytes.as_chunks::<8>().0) {
            *word = u64::from_le_bytes(*bytes);
        }
        if bytes.len() < (self.words - start).min(BLOCK) * 8 {
            raise(damaged());
        }
        // SAFETY: they were copied.
        unsafe { free(bytes) };
        words
    }

    /// Whether a question touches so much of the filter that reading it whole costs less.
    fn is_too_much(&self) -> bool {
        self.blocks.borrow().len() >= LEAST_BLOCKS.max(self.words * 8 / BLOCK_COST / 2)
    }

    /// All of it, kept for the next query.
    fn read_whole(&self) -> Whole<'a> {
        whole(self.datum).unwrap_or_else(|error| raise(error))
    }
}

impl Body for Parts<'_> {
    fn word(&self, at: usize) -> u64 {
        let (number, place) = (at / BLOCK, at % BLOCK);
        if let Some(block) = self.blocks.borrow().get(&number) {
            return block[place];
        }
        if self.is_too_much() {
            let whole = self.whole.get_or_init(|| self.read_whole());
            let word = whole.words.get(whole.header.body_start() + at);
            return word.map_or_else(|| raise(damaged()), |word| u64::from_le(*word));
        }
        let block = self.fetch_block(number);
        self.blocks.borrow_mut().insert(number, block);
        block[place]
    }

    fn prefetch(&self, _: usize) {}
}

impl Drop for Parts<'_> {
    /// What was fetched counts when the filter is met again.
    fn drop(&mut self) {
        FILTERS.with(|filters| {
            if let Ok(mut filters) = filters.try_borrow_mut() {
                let fetched = &filters.meet(Key::of(&self.toast)).fetched;
                fetched.set(fetched.get() + self.blocks.borrow().len());
            }
        });
    }
}

pub fn damaged() -> Error {
    Error::new(Code::Binary, "not a valid filter: it ends before its bits")
}
