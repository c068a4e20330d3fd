//! Tests of directories of sessions: listing them, the latest session, and the project of each.

use crate::support::HEADER;
use std::path::Path;
use std::time::{Duration, SystemTime};
use treering::session::Creation;
use treering::{Catalog, CreateOptions, Dialect, Message, Session};

fn session(catalog: &Catalog, cwd: &str, text: &str) -> Session {
    let session = catalog.create(cwd, CreateOptions::new()).unwrap();
    session.append(Message::user(text)).unwrap();
    session
}

fn age(path: &Path, seconds: u64) {
    let file = std::fs::OpenOptions::new().append(true).open(path).unwrap();
    file.set_modified(SystemTime::now() - Duration::from_secs(seconds)).unwrap();
}

#[test]
fn a_list_says_what_a_session_is_about() {
    let root = tempfile::tempdir().unwrap();
    let catalog = Catalog::new(root.path());
    let session = catalog.create("/project", CreateOptions::new()).unwrap();
    session.append(Message::user("").into_entry().with_timestamp(1000)).unwrap();
    let first =
        session.append(Message::user("the question").into_entry().with_timestamp(2000)).unwrap();
    session
        .append(Message::assistant("acme", "m", "the answer").into_entry().with_timestamp(9000))
        .unwrap();
    session.branch(first.as_str()).unwrap();
    session
        .append(Message::assistant("acme", "m", "another").into_entry().with_timestamp(5000))
        .unwrap();
    session.set_name("About it").unwrap();
    let listing = catalog.list("/project", |_| {}).unwrap();
    assert_eq!(listing.sessions.len(), 1);
    let info = &listing.sessions[0];
    assert_eq!((info.id.clone(), info.cwd.as_str()), (session.id(), "/project"));
    assert_eq!(info.path, session.path().unwrap());
    assert_eq!((info.message_count, info.entry_count), (4, 6));
    assert_eq!((info.branch_count, session.tree().conversation().leaves().len()), (2, 2));
    assert_eq!((info.finding_count, info.tokens, info.cost), (0, None, None));
    assert_eq!(info.first_message, "the question");
    assert_eq!(info.name.as_deref(), Some("About it"));
    assert_eq!(info.modified, 9000, "the time of the last message");
    assert_eq!(info.size, std::fs::metadata(&info.path).unwrap().len());
}

#[test]
fn the_header_decides_whose_a_session_is() {
    let root = tempfile::tempdir().unwrap();
    let catalog = Catalog::new(root.path());
    // Two projects with the same directory name.
    assert_eq!(catalog.dir_for("/a/b-c"), catalog.dir_for("/a-b/c"));
    let one = session(&catalog, "/a/b-c", "one");
    let two = session(&catalog, "/a-b/c", "two");
    let listed = |cwd: &str| -> Vec<treering::SessionId> {
        catalog.list(cwd, |_| {}).unwrap().sessions.into_iter().map(|info| info.id).collect()
    };
    assert_eq!(listed("/a/b-c"), [one.id()]);
    assert_eq!(listed("/a-b/c"), [two.id()]);
    let recent = catalog.continue_recent("/a/b-c", CreateOptions::new()).unwrap();
    assert_eq!(recent.id(), one.id());
    let all = catalog.list_all(|_| {}).unwrap();
    assert_eq!(all.sessions.len(), 2);
}

#[test]
fn the_latest_session_is_continued_or_a_new_one_begins() {
    let root = tempfile::tempdir().unwrap();
    let catalog = Catalog::new(root.path());
    let none = catalog.continue_recent("/project", CreateOptions::new()).unwrap();
    assert!(!none.is_written(), "a new one");
    let old = session(&catalog, "/project", "old");
    let new = session(&catalog, "/project", "new");
    age(&new.path().unwrap(), 100);
    age(&old.path().unwrap(), 10);
    std::fs::write(catalog.dir_for("/project").join("garbage.jsonl"), "no session\n").unwrap();
    let recent = catalog.continue_recent("/project", CreateOptions::new()).unwrap();
    assert_eq!(recent.id(), old.id(), "the one that was written last, and is one");

    let chimera = || CreateOptions::new().dialect(Dialect::Chimera);
    let other = catalog.continue_recent("/project", chimera()).unwrap();
    assert_eq!((other.dialect(), other.is_written()), (Dialect::Chimera, false), "a new one");
    other.append(Message::user("hello")).unwrap();
    age(&other.path().unwrap(), 1000);
    let same = catalog.continue_recent("/project", chimera()).unwrap();
    assert_eq!(same.id(), other.id(), "the only one of this dialect");
    let pi = catalog.continue_recent("/project", CreateOptions::new().dialect(Dialect::Pi));
    assert_eq!(pi.unwrap().id(), old.id());
}

#[test]
fn sessions_are_found_by_id_wherever_they_are() {
    let root = tempfile::tempdir().unwrap();
    let catalog = Catalog::new(root.path());
    let one = session(&catalog, "/project", "one");
    session(&catalog, "/other", "two");
    assert_eq!(catalog.find_by_id(one.id()).unwrap(), one.path());
    assert_eq!(catalog.find_by_id("nobody").unwrap(), None);
    assert_eq!(catalog.find_by_id(&one.id().to_string()[1..]).unwrap(), None, "exactly this id");
    let renamed = root.path().join("renamed.jsonl");
    std::fs::rename(one.path().unwrap(), &renamed).unwrap();
    assert_eq!(catalog.find_by_id(one.id()).unwrap(), Some(renamed), "the header decides");
    let nowhere = Catalog::new(root.path().join("missing"));
    assert_eq!(nowhere.find_by_id("x").unwrap(), None);
}

#[test]
fn files_that_are_no_sessions_are_skipped_and_reported() {
    let root = tempfile::tempdir().unwrap();
    let catalog = Catalog::new(root.path());
    session(&catalog, "/project", "one");
    let directory = catalog.dir_for("/project");
    std::fs::write(directory.join("bad.jsonl"), "no session\n").unwrap();
    std::fs::write(directory.join("empty.jsonl"), "").unwrap();
    std::fs::write(directory.join("notes.txt"), "not looked at").unwrap();
    std::fs::create_dir(directory.join("dir.jsonl")).unwrap();
    let mut seen = Vec::new();
    let listing = treering::catalog::list_dir(&directory, |progress| {
        seen.push((progress.done, progress.total))
    })
    .unwrap();
    assert_eq!(listing.sessions.len(), 1);
    let skipped: Vec<_> =
        listing.skipped.iter().map(|(path, _)| path.file_name().unwrap()).collect();
    assert_eq!(skipped, ["bad.jsonl", "dir.jsonl", "empty.jsonl"]);
    assert_eq!(seen, [(1, 4), (2, 4), (3, 4), (4, 4)]);
}

#[test]
fn newest_first() {
    let root = tempfile::tempdir().unwrap();
    let catalog = Catalog::new(root.path());
    let directory = catalog.dir_for("/project");
    std::fs::create_dir_all(&directory).unwrap();
    for (name, hour) in [("a", 9), ("b", 11), ("c", 10)] {
        let header = HEADER.replace("s1", name).replace("T09", &format!("T{hour:02}"));
        std::fs::write(directory.join(format!("{name}.jsonl")), format!("{header}\n")).unwrap();
    }
    let listing = catalog.list("/project", |_| {}).unwrap();
    let order: Vec<_> = listing.sessions.iter().map(|info| info.id.as_str()).collect();
    assert_eq!(order, ["b", "c", "a"]);
}

#[test]
fn a_directory_of_the_callers_choice() {
    let root = tempfile::tempdir().unwrap();
    let own = root.path().join("own");
    let catalog = Catalog::flat(&own);
    let options = CreateOptions::new().creation(Creation::AtOnce);
    let session = catalog.create("/project", options.clone()).unwrap();
    assert_eq!(session.path().unwrap().parent(), Some(&*own));
    assert_eq!(catalog.continue_recent("/project", options).unwrap().id(), session.id());
}

#[test]
fn an_open_session_says_the_same_as_a_list() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("s.jsonl");
    let session = Session::create_at(&path, "/p", Default::default()).unwrap();
    session.append(Message::user("hello")).unwrap();
    session.append(Message::assistant("acme", "m", "hi")).unwrap();
    session.set_name("Tea").unwrap();
    let info = session.info().unwrap();
    assert_eq!(info, treering::catalog::info(&path).unwrap());
    assert_eq!((info.message_count, info.name.as_deref()), (2, Some("Tea")));
}

#[test]
fn the_time_in_the_last_message_of_a_list() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("s.jsonl");
    let time_after = |lines: &[&str]| {
        let lines: String = lines.iter().map(|line| format!("{line}\n")).collect();
        std::fs::write(&path, format!("{HEADER}\n{lines}")).unwrap();
        let mut found = None;
        treering::catalog::infos_without_usage(std::slice::from_ref(&path), |_, info, _| {
            found = info.unwrap().1;
        });
        found
    };
    let user = r#"{"type":"message","id":"a","parentId":null,"message":{"role":"user","content":"\ud83d","timestamp":7}}"#;
    let result = r#"{"type":"message","id":"b","parentId":"a","message":{"role":"toolResult","timestamp":9}}"#;
    let unknown = r#"{"type":"message","id":"c","parentId":"b","message":{"role":"assistant"}}"#;
    let torn =
        r#"{"type":"message","id":"d","parentId":"b","message":{"role":"user","timestamp":8"#;
    assert_eq!(time_after(&[]), None);
    assert_eq!(time_after(&[user, result]), Some(7));
    assert_eq!(time_after(&[user, torn]), Some(7));
    assert_eq!(time_after(&[user, unknown]), None);
}
