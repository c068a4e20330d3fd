//! Tests of bytes that no `String` and no `serde_json::Value` can hold: they are kept unchanged.

use crate::support::{HEADER, Leaf, assert_agrees, assistant, entry, file, open, path, user};
use std::sync::Arc;
use treering::storage::MemoryJournal;
use treering::{CreateOptions, ForkOptions, Message, NewEntry, Session};

/// Text that does not survive being decoded and encoded again.
const ODD: &[&[u8]] = &[
    br"lone \ud800 surrogate",
    br"reversed \udc00\ud800 pair",
    b"no UTF-8: \xFF\xC3\x28 ",
    br"escapes \/ \u0041 \u00e9 stay",
    "U+2028 \u{2028} and U+FFFD \u{FFFD}".as_bytes(),
];

fn odd_line(id: &str, parent: Option<&str>, text: &[u8]) -> Vec<u8> {
    let line = assistant(id, parent);
    let marker = format!("\"text\":\"{id}\"");
    let at = line.find(&marker).unwrap();
    let number = br#","huge":1e400,"exact":0.10000000000000000001"#;
    [
        &line.as_bytes()[..at],
        b"\"text\":\"",
        text,
        b"\"",
        number,
        &line.as_bytes()[at + marker.len()..],
        b"\n",
    ]
    .concat()
}

fn odd_file() -> Vec<u8> {
    let mut bytes = file(&[user("u", None)]).into_bytes();
    let mut parent = "u".to_owned();
    for (at, text) in ODD.iter().enumerate() {
        let id = format!("odd{at}");
        bytes.extend(odd_line(&id, Some(&parent), text));
        parent = id;
    }
    bytes
}

#[test]
fn lone_surrogates_and_other_bytes_survive_a_fork() {
    let directory = tempfile::tempdir().unwrap();
    let source = directory.path().join("s.jsonl");
    let bytes = odd_file();
    std::fs::write(&source, &bytes).unwrap();
    let session = Session::open(&source).unwrap();
    let fork = session.fork("odd4", ForkOptions::default()).unwrap();
    let forked = std::fs::read(fork.path().unwrap()).unwrap();
    let after_header = |bytes: &[u8]| {
        let end = bytes.iter().position(|&byte| byte == b'\n').unwrap();
        bytes[end..].to_vec()
    };
    assert_eq!(after_header(&forked), after_header(&bytes), "byte for byte");
    assert_eq!(fork.context().unwrap(), session.context().unwrap());
}

#[test]
fn they_survive_a_context_and_an_upgrade() {
    let session = open(odd_file());
    let context = session.context().unwrap();
    for (message, text) in context.messages[1..].iter().zip(ODD) {
        assert!(contains(&message.json, text), "{}", text.escape_ascii());
    }
    let llm = context.to_llm(treering::provider::Pairing::Raw);
    assert!(contains(&llm.messages[1].json, ODD[0]));

    let directory = tempfile::tempdir().unwrap();
    let old = directory.path().join("s.jsonl");
    let bytes = odd_file();
    let version_2 = [HEADER.replace(":3,", ":2,").as_bytes(), &bytes[HEADER.len()..]].concat();
    std::fs::write(&old, version_2).unwrap();
    Session::open(&old).unwrap().append(Message::user("upgrade")).unwrap();
    let upgraded = std::fs::read(&old).unwrap();
    assert!(upgraded.starts_with(&bytes), "only the version was changed");
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

#[test]
fn summaries_and_extensions_keep_their_bytes_on_the_way_to_a_provider() {
    let lines = [
        user("a", None),
        entry("branch_summary", "b", Some("a"), r#","fromId":"root","summary":"half \ud83d pair""#),
        entry(
            "custom_message",
            "c",
            Some("b"),
            r#","customType":"x","content":"\ud800","display":true"#,
        ),
        entry(
            "message",
            "d",
            Some("c"),
            r#","message":{"role":"bashExecution","command":"\udc00","output":"\udfff","exitCode":0}"#,
        ),
    ];
    let llm = open(file(&lines)).context().unwrap().to_llm(treering::provider::Pairing::Raw);
    assert!(contains(&llm.messages[1].json, br"<summary>\nhalf \ud83d pair</summary>"));
    assert!(contains(&llm.messages[2].json, br#""text":"\ud800""#));
    assert!(contains(&llm.messages[3].json, br"Ran `\udc00`\n```\n\udfff\n```"));
}

#[test]
fn what_a_caller_brings_is_written_as_it_is() {
    let journal = Arc::new(MemoryJournal::default());
    let session = Session::in_journal(journal.clone(), "/p", CreateOptions::new()).unwrap();
    let json = br#"{"type":"novelty","b":1e400,"a":"\ud800","b2":[ 1.0 , {"z":-0}],"\u0061":"\/"}"#;
    session.append(NewEntry::from_json(json).unwrap()).unwrap();
    let fields = br#","b":1e400,"a":"\ud800","b2":[ 1.0 , {"z":-0}],"\u0061":"\/"}"#;
    assert!(contains(&journal.contents(), fields), "{}", journal.contents().escape_ascii());
}

#[test]
fn deep_nesting() {
    const DEPTH: usize = 200_000;
    let deep = format!("{}{}", "[".repeat(DEPTH), "]".repeat(DEPTH));
    let objects = format!("{}1{}", "{\"a\":".repeat(DEPTH), "}".repeat(DEPTH));
    let lines = [
        user("a", None),
        entry("custom", "b", Some("a"), &format!(",\"data\":{deep}")),
        entry(
            "message",
            "c",
            Some("b"),
            &format!(",\"message\":{{\"role\":\"user\",\"content\":{objects}}}"),
        ),
        user("d", Some("c")),
    ];
    let session = open(file(&lines));
    assert_eq!(path(&session, "d"), "a b c d");
    assert!(!session.entry("b").unwrap().is_damaged());
    assert_eq!(session.context().unwrap().messages.len(), 3);
    assert!(session.append(NewEntry::custom("deep", Some(deep.as_bytes())).unwrap()).is_ok());
    let cut = NewEntry::custom("deep", Some(&deep.as_bytes()[..deep.len() - 1]));
    assert!(cut.is_err(), "one bracket short");
    let mut broken = file(&lines[..2]);
    broken.truncate(broken.len() - 100);
    broken.push('\n');
    assert!(open(broken).entry("b").unwrap().is_damaged());
}

#[test]
fn integer_ids_are_appended_to_as_numbers() {
    let number = |id: u32, parent: &str| {
        user("ID", None).replace(
            "\"id\":\"ID\",\"parentId\":null",
            &format!("\"id\":{id},\"parentId\":{parent}"),
        )
    };
    let text = file(&[number(1, "null"), number(2, "1")]);
    let journal = Arc::new(MemoryJournal::new(text.clone().into_bytes()));
    let open = || Session::in_journal(journal.clone(), "/p", CreateOptions::new()).unwrap();
    let session = open();
    assert_eq!(path(&session, "2"), "1 2");
    let third = session.append(Message::user("third")).unwrap();
    let now = String::from_utf8(journal.contents()).unwrap();
    assert!(now.contains(&format!("\"id\":\"{third}\",\"parentId\":2,")), "{now}");
    session.branch("1").unwrap();
    assert_eq!(open().leaf().unwrap(), "1");
    session.label("2", Some("two")).unwrap();
    assert_eq!(open().tree().label("2"), Some("two"));
    assert_agrees(&open(), &journal.contents(), Leaf::OfTheFile);
}

#[test]
fn odd_ids() {
    let long = "x".repeat(512);
    let ids = ["a b", "é", "\u{FFFD}", "\\\"", "../x", "0", "null", "true", &long, "\u{1}"];
    let journal = Arc::new(MemoryJournal::default());
    let open = || Session::in_journal(journal.clone(), "/p", CreateOptions::new()).unwrap();
    let session = open();
    for id in ids {
        session.append(Message::user("x").into_entry().with_id(id)).unwrap();
        session.label(id, Some(id)).unwrap();
    }
    let again = open();
    for id in ids {
        assert_eq!(again.tree().label(id), Some(id), "{id:?}");
    }
    assert_eq!(crate::support::outline(&session), crate::support::outline(&again));
    assert_agrees(&again, &journal.contents(), Leaf::OfTheFile);
}

#[test]
fn an_id_that_is_no_text_is_known_by_its_escapes() {
    let mut bytes = file(&[]).into_bytes();
    for line in [user("@", None), user("child", Some("@")), user("half\\ud800", Some("child"))] {
        bytes
            .extend(line.bytes().map(|byte| if byte == b'@' { 0xFF } else { byte }).chain([b'\n']));
    }
    let session = open(&bytes);
    assert_eq!(session.tree().depth("child").unwrap(), 1);
    let ids: Vec<String> = session.tree().ids().map(|id| id.to_string()).collect();
    assert_eq!(ids, [r"\xff", "child", r"half\\ud800"]);
    assert_agrees(&session, &bytes, Leaf::OfTheFile);
}
