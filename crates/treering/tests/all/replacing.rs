//! Other programs that write to a session's file while treering replaces it, names it, or has it open.

use std::cell::Cell;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use tempfile::TempDir;
use treering::doctor::{RepairOptions, RepairTo};
use treering::{CreateOptions, Dialect, Error, Message, Session};

const HEADER: &str =
    r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-05T09:00:00.000Z","cwd":"/p"}"#;

fn entry(id: &str, text: &str) -> String {
    format!(
        r#"{{"type":"message","id":"{id}","parentId":null,"timestamp":"2026-01-05T09:00:01.000Z","message":{{"role":"user","content":"{text}"}}}}"#
    )
}

fn file(text: &str) -> (TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.jsonl");
    fs::write(&path, text).unwrap();
    (dir, path)
}

fn appended(path: &Path, line: &str) {
    let mut file = fs::OpenOptions::new().append(true).create(true).open(path).unwrap();
    writeln!(file, "{line}").unwrap();
}

fn in_place() -> RepairOptions {
    RepairOptions::new().to(RepairTo::InPlace)
}

#[test]
fn what_an_agent_appends_while_a_file_moves_is_brought_over() {
    let (dir, old) = file(&format!("{HEADER}\n{}\n", entry("a", "first")));
    let new = dir.path().join("new.jsonl");
    let held = Cell::new(Some(fs::OpenOptions::new().append(true).open(&old).unwrap()));
    treering::session::relocate(&old, "/q", &new, |path| {
        appended(path, &entry("b", "by its path"));
        fs::remove_file(path)?;
        let mut held = held.take().unwrap();
        writeln!(held, "{}", entry("c", "to the file that it had opened"))
    })
    .unwrap();
    let ids: Vec<String> =
        Session::open(&new).unwrap().tree().ids().map(|id| id.to_string()).collect();
    assert_eq!(ids, ["a", "b", "c"]);
}

#[test]
fn the_backup_is_the_old_file_itself() {
    for verb in ["repair", "upgrade", "move"] {
        let header = HEADER.replace(r#""version":3"#, r#""version":2"#);
        let (_dir, path) = file(&format!("{header}\n{}\ngarbage\n", entry("a", "first")));
        let mut held = fs::OpenOptions::new().append(true).open(&path).unwrap();
        let backup = match verb {
            "repair" => treering::doctor::repair(&path, in_place()).unwrap().backup.unwrap(),
            "upgrade" => Session::open(&path).unwrap().upgrade().unwrap().unwrap().backup.unwrap(),
            _ => treering::session::relocate(&path, "/q", &path, |_| Ok(())).unwrap().unwrap(),
        };
        writeln!(held, "{}", entry("late", "long after")).unwrap();
        let kept = fs::read_to_string(&backup).unwrap();
        assert!(kept.contains("long after"), "{verb}: an agent that goes on loses nothing");
        // A session that was open before continues in the new file, although the old one was written to.
        let session = Session::open(&path).unwrap();
        session.append(Message::user("on")).unwrap();
        assert!(!fs::read_to_string(&backup).unwrap().contains("\"on\""), "{verb}");
    }
}

#[test]
fn an_open_session_finds_the_new_file_although_the_old_one_was_written_to() {
    let header = HEADER.replace(r#""version":3"#, r#""version":2"#);
    let (_dir, path) = file(&format!("{header}\n{}\n", entry("a", "first")));
    let waiting = Session::open(&path).unwrap();
    let mut held = fs::OpenOptions::new().append(true).open(&path).unwrap();
    let backup = Session::open(&path).unwrap().upgrade().unwrap().unwrap().backup.unwrap();
    // The old file has one name, and its times are those of a write.
    writeln!(held, "{}", entry("late", "late")).unwrap();
    waiting.append(Message::user("ours")).unwrap();
    assert!(fs::read_to_string(&path).unwrap().contains("\"ours\""));
    assert!(!fs::read_to_string(&backup).unwrap().contains("\"ours\""));
}

#[test]
#[cfg(unix)]
fn permissions_owner_and_time_are_kept() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    for verb in ["repair", "upgrade", "move", "move elsewhere"] {
        let header = HEADER.replace(r#""version":3"#, r#""version":2"#);
        let (dir, path) = file(&format!("{header}\n{}\ngarbage\n", entry("a", "first")));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        let time =
            std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_700_000_000);
        fs::File::options().append(true).open(&path).unwrap().set_modified(time).unwrap();
        let about = fs::metadata(&path).unwrap();
        let other = dir.path().join("other.jsonl");
        let result = match verb {
            "repair" => treering::doctor::repair(&path, in_place()).unwrap().output.unwrap(),
            "upgrade" => {
                Session::open(&path).unwrap().upgrade().unwrap().unwrap();
                path.clone()
            }
            "move" => {
                treering::session::relocate(&path, "/q", &path, |_| Ok(())).unwrap();
                path.clone()
            }
            _ => {
                treering::session::relocate(&path, "/q", &other, |old| fs::remove_file(old))
                    .unwrap();
                other
            }
        };
        let now = fs::metadata(&result).unwrap();
        assert_ne!(now.ino(), about.ino(), "{verb}: it is another file");
        assert_eq!((now.mode(), now.uid(), now.gid()), (about.mode(), about.uid(), about.gid()));
        assert_eq!(now.modified().unwrap(), time, "{verb}");
    }
}

#[test]
#[cfg(unix)]
fn a_write_protected_file_is_left_alone() {
    use std::os::unix::fs::PermissionsExt;
    let header = HEADER.replace(r#""version":3"#, r#""version":2"#);
    let text = format!("{header}\n{}\ngarbage\n", entry("a", "first"));
    let (dir, path) = file(&text);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o400)).unwrap();
    let errors = [
        treering::doctor::repair(&path, in_place()).map(drop).unwrap_err(),
        Session::open(&path).unwrap().upgrade().map(drop).unwrap_err(),
        Session::open(&path).unwrap().append(Message::user("x")).map(drop).unwrap_err(),
        treering::session::relocate(&path, "/q", &path, |_| Ok(())).map(drop).unwrap_err(),
    ];
    for error in errors {
        assert!(error.to_string().contains("write-protected"), "{error}");
    }
    assert_eq!(fs::read_to_string(&path).unwrap(), text);
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
}

fn slot(title: &str, pad: usize) -> String {
    format!(
        r#"{{"type":"title","v":1,"title":"{title}","updatedAt":"2026-01-05T09:00:00.000Z","pad":"{}"}}"#,
        " ".repeat(pad)
    )
}

/// A slot of exactly 256 bytes with its newline.
fn exact(title: &str) -> String {
    slot(title, 255 - slot(title, 0).len())
}

/// Title records that are not the slot which omp rewrites in place were overwritten with 256 bytes, and
/// what followed them was destroyed.
#[test]
fn naming_changes_only_a_title_slot() {
    let omp = r#"{"type":"service_tier_change","id":"o","parentId":null,"timestamp":"2026-01-05T09:00:01.000Z","serviceTier":null}"#;
    let rest = format!("{HEADER}\n{}\n{omp}\n", entry("a", "first"));
    let cases = [
        ("a short line", format!("{}\n{rest}", slot("old", 0)), false),
        ("a long line", format!("{}\n{rest}", slot("old", 400)), false),
        (
            "no room for a newline",
            format!("{}\n{rest}", slot("old", 256 - slot("old", 0).len())),
            false,
        ),
        ("with a carriage return", format!("{}\r\n{rest}", exact("old")), false),
        ("after a byte order mark", format!("\u{feff}{}\n{rest}", exact("old")), false),
        ("after the header", format!("{HEADER}\n{}\n{omp}\n", exact("old")), false),
        ("the slot", format!("{}\n{rest}", exact("old")), true),
        ("two slots", format!("{}\n{}\n{rest}", exact("old"), exact("older")), true),
        ("an empty title in a short line", format!("{}\n{rest}", slot("", 0)), true),
    ];
    for (case, text, works) in cases {
        let (_dir, path) = file(&text);
        let session = Session::open(&path).unwrap();
        assert_eq!(session.dialect(), Dialect::Omp, "{case}");
        let named = session.set_name("new");
        let after = fs::read(&path).unwrap();
        if works {
            named.unwrap();
            assert_eq!(session.name().as_deref(), Some("new"), "{case}");
            assert_eq!(Session::open(&path).unwrap().name().as_deref(), Some("new"), "{case}");
        } else {
            assert!(matches!(named, Err(Error::NotNameable(_))), "{case}: {named:?}");
            assert_eq!(after, text.as_bytes(), "{case}");
        }
        let from = if works && !case.contains("short") { 256 } else { 0 };
        assert_eq!(&after[from..text.len()], &text.as_bytes()[from..], "{case}");
        session.append(Message::user("on")).unwrap();
        assert!(!Session::open(&path).unwrap().tree().is_empty(), "{case}");
    }
}

#[test]
fn a_slot_that_another_program_changed_is_read_again() {
    let omp = r#"{"type":"service_tier_change","id":"o","parentId":null,"timestamp":"2026-01-05T09:00:01.000Z","serviceTier":null}"#;
    let text = format!("{}\n{HEADER}\n{omp}\n", exact("old"));
    let (_dir, path) = file(&text);
    let session = Session::open(&path).unwrap();
    // The same length, but no slot: the line is one byte shorter, the next one longer.
    let mut changed = text.clone().into_bytes();
    changed[254..256].copy_from_slice(b"\n ");
    changed[253] = b'}';
    changed[252] = b'"';
    fs::write(&path, &changed).unwrap();
    assert!(matches!(session.set_name("new"), Err(Error::NotNameable(_))));
    assert_eq!(fs::read(&path).unwrap(), changed);
}

#[test]
fn a_pending_session_is_named_before_it_has_a_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.jsonl");
    let options = CreateOptions::new().dialect(Dialect::Omp);
    let session = Session::create_at(&path, "/p", options).unwrap();
    session.set_name("early").unwrap();
    session.append(Message::user("hello")).unwrap();
    assert_eq!(Session::open(&path).unwrap().name().as_deref(), Some("early"));
}

#[test]
fn an_open_session_does_not_follow_its_path_into_another_session() {
    for by_rename in [true, false] {
        let (dir, path) = file(&format!("{HEADER}\n{}\n", entry("a", "first")));
        let session = Session::open(&path).unwrap();
        session.append(Message::user("ours")).unwrap();
        let other = HEADER.replace(r#""id":"s""#, r#""id":"other""#);
        let other = format!("{other}\n{}\n", entry("x", &"theirs ".repeat(100)));
        if by_rename {
            let beside = dir.path().join("other");
            fs::write(&beside, &other).unwrap();
            fs::rename(&beside, &path).unwrap();
        } else {
            fs::write(&path, &other).unwrap();
        }
        let errors = [
            session.append(Message::user("more")).map(drop).unwrap_err(),
            session.refresh().map(drop).unwrap_err(),
            session.set_name("mine").map(drop).unwrap_err(),
        ];
        for error in errors {
            assert!(
                matches!(&error, Error::Replaced { found, .. } if found == "other"),
                "{error:?}"
            );
            assert!(error.to_string().contains("another session"), "{error}");
        }
        assert_eq!(session.id(), "s");
        assert_eq!(fs::read_to_string(&path).unwrap(), other, "not a byte of ours went there");
    }
}

#[test]
fn an_upgrade_by_another_process_is_followed() {
    let header = HEADER.replace(r#""version":3"#, r#""version":2"#);
    let (_dir, path) = file(&format!("{header}\n{}\n", entry("a", "first")));
    let session = Session::open(&path).unwrap();
    Session::open(&path).unwrap().upgrade().unwrap().unwrap();
    session.append(Message::user("on")).unwrap();
    assert_eq!(Session::open(&path).unwrap().tree().len(), 2);
}

/// An append that was taken back, and another of the same length in its place.
#[test]
fn another_entry_of_the_same_length_is_noticed() {
    for filler in [1, 5000] {
        let (_dir, path) = file(&format!("{HEADER}\n{}\n", entry("a", "first")));
        let text = "x".repeat(filler);
        let before = fs::metadata(&path).unwrap().len();
        appended(&path, &entry("old", &text));
        let (one, two) = (Session::open(&path).unwrap(), Session::open(&path).unwrap());
        fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(before).unwrap();
        appended(&path, &entry("new", &text));
        assert_eq!(one.refresh().unwrap(), ["new"], "at a refresh");
        assert!(!one.tree().contains("old"));
        two.append(Message::user("on")).unwrap();
        assert!(two.tree().contains("new") && !two.tree().contains("old"), "before an append");
    }
}
