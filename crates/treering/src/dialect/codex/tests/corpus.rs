//! Tests that the counts of the corpus result from `classify` and `decode`.

use super::*;
use crate::entry::{Kind, Role};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

fn corpus() -> Option<PathBuf> {
    let default = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/corpus");
    let root = std::env::var("TREERING_CORPUS").unwrap_or_else(|_| default.to_owned());
    let folder = PathBuf::from(root).join("codex");
    if folder.is_dir() {
        return Some(folder);
    }
    eprintln!("SKIPPED: no corpus at {}", folder.display());
    None
}

/// The codec's reading of a file, counted the way the expectations count.
#[derive(Default)]
struct Counts {
    roles: BTreeMap<String, u64>,
    items: u64,
    events: u64,
    compacted: Vec<u64>,
    metas: u64,
    header: Option<Header>,
    calls: BTreeSet<String>,
    answers: BTreeSet<String>,
    kinds: BTreeMap<&'static str, u64>,
}

impl Counts {
    fn take(&mut self, number: u64, record: &[u8]) {
        let type_name = text(record, "type").unwrap_or_default();
        let Decoded { entry, more } = Codex.decode(record);
        let class = Codex.classify(&type_name, record);
        match class {
            Class::Header => {
                self.metas += 1;
                self.header = self.header.take().or_else(|| Codex.header(record));
            }
            Class::Entry(kind, role) => {
                assert_eq!((entry.kind(), entry.role), (kind, role), "line {number}");
                *self.kinds.entry(kind.name().unwrap_or("other")).or_default() += 1;
                if kind == Kind::Compaction {
                    self.compacted.push(number);
                }
            }
            Class::HeaderNode | Class::Side => {}
        }
        match Record::read(record) {
            Record::Item(item) => {
                self.items += 1;
                if let Class::Entry(Kind::Message, Some(role)) = class
                    && text(item, "type").as_deref() == Some("message")
                {
                    let name =
                        if role == Role::System { "developer" } else { role.name().unwrap() };
                    *self.roles.entry(name.to_owned()).or_default() += 1;
                }
            }
            Record::Event(_) => self.events += 1,
            _ => {}
        }
        let own = [b"{", entry.fields.get(1..).unwrap_or_default(), b"}"].concat();
        let own: Value = serde_json::from_slice(&own).unwrap();
        let more = more.iter().map(|json| serde_json::from_slice(json).unwrap());
        for message in std::iter::once(own["message"].clone()).chain(more) {
            self.take_message(&message);
        }
    }

    fn take_message(&mut self, message: &Value) {
        if message["role"] == "toolResult" {
            self.answers.insert(message["toolCallId"].as_str().unwrap().to_owned());
        }
        let blocks = message["content"].as_array().into_iter().flatten();
        for block in blocks.filter(|block| block["type"] == "toolCall") {
            assert!(block["arguments"].is_object(), "{block}");
            self.calls.insert(block["id"].as_str().unwrap().to_owned());
        }
    }
}

fn sum(counts: &Value) -> u64 {
    counts.as_object().into_iter().flatten().filter_map(|(_, count)| count.as_u64()).sum()
}

fn count(folder: &std::path::Path, name: &str) -> (Counts, Value) {
    let lines = std::fs::read(folder.join(format!("{name}.jsonl"))).unwrap();
    let expected = std::fs::read(folder.join(format!("{name}.expect.json"))).unwrap();
    let mut counts = Counts::default();
    for (at, line) in lines.split(|byte| *byte == b'\n').enumerate() {
        if !line.is_empty() {
            assert!(at > 0 || looks_like(line), "{name}");
            counts.take(at as u64 + 1, line);
        }
    }
    (counts, serde_json::from_slice(&expected).unwrap())
}

#[test]
fn the_corpus_is_read_as_it_was_counted() {
    let Some(folder) = corpus() else { return };
    for name in ["many-kinds-compacted", "pomodoro", "interleaved-compacted", "no-envelope"] {
        let (counts, expected) = count(&folder, name);
        assert_eq!(serde_json::to_value(&counts.roles).unwrap(), expected["messages_by_role"]);
        assert_eq!(counts.items, sum(&expected["items"]), "{name}");
        assert_eq!(counts.events, sum(&expected["events"]), "{name}");
        assert_eq!(serde_json::to_value(&counts.compacted).unwrap(), expected["compacted_lines"]);
        let (header, session) = (counts.header.unwrap(), &expected["session"]);
        assert_eq!(header.id, session["id"].as_str().unwrap(), "{name}");
        assert_eq!(header.cwd, session["cwd"].as_str().unwrap_or_default(), "{name}");
        assert_eq!(counts.metas, session["metas"].as_u64().unwrap(), "{name}");
        // The expectation takes the answer to a tool search for none; it is one.
        let open: Vec<&str> = expected["calls_without_output"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .filter(|call| *call != "call-3")
            .collect();
        let unanswered: Vec<&String> = counts.calls.difference(&counts.answers).collect();
        assert_eq!(unanswered, open, "{name}");
    }
}

#[test]
fn the_real_session_has_the_entries_it_should() {
    let Some(folder) = corpus() else { return };
    let (counts, _) = count(&folder, "pomodoro");
    let kinds = BTreeMap::from([("message", 63), ("model_change", 21), ("usage", 41)]);
    assert_eq!(counts.kinds, kinds);
    assert_eq!((counts.calls.len(), counts.answers.len()), (18, 18));
}

#[test]
fn codex_would_send_every_item_of_the_real_session() {
    let Some(folder) = corpus() else { return };
    let lines = std::fs::read(folder.join("pomodoro.jsonl")).unwrap();
    let records: Vec<Vec<u8>> =
        lines.split(|byte| *byte == b'\n').filter(|l| !l.is_empty()).map(<[u8]>::to_vec).collect();
    let items: Vec<Vec<u8>> = records
        .iter()
        .filter(|record| text(record, "type").as_deref() == Some("response_item"))
        .filter_map(|record| json::get(record, "payload").map(<[u8]>::to_vec))
        .collect();
    let context =
        Codex.agent_context(&mut crate::dialect::agent::RecordsInMemory(records)).unwrap().unwrap();
    assert_eq!(context.messages, items);
}
