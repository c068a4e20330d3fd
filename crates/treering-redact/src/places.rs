//! Secrets that the text around them gives away: private keys, headers, URLs; and what is personal
//! rather than secret: e-mail addresses, names in home directories.

use crate::named::is_secret;
use crate::tokens::{Alphabet, run, starts_word};
use memchr::memmem;
use std::ops::Range;

/// A private key, from its first dash to its last; as much as there is of one that was cut off.
pub(crate) fn private_key(text: &[u8], at: usize) -> Option<Range<usize>> {
    const MOST_TITLE: usize = 64;
    const MOST_KEY: usize = 16 * 1024;
    let rest = text.get(at..)?;
    let title = rest.get(..rest.len().min(MOST_TITLE))?.strip_prefix(b"-----BEGIN ")?;
    let title_end = memmem::find(title, b"-----")?;
    let name = title.get(..title_end)?;
    memmem::find(name, b"PRIVATE KEY")?;
    let body = b"-----BEGIN ".len() + title_end + b"-----".len();
    let near = rest.get(body..rest.len().min(MOST_KEY))?;
    if let Some(end) = memmem::find(near, b"-----END ") {
        let last = near.get(end + 9..)?;
        let dashes = memmem::find(last.get(..last.len().min(MOST_TITLE))?, b"-----");
        let end = body + end + 9 + dashes.map_or(0, |dashes| dashes + 5);
        // Without anything between them, the lines are what somebody says about keys.
        return (end - body > 48).then_some(at..at + end);
    }
    let length = words(near);
    (length > 0).then_some(at..at + body + length)
}

/// How long the words are that a key is made of.
fn words(text: &[u8]) -> usize {
    let mut end = 0;
    loop {
        let blanks = text.get(end..).unwrap_or_default();
        let blanks = blanks.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        let word = run(text, end + blanks, Alphabet::Base64, usize::MAX);
        if word < 20 {
            return end;
        }
        end += blanks + word;
    }
}

/// What follows `Bearer` or `Authorization:`.
pub(crate) fn credentials(text: &[u8], at: usize, word: &str) -> Option<Range<usize>> {
    if !starts_word(text, at) {
        return None;
    }
    let mut start = at + word.len();
    let mut scheme = word;
    if word == "authorization" {
        start += spacing(text, start);
        for known in ["bearer", "basic", "token", "apikey", "bot"] {
            let next = text.get(start..start + known.len());
            if next.is_some_and(|next| next.eq_ignore_ascii_case(known.as_bytes())) {
                start += known.len();
                scheme = known;
                break;
            }
        }
    }
    let blanks = spacing(text, start);
    if blanks == 0 && scheme != "authorization" {
        return None;
    }
    start += blanks;
    let allowed = |byte: &u8| byte.is_ascii_alphanumeric() || b"._~+/=-".contains(byte);
    let rest = text.get(start..)?;
    let length = rest.iter().take(8192).take_while(|byte| allowed(byte)).count();
    let value = rest.get(..length)?;
    let is_one = match scheme {
        "basic" => length >= 8 && length.is_multiple_of(4) && word == "authorization",
        _ => length >= 12 && is_secret(value, true, false),
    };
    is_one.then_some(start..start + length)
}

fn spacing(text: &[u8], at: usize) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    rest.iter().take(8).take_while(|byte| b" \t:=\"',".contains(byte)).count()
}

/// The password in `scheme://user:password@host`; `at` is where `://` stands.
pub(crate) fn url_password(text: &[u8], at: usize) -> Option<Range<usize>> {
    let start = at + 3;
    let rest = text.get(start..)?;
    let stop = |byte: &u8| byte.is_ascii_whitespace() || b"/\"'<>@:\\`?#()".contains(byte);
    let user = rest.iter().take(128).take_while(|byte| !stop(byte)).count();
    if rest.get(user) != Some(&b':') {
        return None;
    }
    let value = rest.get(user + 1..)?;
    let stop = |byte: &u8| byte.is_ascii_whitespace() || b"/\"'<>@\\`".contains(byte);
    let length = value.iter().take(512).take_while(|byte| !stop(byte)).count();
    let password = value.get(..length)?;
    let is_reference = matches!(password.first()?, b'$' | b'{' | b'[' | b'*' | b'%' | b'<');
    let is_one = value.get(length) == Some(&b'@') && length >= 3 && !is_reference;
    is_one.then_some(start + user + 1..start + user + 1 + length)
}

/// The address around the `@` that stands at `at`.
pub(crate) fn email(text: &[u8], at: usize) -> Option<Range<usize>> {
    const IMAGES: [&[u8]; 6] = [b"png", b"jpg", b"jpeg", b"gif", b"svg", b"webp"];
    let local = |byte: &u8| byte.is_ascii_alphanumeric() || b"._%+-".contains(byte);
    let before = text.get(at.saturating_sub(64)..at)?;
    let length = before.iter().rev().take_while(|byte| local(byte)).count();
    let start = at - length;
    let user = text.get(start..at)?;
    let domain = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-');
    let rest = text.get(at + 1..)?;
    let length = rest.iter().take(253).take_while(|byte| domain(byte)).count();
    let host = rest.get(..length)?;
    let host = host
        .get(..host.len() - host.iter().rev().take_while(|b| !b.is_ascii_alphanumeric()).count())?;
    let (name, last) = host.split_at(memchr::memrchr(b'.', host)?);
    let last = last.get(1..)?;
    let is_one = user.first()?.is_ascii_alphanumeric()
        && user != b"git"
        && name.first()?.is_ascii_alphanumeric()
        && last.len() >= 2
        && last.iter().all(u8::is_ascii_alphabetic)
        && !IMAGES.iter().any(|image| last.eq_ignore_ascii_case(image));
    is_one.then_some(start..at + 1 + host.len())
}

/// The user's name after `/home/`, `/Users/`, `\Users\` or `-home-`, which begins at `at`.
pub(crate) fn home(text: &[u8], at: usize, before: &str) -> Option<Range<usize>> {
    const NOBODY: [&[u8]; 7] =
        [b"user", b"Shared", b"Public", b"Default", b"linuxbrew", b"username", b"you"];
    if !text.get(at..)?.starts_with(before.as_bytes()) || is_in_url(text, at) {
        return None;
    }
    let mut start = at + before.len();
    // In texts within texts, backslashes are doubled.
    if before.starts_with('\\') {
        let rest = text.get(start..)?;
        start += rest.iter().take(8).take_while(|byte| **byte == b'\\').count();
        if start == at + before.len() {
            return None;
        }
    }
    let is_dashed = before.starts_with('-');
    let name = |byte: &u8| {
        byte.is_ascii_alphanumeric()
            || matches!(byte, b'_' | b'.')
            || *byte >= 0x80
            || (*byte == b'-' && !is_dashed)
    };
    let rest = text.get(start..)?;
    let length = rest.iter().take(65).take_while(|byte| name(byte)).count();
    let found = rest.get(..length)?;
    let dots = found.iter().rev().take_while(|byte| **byte == b'.').count();
    let found = found.get(..length - dots)?;
    let first = found.first()?;
    let is_one = found.len() <= 64
        && (first.is_ascii_alphanumeric() || *first == b'_' || *first >= 0x80)
        && !NOBODY.contains(&found)
        && !is_numbered_user(found);
    is_one.then(|| start..start + found.len())
}

/// Whether the word around `at` is an address of something that is no file.
fn is_in_url(text: &[u8], at: usize) -> bool {
    let before = text.get(at.saturating_sub(128)..at).unwrap_or_default();
    let ends = |byte: &u8| byte.is_ascii_whitespace() || b"\"'<>(=".contains(byte);
    let word = before.rsplit(ends).next().unwrap_or_default();
    memmem::find(word, b"://")
        .is_some_and(|sign| !word.get(..sign).unwrap_or_default().ends_with(b"file"))
}

/// What a name was replaced by already.
fn is_numbered_user(name: &[u8]) -> bool {
    name.strip_prefix(b"user").is_some_and(|rest| rest.iter().all(u8::is_ascii_digit))
}
