//! The shapes of keys and tokens that say themselves what they are: a beginning that nothing else
//! has, and so many characters of an alphabet after it.
//!
//! A shape counts only where a word begins, and only if it ends where its alphabet does: what goes on
//! for longer is something else, such as the data of an image.

use std::ops::Range;

/// Which characters a token is made of.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Alphabet {
    /// Letters and digits.
    Alnum,
    /// Capital letters and digits.
    Upper,
    /// Letters, digits, `_` and `-`.
    Url,
    /// The same and `.`.
    Dotted,
    /// Letters, digits, `+`, `/`, `=`.
    Base64,
}

impl Alphabet {
    pub(crate) fn has(self, byte: u8) -> bool {
        match self {
            Alphabet::Alnum => byte.is_ascii_alphanumeric(),
            Alphabet::Upper => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
            Alphabet::Url => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'),
            Alphabet::Dotted => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'),
            Alphabet::Base64 => byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'='),
        }
    }
}

/// A kind of token.
#[derive(Debug)]
pub(crate) struct Shape {
    pub kind: &'static str,
    pub prefix: &'static str,
    alphabet: Alphabet,
    /// How many characters follow the prefix.
    length: (usize, usize),
    /// Whether it has digits and letters after the prefix: keeps words apart from tokens.
    mixed: bool,
}

const fn shape(
    kind: &'static str,
    prefix: &'static str,
    alphabet: Alphabet,
    least: usize,
    most: usize,
) -> Shape {
    Shape { kind, prefix, alphabet, length: (least, most), mixed: true }
}

use Alphabet::{Alnum, Base64, Dotted, Upper, Url};

pub(crate) const SHAPES: &[Shape] = &[
    Shape { mixed: false, ..shape("aws-key", "AKIA", Upper, 16, 16) },
    Shape { mixed: false, ..shape("aws-key", "ASIA", Upper, 16, 16) },
    Shape { mixed: false, ..shape("aws-key", "ABIA", Upper, 16, 16) },
    shape("github-token", "ghp_", Alnum, 36, 255),
    shape("github-token", "gho_", Alnum, 36, 255),
    shape("github-token", "ghu_", Alnum, 36, 255),
    shape("github-token", "ghs_", Alnum, 36, 255),
    shape("github-token", "ghr_", Alnum, 36, 255),
    shape("github-token", "github_pat_", Url, 36, 255),
    shape("gitlab-token", "glpat-", Dotted, 20, 255),
    shape("gitlab-token", "gldt-", Url, 20, 255),
    shape("gitlab-token", "glrt-", Dotted, 20, 255),
    shape("gitlab-token", "glptt-", Url, 20, 255),
    shape("gitlab-token", "glcbt-", Url, 20, 255),
    shape("slack-token", "xoxb-", Url, 20, 255),
    shape("slack-token", "xoxp-", Url, 20, 255),
    shape("slack-token", "xoxa-", Url, 20, 255),
    shape("slack-token", "xoxr-", Url, 20, 255),
    shape("slack-token", "xoxs-", Url, 20, 255),
    shape("slack-token", "xoxe-", Url, 20, 255),
    shape("slack-token", "xoxe.xoxp-", Url, 20, 255),
    shape("slack-token", "xapp-", Url, 20, 255),
    shape("slack-webhook", "hooks.slack.com/services/", Alphabet::Base64, 30, 120),
    shape("anthropic-key", "sk-ant-", Url, 24, 255),
    shape("openai-key", "sk-proj-", Url, 24, 255),
    shape("openai-key", "sk-svcacct-", Url, 24, 255),
    shape("openai-key", "sk-admin-", Url, 24, 255),
    shape("openrouter-key", "sk-or-v1-", Alnum, 32, 128),
    shape("openai-key", "sk-", Alnum, 32, 128),
    shape("google-key", "AIza", Url, 35, 35),
    shape("google-token", "ya29.", Dotted, 40, 2048),
    shape("google-secret", "GOCSPX-", Url, 20, 60),
    shape("stripe-key", "sk_live_", Alnum, 16, 255),
    shape("stripe-key", "sk_test_", Alnum, 16, 255),
    shape("stripe-key", "rk_live_", Alnum, 16, 255),
    shape("stripe-key", "rk_test_", Alnum, 16, 255),
    shape("stripe-key", "whsec_", Base64, 24, 255),
    shape("npm-token", "npm_", Alnum, 36, 36),
    shape("pypi-token", "pypi-", Url, 50, 512),
    shape("huggingface-token", "hf_", Alnum, 30, 80),
    shape("sendgrid-key", "SG.", Dotted, 60, 80),
    shape("digitalocean-token", "dop_v1_", Alnum, 64, 64),
    shape("xai-key", "xai-", Alnum, 60, 120),
    shape("groq-key", "gsk_", Alnum, 40, 80),
    shape("azure-key", "AccountKey=", Base64, 40, 128),
    shape("azure-key", "SharedAccessKey=", Base64, 40, 128),
];

impl Shape {
    /// The token whose prefix stands at `at`.
    pub(crate) fn at(&self, text: &[u8], at: usize) -> Option<Range<usize>> {
        if !starts_word(text, at) || !text.get(at..)?.starts_with(self.prefix.as_bytes()) {
            return None;
        }
        let body = at + self.prefix.len();
        let (least, most) = self.length;
        let run = run(text, body, self.alphabet, most + 1);
        // What ends a sentence is no part of a token.
        let end = body + run;
        let trailing = text.get(body..end)?.iter().rev().take_while(|byte| **byte == b'.').count();
        let end = end - trailing;
        if end - body < least || end - body > most {
            return None;
        }
        if text.get(end).is_some_and(u8::is_ascii_alphanumeric) {
            return None;
        }
        let bytes = text.get(body..end)?;
        let is_mixed = bytes.iter().any(u8::is_ascii_digit)
            && bytes.iter().any(u8::is_ascii_alphabetic)
            && distinct(bytes) >= 8;
        let is_token = is_mixed || (!self.mixed && distinct(bytes) >= 6);
        // Where the prefix is a name rather than a part of the secret, it stays.
        let start = if self.prefix.ends_with(['=', '/']) { body } else { at };
        is_token.then_some(start..end)
    }
}

/// A JSON web token: three parts, the first of which begins with `{"`.
pub(crate) fn web_token(text: &[u8], at: usize) -> Option<Range<usize>> {
    const MOST: usize = 16 * 1024;
    if !starts_word(text, at)
        || at.checked_sub(1).is_some_and(|before| text.get(before) == Some(&b'.'))
    {
        return None;
    }
    let header = run(text, at, Url, MOST);
    let dot = at + header;
    if header < 12 || text.get(dot) != Some(&b'.') || !text.get(dot + 1..)?.starts_with(b"eyJ") {
        return None;
    }
    let payload = run(text, dot + 1, Url, MOST);
    let second = dot + 1 + payload;
    // One whose signature was cut off still says everything.
    let signature = match text.get(second) {
        Some(b'.') => 1 + run(text, second + 1, Url, MOST),
        _ => 0,
    };
    (payload >= 8).then_some(at..second + signature)
}

/// How many bytes from `at` on are of the alphabet, counted up to `most`.
pub(crate) fn run(text: &[u8], at: usize, alphabet: Alphabet, most: usize) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    rest.iter().take(most).take_while(|byte| alphabet.has(**byte)).count()
}

pub(crate) fn distinct(bytes: &[u8]) -> u32 {
    let mut seen = [0_u128; 2];
    for byte in bytes {
        seen[usize::from(byte >> 7)] |= 1 << (byte & 127);
    }
    seen.iter().map(|bits| bits.count_ones()).sum()
}

/// Whether the byte before `at` cannot be part of the same word.
pub(crate) fn starts_word(text: &[u8], at: usize) -> bool {
    let before = at.checked_sub(1).and_then(|before| text.get(before));
    before.is_none_or(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_')
}
