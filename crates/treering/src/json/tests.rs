//! Tests of the JSON walker.

use super::*;

#[test]
fn value_end_and_skip_value_agree() {
    for value in [
        r#""""#,
        r#""a\\""#,
        r#""a\"b]}""#,
        r#""\\\"""#,
        r#"{"a":[1,{"b":"]}"},[]],"c":"\\"}"#,
        r#"[{"x":"["},"\"",[[]]]"#,
        "12.5e3",
        "null",
    ] {
        let line = format!("{value},\"more\":[{{}}]");
        assert_eq!(value_end(line.as_bytes(), 0), skip_value(line.as_bytes(), 0), "{value}");
        assert_eq!(value_end(line.as_bytes(), 0), Some(value.len()), "{value}");
        for cut in 1..value.len() {
            let torn = &value.as_bytes()[..cut];
            let is_open = matches!(torn[0], b'"' | b'{' | b'[');
            assert!(!is_open || value_end(torn, 0).is_none(), "{value} cut at {cut}");
        }
    }
}
use proptest::prelude::*;

fn whole(text: &[u8]) -> bool {
    skip_value(text, skip_space(text, 0)).is_some_and(|end| skip_space(text, end) == text.len())
}

#[test]
fn accepts_what_json_allows_and_nothing_else() {
    let good = [
        "0",
        "-0",
        "1e400",
        "1E-400",
        "-12.5e+3",
        "\"\"",
        "\"\\ud83d\"",
        "[]",
        "[ ]",
        "{}",
        "{ }",
        "[1,2]",
        "[ 1 , 2 ]",
        "{\"a\":1}",
        "{\"a\" : [ {} , null ] }",
        "true",
        "null",
    ];
    let bad = [
        "",
        "01",
        "1.",
        ".5",
        "-",
        "+1",
        "NaN",
        "Infinity",
        "tru",
        "\"",
        "\"\\x\"",
        "\"\\u12g4\"",
        "\"\t\"",
        "[",
        "[1",
        "[1,]",
        "[,1]",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\":1,}",
        "{a:1}",
        "[1}",
        "{\"a\":1]",
        "'a'",
        "1 2",
    ];
    for text in good {
        assert!(whole(text.as_bytes()), "{text}");
    }
    for text in bad {
        assert!(!whole(text.as_bytes()), "{text}");
    }
}

#[test]
fn nesting_is_bounded_by_memory_only() {
    for depth in [1, 63, 64, 65, 127, 128, 129, 500, 1_000_000] {
        let mut text = b"[{\"a\":".repeat(depth);
        text.push(b'1');
        text.extend(b"}]".repeat(depth));
        assert!(whole(&text), "{depth}");
        text.pop();
        text.push(b'}');
        assert!(!whole(&text), "{depth} with the last bracket wrong");
    }
}

#[test]
fn decodes_escapes_pairs_and_lone_halves() {
    assert_eq!(decode(br#"a\n\u00e9\ud83d\ude00\/"#), "a\n\u{e9}\u{1F600}/");
    assert_eq!(decode(br"\ude00\ud83d x"), "\u{FFFD}\u{FFFD} x");
    assert_eq!(decode(b"\xE9"), "\u{FFFD}");
}

#[test]
fn sets_a_member_and_keeps_every_other_byte() {
    let object = br#"{ "a":1 , "b" : 1e400}"#;
    assert_eq!(with_member(object, "a", b"[]"), br#"{ "a":[] , "b" : 1e400}"#);
    assert_eq!(with_member(object, "c", b"2"), br#"{ "a":1 , "b" : 1e400,"c":2}"#);
    assert_eq!(with_member(b"{}", "c", b"2"), br#"{"c":2}"#);
}

proptest! {
    #[test]
    fn agrees_with_serde_json(text in r#"[\[\]{},:"\\a-c0-2eE.\- ntu]{0,24}"#) {
        let theirs = serde_json::from_str::<serde::de::IgnoredAny>(&text).is_ok();
        prop_assert_eq!(whole(text.as_bytes()), theirs, "{}", text);
    }

    #[test]
    fn a_string_ends_where_it_ends_byte_by_byte(
        inner in prop::collection::vec(0_usize..14, 0..60), odd in 0_usize..6, at in 0_usize..60,
    ) {
        const PIECES: [&[u8]; 7] =
            [b"x", b"\\n", b"\\\"", b"\\\\", b"\\u00e9", b"\xc3\xa9 !#[]", b"\x7f\xff"];
        const ODD: [&[u8]; 4] = [b"", b"\x1f", b"\\x", b"\\u00g0"];
        fn reference(bytes: &[u8]) -> Option<usize> {
            let mut at = 1;
            loop {
                at += match bytes.get(at)? {
                    b'"' => return Some(at + 1),
                    0..0x20 => return None,
                    b'\\' => match bytes.get(at + 1)? {
                        b'u' if bytes.get(at + 2..at + 6)?.iter().all(u8::is_ascii_hexdigit) => 6,
                        other if b"\"\\/bfnrt".contains(other) => 2,
                        _ => return None,
                    },
                    _ => 1,
                };
            }
        }
        let mut pieces: Vec<&[u8]> =
            inner.iter().map(|piece| PIECES.get(*piece).copied().unwrap_or(b"x")).collect();
        pieces.insert(at.min(inner.len()), ODD.get(odd).copied().unwrap_or_default());
        let text = [b"\"", &pieces.concat()[..], b"\",\"y\""].concat();
        for end in 1..=text.len() {
            prop_assert_eq!(skip_string(&text[..end], 0), reference(&text[..end]));
        }
    }

    #[test]
    fn finds_the_first_byte_that_needs_an_escape(bytes in any::<Vec<u8>>(), plain in 0_usize..40) {
        let mut text = vec![b'x'; plain];
        text.extend(bytes);
        let naive = text.iter().position(|b| *b < 0x20 || *b == b'"' || *b == b'\\');
        prop_assert_eq!(next_special(&text, 0), naive);
    }

    #[test]
    fn a_block_knows_its_bytes(bytes in prop::collection::vec(b'a'..b'd', 0..150), at in 0_usize..150) {
        let mask = seek::Block::at(&bytes, at).mask(b'c');
        for lane in 0..seek::BLOCK {
            prop_assert_eq!(mask >> lane & 1 == 1, bytes.get(at + lane) == Some(&b'c'));
        }
    }

    #[test]
    fn escapes_are_resolved_as_one_by_one(pieces in prop::collection::vec(0_usize..10, 0..20)) {
        const PIECES: [&[u8]; 10] = [
            b"x", b"sixteen bytes it", "é日".as_bytes(), b"\\n", b"\\\\", b"\\u00e9",
            b"\\ud83d\\ude00", b"\\ud83d", b"\\u00g", b"\\q",
        ];
        let inner: Vec<u8> = pieces.iter().flat_map(|piece| PIECES[*piece].to_vec()).collect();
        for end in 0..=inner.len() {
            let inner = &inner[..end];
            let (mut expected, mut exact, mut at) = (Vec::new(), true, 0);
            while let Some(byte) = inner.get(at) {
                if *byte != b'\\' {
                    expected.push(*byte);
                    at += 1;
                    continue;
                }
                let (character, used) = text::decode_escape(&inner[at..]);
                exact &= character.is_some();
                let character = character.unwrap_or(char::REPLACEMENT_CHARACTER);
                expected.extend(character.to_string().bytes());
                at += used;
            }
            let expected = match String::from_utf8(expected) {
                Ok(text) if exact => Ok(Cow::Owned(text)),
                Ok(text) => Err(text),
                Err(error) => Err(String::from_utf8_lossy(error.as_bytes()).into_owned()),
            };
            prop_assert_eq!(decode_exactly(inner), expected);
        }
    }

    #[test]
    fn strings_round_trip(text in any::<String>()) {
        let literal = quoted(&text);
        let expected = serde_json::to_string(&text).unwrap();
        prop_assert_eq!(std::str::from_utf8(&literal).unwrap(), expected.as_str());
        prop_assert_eq!(string(&literal).unwrap().into_owned(), text);
    }
}
