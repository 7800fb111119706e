//! Input and output: text, binary and bytea form.

use crate::boundary::call::{Call, pg_function};
use crate::boundary::guard::check_for_interrupts;
use crate::boundary::image;
use crate::boundary::signature;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use base64::{DecodeError, DecodeSliceError};
use lsbf::error::{Code, Error, Result};
use lsbf::filter::format;
use pgrx::pg_sys::{self, Datum};
use pgrx::varlena::{vardata_any, varsize_any_exhdr};

/// Bytes encoded or decoded between checks for interrupts: a multiple of three, so that base64 needs no padding.
const STEP: usize = 3 << 20;
/// The same in characters of base64.
const STEP_TEXT: usize = STEP / 3 * 4;

/// The text form is base64 of the binary form.
fn lsbf_in(call: &Call) -> Result<Datum> {
    // SAFETY: the argument is a C string; the buffer has the maximum length that its base64 can decode to.
    let payload = unsafe {
        let text =
            std::ffi::CStr::from_ptr(call.required(0, &[pg_sys::CSTRINGOID]).cast_mut_ptr()).to_bytes().trim_ascii();
        let size = base64::decoded_len_estimate(text.len());
        let buffer = std::slice::from_raw_parts_mut(pg_sys::palloc(size.max(1)).cast::<u8>(), size);
        let used = decode(text, buffer)?;
        &buffer[..used]
    };
    let image = image::from_payload(payload).map_err(|e| Error { code: Code::Text, ..e })?;
    // SAFETY: allocated above, and not used any more.
    unsafe { pg_sys::pfree(payload.as_ptr().cast_mut().cast()) };
    Ok(image::datum(image))
}

/// Decodes base64 into a buffer; returns the number of bytes.
fn decode(text: &[u8], buffer: &mut [u8]) -> Result<usize> {
    let mut used = 0;
    for (number, part) in text.chunks(STEP_TEXT).enumerate() {
        check_for_interrupts();
        let start = number * STEP_TEXT;
        let count = STANDARD.decode_slice(part, &mut buffer[used..]).map_err(|error| not_base64(error, start))?;
        used += count;
        // Padding is allowed only at the end.
        if start + part.len() < text.len() && count != STEP {
            return Err(not_base64(DecodeError::InvalidPadding.into(), start));
        }
    }
    Ok(used)
}

fn not_base64(error: DecodeSliceError, start: usize) -> Error {
    let why = match error {
        DecodeSliceError::DecodeError(DecodeError::InvalidByte(at, byte)) => {
            DecodeError::InvalidByte(start + at, byte).to_string()
        }
        DecodeSliceError::DecodeError(DecodeError::InvalidLastSymbol(at, byte)) => {
            DecodeError::InvalidLastSymbol(start + at, byte).to_string()
        }
        other => other.to_string(),
    };
    let why = why.trim_start_matches("DecodeError: ").to_lowercase();
    Error::new(Code::Text, format!("invalid input syntax for type lsbf: {}", why.trim_end_matches('.'))).with_hint(
        "The text form of a filter is base64. To create an empty filter, use lsbf_design_for, lsqf_new, dsbf_new, lsbf_new or \
         ilbf_new.",
    )
}
pg_function!("lsbf_in" -> signature::LSBF, lsbf_in);

fn lsbf_out(call: &Call) -> Result<Datum> {
    let payload = format::payload(image::read(call.required_filter(0))?.words);
    let size = base64::encoded_len(payload.len(), true).ok_or_else(|| Error::too_large("filter is too large"))?;
    // SAFETY: the buffer has one more byte than the text, for the terminating zero; all of it is written.
    unsafe {
        let buffer = pg_sys::palloc(size + 1).cast::<u8>();
        let text = std::slice::from_raw_parts_mut(buffer, size);
        for (from, to) in payload.chunks(STEP).zip(text.chunks_mut(STEP_TEXT)) {
            check_for_interrupts();
            STANDARD.encode_slice(from, to).map_err(|_| Error::too_large("filter is too large"))?;
        }
        buffer.add(size).write(0);
        Ok(Datum::from(buffer))
    }
}
pg_function!("lsbf_out" -> pg_sys::CSTRINGOID, lsbf_out);

fn lsbf_recv(call: &Call) -> Result<Datum> {
    // SAFETY: the argument of a receive function is a StringInfo, whose remaining bytes are the value.
    let payload = unsafe {
        let buffer = call.required(0, &[pg_sys::INTERNALOID]).cast_mut_ptr::<pg_sys::StringInfoData>();
        let left = (*buffer).len - (*buffer).cursor;
        let start = pg_sys::pq_getmsgbytes(buffer, left);
        std::slice::from_raw_parts(start.cast::<u8>(), left as usize)
    };
    image::from_payload(payload).map(|image| image::datum(image))
}
pg_function!("lsbf_recv" -> signature::LSBF, lsbf_recv);

/// The binary form as bytea, which is also what lsbf_send returns.
fn to_bytea(call: &Call) -> Result<Datum> {
    Ok(image::bytea(format::payload(image::read(call.required_filter(0))?.words)))
}
pg_function!("lsbf_send" -> pg_sys::BYTEAOID, to_bytea);
pg_function!("lsbf_to_bytea" -> pg_sys::BYTEAOID, to_bytea);

fn from_bytea(call: &Call) -> Result<Datum> {
    // SAFETY: the argument is a bytea.
    let payload = unsafe {
        let plain = pg_sys::pg_detoast_datum_packed(call.required(0, &[pg_sys::BYTEAOID]).cast_mut_ptr());
        std::slice::from_raw_parts(vardata_any(plain).cast::<u8>(), varsize_any_exhdr(plain))
    };
    image::from_payload(payload).map(|image| image::datum(image))
}
pg_function!("lsbf_from_bytea" -> signature::LSBF, from_bytea);
