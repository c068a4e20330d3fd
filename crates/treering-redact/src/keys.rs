//! Finds private keys in PEM and similar formats.

use crate::tokens::{Alphabet, run};
use memchr::memmem;
use std::ops::Range;

/// The maximum length of the title of a key.
const MAX_TITLE: usize = 64;

/// The maximum length of a key.
const MAX_KEY: usize = 16 * 1024;

/// Returns the private key whose title begins with the `BEGIN ` at `at`, from its first dash to its
/// last. If the key is incomplete, returns as much as there is.
pub(crate) fn private_key(text: &[u8], at: usize) -> Option<Range<usize>> {
    let before = text.get(at.saturating_sub(6)..at)?;
    let dashes = before.iter().rev().take_while(|byte| matches!(byte, b'-' | b' ')).count();
    if dashes < 4 {
        return None;
    }
    let start = at - dashes.min(5);
    let rest = text.get(at..)?;
    let title = rest.get(..rest.len().min(MAX_TITLE))?.strip_prefix(b"BEGIN ")?;
    let name_end = memmem::find(title, b"----")?;
    memmem::find(title.get(..name_end)?, b"PRIVATE KEY")?;
    let title_end = b"BEGIN ".len() + name_end;
    let body = title_end + rest.get(title_end..)?.iter().take_while(|byte| **byte == b'-').count();
    let near = rest.get(body..rest.len().min(MAX_KEY))?;
    let end = memmem::find(near, b"--END ").or_else(|| memmem::find(near, b"-- END "));
    if let Some(end) = end {
        let last = near.get(end + 6..)?;
        let last = last.get(..last.len().min(MAX_TITLE))?;
        let tail = memmem::find(last, b"----").map_or(0, |dashes| {
            let more = last.get(dashes..).unwrap_or_default();
            dashes + more.iter().take_while(|byte| **byte == b'-').count()
        });
        let length = body + end + 6 + tail;
        // If nothing is between them, the lines are only a text about keys.
        return (end > 40).then_some(start..at + length);
    }
    let length = words(near);
    (length > 0).then_some(start..at + body + length)
}

/// Returns the private lines of a PuTTY key whose `Private-Lines:` is at `at`.
pub(crate) fn putty_key(text: &[u8], at: usize) -> Option<Range<usize>> {
    let start = at + b"Private-Lines:".len();
    let rest = text.get(start..)?;
    let count = rest
        .iter()
        .take(8)
        .take_while(|byte| !byte.is_ascii_whitespace() || **byte == b' ')
        .count();
    let body = start + count;
    let near = text.get(body..text.len().min(body + MAX_KEY))?;
    let length = words(near);
    let blanks = near.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
    (length > 0).then_some(body + blanks..body + length)
}

/// Returns the length of the words of a key.
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

/// Returns whether a private key may begin here, in a text that may still have escapes.
pub(crate) fn may_be_private_key(raw: &[u8], at: usize) -> bool {
    let title = raw.get(at..raw.len().min(at + 2 * MAX_TITLE)).unwrap_or_default();
    memmem::find(title, b"PRIVATE KEY").is_some()
}
