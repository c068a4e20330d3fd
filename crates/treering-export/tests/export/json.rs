//! Tests of the JSON document.

use crate::support::{branch, fixture, of, subtree};
use serde_json::{Value, json};
use treering::session::Part;
use treering::{Position, Session};
use treering_export::Export;

fn document(export: &Export, session: &Session) -> Value {
    let mut out = Vec::new();
    export.json(session, &mut out).unwrap();
    serde_json::from_slice(&out).unwrap()
}

fn ids(document: &Value) -> Vec<&str> {
    document["entries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["id"].as_str().unwrap())
        .collect()
}

#[test]
fn everything_is_there_as_it_was_written() {
    let session = fixture("rich.jsonl");
    let document = document(&of(Part::All), &session);
    assert_eq!(document["header"]["id"], "rich-1");
    assert_eq!(document["dialect"], "pi");
    assert_eq!(document["name"], "Make the nightly import fast again");
    assert_eq!(document["leaf"], "a10");
    assert_eq!(
        document["path"].as_array().unwrap().len(),
        session.path_to(Position::Leaf).unwrap().count()
    );
    assert_eq!(document["labels"], json!({"a6": "fast import", "u2": "why it is slow"}));
    for entry in document["entries"].as_array().unwrap() {
        let raw = session.entry(entry["id"].as_str().unwrap()).unwrap();
        assert_eq!(*entry, serde_json::from_slice::<Value>(raw.raw()).unwrap());
    }
    assert_eq!(ids(&document).len(), session.tree().len());
}

#[test]
fn a_part_is_a_part() {
    let session = fixture("rich.jsonl");
    let one = document(&branch("u1"), &session);
    assert_eq!((ids(&one), &one["path"]), (vec!["m0", "u1"], &json!(["m0", "u1"])));
    let below = document(&subtree("b2"), &session);
    assert_eq!(ids(&below), ["b2", "b3"]);
}

#[test]
fn damage_does_not_break_the_document() {
    let session = fixture("hostile.jsonl");
    let mut out = Vec::new();
    of(Part::All).json(&session, &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    // Half a surrogate pair is legal JSON, though many readers refuse it.
    assert!(text.contains("\\ud800"));
    let readable = text.replace("\\ud800", "").replace("\\udfff", "");
    let document: Value = serde_json::from_str(&readable).unwrap();
    let damaged =
        document["entries"].as_array().unwrap().iter().find(|entry| entry["id"] == "h22").unwrap();
    assert_eq!(damaged["type"], "damaged");
    assert_eq!(damaged["parentId"], "h21");
}
