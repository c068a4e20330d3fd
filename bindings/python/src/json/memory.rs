//! The memory of a reader from one value to the next: short texts, and the shapes of objects.
//!
//! The messages of a session repeat a few dozen keys, a few sequences of them, and short texts such as roles and the
//! names of models. A key that comes where it came before is known by comparing bytes; a dict of a known shape is a copy
//! of one that has its keys already, which is cheaper than to insert them, and only the values that differ are set.

use super::text::plain;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use std::sync::{Mutex, PoisonError};

/// Texts up to this length are looked up among those that were read before.
pub(super) const SHORT: usize = 24;
/// The number of short texts that are kept. A power of two.
const KEPT: usize = 1024;
/// The number of keys, by what precedes them, that are kept.
const STEPS: usize = 1024;
/// Keys that are longer are not kept.
const LONGEST_KEY: usize = 64;
/// The number of keys in the same place that are compared.
const ALTERNATIVES: usize = 8;
/// Objects with fewer keys are built faster than copied.
const MIN_COPIED_KEYS: usize = 3;
/// A larger buffer of texts is given back.
const LARGEST_BUFFER: usize = 1 << 20;

/// The memory of a reader that is not in use.
static UNUSED: Mutex<Option<Box<Memory>>> = Mutex::new(None);

/// The step before the first key of an object.
pub(super) const START: usize = 0;
/// The step after a key that is not kept.
pub(super) const UNKNOWN: usize = usize::MAX;

/// Short texts and shapes of objects.
#[derive(Default)]
pub(super) struct Memory {
    kept: Vec<Option<Kept>>,
    steps: Vec<Step>,
    /// The buffer in which texts with escapes are resolved.
    pub(super) buffer: Vec<u8>,
}

/// A short text, padded with zeros, and its Python string.
struct Kept {
    bytes: [u8; SHORT],
    length: u8,
    string: Py<PyString>,
}

/// A key of an object, after the keys that precede it.
#[derive(Default)]
struct Step {
    /// The bytes from the quote of the key to its value.
    literal: Vec<u8>,
    key: Option<Py<PyString>>,
    /// The keys that came next, the latest new one last.
    next: Vec<usize>,
    /// Objects whose last key this was.
    seen: u32,
    template: Option<Template>,
}

/// A dict with the keys of a shape.
struct Template {
    dict: Py<PyDict>,
    /// Its values: short texts as they came first, and None for everything else.
    values: Vec<Py<PyAny>>,
}

impl Memory {
    /// Returns the memory of an earlier reader, or an empty one if that is in use.
    pub(super) fn take() -> Box<Self> {
        let unused = UNUSED.lock().unwrap_or_else(PoisonError::into_inner).take();
        unused.unwrap_or_else(|| {
            let kept = (0..KEPT).map(|_| None).collect();
            Box::new(Memory { kept, steps: vec![Step::default()], buffer: Vec::new() })
        })
    }

    /// Keeps the memory for the next reader.
    pub(super) fn give_back(mut self: Box<Self>) {
        if self.buffer.len() > LARGEST_BUFFER {
            self.buffer = Vec::new();
        }
        // Other objects may come next.
        if self.steps.len() == STEPS {
            self.steps = vec![Step::default()];
        }
        let before = UNUSED.lock().unwrap_or_else(PoisonError::into_inner).replace(self);
        // Dropped only after the lock is free.
        drop(before);
    }

    /// Returns a short text, made only once if it comes again.
    #[inline]
    pub(super) fn short<'py>(
        &mut self,
        py: Python<'py>,
        text: &[u8],
    ) -> PyResult<Bound<'py, PyString>> {
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
            return Ok(kept.string.bind(py).clone());
        }
        let string = plain(py, text)?;
        if let Some(place) = self.kept.get_mut(slot) {
            *place = Some(Kept { bytes, length, string: string.clone().unbind() });
        }
        Ok(string)
    }

    /// Returns the key that begins at `at`, if it came after `step` before: its step, its string, and its end.
    #[inline]
    pub(super) fn known_key<'py>(
        &self,
        py: Python<'py>,
        step: usize,
        json: &[u8],
        at: usize,
    ) -> Option<(usize, Bound<'py, PyString>, usize)> {
        let rest = json.get(at..)?;
        for &number in &self.steps.get(step)?.next {
            let next = self.steps.get(number)?;
            if rest.starts_with(&next.literal) {
                let key = next.key.as_ref()?.bind(py).clone();
                return Some((number, key, at + next.literal.len()));
            }
        }
        None
    }

    /// Remembers a key after `step`. Returns its step.
    pub(super) fn add_key(
        &mut self,
        step: usize,
        literal: &[u8],
        key: &Bound<'_, PyString>,
    ) -> usize {
        let number = self.steps.len();
        match self.steps.get_mut(step) {
            Some(before)
                if number < STEPS
                    && literal.len() <= LONGEST_KEY
                    && before.next.len() < ALTERNATIVES =>
            {
                before.next.push(number);
            }
            _ => return UNKNOWN,
        }
        let key = Some(key.clone().unbind());
        self.steps.push(Step { literal: literal.to_vec(), key, ..Step::default() });
        number
    }

    /// Returns a dict of these keys and values. `step` is that of the last key.
    #[inline]
    pub(super) fn dict<'py>(
        &mut self,
        py: Python<'py>,
        step: usize,
        keys: &[Bound<'py, PyString>],
        values: &[Bound<'py, PyAny>],
    ) -> PyResult<Bound<'py, PyDict>> {
        let shape = self.steps.get_mut(step);
        if let Some(Step { template: Some(template), .. }) = &shape {
            let dict = template.dict.bind(py).copy()?;
            for ((key, value), same) in keys.iter().zip(values).zip(&template.values) {
                if !value.is(same.bind(py)) {
                    dict.set_item(key, value)?;
                }
            }
            return Ok(dict);
        }
        let dict = PyDict::new(py);
        for (key, value) in keys.iter().zip(values) {
            dict.set_item(key, value)?;
        }
        if let Some(shape) = shape
            && keys.len() >= MIN_COPIED_KEYS
        {
            shape.seen += 1;
            // An object with a key twice has no template.
            if shape.seen == 2 && dict.len() == keys.len() {
                shape.template = Some(Template::new(&dict, keys, values)?);
            }
        }
        Ok(dict)
    }
}

impl Template {
    fn new<'py>(
        dict: &Bound<'py, PyDict>,
        keys: &[Bound<'py, PyString>],
        values: &[Bound<'py, PyAny>],
    ) -> PyResult<Self> {
        let py = dict.py();
        let dict = dict.copy()?;
        let mut kept = Vec::with_capacity(values.len());
        for (key, value) in keys.iter().zip(values) {
            let is_short =
                value.cast::<PyString>().is_ok_and(|text| text.len().is_ok_and(|it| it <= SHORT));
            if is_short {
                kept.push(value.clone().unbind());
            } else {
                dict.set_item(key, py.None())?;
                kept.push(py.None());
            }
        }
        Ok(Template { dict: dict.unbind(), values: kept })
    }
}
