//! Engines kept by the backend: the hash functions of a filter are expanded once, not for every call or statement.

use super::filters;
use crate::cache::{self, Usage};
use lsbf::error::{Code, Error, Result};
use lsbf::filter::Engine;
use lsbf::filter::format::{self, Header, View};
use lsbf::memory;
use lsbf::vector::Vector;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::ptr::NonNull;

/// Creating an engine of at least this many bytes takes so long that the time to return freed memory to the system does
/// not matter.
const LARGE: usize = 1 << 20;

/// The engines that are kept.
struct Engines {
    /// By a hash of parameters and dims. If two engines have the same hash, only one of them is kept.
    by_hash: HashMap<u64, Box<Engine>, BuildHasherDefault<Identity>>,
    /// The engine used last: usually it is also the next one.
    last: Option<(u64, NonNull<Engine>)>,
}

thread_local! {
    static ENGINES: RefCell<Engines> =
        const { RefCell::new(Engines { by_hash: HashMap::with_hasher(BuildHasherDefault::new()), last: None }) };
    /// Bytes of all engines when one was last created or dropped.
    static BYTES: Cell<usize> = const { Cell::new(0) };
    /// The number of engines created in this session.
    static CREATED: Cell<u64> = const { Cell::new(0) };
    /// The bytes to shrink to when the call that uses an engine ends.
    static SHRINK_LATER: Cell<Option<usize>> = const { Cell::new(None) };
}

/// Keys are hashes already.
#[derive(Default)]
struct Identity(u64);
impl Hasher for Identity {
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

/// Runs `body` with the engine of a filter of `words` words. If the filter has no dims yet, those of `vector` are used.
#[inline]
pub fn with<R>(front: &View, words: usize, vector: &Vector, body: impl FnOnce(&mut Engine) -> Result<R>) -> Result<R> {
    with_parameters_of(front, &front.header, words, vector, body)
}

/// The same for a filter with this header. Parameters and centre are read from `other`, a filter that has the same
/// ones.
#[inline]
pub fn with_parameters_of<R>(
    other: &View,
    header: &Header,
    words: usize,
    vector: &Vector,
    body: impl FnOnce(&mut Engine) -> Result<R>,
) -> Result<R> {
    let result = ENGINES.with_borrow_mut(|engines| body(find(engines, other, header, words, vector)?));
    if let Some(limit) = SHRINK_LATER.take() {
        shrink(limit);
    }
    result
}

#[inline]
fn find<'a>(
    engines: &'a mut Engines,
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
    // SAFETY: engines are boxed, and `last` is reset before the engine it points to is dropped.
    let last = engines.last.map(|(_, mut last)| unsafe { last.as_mut() });
    let last = last.filter(|last| last.is_of(stored, dims, centre));
    let engine = match last {
        Some(engine) => engine,
        None => look_up(engines, front, dims)?,
    };
    if words != engine.image_words(&Header { dims, ..*header }) {
        return Err(Error::new(Code::Binary, "not a valid filter: its length does not match its parameters"));
    }
    Ok(engine)
}

/// An engine that is not the one used last. It is created if it is not kept.
fn look_up<'a>(engines: &'a mut Engines, front: &View, dims: u32) -> Result<&'a mut Engine> {
    let (stored, centre) = (front.stored(), front.centre_bytes()?);
    let key = xxhash_rust::xxh3::xxh3_64_with_seed(stored, u64::from(dims));
    if !engines.by_hash.get(&key).is_some_and(|engine| engine.is_of(stored, dims, centre)) {
        engines.last = None;
        engines.by_hash.remove(&key);
        let engine = expand(engines, front, dims)?;
        engines.by_hash.insert(key, Box::new(engine));
        BYTES.set(engines.bytes());
    }
    let engine = engines.by_hash.get_mut(&key).expect("it was just found or created");
    engines.last = Some((key, NonNull::from(&mut **engine)));
    Ok(engine)
}

fn dims_of(stored: &[u8], vector: &Vector) -> Result<u32> {
    Ok(format::decode_params(stored)?.input(vector)?.dims)
}

/// Creates an engine, after dropping others if the limit would be exceeded.
#[cold]
fn expand(engines: &mut Engines, front: &View, dims: u32) -> Result<Engine> {
    let params = format::decode_params(front.stored())?;
    let room = cache::limit().saturating_sub(Engine::expected_bytes(&params, dims));
    engines.shrink(room);
    filters::shrink(room.saturating_sub(held()));
    let engine = Engine::centred(params, dims, front.centre()?)?;
    CREATED.set(CREATED.get() + 1);
    // Memory of dropped engines and temporary memory of the expansion.
    if engine.bytes() >= LARGE {
        memory::trim();
    }
    Ok(engine)
}

impl Engines {
    fn bytes(&self) -> usize {
        self.by_hash.values().map(|engine| engine.bytes()).sum()
    }

    /// Drops engines, but not the one used last, until the others have at most `limit` bytes.
    fn shrink(&mut self, limit: usize) {
        let (mut held, last) = (self.bytes(), self.last.map(|(key, _)| key));
        let mut keys: Vec<u64> = self.by_hash.keys().copied().filter(|&key| Some(key) != last).collect();
        while held > limit && !keys.is_empty() {
            let key = keys.swap_remove(cache::draw(keys.len()));
            held -= self.by_hash.remove(&key).map_or(0, |engine| engine.bytes());
        }
        BYTES.set(held);
    }
}

/// Bytes of all engines.
pub fn held() -> usize {
    BYTES.get()
}

/// Drops engines, but not the one used last, until the others have at most `limit` bytes.
pub fn shrink(limit: usize) {
    ENGINES.with(|engines| match engines.try_borrow_mut() {
        Ok(mut engines) => engines.shrink(limit),
        // A query that uses an engine has read a whole filter. Shrink when that query ends.
        Err(_) => SHRINK_LATER.set(Some(limit)),
    });
}

/// The engines that are kept.
pub fn usage() -> Usage {
    ENGINES.with_borrow(|engines| Usage {
        entries: engines.by_hash.len(),
        bytes: engines.bytes(),
        loads: CREATED.get(),
    })
}

/// Drops all engines.
pub fn release() {
    ENGINES.with(|engines| {
        if let Ok(mut engines) = engines.try_borrow_mut() {
            engines.last = None;
            engines.by_hash = HashMap::default();
            BYTES.set(0);
        }
    });
    memory::trim();
}
