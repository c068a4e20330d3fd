//! Writes Python objects as JSON.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use std::collections::HashSet;

/// A container of which some items are written.
enum Open<'py> {
    Dict(Bound<'py, PyAny>, pyo3::types::iter::BoundDictIterator<'py>),
    Items(Bound<'py, PyAny>, Bound<'py, PyList>, usize),
}

/// Returns a Python object as JSON: dicts with texts as keys, lists, tuples, texts, numbers, booleans and None.
pub(crate) fn to_json(value: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
    let mut out = Vec::with_capacity(256);
    let mut open: Vec<Open<'_>> = Vec::new();
    // The containers that are open, by their addresses: one that holds itself has no JSON.
    let mut around: HashSet<usize> = HashSet::new();
    let mut next = Some(value.clone());
    loop {
        if let Some(value) = next.take() {
            if let Ok(text) = value.cast::<PyString>() {
                write_string(text, &mut out)?;
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
                write_scalar(&value, &mut out)?;
            }
        }
        match open.last_mut() {
            None => return Ok(out),
            Some(Open::Dict(_, items)) => {
                if let Some((key, value)) = items.next() {
                    if out.last() != Some(&b'{') {
                        out.push(b',');
                    }
                    let key = key.cast::<PyString>().map_err(|_| {
                        PyTypeError::new_err(format!(
                            "keys of JSON objects are texts, not {}",
                            kind(&key)
                        ))
                    })?;
                    write_string(key, &mut out)?;
                    out.push(b':');
                    next = Some(value);
                    continue;
                }
                out.push(b'}');
            }
            Some(Open::Items(_, items, at)) => {
                if let Ok(item) = items.get_item(*at) {
                    if *at > 0 {
                        out.push(b',');
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
    Err(PyValueError::new_err("circular reference: a value that holds itself has no JSON"))
}

fn kind(value: &Bound<'_, PyAny>) -> String {
    value.get_type().name().map_or_else(|_| "an object".to_owned(), |name| name.to_string())
}

fn write_scalar(value: &Bound<'_, PyAny>, out: &mut Vec<u8>) -> PyResult<()> {
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
            return Err(PyValueError::new_err(format!("{} has no JSON", number.value())));
        }
        let float = value.py().get_type::<PyFloat>();
        let text: String = float.call_method1("__repr__", (value,))?.extract()?;
        out.extend_from_slice(text.as_bytes());
    } else {
        return Err(PyTypeError::new_err(format!(
            "{} is not JSON: use dicts, lists, texts, numbers, booleans and None",
            kind(value)
        )));
    }
    Ok(())
}

fn write_string(text: &Bound<'_, PyString>, out: &mut Vec<u8>) -> PyResult<()> {
    if let Ok(text) = text.to_cow() {
        write_text(text.as_bytes(), out);
        return Ok(());
    }
    // Halves of surrogate pairs, which UTF-8 does not have, are written as escapes.
    let encoded = text.call_method1("encode", ("utf-8", "surrogatepass"))?;
    write_text(encoded.cast::<PyBytes>()?.as_bytes(), out);
    Ok(())
}

fn write_text(text: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    let mut start = 0;
    for (at, &byte) in text.iter().enumerate() {
        let is_surrogate = byte == 0xed && text.get(at + 1).is_some_and(|next| *next >= 0xa0);
        if byte >= 0x20 && byte != b'"' && byte != b'\\' && !is_surrogate {
            continue;
        }
        out.extend_from_slice(text.get(start..at).unwrap_or_default());
        start = at + 1;
        match byte {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            0xed => {
                let low = |at: usize| u32::from(text.get(at).copied().unwrap_or_default() & 0x3f);
                let unit = 0xd000 | low(at + 1) << 6 | low(at + 2);
                out.extend_from_slice(format!("\\u{unit:04x}").as_bytes());
                start = at + 3;
            }
            _ => out.extend_from_slice(format!("\\u{byte:04x}").as_bytes()),
        }
    }
    out.extend_from_slice(text.get(start..).unwrap_or_default());
    out.push(b'"');
}
