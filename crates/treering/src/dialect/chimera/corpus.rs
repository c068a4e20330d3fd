//! Against the files of the corpus, where there is one.

use super::*;
use serde_json::Value;
use std::collections::HashMap;

fn corpus(folder: &str) -> Vec<std::path::PathBuf> {
    let default = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/corpus");
    let root = std::env::var("TREERING_CORPUS").unwrap_or_else(|_| default.to_owned());
    let Ok(files) = std::fs::read_dir(format!("{root}/{folder}")) else {
        eprintln!("SKIPPED: there is no corpus at {root}/{folder}");
        return Vec::new();
    };
    let files = files.map(|file| file.unwrap().path());
    files.filter(|path| path.extension().is_some_and(|end| end == "jsonl")).collect()
}

fn lines(path: &std::path::Path) -> Vec<Vec<u8>> {
    let bytes = std::fs::read(path).unwrap();
    let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    lines.map(<[u8]>::to_vec).collect()
}

fn text(record: &[u8], key: &str) -> String {
    json::get(record, key).and_then(json::string).unwrap_or_default().into_owned()
}

#[test]
fn contexts_are_those_of_the_corpus() {
    let mut contexts = 0;
    for file in corpus("chimera") {
        let by_id: HashMap<String, Vec<u8>> =
            lines(&file).into_iter().map(|line| (text(&line, "id"), line)).collect();
        let expected = std::fs::read(file.with_extension("expect.json")).unwrap();
        let expected: Value = serde_json::from_slice(&expected).unwrap();
        for (leaf, context) in expected["contexts"].as_object().unwrap() {
            let ids = context["ids_on_path"].as_array().unwrap().iter();
            let records = ids.map(|id| by_id[id.as_str().unwrap()].clone()).collect();
            let ours = Chimera
                .agent_context(&mut crate::dialect::agent::RecordsInMemory(records))
                .unwrap()
                .unwrap();
            let read = |message: &Vec<u8>| serde_json::from_slice::<Value>(message).unwrap();
            let messages: Vec<Value> = ours.messages.iter().map(read).collect();
            assert_eq!(messages, *context["messages"].as_array().unwrap(), "{file:?} {leaf}");
            contexts += 1;
        }
    }
    eprintln!("{contexts} contexts");
}

#[test]
fn records_of_the_corpus_come_back_byte_for_byte() {
    for file in corpus("chimera") {
        for line in lines(&file) {
            let (id, parent) = (text(&line, "id"), text(&line, "parent_id"));
            let time = json::get(&line, "timestamp").unwrap();
            let stamp = Stamp {
                id: &id,
                parent: (!parent.is_empty()).then_some(&*parent),
                millis: python::millis(time).unwrap(),
                left: None,
            };
            let entry = Chimera.decode(&line).entry;
            let class = Chimera.classify(&text(&line, "type"), &line);
            match class {
                Class::HeaderNode => {}
                class => assert_eq!(class, Class::Entry(entry.kind(), entry.role)),
            }
            // treering's clock has milliseconds, Python's has microseconds.
            let expected = json::with_member(&line, "timestamp", &python::seconds(stamp.millis));
            let again = Chimera.encode(&entry, &stamp).unwrap();
            assert_eq!(String::from_utf8(again), String::from_utf8(expected));
        }
    }
}

#[test]
fn entries_of_other_agents_survive() {
    let stamp = Stamp { id: "b", parent: Some("a"), millis: 1_773_219_600_618, left: None };
    let mut entries = 0;
    for file in ["pi-v3", "pi-1.5", "omp"].iter().flat_map(|folder| corpus(folder)) {
        for line in lines(&file) {
            let Ok(entry) = NewEntry::from_json(&line) else { continue };
            let record = Chimera.encode(&entry, &stamp).unwrap();
            assert!(record.is_ascii());
            assert_eq!(json::skip_value(&record, 0), Some(record.len()));
            let back = Chimera.decode(&record).entry;
            assert!(embed::same(&entry, &back), "{}", String::from_utf8_lossy(&line));
            let class = Chimera.classify(&text(&record, "type"), &record);
            assert_eq!(class, Class::Entry(entry.kind(), entry.role));
            entries += 1;
        }
    }
    eprintln!("{entries} entries");
}

#[test]
fn the_quick_reader_and_the_thorough_one_agree() {
    let (mut quick, mut all) = (0, 0);
    for line in corpus("chimera").iter().flat_map(|file| lines(file)) {
        all += 1;
        let Some((head, used)) = Chimera.quick(&line) else { continue };
        quick += 1;
        let Class::Entry(kind, role) = Chimera.classify("message", &line) else { panic!() };
        assert_eq!((head.kind, head.role), (kind, role));
        assert_eq!(head.id.unwrap().text, text(&line, "id"));
        assert_eq!(
            head.parent.map_or(String::new(), |id| id.text.into()),
            text(&line, "parent_id")
        );
        assert_eq!(head.time, json::get(&line, "timestamp").and_then(python::millis));
        let before = &line[..used];
        assert!(before.ends_with(b"\""), "{}", String::from_utf8_lossy(before));
        for cut in 0..line.len() {
            assert_eq!(Chimera.quick(&line[..cut]).is_some(), cut >= used, "cut at {cut}");
        }
    }
    if all > 0 {
        assert_eq!(quick, 86 + 154 + 280, "every message of the corpus");
    }
}
