//! The texts of JSON: where they end, and what they say.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};
use wide::u8x16;

/// Width of one vector, in bytes.
const LANES: usize = 16;

/// Returns the first place from `at` on of a quote or a backslash, and which of them it is.
#[inline]
pub(super) fn quote_or_escape(json: &[u8], mut at: usize) -> Option<(usize, u8)> {
    while let Some(chunk) = json.get(at..).and_then(|rest| rest.first_chunk::<LANES>()) {
        let found = specials(chunk);
        if found != 0 {
            at += found.trailing_zeros() as usize;
            return Some((at, *json.get(at)?));
        }
        at += LANES;
    }
    let rest = json.get(at..)?;
    let place = rest.iter().position(|byte| matches!(byte, b'"' | b'\\'))?;
    Some((at + place, *rest.get(place)?))
}

/// Returns a bit for each byte, set for quotes and backslashes; the lowest for the first.
#[inline]
fn specials(chunk: &[u8; LANES]) -> u32 {
    let lanes = u8x16::new(*chunk);
    (lanes.simd_eq(u8x16::splat(b'"')) | lanes.simd_eq(u8x16::splat(b'\\'))).to_bitmask()
}

/// Returns a text as a Python string. Halves of surrogate pairs stay what they are, as `json.loads` has it; bytes that
/// are no UTF-8 become U+FFFD.
#[inline]
pub(super) fn plain<'py>(py: Python<'py>, text: &[u8]) -> PyResult<Bound<'py, PyString>> {
    if let Ok(string) = PyString::from_bytes(py, text) {
        return Ok(string);
    }
    let bytes = PyBytes::new(py, text);
    match PyString::from_encoded_object(&bytes, Some(c"utf-8"), Some(c"surrogatepass")) {
        Ok(string) => Ok(string),
        Err(_) => Ok(PyString::new(py, &String::from_utf8_lossy(text))),
    }
}

/// Resolves the escapes of the text from `start` on, whose first is at `at`, into `text`. Returns the length of the
/// result, and the place after the closing quote.
///
/// Texts of agents are lines of code, with an escape every few bytes: sixteen bytes are copied at a time, and those
/// after an escape or the end are overwritten.
pub(super) fn unescape(
    json: &[u8],
    start: usize,
    mut at: usize,
    text: &mut Vec<u8>,
) -> PyResult<(usize, usize)> {
    // A resolved escape is never longer than the escape. The buffer only grows, so that it is filled once.
    let needed = json.len() - start + LANES;
    if text.len() < needed {
        text.resize(needed, 0);
    }
    let mut out = 0;
    put(json.get(start..at).unwrap_or_default(), text, &mut out);
    loop {
        match json.get(at..).and_then(|rest| rest.first_chunk::<LANES>()) {
            Some(chunk) => {
                if let Some(place) = text.get_mut(out..out + LANES) {
                    place.copy_from_slice(chunk);
                }
                let found = specials(chunk);
                if found == 0 {
                    at += LANES;
                    out += LANES;
                    continue;
                }
                let plain = found.trailing_zeros() as usize;
                at += plain;
                out += plain;
            }
            None => match json.get(at) {
                None => return Err(invalid(at)),
                Some(b'"' | b'\\') => {}
                Some(byte) => {
                    put(&[*byte], text, &mut out);
                    at += 1;
                    continue;
                }
            },
        }
        if json.get(at) == Some(&b'"') {
            return Ok((out, at + 1));
        }
        let byte = match json.get(at + 1) {
            Some(b'n') => b'\n',
            Some(b't') => b'\t',
            Some(b'r') => b'\r',
            Some(b'b') => 8,
            Some(b'f') => 12,
            Some(byte @ (b'"' | b'\\' | b'/')) => *byte,
            Some(b'u') => {
                let high = unit(json, at + 2)?;
                at += 6;
                let pair = (0xd800..0xdc00).contains(&high) && json.get(at..at + 2) == Some(b"\\u");
                let low = if pair { unit(json, at + 2).ok() } else { None };
                match low.filter(|low| (0xdc00..0xe000).contains(low)) {
                    Some(low) => {
                        at += 6;
                        push(0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00), text, &mut out);
                    }
                    None => push(high, text, &mut out),
                }
                continue;
            }
            _ => return Err(invalid(at)),
        };
        if let Some(place) = text.get_mut(out) {
            *place = byte;
        }
        out += 1;
        at += 2;
    }
}

/// Writes bytes at a place of a text that is long enough.
fn put(bytes: &[u8], text: &mut [u8], out: &mut usize) {
    if let Some(place) = text.get_mut(*out..*out + bytes.len()) {
        place.copy_from_slice(bytes);
    }
    *out += bytes.len();
}

/// Returns the number that four hexadecimal digits stand for.
fn unit(json: &[u8], at: usize) -> PyResult<u32> {
    let digits = json.get(at..at + 4).ok_or_else(|| invalid(at))?;
    digits.iter().try_fold(0, |number, &digit| {
        (digit as char).to_digit(16).map(|digit| number * 16 + digit).ok_or_else(|| invalid(at))
    })
}

/// Writes a code point as UTF-8. Halves of surrogate pairs are written in the same way, as three bytes.
fn push(point: u32, text: &mut [u8], out: &mut usize) {
    match char::from_u32(point) {
        Some(character) => put(character.encode_utf8(&mut [0; 4]).as_bytes(), text, out),
        None => {
            let low = |shift: u32| 0x80 | ((point >> shift) & 0x3f) as u8;
            put(&[0xe0 | (point >> 12) as u8, low(6), low(0)], text, out);
        }
    }
}

pub(super) fn invalid(at: usize) -> PyErr {
    PyValueError::new_err(format!("invalid JSON at byte {at}"))
}
