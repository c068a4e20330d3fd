//! Tests of moving a session to another project: every other byte stays the same, and no append is
//! lost.

use std::fs;
use std::io;
use std::path::PathBuf;
use tempfile::TempDir;
use treering::session::relocate;
use treering::{Error, Message, Session};

const HEADER: &str =
    r#"{"type":"session","version":3,"id":"s","x":1.50,"cwd":"/from","y":"\ud800"}"#;
const ENTRY: &str = r#"{"type":"message","id":"a1","parentId":null,"timestamp":"2026-01-05T09:01:00.000Z","message":{"role":"user","content":"hi"}}"#;

fn file(text: &str) -> (TempDir, PathBuf, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let (old, new) = (dir.path().join("old.jsonl"), dir.path().join("to/new.jsonl"));
    fs::write(&old, text).unwrap();
    (dir, old, new)
}

fn remove(path: &std::path::Path) -> io::Result<()> {
    fs::remove_file(path)
}

#[test]
fn only_the_directory_in_the_header_changes() {
    let text =
        format!("\u{feff}{HEADER}\r\n{ENTRY}\n\nnot json\n{{\"type\":\"odd\",\"id\":\"b\"}}\n");
    let (_dir, old, new) = file(&text);
    assert_eq!(relocate(&old, "/t\"o", &new, remove).unwrap(), None);
    assert_eq!(fs::read_to_string(&new).unwrap(), text.replace("\"/from\"", r#""/t\"o""#));
    assert!(!old.exists());
    assert_eq!(Session::open(&new).unwrap().cwd(), "/t\"o");
}

#[test]
fn in_its_place_the_old_file_is_kept() {
    let text = format!("{HEADER}\n{ENTRY}\n");
    let (_dir, old, _) = file(&text);
    let kept = relocate(&old, "/to", &old, |_| panic!("nothing to retire")).unwrap().unwrap();
    assert_eq!(fs::read_to_string(kept).unwrap(), text);
    assert_eq!(fs::read_to_string(&old).unwrap(), text.replace("/from", "/to"));
}

#[test]
fn a_writer_does_not_continue_in_an_abandoned_file() {
    let (_dir, old, new) = file(&format!("{HEADER}\n{ENTRY}\n"));
    let writer = Session::open(&old).unwrap();
    writer.append(Message::user("before")).unwrap();
    let kept = old.with_extension("kept");
    relocate(&old, "/to", &new, |path| fs::rename(path, &kept)).unwrap();
    assert!(matches!(writer.append(Message::user("after")), Err(Error::Deleted(_))));
    assert_eq!(Session::open(&new).unwrap().tree().len(), 2);
    assert_eq!(Session::open(&kept).unwrap().tree().len(), 2, "nothing landed in the old file");
}

#[test]
fn no_other_program_writes_during_the_copy() {
    let (_dir, old, new) = file(&format!("{HEADER}\n{ENTRY}\n"));
    relocate(&old, "/to", &new, |path| {
        assert!(fs::File::open(path)?.try_lock().is_err());
        fs::remove_file(path)
    })
    .unwrap();
}

#[test]
fn an_old_file_that_does_not_go_keeps_the_session() {
    let text = format!("{HEADER}\n{ENTRY}\n");
    let (_dir, old, new) = file(&text);
    let result = relocate(&old, "/to", &new, |_| Err(io::ErrorKind::PermissionDenied.into()));
    assert!(matches!(result, Err(Error::Io { .. })));
    assert_eq!(fs::read_to_string(&old).unwrap(), text);
    assert!(!new.exists());
}

#[test]
fn nothing_is_overwritten_and_other_agents_sessions_stay() {
    let (dir, old, _) = file(&format!("{HEADER}\n{ENTRY}\n"));
    let taken = dir.path().join("taken.jsonl");
    fs::write(&taken, "mine").unwrap();
    assert!(matches!(relocate(&old, "/to", &taken, remove), Err(Error::AlreadyExists(_))));
    assert_eq!(fs::read_to_string(&taken).unwrap(), "mine");
    let claude = r#"{"parentUuid":null,"isSidechain":false,"cwd":"/p","sessionId":"5e55","type":"user","message":{"role":"user","content":"Look."},"uuid":"u1","timestamp":"2026-01-05T09:41:00.000Z"}"#;
    let (_dir, old, new) = file(&format!("{claude}\n"));
    assert!(matches!(relocate(&old, "/to", &new, remove), Err(Error::ReadOnlyDialect(_))));
    let (_dir, old, new) = file(&format!("{}\n", HEADER.replace(":3,", ":9,")));
    assert!(matches!(relocate(&old, "/to", &new, remove), Err(Error::ReadOnly { .. })));
    assert!(old.exists() && !new.exists());
}

#[test]
fn an_older_version_is_upgraded_on_the_way() {
    let (_dir, old, new) = file(&format!("{}\n{ENTRY}\n", HEADER.replace(":3,", ":2,")));
    relocate(&old, "/to", &new, remove).unwrap();
    let text = fs::read_to_string(&new).unwrap();
    assert_eq!(text, format!("{}\n{ENTRY}\n", HEADER.replace("/from", "/to")));
}
