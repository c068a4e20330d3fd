//! Reads JSON into Python objects.

use memchr::memchr2;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFloat, PyInt, PyList, PyNone, PyString};

/// Texts up to this length are looked up among those that were read before.
const SHORT: usize = 24;
/// The number of short texts that are kept. A power of two.
const KEPT: usize = 1024;

/// Reads JSON values, and remembers the keys and short texts that it has read.
pub(crate) struct Reader<'py> {
    py: Python<'py>,
    kept: Vec<Option<Kept<'py>>>,
    text: Vec<u8>,
}

/// A short text, padded with zeros, and its Python string.
struct Kept<'py> {
    bytes: [u8; SHORT],
    length: u8,
    string: Bound<'py, PyString>,
}

/// A list or a dict that is not complete yet.
enum Open<'py> {
    List(Vec<Bound<'py, PyAny>>),
    Dict(Bound<'py, PyDict>, Bound<'py, PyString>),
}

impl<'py> Reader<'py> {
    pub(crate) fn new(py: Python<'py>) -> Self {
        Reader { py, kept: (0..KEPT).map(|_| None).collect(), text: Vec::new() }
    }

    /// Returns one JSON value. `NaN`, `Infinity` and `-Infinity` are read as Python reads them.
    pub(crate) fn value(&mut self, json: &[u8]) -> PyResult<Bound<'py, PyAny>> {
        let mut open: Vec<Open<'py>> = Vec::new();
        let mut at = space(json, 0);
        loop {
            // Here a value begins.
            let mut value = match json.get(at) {
                Some(b'"') => {
                    let (string, end) = self.string(json, at + 1)?;
                    at = end;
                    string.into_any()
                }
                Some(b'{') => {
                    at = space(json, at + 1);
                    let dict = PyDict::new(self.py);
                    if json.get(at) != Some(&b'}') {
                        let (key, end) = self.key(json, at)?;
                        at = end;
                        open.push(Open::Dict(dict, key));
                        continue;
                    }
                    at += 1;
                    dict.into_any()
                }
                Some(b'[') => {
                    at = space(json, at + 1);
                    if json.get(at) != Some(&b']') {
                        open.push(Open::List(Vec::new()));
                        continue;
                    }
                    at += 1;
                    PyList::empty(self.py).into_any()
                }
                Some(_) => {
                    let (value, end) = self.scalar(json, at)?;
                    at = end;
                    value
                }
                None => return Err(invalid(at)),
            };
            // Here a value is complete, and with it perhaps the lists and dicts around it.
            loop {
                at = space(json, at);
                match open.last_mut() {
                    None if at == json.len() => return Ok(value),
                    None => return Err(invalid(at)),
                    Some(Open::List(items)) => {
                        items.push(value);
                        match json.get(at) {
                            Some(b',') => {
                                at = space(json, at + 1);
                                break;
                            }
                            Some(b']') => at += 1,
                            _ => return Err(invalid(at)),
                        }
                    }
                    Some(Open::Dict(dict, key)) => {
                        dict.set_item(&*key, value)?;
                        match json.get(at) {
                            Some(b',') => {
                                let (next, end) = self.key(json, space(json, at + 1))?;
                                *key = next;
                                at = end;
                                break;
                            }
                            Some(b'}') => at += 1,
                            _ => return Err(invalid(at)),
                        }
                    }
                }
                value = match open.pop() {
                    Some(Open::List(items)) => PyList::new(self.py, items)?.into_any(),
                    Some(Open::Dict(dict, _)) => dict.into_any(),
                    None => return Err(invalid(at)),
                };
            }
        }
    }

    /// Returns a key, and the start of its value.
    fn key(&mut self, json: &[u8], at: usize) -> PyResult<(Bound<'py, PyString>, usize)> {
        if json.get(at) != Some(&b'"') {
            return Err(invalid(at));
        }
        let (key, end) = self.string(json, at + 1)?;
        let end = space(json, end);
        match json.get(end) {
            Some(b':') => Ok((key, space(json, end + 1))),
            _ => Err(invalid(end)),
        }
    }

    /// Returns the string that begins at `start`, after its quote, and the place after its end.
    fn string(&mut self, json: &[u8], start: usize) -> PyResult<(Bound<'py, PyString>, usize)> {
        let rest = json.get(start..).unwrap_or_default();
        let length = memchr2(b'"', b'\\', rest).ok_or_else(|| invalid(json.len()))?;
        if rest.get(length) == Some(&b'"') {
            let text = rest.get(..length).unwrap_or_default();
            let string = if length <= SHORT { self.short(text)? } else { plain(self.py, text)? };
            return Ok((string, start + length + 1));
        }
        let (length, end) = unescape(json, start, &mut self.text)?;
        Ok((plain(self.py, self.text.get(..length).unwrap_or_default())?, end))
    }

    /// Returns a short text, made only once if it comes again.
    fn short(&mut self, text: &[u8]) -> PyResult<Bound<'py, PyString>> {
        let mut bytes = [0; SHORT];
        if let Some(start) = bytes.get_mut(..text.len()) {
            start.copy_from_slice(text);
        }
        let word = |at: usize| {
            bytes
                .get(at..)
                .and_then(|rest| rest.first_chunk())
                .map_or(0, |it| u64::from_le_bytes(*it))
        };
        let mixed =
            word(0) ^ word(8).rotate_left(23) ^ word(16).rotate_left(41) ^ text.len() as u64;
        let slot = (mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 54) as usize % KEPT;
        let length = text.len() as u8;
        if let Some(Some(kept)) = self.kept.get(slot)
            && kept.length == length
            && kept.bytes == bytes
        {
            return Ok(kept.string.clone());
        }
        let string = plain(self.py, text)?;
        if let Some(place) = self.kept.get_mut(slot) {
            *place = Some(Kept { bytes, length, string: string.clone() });
        }
        Ok(string)
    }

    /// Returns a number or a word, and the place after it.
    fn scalar(&self, json: &[u8], at: usize) -> PyResult<(Bound<'py, PyAny>, usize)> {
        let rest = json.get(at..).unwrap_or_default();
        let is_inside =
            |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
        let length = rest.iter().position(|byte| !is_inside(byte)).unwrap_or(rest.len());
        let word = rest.get(..length).unwrap_or_default();
        let py = self.py;
        let value = match word {
            b"null" => PyNone::get(py).to_owned().into_any(),
            b"true" => true.into_pyobject(py)?.to_owned().into_any(),
            b"false" => false.into_pyobject(py)?.to_owned().into_any(),
            b"NaN" => PyFloat::new(py, f64::NAN).into_any(),
            b"Infinity" => PyFloat::new(py, f64::INFINITY).into_any(),
            b"-Infinity" => PyFloat::new(py, f64::NEG_INFINITY).into_any(),
            _ => {
                let text = std::str::from_utf8(word).map_err(|_| invalid(at))?;
                let digits = text.strip_prefix('-').unwrap_or(text);
                if digits.is_empty() || !digits.as_bytes().first().is_some_and(u8::is_ascii_digit) {
                    return Err(invalid(at));
                }
                if digits.bytes().all(|byte| byte.is_ascii_digit()) {
                    match text.parse::<i64>() {
                        Ok(number) => number.into_pyobject(py)?.into_any(),
                        Err(_) => py.get_type::<PyInt>().call1((text,))?,
                    }
                } else {
                    PyFloat::new(py, text.parse().map_err(|_| invalid(at))?).into_any()
                }
            }
        };
        Ok((value, at + length))
    }
}

/// Returns a text as a Python string. Halves of surrogate pairs stay what they are, as `json.loads` has it; bytes that
/// are no UTF-8 become U+FFFD.
fn plain<'py>(py: Python<'py>, text: &[u8]) -> PyResult<Bound<'py, PyString>> {
    if let Ok(string) = PyString::from_bytes(py, text) {
        return Ok(string);
    }
    let bytes = pyo3::types::PyBytes::new(py, text);
    match PyString::from_encoded_object(&bytes, Some(c"utf-8"), Some(c"surrogatepass")) {
        Ok(string) => Ok(string),
        Err(_) => Ok(PyString::new(py, &String::from_utf8_lossy(text))),
    }
}

/// Resolves the escapes of the text that begins at `at` into `text`. Returns the length of the result, and the place after
/// the closing quote.
///
/// Texts of agents are lines of code, with an escape every few bytes: eight bytes are copied at a time, and those after
/// an escape or the end are overwritten.
fn unescape(json: &[u8], mut at: usize, text: &mut Vec<u8>) -> PyResult<(usize, usize)> {
    // A resolved escape is never longer than the escape. The buffer only grows, so that it is filled once.
    if text.len() < json.len() + 8 {
        text.resize(json.len() + 8, 0);
    }
    let mut out = 0;
    loop {
        let chunk = json.get(at..).and_then(|rest| rest.first_chunk::<8>());
        match chunk {
            Some(chunk) => {
                if let Some(place) = text.get_mut(out..out + 8) {
                    place.copy_from_slice(chunk);
                }
                let word = u64::from_le_bytes(*chunk);
                let found = places(word, b'"') | places(word, b'\\');
                let plain = found.trailing_zeros() as usize / 8;
                at += plain;
                out += plain;
                if plain == 8 {
                    continue;
                }
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
        put(&[byte], text, &mut out);
        at += 2;
    }
}

/// Returns a word whose lowest set bit is in the first byte that is `byte`.
fn places(word: u64, byte: u8) -> u64 {
    let different = word ^ u64::from_le_bytes([byte; 8]);
    different.wrapping_sub(0x0101_0101_0101_0101) & !different & 0x8080_8080_8080_8080
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

/// Returns the first place at or after `at` that is no white space.
fn space(json: &[u8], mut at: usize) -> usize {
    while matches!(json.get(at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
        at += 1;
    }
    at
}

fn invalid(at: usize) -> PyErr {
    PyValueError::new_err(format!("invalid JSON at byte {at}"))
}
