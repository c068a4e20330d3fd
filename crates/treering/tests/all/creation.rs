//! Tests of new sessions: when their file is created, its name, and its permissions.

use crate::support::{HEADER, outline};
use std::path::Path;
use treering::session::Creation;
use treering::{
    Catalog, CreateOptions, Dialect, Error, Message, NewEntry, Position, Role, Session, SessionId,
};

fn create(file: &Path, creation: Creation) -> Session {
    let options = CreateOptions::new().creation(creation);
    Session::create_at(file, "/project", options).unwrap()
}

#[test]
fn opening_and_closing_leaves_no_file() {
    let root = tempfile::tempdir().unwrap();
    let catalog = Catalog::new(root.path());
    let session = catalog.create("/project", CreateOptions::new()).unwrap();
    session.append(NewEntry::model_change("acme", "oak")).unwrap();
    session.set_name("nothing said").unwrap();
    session.append(Message::from_json(br#"{"role":"system","content":"rules"}"#).unwrap()).unwrap();
    assert!(!session.is_written());
    let file = session.path().unwrap();
    drop(session);
    assert!(!file.exists());
    assert!(!file.parent().unwrap().exists(), "not even a directory");
}

#[test]
fn the_first_message_brings_everything_before_it() {
    for message in [Message::user("hello"), Message::assistant("acme", "m", "hello")] {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("s.jsonl");
        let session = create(&file, Creation::FirstMessage);
        let model = session.append(NewEntry::model_change("acme", "oak")).unwrap();
        session.label(model.as_str(), Some("start")).unwrap();
        assert!(!file.exists());
        session.append(message).unwrap();
        assert!(session.is_written());
        let again = Session::open(&file).unwrap();
        assert_eq!(outline(&session), outline(&again));
        assert_eq!(again.tree().len(), 3);
        assert_eq!(again.id(), session.id());
        session.set_name("goes to the file now").unwrap();
        assert_eq!(Session::open(&file).unwrap().tree().len(), 4);
    }
}

#[test]
fn the_first_assistant_message_creates_the_file_with_the_option() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("s.jsonl");
    let session = create(&file, Creation::FirstAssistantMessage);
    session.append(Message::user("hello")).unwrap();
    assert!(!file.exists());
    session.append(Message::assistant("acme", "m", "hi")).unwrap();
    assert_eq!(Session::open(&file).unwrap().tree().len(), 2);
}

#[test]
fn the_file_is_created_at_once_with_the_option() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("s.jsonl");
    let session = create(&file, Creation::AtOnce);
    let text = std::fs::read_to_string(&file).unwrap();
    assert_eq!(text.as_bytes(), [session.header().raw(), b"\n"].concat());
    assert_eq!(Session::open(&file).unwrap().id(), session.id());
}

#[test]
fn a_path_that_is_taken() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("s.jsonl");
    std::fs::write(&file, "mine\n").unwrap();
    let refused = Session::create_at(&file, "/p", CreateOptions::new());
    assert!(matches!(refused, Err(Error::AlreadyExists(_))), "{refused:?}");

    // Taken between creating the session and its first message.
    let file = directory.path().join("t.jsonl");
    let session = create(&file, Creation::FirstMessage);
    std::fs::write(&file, "mine\n").unwrap();
    let refused = session.append(Message::user("hello"));
    assert!(matches!(refused, Err(Error::AlreadyExists(_))), "{refused:?}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "mine\n");
    assert_eq!(session.tree().len(), 0, "the entry does not exist in memory either");
    std::fs::remove_file(&file).unwrap();
    session.append(Message::user("hello")).unwrap();
    assert_eq!(Session::open(&file).unwrap().tree().len(), 1);
}

#[test]
fn headers_and_file_names() {
    let root = tempfile::tempdir().unwrap();
    let catalog = Catalog::new(root.path());
    let options = CreateOptions::new().creation(Creation::AtOnce);
    let session = catalog.create("/home/me/a:b", options).unwrap();
    let header: serde_json::Value = serde_json::from_slice(session.header().raw()).unwrap();
    assert_eq!((&header["type"], &header["version"]), (&"session".into(), &3.into()));
    assert_eq!(header["cwd"], "/home/me/a:b");
    assert_eq!(header.get("parentSession"), None);
    let stamp = header["timestamp"].as_str().unwrap();
    let expected = format!("{}_{}.jsonl", stamp.replace([':', '.'], "-"), session.id());
    let file = session.path().unwrap();
    assert_eq!(file.file_name().unwrap().to_str(), Some(&*expected));
    assert_eq!(file.parent().unwrap().file_name().unwrap(), "--home-me-a-b--");
}

#[test]
fn session_ids_of_the_callers_choice() {
    let root = tempfile::tempdir().unwrap();
    let id = SessionId::new("nightly-2.0_b").unwrap();
    let options = CreateOptions::new().id(id).creation(Creation::AtOnce);
    let session = Catalog::new(root.path()).create("/project", options).unwrap();
    assert_eq!(session.id(), "nightly-2.0_b");
    let name = session.path().unwrap().file_name().unwrap().to_string_lossy().into_owned();
    assert!(name.ends_with("_nightly-2.0_b.jsonl"), "{name}");
    for bad in
        ["../x", "a/b", "a\\b", "a\0b", "", ".", "..", "-a", "a.", " a", "é", &"x".repeat(1000)]
    {
        let refused = SessionId::new(bad).map_err(Error::from);
        assert!(matches!(refused, Err(Error::InvalidSessionId(text)) if text == bad), "{bad:?}");
    }
}

#[test]
fn ids_of_entries_are_eight_hexadecimal_characters() {
    let session = Session::in_memory("/p");
    let mut seen = std::collections::HashSet::new();
    for _ in 0..2000 {
        let id = session.append(NewEntry::model_change("acme", "oak")).unwrap();
        let plain = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        assert!(id.as_str().len() == 8 && id.as_str().bytes().all(plain), "{id}");
        assert!(seen.insert(id));
    }
}

#[test]
fn entries_that_could_not_be_read_back_are_refused() {
    let session = Session::in_memory("/p");
    let custom = || NewEntry::custom("x", None).unwrap();
    for key in ["id", "parentId", "type", "timestamp"] {
        assert!(matches!(custom().with(key, b"null"), Err(Error::InvalidEntry(_))), "{key}");
    }
    // A reader would find only one of two fields of the same name.
    let message = || Message::user("x").into_entry();
    assert!(message().with("message", br#"{"role":"assistant"}"#).is_err());
    assert!(NewEntry::label("x", Some("a")).with("label", br#""b""#).is_err());
    assert!(custom().with_details("1").unwrap().with_details("2").is_err());
    assert!(Message::user("x").with("content", b"[]").is_err());
    assert!(Message::user("x").with("other", b"[").is_err());
    for bad in ["", &"x".repeat(513)] {
        let refused = session.append(custom().with_id(bad));
        assert!(matches!(refused, Err(Error::InvalidEntry(_))), "{refused:?}");
    }
    for bad in [
        &b"{"[..],
        b"[1]",
        b"{}",
        b"{\"type\":\"session\"}",
        b"{\"type\":1}",
        b"{\"type\":\"x\"}{}",
        b"{\"type\":\"message\"}",
        b"{\"type\":\"message\",\"message\":[]}",
        b"{\"type\":\"message\",\"message\":{\"role\":\"user\"",
        b"{\"type\":\"message\",\"message\":{\"role\":\"user\",}}",
        b"{\"type\":\"message\",\"message\":{\"role\":\"user\"},\"message\":1}",
    ] {
        let refused = NewEntry::from_json(bad);
        assert!(matches!(refused, Err(Error::InvalidEntry(_))), "{}", bad.escape_ascii());
    }
    assert!(Message::from_json(b"[]").is_err());
    assert!(Message::from_json(b"{\"content\":1}").is_err());
    assert!(NewEntry::custom("x", Some(b"{\"a\":}")).is_err());
    assert_eq!(session.tree().len(), 0);
}

#[test]
fn the_role_of_a_message_is_the_last_that_it_says() {
    let session = Session::in_memory("/p");
    for (message, role) in [
        (r#"{"content":"\"}{\"","role":"assistant"}"#, Role::Assistant),
        (
            r#"{"role":"user","content":[{"role":"assistant"}],"role":"toolResult"}"#,
            Role::ToolResult,
        ),
        (r#"{"r\u006fle":"user"}"#, Role::User),
        (r#"{"role":7}"#, Role::Other),
        (r#"{}"#, Role::Other),
    ] {
        let json = format!(
            r#"{{"message":{{"role":"system"}},"type":"message","message": {message} ,"x":[{{}}]}}"#
        );
        let id = session.append(NewEntry::from_json(json.as_bytes()).unwrap()).unwrap();
        assert_eq!(session.tree().role(&id).unwrap(), Some(role), "{message}");
        assert_eq!(session.entry(&id).unwrap().get("x"), Some(&b"[{}]"[..]), "{message}");
    }
}

#[test]
fn a_line_is_a_line_whatever_is_in_it() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("s.jsonl");
    let session = create(&file, Creation::AtOnce);
    session.append(Message::user("two\nlines\r\n\0\u{2028}\u{7f}")).unwrap();
    session
        .append(NewEntry::from_json(b"{\n\"type\":\"x\",\r\n\"a\": [1,\n2]\n}").unwrap())
        .unwrap();
    session.append(NewEntry::custom("c", Some(b"{\n \"deep\": {\r\n}}\n")).unwrap()).unwrap();
    session
        .append(NewEntry::from_json(b"{\"type\":\"x\",\"timestamp\":[\r\n1\n]}").unwrap())
        .unwrap();
    session.set_name("a\nname").unwrap();
    let text = std::fs::read_to_string(&file).unwrap();
    assert_eq!(text.lines().count(), 6);
    assert_eq!(text.matches('\n').count(), 6);
    assert_eq!(text.matches('\r').count(), 0);
    let again = Session::open(&file).unwrap();
    assert_eq!(again.findings().unwrap(), []);
    assert_eq!(outline(&session), outline(&again));
    let first = again.path_to(Position::Leaf).unwrap().next().unwrap().unwrap();
    assert_eq!(first.message().unwrap().text(), "two\nlines\r\n\0\u{2028}\u{7f}");
    assert_eq!(again.name().as_deref(), Some("a name"));
}

#[cfg(unix)]
#[test]
fn files_and_directories_are_private() {
    use std::os::unix::fs::PermissionsExt;
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let root = tempfile::tempdir().unwrap();
    let sessions = root.path().join("sessions");
    let session = Catalog::new(&sessions).create("/project", CreateOptions::new()).unwrap();
    let id = session.append(Message::user("secret")).unwrap();
    let file = session.path().unwrap();
    assert_eq!(mode(&file), 0o600);
    assert_eq!(mode(file.parent().unwrap()), 0o700);
    assert_eq!(mode(&sessions), 0o700);
    let fork = session.fork(id.as_str(), Default::default()).unwrap();
    assert_eq!(mode(&fork.path().unwrap()), 0o600);

    let old = root.path().join("old.jsonl");
    let header = HEADER.replace("\"version\":3,", "\"version\":2,");
    std::fs::write(&old, format!("{header}\n")).unwrap();
    std::fs::set_permissions(&old, std::fs::Permissions::from_mode(0o600)).unwrap();
    Session::open(&old).unwrap().append(Message::user("upgrade")).unwrap();
    assert_eq!(mode(&old), 0o600, "an upgraded file stays private");
    assert_eq!(mode(&root.path().join("old.jsonl.v2.bak")), 0o600, "and so does its backup");
}

#[cfg(unix)]
#[test]
fn files_that_must_not_be_written_can_be_read() {
    use std::os::unix::fs::PermissionsExt;
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("s.jsonl");
    let session = create(&file, Creation::AtOnce);
    session.append(Message::user("hello")).unwrap();
    drop(session);
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o400)).unwrap();
    if std::fs::OpenOptions::new().append(true).open(&file).is_ok() {
        eprintln!(
            "SKIPPED: this user may write everything; files that may not be written were NOT tested"
        );
        return;
    }
    let session = Session::open(&file).unwrap();
    assert_eq!(session.context().unwrap().messages.len(), 1);
    let refused = session.append(Message::user("no"));
    assert!(matches!(refused, Err(Error::Io { .. })), "{refused:?}");
    assert_eq!(session.tree().len(), 1);
}

#[test]
fn an_invalid_time_is_the_time_of_the_append_where_the_file_cannot_hold_it() {
    let directory = tempfile::tempdir().unwrap();
    for dialect in [Dialect::Pi, Dialect::Chimera, Dialect::Uuid] {
        let file = directory.path().join(format!("{dialect}.jsonl"));
        let options = CreateOptions::new().dialect(dialect).creation(Creation::AtOnce);
        let session = Session::create_at(&file, "/p", options).unwrap();
        let entry = br#"{"type":"custom","customType":"x","timestamp":"yesterday"}"#;
        let id = session.append(NewEntry::from_json(entry).unwrap()).unwrap();
        let time = |session: &Session| session.entry(&id).unwrap().time();
        assert_eq!(time(&session).is_some(), dialect != Dialect::Pi, "{dialect}");
        assert_eq!(time(&session), time(&Session::open(&file).unwrap()), "{dialect}");
    }
}
