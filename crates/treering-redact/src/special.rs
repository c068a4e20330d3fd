//! Recognizes tokens without a prefix, by a mark in their middle or at their end.

use crate::tokens::Alphabet::{Alnum, Digits, Hex, Url};
use crate::tokens::{SearchedText, run, run_back, starts_word};
use crate::value::{distinct, is_example};
use std::ops::Range;

/// The maximum number of bytes that are read backwards: more than any token and an escape before
/// it.
const MAX_BACKWARD: usize = 48;

/// A token with a mark in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Special {
    /// `digits:AA…` of Telegram's bots.
    Telegram,
    /// `user.time.signature` of Discord's bots, after the name of a function or a scheme: `login('…')`.
    Discord,
    /// `…8Q~…` of Azure's applications.
    AzureApplication,
    /// `hex-us12`
    Mailchimp,
    /// `….atlasv1.…` of Terraform.
    Atlas,
    /// `…_mmk`
    MaxMind,
}

impl Special {
    pub(crate) fn kind(self) -> &'static str {
        match self {
            Special::Telegram => "telegram-token",
            Special::Discord => "discord-token",
            Special::AzureApplication => "azure-secret",
            Special::Mailchimp => "mailchimp-key",
            Special::Atlas => "terraform-token",
            Special::MaxMind => "maxmind-key",
        }
    }

    /// Returns the token whose mark is at `at`.
    pub(crate) fn at(self, text: SearchedText<'_>, at: usize) -> Option<Range<usize>> {
        let bytes = text.bytes;
        // The characters of an escape may seem to be part of the text after it.
        let is_run = |length: usize, expected: std::ops::RangeInclusive<usize>| {
            let is_exact = expected.start() == expected.end();
            expected.contains(&length) || (text.is_raw || is_exact) && length > *expected.end()
        };
        let (start, end) = match self {
            Special::Telegram => {
                bytes.get(at..)?.strip_prefix(b":AA")?;
                let digits = run_back(bytes, at, Digits, MAX_BACKWARD);
                let length = run(bytes, at + 1, Url, 37);
                if !is_run(digits, 8..=10) || !(34..=36).contains(&length) {
                    return None;
                }
                (at - digits, at + 1 + length)
            }
            Special::Discord => {
                let rest = bytes.get(at..)?;
                let word = rest.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
                let is_gap = |byte: &&u8| b" (\"'`=:\\".contains(byte);
                let gap = rest.iter().skip(word).take(8).take_while(is_gap).count();
                let at = at + word + gap;
                let user = run(bytes, at, Url, 30);
                let time = run(bytes, at + user + 1, Url, 8);
                let signature = run(bytes, at + user + time + 2, Url, 45);
                let is_one = (23..=28).contains(&user)
                    && (6..=7).contains(&time)
                    && (27..=40).contains(&signature);
                let dots = bytes.get(at + user) == Some(&b'.')
                    && bytes.get(at + user + 1 + time) == Some(&b'.');
                // The user's number is decimal, so its Base64 begins with one of these letters.
                if !is_one || !dots || !matches!(bytes.get(at)?, b'M' | b'N' | b'O') {
                    return None;
                }
                (at, at + user + time + signature + 2)
            }
            Special::AzureApplication => {
                let is_part = |byte: &&u8| byte.is_ascii_alphanumeric() || b"_~.-".contains(byte);
                bytes.get(at + 1..)?.strip_prefix(b"Q~")?;
                let start = at.checked_sub(3)?;
                let length = bytes.get(at + 3..)?.iter().take(36).take_while(is_part).count();
                let run = bytes.get(at + 3..at + 3 + length)?;
                let length = length - run.iter().rev().take_while(|byte| **byte == b'.').count();
                let is_whole = bytes.get(start..at)?.iter().all(|byte| is_part(&byte));
                if !is_whole || !(31..=34).contains(&length) {
                    return None;
                }
                (start, at + 3 + length)
            }
            Special::Mailchimp => {
                bytes.get(at..)?.strip_prefix(b"-us")?;
                let (hex, digits) =
                    (run_back(bytes, at, Hex, MAX_BACKWARD), run(bytes, at + 3, Digits, 3));
                if !is_run(hex, 32..=32) || !(1..=2).contains(&digits) {
                    return None;
                }
                (at - 32, at + 3 + digits)
            }
            Special::Atlas => {
                bytes.get(at..)?.strip_prefix(b".atlasv1.")?;
                let (name, secret) =
                    (run_back(bytes, at, Alnum, MAX_BACKWARD), run(bytes, at + 9, Url, 80));
                if !is_run(name, 14..=14) || secret < 50 {
                    return None;
                }
                (at - 14, at + 9 + secret)
            }
            Special::MaxMind => {
                bytes.get(at..)?.strip_prefix(b"_mmk")?;
                let secret = run_back(bytes, at, Alnum, 30);
                let name = run_back(bytes, at.checked_sub(secret + 1)?, Alnum, MAX_BACKWARD);
                if secret != 29 || !is_run(name, 6..=6) || bytes.get(at - secret - 1) != Some(&b'_')
                {
                    return None;
                }
                (at - secret - 7, at + 4)
            }
        };
        let token = bytes.get(start..end)?;
        let goes_on =
            bytes.get(end).is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
        let is_start = text.is_raw
            || starts_word(text, start)
            || self == Special::Telegram && bytes.get(..start)?.ends_with(b"bot");
        (is_start && !goes_on && distinct(token) >= 10 && !is_example(token)).then_some(start..end)
    }
}
