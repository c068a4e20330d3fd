//! Decides whether a value could be a secret: random enough, and not a placeholder, a reference to a
//! variable, a path or code.

use crate::prose::PROSE;
use memchr::memmem;

/// The strength of the evidence that a name gives about its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Strength {
    /// `token`, which a parser produces as well: the value must look random.
    Weak,
    /// `algolia_key`: as weak, but values of hexadecimal digits count as well.
    Vendor,
    /// `client_secret`: nearly any value counts.
    Strong,
    /// `password`: nearly any value counts, and it may be short.
    Password,
}

/// Returns whether a value with the name of a secret is one.
pub(crate) fn is_secret(value: &[u8], strength: Strength, is_quoted: bool) -> bool {
    let has = |test: fn(&u8) -> bool| value.iter().any(test);
    let (letters, digits) = (has(u8::is_ascii_alphabetic), has(u8::is_ascii_digit));
    let least = if strength == Strength::Password { 6 } else { 8 };
    if value.len() < least || !letters || is_reference(value) || is_placeholder(value) {
        return false;
    }
    if !is_quoted && (is_dotted(value) || is_type(value)) {
        return false;
    }
    match strength {
        Strength::Weak => return value.len() >= 20 && is_random(value),
        Strength::Vendor => {
            let is_hex = value.iter().all(|byte| byte.is_ascii_hexdigit() || *byte == b'-');
            let is_long = value.len() >= 16 && digits && entropy(value) >= 3.0;
            return is_long && (is_hex && value.len() >= 20 || is_random(value));
        }
        Strength::Strong | Strength::Password => {}
    }
    let symbols = has(|byte| byte.is_ascii_punctuation() && !matches!(byte, b'_' | b'-' | b'.'));
    let cases = has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase);
    let is_varied = distinct(value) >= 4 && entropy(value) >= 1.9;
    if !is_varied || is_identifier(value, is_quoted) {
        return false;
    }
    let is_short = value.len() < 8;
    digits && (!is_short || !symbols || strength == Strength::Password)
        || (cases && symbols && !is_short)
        || (is_quoted && value.len() >= 16)
}

/// Returns whether a value looks random: digits among letters, most characters different, and
/// neither a hash nor an identifier of several words.
pub(crate) fn is_random(value: &[u8]) -> bool {
    let has_digit = value.iter().any(u8::is_ascii_digit);
    let is_hex = value.iter().all(|byte| byte.is_ascii_hexdigit() || *byte == b'-');
    has_digit && !is_hex && value.is_ascii() && entropy(value) >= 3.5 && !is_words(value)
}

/// Returns whether a value consists of letters whose case changes as in no identifier: `kDCSXqLoi`.
pub(crate) fn is_jumbled(value: &[u8]) -> bool {
    let capitals = value.iter().filter(|byte| byte.is_ascii_uppercase()).count();
    let humps = value
        .windows(2)
        .filter(|pair| matches!(pair, [a, b] if a.is_ascii_lowercase() && b.is_ascii_uppercase()));
    value.len() >= 8
        && value.iter().all(u8::is_ascii_alphabetic)
        && capitals * 10 >= value.len() * 3
        && humps.count() >= 2
        && !is_placeholder(value)
        && !mentions_secret(value)
}

/// Returns whether a value is words of letters, possibly numbered, with `-`, `_`, `.`, `/` or `:`
/// between them: `claude-sonnet-4-5-20250929`, `src/foo_bar2.rs`.
fn is_words(value: &[u8]) -> bool {
    let is_word = |part: &[u8]| {
        let letters = part.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
        let digits = part.iter().skip(letters).take_while(|byte| byte.is_ascii_digit()).count();
        let word = part.get(..letters).unwrap_or_default();
        let humps = word.windows(2).filter(
            |pair| matches!(pair, [a, b] if a.is_ascii_lowercase() && b.is_ascii_uppercase()),
        );
        letters + digits == part.len() && (letters <= 3 || humps.count() * 4 <= letters)
    };
    let separates = |byte: &u8| matches!(byte, b'-' | b'_' | b'.' | b'/' | b':' | b'=');
    let parts = || value.split(separates).filter(|part| !part.is_empty());
    parts().all(is_word) && parts().count() >= 2
}

/// Returns whether a value looks like an identifier rather than a password.
fn is_identifier(value: &[u8], is_quoted: bool) -> bool {
    let parts = || value.split(|byte| matches!(byte, b'_' | b'-'));
    let is_word = |part: &[u8]| part.len() > 1 && part.iter().all(u8::is_ascii_lowercase);
    let is_upper = |part: &[u8]| {
        !part.is_empty() && part.iter().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit())
    };
    let count = parts().count();
    if is_quoted {
        // The value is the name of a variable: `"password": "DB_PASSWORD_2"`.
        return count >= 2 && parts().all(is_upper) && mentions_secret(value);
    }
    let is_numbered = |part: &[u8]| part.iter().all(u8::is_ascii_digit) && part.len() <= 2;
    let words = parts().filter(|part| is_word(part)).count();
    count >= 2 && words >= 1 && parts().all(|part| is_word(part) || is_numbered(part))
        || count >= 2 && parts().all(is_upper) && mentions_secret(value)
        || count >= 2 && mentions_secret(value) && parts().all(|part| is_word(trim_digits(part)))
}

fn trim_digits(part: &[u8]) -> &[u8] {
    let digits = part.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    part.get(..part.len() - digits).unwrap_or_default()
}

/// Returns whether a text contains a word of the names of secrets.
fn mentions_secret(value: &[u8]) -> bool {
    mentions(value, &["password", "passwd", "secret", "token", "key", "pass", "pwd", "credential"])
}

/// Returns whether a value is names with dots between them: `request.body.password`.
fn is_dotted(value: &[u8]) -> bool {
    let is_name = |part: &[u8]| {
        let letters = trim_digits(part);
        !letters.is_empty()
            && letters.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
            && letters.first().is_some_and(|byte| !byte.is_ascii_digit())
    };
    let parts = || value.split(|byte| *byte == b'.');
    // A random value may contain a dot, but identifiers have words around theirs.
    value.contains(&b'.')
        && parts().all(is_name)
        && parts().all(|part| part.len() < 24 && entropy(part) < 3.7)
}

/// Returns whether a value is the name of a type.
fn is_type(value: &[u8]) -> bool {
    const TYPES: [&[u8]; 8] = [
        b"string",
        b"varchar255",
        b"base64",
        b"bytes32",
        b"uint256",
        b"SecureString",
        b"Option",
        b"Vec",
    ];
    TYPES.contains(&value)
}

/// Returns whether a value refers to one that is elsewhere: a variable, a call, a path, code.
pub(crate) fn is_reference(value: &[u8]) -> bool {
    const BEGINNINGS: &[&[u8]] = &[
        b"$(",
        b"${",
        b"$",
        b"%(",
        b"%{",
        b"%s",
        b"%v",
        b"<",
        b"{",
        b"[",
        b"@",
        b"*",
        b"./",
        b"../",
        b"~",
        b"&",
        b"process.env",
        b"os.environ",
        b"os.getenv",
        b"import.meta",
        b"env.",
        b"env:",
        b"ENV[",
        b"self.",
        b"this.",
        b"config.",
        b"settings.",
        b"options.",
        b"args.",
        b"secrets.",
        b"vault:",
        b"op://",
        b"ref+",
        b"arn:",
        b"std::",
        b"Option<",
        b"file:",
        b"base64:{",
        b"projects/",
        b"secretsmanager:",
        b"ssm:",
        b"sha256:",
        b"sha512-",
        b"sha256-",
        b"sha1-",
        b"md5:",
        b"$2a$",
        b"data:",
    ];
    let slashes = value.iter().filter(|byte| **byte == b'/').count();
    let is_path = value.first() == Some(&b'/') && slashes > 1;
    is_path
        || BEGINNINGS.iter().any(|beginning| value.starts_with(beginning))
        || is_environment(value)
        || memmem::find(value, b"://").is_some()
        || memmem::find(value, b"::").is_some()
        || memmem::find(value, b"->").is_some()
        || memmem::find(value, b"=>").is_some()
        || memmem::find(value, b"${").is_some()
        || memmem::find(value, b"{{").is_some()
        || memmem::find(value, b"%(").is_some()
        || value.contains(&b'(')
        || value.ends_with(b"{")
}

/// Returns whether a value names an environment variable, in the syntax of Windows.
fn is_environment(value: &[u8]) -> bool {
    let inside = value.strip_prefix(b"%").and_then(|value| value.strip_suffix(b"%"));
    inside.is_some_and(|name| name.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_'))
}

/// Returns whether a value is a placeholder, or an example from documentation.
pub(crate) fn is_placeholder(value: &[u8]) -> bool {
    const WORDS: &[&str] = &[
        "your",
        "xxxx",
        "****",
        "....",
        "changeme",
        "change-me",
        "change_me",
        "replace",
        "insert",
        "dummy",
        "sample",
        "goes-here",
        "goes_here",
        "goeshere",
        "-here",
        "_here",
        "todo",
        "fixme",
        "1234567890",
        "…",
    ];
    is_example(value) || mentions(value, WORDS)
}

/// Returns whether a token is an example from documentation. The words are too long to be in a random
/// token by chance.
pub(crate) fn is_example(value: &[u8]) -> bool {
    const WORDS: &[&str] = &[
        "redacted",
        "example",
        "placeholder",
        "your-",
        "your_",
        "-here",
        "xxxxxx",
        "abcdefgh",
        "1234567890ab",
        "0123456789ab",
        "deadbeef",
        "aaaaaaaa",
        "00000000",
    ];
    mentions(value, WORDS)
}

fn mentions(value: &[u8], words: &[&str]) -> bool {
    let lower = value.get(..value.len().min(256)).unwrap_or_default().to_ascii_lowercase();
    words.iter().any(|word| memmem::find(&lower, word.as_bytes()).is_some())
}

/// Returns whether a quoted value of several words is a passphrase, and not a sentence of a program
/// or its documentation.
pub(crate) fn is_phrase(value: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(value) else { return false };
    if !(8..=128).contains(&value.len()) || is_reference(value) || is_placeholder(value) {
        return false;
    }
    if text.contains(['{', '}', '(', ')', '<', '>', '\\', '\n', '\t', ';']) || text.contains("  ") {
        return false;
    }
    let lower = text.to_lowercase();
    let words: Vec<&str> = lower.split(' ').collect();
    let bare = |word: &str| word.trim_matches(|c: char| ".,!?:'\"".contains(c)).to_owned();
    let prose = words.iter().filter(|word| PROSE.contains(&bare(word).as_str())).count();
    let is_odd = words.iter().any(|word| has_digits_for_letters(&bare(word)));
    if words.len() < 2 || prose > usize::from(is_odd) {
        return false;
    }
    let has_digit = text.bytes().any(|byte| byte.is_ascii_digit());
    let has_symbol = text.bytes().any(|byte| b"!@#$%^&*~+=_".contains(&byte));
    let is_lower = text.chars().all(|c| c.is_ascii_lowercase() || c == ' ');
    has_digit || has_symbol || is_lower && words.len() >= 4
}

/// Returns whether a word has digits instead of letters: `s3cret`, but not `sha256`.
fn has_digits_for_letters(word: &str) -> bool {
    let digit = word.find(|c: char| c.is_ascii_digit());
    let after = digit.and_then(|at| word.get(at..)).unwrap_or_default();
    digit.is_some_and(|at| at > 0) && after.contains(|c: char| c.is_ascii_alphabetic())
}

/// Returns the Shannon entropy in bits per byte.
pub(crate) fn entropy(bytes: &[u8]) -> f64 {
    let mut counts = [0_u32; 256];
    bytes.iter().for_each(|byte| counts[usize::from(*byte)] += 1);
    let total = bytes.len() as f64;
    let share = counts.iter().filter(|count| **count > 0).map(|count| f64::from(*count) / total);
    -share.map(|share| share * share.log2()).sum::<f64>()
}

/// Returns how many different bytes there are.
pub(crate) fn distinct(bytes: &[u8]) -> u32 {
    let mut seen = [0_u128; 2];
    for byte in bytes {
        seen[usize::from(byte >> 7)] |= 1 << (byte & 127);
    }
    seen.iter().map(|bits| bits.count_ones()).sum()
}
