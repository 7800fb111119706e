//! Engines kept per backend: a filter's functions are expanded once, whatever calls them.

use super::construct::can_be_interrupted;
use crate::error::{Code, Error, Result};
use crate::filter::header::{self, Header, View};
use crate::filter::{Engine, needs_dims};
use crate::vector::Vector;
use std::cell::RefCell;

/// Bytes of engines a backend keeps; the least recently used go first.
const KEPT_BYTES: usize = 64 << 20;
const KEPT: usize = 16;

thread_local! {
    /// Most recently used last.
    static ENGINES: RefCell<Vec<Engine>> = const { RefCell::new(Vec::new()) };
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
    engines: &'a mut Vec<Engine>,
    front: &View,
    header: &Header,
    words: usize,
    vector: &Vector,
) -> Result<&'a mut Engine> {
    let stored = front.stored();
    let dims = match header.dims {
        0 => dims_of(stored, vector)?,
        dims => dims,
    };
    match engines.iter().rposition(|e| e.dims == dims && e.stored == stored) {
        Some(at) if at + 1 == engines.len() => {}
        Some(at) => engines[at..].rotate_left(1),
        None => {
            can_be_interrupted();
            engines.push(Engine::centred(header::decode_params(stored)?, dims, front.centre()?)?);
            shrink(engines);
        }
    }
    let engine = engines.last_mut().expect("one was just found or pushed");
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

fn shrink(engines: &mut Vec<Engine>) {
    while engines.len() > 1 && (engines.len() > KEPT || engines.iter().map(Engine::bytes).sum::<usize>() > KEPT_BYTES) {
        engines.remove(0);
    }
}
