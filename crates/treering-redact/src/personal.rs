//! Finds personal data: e-mail addresses, and user names in home directories.

use memchr::memmem;
use std::ops::Range;

/// Returns the address around the `@` at `at`.
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

/// Returns the user name after `/home/`, `/Users/`, `\Users\` or `-home-`, which begins at `at`.
pub(crate) fn home(text: &[u8], at: usize, before: &str) -> Option<Range<usize>> {
    const NO_PERSON: [&[u8]; 7] =
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
        && !NO_PERSON.contains(&found)
        && !is_numbered_user(found);
    is_one.then(|| start..start + found.len())
}

/// Returns whether the word around `at` is a URL of something other than a file.
fn is_in_url(text: &[u8], at: usize) -> bool {
    let before = text.get(at.saturating_sub(128)..at).unwrap_or_default();
    let ends = |byte: &u8| byte.is_ascii_whitespace() || b"\"'<>(=".contains(byte);
    let word = before.rsplit(ends).next().unwrap_or_default();
    memmem::find(word, b"://")
        .is_some_and(|sign| !word.get(..sign).unwrap_or_default().ends_with(b"file"))
}

/// Returns whether a name is the replacement of an earlier redaction.
fn is_numbered_user(name: &[u8]) -> bool {
    name.strip_prefix(b"user").is_some_and(|rest| rest.iter().all(u8::is_ascii_digit))
}
