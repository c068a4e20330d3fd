//! Tests of the secrets that a redaction finds, the text that it leaves unchanged, and the
//! structure of the session.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "how a test fails")]

mod harmless;
mod lines;
mod rules;
mod secrets;
mod trees;

use treering_redact::{Options, Redactor};

fn redactor() -> Redactor {
    Redactor::new(&Options::default()).unwrap()
}

/// Looks for everything there is.
fn thorough() -> Redactor {
    let patterns = vec![("ticket".to_owned(), r"TICKET-\d{4}".to_owned())];
    let mut options = Options::new().emails(true).home(true);
    options.patterns = patterns;
    Redactor::new(&options).unwrap()
}

/// Letters and digits that look random and are always the same. No test file holds anything that could
/// be taken for a real key.
fn random(seed: u64, length: usize) -> String {
    const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut text = String::new();
    while text.len() < length {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        text.push(char::from(LETTERS[(state % 62) as usize]));
    }
    // There is always a digit, and a letter of each case.
    text.replace_range(..3.min(length), &"a7Z"[..3.min(length)]);
    text
}

fn upper(seed: u64, length: usize) -> String {
    random(seed, length).to_ascii_uppercase()
}

fn lower(seed: u64, length: usize) -> String {
    random(seed, length).to_ascii_lowercase()
}

/// Hexadecimal digits that look random and are always the same.
fn hex(seed: u64, length: usize) -> String {
    const DIGITS: &[u8] = b"0123456789abcdef";
    let letters = random(seed, length + 3);
    letters.bytes().skip(3).map(|byte| char::from(DIGITS[usize::from(byte) % 16])).collect()
}
