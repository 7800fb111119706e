//! Engines kept by the backend: a filter's functions are expanded once, whatever calls them.

use super::{cache, stored};
use crate::error::{Code, Error, Result};
use crate::filter::header::{self, Header, View};
use crate::filter::{Engine, needs_dims};
use crate::memory;
use crate::vector::Vector;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Bytes of an engine that takes so long to make that giving memory back is worth the time.
const LARGE: usize = 1 << 20;

/// Engines by a hash of their parameters and dims. Of two with the same hash, one is kept.
type Kept = HashMap<u64, Engine, BuildHasherDefault<AsIs>>;

thread_local! {
    static ENGINES: RefCell<Kept> = RefCell::default();
    /// Bytes that all of them hold, as of when one was made last.
    static BYTES: Cell<usize> = const { Cell::new(0) };
    /// How many were made so far.
    static MADE: Cell<u64> = const { Cell::new(0) };
    /// The key of the one used last.
    static LAST: Cell<u64> = const { Cell::new(0) };
}

/// Keys are hashes already.
#[derive(Default)]
struct AsIs(u64);
impl Hasher for AsIs {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {
        unreachable!("keys are numbers")
    }

    fn write_u64(&mut self, key: u64) {
        self.0 = key;
    }
}

/// Runs `body` with the engine of a filter of `words` words. `vector` gives dims where the filter has none yet.
#[inline]
pub fn with<R>(front: &View, words: usize, vector: &Vector, body: impl FnOnce(&mut Engine) -> Result<R>) -> Result<R> {
    with_parameters_of(front, &front.header, words, vector, body)
}

/// The same for a filter with this header, where another one with the same parameters and centre is at hand.
#[inline]
pub fn with_parameters_of<R>(
    other: &View,
    header: &Header,
    words: usize,
    vector: &Vector,
    body: impl FnOnce(&mut Engine) -> Result<R>,
) -> Result<R> {
    ENGINES.with_borrow_mut(|engines| body(find(engines, other, header, words, vector)?))
}

fn find<'a>(
    engines: &'a mut Kept,
    front: &View,
    header: &Header,
    words: usize,
    vector: &Vector,
) -> Result<&'a mut Engine> {
    let (stored, centre) = (front.stored(), front.centre_bytes()?);
    let dims = match header.dims {
        0 => dims_of(stored, vector)?,
        dims => dims,
    };
    let key = xxhash_rust::xxh3::xxh3_64_with_seed(stored, u64::from(dims));
    if !engines.get(&key).is_some_and(|engine| engine.is_of(stored, dims, centre)) {
        engines.remove(&key);
        let engine = expand(engines, front, dims)?;
        engines.insert(key, engine);
        BYTES.set(bytes(engines));
    }
    LAST.set(key);
    let engine = engines.get_mut(&key).expect("it was just found or made");
    if words != (Header { dims, ..*header }).image_words(&engine.params) {
        return Err(Error::new(Code::Binary, "not a valid filter: its length does not fit its parameters"));
    }
    Ok(engine)
}

fn dims_of(stored: &[u8], vector: &Vector) -> Result<u32> {
    let params = header::decode_params(stored)?;
    let dims = params.dims_of(vector)?;
    Ok(if needs_dims(&params) { dims } else { 0 })
}

/// Makes an engine, after room was made for it.
#[cold]
fn expand(engines: &mut Kept, front: &View, dims: u32) -> Result<Engine> {
    let params = header::decode_params(front.stored())?;
    let room = cache::limit().saturating_sub(Engine::expected_bytes(&params, dims));
    shrink(engines, room, None);
    stored::shrink(room.saturating_sub(held()));
    let engine = Engine::centred(params, dims, front.centre()?)?;
    MADE.set(MADE.get() + 1);
    // What was dropped, and what expanding took besides.
    if engine.bytes() >= LARGE {
        memory::give_back();
    }
    Ok(engine)
}

/// Drops engines, but not the one in use, until they hold at most so many bytes.
fn shrink(engines: &mut Kept, most: usize, in_use: Option<u64>) {
    let mut held = bytes(engines);
    let mut keys: Vec<u64> = engines.keys().copied().filter(|&key| Some(key) != in_use).collect();
    while held > most && !keys.is_empty() {
        let key = keys.swap_remove(cache::draw(keys.len()));
        held -= engines.remove(&key).map_or(0, |engine| engine.bytes());
    }
    BYTES.set(held);
}

fn bytes(engines: &Kept) -> usize {
    engines.values().map(Engine::bytes).sum()
}

/// Bytes that engines hold.
pub fn held() -> usize {
    BYTES.get()
}

/// How many engines were made in this session.
pub fn made() -> u64 {
    MADE.get()
}

/// Makes room for a stored filter.
pub fn make_room(most: usize) {
    ENGINES.with(|engines| {
        if let Ok(mut engines) = engines.try_borrow_mut() {
            shrink(&mut engines, most, Some(LAST.get()));
        }
    });
}

/// How many engines are kept, and their bytes.
pub fn kept() -> (usize, usize) {
    ENGINES.with_borrow(|engines| (engines.len(), bytes(engines)))
}

/// Drops all of them.
pub fn release() {
    ENGINES.with(|engines| {
        if let Ok(mut engines) = engines.try_borrow_mut() {
            *engines = Kept::default();
            BYTES.set(0);
        }
    });
    memory::give_back();
}
