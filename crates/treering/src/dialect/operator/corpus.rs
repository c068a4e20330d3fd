//! Both dialects against real files and the agents' own results for them.

use super::*;
use crate::dialect::tau::Tau;
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::path::PathBuf;

fn corpus() -> Option<PathBuf> {
    let default = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/corpus");
    let root = std::env::var_os("TREERING_CORPUS").map_or_else(|| default.into(), PathBuf::from);
    if !root.is_dir() {
        eprintln!("SKIPPED: no corpus at {}", root.display());
        return None;
    }
    Some(root)
}

fn lines(root: &std::path::Path, file: &str) -> Vec<String> {
    let text = std::fs::read_to_string(root.join(file)).unwrap();
    text.split('\n').filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

const AGENTS: [(&str, &dyn Codec); 2] = [("operator", &Operator), ("tau", &Tau)];
const FILES: [&str; 3] = ["branches", "compactions", "forks"];

fn text(record: &str, key: &str) -> Option<String> {
    Some(json::string(json::get(record.as_bytes(), key)?)?.into_owned())
}

/// Returns the canonical form that the hashes of the corpus are of: numbers as they stand.
fn canonical(value: &[u8]) -> String {
    match value[0] {
        b'{' => {
            let member = |member: json::Member<'_>| {
                (json::decode(member.key).into_owned(), canonical(&value[member.value]))
            };
            let mut members: Vec<_> = Members::new(value, 0).map(member).collect();
            members.sort();
            let members = members.into_iter().map(|(key, value)| {
                format!("{}:{value}", String::from_utf8(json::quoted(&key)).unwrap())
            });
            format!("{{{}}}", members.collect::<Vec<_>>().join(","))
        }
        b'[' => {
            let elements = json::elements(value).into_iter().map(canonical);
            format!("[{}]", elements.collect::<Vec<_>>().join(","))
        }
        b'"' => {
            let text = json::string(value).unwrap();
            String::from_utf8(json::quoted(&text)).unwrap()
        }
        _ => String::from_utf8(value.to_vec()).unwrap(),
    }
}

#[test]
fn agent_contexts_are_those_of_the_agents() {
    let Some(root) = corpus() else { return };
    let mut contexts = 0;
    for (agent, codec) in AGENTS {
        for file in FILES {
            let by_id: HashMap<_, _> = lines(&root, &format!("{agent}/{file}.jsonl"))
                .into_iter()
                .map(|line| (text(&line, "id").unwrap(), line))
                .collect();
            let expected = std::fs::read(root.join(format!("{agent}/{file}.expect.json"))).unwrap();
            let expected: Value = serde_json::from_slice(&expected).unwrap();
            for expected in expected["contexts"].as_object().unwrap().values() {
                contexts += 1;
                let ids = expected["ids_on_path"].as_array().unwrap();
                let record = |id: &Value| by_id[id.as_str().unwrap()].clone().into_bytes();
                let mut path =
                    crate::dialect::agent::RecordsInMemory(ids.iter().map(record).collect());
                let context = codec.agent_context(&mut path).unwrap().unwrap();
                let at = format!("{agent}/{file} at {}", ids.last().unwrap());
                let messages = object::array(&context.messages);
                let hash = Sha256::digest(canonical(&messages).as_bytes());
                let hash: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
                assert_eq!(context.messages.len() as u64, expected["count"], "{at}");
                assert_eq!(hash, expected["messages_sha256"], "{at}");
                if let Some(expected) = expected.get("messages") {
                    let messages: Value = serde_json::from_slice(&messages).unwrap();
                    assert_eq!(messages, *expected, "{at}");
                }
                for (name, value) in context.settings {
                    let value: Value = serde_json::from_slice(&value).unwrap();
                    assert_eq!(value, expected[name], "{name} of {at}");
                }
            }
        }
    }
    assert_eq!(contexts, 66);
}

/// Times to the millisecond, which is as much as treering keeps.
fn whole_millis(line: &str) -> String {
    let mut parts = line.split("\"timestamp\":");
    let mut out = parts.next().unwrap().to_owned();
    for part in parts {
        let end = part.find([',', '}']).unwrap();
        let millis = python::millis(&part.as_bytes()[..end]).unwrap();
        out += "\"timestamp\":";
        out += &String::from_utf8(python::seconds(millis)).unwrap();
        out += &part[end..];
    }
    out
}

#[test]
fn what_the_agents_wrote_is_written_the_same() {
    let Some(root) = corpus() else { return };
    let mut compared = 0;
    for (agent, codec) in AGENTS {
        for file in FILES {
            for line in lines(&root, &format!("{agent}/{file}.jsonl")).into_iter().skip(1) {
                let decoded = codec.decode(line.as_bytes());
                let (id, parent) = (text(&line, "id").unwrap(), text(&line, "parent_id"));
                let millis = json::get(line.as_bytes(), "timestamp").and_then(python::millis);
                let parent = parent.as_deref();
                let millis = millis.unwrap();
                let stamp = Stamp { id: &id, parent, millis, left: parent };
                let written = codec.encode(&decoded.entry, &stamp).unwrap();
                let written = String::from_utf8(written).unwrap();
                // Tau's forks write `null` where it usually writes nothing; several results in one
                // record become several entries.
                let as_usual = agent == "operator" || !line.contains(":null");
                if as_usual && decoded.more.is_empty() {
                    compared += 1;
                    assert_eq!(written, whole_millis(&line));
                }
                assert!(!written.contains("\"treering\""), "{line}\n{written}");
            }
        }
    }
    assert!(compared > 900, "{compared}");
}

#[test]
fn treerings_own_entries_come_back_exactly() {
    let Some(root) = corpus() else { return };
    let (mut entries, mut carried) = (0, 0);
    for file in ["pi-v3/branches", "pi-v3/compactions", "pi-v3/forks", "pi-1.5/forks", "omp/forks"]
    {
        for line in lines(&root, &format!("{file}.jsonl")) {
            let Ok(entry) = NewEntry::from_json(line.as_bytes()) else { continue };
            for (agent, codec) in AGENTS {
                let stamp = Stamp { id: "0123abcd", parent: None, millis: 0, left: None };
                let record = codec.encode(&entry, &stamp).unwrap();
                let back = codec.decode(&record);
                let text = String::from_utf8_lossy(&record);
                assert!(embed::same(&back.entry, &entry) && back.more.is_empty(), "{text}");
                let type_name = json::string(json::get(&record, "type").unwrap()).unwrap();
                let class = codec.classify(&type_name, &record);
                assert_eq!(class, Class::Entry(entry.kind(), entry.role), "{agent}: {text}");
                entries += 1;
                carried += usize::from(text.contains("\"treering\""));
            }
        }
    }
    assert!(entries > 2000, "{entries}");
    assert!(carried * 3 < entries, "{carried} of {entries} carried");
}

#[test]
fn the_quick_reader_says_what_the_thorough_one_does() {
    let Some(root) = corpus() else { return };
    let mut quick_ones = HashMap::new();
    for (agent, codec) in AGENTS {
        for file in FILES {
            for line in lines(&root, &format!("{agent}/{file}.jsonl")) {
                let Some((head, used)) = codec.quick(line.as_bytes()) else { continue };
                *quick_ones.entry(agent).or_insert(0) += 1;
                assert!(used < 200 || agent == "tau", "{line}");
                let type_name = text(&line, "type").unwrap();
                let class = codec.classify(&type_name, line.as_bytes());
                assert_eq!(class, Class::Entry(head.kind, head.role));
                assert_eq!(head.id.unwrap().text, text(&line, "id").unwrap());
                assert_eq!(
                    head.parent.map(|name| name.text.into_owned()),
                    text(&line, "parent_id")
                );
                let time = json::get(line.as_bytes(), "timestamp").and_then(python::millis);
                assert_eq!(head.time, time);
            }
        }
    }
    assert_eq!(quick_ones["operator"], 607);
    assert!(quick_ones["tau"] > 100);
}

#[test]
fn messages_of_each_agent_are_distinguished() {
    let Some(root) = corpus() else { return };
    for (agent, _) in AGENTS {
        for file in FILES {
            for line in lines(&root, &format!("{agent}/{file}.jsonl")) {
                let is_message = text(&line, "type").as_deref() == Some("message");
                assert_eq!(is_tau(line.as_bytes()), is_message && agent == "tau", "{line}");
            }
        }
    }
}
