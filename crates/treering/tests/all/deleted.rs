//! Tests of files that are deleted or replaced while a session has them open.

use crate::support::{HEADER, file as lines, outline, path, user};
use std::path::{Path, PathBuf};
use treering::{CreateOptions, Error, Message, Session, SessionId};

fn begun(directory: &Path) -> (PathBuf, Session) {
    let file = directory.join("s.jsonl");
    let options = CreateOptions::new().id(SessionId::new("s1").unwrap());
    let session = Session::create_at(&file, "/p", options).unwrap();
    session.append(Message::user("one")).unwrap();
    session.append(Message::assistant("acme", "m", "two")).unwrap();
    (file, session)
}

/// Puts another file in the place of this one.
fn replace(file: &Path, text: &str) {
    let other = file.with_extension("other");
    std::fs::write(&other, text).unwrap();
    std::fs::rename(other, file).unwrap();
}

#[test]
fn file_deleted_under_a_live_session() {
    let directory = tempfile::tempdir().unwrap();
    let (file, session) = begun(directory.path());
    let (bytes, shown, leaf) = (std::fs::read(&file).unwrap(), outline(&session), session.leaf());
    std::fs::remove_file(&file).unwrap();
    for _ in 0..2 {
        let refused = session.append(Message::user("three"));
        assert!(matches!(refused, Err(Error::Deleted(_))), "{refused:?}");
        assert!(!file.exists(), "nothing is written");
    }
    assert!(matches!(session.refresh(), Err(Error::Deleted(_))));
    assert_eq!((outline(&session), session.leaf()), (shown, leaf), "the session is as it was");
    assert_eq!(session.context().unwrap().messages.len(), 2, "and can be read");

    session.recreate().unwrap();
    assert_eq!(std::fs::read(&file).unwrap(), bytes, "all of it");
    let three = session.append(Message::user("three")).unwrap();
    let again = Session::open(&file).unwrap();
    assert_eq!(again.leaf(), Some(three));
    assert_eq!(outline(&session), outline(&again));
    session.recreate().unwrap();
    assert_eq!(
        Session::open(&file).unwrap().tree().len(),
        3,
        "nothing to recreate: nothing happens"
    );
}

#[test]
fn the_directory_deleted_with_it() {
    let directory = tempfile::tempdir().unwrap();
    let (file, session) = begun(&directory.path().join("project"));
    std::fs::remove_dir_all(file.parent().unwrap()).unwrap();
    assert!(matches!(session.append(Message::user("three")), Err(Error::Deleted(_))));
    assert!(!file.parent().unwrap().exists());
    session.recreate().unwrap();
    assert_eq!(Session::open(&file).unwrap().tree().len(), 2);
}

#[test]
fn an_empty_file_in_the_place_of_a_session_is_not_taken_for_it() {
    let directory = tempfile::tempdir().unwrap();
    let (file, session) = begun(directory.path());
    let shown = outline(&session);
    replace(&file, "");
    for _ in 0..2 {
        let refused = session.append(Message::user("three"));
        assert!(matches!(refused, Err(Error::Deleted(_))), "{refused:?}");
    }
    assert_eq!(std::fs::read(&file).unwrap(), b"", "nothing is written");
    assert_eq!(outline(&session), shown, "the session is as it was");
}

#[test]
fn another_program_takes_the_path_of_a_deleted_session() {
    let directory = tempfile::tempdir().unwrap();
    let (file, session) = begun(directory.path());
    std::fs::remove_file(&file).unwrap();
    std::fs::write(&file, "somebody's notes\n").unwrap();
    let refused = session.recreate();
    assert!(matches!(refused, Err(Error::AlreadyExists(_))), "{refused:?}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "somebody's notes\n");
}

#[test]
fn file_replaced_by_a_longer_copy_of_itself() {
    let directory = tempfile::tempdir().unwrap();
    let (file, session) = begun(directory.path());
    let leaf = session.leaf().unwrap();
    let copy = std::fs::read_to_string(&file).unwrap();
    replace(&file, &format!("{copy}{}\n", user("theirs", Some(leaf.as_str()))));
    let ours = session.append(Message::user("ours")).unwrap();
    let again = Session::open(&file).unwrap();
    assert!(again.tree().contains("theirs") && again.tree().contains(ours.as_str()));
    assert_eq!(again.entry(ours.as_str()).unwrap().parent(), Some(&leaf));
    assert_eq!(outline(&session), outline(&again));
}

#[test]
fn file_replaced_by_another_state_of_the_session() {
    let directory = tempfile::tempdir().unwrap();
    let (file, session) = begun(directory.path());
    replace(&file, &lines(&[user("a", None), user("b", Some("a"))]));
    assert_eq!(session.refresh().unwrap(), ["a", "b"]);
    let ours = session.append(Message::user("ours")).unwrap();
    let again = Session::open(&file).unwrap();
    assert_eq!(path(&again, ours.as_str()), format!("a b {ours}"), "on from the leaf it has now");
    assert_eq!(session.id(), "s1");
}

/// Waits until an append looks up its path again. Before that it notices a file without a name, but not one that has
/// another name.
fn wait_for_path_check() {
    std::thread::sleep(std::time::Duration::from_millis(2));
}

#[test]
fn file_renamed_and_another_put_in_its_place() {
    // As editors do that keep a backup: the open file lives on under another name.
    let directory = tempfile::tempdir().unwrap();
    let (file, session) = begun(directory.path());
    let copy = std::fs::read(&file).unwrap();
    let backup = file.with_extension("jsonl~");
    std::fs::rename(&file, &backup).unwrap();
    std::fs::write(&file, &copy).unwrap();
    wait_for_path_check();
    let id = session.append(Message::user("three")).unwrap();
    assert!(
        Session::open(&file).unwrap().tree().contains(id.as_str()),
        "it is where the path says"
    );
    assert_eq!(std::fs::read(&backup).unwrap(), copy, "and not in the backup");
}

#[test]
fn file_deleted_that_has_another_name() {
    let directory = tempfile::tempdir().unwrap();
    let (file, session) = begun(directory.path());
    let link = file.with_extension("backup");
    std::fs::hard_link(&file, &link).unwrap();
    let before = std::fs::read(&file).unwrap();
    std::fs::remove_file(&file).unwrap();
    wait_for_path_check();
    let refused = session.append(Message::user("three"));
    assert!(matches!(refused, Err(Error::Deleted(_))), "{refused:?}");
    assert_eq!(std::fs::read(&link).unwrap(), before, "nothing is written");
    session.recreate().unwrap();
    assert_eq!(std::fs::read(&file).unwrap(), before);
}

#[test]
fn file_replaced_by_what_is_no_session() {
    let directory = tempfile::tempdir().unwrap();
    let (file, session) = begun(directory.path());
    let (shown, length) = (outline(&session), std::fs::metadata(&file).unwrap().len());
    // Also one that is exactly as long, where nothing but its contents tells.
    for text in
        ["garbage\n".to_owned(), "x".repeat(length as usize), "{\"some\":\"json\"}\n".into()]
    {
        replace(&file, &text);
        for _ in 0..2 {
            let refused = session.append(Message::user("three"));
            assert!(matches!(refused, Err(Error::NotASession { .. })), "{refused:?}");
            assert_eq!(std::fs::read_to_string(&file).unwrap(), text, "untouched");
        }
        assert_eq!(outline(&session), shown);
        assert_eq!(session.context().unwrap().messages.len(), 2, "the session can still be read");
    }
}

#[test]
fn file_replaced_by_one_of_another_version() {
    let directory = tempfile::tempdir().unwrap();
    let (file, session) = begun(directory.path());
    let future = lines(&[user("a", None)]).replace("\"version\":3", "\"version\":99");
    replace(&file, &future);
    let refused = session.append(Message::user("three"));
    assert!(matches!(refused, Err(Error::ReadOnly { version: 99, .. })), "{refused:?}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), future, "untouched");

    let (file, session) = begun(&directory.path().join("other"));
    let header = HEADER.replace("\"version\":3,", "");
    replace(
        &file,
        &format!("{header}\n{{\"type\":\"message\",\"message\":{{\"role\":\"user\"}}}}\n"),
    );
    let id = session.append(Message::user("three")).unwrap();
    let again = Session::open(&file).unwrap();
    assert_eq!(again.tree().len(), 2, "upgraded before it was appended to");
    assert_eq!(again.leaf(), Some(id));
}

#[test]
fn file_cut_short_by_another_program() {
    let directory = tempfile::tempdir().unwrap();
    let (file, session) = begun(directory.path());
    let bytes = std::fs::read(&file).unwrap();
    let second = bytes.len()
        - 1
        - bytes[..bytes.len() - 1].iter().rev().take_while(|&&b| b != b'\n').count();
    std::fs::OpenOptions::new().write(true).open(&file).unwrap().set_len(second as u64).unwrap();
    let id = session.append(Message::user("three")).unwrap();
    let again = Session::open(&file).unwrap();
    assert_eq!(again.tree().len(), 2);
    assert_eq!(again.leaf(), Some(id));
    assert_eq!(outline(&session), outline(&again));
}
