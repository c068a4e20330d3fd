//! Tests of random damage to a file: the session equals the model's reading of it, opening changes
//! nothing, and later appends are safe.

use crate::support::{Leaf, assert_agrees, assert_own_line, assert_tail_agrees, cases, outline};
use proptest::prelude::*;
use std::path::Path;
use treering::{Error, ForkOptions, Message, Position, Session};
use treering_testkit::generate::{Plan, session_bytes, small};
use treering_testkit::model::Model;
use treering_testkit::mutate::mutate;
use treering_testkit::rng::Rng;

/// Returns a healthy file with some damage done to it.
fn damaged(seed: u64, entries: usize, changes: u64) -> (Vec<u8>, Vec<&'static str>) {
    let mut rng = Rng::new(seed);
    let mut bytes = match rng.below(8) {
        0 => session_bytes(&Plan::entries(seed, 12)).0,
        _ => small(seed, entries),
    };
    let done = (0..changes).map(|_| mutate(&mut bytes, &mut rng)).collect();
    (bytes, done)
}

/// Everything a caller might do with a session that is open, none of which may fail or hang.
fn exercise(session: &Session) {
    let tree = session.tree();
    let mut reader = session.reader();
    for item in tree.walk() {
        let entry = session.entry(item.id).unwrap();
        let _ = entry.body();
        // Sequential reads find the same.
        assert_eq!(reader.entry(item.id).unwrap().record(), entry.record());
    }
    for entry in session.path_to(Position::Leaf).unwrap().map(Result::unwrap) {
        assert!(tree.contains(entry.id().as_str()));
    }
    let context = session.context().unwrap();
    let llm = context.to_llm(treering::provider::Pairing::Strict);
    assert!(llm.messages.len() + llm.repairs.len() >= llm.messages.len());
    for finding in session.findings().unwrap() {
        assert!(!finding.to_string().is_empty());
    }
}

fn check(file: &Path, bytes: &[u8]) {
    std::fs::write(file, bytes).unwrap();
    let Ok(model) = Model::read(bytes) else {
        let refused = Session::open(file);
        assert!(matches!(refused, Err(Error::NotASession { .. })), "{refused:?}");
        assert_eq!(std::fs::read(file).unwrap(), bytes, "what is no session is not touched");
        return;
    };
    let session = Session::open(file).unwrap();
    if model.repeats_its_head {
        exercise(&session); // Either of two times may be the right one.
        return;
    }
    assert_agrees(&session, bytes, Leaf::OfTheFile);
    exercise(&session);
    assert_tail_agrees(file);
    if let Some(leaf) = session.leaf() {
        let fork = session.fork(leaf.as_str(), ForkOptions::default()).unwrap();
        let (ours, theirs) = (fork.context().unwrap(), session.context().unwrap());
        assert_eq!(ours, theirs, "a fork sees what its source saw");
    }
    assert_eq!(std::fs::read(file).unwrap(), bytes, "reading changes nothing");

    if model.version > 3 {
        let refused = session.append(Message::user("no"));
        assert!(matches!(refused, Err(Error::ReadOnly { .. })), "{refused:?}");
        assert_eq!(std::fs::read(file).unwrap(), bytes, "a future version is not touched");
        return;
    }
    let leaf = session.leaf();
    let new = session.append(Message::user("after the damage")).unwrap();
    let after = std::fs::read(file).unwrap();
    let is_current = model
        .header
        .as_ref()
        .is_none_or(|header| header["version"].as_f64().is_some_and(|version| version >= 3.0));
    if is_current {
        assert!(after.starts_with(bytes), "what was there stays there");
        assert_agrees(&session, &after, Leaf::OfTheFile);
    } else {
        let directory = file.parent().unwrap();
        let backups = std::fs::read_dir(directory).unwrap().map(|file| file.unwrap().path());
        let kept = backups.filter(|path| path.to_string_lossy().contains(".bak"));
        let kept = kept.map(|path| std::fs::read(path).unwrap()).collect::<Vec<_>>();
        assert!(kept.iter().any(|old| old == bytes), "the old version is kept");
    }
    assert_own_line(&after, new.as_str());
    let again = Session::open(file).unwrap();
    assert_agrees(&again, &after, Leaf::OfTheFile);
    assert_eq!(again.leaf().as_ref(), Some(&new));
    let entry = again.entry(new.as_str()).unwrap();
    assert!(!entry.is_damaged());
    assert_eq!(entry.message().unwrap().text(), "after the damage");
    assert_eq!(entry.parent(), leaf.as_ref(), "it went where the leaf was");
    assert_eq!(outline(&session), outline(&again), "memory and file agree");
    assert_eq!(session.findings().unwrap(), again.findings().unwrap(), "and about what is odd");
}

proptest! {
    #![proptest_config(cases(80))]

    #[test]
    fn damage_is_contained(seed: u64, entries in 0_usize..40, changes in 0_u64..5) {
        let (bytes, done) = damaged(seed, entries, changes);
        let directory = tempfile::tempdir().unwrap();
        let outcome = std::panic::catch_unwind(|| check(&directory.path().join("s.jsonl"), &bytes));
        if outcome.is_err() {
            eprintln!("seed {seed}, {entries} entries: {done:?}\n{}", String::from_utf8_lossy(&bytes));
        }
        prop_assert!(outcome.is_ok(), "see above");
    }
}
