//! Tests against a reference that parses everything: for every spelling of a text in JSON, the same
//! entries are found.

use crate::support::{TestDir, call, entry, header, sessions};
use proptest::prelude::*;
use serde_json::{Value, json};

const ALPHABET: &[char] = &[
    'a', 'B', 'k', 'K', '\u{212A}', 's', 'S', '\u{17F}', 'é', 'É', 'ß', 'ẞ', 'σ', 'ς', 'Σ', '日',
    '😀', ' ', '\n', '\t', '"', '\\', '/', '\u{7f}', '\u{1b}',
];

fn texts() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(ALPHABET), 0..10)
        .prop_map(|characters| characters.into_iter().collect())
}

/// Returns where an entry holds a text.
fn lines(at: usize, test_dir: usize, text: &str) -> (String, Value) {
    let (id, parent) = (format!("e{at}"), at.checked_sub(1).map(|at| format!("e{at}")));
    let message = |message: Value| json!({"message": message});
    let block = |block: Value| message(json!({"role": "assistant", "content": [block]}));
    let (kind, more) = match test_dir {
        0 => ("message", message(json!({"role": "user", "content": text}))),
        1 => ("message", block(json!({"type": "text", "text": text}))),
        2 => ("message", block(json!({"type": "thinking", "thinking": text}))),
        3 => ("message", block(call("c", "x", json!({"n": [1, {"deep": text}]})))),
        4 => (
            "message",
            message(
                json!({"role": "toolResult", "toolCallId": "c", "content": [{"type": "text", "text": text}]}),
            ),
        ),
        5 => ("message", message(json!({"role": "bashExecution", "command": text, "output": ""}))),
        6 => ("message", message(json!({"role": "bashExecution", "command": "", "output": text}))),
        7 => ("compaction", json!({"summary": text, "firstKeptEntryId": id})),
        8 => ("branch_summary", json!({"summary": text, "fromId": "e0"})),
        9 => ("label", json!({"targetId": "e0", "label": text})),
        10 => ("custom", json!({"customType": "x", "data": {"v": text}})),
        11 => ("unknown_kind", json!({"v": [text]})),
        _ => ("custom_message", json!({"customType": "x", "content": text, "display": true})),
    };
    (id.clone(), serde_json::from_str(&entry(kind, &id, parent.as_deref(), more)).unwrap())
}

const PLACES: usize = 13;

/// JSON in which every character of a string is spelled as `choose` says.
fn spelled(value: &Value, choose: &mut dyn FnMut() -> u8, out: &mut String) {
    match value {
        Value::String(text) => {
            out.push('"');
            for character in text.chars() {
                let short = match character {
                    '"' | '\\' | '/' => Some(character),
                    '\n' => Some('n'),
                    '\t' => Some('t'),
                    _ => None,
                };
                let must = (character as u32) < 0x20 || matches!(character, '"' | '\\');
                match (choose() % 3, short) {
                    (0, Some(short)) => out.extend(['\\', short]),
                    (0 | 1, _) if !must => out.push(character),
                    (1, Some(short)) => out.extend(['\\', short]),
                    (_, _) => {
                        for unit in character.encode_utf16(&mut [0; 2]) {
                            match choose() % 2 {
                                0 => out.push_str(&format!("\\u{unit:04x}")),
                                _ => out.push_str(&format!("\\u{unit:04X}")),
                            }
                        }
                    }
                }
            }
            out.push('"');
        }
        Value::Array(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                out.push_str(if at == 0 { "" } else { ", " });
                spelled(item, choose, out);
            }
            out.push(']');
        }
        Value::Object(fields) => {
            out.push('{');
            for (at, (key, item)) in fields.iter().enumerate() {
                out.push_str(if at == 0 { "" } else { "," });
                // Agents write what says where an entry belongs as it is.
                match key.as_str() {
                    "type" | "id" | "parentId" | "timestamp" | "role" => {
                        out.push_str(&format!("{}:{item}", json!(key)));
                    }
                    _ => {
                        out.push_str(&format!("{}: ", json!(key)));
                        spelled(item, choose, out);
                    }
                }
            }
            out.push('}');
        }
        other => out.push_str(&other.to_string()),
    }
}

/// Simple folding, for the alphabet above.
fn fold(character: char) -> char {
    let one = |mut all: Box<dyn Iterator<Item = char>>| all.next().filter(|_| all.next().is_none());
    let upper = one(Box::new(character.to_uppercase())).unwrap_or(character);
    one(Box::new(upper.to_lowercase())).unwrap_or(upper)
}

/// Returns whether a text holds a phrase: its words one after the other, with any blanks between
/// them.
fn holds(text: &str, phrase: &str) -> bool {
    let text: Vec<char> = text.chars().map(fold).collect();
    let words: Vec<Vec<char>> =
        phrase.split_whitespace().map(|word| word.chars().map(fold).collect()).collect();
    (0..=text.len()).any(|start| {
        let mut at = start;
        words.iter().enumerate().all(|(number, word)| {
            if number > 0 {
                let blanks = text[at..].iter().take_while(|c| c.is_whitespace()).count();
                if blanks == 0 {
                    return false;
                }
                at += blanks;
            }
            let fits = text[at..].starts_with(word);
            at += word.len();
            fits
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn what_is_there_is_found_and_nothing_else(
        entries in prop::collection::vec((0..PLACES, texts()), 1..12),
        phrases in prop::collection::vec(texts(), 1..3),
        choices in prop::collection::vec(any::<u8>(), 64),
    ) {
        let phrases: Vec<String> =
            phrases.into_iter().filter(|phrase| !phrase.trim().is_empty()).collect();
        prop_assume!(!phrases.is_empty());
        let mut next = choices.iter().cycle();
        let mut file = format!("{}\n", header());
        let mut expected = Vec::new();
        for (at, (test_dir, text)) in entries.iter().enumerate() {
            let (id, value) = lines(at, *test_dir, text);
            spelled(&value, &mut || *next.next().unwrap(), &mut file);
            file.push('\n');
            // In one entry here is one text.
            if phrases.iter().all(|phrase| holds(text, phrase)) {
                expected.push(id);
            }
        }
        let test_dir = TestDir::empty();
        let path = test_dir.write("s.jsonl", &file);
        let quoted = |text: &String| format!("\"{}\"", text.replace('\\', r"\\").replace('"', "\\\""));
        let query = phrases.iter().map(quoted).collect::<Vec<_>>().join(" ");
        let found = sessions([path], &query);
        let ids: Vec<String> = found
            .iter()
            .flat_map(|session| &session.hits)
            .filter_map(|hit| hit.entry.as_ref().map(ToString::to_string))
            .collect();
        prop_assert_eq!(ids, expected, "{} in {}", query, file);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn alternatives_and_exclusions_mean_what_they_say(
        entries in prop::collection::vec((0..PLACES, texts()), 1..12),
        groups in prop::collection::vec(prop::collection::vec(texts(), 1..3), 1..3),
        excluded in prop::collection::vec(texts(), 0..2),
    ) {
        let is_text = |text: &String| !text.trim().is_empty();
        let groups: Vec<Vec<String>> = groups
            .into_iter()
            .map(|group| group.into_iter().filter(is_text).collect())
            .filter(|group: &Vec<String>| !group.is_empty())
            .collect();
        let excluded: Vec<String> = excluded.into_iter().filter(is_text).collect();
        prop_assume!(!groups.is_empty());
        let mut file = format!("{}\n", header());
        let mut expected = Vec::new();
        for (at, (test_dir, text)) in entries.iter().enumerate() {
            let (id, value) = lines(at, *test_dir, text);
            file.push_str(&format!("{value}\n"));
            let has_all = groups.iter().all(|group| group.iter().any(|phrase| holds(text, phrase)));
            if has_all && !excluded.iter().any(|phrase| holds(text, phrase)) {
                expected.push(id);
            }
        }
        let test_dir = TestDir::empty();
        let path = test_dir.write("s.jsonl", &file);
        let quoted = |text: &String| format!("\"{}\"", text.replace('\\', r"\\").replace('"', "\\\""));
        let joined = |group: &Vec<String>| group.iter().map(quoted).collect::<Vec<_>>().join(" OR ");
        let left_out = excluded.iter().map(|text| format!("-{}", quoted(text)));
        let query = groups.iter().map(joined).chain(left_out).collect::<Vec<_>>().join(" ");
        let found = sessions([path], &query);
        let ids: Vec<String> = found
            .iter()
            .flat_map(|session| &session.hits)
            .filter_map(|hit| hit.entry.as_ref().map(ToString::to_string))
            .collect();
        prop_assert_eq!(ids, expected, "{} in {}", query, file);
    }
}

#[test]
fn a_text_across_the_pieces_that_are_read_is_found() {
    // Chunks are 256 KiB: the word, and one letter of it as an escape, at every place around the edge.
    let test_dir = TestDir::empty();
    let before = format!("{}\n", header());
    for word in ["Needle", r"nee\u0064le"] {
        for edge in [256 * 1024_usize, 512 * 1024] {
            for shift in 0..14 {
                let start = r#"{"type":"message","id":"a","parentId":null,"timestamp":"2026-01-05T09:01:00.000Z","message":{"role":"user","content":""#;
                let fill = edge - shift - before.len() - start.len();
                let line = format!("{start}{}{word}\"}}}}\n", "x".repeat(fill));
                let path = test_dir.write("s.jsonl", format!("{before}{line}"));
                assert_eq!(sessions([path], "needle").len(), 1, "{word} {shift}");
            }
        }
    }
}

#[test]
fn words_must_be_in_one_entry_but_not_in_one_text() {
    use crate::support::{assistant, user};
    let test_dir = TestDir::with(&[
        user("a1", None, "red"),
        assistant(
            "a2",
            "a1",
            json!([{"type": "text", "text": "red"}, call("c1", "bash", json!({"command": "echo blue blue"}))]),
        ),
        user("a3", Some("a2"), "blue"),
    ]);
    assert_eq!(test_dir.ids("red blue"), "a2");
    assert_eq!(test_dir.ids("red"), "a1 a2");
    assert_eq!(test_dir.ids("\"red blue\""), "");
    assert_eq!(test_dir.ids(r"re:^r.d$ re:b\w+e"), "a2");
    assert_eq!(
        test_dir.hits("blue"),
        ["a2 active call: echo [blue] [blue]", "a3 active text: [blue]"]
    );
}

#[test]
fn damage_does_not_hide_what_can_be_read() {
    let torn = r#"{"type":"message","id":"a1","parentId":null,"timestamp":"2026-01-05T09:01:00.000Z","message":{"role":"user","content":"needle one","x":"need"#;
    let lone = r#"{"type":"message","id":"a2","parentId":"a1","timestamp":"2026-01-05T09:01:00.000Z","message":{"role":"user","content":"needle \ud83d two"}}"#;
    let deep = format!(
        r#"{{"type":"message","id":"a3","parentId":"a2","timestamp":"2026-01-05T09:01:00.000Z","message":{{"role":"assistant","content":[{{"type":"toolCall","id":"c","name":"x","arguments":{{"n":{}"needle"{}}}}}]}}}}"#,
        "[".repeat(5000),
        "]".repeat(5000)
    );
    let test_dir = TestDir::with(&[torn.to_owned(), lone.to_owned(), deep]);
    assert_eq!(test_dir.ids("needle"), "a1 a2 a3");
    assert_eq!(test_dir.hits("needle one"), ["a1 active damaged: [needle] [one]"]);
}
