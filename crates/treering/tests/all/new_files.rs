//! Tests, on a real file system, of files that appear complete or not at all.

use std::io::Write;
use std::path::Path;
use treering::convert::ConvertOptions;
use treering::internal::fs::NewFile;
use treering::{Dialect, Error, ForkOptions, Message, Session};

fn names(dir: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(dir).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_name_that_is_taken_is_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let target = dir.path().join("out");
    let mut first = NewFile::beside(&target).unwrap();
    let mut second = NewFile::beside(&target).unwrap();
    first.write_all(b"first").unwrap();
    second.write_all(b"second").unwrap();
    first.publish().unwrap();
    let error = second.publish().unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::AlreadyExists);
    assert_eq!(std::fs::read(&target).unwrap(), b"first");
    assert_eq!(names(dir.path()), ["out"]);
}

#[test]
fn replacing_takes_the_place_of_a_file() {
    let dir = tempfile::tempdir().unwrap();
    let target = dir.path().join("out");
    std::fs::write(&target, "old").unwrap();
    let mut new = NewFile::beside(&target).unwrap();
    new.write_all(b"new").unwrap();
    assert_eq!(std::fs::read(&target).unwrap(), b"old");
    new.publish_replacing().unwrap();
    assert_eq!(std::fs::read(&target).unwrap(), b"new");
    assert_eq!(names(dir.path()), ["out"]);
}

#[test]
fn a_file_that_is_not_published_is_removed() {
    let dir = tempfile::tempdir().unwrap();
    let mut new = NewFile::beside(&dir.path().join("out")).unwrap();
    new.write_all(b"half").unwrap();
    assert_eq!(names(dir.path()).len(), 1);
    drop(new);
    assert!(names(dir.path()).is_empty());
}

#[test]
fn a_name_of_the_greatest_length_is_possible() {
    let dir = tempfile::tempdir().unwrap();
    let target = dir.path().join("ä".repeat(127));
    NewFile::beside(&target).unwrap().publish().unwrap();
    assert!(target.exists());
}

#[test]
#[cfg(unix)]
fn only_the_owner_can_read_a_new_file() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let target = dir.path().join("new/directory/out");
    NewFile::beside(&target).unwrap().publish().unwrap();
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&target), 0o600);
    assert_eq!(mode(target.parent().unwrap()), 0o700);
    assert_eq!(mode(target.parent().unwrap().parent().unwrap()), 0o700);
}

/// The commands once wrote to guessable names, followed what was there, or removed it.
#[test]
#[cfg(unix)]
fn files_with_the_names_of_former_temporaries_are_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    let source = Session::create_at(at("source.jsonl"), "/p", Default::default()).unwrap();
    let hello = source.append(Message::user("hello")).unwrap();
    source.append(Message::assistant("acme", "m", "hi")).unwrap();
    let broken = concat!(
        r#"{"type":"session","version":2,"id":"s","timestamp":"2026-01-05T09:00:00.000Z","cwd":"/p"}"#,
        "\n",
        r#"{"type":"message","id":"a","parentId":null,"message":{"role":"user","content":"hello"}}"#,
        "\ngarbage\n",
    );
    for name in ["repaired.jsonl", "upgraded.jsonl", "moved.jsonl"] {
        std::fs::write(at(name), broken).unwrap();
    }
    let taken = [
        "converted.jsonl.converting.tmp",
        "converted.jsonl.tmp",
        "repaired.jsonl.repair.tmp",
        "upgraded.jsonl.upgrade.tmp",
        "moved.jsonl.moving.tmp",
        "copy.jsonl.tmp",
    ];
    std::fs::write(at("precious"), "precious").unwrap();
    for (number, name) in taken.into_iter().enumerate() {
        match number % 2 {
            0 => std::os::unix::fs::symlink(at("precious"), at(name)).unwrap(),
            _ => std::fs::hard_link(at("precious"), at(name)).unwrap(),
        }
    }

    let options = ConvertOptions::default();
    treering::convert::convert_session(&source, at("converted.jsonl"), Dialect::Tau, &options)
        .unwrap();
    source.copy_to(at("copy.jsonl")).unwrap();
    source.fork(hello.as_str(), ForkOptions::default()).unwrap();
    let in_place = treering::doctor::RepairOptions::new().to(treering::doctor::RepairTo::InPlace);
    treering::doctor::repair(at("repaired.jsonl"), in_place).unwrap();
    Session::open(at("upgraded.jsonl")).unwrap().upgrade().unwrap().unwrap();
    treering::session::relocate(at("moved.jsonl"), "/q", at("moved.jsonl"), |_| Ok(())).unwrap();

    for name in taken {
        assert!(at(name).symlink_metadata().is_ok(), "{name} is gone");
        assert_eq!(std::fs::read(at(name)).unwrap(), b"precious", "{name}");
    }
    assert_eq!(std::fs::read(at("precious")).unwrap(), b"precious");
    let unfinished: Vec<String> =
        names(dir.path()).into_iter().filter(|name| name.ends_with(".tmp")).collect();
    assert_eq!(unfinished.len(), taken.len(), "{unfinished:?}");
}

#[test]
fn two_conversions_to_one_file_do_not_acknowledge_each_other() {
    let dir = tempfile::tempdir().unwrap();
    let target = dir.path().join("out.jsonl");
    let convert = |text: &str| {
        let session = Session::in_memory("/p");
        session.append(Message::user(text)).unwrap();
        treering::convert::convert_session(
            &session,
            &target,
            Dialect::Tau,
            &ConvertOptions::default(),
        )
    };
    let results: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> =
            ["one", "two", "three"].map(|text| scope.spawn(move || (text, convert(text)))).into();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let (done, refused): (Vec<_>, Vec<_>) = results.into_iter().partition(|(_, r)| r.is_ok());
    assert_eq!((done.len(), refused.len()), (1, 2));
    assert!(refused.iter().all(|(_, r)| matches!(r, Err(Error::AlreadyExists(_)))));
    let text = Session::open(&target).unwrap().context().unwrap().messages.len();
    assert_eq!(text, 1);
    let bytes = String::from_utf8(std::fs::read(&target).unwrap()).unwrap();
    assert!(bytes.contains(done[0].0), "the file holds what was acknowledged");
    assert_eq!(names(dir.path()), ["out.jsonl"]);
}
