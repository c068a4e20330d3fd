//! Writes Python objects as JSON.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use std::collections::HashSet;
use wide::u8x16;

/// The ways of writing JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    /// Without white space, in UTF-8, and with numbers that JSON has.
    Compact,
    /// As `json.dumps` writes it: a blank after commas and colons, nothing outside of ASCII, `NaN` and `Infinity`.
    Python,
}

impl Style {
    fn comma(self) -> &'static [u8] {
        match self {
            Style::Compact => b",",
            Style::Python => b", ",
        }
    }

    fn colon(self) -> &'static [u8] {
        match self {
            Style::Compact => b":",
            Style::Python => b": ",
        }
    }
}

/// A container of which some items are written.
enum Open<'py> {
    Dict(Bound<'py, PyAny>, pyo3::types::iter::BoundDictIterator<'py>),
    Items(Bound<'py, PyAny>, Bound<'py, PyList>, usize),
}

/// Returns a Python object as JSON: dicts with texts as keys, lists, tuples, texts, numbers, booleans and None.
pub(crate) fn to_json(value: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
    let mut out = Vec::with_capacity(256);
    write_json(value, Style::Compact, &mut out)?;
    Ok(out)
}

/// Appends a Python object as JSON.
pub(crate) fn write_json(
    value: &Bound<'_, PyAny>,
    style: Style,
    out: &mut Vec<u8>,
) -> PyResult<()> {
    let mut open: Vec<Open<'_>> = Vec::new();
    // The containers that are open, by their addresses: one that holds itself has no JSON.
    let mut around: HashSet<usize> = HashSet::new();
    let mut next = Some(value.clone());
    loop {
        if let Some(value) = next.take() {
            if let Ok(text) = value.cast::<PyString>() {
                write_string(text, style, out)?;
            } else if let Ok(dict) = value.cast::<PyDict>() {
                enter(&value, &mut around)?;
                out.push(b'{');
                open.push(Open::Dict(value.clone(), dict.iter()));
            } else if let Ok(list) = value.cast::<PyList>() {
                enter(&value, &mut around)?;
                out.push(b'[');
                open.push(Open::Items(value.clone(), list.clone(), 0));
            } else if let Ok(tuple) = value.cast::<PyTuple>() {
                enter(&value, &mut around)?;
                out.push(b'[');
                open.push(Open::Items(value.clone(), tuple.to_list(), 0));
            } else {
                write_scalar(&value, style, out)?;
            }
        }
        match open.last_mut() {
            None => return Ok(()),
            Some(Open::Dict(_, items)) => {
                if let Some((key, value)) = items.next() {
                    if out.last() != Some(&b'{') {
                        out.extend_from_slice(style.comma());
                    }
                    let key = key.cast::<PyString>().map_err(|_| {
                        PyTypeError::new_err(format!(
                            "keys of JSON objects must be strings, not {}",
                            kind(&key)
                        ))
                    })?;
                    write_string(key, style, out)?;
                    out.extend_from_slice(style.colon());
                    next = Some(value);
                    continue;
                }
                out.push(b'}');
            }
            Some(Open::Items(_, items, at)) => {
                if let Ok(item) = items.get_item(*at) {
                    if *at > 0 {
                        out.extend_from_slice(style.comma());
                    }
                    *at += 1;
                    next = Some(item);
                    continue;
                }
                out.push(b']');
            }
        }
        if let Some(Open::Dict(value, _) | Open::Items(value, ..)) = open.pop() {
            around.remove(&address(&value));
        }
    }
}

fn address(value: &Bound<'_, PyAny>) -> usize {
    value.as_ptr() as usize
}

fn enter(value: &Bound<'_, PyAny>, around: &mut HashSet<usize>) -> PyResult<()> {
    if around.insert(address(value)) {
        return Ok(());
    }
    Err(PyValueError::new_err(
        "circular reference: a value that contains itself cannot be written as JSON",
    ))
}

fn kind(value: &Bound<'_, PyAny>) -> String {
    value.get_type().name().map_or_else(|_| "an object".to_owned(), |name| name.to_string())
}

fn write_scalar(value: &Bound<'_, PyAny>, style: Style, out: &mut Vec<u8>) -> PyResult<()> {
    if value.is_none() {
        out.extend_from_slice(b"null");
    } else if let Ok(flag) = value.cast::<PyBool>() {
        out.extend_from_slice(if flag.is_true() { b"true" } else { b"false" });
    } else if value.is_instance_of::<PyInt>() {
        match value.extract::<i64>() {
            Ok(number) => out.extend_from_slice(number.to_string().as_bytes()),
            // `int.__repr__`, and not that of a subclass such as an enum.
            Err(_) => {
                let int = value.py().get_type::<PyInt>();
                let text: String = int.call_method1("__repr__", (value,))?.extract()?;
                out.extend_from_slice(text.as_bytes());
            }
        }
    } else if let Ok(number) = value.cast::<PyFloat>() {
        if !number.value().is_finite() {
            let word: &[u8] = match number.value() {
                _ if style == Style::Compact => {
                    return Err(PyValueError::new_err(format!(
                        "{} cannot be written as JSON",
                        number.value()
                    )));
                }
                f64::INFINITY => b"Infinity",
                f64::NEG_INFINITY => b"-Infinity",
                _ => b"NaN",
            };
            out.extend_from_slice(word);
            return Ok(());
        }
        let float = value.py().get_type::<PyFloat>();
        let text: String = float.call_method1("__repr__", (value,))?.extract()?;
        out.extend_from_slice(text.as_bytes());
    } else {
        return Err(PyTypeError::new_err(format!(
            "{} cannot be written as JSON: use dicts, lists, strings, numbers, booleans and None",
            kind(value)
        )));
    }
    Ok(())
}

fn write_string(text: &Bound<'_, PyString>, style: Style, out: &mut Vec<u8>) -> PyResult<()> {
    if let Ok(text) = text.to_cow() {
        write_text(text.as_bytes(), style, out);
        return Ok(());
    }
    // Halves of surrogate pairs, which UTF-8 does not have, are written as escapes. `str.encode`, and not that of a
    // subclass, which could change what is being written.
    let str = text.py().get_type::<PyString>();
    let encoded = str.call_method1("encode", (text, "utf-8", "surrogatepass"))?;
    write_text(encoded.cast::<PyBytes>()?.as_bytes(), style, out);
    Ok(())
}

/// The first byte of every half of a surrogate pair, and of some other characters.
const SURROGATE: u8 = 0xed;

/// Returns the number of bytes at the start of a text that stand for themselves.
#[inline]
fn plain_length(text: &[u8], style: Style) -> usize {
    let mut at = 0;
    while let Some(chunk) = text.get(at..).and_then(|rest| rest.first_chunk::<16>()) {
        let lanes = u8x16::new(*chunk);
        let is = |byte: u8| lanes.simd_eq(u8x16::splat(byte));
        let controls = lanes.min(u8x16::splat(0x1f)).simd_eq(lanes);
        let others = match style {
            Style::Compact => is(SURROGATE),
            Style::Python => lanes.max(u8x16::splat(0x7f)).simd_eq(lanes),
        };
        let found = (controls | others | is(b'"') | is(b'\\')).to_bitmask();
        if found != 0 {
            return at + found.trailing_zeros() as usize;
        }
        at += 16;
    }
    let is_plain = |byte: u8| match byte {
        b'"' | b'\\' | 0..=0x1f => false,
        SURROGATE => false,
        0x7f.. => style == Style::Compact,
        _ => true,
    };
    let rest = text.get(at..).unwrap_or_default();
    at + rest.iter().position(|byte| !is_plain(*byte)).unwrap_or(rest.len())
}

/// Appends a text, in UTF-8 but for halves of surrogate pairs, as JSON.
pub(crate) fn write_text(mut text: &[u8], style: Style, out: &mut Vec<u8>) {
    out.push(b'"');
    loop {
        let (plain, rest) = text.split_at(plain_length(text, style));
        out.extend_from_slice(plain);
        let Some(&byte) = rest.first() else { break };
        let escape: &[u8] = match byte {
            b'"' => b"\\\"",
            b'\\' => b"\\\\",
            b'\n' => b"\\n",
            b'\r' => b"\\r",
            b'\t' => b"\\t",
            0x08 if style == Style::Python => b"\\b",
            0x0c if style == Style::Python => b"\\f",
            0..=0x7f => {
                write_unit(u16::from(byte), out);
                b""
            }
            _ => {
                text = write_character(rest, style, out);
                continue;
            }
        };
        out.extend_from_slice(escape);
        text = rest.get(1..).unwrap_or_default();
    }
    out.push(b'"');
}

/// Writes the character that a text begins with, which is not ASCII: as it is, or as escapes. Halves of surrogate
/// pairs are always escapes. Returns the rest of the text.
fn write_character<'a>(text: &'a [u8], style: Style, out: &mut Vec<u8>) -> &'a [u8] {
    let length = match text.first() {
        Some(0xf0..) => 4,
        Some(0xe0..) => 3,
        _ => 2,
    };
    let (bytes, rest) = text.split_at(length.min(text.len()));
    let bits = |at: usize| u32::from(bytes.get(at).copied().unwrap_or_default() & 0x3f);
    let is_surrogate = bytes.first() == Some(&SURROGATE) && bits(1) >= 0x20;
    if style == Style::Compact && !is_surrogate {
        out.extend_from_slice(bytes);
        return rest;
    }
    let first = bits(0);
    let point = match length {
        4 => (first & 0x07) << 18 | bits(1) << 12 | bits(2) << 6 | bits(3),
        3 => (first & 0x0f) << 12 | bits(1) << 6 | bits(2),
        _ => (first & 0x1f) << 6 | bits(1),
    };
    match char::from_u32(point) {
        Some(character) => {
            character.encode_utf16(&mut [0; 2]).iter().for_each(|unit| write_unit(*unit, out));
        }
        None => write_unit(point as u16, out),
    }
    rest
}

/// Writes a UTF-16 unit as an escape.
fn write_unit(unit: u16, out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    out.extend_from_slice(b"\\u");
    out.extend([12, 8, 4, 0].map(|shift| DIGITS[usize::from(unit >> shift & 15)]));
}
