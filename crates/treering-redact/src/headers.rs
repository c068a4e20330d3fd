//! Finds credentials in headers, cookies and URLs.

use crate::tokens::{Alphabet, SearchedText, run, starts_word};
use crate::value::{Strength, is_placeholder, is_random, is_reference, is_secret};
use std::ops::Range;

/// The words with which the credentials of a header begin.
const SCHEMES: &[&str] = &["bearer", "basic", "token", "apikey", "api-key", "bot", "ssws", "key"];

/// Returns the credentials after `Bearer` or `Authorization:`, whose `word` is at `at`.
pub(crate) fn credentials(text: &[u8], at: usize, word: &str) -> Option<Range<usize>> {
    if !starts_word(SearchedText { bytes: text, is_raw: false }, at) {
        return None;
    }
    let start = at + word.len();
    match word {
        "authorization" => authorization(text, start + separators(text, start)),
        _ => match separators(text, start) {
            0 => None,
            blanks => value(text, start + blanks, word),
        },
    }
}

/// Returns the credentials in the value of an `Authorization` header that begins at `start`.
pub(crate) fn authorization(text: &[u8], start: usize) -> Option<Range<usize>> {
    for scheme in SCHEMES {
        let next = text.get(start..start + scheme.len());
        if next.is_some_and(|next| next.eq_ignore_ascii_case(scheme.as_bytes())) {
            let after = start + scheme.len();
            let blanks = separators(text, after);
            if blanks > 0 {
                return value(text, after + blanks, scheme);
            }
        }
    }
    value(text, start, "")
}

fn value(text: &[u8], start: usize, scheme: &str) -> Option<Range<usize>> {
    let allowed = |byte: &u8| byte.is_ascii_alphanumeric() || b"._~+/=-".contains(byte);
    let rest = text.get(start..)?;
    let length = rest.iter().take(8192).take_while(|byte| allowed(byte)).count();
    let value = rest.get(..length)?;
    let is_one = match scheme {
        "basic" => length >= 8 && length.is_multiple_of(4) && is_base64_pair(value),
        _ => length >= 12 && is_secret(value, Strength::Strong, false),
    };
    is_one.then_some(start..start + length)
}

/// Returns whether a value is Base64 of a text with a colon.
fn is_base64_pair(value: &[u8]) -> bool {
    let digit = |byte: u8| match byte {
        b'A'..=b'Z' => Some(u32::from(byte - b'A')),
        b'a'..=b'z' => Some(u32::from(byte - b'a') + 26),
        b'0'..=b'9' => Some(u32::from(byte - b'0') + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    };
    value.chunks(4).any(|chunk| {
        let (mut bits, mut count) = (0_u32, 0);
        for byte in chunk {
            match digit(*byte) {
                Some(digit) => (bits, count) = (bits << 6 | digit, count + 6),
                None => break,
            }
        }
        let bits = bits << (24_u32.saturating_sub(count));
        let bytes = bits.to_be_bytes();
        bytes.get(1..1 + (count / 8) as usize).unwrap_or_default().contains(&b':')
    })
}

fn separators(text: &[u8], at: usize) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    rest.iter().take(8).take_while(|byte| b" \t:=\"',".contains(byte)).count()
}

/// Returns whether credentials may follow the word `bearer`, in a text that may still have escapes.
pub(crate) fn may_be_bearer(raw: &[u8], at: usize) -> bool {
    let start = at + "bearer".len();
    let between = |byte: &&u8| b" \t:=\"',\\tu0".contains(byte);
    let rest = raw.get(start..).unwrap_or_default();
    let blanks = rest.iter().take(80).take_while(between).count();
    // The separators may have included characters of the value itself, such as `t`, `u` and `0`.
    blanks > 0 && run(raw, start + blanks, Alphabet::Base64, 4) >= 1
}

/// Adds the values of the cookies in a header whose name `word` is at `at`.
pub(crate) fn cookies(text: &[u8], at: usize, found: &mut Vec<Range<usize>>) {
    let mut start = at + "cookie".len();
    start += separators(text, start);
    if start > at + "cookie".len() && starts_word(SearchedText { bytes: text, is_raw: false }, at) {
        cookie_pairs(text, start, found);
    }
}

/// Adds the values of `name=value; name=value` from `at` on that could be secrets.
pub(crate) fn cookie_pairs(text: &[u8], mut at: usize, found: &mut Vec<Range<usize>>) {
    const SESSIONS: &[&str] =
        &["sess", "sid", "auth", "token", "jwt", "csrf", "xsrf", "login", "remember", "key", "_id"];
    const MAX_NAME: usize = 64;
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-.:!#$%&*+^|~".contains(byte);
    let is_value = |byte: &u8| byte.is_ascii_graphic() && !b"\"'`,;\\<>{}".contains(byte);
    for _ in 0..MAX_NAME {
        let rest = text.get(at..).unwrap_or_default();
        let name = rest.iter().take(128).take_while(|byte| is_name(byte)).count();
        if name == 0 {
            return;
        }
        let mut end = at + name;
        if text.get(end) == Some(&b'=') {
            let start = end + 1;
            let rest = text.get(start..).unwrap_or_default();
            let length = rest.iter().take(4096).take_while(|byte| is_value(byte)).count();
            end = start + length;
            let lower = text.get(at..at + name).unwrap_or_default().to_ascii_lowercase();
            let is_session =
                SESSIONS.iter().any(|word| memchr::memmem::find(&lower, word.as_bytes()).is_some());
            let value = text.get(start..end).unwrap_or_default();
            let has = |test: fn(&u8) -> bool| value.iter().any(test);
            let is_long = length >= 10 && has(u8::is_ascii_digit) && has(u8::is_ascii_alphabetic);
            let is_open = !is_reference(value) && !is_placeholder(value);
            let is_attribute = matches!(&*lower, b"expires" | b"path" | b"domain" | b"max-age");
            if is_open
                && !is_attribute
                && (is_session && is_long || length >= 16 && is_random(value))
            {
                found.push(start..end);
            }
        }
        let rest = text.get(end..).unwrap_or_default();
        let blanks = rest.iter().take(4).take_while(|byte| matches!(byte, b';' | b' ')).count();
        if rest.first() != Some(&b';') {
            return;
        }
        at = end + blanks;
    }
}

/// Returns the password in `scheme://user:password@host`, or a random user name that is used as
/// one; `://` is at `at`.
pub(crate) fn url_password(text: &[u8], at: usize) -> Option<Range<usize>> {
    let start = at + 3;
    let rest = text.get(start..)?;
    let stop = |byte: &u8| byte.is_ascii_whitespace() || b"/\"'<>@:\\`?#()|,;".contains(byte);
    let user = rest.iter().take(128).take_while(|byte| !stop(byte)).count();
    let name = rest.get(..user)?;
    match rest.get(user)? {
        b'@' => {
            let is_token = user >= 20 && is_secret(name, Strength::Vendor, true);
            return is_token.then_some(start..start + user);
        }
        b':' => {}
        _ => return None,
    }
    let value = rest.get(user + 1..)?;
    let stop = |byte: &u8| byte.is_ascii_whitespace() || b"/\"'<>@\\`".contains(byte);
    let length = value.iter().take(512).take_while(|byte| !stop(byte)).count();
    let password = value.get(..length)?;
    let is_one = value.get(length) == Some(&b'@') && is_typed(password);
    is_one.then_some(start + user + 1..start + user + 1 + length)
}

/// Returns whether a URL may have a password in it, in a text that may still have escapes.
pub(crate) fn may_have_password(raw: &[u8], at: usize) -> bool {
    let rest = raw.get(at + 3..).unwrap_or_default();
    let stop = |byte: &&u8| !b" /\"'<>`".contains(byte);
    let length = rest.iter().take(8192).take_while(stop).count();
    memchr::memchr(b'@', rest.get(..length).unwrap_or_default()).is_some()
}

/// Returns whether a value in the position of a typed password is one: any word except the usual
/// placeholders of documentation.
pub(crate) fn is_typed(value: &[u8]) -> bool {
    const WORDS: &[&str] = &[
        "pass", "password", "passwd", "pwd", "secret", "token", "pw", "user", "key", "port", "none",
    ];
    let is_word = WORDS.iter().any(|word| value.eq_ignore_ascii_case(word.as_bytes()));
    let is_varied = value.iter().any(|byte| Some(byte) != value.first());
    let is_number = value.iter().all(u8::is_ascii_digit) && value.len() < 6;
    value.len() >= 3
        && is_varied
        && !is_word
        && !is_number
        && !is_reference(value)
        && !is_placeholder(value)
}
