//! Tests of records that are appended in an agent's own format.

use crate::counted::CountedJournal;
use serde_json::Value;
use std::sync::Arc;
use treering::convert::{ConvertOptions, convert};
use treering::session::{Change, NewSession, Writer};
use treering::{CreateOptions, Dialect, Error, Kind, Message, Session};
use treering_testkit::generate::{Plan, session_bytes};

const WRITABLE: [Dialect; 6] =
    [Dialect::Pi, Dialect::Uuid, Dialect::Omp, Dialect::Chimera, Dialect::Operator, Dialect::Tau];

fn in_memory(dialect: Dialect) -> Session {
    Session::in_memory_with("/p", NewSession::new().dialect(dialect)).unwrap()
}

/// Returns a user's message as each agent writes it, without the members that place it.
fn hello(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Operator | Dialect::Tau => {
            r#"{"type":"message","message":{"role":"user","content":[{"type":"text","text":"hello"}]}}"#
        }
        _ => r#"{"type":"message","message":{"role":"user","content":"hello"}}"#,
    }
}

#[test]
fn the_session_places_a_record() {
    for dialect in WRITABLE {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s.jsonl");
        let options = CreateOptions::new().dialect(dialect);
        let session = Session::create_at(&path, "/p", options).unwrap();
        let first = session.append_record(hello(dialect)).unwrap();
        let second = session.append(Message::assistant("acme", "m", "hi")).unwrap();
        session.branch(&first).unwrap();
        let third = session.append_record(hello(dialect)).unwrap();
        assert_eq!(session.leaf(), Some(third.clone()), "{dialect}");
        for session in [session, Session::open(&path).unwrap()] {
            let tree = session.tree();
            let conversation = tree.conversation();
            assert_eq!(session.dialect(), dialect);
            assert_eq!(conversation.children(&first).unwrap(), [second.clone(), third.clone()]);
            assert_eq!(session.context().unwrap().messages.len(), 2, "{dialect}");
            assert_eq!(session.entry(&third).unwrap().message().unwrap().text(), "hello");
            assert!(session.entry(&third).unwrap().time().is_some(), "{dialect}");
            assert!(session.findings().unwrap().is_empty(), "{dialect}");
        }
    }
}

#[test]
fn listeners_hear_of_records() {
    let session = in_memory(Dialect::Tau);
    let (sender, changes) = std::sync::mpsc::channel();
    session.on_change(move |change: &Change| sender.send(change.clone()).unwrap());
    let id = session.append_record(hello(Dialect::Tau)).unwrap();
    let change = changes.recv().unwrap();
    assert_eq!((change.writer, change.entries), (Writer::This, vec![id]));
}

/// Records of generated sessions, as each agent writes them, give the same session when they are
/// appended one by one, and the same bytes.
#[test]
fn records_read_back_as_they_were() {
    for dialect in WRITABLE {
        for seed in 0..6 {
            let dir = tempfile::tempdir().unwrap();
            let at = |name: &str| dir.path().join(name);
            let (bytes, _) = session_bytes(&Plan::entries(seed, 60));
            std::fs::write(at("pi"), bytes).unwrap();
            let source = match dialect {
                Dialect::Pi => at("pi"),
                _ => {
                    convert(at("pi"), at("there"), dialect, &ConvertOptions::new()).unwrap();
                    at("there")
                }
            };
            let theirs = Session::open(&source).unwrap();
            let lines = std::fs::read(&source).unwrap();
            let lines = lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
            // The same id, because roots may hang on the header.
            let new = NewSession::new().dialect(dialect).id(theirs.id());
            let ours = Session::in_memory_with("/p", new).unwrap();
            let (mut appended, mut refused) = (0, 0);
            for line in lines {
                match ours.append_record(line) {
                    Ok(id) => {
                        appended += 1;
                        let (a, b) = (ours.entry(&id).unwrap(), theirs.entry(&id).unwrap());
                        let json = |raw: &[u8]| serde_json::from_slice::<Value>(raw).unwrap();
                        assert_eq!(json(a.raw()), json(b.raw()), "{dialect} {seed}: {id}");
                    }
                    Err(Error::InvalidEntry(_)) => refused += 1,
                    Err(error) => panic!("{dialect} {seed}: {error}"),
                }
            }
            assert!(appended >= 50 && refused <= 2, "{dialect} {seed}: {appended}, {refused}");
            let messages = |session: &Session| session.context().unwrap().messages;
            assert_eq!(messages(&ours), messages(&theirs), "{dialect} {seed}");
            assert_eq!(facts(&ours), facts(&theirs), "{dialect} {seed}");
        }
    }
}

/// Returns what the tree knows of the entries of known kinds: the header, where it is one, has a time of its own.
fn facts(session: &Session) -> Vec<String> {
    let entries = session.entries().map(|entry| entry.unwrap());
    let entries = entries.filter(|entry| entry.kind() != Kind::Other);
    let fact = |entry: treering::Entry| {
        let (id, parent, time) = (entry.id().clone(), entry.parent().cloned(), entry.time());
        format!("{id} {parent:?} {time:?} {:?} {:?}", entry.kind(), entry.role())
    };
    entries.map(fact).collect()
}

/// A message of Chimera's as `json.dumps` writes it, with more members after the message.
fn chimera(id: &str, parent: &str, more: &str) -> String {
    format!(
        r#"{{"type": "message", "id": "{id}", "parent_id": "{parent}", "timestamp": 1773219600.618, "message": {{"role": "user", "content": "a\nb"}}{more}}}"#
    )
}

#[test]
fn a_message_in_the_usual_shape_is_not_read_again() {
    let journal = Arc::new(CountedJournal::default());
    let options = CreateOptions::new().dialect(Dialect::Chimera);
    let session = Session::in_journal(journal.clone(), "/p", options).unwrap();
    let mut parent = session.append_record(hello(Dialect::Chimera)).unwrap();
    let before = journal.reads();
    for number in 1..=5 {
        let record = chimera(&format!("{number:012x}"), parent.as_str(), "");
        parent = session.append_record(record).unwrap();
    }
    assert_eq!(journal.reads(), before);
    let again = Session::in_journal(journal, "/p", CreateOptions::new()).unwrap();
    assert_eq!(facts(&again), facts(&session));
    assert_eq!(session.context().unwrap().messages.len(), 6);
}

#[test]
fn a_message_in_nearly_the_usual_shape_is_what_a_reader_finds() {
    let session = in_memory(Dialect::Chimera);
    let first = session.append_record(hello(Dialect::Chimera)).unwrap();
    let second = session.append_record(chimera("a0", first.as_str(), "")).unwrap();
    // The last member of a name counts.
    let twice = chimera("a1", second.as_str(), &format!(", \"parent_id\": \"{first}\""));
    let id = session.append_record(twice).unwrap();
    assert_eq!(session.entry(&id).unwrap().parent(), Some(&first));
    let number = session.append_record(chimera("a2", second.as_str(), ", \"x\": NaN")).unwrap();
    assert_eq!(session.entry(&number).unwrap().message().unwrap().text(), "a\nb");
    let broken = chimera("a3", second.as_str(), ",\n\"x\": 1");
    let broken = session.append_record(broken).unwrap();
    assert_eq!(session.leaf(), Some(broken));
    assert_eq!(session.tree().len(), session.entries().count());
    for more in [", \"x\": tru", ", \"x\": [1}", ",", "} {\"a\": 1", " x"] {
        let refused = session.append_record(chimera("a4", second.as_str(), more));
        assert!(matches!(refused, Err(Error::InvalidEntry(_))), "{more}: {refused:?}");
    }
    let taken = session.append_record(chimera("a0", first.as_str(), ""));
    assert!(matches!(taken, Err(Error::DuplicateEntry(_))), "{taken:?}");
    let nowhere = session.append_record(chimera("a5", "ffff", ""));
    assert!(matches!(nowhere, Err(Error::UnknownEntry(_))), "{nowhere:?}");
}

#[test]
fn what_is_no_entry_is_refused_and_nothing_is_written() {
    for dialect in WRITABLE {
        let session = in_memory(dialect);
        let id = session.append_record(hello(dialect)).unwrap();
        let before = session.tree().len();
        let header = String::from_utf8(session.header().raw().to_vec()).unwrap();
        let keys = match dialect {
            Dialect::Uuid => ("uuid", "parentUuid"),
            Dialect::Chimera | Dialect::Operator | Dialect::Tau => ("id", "parent_id"),
            _ => ("id", "parentId"),
        };
        let with = |key: &str, value: &str| {
            hello(dialect).replacen('{', &format!("{{\"{key}\":{value},"), 1)
        };
        let torn = &hello(dialect)[..40];
        let two = format!("{}{}", hello(dialect), hello(dialect));
        let refused = [
            header,
            torn.to_owned(),
            two,
            "[1]".to_owned(),
            String::new(),
            with(keys.0, "7"),
            with(keys.0, "\"\""),
            with(keys.1, "{}"),
            with("timestamp", "\"yesterday\""),
            // In the first lines of a file, a header decides whose session it is.
            r#"{"type":"session","version":3,"id":"x","cwd":"/project"}"#.to_owned(),
            format!("\n{{\"{}\":\"x\",\"type\":\"s\\u0065ssion\"}}", keys.0),
        ];
        for record in refused {
            let refused = session.append_record(&record);
            assert!(
                matches!(refused, Err(Error::InvalidEntry(_))),
                "{dialect} {record}: {refused:?}"
            );
        }
        let taken = session.append_record(with(keys.0, &format!("\"{id}\"")));
        assert!(matches!(taken, Err(Error::DuplicateEntry(_))), "{dialect}: {taken:?}");
        let nowhere = session.append_record(with(keys.1, "\"gone\""));
        assert!(matches!(nowhere, Err(Error::UnknownEntry(_))), "{dialect}: {nowhere:?}");
        let none = session.append_records(&[hello(dialect), "{}}"]);
        assert!(none.is_err(), "{dialect}");
        assert_eq!(session.tree().len(), before, "{dialect}");
    }
}
