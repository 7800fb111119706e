//! The text forms of vectors, bit strings and sets.

use super::Vector;
use super::set::text_element;
use crate::error::{Error, Result};
use crate::limits;

/// A vector parsed from text, for untyped literals and parameters.
#[derive(Debug, Clone, PartialEq)]
pub enum Parsed {
    Reals(Vec<f64>),
    Bits { bytes: Vec<u8>, len: usize },
    Set(Vec<u64>),
}

impl Parsed {
    pub fn view(&self) -> Vector<'_> {
        match self {
            Parsed::Reals(x) => Vector::F64(x),
            Parsed::Bits { bytes, len } => Vector::Bits { bytes, len: *len },
            Parsed::Set(x) => Vector::Hashed(x),
        }
    }
}

fn bad_text(what: &str, text: &str) -> Error {
    let shown: String = text.chars().take(40).collect();
    let dots = if text.chars().nth(40).is_some() { "..." } else { "" };
    Error::new(crate::error::Code::Text, format!("invalid {what}: \"{shown}{dots}\""))
}

const VECTOR_FORM: &str = "Write it as [1,2,3] or {1,2,3}.";

const SET_FORM: &str =
    "Write it as {a,b,c} or [1,2,3], with double quotes around elements that contain commas or spaces.";

fn elements<'a>(text: &'a str, what: &str, form: &str) -> Result<&'a str> {
    let inner = text.trim();
    let stripped = inner
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'))
        .or_else(|| inner.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')));
    stripped.ok_or_else(|| bad_text(what, text).with_hint(form))
}

/// Checks the number of elements before anything is allocated for them.
fn check_count(inner: &str, max: usize, what: &str) -> Result<()> {
    if inner.len() > limits::MAX_TEXT {
        return Err(Error::too_large(format!(
            "text of {} bytes exceeds the limit of {}",
            inner.len(),
            limits::MAX_TEXT
        )));
    }
    let count = inner.bytes().filter(|&b| b == b',').count() + 1;
    if count > max {
        return Err(Error::too_large(format!("{count} {what} exceed the limit of {max}")));
    }
    Ok(())
}

/// Parses `[1,2,3]` or `{1,2,3}`.
pub fn parse_reals(text: &str) -> Result<Parsed> {
    let inner = elements(text, "vector", VECTOR_FORM)?;
    if inner.trim().is_empty() {
        return Ok(Parsed::Reals(Vec::new()));
    }
    check_count(inner, limits::MAX_DIMS as usize, "dimensions")?;
    let numbers: std::result::Result<Vec<f64>, _> = inner.split(',').map(|s| s.trim().parse::<f64>()).collect();
    numbers.map(Parsed::Reals).map_err(|_| bad_text("vector", text).with_hint(VECTOR_FORM))
}

/// Parses `0101`.
pub fn parse_bits(text: &str) -> Result<Parsed> {
    let trimmed = text.trim();
    if trimmed.len() > limits::MAX_DIMS as usize {
        return Err(Error::too_large(format!("{} bits exceed the limit of {}", trimmed.len(), limits::MAX_DIMS)));
    }
    let mut bytes = vec![0u8; trimmed.len().div_ceil(8)];
    for (i, c) in trimmed.bytes().enumerate() {
        match c {
            b'0' => {}
            b'1' => bytes[i / 8] |= 0x80 >> (i % 8),
            _ => return Err(bad_text("bit string", text).with_hint("Write it as 0101, or cast it to bit or bytea.")),
        }
    }
    Ok(Parsed::Bits { bytes, len: trimmed.len() })
}

/// Parses a set written as `{a,b,"c d"}` or `[1,2]`.
pub fn parse_set(text: &str) -> Result<Parsed> {
    let inner = elements(text, "set", SET_FORM)?;
    check_count(inner, limits::MAX_SET, "elements")?;
    let mut out = Vec::new();
    let mut chars = inner.chars().peekable();
    loop {
        while chars.next_if(|c| c.is_whitespace()).is_some() {}
        let Some(&first) = chars.peek() else { break };
        let mut item = String::new();
        if first == '"' {
            chars.next();
            loop {
                match chars.next() {
                    Some('"') => break,
                    Some('\\') => item.push(chars.next().ok_or_else(|| bad_text("set", text).with_hint(SET_FORM))?),
                    Some(c) => item.push(c),
                    None => return Err(bad_text("set", text).with_hint(SET_FORM)),
                }
            }
        } else {
            while let Some(c) = chars.next_if(|c| *c != ',') {
                item.push(c);
            }
            item.truncate(item.trim_end().len());
            if item.is_empty() || item.eq_ignore_ascii_case("null") {
                return Err(bad_text("set", text).with_hint("Elements must not be empty or NULL."));
            }
        }
        out.push(text_element(&item));
        while chars.next_if(|c| c.is_whitespace()).is_some() {}
        match chars.next() {
            None => break,
            Some(',') if chars.peek().is_some() => {}
            _ => return Err(bad_text("set", text).with_hint(SET_FORM)),
        }
    }
    Ok(Parsed::Set(out))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_parse_with_both_brackets_and_invalid_text_is_rejected() {
        assert_eq!(parse_reals("[1, 2.5,-3]").unwrap(), Parsed::Reals(vec![1.0, 2.5, -3.0]));
        assert_eq!(parse_reals(" {1e3} ").unwrap(), Parsed::Reals(vec![1000.0]));
        assert_eq!(parse_reals("{}").unwrap(), Parsed::Reals(vec![]));
        for bad in ["", "1,2", "[1,2", "[1,,2]", "[1,x]", "{1]", "[1 2]"] {
            assert!(parse_reals(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_first_bit_is_the_most_significant() {
        assert_eq!(parse_bits("100000001").unwrap(), Parsed::Bits { bytes: vec![0x80, 0x80], len: 9 });
        assert!(parse_bits("012").is_err());
    }

    #[test]
    fn sets_parse_quoted_elements_and_integers() {
        let set = |s| parse_set(s).unwrap();
        assert_eq!(set("{1,2}"), set("[ 1 , \"2\" ]"));
        assert_eq!(set(r#"{"a b",c}"#), set(r#"{a b,"c"}"#));
        assert_eq!(set(r#"{"a\"b"}"#), Parsed::Set(vec![text_element("a\"b")]));
        for bad in ["1", "{,}", "{a,}", "{\"a}", "{a,NULL}"] {
            assert!(parse_set(bad).is_err(), "{bad}");
        }
    }
}
