//! A JSON reader for arbitrary lines: it returns how far it could read.
//!
//! `serde_json` refuses data that a session may contain (lone surrogates, bytes that are not UTF-8,
//! `1e400`) and does not return the members of an incomplete object. Values are converted to
//! `serde_json` values for comparison, with U+FFFD for what a string cannot hold. The reader is
//! recursive.

use serde_json::{Map, Number, Value};
use std::ops::Range;

/// The maximum depth: no session in a test is nested more deeply.
const DEEPEST: usize = 500;

/// An object as far as it could be read.
#[derive(Debug, Clone)]
pub(super) struct Object {
    /// The position where it begins.
    pub start: usize,
    /// The position after its closing brace; `None` if it is incomplete.
    pub end: Option<usize>,
    /// The members that could be read, in order: key, position of the value, value.
    pub members: Vec<(String, Range<usize>, Value)>,
}

impl Object {
    /// Returns a member's value and its position; the last one if the key is repeated.
    pub(super) fn get(&self, key: &str) -> Option<(&Range<usize>, &Value)> {
        let member = self.members.iter().rev().find(|(name, _, _)| name == key)?;
        Some((&member.1, &member.2))
    }

    /// Returns the members as a `serde_json` object.
    pub(super) fn value(&self) -> Value {
        let pairs = self.members.iter().map(|(key, _, value)| (key.clone(), value.clone()));
        Value::Object(pairs.collect::<Map<_, _>>())
    }
}

pub(super) fn skip_space(bytes: &[u8], at: usize) -> usize {
    let space = |byte: &&u8| matches!(byte, b' ' | b'\t' | b'\r' | b'\n');
    at + bytes[at.min(bytes.len())..].iter().take_while(space).count()
}

/// Returns the object at `at`, or `None` if no brace opens there.
pub(super) fn object(bytes: &[u8], at: usize) -> Option<Object> {
    (bytes.get(at) == Some(&b'{')).then(|| members(bytes, at, 0))
}

fn members(bytes: &[u8], start: usize, depth: usize) -> Object {
    let mut object = Object { start, end: None, members: Vec::new() };
    let mut at = skip_space(bytes, start + 1);
    if bytes.get(at) == Some(&b'}') {
        object.end = Some(at + 1);
        return object;
    }
    loop {
        let Some((key, after)) = string(bytes, at) else { return object };
        at = skip_space(bytes, after);
        if bytes.get(at) != Some(&b':') {
            return object;
        }
        at = skip_space(bytes, at + 1);
        let Some((value, end)) = value(bytes, at, depth + 1) else { return object };
        object.members.push((key, at..end, value));
        at = skip_space(bytes, end);
        match bytes.get(at) {
            Some(b',') => at = skip_space(bytes, at + 1),
            Some(b'}') => {
                object.end = Some(at + 1);
                return object;
            }
            _ => return object,
        }
    }
}

fn value(bytes: &[u8], at: usize, depth: usize) -> Option<(Value, usize)> {
    assert!(depth < DEEPEST, "the model is not meant for values this deep");
    let word = |word: &str, value| bytes[at..].starts_with(word.as_bytes()).then_some(value);
    match bytes.get(at)? {
        b'"' => string(bytes, at).map(|(text, end)| (Value::String(text), end)),
        b'{' => {
            let object = members(bytes, at, depth);
            Some((object.value(), object.end?))
        }
        b'[' => array(bytes, at, depth),
        b't' => word("true", (Value::Bool(true), at + 4)),
        b'f' => word("false", (Value::Bool(false), at + 5)),
        b'n' => word("null", (Value::Null, at + 4)),
        _ => number(bytes, at),
    }
}

fn array(bytes: &[u8], at: usize, depth: usize) -> Option<(Value, usize)> {
    let mut elements = Vec::new();
    let mut at = skip_space(bytes, at + 1);
    if bytes.get(at) == Some(&b']') {
        return Some((Value::Array(elements), at + 1));
    }
    loop {
        let (element, end) = value(bytes, at, depth + 1)?;
        elements.push(element);
        at = skip_space(bytes, end);
        match bytes.get(at)? {
            b',' => at = skip_space(bytes, at + 1),
            b']' => return Some((Value::Array(elements), at + 1)),
            _ => return None,
        }
    }
}

/// Returns a number. One that no machine number holds becomes its text: equal texts are equal
/// numbers.
fn number(bytes: &[u8], start: usize) -> Option<(Value, usize)> {
    let digits = |at: usize| bytes[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let mut at = start + usize::from(bytes.get(start) == Some(&b'-'));
    let whole = if bytes.get(at) == Some(&b'0') { 1 } else { digits(at.min(bytes.len())) };
    at += whole;
    let mut complete = whole > 0;
    if complete && bytes.get(at) == Some(&b'.') {
        let fraction = digits(at + 1);
        at += 1 + fraction;
        complete = fraction > 0;
    }
    if complete && matches!(bytes.get(at), Some(b'e' | b'E')) {
        at += 1 + usize::from(matches!(bytes.get(at + 1), Some(b'+' | b'-')));
        let exponent = digits(at.min(bytes.len()));
        at += exponent;
        complete = exponent > 0;
    }
    let text = std::str::from_utf8(bytes.get(start..at)?).ok().filter(|_| complete)?;
    let number = text.parse::<Number>().map(Value::Number);
    Some((number.unwrap_or_else(|_| Value::String(format!("number {text}"))), at))
}

/// Returns a string: its text and the position after its closing quote.
fn string(bytes: &[u8], at: usize) -> Option<(String, usize)> {
    if bytes.get(at) != Some(&b'"') {
        return None;
    }
    let mut text = Vec::new();
    let mut at = at + 1;
    loop {
        match *bytes.get(at)? {
            b'"' => return Some((String::from_utf8_lossy(&text).into_owned(), at + 1)),
            0..=0x1F => return None,
            b'\\' => {
                let (character, end) = escape(bytes, at)?;
                text.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                at = end;
            }
            byte => {
                text.push(byte);
                at += 1;
            }
        }
    }
}

fn escape(bytes: &[u8], at: usize) -> Option<(char, usize)> {
    let simple = match bytes.get(at + 1)? {
        b'"' => '"',
        b'\\' => '\\',
        b'/' => '/',
        b'b' => '\u{8}',
        b'f' => '\u{C}',
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        b'u' => {
            let high = unit(bytes, at)?;
            if (0xD800..0xDC00).contains(&high)
                && let Some(low) = unit(bytes, at + 6).filter(|low| (0xDC00..0xE000).contains(low))
            {
                let pair = 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00);
                return Some((char::from_u32(pair)?, at + 12));
            }
            return Some((char::from_u32(high).unwrap_or('\u{FFFD}'), at + 6));
        }
        _ => return None,
    };
    Some((simple, at + 2))
}

/// Returns the number in a `\uXXXX` at `at`.
fn unit(bytes: &[u8], at: usize) -> Option<u32> {
    let hex = bytes.get(at..at + 6)?.strip_prefix(b"\\u")?;
    let is_hex = hex.iter().all(u8::is_ascii_hexdigit);
    u32::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok().filter(|_| is_hex)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_serde_json_about_what_both_can_read() {
        for text in [
            r#"{}"#,
            r#"{"a":1,"b":[true,false,null],"c":{"d":"\u00e9\ud83c\udf32\n"}}"#,
            r#" {"a" : -0.5e+3 , "b" : [ ] } "#,
            r#"{"a":1,"a":2}"#,
            r#"{"a":01}"#,
            r#"{"a":1.}"#,
            r#"{"a":-}"#,
            r#"{"a":1e}"#,
            r#"{"a":"\x"}"#,
            r#"{"a":[1,]}"#,
            r#"{"a":1,}"#,
            r#"{"a" 1}"#,
            "{\"a\":\"\t\"}",
            r#"{"a":tru}"#,
            r#"{"a":"#,
            r#"{"a":"\u12"}"#,
        ] {
            let bytes = text.as_bytes();
            let ours = object(bytes, skip_space(bytes, 0)).filter(|object| object.end.is_some());
            let theirs: Option<Value> = serde_json::from_slice(bytes).ok();
            assert_eq!(ours.map(|object| object.value()), theirs, "{text}");
        }
    }

    #[test]
    fn tells_how_far_it_came() {
        let broken = object(br#"{"a":1,"b":"x","c":[1,"#, 0).unwrap();
        assert_eq!(broken.end, None);
        let keys: Vec<&str> = broken.members.iter().map(|(key, _, _)| &**key).collect();
        assert_eq!(keys, ["a", "b"]);
        assert_eq!(object(b"{}x", 0).unwrap().end, Some(2));
        assert!(object(b"42", 0).is_none());
    }

    #[test]
    fn reads_what_serde_json_does_not() {
        let odd = object(b"{\"a\":\"\xFF\",\"b\":\"\\ud800\",\"c\":1e400}", 0).unwrap();
        assert!(odd.end.is_some());
        assert_eq!(odd.get("a").unwrap().1, "\u{FFFD}");
        assert_eq!(odd.get("b").unwrap().1, "\u{FFFD}");
        assert_eq!(odd.get("c").unwrap().1, "number 1e400");
    }
}
