//! Text between the database's encoding and Rust's, which is UTF-8.

use crate::boundary::error::raise;
use lsbf::error::{Code, Error};
use pgrx::pg_sys;

const UTF8: i32 = pg_sys::pg_enc::PG_UTF8 as i32;

/// The encoding of the database.
fn server() -> i32 {
    // SAFETY: reads a setting of the backend.
    unsafe { pg_sys::GetDatabaseEncoding() }
}

/// Text of the database as UTF-8. Bytes that are no text are refused, even if they got past the checks of the database.
pub fn to_utf8(text: &[u8]) -> &str {
    if server() == UTF8 {
        return checked(text);
    }
    // SAFETY: the bytes are as many as their length says. What is converted ends with a zero byte.
    let converted = unsafe {
        let converted = pg_sys::pg_server_to_any(text.as_ptr().cast(), text.len() as i32, UTF8);
        match converted.cast_const() == text.as_ptr().cast() {
            true => text,
            false => std::ffi::CStr::from_ptr(converted).to_bytes(),
        }
    };
    checked(converted)
}

fn checked(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes)
        .unwrap_or_else(|_| raise(Error::new(Code::Encoding, "invalid byte sequence for encoding \"UTF8\"")))
}

/// A name in the database's encoding, to be shown in a message.
pub fn shown(name: &[u8]) -> String {
    match server() {
        UTF8 => String::from_utf8_lossy(name).into_owned(),
        server => String::from_utf8_lossy(&converted(name, server, UTF8)).into_owned(),
    }
}

/// Text in the database's encoding. Characters that it does not have become question marks: a message must not fail.
pub fn to_server(text: &str) -> Vec<u8> {
    match server() {
        UTF8 => text.as_bytes().to_vec(),
        server => converted(text.as_bytes(), UTF8, server),
    }
}

/// Converts as much as can be converted.
fn converted(text: &[u8], from: i32, to: i32) -> Vec<u8> {
    if text.is_ascii() {
        return text.to_vec();
    }
    // SAFETY: a lookup in the system catalog by two numbers.
    let function = unsafe { pg_sys::FindDefaultConversionProc(from, to) };
    // SQL_ASCII has no conversions: its bytes are taken as they are.
    if function == pg_sys::InvalidOid {
        return text.to_vec();
    }
    let (mut out, mut rest) = (Vec::new(), text);
    while !rest.is_empty() {
        let mut part = [0u8; 512];
        // SAFETY: both lengths are those of their buffers; what does not fit is left for the next round.
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
