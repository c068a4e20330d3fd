//! Tests of sessions in databases.

use crate::support::Home;
use std::path::Path;
use treering_index::{FileChange, SessionIndex, Stamp, Watch};

/// Returns a database of the library's tests.
fn database(name: &str) -> Vec<u8> {
    let dialects = Path::new(env!("CARGO_MANIFEST_DIR")).join("../treering/src/dialect");
    std::fs::read(dialects.join(name)).unwrap()
}

/// Writes a database that looks as if it had been there for a while.
fn write(home: &Home, name: &str, content: &[u8]) {
    let path = home.at(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, content).unwrap();
    home.age(name, 60);
}

const OPENCODE: &str = ".local/share/opencode/opencode.db";
const GOOSE: &str = ".local/share/goose/sessions/sessions.db";

#[test]
fn each_session_of_a_database_is_listed_and_remembered() {
    let home = Home::new();
    write(&home, OPENCODE, &database("opencode/testdata/opencode.db"));
    let contents = home.read();
    let mut titles: Vec<&str> = contents.sessions.iter().map(|session| session.title()).collect();
    titles.sort_unstable();
    assert_eq!(titles, ["Count to three.", "Kiln sensor", "Tea"]);
    assert!(contents.skipped.is_empty(), "{:?}", contents.skipped);
    let paths = contents.sessions.iter().map(|session| session.path.to_str().unwrap());
    assert!(paths.into_iter().all(|path| path.contains("opencode.db#ses_")));
    assert_eq!((contents.read, home.read().read), (3, 0));
    // Another title of one session: the others are still known.
    let changed = database("opencode/testdata/opencode.db");
    let at = changed.windows(11).position(|bytes| bytes == b"Kiln sensor").unwrap();
    let changed = [&changed[..at], b"Kiln washer", &changed[at + 11..]].concat();
    std::fs::write(home.at(OPENCODE), changed).unwrap();
    home.age(OPENCODE, 30);
    let contents = home.read();
    assert_eq!(contents.read, 1);
    assert!(contents.sessions.iter().any(|session| session.title() == "Kiln washer"));
}

#[test]
fn a_file_whose_session_is_in_the_database_is_an_older_copy() {
    let home = Home::new();
    write(&home, GOOSE, &database("goose/testdata/sessions.db"));
    let line = "{\"working_dir\":\"/p\",\"description\":\"old\",\"message_count\":1}\n\
                {\"role\":\"user\",\"created\":1,\"content\":[{\"type\":\"text\",\"text\":\"x\"}]}\n";
    home.write(".local/share/goose/sessions/20260302_1.jsonl", line);
    home.write(".local/share/goose/sessions/20250101_1.jsonl", line);
    let contents = home.read();
    let mut titles: Vec<&str> = contents.sessions.iter().map(|session| session.title()).collect();
    titles.sort_unstable();
    assert_eq!(titles, ["Is there tea?", "Kiln sensor", "old"]);
    assert!(contents.sessions.iter().all(|session| session.agent.name() == "goose"));
}

#[test]
fn a_database_that_is_damaged_or_none_of_an_agent_hides_nothing() {
    let home = Home::new();
    home.pi("one", "first");
    home.write(OPENCODE, "no database");
    let contents = home.read();
    assert_eq!((contents.sessions.len(), contents.skipped.len()), (1, 1));
    write(&home, OPENCODE, &database("../log/sqlite/testdata/small.db"));
    let contents = home.read();
    assert_eq!((contents.sessions.len(), contents.skipped.len()), (1, 0));
}

#[test]
fn changes_of_a_database_are_seen() {
    let home = Home::new();
    write(&home, OPENCODE, &database("opencode/testdata/opencode.db"));
    let mut watch = Watch::new(home.places());
    assert!(watch.poll().is_empty());
    let path = home.at(&format!("{OPENCODE}#ses_main1"));
    let before = Stamp::at(&path).unwrap();
    write(&home, GOOSE, &database("goose/testdata/sessions.db"));
    let events = watch.poll();
    assert_eq!(events.len(), 2);
    assert!(events.iter().all(|event| event.change == FileChange::New));
    assert_eq!(Stamp::at(&path), Some(before));
    home.write(&format!("{OPENCODE}-wal"), "x");
    assert_ne!(Stamp::at(&path), Some(before));
    assert_eq!(Stamp::at(&home.at("nowhere#x")), None);
    assert!(SessionIndex::info(&path).is_ok(), "a log that is none counts as none");
}
