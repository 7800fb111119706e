//! Stored filters. One that is queried many times in a transaction is read once and kept for all of its statements and
//! functions; of one that is queried once, only the blocks that the query needs are read ([`Filter::Parts`]).
//!
//! A filter whose bits are a list is expanded to words when it is queried often, whether it is stored or not. A value that is
//! not stored has no number: it is known by its address, and compared with a copy whenever it is queried.

use super::engines;
use super::parts::{BLOCK_COST, Parts};
use crate::boundary::context::{Context, cleared, create};
use crate::boundary::guard::check_for_interrupts;
use crate::boundary::image;
use crate::boundary::toast::{Key, Toasted, truncated};
use crate::cache::{self, Usage};
use lsbf::error::Result;
use lsbf::filter::format::{FRONT, Header, RESERVED, View, decode_params};
use lsbf::filter::{Queried, Source, list};
use lsbf::mix::mix;
use pgrx::pg_sys::{self, Datum, MemoryContext};
use pgrx::varlena::set_varsize_4b;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::ops::Deref;
use std::ptr::NonNull;

/// Maximum number of filters that are remembered, read or not.
const MAX_ENTRIES: usize = 4096;
/// Smaller filters are read whole at once: that takes no longer than a few blocks do.
const PARTS_FROM: usize = 128 << 10;
/// Bytes fetched at once when a whole filter is read: interrupts are checked in between.
const PIECE: usize = 1 << 20;

/// Queries of a list before it is expanded, and words of all its bits for one query more: by then, searching the list has
/// taken about as long as expanding it will.
const QUERIES: u32 = 16;
const WORDS_PER_QUERY: u64 = 2048;
/// The wait is doubled at most this many times.
const MAX_DOUBLED: u32 = 16;

/// A filter to be queried.
pub enum Filter<'a> {
    Whole(Whole<'a>),
    Parts(Parts<'a>),
}

impl Filter<'_> {
    /// Everything before the bits.
    #[inline]
    pub fn front(&self) -> &View<'_> {
        match self {
            Filter::Whole(whole) => whole,
            Filter::Parts(parts) => &parts.front,
        }
    }

    /// The words of the whole filter.
    #[inline]
    pub fn words(&self) -> usize {
        match self {
            Filter::Whole(whole) => whole.words.len(),
            Filter::Parts(parts) => parts.words(),
        }
    }

    /// The filter as a query sees it.
    #[inline]
    pub fn queried(&self) -> Queried<'_> {
        match self {
            Filter::Whole(whole) => whole.queried(),
            Filter::Parts(parts) => parts.front.queried_by(parts),
        }
    }
}

/// Mixes the bits of a key: the numbers of values in a TOAST table are consecutive.
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

/// The words of a stored filter.
struct Words {
    _context: Context,
    start: *const u64,
    count: usize,
    header: Header,
}

impl Words {
    fn bytes(&self) -> usize {
        self.count * size_of::<u64>()
    }

    fn all<'a>(&self) -> &'a [u64] {
        // SAFETY: words stay where they are while in use.
        unsafe { std::slice::from_raw_parts(self.start, self.count) }
    }
}

/// A filter that the transaction has used.
#[derive(Default)]
struct Entry {
    /// All of its words, once they have been read.
    words: Option<Words>,
    /// All bits of a list that is queried often.
    expanded: Option<Words>,
    /// The number of queries of the list, and that after which it is expanded.
    queries: u32,
    expand_after: u32,
    /// How often it was expanded, or found no room.
    tries: u32,
    /// The number of blocks that were fetched, plus one for each query by parts.
    fetched: Cell<usize>,
    /// The number of calls that use it.
    uses: Cell<usize>,
}

impl Entry {
    fn bytes(&self) -> usize {
        [&self.words, &self.expanded].into_iter().flatten().map(Words::bytes).sum()
    }

    /// Forgets what was read; returns its size.
    fn clear(&mut self) -> usize {
        let bytes = self.bytes();
        (self.words, self.expanded, self.queries) = (None, None, 0);
        bytes
    }
}

/// The filters that the transaction has used.
struct Filters {
    entries: HashMap<Key, Box<Entry>, BuildHasherDefault<Mixed>>,
    /// The one used last, if it was read: usually it is also the next one.
    last: Option<(Key, NonNull<Entry>)>,
    /// Bytes of those that were read.
    bytes: usize,
    /// The number of filters read whole, and of lists expanded, in this session.
    loads: u64,
    /// The parent of their memory contexts; created when it is first needed.
    parent: MemoryContext,
}

thread_local! {
    static FILTERS: RefCell<Filters> = const {
        RefCell::new(Filters {
            entries: HashMap::with_hasher(BuildHasherDefault::new()),
            last: None,
            bytes: 0,
            loads: 0,
            parent: std::ptr::null_mut(),
        })
    };
}

impl Filters {
    fn parent(&mut self) -> MemoryContext {
        if self.parent.is_null() {
            // SAFETY: the parent exists as long as the process, and so does what is created here.
            self.parent = unsafe { create(pg_sys::TopMemoryContext, c"pg_lsbf filters") };
        }
        self.parent
    }

    /// The entry of a filter; created if there is none.
    #[inline]
    fn entry(&mut self, key: Key) -> &mut Entry {
        if self.entries.len() >= MAX_ENTRIES && !self.entries.contains_key(&key) {
            self.forget_half();
        }
        self.entries.entry(key).or_default()
    }

    /// Forgets every other filter that is not in use.
    #[cold]
    fn forget_half(&mut self) {
        self.last = None;
        let mut nth = 0;
        self.entries.retain(|_, entry| {
            nth += 1;
            nth % 2 == 0 || entry.uses.get() > 0
        });
        self.bytes = self.entries.values().map(|entry| entry.bytes()).sum();
    }

    /// Whether a filter should be read whole: if it is small; if it is queried for the second time and fits into the
    /// cache; or if reading it would have cost no more than the blocks that were fetched.
    fn is_worth_reading(&self, size: usize, fetched: usize) -> bool {
        size < PARTS_FROM
            || fetched > 0 && self.bytes + engines::held() + size <= cache::limit()
            || fetched > size / BLOCK_COST
    }

    /// Drops filters that are not in use until the others have at most `limit` bytes.
    fn shrink(&mut self, limit: usize) {
        self.last = None;
        let idle = |entry: &Entry| entry.words.is_some() && entry.uses.get() == 0;
        let mut keys: Vec<Key> = self.entries.iter().filter(|(_, entry)| idle(entry)).map(|(key, _)| *key).collect();
        while self.bytes > limit && !keys.is_empty() {
            let key = keys.swap_remove(cache::draw(keys.len()));
            if let Some(entry) = self.entries.get_mut(&key) {
                self.bytes -= entry.clear();
                // Count the queries of this filter anew. Otherwise filters that do not fit would be read in turn.
                entry.fetched = Cell::new(1);
            }
        }
    }

    /// Makes room for more bytes, as far as possible.
    fn make_room(&mut self, size: usize) {
        let limit = cache::limit();
        if self.bytes + engines::held() + size > limit {
            self.shrink(limit.saturating_sub(engines::held() + size));
            if self.bytes + engines::held() + size > limit {
                engines::shrink(limit.saturating_sub(self.bytes + size));
            }
        }
    }

    /// Reads all words of a filter.
    #[cold]
    fn read(&mut self, toasted: &Toasted) -> Result<()> {
        self.make_room(toasted.size());
        // SAFETY: the parent exists as long as the process.
        let context = unsafe { Context::new(self.parent(), c"pg_lsbf filter") };
        let words = match toasted.is_compressed() {
            true => decompressed(&context, toasted.datum()),
            false => copied(&context, toasted),
        };
        self.put(toasted.key(), context, words)?;
        self.loads += 1;
        Ok(())
    }

    /// Keeps the words of a filter.
    fn put(&mut self, key: Key, context: Context, words: &[u64]) -> Result<()> {
        let header = View::new(words)?.header;
        let words = Words { _context: context, start: words.as_ptr(), count: words.len(), header };
        self.bytes += words.bytes();
        self.entry(key).words = Some(words);
        Ok(())
    }

    /// Counts a query of a list, and expands it if it was queried often.
    #[inline]
    fn count_query(&mut self, key: Key, filter: &View) -> Result<()> {
        let entry = self.entry(key);
        entry.queries = entry.queries.saturating_add(1);
        match entry.queries {
            QUERIES => {
                let words = decode_params(filter.stored())?.body_words();
                let entry = self.entry(key);
                // Something else had to be dropped for it, or it was dropped: if this goes on, it must not take much time.
                let queries = (1 + words / WORDS_PER_QUERY) << entry.tries.min(MAX_DOUBLED);
                entry.expand_after = QUERIES.saturating_add(u32::try_from(queries).unwrap_or(u32::MAX));
                Ok(())
            }
            queries if queries > QUERIES && queries == entry.expand_after => self.expand(key, filter),
            _ => Ok(()),
        }
    }

    /// Expands a list, which must be in use, if there is room or others can be dropped. Queries of what was dropped are counted
    /// anew, and each time twice as many, so that lists that displace others, or each other, cost little more than lists that
    /// are not expanded.
    #[cold]
    fn expand(&mut self, key: Key, filter: &View) -> Result<()> {
        let params = decode_params(filter.stored())?;
        self.entry(key).tries += 1;
        let count = params.body_words() as usize;
        let needed = count * size_of::<u64>() + size_of_val(filter.words);
        if needed <= cache::limit() / 2 {
            self.make_room(needed);
        }
        if self.bytes + engines::held() + needed > cache::limit() {
            // Try again after as many queries: by then there may be room.
            self.entry(key).queries = 0;
            return Ok(());
        }
        filter.check(&params)?;
        if self.entry(key).words.is_none() {
            // SAFETY: the parent exists as long as the process; all words of the copy are written.
            unsafe {
                let context = Context::new(self.parent(), c"pg_lsbf filter");
                let copy = cleared(context.get(), filter.words.len());
                copy.copy_from_slice(filter.words);
                self.put(key, context, copy)?;
            }
        }
        // SAFETY: the parent exists as long as the process.
        let (context, words) = unsafe {
            let context = Context::new(self.parent(), c"pg_lsbf list");
            let words = cleared(context.get(), count);
            (context, words)
        };
        list::expand(filter, words);
        let expanded = Words { _context: context, start: words.as_ptr(), count, header: filter.header };
        self.bytes += expanded.bytes();
        self.entry(key).expanded = Some(expanded);
        self.loads += 1;
        Ok(())
    }

    /// A list that is not stored. It is expanded if it is queried often.
    fn hold_inline<'a>(&mut self, view: View<'a>) -> Result<Whole<'a>> {
        let key = Key::inline(view.words);
        let entry = self.entry(key);
        if let Some(copy) = &entry.words {
            let is_same = copy.all() == view.words;
            if let Some(expanded) = entry.expanded.as_ref().filter(|_| is_same) {
                entry.uses.set(entry.uses.get() + 1);
                let expanded = Some(expanded.all());
                return Ok(Whole { view, expanded, entry: Some(NonNull::from(entry)) });
            }
            // Another value had this address.
            if !is_same && entry.uses.get() == 0 {
                let bytes = entry.clear();
                entry.tries = 0;
                self.bytes -= bytes;
            }
        }
        self.count_query(key, &view)?;
        Ok(Whole { view, expanded: None, entry: None })
    }

    /// All words of a filter, in use until the result is dropped.
    #[inline]
    fn hold<'a>(&mut self, toasted: &Toasted) -> Result<Whole<'a>> {
        let key = toasted.key();
        if self.entry(key).words.is_none() {
            self.read(toasted)?;
        }
        let entry = NonNull::from(self.entry(key));
        self.last = Some((key, entry));
        self.hold_last(&key).ok_or_else(truncated)
    }

    /// The same for the filter used last, if it is this one.
    #[inline]
    fn hold_last<'a>(&self, key: &Key) -> Option<Whole<'a>> {
        let (_, entry) = self.last.filter(|(last, _)| last == key)?;
        // SAFETY: entries are boxed, and `last` is reset whenever one is dropped. Words stay where they are while in
        // use.
        unsafe {
            let used = entry.as_ref();
            let words = used.words.as_ref()?;
            used.uses.set(used.uses.get() + 1);
            let view = View { header: words.header, words: words.all() };
            Some(Whole { view, expanded: used.expanded.as_ref().map(Words::all), entry: Some(entry) })
        }
    }
}

/// Detoasts a compressed filter.
fn decompressed<'a>(context: &Context, datum: Datum) -> &'a [u64] {
    // SAFETY: the datum is a filter; its copy has a four-byte header and the alignment of allocated memory.
    unsafe {
        let value = context.with(|| pg_sys::pg_detoast_datum(datum.cast_mut_ptr()));
        std::slice::from_raw_parts(value.cast(), pgrx::varlena::varsize_any(value) / 8)
    }
}

/// Copies a filter piece by piece, so that it can be interrupted.
fn copied<'a>(context: &Context, toasted: &Toasted) -> &'a [u64] {
    let size = toasted.size();
    // SAFETY: all bytes that the slice covers are written.
    unsafe {
        let image = pg_sys::MemoryContextAlloc(context.get(), size.next_multiple_of(8)).cast::<u8>();
        set_varsize_4b(image.cast(), size as i32);
        for start in (RESERVED..size).step_by(PIECE) {
            check_for_interrupts();
            let piece = toasted.fetch_exact(start - RESERVED, PIECE.min(size - start));
            image.add(start).copy_from_nonoverlapping(piece.as_ptr(), piece.len());
        }
        std::slice::from_raw_parts(image.cast(), size / 8)
    }
}

/// All words of a filter. A filter in the cache is not dropped while this exists.
pub struct Whole<'a> {
    view: View<'a>,
    /// All bits, if they are a list that was expanded.
    expanded: Option<&'a [u64]>,
    entry: Option<NonNull<Entry>>,
}

impl Whole<'_> {
    /// A filter that is not in a TOAST table.
    #[inline]
    fn plain(datum: Datum) -> Result<Self> {
        Ok(Whole { view: image::read(datum)?, expanded: None, entry: None })
    }
}

impl<'a> Whole<'a> {
    /// The filter as a query sees it.
    #[inline]
    fn queried(&self) -> Queried<'a> {
        match self.expanded {
            Some(words) => Queried { counters: self.view.header.counters(), body: Source::Words(words) },
            None => self.view.queried(),
        }
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
        if let Some(entry) = self.entry {
            // SAFETY: an entry in use is not dropped, and it is boxed, so that it does not move.
            let uses = unsafe { &entry.as_ref().uses };
            uses.set(uses.get() - 1);
        }
    }
}

/// A filter to be queried: whole if it was read or is worth reading, or else by parts.
#[inline]
pub fn open<'a>(datum: Datum) -> Result<Filter<'a>> {
    let Some(toasted) = Toasted::of(datum) else {
        let whole = Whole::plain(datum)?;
        return match whole.header.is_sparse {
            true => FILTERS.with_borrow_mut(|filters| filters.hold_inline(whole.view)).map(Filter::Whole),
            false => Ok(Filter::Whole(whole)),
        };
    };
    FILTERS.with_borrow_mut(|filters| {
        let key = toasted.key();
        if let Some(whole) = filters.hold_last(&key) {
            if whole.header.is_sparse && whole.expanded.is_none() {
                filters.count_query(key, &whole)?;
            }
            return Ok(Filter::Whole(whole));
        }
        let entry = filters.entry(key);
        let (is_read, fetched) = (entry.words.is_some(), entry.fetched.get());
        if !is_read && !toasted.is_compressed() && !filters.is_worth_reading(toasted.size(), fetched) {
            let front = front_of(&toasted)?;
            // A filter with few members is a list of bits and is read whole: only its centre can make it large.
            if !front.header.is_sparse {
                filters.entry(key).fetched.set(fetched + 1);
                return Ok(Filter::Parts(Parts::new(front, toasted)));
            }
        }
        let whole = filters.hold(&toasted)?;
        if whole.header.is_sparse && whole.expanded.is_none() {
            filters.count_query(key, &whole)?;
        }
        Ok(Filter::Whole(whole))
    })
}

/// All words of a filter.
#[inline]
pub fn whole<'a>(datum: Datum) -> Result<Whole<'a>> {
    let Some(toasted) = Toasted::of(datum) else { return Whole::plain(datum) };
    FILTERS.with_borrow_mut(|filters| filters.hold_last(&toasted.key()).map_or_else(|| filters.hold(&toasted), Ok))
}

/// Counts the blocks that a query by parts has fetched.
pub fn count_fetched(toasted: &Toasted, blocks: usize) {
    FILTERS.with(|filters| {
        if let Ok(mut filters) = filters.try_borrow_mut() {
            let fetched = &filters.entry(toasted.key()).fetched;
            fetched.set(fetched.get() + blocks);
        }
    });
}

/// Drops filters that are not in use until the others have at most `limit` bytes.
pub fn shrink(limit: usize) {
    FILTERS.with(|filters| {
        if let Ok(mut filters) = filters.try_borrow_mut() {
            filters.shrink(limit);
        }
    });
}

/// The filters that are kept.
pub fn usage() -> Usage {
    FILTERS.with_borrow(|filters| {
        let read = filters.entries.values().filter(|entry| entry.words.is_some());
        Usage { entries: read.count(), bytes: filters.bytes, loads: filters.loads }
    })
}

/// Drops all filters at the end of a transaction: afterwards a value can be removed and its number reused.
pub fn release() {
    FILTERS.with(|filters| {
        if let Ok(mut filters) = filters.try_borrow_mut() {
            filters.last = None;
            filters.entries = HashMap::default();
            filters.bytes = 0;
        }
    });
}

/// Everything before the bits, and the number of words of the whole filter. The rest is read only if it has to be.
pub fn front<'a>(datum: Datum) -> Result<(View<'a>, usize)> {
    let (front, words) = match Toasted::of(datum) {
        Some(toasted) if !toasted.is_compressed() => (front_of(&toasted)?, toasted.size() / 8),
        _ => image::read(datum).map(|view| (view, view.words.len()))?,
    };
    // The value may be corrupted.
    if front.header.has_body && front.words.len() < front.header.body_start() {
        return Err(truncated());
    }
    Ok((front, words))
}

fn front_of<'a>(toasted: &Toasted) -> Result<View<'a>> {
    let front = first_bytes(toasted, FRONT)?;
    let needed = front.header.body_start() * 8;
    if needed > toasted.size() {
        return Err(truncated());
    }
    // A filter with a centre stores it before the bits.
    if needed > FRONT { first_bytes(toasted, needed) } else { Ok(front) }
}

fn first_bytes<'a>(toasted: &Toasted, count: usize) -> Result<View<'a>> {
    let front = image::allocate(count / 8);
    let read = toasted.fetch(0, count - RESERVED);
    // SAFETY: a piece is not longer than requested.
    unsafe {
        let to = front.as_mut_ptr().cast::<u8>().add(RESERVED);
        std::ptr::copy_nonoverlapping(read.as_ptr(), to, read.len());
    }
    View::new(&front[..(RESERVED + read.len()) / 8])
}
