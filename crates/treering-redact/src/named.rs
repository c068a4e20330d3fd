//! Secrets that only their names give away: `password=…`, `"api_key": "…"`, `--token …`.
//!
//! A name is strong (`password`, `client_secret`) or weak (`token`, which is also what a parser makes).
//! After a strong name nearly everything that could be a secret counts; after a weak one the value
//! must look random. What looks like code, a path, a variable or a word never counts.

use crate::tokens::distinct;
use std::ops::Range;

/// Words in the names of secrets, and whether they are strong.
pub(crate) const WORDS: &[(&str, bool)] = &[
    ("password", true),
    ("passwd", true),
    ("passphrase", true),
    ("pwd", true),
    ("secret", true),
    ("apikey", true),
    ("api_key", true),
    ("api-key", true),
    ("accesskey", true),
    ("access_key", true),
    ("access-key", true),
    ("privatekey", true),
    ("private_key", true),
    ("signing_key", true),
    ("encryption_key", true),
    ("master_key", true),
    ("accesstoken", true),
    ("access_token", true),
    ("access-token", true),
    ("refreshtoken", true),
    ("refresh_token", true),
    ("authtoken", true),
    ("auth_token", true),
    ("auth-token", true),
    ("credential", true),
    ("token", false),
];

/// Ends of names of things that are about a secret and are none.
const HARMLESS: &[&str] = &[
    "file",
    "path",
    "name",
    "id",
    "ids",
    "url",
    "uri",
    "length",
    "len",
    "count",
    "type",
    "field",
    "env",
    "var",
    "label",
    "hint",
    "policy",
    "expiry",
    "expires",
    "ttl",
    "arn",
    "version",
    "kind",
    "budget",
    "limit",
    "usage",
    "signature",
    "manager",
    "dir",
    "ref",
    "regex",
    "pattern",
];

/// How a value is looked at.
const MOST_NAME: usize = 64;
const MOST_VALUE: usize = 512;

/// How sure a name makes us; `None` if it is not the name of a secret.
pub(crate) fn strength(name: &[u8]) -> Option<bool> {
    if name.len() > 2 * MOST_NAME {
        return None;
    }
    let lower = name.to_ascii_lowercase();
    let mut found = None;
    for (word, strong) in WORDS {
        if let Some(at) = memchr::memmem::rfind(&lower, word.as_bytes())
            && is_whole(name, at + word.len())
        {
            found = Some(*strong || found.unwrap_or(false));
        }
    }
    found.filter(|_| !HARMLESS.iter().any(|end| ends_in(name, &lower, end)))
}

/// Whether a word ends here: `passwordless` and `tokenizer` are other words.
fn is_whole(name: &[u8], end: usize) -> bool {
    match name.get(end..) {
        None | Some([]) | Some([b's' | b'S']) => true,
        Some([next, ..]) => {
            let before = end.checked_sub(1).and_then(|at| name.get(at));
            !next.is_ascii_lowercase()
                && (!next.is_ascii_uppercase() || before.is_some_and(u8::is_ascii_lowercase))
        }
    }
}

/// Whether the last word of a name is `end`.
fn ends_in(name: &[u8], lower: &[u8], end: &str) -> bool {
    let Some(start) =
        lower.len().checked_sub(end.len()).filter(|_| lower.ends_with(end.as_bytes()))
    else {
        return false;
    };
    let before = start.checked_sub(1).and_then(|at| name.get(at));
    before.is_none_or(|byte| !byte.is_ascii_alphanumeric())
        || name.get(start).is_some_and(u8::is_ascii_uppercase)
            && before.is_some_and(u8::is_ascii_lowercase)
}

/// The secret that is given to the name in which a word stands at `at`.
pub(crate) fn assigned(text: &[u8], at: usize) -> Option<Range<usize>> {
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    let before = text.get(at.saturating_sub(MOST_NAME)..at)?;
    let start = at - before.iter().rev().take_while(|byte| is_name(byte)).count();
    let after = text.get(at..)?.iter().take(MOST_NAME).take_while(|byte| is_name(byte)).count();
    let end = at + after;
    let name = text.get(start..end)?;
    let is_strong = strength(name)?;
    let (value, quote) = value_start(text, end, name.starts_with(b"--"))?;
    let stop = |byte: &u8| match quote {
        Some(quote) => *byte == quote || *byte < b' ' || *byte == b' ',
        None => *byte <= b' ' || b"\"'`,;&<>(){}[]|\\".contains(byte),
    };
    let rest = text.get(value..)?;
    let length = rest.iter().take(MOST_VALUE).take_while(|byte| !stop(byte)).count();
    let is_quoted = quote.is_some();
    if quote.is_some() && length < MOST_VALUE && rest.get(length).copied() != quote {
        return None; // More than one word: a sentence.
    }
    if !is_secret(rest.get(..length)?, is_strong, is_quoted) {
        return None;
    }
    let more = match length {
        MOST_VALUE => rest.iter().take_while(|byte| !stop(byte)).count(),
        length => length,
    };
    Some(value..value + more)
}

/// Where the value begins that follows a name, and the quote before it.
fn value_start(text: &[u8], name_end: usize, is_option: bool) -> Option<(usize, Option<u8>)> {
    let blank = |at: usize| {
        let rest = text.get(at..).unwrap_or_default();
        at + rest.iter().take(8).take_while(|byte| matches!(byte, b' ' | b'\t')).count()
    };
    let quote =
        |at: usize| text.get(at).copied().filter(|byte| matches!(byte, b'"' | b'\'' | b'`'));
    let mut at = name_end + usize::from(quote(name_end).is_some());
    let spaced = blank(at);
    let sign = match text.get(spaced..)? {
        [b'=', b'>', ..] | [b':', b'=', ..] => 2,
        [b'=', b'=', ..] => return None,
        [b'=' | b':', ..] => 1,
        _ if is_option && spaced > at => 0,
        _ => return None,
    };
    at = blank(spaced + sign);
    let quote = quote(at);
    Some((at + usize::from(quote.is_some()), quote))
}

/// Whether a value with a secret's name is one.
pub(crate) fn is_secret(value: &[u8], is_strong: bool, is_quoted: bool) -> bool {
    let has = |test: fn(&u8) -> bool| value.iter().any(test);
    let (letters, digits) = (has(u8::is_ascii_alphabetic), has(u8::is_ascii_digit));
    if value.len() < 8 || !letters || !has(|byte| byte.is_ascii_graphic()) || is_reference(value) {
        return false;
    }
    if !is_quoted && is_dotted(value) {
        return false;
    }
    if !is_strong {
        let is_hex = value.iter().all(|byte| byte.is_ascii_hexdigit() || *byte == b'-');
        return value.len() >= 20 && digits && !is_hex && entropy(value) >= 3.5;
    }
    let symbols = has(|byte| byte.is_ascii_punctuation() && !matches!(byte, b'_' | b'-' | b'.'));
    let cases = has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase);
    let is_varied = distinct(value) >= 5 && entropy(value) >= 2.3;
    is_varied && (digits || (cases && symbols) || (is_quoted && value.len() >= 16))
}

/// Names with dots between them: `request.body.password`.
fn is_dotted(value: &[u8]) -> bool {
    let is_name = |part: &[u8]| {
        let digits = part.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
        let letters = part.get(..part.len() - digits).unwrap_or_default();
        !letters.is_empty()
            && letters.iter().all(|byte| byte.is_ascii_alphabetic() || *byte == b'_')
    };
    value.contains(&b'.') && value.split(|byte| *byte == b'.').all(is_name)
}

/// What stands for a value that is elsewhere: a variable, a call, a path, a place to fill in.
fn is_reference(value: &[u8]) -> bool {
    const BEGINNINGS: &[&[u8]] = &[
        b"$",
        b"%",
        b"<",
        b"{",
        b"[",
        b"@",
        b"*",
        b"./",
        b"../",
        b"~",
        b"process.env",
        b"os.environ",
        b"os.getenv",
        b"env.",
        b"self.",
        b"this.",
        b"config.",
        b"settings.",
        b"options.",
        b"args.",
        b"secrets.",
        b"vault:",
        b"op://",
        b"arn:",
        b"std::",
        b"&str",
        b"Option<",
        b"your",
        b"YOUR",
        b"xxx",
        b"XXX",
    ];
    let is_path = value.first() == Some(&b'/') && value.iter().filter(|b| **b == b'/').count() > 1;
    is_path
        || BEGINNINGS.iter().any(|beginning| value.starts_with(beginning))
        || memchr::memmem::find(value, b"REDACTED").is_some()
        || memchr::memmem::find(value, b"://").is_some()
        || memchr::memmem::find(value, b"::").is_some()
        || value.contains(&b'(')
}

/// Shannon entropy in bits a byte.
pub(crate) fn entropy(bytes: &[u8]) -> f64 {
    let mut counts = [0_u32; 256];
    bytes.iter().for_each(|byte| counts[usize::from(*byte)] += 1);
    let total = bytes.len() as f64;
    let share = counts.iter().filter(|count| **count > 0).map(|count| f64::from(*count) / total);
    -share.map(|share| share * share.log2()).sum::<f64>()
}
