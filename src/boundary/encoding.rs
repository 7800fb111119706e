//! Conversion of text between the encoding of the database and UTF-8, which Rust uses.

use crate::boundary::error::raise;
use lsbf::error::{Code, Error};
use pgrx::pg_sys;
use std::sync::OnceLock;

const UTF8: i32 = pg_sys::pg_enc::PG_UTF8 as i32;

/// The encoding of the database, which never changes in a backend. It is kept, because a call into PostgreSQL takes longer than
/// hashing a word.
fn database_encoding() -> i32 {
    static ENCODING: OnceLock<i32> = OnceLock::new();
    // SAFETY: only reads a setting of the backend.
    *ENCODING.get_or_init(|| unsafe { pg_sys::GetDatabaseEncoding() })
}

/// Text of the database as UTF-8. Invalid bytes are rejected, even if they passed the checks of the database.
#[inline]
pub fn to_utf8(text: &[u8]) -> &str {
    if text.is_ascii() {
        // SAFETY: ASCII is the same in UTF-8 as in every encoding that a database can have.
        return unsafe { std::str::from_utf8_unchecked(text) };
    }
    encoded_to_utf8(text)
}

fn encoded_to_utf8(text: &[u8]) -> &str {
    if database_encoding() == UTF8 {
        return validated(text);
    }
    // SAFETY: pointer and length are those of the slice; a converted copy ends with a zero byte.
    let converted = unsafe {
        let converted = pg_sys::pg_server_to_any(text.as_ptr().cast(), text.len() as i32, UTF8);
        match converted.cast_const() == text.as_ptr().cast() {
            true => text,
            false => std::ffi::CStr::from_ptr(converted).to_bytes(),
        }
    };
    validated(converted)
}

fn validated(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes)
        .unwrap_or_else(|_| raise(Error::new(Code::Encoding, "invalid byte sequence for encoding \"UTF8\"")))
}

/// A name in the encoding of the database, for use in a message.
pub fn printable(name: &[u8]) -> String {
    match database_encoding() {
        UTF8 => String::from_utf8_lossy(name).into_owned(),
        encoding => String::from_utf8_lossy(&converted(name, encoding, UTF8)).into_owned(),
    }
}

/// Text in the encoding of the database. Characters without an equivalent become question marks, as a message must not
/// fail.
pub fn to_database(text: &str) -> Vec<u8> {
    match database_encoding() {
        UTF8 => text.as_bytes().to_vec(),
        encoding => converted(text.as_bytes(), UTF8, encoding),
    }
}

/// Converts text; characters that cannot be converted become question marks.
fn converted(text: &[u8], from: i32, to: i32) -> Vec<u8> {
    if text.is_ascii() {
        return text.to_vec();
    }
    // SAFETY: a lookup in the system catalog.
    let function = unsafe { pg_sys::FindDefaultConversionProc(from, to) };
    // SQL_ASCII has no conversions: its bytes are used as they are.
    if function == pg_sys::InvalidOid {
        return text.to_vec();
    }
    let (mut out, mut rest) = (Vec::new(), text);
    while !rest.is_empty() {
        let mut part = [0u8; 512];
        // SAFETY: both lengths are those of their buffers; what does not fit is converted in the next round.
        let used = unsafe {
            pg_sys::pg_do_encoding_conversion_buf(
                function,
                from,
                to,
                rest.as_ptr().cast_mut(),
                rest.len() as i32,
                part.as_mut_ptr(),
                part.len() as i32,
                true,
            )
        };
        out.extend(part.iter().take_while(|&&byte| byte != 0));
        let used = match used {
            1.. => used as usize,
            _ => {
                out.push(b'?');
                // SAFETY: the text is not empty.
                unsafe { pg_sys::pg_encoding_mblen(from, rest.as_ptr().cast()) as usize }
            }
        };
        rest = &rest[used.min(rest.len())..];
    }
    out
}
