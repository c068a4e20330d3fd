//! Finds secrets by their names: `password=…`, `"api_key": "…"`, `--token …`.
//!
//! A name is strong (`password`, `client_secret`) or weak (`token`, which a parser produces as
//! well); [`crate::value`] decides which values count after which names.

use crate::names::{MAX_NAME, NAMES, VENDORS, strength};
use crate::tokens::{SearchedText, starts_word};
use crate::value::{Strength, is_jumbled, is_phrase, is_secret};
use memchr::memmem;
use std::ops::Range;

const MAX_VALUE: usize = 512;

fn is_name_byte(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.')
}

fn is_quote(byte: u8) -> bool {
    matches!(byte, b'"' | b'\'' | b'`')
}

/// Returns the position after the blanks at `at`.
fn skip_blanks(text: &[u8], at: usize) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    at + rest.iter().take(16).take_while(|byte| matches!(byte, b' ' | b'\t')).count()
}

/// The text after a name, up to its value.
struct ValueStart {
    start: usize,
    quote: Option<u8>,
    /// Whether only a quoted value counts, because the text before it is not an assignment.
    needs_quote: bool,
    /// Whether the value must have several classes of characters, because the text is prose.
    is_prose: bool,
    /// Whether the value is one that a shell takes literally: `DB_PASSWORD=…`, `--password=…`.
    is_literal: bool,
}

/// Returns the secret that is assigned to the name which contains the word of `length` bytes at
/// `at`.
pub(crate) fn assigned(text: &[u8], at: usize, length: usize) -> Option<Range<usize>> {
    let before = text.get(at.saturating_sub(MAX_NAME)..at)?;
    let start = at - before.iter().rev().take_while(|byte| is_name_byte(byte)).count();
    let word_end = at + length;
    let after = text.get(word_end..)?.iter().take(MAX_NAME).take_while(|b| is_name_byte(b)).count();
    let end = word_end + after;
    let name = text.get(start..end)?;
    let strength = strength(trim_dots(name))?;
    let value = value_after(text, start, end, strength)?;
    let rest = text.get(value.start..)?;
    let Some(quote) = value.quote else {
        return if value.needs_quote { None } else { bare_value(rest, &value, strength) };
    };
    let stop = |byte: &u8| *byte == quote || *byte < b' ';
    let length = rest.iter().take(MAX_VALUE).take_while(|byte| !stop(byte)).count();
    let inside = rest.get(..length)?;
    if length < MAX_VALUE && rest.get(length).copied() != Some(quote) {
        return None;
    }
    let is_one = match inside.contains(&b' ') {
        true => strength >= Strength::Strong && is_phrase(inside),
        false => is_secret(inside, strength, true),
    };
    let length = match length {
        MAX_VALUE => rest.iter().take_while(|byte| !stop(byte)).count(),
        length => length,
    };
    is_one.then_some(value.start..value.start + length)
}

/// Returns a name without the dots of a sentence or a path around it.
fn trim_dots(name: &[u8]) -> &[u8] {
    let end = name.len() - name.iter().rev().take_while(|byte| **byte == b'.').count();
    name.get(..end).unwrap_or_default()
}

/// Returns a value without quotes around it.
fn bare_value(rest: &[u8], value: &ValueStart, strength: Strength) -> Option<Range<usize>> {
    let stop = |byte: &u8| *byte <= b' ' || b"\"'`,;&<>(){}[]|\\".contains(byte);
    let length = rest.iter().take(MAX_VALUE).take_while(|byte| !stop(byte)).count();
    let found = rest.get(..length)?;
    // A value before an opening bracket is a call or an index; punctuation that ends a sentence is
    // not part of it.
    if matches!(rest.get(length), Some(b'(' | b'[' | b'{')) {
        return None;
    }
    let dots =
        found.iter().rev().take_while(|byte| matches!(byte, b'.' | b':' | b'!' | b'?')).count();
    let found = if length < MAX_VALUE { found.get(..length - dots)? } else { found };
    let is_one = is_secret(found, strength, false)
        || value.is_literal && strength >= Strength::Strong && is_jumbled(found);
    if !is_one || value.is_prose && !is_conspicuous(found) {
        return None;
    }
    let length = match length {
        MAX_VALUE => rest.iter().take_while(|byte| !stop(byte)).count(),
        _ => found.len(),
    };
    Some(value.start..value.start + length)
}

/// Returns whether a value in the middle of a sentence is not an ordinary word.
fn is_conspicuous(value: &[u8]) -> bool {
    let has = |test: fn(&u8) -> bool| value.iter().any(test);
    let has_cases = has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase);
    let has_symbol = has(|byte| b"!@#$%^&*".contains(byte));
    has(u8::is_ascii_digit) && (has_symbol || has_cases && value.len() >= 10)
}

/// Returns the start of the value that belongs to the name at `start..end`.
fn value_after(text: &[u8], start: usize, end: usize, strength: Strength) -> Option<ValueStart> {
    let quoted = |at: usize, needs_quote: bool, is_prose: bool| {
        let quote = text.get(at).copied().filter(|byte| is_quote(*byte));
        let start = at + usize::from(quote.is_some());
        Some(ValueStart { start, quote, needs_quote, is_prose, is_literal: false })
    };
    let mut at = end + usize::from(text.get(end).copied().is_some_and(is_quote));
    at += usize::from(text.get(at) == Some(&b']'));
    let spaced = skip_blanks(text, at);
    match text.get(spaced..)? {
        [b'=', b'=', ..] => None,
        [b'=', b'>', ..] | [b':', b'=', ..] => quoted(skip_blanks(text, spaced + 2), false, false),
        [b'?', b'=', ..] | [b'+', b'=', ..] => quoted(skip_blanks(text, spaced + 2), false, false),
        [b':', ..] => {
            let after = skip_blanks(text, spaced + 1);
            match typed(text, after) {
                Some(value) => quoted(value, true, false),
                None => quoted(after, false, false),
            }
        }
        [b'=', ..] => {
            let value = quoted(skip_blanks(text, spaced + 1), false, false)?;
            let is_literal = value.start == end + 1 && is_shell_name(text.get(start..end)?);
            Some(ValueStart { is_literal, ..value })
        }
        [b'(', ..] => quoted(skip_blanks(text, spaced + 1), true, false),
        // This is an element: `<password>…</password>`.
        [b'>', ..] if start.checked_sub(1).and_then(|at| text.get(at)) == Some(&b'<') => {
            quoted(spaced + 1, false, false)
        }
        _ if spaced > at && is_followed_by_value(text, start, end) => quoted(spaced, false, false),
        rest if spaced > at && rest.starts_with(b"is ") && strength >= Strength::Strong => {
            quoted(skip_blanks(text, spaced + 3), false, true)
        }
        _ => quoted(sibling_value(text, at)?, false, false),
    }
}

/// Returns whether a name is one to which shells and commands assign literal values: `DB_PASSWORD`,
/// `--password`.
fn is_shell_name(name: &[u8]) -> bool {
    name.starts_with(b"--") || !name.iter().any(u8::is_ascii_lowercase)
}

/// Returns the start of the value after a type: `: &str = "…"`, `: string = '…'`.
fn typed(text: &[u8], at: usize) -> Option<usize> {
    let is_type = |byte: &u8| byte.is_ascii_alphanumeric() || b"_&<>[]'.:|?".contains(byte);
    let rest = text.get(at..)?;
    let length = rest.iter().take(40).take_while(|byte| is_type(byte)).count();
    let sign = skip_blanks(text, at + length);
    let is_assigned =
        length > 1 && text.get(sign) == Some(&b'=') && text.get(sign + 1) != Some(&b'=');
    is_assigned.then(|| skip_blanks(text, sign + 1))
}

/// Returns whether only a space is between a name and its value: an option, a line of netrc, a
/// variable that a command sets.
fn is_followed_by_value(text: &[u8], start: usize, end: usize) -> bool {
    let name = text.get(start..end).unwrap_or_default();
    if name.starts_with(b"--") {
        return true;
    }
    let before = text.get(start.saturating_sub(MAX_NAME + 32)..start).unwrap_or_default();
    if sets_variable(before) {
        return true;
    }
    let mut words = before.rsplit(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    matches!(name, b"password" | b"passwd") && words.nth(1) == Some(b"login")
}

/// Returns whether a text ends in a command that sets the variable after it.
fn sets_variable(before: &[u8]) -> bool {
    const COMMANDS: &[&[u8]] =
        &[b"ENV ", b"setx ", b"setenv ", b"configure set ", b"config set ", b"/:"];
    COMMANDS.iter().any(|command| before.ends_with(command))
}

/// Returns the start of the value of a pair whose name and value are separate members: `name: X`
/// and `value: …`.
fn sibling_value(text: &[u8], at: usize) -> Option<usize> {
    let rest = text.get(at..)?;
    let is_between = |byte: &u8| byte.is_ascii_whitespace() || b",\"'{}/".contains(byte);
    let between = rest.iter().take(64).take_while(|byte| is_between(byte)).count();
    let at = at + between;
    let word = text.get(at..at + 5).filter(|_| between > 0)?;
    if !word.eq_ignore_ascii_case(b"value") {
        return None;
    }
    let at = at + 5;
    let at = at + usize::from(text.get(at).copied().is_some_and(is_quote));
    let sign = skip_blanks(text, at);
    matches!(text.get(sign)?, b':' | b'=').then(|| skip_blanks(text, sign + 1))
}

/// The maximum number of undecoded bytes that are read for at most 64 decoded bytes: no escape of
/// one byte is longer than sixteen.
const MAX_RAW_LENGTH: usize = 1024;

/// Returns whether a value may be assigned to the name which contains a word, in bytes that may
/// still have escapes. The result is never `false` if [`assigned`] finds a secret in the decoded
/// text, or if the bytes are the key of a JSON string that is a secret.
pub(crate) fn may_be_assigned(raw: &[u8], at: usize, length: usize, strength: Strength) -> bool {
    let end = at + length;
    let after = raw.get(end..).unwrap_or_default();
    let name_end =
        end + after.iter().take(MAX_RAW_LENGTH).take_while(|byte| is_name_byte(byte)).count();
    if !may_be_whole(raw, at, length) {
        return false;
    }
    let word = at;
    let Some(at) = skip_between(raw, name_end, b"\"'` ]\t") else { return true };
    let has_blank = at > name_end;
    match raw.get(at) {
        None => false,
        Some(b'=' | b':' | b'(' | b'>' | b'+' | b'?') => {
            if strength != Strength::Weak {
                return true;
            }
            // A weak name requires a long value.
            let Some(at) = skip_between(raw, at + 1, b"\"'` =>:(\t\r\n") else { return true };
            let rest = raw.get(at..).unwrap_or_default();
            if rest.first() == Some(&b'[') {
                return true;
            }
            let stops = b"\"'`,;&<>(){}[]|\\";
            let is_value = |byte: &&u8| byte.is_ascii_graphic() && !stops.contains(byte);
            let is_long = rest.iter().take(16).take_while(is_value).count() >= 16;
            (is_long || has_type(raw, at)) && may_be_weak(raw, word, name_end)
        }
        // The name may itself be a value, and its value another member.
        Some(b',' | b'{' | b'}' | b'/' | b'v' | b'V') if has_blank => {
            (may_have_sibling(raw, at) || is_value_of_name(raw, end))
                && (strength != Strength::Weak || may_be_weak(raw, word, name_end))
        }
        Some(_) if !has_blank => false,
        Some(_) => {
            let before = raw.get(word.saturating_sub(MAX_NAME)..word).unwrap_or_default();
            let start = word - before.iter().rev().take_while(|byte| is_name_byte(byte)).count();
            let name = raw.get(start..name_end).unwrap_or_default();
            let before = raw.get(start.saturating_sub(MAX_RAW_LENGTH)..start).unwrap_or_default();
            let is_strong = strength >= Strength::Strong;
            is_strong && raw.get(at..).unwrap_or_default().starts_with(b"is ")
                || memmem::find(name, b"--").is_some()
                || sets_variable(before)
                || is_strong && memmem::find(before, b"login").is_some()
        }
    }
}

/// Returns whether a member `value` may follow at `at`.
fn may_have_sibling(raw: &[u8], at: usize) -> bool {
    let Some(at) = skip_between(raw, at, b" \t\r\n,\"'{}/") else { return true };
    let is_value = raw.get(at..at + 5).is_some_and(|word| word.eq_ignore_ascii_case(b"value"));
    let sign = || skip_between(raw, at + 5, b"\"'` \t");
    is_value && sign().is_none_or(|at| matches!(raw.get(at), Some(b':' | b'=')))
}

/// Returns whether a weak word may be the name of a secret, according to the name it is in: `key`
/// alone is not enough.
fn may_be_weak(raw: &[u8], at: usize, name_end: usize) -> bool {
    let before = raw.get(at.saturating_sub(MAX_NAME)..at).unwrap_or_default();
    let start = at - before.iter().rev().take_while(|byte| is_name_byte(byte)).count();
    let lower = raw.get(start..name_end).unwrap_or_default().to_ascii_lowercase();
    let is = |word: &str| memmem::find(&lower, word.as_bytes()).is_some();
    is("token") || is("jwt") || lower.ends_with(b"auth") || VENDORS.iter().any(|vendor| is(vendor))
}

/// Returns whether an equals sign follows a type at `at`.
fn has_type(raw: &[u8], at: usize) -> bool {
    let is_type = |byte: &&u8| byte.is_ascii_alphanumeric() || b"_&<>[]'.:|?".contains(byte);
    let rest = raw.get(at..).unwrap_or_default();
    let end = at + rest.iter().take(40).take_while(is_type).count();
    skip_between(raw, end, b" \t").is_none_or(|at| raw.get(at) == Some(&b'='))
}

/// Returns whether a word may be a complete word of a name, according to the bytes beside it:
/// `tokenizer` and `monkey` are other words.
fn may_be_whole(raw: &[u8], at: usize, length: usize) -> bool {
    let ends = match raw.get(at + length..) {
        Some([b's', next, ..]) => !next.is_ascii_lowercase(),
        Some([next, ..]) => !next.is_ascii_lowercase(),
        _ => true,
    };
    let before = at.checked_sub(1).and_then(|before| raw.get(before));
    let is_short = length <= 4
        && !raw.get(at..at + length).is_some_and(|word| word.eq_ignore_ascii_case(b"pwd"));
    let begins = !is_short
        || before.is_none_or(|byte| !byte.is_ascii_alphanumeric())
        || raw.get(at).is_some_and(u8::is_ascii_uppercase)
        || raw.get(..at).is_some_and(|before| before.ends_with(b"db") || before.ends_with(b"DB"))
        || starts_word(SearchedText { bytes: raw, is_raw: true }, at);
    ends && begins
}

/// Returns whether the string before `end` is the value of a member such as `name`, according to
/// the bytes before it. The value of the pair is then another member of the same object, at any
/// distance.
fn is_value_of_name(raw: &[u8], end: usize) -> bool {
    let before = raw.get(end.saturating_sub(MAX_RAW_LENGTH)..end).unwrap_or_default();
    let Some(quote) = memchr::memrchr(b'"', before) else { return before.len() == MAX_RAW_LENGTH };
    let before = before.get(..quote).unwrap_or_default();
    let gap = |byte: &&u8| matches!(byte, b' ' | b'\t' | b'\r' | b'\n' | b':' | b'"');
    let gaps = before.iter().rev().take_while(gap).count();
    let before = before.get(..before.len() - gaps).unwrap_or_default();
    before.is_empty() || NAMES.iter().any(|name| before.ends_with(name))
}

/// Returns the position after bytes that can be between a name and its value, including escapes;
/// `None` if there are too many to decide.
fn skip_between(raw: &[u8], mut at: usize, allowed: &[u8]) -> Option<usize> {
    let most = at + MAX_RAW_LENGTH;
    while at < most {
        match raw.get(at) {
            Some(b'\\') => {
                at += match raw.get(at + 1) {
                    Some(b't' | b'n' | b'r') => 2,
                    Some(b'u') => 6,
                    _ => 1,
                }
            }
            Some(byte) if allowed.contains(byte) => at += 1,
            _ => return Some(at),
        }
    }
    None
}
