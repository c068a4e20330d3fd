//! JSON as Python writes it, and times as Python agents write them.
//!
//! Agents in Python write their sessions with `json.dumps`: a blank after every comma and colon,
//! and nothing outside ASCII. [`dumps`] converts any JSON to that form. It does not interpret
//! values, so numbers keep their digits and half a surrogate pair stays half a pair. Because every
//! character has exactly one spelling in this form, it is also used to compare two values.
//!
//! A time is Unix seconds as a float. In files that were edited by users or other programs, it may
//! also be a string of digits or an ISO time; [`millis`] reads all of them.

use crate::json;
use memchr::memmem;
use std::borrow::Cow;
use std::ops::Range;

const HEX: &[u8; 16] = b"0123456789abcdef";

/// Returns the value `json` in the form of Python's `json.dumps`.
///
/// Bytes that are not UTF-8 are escaped like Python's `surrogateescape`, because a Python program
/// could not open a file that contains them.
pub(crate) fn dumps(json: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(json.len() + json.len() / 8);
    let mut at = 0;
    while let Some(&byte) = json.get(at) {
        match byte {
            b'"' => {
                at = string(&mut out, json, at + 1);
                continue;
            }
            b' ' | b'\t' | b'\r' | b'\n' => {}
            b',' => out.extend_from_slice(b", "),
            b':' => out.extend_from_slice(b": "),
            _ => out.push(byte),
        }
        at += 1;
    }
    out
}

/// Writes the string whose inside begins at `at`, and returns the position after its closing quote.
fn string(out: &mut Vec<u8>, json: &[u8], mut at: usize) -> usize {
    let is_plain = |byte: &u8| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\');
    out.push(b'"');
    loop {
        let rest = json.get(at..).unwrap_or_default();
        let plain = rest.iter().position(|byte| !is_plain(byte)).unwrap_or(rest.len());
        let (copied, rest) = rest.split_at(plain);
        out.extend_from_slice(copied);
        at += plain;
        match rest {
            [] => return at,
            [b'"', ..] => {
                out.push(b'"');
                return at + 1;
            }
            [b'\\', ..] => at += escape(out, rest),
            _ => at += character(out, rest),
        }
    }
}

/// Writes the escape at the start of `bytes` in Python's form, and returns its length.
fn escape(out: &mut Vec<u8>, bytes: &[u8]) -> usize {
    let unit = match bytes.get(1) {
        Some(b'b') => 0x08,
        Some(b'f') => 0x0C,
        Some(b'n') => 0x0A,
        Some(b'r') => 0x0D,
        Some(b't') => 0x09,
        Some(b'u') => {
            let hex = bytes.get(2..6).and_then(|hex| std::str::from_utf8(hex).ok());
            let unit = hex.and_then(|hex| u16::from_str_radix(hex, 16).ok());
            write_unit(out, unit.unwrap_or(0xFFFD));
            return bytes.len().min(6);
        }
        Some(&other) => u16::from(other),
        None => return 1,
    };
    write_unit(out, unit);
    2
}

/// Writes the character at the start of `bytes`, which is not plain ASCII, and returns its length.
fn character(out: &mut Vec<u8>, bytes: &[u8]) -> usize {
    let length = match bytes.first() {
        Some(0xC2..=0xDF) => 2,
        Some(0xE0..=0xEF) => 3,
        Some(0xF0..=0xF4) => 4,
        _ => 1,
    };
    let text = bytes.get(..length).and_then(|bytes| std::str::from_utf8(bytes).ok());
    match text.and_then(|text| text.chars().next()) {
        Some(character) => {
            character.encode_utf16(&mut [0; 2]).iter().for_each(|unit| write_unit(out, *unit));
            length
        }
        None => {
            write_unit(out, 0xDC00 | bytes.first().map_or(0, |byte| u16::from(*byte)));
            1
        }
    }
}

fn write_unit(out: &mut Vec<u8>, unit: u16) {
    match unit {
        0x08 => out.extend_from_slice(b"\\b"),
        0x09 => out.extend_from_slice(b"\\t"),
        0x0A => out.extend_from_slice(b"\\n"),
        0x0C => out.extend_from_slice(b"\\f"),
        0x0D => out.extend_from_slice(b"\\r"),
        0x22 => out.extend_from_slice(b"\\\""),
        0x5C => out.extend_from_slice(b"\\\\"),
        0x20..=0x7E => out.push(unit as u8),
        _ => {
            out.extend_from_slice(b"\\u");
            for shift in [12, 8, 4, 0] {
                out.push(HEX[usize::from(unit >> shift & 15)]);
            }
        }
    }
}

/// The numbers that Python's `json` writes and reads, and JSON does not have.
const NOT_FINITE: [&[u8]; 3] = [b"-Infinity", b"Infinity", b"NaN"];

/// Returns a record of Python as JSON: numbers that are not finite become `null`, as in JavaScript.
pub(crate) fn standard(record: &[u8]) -> Cow<'_, [u8]> {
    let (mut out, mut copied) = (Vec::new(), 0);
    for place in not_finite(record) {
        out.extend_from_slice(&record[copied..place.start]);
        out.extend_from_slice(b"null");
        copied = place.end;
    }
    if copied == 0 {
        return Cow::Borrowed(record);
    }
    out.extend_from_slice(&record[copied..]);
    Cow::Owned(out)
}

/// Returns the same with all other bytes at the same offsets: each number that is not finite
/// becomes an empty object, which is neither an id nor a time nor a text.
pub(crate) fn masked(record: &[u8]) -> Cow<'_, [u8]> {
    let places = not_finite(record);
    if places.is_empty() {
        return Cow::Borrowed(record);
    }
    let mut masked = record.to_vec();
    for place in places {
        masked[place.clone()].fill(b' ');
        masked[place.start..place.start + 2].copy_from_slice(b"{}");
    }
    Cow::Owned(masked)
}

/// Returns the ranges of numbers that are not finite, outside of strings.
fn not_finite(record: &[u8]) -> Vec<Range<usize>> {
    let mut places = Vec::new();
    if memmem::find(record, b"NaN").is_none() && memmem::find(record, b"Infinity").is_none() {
        return places;
    }
    let mut at = 0;
    while let Some(byte) = record.get(at) {
        let word = match byte {
            b'"' => match json::skip_string(record, at) {
                Some(end) => {
                    at = end;
                    continue;
                }
                None => break,
            },
            b'-' | b'I' | b'N' => NOT_FINITE.iter().find(|word| record[at..].starts_with(word)),
            _ => None,
        };
        match word {
            Some(word) => {
                places.push(at..at + word.len());
                at += word.len();
            }
            None => at += 1,
        }
    }
    places
}

/// Returns Unix milliseconds as Python prints the float of seconds.
pub(crate) fn seconds(millis: i64) -> Vec<u8> {
    // Rust and Python both print the shortest digits that represent the same float, and neither
    // uses an exponent for any number of seconds that milliseconds can hold.
    format!("{:?}", millis as f64 / 1000.0).into_bytes()
}

/// Returns the Unix milliseconds of a time: a JSON number of seconds, or a string with one or with
/// an ISO time. A time without a zone is in UTC.
pub(crate) fn millis(literal: &[u8]) -> Option<i64> {
    let Some(text) = json::string(literal) else {
        return from_seconds(std::str::from_utf8(literal).ok()?);
    };
    let text = text.trim();
    from_seconds(text).or_else(|| crate::time::parse(text))
}

fn from_seconds(text: &str) -> Option<i64> {
    let millis = text.parse::<f64>().ok()? * 1000.0;
    // This is also false for `NaN` and `Infinity`, which Python writes, and for `1e400`.
    (millis.abs() < 8.64e15).then(|| millis.round() as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_are_not_finite_are_null() {
        let record =
            br#"{"a": NaN, "NaN": "Infinity \" NaN", "b": [-Infinity,Infinity,NaN], "c": -1}"#;
        let standard = standard(record);
        assert_eq!(
            standard,
            br#"{"a": null, "NaN": "Infinity \" NaN", "b": [null,null,null], "c": -1}"#.as_slice()
        );
        let masked = masked(record);
        assert_eq!(masked.len(), record.len());
        for json in [&standard, &masked] {
            assert_eq!(json::skip_value(json, 0), Some(json.len()));
        }
        for same in [&br#"{"a": 1}"#[..], br#"{"a": "NaN"}"#, br#"{"a": "NaN"#, b""] {
            assert!(matches!(super::standard(same), Cow::Borrowed(_)));
            assert!(matches!(super::masked(same), Cow::Borrowed(_)));
        }
        assert_eq!(json::skip_value(&super::standard(b"{NaN: 1}"), 0), None, "not a value there");
    }
    use proptest::prelude::*;

    fn dumped(json: &str) -> String {
        String::from_utf8(dumps(json.as_bytes())).unwrap()
    }

    #[test]
    fn separators_and_numbers() {
        assert_eq!(
            dumped("{\"a\":[1,2 , {}],\"b\" :\t{\"c\":[ ]},\n\"d\":1e400,\"e\":-0.0,\"f\":1E2}"),
            r#"{"a": [1, 2, {}], "b": {"c": []}, "d": 1e400, "e": -0.0, "f": 1E2}"#
        );
        assert_eq!(dumped(r#"{"a,b:c":"x,y:{}\",:"}"#), r#"{"a,b:c": "x,y:{}\",:"}"#);
    }

    #[test]
    fn strings_as_python_writes_them() {
        let cases = [
            ("\"\u{e9}\u{1F600}\u{2028}\u{7f}/\"", r#""\u00e9\ud83d\ude00\u2028\u007f/""#),
            (r#""\u00E9\u0041\/\u002f\u0022\u005c""#, r#""\u00e9A//\"\\""#),
            (r#""\b\f\n\r\t\u0008\u000a\u001F\u0000""#, r#""\b\f\n\r\t\b\n\u001f\u0000""#),
            (r#""\uD83D \uDE00""#, r#""\ud83d \ude00""#),
        ];
        for (json, expected) in cases {
            assert_eq!(dumped(json), expected, "{json}");
            assert_eq!(dumped(expected), expected, "a second time");
        }
        assert_eq!(dumps(b"\"a\xFF\xE2\x82\""), br#""a\udcff\udce2\udc82""#);
    }

    #[test]
    fn times_are_written_as_floats() {
        for (millis, text) in [
            (1_773_219_600_618, "1773219600.618"),
            (1_773_219_600_000, "1773219600.0"),
            (1_773_219_600_100, "1773219600.1"),
            (0, "0.0"),
            (-1, "-0.001"),
            (253_402_300_799_999, "253402300799.999"),
        ] {
            assert_eq!(String::from_utf8(seconds(millis)).unwrap(), text);
        }
    }

    #[test]
    fn times_are_read_in_all_their_shapes() {
        for (literal, millis) in [
            ("1773219600.618437", 1_773_219_600_618),
            ("1773219600", 1_773_219_600_000),
            ("\"1773219600.618\"", 1_773_219_600_618),
            ("\"2026-01-05T09:00:20.226Z\"", 1_767_603_620_226),
            ("\"2026-01-05T09:00:20.226437+00:00\"", 1_767_603_620_226),
            ("\"2026-01-05T10:00:20+01:00\"", 1_767_603_620_000),
            ("\"2026-01-05T09:00:20.226437\"", 1_767_603_620_226),
            ("\"2026-01-05 09:00:20\"", 1_767_603_620_000),
            ("\"2026-01-05\"", 1_767_571_200_000),
        ] {
            assert_eq!(super::millis(literal.as_bytes()), Some(millis), "{literal}");
        }
        for bad in [
            "NaN",
            "Infinity",
            "-Infinity",
            "1e400",
            "1e300",
            "null",
            "true",
            "{}",
            "\"\"",
            "\"inf\"",
            "\"nan\"",
            "\"soon\"",
        ] {
            assert_eq!(super::millis(bad.as_bytes()), None, "{bad}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_reads_the_same(text in any::<String>(), at in -62_000_000_000_000_i64..253_000_000_000_000) {
            let literal = json::quoted(&text);
            let dumped = dumps(&literal);
            prop_assert!(dumped.is_ascii());
            prop_assert_eq!(json::string(&dumped).unwrap(), text);
            prop_assert_eq!(millis(&seconds(at)), Some(at));
        }

        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(prop::sample::select(&b"\"\\u0a{,\xC3\xA9\xF0\xFF\n"[..]), 0..24)) {
            dumps(&bytes);
            dumps(&[b"\"", &*bytes].concat());
            millis(&bytes);
        }
    }
}
