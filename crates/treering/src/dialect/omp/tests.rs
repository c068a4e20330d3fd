//! Tests of the codec against files that omp wrote, and of round trips.

use super::*;
use crate::entry::Role;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::Value;

const STAMP: Stamp<'static> =
    Stamp { id: "0000000b", parent: Some("0000000a"), millis: 1_767_603_620_226, left: None };

/// Returns the lines of the corpus file `name`, and what is expected of it.
pub(super) fn corpus(name: &str) -> Option<(Vec<Vec<u8>>, Value)> {
    let default = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/corpus");
    let root = std::env::var("TREERING_CORPUS").unwrap_or_else(|_| default.to_owned());
    let file = std::path::Path::new(&root).join("omp").join(name);
    let Ok(lines) = std::fs::read(file.with_extension("jsonl")) else {
        eprintln!("SKIPPED: no corpus at {root}");
        return None;
    };
    let expected = std::fs::read(file.with_extension("expect.json")).unwrap();
    let lines = lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    Some((lines.map(<[u8]>::to_vec).collect(), serde_json::from_slice(&expected).unwrap()))
}

pub(super) const FILES: [&str; 3] = ["branches", "compactions", "forks"];

pub(super) fn text(record: &[u8], key: &str) -> Option<String> {
    json::get(record, key).and_then(json::string).map(Cow::into_owned)
}

fn native(json: &str) -> NewEntry {
    NewEntry::from_json(json.as_bytes()).unwrap()
}

fn encoded(entry: &NewEntry) -> String {
    String::from_utf8(Omp.encode(entry, &STAMP).unwrap()).unwrap()
}

#[test]
fn records_of_omp_come_back_byte_for_byte() {
    for name in FILES {
        let Some((lines, expected)) = corpus(name) else { return };
        let mut entries = 0;
        for line in &lines {
            let type_name = text(line, "type").unwrap();
            let Class::Entry(kind, role) = Omp.classify(&type_name, line) else { continue };
            entries += 1;
            let decoded = Omp.decode(line).entry;
            match kind {
                Kind::Reset => assert_eq!(&*type_name, "reset_boundary"),
                _ => assert_eq!((decoded.kind(), decoded.role), (kind, role)),
            }
            let (id, parent) = (text(line, "id").unwrap(), text(line, "parentId"));
            let millis = crate::time::parse(text(line, "timestamp").unwrap().as_bytes()).unwrap();
            let stamp = Stamp { id: &id, parent: parent.as_deref(), millis, left: None };
            let again = Omp.encode(&decoded, &stamp).unwrap();
            assert_eq!(String::from_utf8_lossy(&again), String::from_utf8_lossy(line));
        }
        assert_eq!(entries, expected["entries"]);
    }
}

#[test]
fn the_title_slot_names_the_session() {
    for name in FILES {
        let Some((lines, expected)) = corpus(name) else { return };
        let title = title::parse(&lines[0]).unwrap();
        assert_eq!(title.title, expected["name"].as_str().unwrap_or_default());
        assert_eq!(title.source.as_deref(), expected["name_source"].as_str());
        let updated = text(&lines[0], "updatedAt").unwrap();
        let mut line = lines[0].clone();
        line.push(b'\n');
        assert_eq!(title::slot(&title.title, title.source.as_deref(), &updated), line);
        let header = Omp.header(&lines[1]).unwrap();
        assert_eq!(header.id, expected["session"]["id"].as_str().unwrap());
    }
}

#[test]
fn the_quick_reader_and_the_thorough_one_agree() {
    for name in FILES {
        let Some((lines, _)) = corpus(name) else { return };
        let mut quick = 0;
        for line in &lines {
            let Some((head, _)) = Omp.quick(line) else { continue };
            quick += 1;
            let class = Omp.classify(&text(line, "type").unwrap(), line);
            assert_eq!(class, Class::Entry(head.kind, head.role));
        }
        assert!(quick * 10 > lines.len() * 7, "{quick} of {}", lines.len());
    }
}

#[test]
fn records_are_what_they_say() {
    let class = |record: &str| {
        Omp.classify(&text(record.as_bytes(), "type").unwrap_or_default(), record.as_bytes())
    };
    let entry = |kind| Class::Entry(kind, None);
    assert_eq!(class(r#"{"type":"session","id":"a"}"#), Class::Header);
    assert_eq!(class(r#"{"type":"title","v":1,"title":"","pad":""}"#), Class::Side);
    assert_eq!(class(r#"{"type":"title","v":1,"id":"a"}"#), entry(Kind::Other));
    assert_eq!(class(r#"{"type":"title","v":2}"#), entry(Kind::Other));
    assert_eq!(class(r#"{"type":"model_change","model":"a/b"}"#), entry(Kind::ModelChange));
    assert_eq!(class(r#"{"type":"model_change","model":"a/b","role":"slow"}"#), entry(Kind::Other));
    assert_eq!(class(r#"{"type":"model_usage","purpose":"t","usage":{}}"#), entry(Kind::Usage));
    assert_eq!(class(r#"{"type":"model_usage","purpose":"t"}"#), entry(Kind::Other));
    assert_eq!(class(r#"{"type":"title_change","title":"t"}"#), entry(Kind::Other));
    for (role, expected) in [("developer", Role::Other), ("hookMessage", Role::Custom)] {
        let record = format!(r#"{{"type":"message","message":{{"role":"{role}"}}}}"#);
        assert_eq!(class(&record), Class::Entry(Kind::Message, Some(expected)));
    }
}

#[test]
fn a_model_is_split_at_the_first_slash() {
    let fields = |record: &str| {
        let entry = Omp.decode(record.as_bytes()).entry;
        format!("{}{}", entry.type_name, String::from_utf8(entry.fields).unwrap())
    };
    assert_eq!(
        fields(
            r#"{"type":"model_change","id":"x","model":"openrouter\/qwen/q:free","role":"default"}"#
        ),
        r#"model_change,"provider":"openrouter","modelId":"qwen/q:free","model":"openrouter\/qwen/q:free","role":"default""#
    );
    assert_eq!(
        fields(r#"{"type":"model_change","model":"bare","role":null}"#),
        r#"model_change,"provider":"","modelId":"bare","model":"bare","role":null"#
    );
    assert_eq!(
        fields(r#"{"type":"model_change","model":"a/b","role":"smol"}"#),
        r#"model_role_change,"model":"a/b","role":"smol""#
    );
    let pi = r#"model_change,"provider":"a","modelId":"b""#;
    assert_eq!(fields(r#"{"type":"model_change","provider":"a","modelId":"b"}"#), pi);
}

#[test]
fn entries_are_written_as_omp_writes_them() {
    const PLACE: &str =
        r#""id":"0000000b","parentId":"0000000a","timestamp":"2026-01-05T09:00:20.226Z""#;
    for (entry, expected) in [
        (
            r#"{"type":"message","message": {"role":"user", "content":"gr\u00fc\u00dfe \ud83d"}}"#,
            r#"{"type":"message",@,"message":{"role":"user","content":"grüße \ud83d"}}"#,
        ),
        (
            r#"{"type":"custom","customType":"a","data":{"n":1e400}}"#,
            r#"{"type":"custom","customType":"a","data":{"n":1e400},@}"#,
        ),
        (
            r#"{"type":"custom_message","customType":"a","details":1,"content":"c","display":true}"#,
            r#"{"type":"custom_message","customType":"a","content":"c","display":true,"details":1,@}"#,
        ),
        (
            r#"{"type":"model_change","provider":"p","modelId":"m/n"}"#,
            r#"{"type":"model_change",@,"model":"p/m/n","role":"default","treering":{"type":"model_change","provider":"p","modelId":"m/n"}}"#,
        ),
        (
            r#"{"type":"model_change","provider":"p","modelId":"m","model":"p/m","role":"slow"}"#,
            r#"{"type":"model_change",@,"model":"p/m","role":"default","treering":{"type":"model_change","provider":"p","modelId":"m","model":"p/m","role":"slow"}}"#,
        ),
        (
            r#"{"type":"session_info","name":"n"}"#,
            r#"{"type":"title_change",@,"title":"n","source":"user","treering":{"type":"session_info","name":"n"}}"#,
        ),
        (
            r#"{"type":"compaction","details":{},"tokensBefore":1,"firstKeptEntryId":"k","summary":"s"}"#,
            r#"{"type":"compaction",@,"summary":"s","firstKeptEntryId":"k","tokensBefore":1,"details":{}}"#,
        ),
        (r#"{"type":"leaf","targetId":null}"#, r#"{"type":"leaf",@,"targetId":null}"#),
        (
            r#"{"type":"usage","kind":"k","usage":{}}"#,
            r#"{"type":"usage",@,"kind":"k","usage":{}}"#,
        ),
    ] {
        assert_eq!(encoded(&native(entry)), expected.replace('@', PLACE));
    }
    let keeps_nothing = encoded(&NewEntry::compaction("s", None, 7));
    assert!(keeps_nothing.contains(r#""firstKeptEntryId":"0000000b""#), "{keeps_nothing}");
}

#[test]
fn nothing_is_lost_on_the_way_to_omp_and_back() {
    for json in [
        r#"{"type":"message","message":{"role":"user","content":"x"},"own":[1.0]}"#,
        r#"{"type":"model_change","provider":"a/b","modelId":"c"}"#,
        r#"{"type":"model_change","provider":"a","modelId":"b","model":"x/y","role":"slow"}"#,
        r#"{"type":"model_change","provider":"a","modelId":"b","model":"a/b","role":"slow"}"#,
        r#"{"type":"model_change","provider":1}"#,
        r#"{"type":"model_change","model":"a/b"}"#,
        r#"{"type":"model_role_change","model":"a/b","role":"default"}"#,
        r#"{"type":"model_role_change","model":"a/b","role":"smol"}"#,
        r#"{"type":"model_usage","purpose":"p","usage":{}}"#,
        r#"{"type":"usage","kind":"p","purpose":"p","usage":{}}"#,
        r#"{"type":"usage","kind":"p","purpose":"p"}"#,
        r#"{"type":"usage","kind":"k","provider":"p","model":"m","usage":{"input":1}}"#,
        r#"{"type":"session_info","name":"\ud800","more":1}"#,
        r#"{"type":"session_info"}"#,
        r#"{"type":"title_change","title":"t"}"#,
        r#"{"type":"title","v":1}"#,
        r#"{"type":"leaf","targetId":"a"}"#,
        r#"{"type":"context_edit","targetId":"a","replacement":null}"#,
        r#"{"type":"label","targetId":"a"}"#,
        r#"{"type":"custom","customType":"c","treering":{"type":"custom","x":1}}"#,
        r#"{"type":"custom","customType":"c","treering":{"type":"label"}}"#,
        r#"{"type":"","a":1,"a":2}"#,
    ] {
        let entry = native(json);
        let record = encoded(&entry);
        let back = Omp.decode(record.as_bytes()).entry;
        assert!(embed::same(&entry, &back), "{json}\n{record}\n{back:?}");
        assert_eq!(entry.role, back.role, "{json}");
        let class = Omp.classify(&text(record.as_bytes(), "type").unwrap(), record.as_bytes());
        assert_eq!(class, Class::Entry(entry.kind(), entry.role), "{json}");
    }
}

#[test]
fn a_record_carries_nothing_but_what_it_says_it_is() {
    let record = br#"{"type":"message","message":{"role":"user"},"treering":{"type":"label"}}"#;
    let entry = Omp.decode(record).entry;
    assert_eq!((entry.kind(), entry.role), (Kind::Message, Some(Role::User)));
}

#[test]
fn a_new_session_has_a_header_of_version_3() {
    let mut about = NewHeader { id: "i", cwd: "/größe \"x\"", parent_session: None, created: 0 };
    let start = String::from_utf8(Omp.encode_header(&about).unwrap()).unwrap();
    let (slot, header) = start.split_once('\n').unwrap();
    assert_eq!((slot.len(), title::parse(slot.as_bytes()).unwrap().title), (255, String::new()));
    assert_eq!(
        header,
        r#"{"type":"session","version":3,"id":"i","timestamp":"1970-01-01T00:00:00.000Z","cwd":"/größe \"x\""}"#
    );
    about.parent_session = Some("p");
    assert!(Omp.encode_header(&about).unwrap().ends_with(br#","parentSession":"p"}"#));
}

const TYPES: [&str; 12] = [
    "message",
    "model_change",
    "model_role_change",
    "model_usage",
    "usage",
    "session_info",
    "title_change",
    "title",
    "custom",
    "custom_message",
    "compaction",
    "my own",
];

const NAMES: [&str; 13] = [
    "provider", "modelId", "model", "role", "kind", "purpose", "usage", "name", "title", "v",
    "details", "treering", "\\u0061",
];

const VALUES: [&str; 14] = [
    r#""a""#,
    r#""b/c""#,
    r#""b\/c""#,
    r#""a/b/c""#,
    r#""default""#,
    r#""\udead""#,
    r#""""#,
    "null",
    "1",
    "-1.50E+400",
    "{}",
    r#"{"type":"usage"}"#,
    r#"{"type":"session_info","name":"x"}"#,
    r#"[ {"a" : "\u00e9"} ]"#,
];

proptest! {
    #[test]
    fn any_entry_comes_back_from_omp(
        type_name in select(&TYPES[..]),
        fields in prop::collection::vec((select(&NAMES[..]), select(&VALUES[..])), 0..6),
    ) {
        let mut json = format!(r#"{{"type":"{type_name}","message":{{"role":"user"}}"#);
        for (name, value) in fields {
            json.push_str(&format!(r#","{name}": {value}"#));
        }
        let entry = native(&(json + "}"));
        let record = encoded(&entry);
        prop_assert_eq!(json::skip_value(record.as_bytes(), 0), Some(record.len()), "{}", record);
        let back = Omp.decode(record.as_bytes()).entry;
        prop_assert!(embed::same(&entry, &back), "{}", record);
        let class = Omp.classify(&text(record.as_bytes(), "type").unwrap(), record.as_bytes());
        prop_assert_eq!(class, Class::Entry(entry.kind(), entry.role), "{}", record);
        if let Some((head, _)) = Omp.quick(record.as_bytes()) {
            prop_assert_eq!(class, Class::Entry(head.kind, head.role));
        }
    }
}
