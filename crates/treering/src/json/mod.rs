//! JSON as bytes: finding values without building them.
//!
//! Session files contain data that a Rust `String` or a `serde_json::Value` cannot hold without
//! changing it: lone surrogates, bytes that are not UTF-8, numbers like `1e400`, a thousand levels
//! of nesting, key order. This module therefore only locates values: it walks the bytes of one
//! value, checks the grammar, and returns spans. The inside of a string is decoded only on request.
//! Nothing here recurses, so nesting costs a bit per level, not stack.
//!
//! The grammar is RFC 8259 with one relaxation: bytes above 0x7F inside strings are not checked for
//! UTF-8, because a damaged text must not make an entry disappear.

mod seek;
pub(crate) mod stringify;
mod text;
mod value_end;

pub(crate) use text::{decode, decode_exactly, inside, quoted, string, to_unicode, write_string};
pub(crate) use value_end::value_end;

use seek::{BLOCK, Block, next_special};
use std::borrow::Cow;
use std::ops::Range;
use value_end::StringState;

/// Returns the position after any JSON white space at `pos`.
#[inline]
pub(crate) fn skip_space(bytes: &[u8], mut pos: usize) -> usize {
    while let Some(b' ' | b'\t' | b'\r' | b'\n') = bytes.get(pos) {
        pos += 1;
    }
    pos
}

/// Returns the end of the string literal whose opening quote is at `pos`.
#[inline]
pub(crate) fn skip_string(bytes: &[u8], pos: usize) -> Option<usize> {
    if bytes.get(pos) != Some(&b'"') {
        return None;
    }
    // Most strings, and all usual keys, have no escapes.
    let at = next_special(bytes, pos + 1)?;
    if bytes[at] == b'"' { Some(at + 1) } else { skip_escapes(bytes, at) }
}

/// Returns the end of the string in which the byte at `at` is a backslash or a control character.
///
/// Texts of agents are often source code, with an escape every few bytes: 64 bytes are checked
/// together, and only rare escapes are checked one by one.
fn skip_escapes(bytes: &[u8], mut at: usize) -> Option<usize> {
    let mut text = StringState::inside();
    while at < bytes.len() {
        let block = Block::at(bytes, at);
        let (quotes, backslashes) = (block.mask(b'"'), block.mask(b'\\'));
        let escaped = text.escaped(backslashes);
        let ends = quotes & !escaped;
        // The bytes up to the closing quote.
        let inside = ends ^ ends.wrapping_sub(1);
        if block.controls() & inside != 0 {
            return None;
        }
        let mut rare = escaped & inside & !(quotes | backslashes);
        if rare != 0 {
            rare &= !(block.mask(b'n') | block.mask(b't'));
        }
        while rare != 0 {
            let place = at + rare.trailing_zeros() as usize;
            match bytes.get(place)? {
                b'/' | b'b' | b'f' | b'r' => {}
                b'u' => {
                    let hex = bytes.get(place + 1..place + 5)?;
                    if !hex.iter().all(u8::is_ascii_hexdigit) {
                        return None;
                    }
                }
                _ => return None,
            }
            rare &= rare - 1;
        }
        if ends != 0 {
            return Some(at + ends.trailing_zeros() as usize + 1);
        }
        at += BLOCK;
    }
    None
}

fn skip_number(bytes: &[u8], pos: usize) -> Option<usize> {
    let digits = |mut at: usize| {
        let start = at;
        while bytes.get(at).is_some_and(u8::is_ascii_digit) {
            at += 1;
        }
        (at > start).then_some(at)
    };
    let mut at = pos + usize::from(bytes.get(pos) == Some(&b'-'));
    at = if bytes.get(at) == Some(&b'0') { at + 1 } else { digits(at)? };
    if bytes.get(at) == Some(&b'.') {
        at = digits(at + 1)?;
    }
    if let Some(b'e' | b'E') = bytes.get(at) {
        at += 1;
        at += usize::from(matches!(bytes.get(at), Some(b'+' | b'-')));
        at = digits(at)?;
    }
    Some(at)
}

fn skip_word(bytes: &[u8], pos: usize, word: &[u8]) -> Option<usize> {
    bytes.get(pos..)?.starts_with(word).then_some(pos + word.len())
}

/// The open brackets, one bit a level; on the heap only beyond 64 levels.
#[derive(Default)]
struct Nesting {
    bits: u64,
    depth: usize,
    outer: Vec<u64>,
}

impl Nesting {
    fn open(&mut self, is_object: bool) {
        if self.depth > 0 && self.depth.is_multiple_of(64) {
            self.outer.push(self.bits);
        }
        self.bits = self.bits << 1 | u64::from(is_object);
        self.depth += 1;
    }

    fn close(&mut self) {
        self.depth -= 1;
        self.bits >>= 1;
        if self.depth > 0 && self.depth.is_multiple_of(64) {
            self.bits = self.outer.pop().unwrap_or(0);
        }
    }

    fn in_object(&self) -> bool {
        self.bits & 1 == 1
    }
}

/// Returns the end of the value that starts at `pos` (no white space before it), or `None` if there
/// is no complete, well-formed value there.
pub(crate) fn skip_value(bytes: &[u8], pos: usize) -> Option<usize> {
    walk(bytes, pos).ok()
}

/// Returns the same as `skip_value`, and on failure a lower bound of how far the bytes were read.
fn walk(bytes: &[u8], pos: usize) -> Result<usize, usize> {
    let mut at = pos;
    walk_from(bytes, &mut at).ok_or(match bytes.get(at) {
        // A string without an end was searched to the end.
        Some(b'"') => bytes.len(),
        _ => at.min(bytes.len()),
    })
}

fn walk_from(bytes: &[u8], reached: &mut usize) -> Option<usize> {
    let mut nesting = Nesting::default();
    let mut at = *reached;
    loop {
        *reached = at;
        // Reads one value, or the opening of one.
        match bytes.get(at)? {
            b'"' => at = skip_string(bytes, at)?,
            open @ (b'{' | b'[') => {
                let is_object = *open == b'{';
                at = skip_space(bytes, at + 1);
                if bytes.get(at) != Some(if is_object { &b'}' } else { &b']' }) {
                    nesting.open(is_object);
                    if is_object {
                        at = skip_key(bytes, at)?;
                    }
                    continue;
                }
                at += 1;
            }
            b't' => at = skip_word(bytes, at, b"true")?,
            b'f' => at = skip_word(bytes, at, b"false")?,
            b'n' => at = skip_word(bytes, at, b"null")?,
            _ => at = skip_number(bytes, at)?,
        }
        // Reads what may follow the value.
        loop {
            if nesting.depth == 0 {
                return Some(at);
            }
            at = skip_space(bytes, at);
            *reached = at;
            match (bytes.get(at)?, nesting.in_object()) {
                (b',', true) => {
                    at = skip_key(bytes, skip_space(bytes, at + 1))?;
                    break;
                }
                (b',', false) => {
                    at = skip_space(bytes, at + 1);
                    break;
                }
                (b'}', true) | (b']', false) => {
                    nesting.close();
                    at += 1;
                }
                _ => return None,
            }
        }
    }
}

/// Returns the start of the value whose key begins at `pos`.
fn skip_key(bytes: &[u8], pos: usize) -> Option<usize> {
    let colon = skip_space(bytes, skip_string(bytes, pos)?);
    (bytes.get(colon) == Some(&b':')).then(|| skip_space(bytes, colon + 1))
}

/// One member of an object: the raw key (between its quotes) and the range of the value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Member<'a> {
    pub key: &'a [u8],
    /// The range from the key's opening quote to the end of the value.
    pub whole: Range<usize>,
    pub value: Range<usize>,
}

/// The state of reading an object's members.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ObjectEnd {
    /// More members may follow.
    Open,
    /// The closing brace was read; the object ends at this position.
    Closed(usize),
    /// The bytes are not JSON; they were read up to this position.
    Broken(usize),
}

/// An iterator over the members of the object at `start`, in order, as far as they are well-formed.
pub(crate) struct Members<'a> {
    bytes: &'a [u8],
    at: usize,
    first: bool,
    pub end: ObjectEnd,
}

impl<'a> Members<'a> {
    pub(crate) fn new(bytes: &'a [u8], start: usize) -> Self {
        let opened = bytes.get(start) == Some(&b'{');
        let end = if opened { ObjectEnd::Open } else { ObjectEnd::Broken(start) };
        Members { bytes, at: start + 1, first: true, end }
    }

    /// Returns the members in `fields`, which has a comma before each of them and no braces.
    pub(crate) fn after_comma(fields: &'a [u8]) -> Self {
        let end = if fields.is_empty() { ObjectEnd::Closed(0) } else { ObjectEnd::Open };
        Members { bytes: fields, at: 0, first: false, end }
    }

    /// Returns the next key and the start of its value. Call [`Members::value_ends`] or
    /// [`Members::skip_value`] next.
    pub(crate) fn key(&mut self) -> Option<(Range<usize>, usize)> {
        if self.end != ObjectEnd::Open {
            return None;
        }
        let key = self.find_key();
        if key.is_none() && self.end == ObjectEnd::Open {
            self.end = ObjectEnd::Broken(self.at);
        }
        key
    }

    fn find_key(&mut self) -> Option<(Range<usize>, usize)> {
        let bytes = self.bytes;
        let mut at = skip_space(bytes, self.at);
        match (bytes.get(at)?, self.first) {
            (b'}', _) => {
                self.end = ObjectEnd::Closed(at + 1);
                return None;
            }
            (_, true) => {}
            (b',', false) => at = skip_space(bytes, at + 1),
            _ => return None,
        }
        self.first = false;
        let key_end = skip_string(bytes, at)?;
        let colon = skip_space(bytes, key_end);
        (bytes.get(colon) == Some(&b':')).then(|| (at..key_end, skip_space(bytes, colon + 1)))
    }

    /// Continues after a value that the caller has read itself.
    pub(crate) fn value_ends(&mut self, end: ObjectEnd) {
        match end {
            ObjectEnd::Closed(end) => self.at = end,
            other => self.end = other,
        }
    }

    /// Skips the value at `start` without checking its grammar.
    pub(crate) fn find_value(&mut self, start: usize) -> Option<Range<usize>> {
        let Some(end) = value_end(self.bytes, start) else {
            self.end = ObjectEnd::Broken(self.bytes.len());
            return None;
        };
        self.at = end;
        Some(start..end)
    }

    /// Skips the value at `start`.
    pub(crate) fn skip_value(&mut self, start: usize) -> Option<Range<usize>> {
        match walk(self.bytes, start) {
            Ok(end) => {
                self.at = end;
                Some(start..end)
            }
            Err(reached) => {
                self.end = ObjectEnd::Broken(reached);
                None
            }
        }
    }
}

impl<'a> Iterator for Members<'a> {
    type Item = Member<'a>;

    fn next(&mut self) -> Option<Member<'a>> {
        let (key, start) = self.key()?;
        let value = self.skip_value(start)?;
        let whole = key.start..value.end;
        Some(Member { key: &self.bytes[key.start + 1..key.end - 1], whole, value })
    }
}

/// Returns the value of `key` in the object `bytes`. If the key is repeated, the last value counts,
/// as in JavaScript.
pub(crate) fn get<'a>(bytes: &'a [u8], key: &str) -> Option<&'a [u8]> {
    let mut found = None;
    for member in Members::new(bytes, skip_space(bytes, 0)) {
        if key_is(member.key, key) {
            found = Some(member.value);
        }
    }
    found.map(|span| &bytes[span])
}

/// Returns the end of the object that `bytes` begins with, and the range of the value of `key`, as
/// [`get`] would find it; `None` if there is no complete, well-formed object.
pub(crate) fn whole_object(bytes: &[u8], key: &str) -> Option<(usize, Option<Range<usize>>)> {
    let mut members = Members::new(bytes, 0);
    let mut found = None;
    for member in &mut members {
        if key_is(member.key, key) {
            found = Some(member.value);
        }
    }
    match members.end {
        ObjectEnd::Closed(end) => Some((end, found)),
        ObjectEnd::Open | ObjectEnd::Broken(_) => None,
    }
}

/// Returns the value of a key, as [`get`] does, in an object that is known to be well-formed.
pub(crate) fn get_checked<'a>(bytes: &'a [u8], key: &str) -> Option<&'a [u8]> {
    let [found] = get_all_checked(bytes, [key]);
    found
}

/// Returns the values of several keys, as [`get_all`] does, in an object that is known to be
/// well-formed, without checking the values.
pub(crate) fn get_all_checked<'a, const N: usize>(
    bytes: &'a [u8],
    keys: [&str; N],
) -> [Option<&'a [u8]>; N] {
    let mut found = [None; N];
    let mut members = Members::new(bytes, skip_space(bytes, 0));
    while let Some((key, start)) = members.key() {
        let Some(value) = members.find_value(start) else { break };
        let name = key_name(&bytes[key.start + 1..key.end - 1]);
        if let Some(at) = keys.iter().position(|key| *name == *key.as_bytes()) {
            found[at] = bytes.get(value);
        }
    }
    found
}

/// Returns the values of several keys, found in one pass. If a key is repeated, its last value
/// counts.
pub(crate) fn get_all<'a, const N: usize>(
    bytes: &'a [u8],
    keys: [&str; N],
) -> [Option<&'a [u8]>; N] {
    get_all_at(bytes, skip_space(bytes, 0), keys).0
}

/// Returns the same for the object at `start`, and its end if it is complete.
pub(crate) fn get_all_at<'a, const N: usize>(
    bytes: &'a [u8],
    start: usize,
    keys: [&str; N],
) -> ([Option<&'a [u8]>; N], Option<usize>) {
    let mut found = [None; N];
    let mut members = Members::new(bytes, start);
    for member in &mut members {
        let name = key_name(member.key);
        if let Some(at) = keys.iter().position(|key| *name == *key.as_bytes()) {
            found[at] = bytes.get(member.value);
        }
    }
    match members.end {
        ObjectEnd::Closed(end) => (found, Some(end)),
        _ => (found, None),
    }
}

/// Returns whether a raw key equals `name` once its escapes are resolved.
pub(crate) fn key_is(raw: &[u8], name: &str) -> bool {
    *key_name(raw) == *name.as_bytes()
}

/// Returns a raw key with its escapes resolved.
pub(crate) fn key_name(raw: &[u8]) -> Cow<'_, [u8]> {
    match memchr::memchr(b'\\', raw) {
        None => Cow::Borrowed(raw),
        Some(_) => Cow::Owned(decode(raw).into_owned().into_bytes()),
    }
}

/// Returns the elements of the array `bytes` as spans; none if it is not an array.
pub(crate) fn elements(bytes: &[u8]) -> Vec<&[u8]> {
    let mut found = Vec::new();
    let mut at = skip_space(bytes, 0);
    if bytes.get(at) != Some(&b'[') {
        return found;
    }
    at += 1;
    loop {
        let start = skip_space(bytes, at);
        let Some(end) = skip_value(bytes, start) else { return found };
        found.push(&bytes[start..end]);
        at = skip_space(bytes, end);
        if bytes.get(at) != Some(&b',') {
            return found;
        }
        at += 1;
    }
}

/// Returns the object `bytes` without some of its members.
pub(crate) fn without(bytes: &[u8], keys: &[&str]) -> Vec<u8> {
    let mut out = b"{".to_vec();
    for member in Members::new(bytes, skip_space(bytes, 0)) {
        if !keys.iter().any(|key| key_is(member.key, key)) {
            if out.len() > 1 {
                out.push(b',');
            }
            out.extend_from_slice(&bytes[member.whole]);
        }
    }
    out.push(b'}');
    out
}

/// Returns the object `bytes` with `key` set to `value`: replaced in its position, or added at the
/// end. Every other byte is unchanged.
pub(crate) fn with_member(bytes: &[u8], key: &str, value: &[u8]) -> Vec<u8> {
    let mut members = Members::new(bytes, skip_space(bytes, 0));
    let mut spans = Vec::new();
    let mut count = 0;
    for member in &mut members {
        count += 1;
        if key_is(member.key, key) {
            spans.push(member.value);
        }
    }
    let mut out = Vec::with_capacity(bytes.len() + value.len() + key.len() + 4);
    if let Some(span) = spans.pop() {
        out.extend_from_slice(&bytes[..span.start]);
        out.extend_from_slice(value);
        out.extend_from_slice(&bytes[span.end..]);
        return out;
    }
    let ObjectEnd::Closed(end) = members.end else { return bytes.to_vec() };
    out.extend_from_slice(&bytes[..end - 1]);
    if count > 0 {
        out.push(b',');
    }
    write_string(&mut out, key);
    out.push(b':');
    out.extend_from_slice(value);
    out.extend_from_slice(&bytes[end - 1..]);
    out
}

/// Sets a member of the head of a record: in its position (a repeated member in all of them, so
/// that all readers see the same value), or right after `type`, where readers expect it.
pub(crate) fn with_head_member(entry: &[u8], key: &str, value: &[u8]) -> Vec<u8> {
    let start = skip_space(entry, 0);
    let mut place = None;
    let (mut out, mut copied) = (Vec::new(), 0);
    for member in Members::new(entry, start) {
        if key_is(member.key, key) {
            out.extend_from_slice(&entry[copied..member.value.start]);
            out.extend_from_slice(value);
            copied = member.value.end;
        }
        if key_is(member.key, "type") {
            place = Some(member.whole.end);
        }
    }
    if copied > 0 {
        out.extend_from_slice(&entry[copied..]);
        return out;
    }
    let Some(place) = place else { return with_member(entry, key, value) };
    let name = quoted(key);
    [&entry[..place], b",", &name, b":", value, &entry[place..]].concat()
}

#[cfg(test)]
mod tests;
