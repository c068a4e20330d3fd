//! The texts of JSON: where they end, and what they say.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};
use wide::u8x16;

/// Width of one vector, in bytes.
const LANES: usize = 16;
/// The number of bytes whose escapes are found together.
const BLOCK: usize = 64;
/// A block, and what a copy of as many bytes that begins in it may reach.
const WINDOW: usize = 2 * BLOCK;

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

/// Returns the same for the first 64 bytes of a window.
#[inline]
fn block_specials(window: &[u8; WINDOW]) -> u64 {
    let chunks = window.as_chunks::<LANES>().0.iter().take(BLOCK / LANES);
    chunks.rev().fold(0, |bits, chunk| bits << LANES | u64::from(specials(chunk)))
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
/// Texts of agents are lines of code, with an escape every few bytes: the escapes of 64 bytes are found together. What is
/// copied after the next escape is overwritten.
pub(super) fn unescape(
    json: &[u8],
    start: usize,
    mut at: usize,
    text: &mut Vec<u8>,
) -> PyResult<(usize, usize)> {
    // A resolved escape is never longer than the escape. The buffer only grows, so that it is filled once.
    let needed = json.len() - start + WINDOW;
    if text.len() < needed {
        text.resize(needed, 0);
    }
    let text = text.as_mut_slice();
    let mut out = 0;
    put(json.get(start..at).unwrap_or_default(), text, &mut out);
    while let Some(window) = json.get(at..).and_then(|rest| rest.first_chunk::<WINDOW>()) {
        let Some(room) = text.get_mut(out..).and_then(|rest| rest.first_chunk_mut::<WINDOW>())
        else {
            break;
        };
        // What is read of the window, and what is written to the room.
        let (mut read, mut written) = (0, 0);
        let mut found = block_specials(window);
        let is_open = loop {
            let next = (found.trailing_zeros() as usize).min(BLOCK);
            // Always as many bytes as may be needed: a branch on their number would be mispredicted at most escapes.
            let from = window[read..].first_chunk::<BLOCK>();
            let to = room[written..].first_chunk_mut::<BLOCK>();
            if let (Some(from), Some(to)) = (from, to) {
                *to = *from;
            }
            written += next - read;
            read = next;
            if read >= BLOCK || window[read] == b'"' {
                break read >= BLOCK;
            }
            let byte = ESCAPES[usize::from(window[read + 1])];
            if byte == 0 {
                break true;
            }
            room[written] = byte;
            written += 1;
            read += 2;
            if read >= BLOCK {
                break true;
            }
            found &= u64::MAX << read;
        };
        at += read;
        out += written;
        if !is_open {
            return Ok((out, at + 1));
        }
        if read < BLOCK {
            at = resolve(json, at, text, &mut out)?;
        }
    }
    // The rest does not fill a window.
    loop {
        match json.get(at) {
            None => return Err(invalid(at)),
            Some(b'"') => return Ok((out, at + 1)),
            Some(b'\\') => at = resolve(json, at, text, &mut out)?,
            Some(byte) => {
                put(&[*byte], text, &mut out);
                at += 1;
            }
        }
    }
}

/// Resolves the escape at `at`. Returns the place after it.
fn resolve(json: &[u8], mut at: usize, text: &mut [u8], out: &mut usize) -> PyResult<usize> {
    let escape = *json.get(at + 1).ok_or_else(|| invalid(at))?;
    let byte = ESCAPES[usize::from(escape)];
    if byte != 0 {
        put(&[byte], text, out);
        return Ok(at + 2);
    }
    if escape != b'u' {
        return Err(invalid(at));
    }
    let high = unit(json, at + 2)?;
    at += 6;
    let pair = (0xd800..0xdc00).contains(&high) && json.get(at..at + 2) == Some(b"\\u");
    let low = if pair { unit(json, at + 2).ok() } else { None };
    match low.filter(|low| (0xdc00..0xe000).contains(low)) {
        Some(low) => {
            at += 6;
            push(0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00), text, out);
        }
        None => push(high, text, out),
    }
    Ok(at)
}

/// The bytes that escapes of one letter stand for; 0 for any other byte.
const ESCAPES: [u8; 256] = {
    let mut bytes = [0; 256];
    bytes[b'"' as usize] = b'"';
    bytes[b'\\' as usize] = b'\\';
    bytes[b'/' as usize] = b'/';
    bytes[b'b' as usize] = 8;
    bytes[b'f' as usize] = 12;
    bytes[b'n' as usize] = b'\n';
    bytes[b'r' as usize] = b'\r';
    bytes[b't' as usize] = b'\t';
    bytes
};

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
    let number = digits.iter().try_fold(0, |number, &digit| {
        (digit as char).to_digit(16).map(|digit| number * 16 + digit)
    });
    number.ok_or_else(|| invalid(at))
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
