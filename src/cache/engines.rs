//! Engines kept by the backend: a filter's functions are expanded once, whatever calls them.

use super::filters;
use crate::cache;
use lsbf::error::{Code, Error, Result};
use lsbf::filter::Engine;
use lsbf::filter::format::{self, Header, View};
use lsbf::memory;
use lsbf::vector::Vector;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::ptr::NonNull;

/// Bytes of an engine that takes so long to make that giving memory back is worth the time.
const LARGE: usize = 1 << 20;

/// The engines that are kept.
struct Kept {
    /// By a hash of their parameters and dims. Of two with the same hash, one is kept.
    engines: HashMap<u64, Box<Engine>, BuildHasherDefault<AsIs>>,
    /// The one used last, which is most often the one to be used next.
    last: Option<(u64, NonNull<Engine>)>,
}

thread_local! {
    static ENGINES: RefCell<Kept> =
        const { RefCell::new(Kept { engines: HashMap::with_hasher(BuildHasherDefault::new()), last: None }) };
    /// Bytes that all of them hold, as of when one was made last.
    static BYTES: Cell<usize> = const { Cell::new(0) };
    /// How many were made so far.
    static MADE: Cell<u64> = const { Cell::new(0) };
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
    ENGINES.with_borrow_mut(|kept| body(find(kept, other, header, words, vector)?))
}

#[inline]
fn find<'a>(
    kept: &'a mut Kept,
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
    // SAFETY: the engine used last is boxed, and forgotten here when it is dropped.
    let last = kept.last.map(|(_, mut last)| unsafe { last.as_mut() }).filter(|last| last.is_of(stored, dims, centre));
    let engine = match last {
        Some(engine) => engine,
        None => look_up(kept, front, dims)?,
    };
    if words != (Header { dims, ..*header }).image_words(&engine.params) {
        return Err(Error::new(Code::Binary, "not a valid filter: its length does not fit its parameters"));
    }
    Ok(engine)
}

/// An engine that is not the one used last, made if it is not kept.
fn look_up<'a>(kept: &'a mut Kept, front: &View, dims: u32) -> Result<&'a mut Engine> {
    let (stored, centre) = (front.stored(), front.centre_bytes()?);
    let key = xxhash_rust::xxh3::xxh3_64_with_seed(stored, u64::from(dims));
    if !kept.engines.get(&key).is_some_and(|engine| engine.is_of(stored, dims, centre)) {
        kept.last = None;
        kept.engines.remove(&key);
        let engine = expand(kept, front, dims)?;
        kept.engines.insert(key, Box::new(engine));
        BYTES.set(kept.bytes());
    }
    let engine = kept.engines.get_mut(&key).expect("it was just found or made");
    kept.last = Some((key, NonNull::from(&mut **engine)));
    Ok(engine)
}

fn dims_of(stored: &[u8], vector: &Vector) -> Result<u32> {
    Ok(format::decode_params(stored)?.input(vector)?.dims)
}

/// Makes an engine, after room was made for it.
#[cold]
fn expand(kept: &mut Kept, front: &View, dims: u32) -> Result<Engine> {
    let params = format::decode_params(front.stored())?;
    let room = cache::limit().saturating_sub(Engine::expected_bytes(&params, dims));
    kept.shrink(room);
    filters::shrink(room.saturating_sub(held()));
    let engine = Engine::centred(params, dims, front.centre()?)?;
    MADE.set(MADE.get() + 1);
    // What was dropped, and what expanding took besides.
    if engine.bytes() >= LARGE {
        memory::give_back();
    }
    Ok(engine)
}

impl Kept {
    fn bytes(&self) -> usize {
        self.engines.values().map(|engine| engine.bytes()).sum()
    }

    /// Drops engines, but not the one used last, until they hold at most so many bytes.
    fn shrink(&mut self, most: usize) {
        let (mut held, last) = (self.bytes(), self.last.map(|(key, _)| key));
        let mut keys: Vec<u64> = self.engines.keys().copied().filter(|&key| Some(key) != last).collect();
        while held > most && !keys.is_empty() {
            let key = keys.swap_remove(cache::draw(keys.len()));
            held -= self.engines.remove(&key).map_or(0, |engine| engine.bytes());
        }
        BYTES.set(held);
    }
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
        if let Ok(mut kept) = engines.try_borrow_mut() {
            kept.shrink(most);
        }
    });
}

/// How many engines are kept, and their bytes.
pub fn kept() -> (usize, usize) {
    ENGINES.with_borrow(|kept| (kept.engines.len(), kept.bytes()))
}

/// Drops all of them.
pub fn release() {
    ENGINES.with(|engines| {
        if let Ok(mut kept) = engines.try_borrow_mut() {
            kept.last = None;
            kept.engines = HashMap::default();
            BYTES.set(0);
        }
    });
    memory::give_back();
}
