//! Reads JSON into Python objects.

use super::memory::{Memory, SHORT, START};
use super::text::{invalid, plain, quote_or_escape, unescape};
use pyo3::prelude::*;
use pyo3::types::{PyFloat, PyInt, PyList, PyNone, PyString};

/// Reads JSON values, and remembers the keys, the shapes of objects and the short texts that it has read.
pub(crate) struct Reader<'py> {
    py: Python<'py>,
    memory: Box<Memory>,
    open: Vec<Open>,
    /// The values and keys of all lists and dicts that are not complete yet.
    values: Vec<Bound<'py, PyAny>>,
    keys: Vec<Bound<'py, PyString>>,
}

/// A list or a dict that is not complete yet, by the places of its first value and key.
enum Open {
    List { values: usize },
    Dict { values: usize, keys: usize, step: usize },
}

impl<'py> Reader<'py> {
    pub(crate) fn new(py: Python<'py>) -> Self {
        Reader {
            py,
            memory: Memory::take(),
            open: Vec::new(),
            values: Vec::new(),
            keys: Vec::new(),
        }
    }

    /// Returns one JSON value. `NaN`, `Infinity` and `-Infinity` are read as Python reads them.
    pub(crate) fn value(&mut self, json: &[u8]) -> PyResult<Bound<'py, PyAny>> {
        let value = self.read(json);
        if value.is_err() {
            self.open.clear();
            self.values.clear();
            self.keys.clear();
        }
        value
    }

    fn read(&mut self, json: &[u8]) -> PyResult<Bound<'py, PyAny>> {
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
                    if json.get(at) != Some(&b'}') {
                        let (values, keys) = (self.values.len(), self.keys.len());
                        let (step, end) = self.key(START, json, at)?;
                        self.open.push(Open::Dict { values, keys, step });
                        at = end;
                        continue;
                    }
                    at += 1;
                    pyo3::types::PyDict::new(self.py).into_any()
                }
                Some(b'[') => {
                    at = space(json, at + 1);
                    if json.get(at) != Some(&b']') {
                        self.open.push(Open::List { values: self.values.len() });
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
                let next = json.get(at);
                match self.open.last_mut() {
                    None if at == json.len() => return Ok(value),
                    None => return Err(invalid(at)),
                    Some(Open::List { values }) => {
                        let start = *values;
                        self.values.push(value);
                        match next {
                            Some(b',') => {
                                at = space(json, at + 1);
                                break;
                            }
                            Some(b']') => at += 1,
                            _ => return Err(invalid(at)),
                        }
                        value = PyList::new(self.py, self.values.drain(start..))?.into_any();
                    }
                    Some(Open::Dict { values, keys, step }) => {
                        let (first, first_key, last) = (*values, *keys, *step);
                        self.values.push(value);
                        match next {
                            Some(b',') => {
                                let (next, end) = self.key(last, json, space(json, at + 1))?;
                                if let Some(Open::Dict { step, .. }) = self.open.last_mut() {
                                    *step = next;
                                }
                                at = end;
                                break;
                            }
                            Some(b'}') => at += 1,
                            _ => return Err(invalid(at)),
                        }
                        let names = self.keys.get(first_key..).unwrap_or_default();
                        let items = self.values.get(first..).unwrap_or_default();
                        value = self.memory.dict(self.py, last, names, items)?.into_any();
                        self.keys.truncate(first_key);
                        self.values.truncate(first);
                    }
                }
                self.open.pop();
            }
        }
    }

    /// Reads the key after `step`. Returns its step, and the start of its value.
    #[inline]
    fn key(&mut self, step: usize, json: &[u8], at: usize) -> PyResult<(usize, usize)> {
        if let Some((step, key, end)) = self.memory.known_key(self.py, step, json, at) {
            self.keys.push(key);
            return Ok((step, space(json, end)));
        }
        if json.get(at) != Some(&b'"') {
            return Err(invalid(at));
        }
        let (key, end) = self.string(json, at + 1)?;
        let end = space(json, end);
        if json.get(end) != Some(&b':') {
            return Err(invalid(end));
        }
        let end = space(json, end + 1);
        let step = self.memory.add_key(step, json.get(at..end).unwrap_or_default(), &key);
        self.keys.push(key);
        Ok((step, end))
    }

    /// Returns the string that begins at `start`, after its quote, and the place after its end.
    #[inline]
    fn string(&mut self, json: &[u8], start: usize) -> PyResult<(Bound<'py, PyString>, usize)> {
        let (at, found) = quote_or_escape(json, start).ok_or_else(|| invalid(json.len()))?;
        if found == b'"' {
            let text = json.get(start..at).unwrap_or_default();
            let string = match text.len() <= SHORT {
                true => self.memory.short(self.py, text)?,
                false => plain(self.py, text)?,
            };
            return Ok((string, at + 1));
        }
        let (length, end) = unescape(json, start, at, &mut self.memory.buffer)?;
        Ok((plain(self.py, self.memory.buffer.get(..length).unwrap_or_default())?, end))
    }

    /// Returns a number; `None` if it is none.
    fn number(&self, word: &[u8]) -> Option<PyResult<Bound<'py, PyAny>>> {
        let text = std::str::from_utf8(word).ok()?;
        let digits = text.strip_prefix('-').unwrap_or(text);
        if !digits.as_bytes().first()?.is_ascii_digit() {
            return None;
        }
        if digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Some(self.py.get_type::<PyInt>().call1((text,)));
        }
        Some(Ok(PyFloat::new(self.py, text.parse().ok()?).into_any()))
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
            _ => match small_int(word) {
                Some(number) => number.into_pyobject(py)?.into_any(),
                None => self.number(word).ok_or_else(|| invalid(at))??,
            },
        };
        Ok((value, at + length))
    }
}

/// Returns a whole number of few digits.
#[inline]
fn small_int(word: &[u8]) -> Option<i64> {
    let (digits, sign) = match word {
        [b'-', digits @ ..] => (digits, -1),
        digits => (digits, 1),
    };
    let is_small = (1..=18).contains(&digits.len()) && digits.iter().all(u8::is_ascii_digit);
    let value = || digits.iter().fold(0, |number, digit| number * 10 + i64::from(digit - b'0'));
    is_small.then(|| sign * value())
}

impl Drop for Reader<'_> {
    fn drop(&mut self) {
        std::mem::take(&mut self.memory).give_back();
    }
}

/// Returns the first place at or after `at` that is no white space.
#[inline]
fn space(json: &[u8], mut at: usize) -> usize {
    while matches!(json.get(at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
        at += 1;
    }
    at
}
