//! The upgrade of an old version, killed at random: the path always names the complete old file or
//! the complete new one.

use crate::children::{Role, start};
use crate::processes::{Ledger, watched};
use crate::support::{Leaf, assert_agrees};
use std::path::{Path, PathBuf};
use treering::{Message, Session};
use treering_testkit::rng::Rng;

/// Returns a file of version 1: no ids, no parents.
fn version_1(entries: usize) -> String {
    let mut text = String::from(
        "{\"type\":\"session\",\"id\":\"old\",\"timestamp\":\"2025-01-01T00:00:00.000Z\",\"cwd\":\"/p\"}\n",
    );
    for number in 0..entries {
        let role = if number % 2 == 0 { "user" } else { "assistant" };
        let filler = "x".repeat(number % 700);
        text.push_str(&format!(
            "{{\"type\":\"message\",\"timestamp\":\"2025-01-01T00:00:00.000Z\",\
             \"message\":{{\"role\":\"{role}\",\"content\":\"{number} {filler}\"}}}}\n"
        ));
        if number == entries / 2 {
            text.push_str(
                "{\"type\":\"compaction\",\"timestamp\":\"2025-01-01T00:00:00.000Z\",\
                 \"summary\":\"s\",\"firstKeptEntryIndex\":5,\"tokensBefore\":1}\n",
            );
        }
    }
    text
}

fn backups(file: &Path) -> Vec<PathBuf> {
    let name = file.file_name().unwrap().to_string_lossy().into_owned();
    let beside =
        std::fs::read_dir(file.parent().unwrap()).unwrap().map(|file| file.unwrap().path());
    let mine = |path: &PathBuf| {
        let other = path.file_name().unwrap().to_string_lossy();
        other.starts_with(&name) && other.contains(".bak")
    };
    beside.filter(mine).collect()
}

#[test]
fn killed_while_migrating_an_old_version() {
    const ENTRIES: usize = 900;
    const ROUNDS: u64 = 40;
    let directory = tempfile::tempdir().unwrap();
    let old = version_1(ENTRIES);
    let (mut unchanged, mut upgraded) = (0, 0);
    let mut rng = Rng::new(3);
    for round in 0..ROUNDS {
        let file = directory.path().join(format!("{round}.jsonl"));
        std::fs::write(&file, &old).unwrap();
        let before = Session::open(&file).unwrap();
        let ids: Vec<String> = before.tree().ids().map(|id| id.to_string()).collect();
        assert_eq!(ids.len(), ENTRIES + 1);
        let context = before.context().unwrap();
        // The ids of an old file are as good as acknowledged: a reader must always find them.
        let ledger = Ledger::default();
        ledger.add(ids.clone());
        watched(&file, &ledger, || {
            let mut child = start(Role::Upgrade, &file, round, 1);
            child.go();
            for _ in 0..rng.below(400_000) {
                std::hint::spin_loop();
            }
            ledger.add(child.kill());
        });

        let bytes = std::fs::read(&file).unwrap();
        let after = Session::open(&file).unwrap();
        if bytes == old.as_bytes() {
            unchanged += 1;
        } else {
            upgraded += 1;
            assert_eq!(after.header().get("version"), Some(&b"3"[..]));
            let kept = backups(&file);
            assert!(kept.iter().any(|path| std::fs::read(path).unwrap() == old.as_bytes()));
        }
        let now: Vec<String> = after.tree().ids().map(|id| id.to_string()).collect();
        assert_eq!(now[..ids.len()], ids, "all entries, by the same ids");
        assert_eq!(after.context_at(&ids[ENTRIES]).unwrap(), context);
        for id in ledger.all() {
            assert!(after.tree().contains(&id), "{id} was acknowledged");
        }

        let next = after.append(Message::user("next")).unwrap();
        let again = Session::open(&file).unwrap();
        assert_eq!(again.leaf(), Some(next));
        assert_eq!(again.header().get("version"), Some(&b"3"[..]));
        assert!(!backups(&file).is_empty(), "the old file is kept");
        if round == 0 {
            assert_agrees(&again, &std::fs::read(&file).unwrap(), Leaf::OfTheFile);
        }
    }
    eprintln!("{unchanged} killed before, {upgraded} after the new file was in place");
}

#[test]
fn two_processes_upgrade_at_once() {
    let directory = tempfile::tempdir().unwrap();
    for round in 0..6 {
        let file = directory.path().join(format!("{round}.jsonl"));
        std::fs::write(&file, version_1(200)).unwrap();
        let ids: Vec<_> = Session::open(&file).unwrap().tree().ids().collect();
        let mut children = [1, 2, 3].map(|seed| start(Role::Upgrade, &file, seed, 1));
        children.iter_mut().for_each(|child| child.go());
        let results: Vec<String> = children.into_iter().flat_map(|child| child.finish()).collect();
        assert_eq!(results.len(), 3);
        let session = Session::open(&file).unwrap();
        assert_eq!(session.tree().len(), ids.len() + 3, "upgraded once, appended to thrice");
        assert!(results.iter().all(|id| session.tree().contains(id)));
        assert!(ids.iter().all(|id| session.tree().contains(id.as_str())));
        assert_eq!(session.findings().unwrap(), []);
        assert_eq!(backups(&file).len(), 1);
    }
}
