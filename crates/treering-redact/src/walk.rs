//! Walks over the strings of a line of JSON, each with the names of its parents.
//!
//! The walk does not recurse, decodes nothing, and reports a line that is not JSON: such a line is then
//! searched as plain text.

use crate::value::Strength;
use std::ops::Range;

/// An object or an array that is open.
#[derive(Debug, Clone)]
pub(crate) struct OpenContainer {
    is_object: bool,
    /// The current member, between its quotes; for an array, the member that holds it.
    pub key: Range<usize>,
    index: usize,
    /// Whether the content is data of a user or a tool, rather than the session's own structure.
    pub is_free: bool,
    /// The number of findings when it was opened.
    pub edits: usize,
    /// The signatures over its content.
    pub signatures: Vec<Range<usize>>,
    /// The strength of the evidence in a member that names another one: `"name": "API_KEY"`.
    pub pair_name: Option<Strength>,
    /// The key and the inside of the value that has this name.
    pub pair_value: Option<(Range<usize>, Range<usize>)>,
}

/// Receives the strings and the structure of a line.
pub(crate) trait Visitor {
    /// Visits the inside of a string that is a value.
    fn string(&mut self, inside: Range<usize>, levels: &mut [OpenContainer]);
    /// Visits the inside of a key.
    fn key(&mut self, inside: Range<usize>, levels: &[OpenContainer]);
    /// Visits an object or array that opens. Returns whether it is free, and the number of findings so far.
    fn open(&mut self, levels: &[OpenContainer]) -> (bool, usize);
    /// Visits the last of `levels` when it closes.
    fn close(&mut self, levels: &mut [OpenContainer]);
}

/// The error for a line that is not a sequence of complete JSON values.
#[derive(Debug)]
pub(crate) struct NotJson;

#[derive(Clone, Copy, PartialEq)]
enum Expected {
    Value,
    ValueOrEnd,
    Key,
    KeyOrEnd,
    After,
}

pub(crate) fn walk(line: &[u8], visitor: &mut impl Visitor) -> Result<(), NotJson> {
    let mut levels: Vec<OpenContainer> = Vec::new();
    let mut want = Expected::Value;
    let mut at = if line.starts_with(b"\xEF\xBB\xBF") { 3 } else { 0 };
    loop {
        at += blanks(line, at);
        let Some(&byte) = line.get(at) else {
            let is_whole = levels.is_empty() && matches!(want, Expected::After | Expected::Value);
            return if is_whole { Ok(()) } else { Err(NotJson) };
        };
        if want == Expected::After && levels.is_empty() {
            want = Expected::Value; // Several on one line.
        }
        match (want, byte) {
            (Expected::Value | Expected::ValueOrEnd, b'"') => {
                let end = string_end(line, at).ok_or(NotJson)?;
                visitor.string(at + 1..end - 1, &mut levels);
                at = end;
                want = Expected::After;
            }
            (Expected::Value | Expected::ValueOrEnd, b'{' | b'[') => {
                let (is_free, edits) = visitor.open(&levels);
                let key = levels.last().map_or(0..0, |level| level.key.clone());
                let is_object = byte == b'{';
                levels.push(OpenContainer {
                    is_object,
                    key,
                    index: 0,
                    is_free,
                    edits,
                    signatures: Vec::new(),
                    pair_name: None,
                    pair_value: None,
                });
                want = if is_object { Expected::KeyOrEnd } else { Expected::ValueOrEnd };
                at += 1;
            }
            (Expected::Key | Expected::KeyOrEnd, b'"') => {
                let end = string_end(line, at).ok_or(NotJson)?;
                visitor.key(at + 1..end - 1, &levels);
                if let Some(level) = levels.last_mut() {
                    level.key = at + 1..end - 1;
                }
                at = end + blanks(line, end);
                if line.get(at) != Some(&b':') {
                    return Err(NotJson);
                }
                at += 1;
                want = Expected::Value;
            }
            (Expected::KeyOrEnd | Expected::After, b'}')
            | (Expected::ValueOrEnd | Expected::After, b']') => {
                if levels.last().ok_or(NotJson)?.is_object != (byte == b'}') {
                    return Err(NotJson);
                }
                visitor.close(&mut levels);
                levels.pop();
                at += 1;
                want = Expected::After;
            }
            (Expected::After, b',') => {
                let level = levels.last_mut().ok_or(NotJson)?;
                level.index += 1;
                want = if level.is_object { Expected::Key } else { Expected::Value };
                at += 1;
            }
            (Expected::Value | Expected::ValueOrEnd, b'-' | b'0'..=b'9' | b't' | b'f' | b'n') => {
                let is_word = |byte: &&u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
                let length = line.get(at..).unwrap_or_default().iter().take_while(is_word).count();
                if !is_plain(line.get(at..at + length).unwrap_or_default()) {
                    return Err(NotJson);
                }
                at += length;
                want = Expected::After;
            }
            _ => return Err(NotJson),
        }
    }
}

fn blanks(line: &[u8], at: usize) -> usize {
    let rest = line.get(at..).unwrap_or_default();
    rest.iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n')).count()
}

/// Returns whether a word is a number, or one of the three literals.
fn is_plain(word: &[u8]) -> bool {
    let is_digit = |byte: &u8| byte.is_ascii_digit() || b"+-.eE".contains(byte);
    matches!(word, b"true" | b"false" | b"null") || word.iter().all(is_digit)
}

/// Returns the end of the string whose first quote is at `at`.
fn string_end(line: &[u8], at: usize) -> Option<usize> {
    let mut at = at + 1;
    loop {
        at += memchr::memchr2(b'"', b'\\', line.get(at..)?)?;
        match line.get(at)? {
            b'"' => return Some(at + 1),
            _ => at += 2,
        }
    }
}

/// Returns the path to a value: `message.content[0].text`.
pub(crate) fn field(line: &[u8], levels: &[OpenContainer]) -> String {
    const MAX_LEVELS: usize = 8;
    let mut path = String::new();
    for (depth, level) in levels.iter().enumerate() {
        if depth == MAX_LEVELS {
            path.push('…');
            break;
        }
        if level.is_object {
            if !path.is_empty() {
                path.push('.');
            }
            let key = line.get(level.key.clone()).unwrap_or_default();
            // A key can contain anything, including text that must not be shown.
            let is_name = |byte: &u8| byte.is_ascii_alphabetic() || *byte == b'_';
            match key.len() <= 24 && key.iter().all(is_name) {
                true => path.push_str(&String::from_utf8_lossy(key)),
                false => path.push('?'),
            }
        } else {
            path.push_str(&format!("[{}]", level.index));
        }
    }
    path
}
