//! Tests of forks in every dialect: they have the leaf and the contexts of their source, and are
//! where the source's agent does not expect its own files.

use crate::samples;
use std::path::Path;
use treering::entry::MessageView;
use treering::session::Creation;
use treering::{Catalog, Context, Dialect, Error, ForkOptions, Message, Position, Role, Session};

/// The context of the model: role, content and summary of every message.
fn seen(context: &Context) -> Vec<(Role, Vec<u8>)> {
    let of = |message: &treering::context::ContextMessage| {
        let view = MessageView::new(&message.json);
        let parts = ["content", "summary"].map(|key| view.get(key).unwrap_or_default().to_vec());
        (view.role(), parts.concat())
    };
    context.messages.iter().map(of).collect()
}

/// The same where dialects write JSON differently: the texts.
fn spoken(context: &Context) -> Vec<(Role, String)> {
    let of = |message: &treering::context::ContextMessage| {
        let view = MessageView::new(&message.json);
        let summary = view.field("summary").map(|summary| summary.into_owned());
        (view.role(), summary.unwrap_or_else(|| view.text()))
    };
    context.messages.iter().map(of).collect()
}

fn assert_same(fork: &Session, source: &Session, leaf: Option<&str>, what: &str) {
    let (ours, theirs) = (fork.context().unwrap(), source.context_at(leaf).unwrap());
    assert_eq!(seen(&ours), seen(&theirs), "{what}");
    let own = source.dialect();
    assert_eq!(fork.dialect(), if own.is_writable() { own } else { Dialect::Pi }, "{what}");
}

/// Forks a file in all ways. Returns the number of forks.
fn fork_all(file: &Path) -> usize {
    let Ok(source) = Session::open(file) else { return 0 };
    if source.info().unwrap().size == 0 {
        return 0;
    }
    let what = file.display().to_string();
    let dir = tempfile::tempdir().unwrap();
    let catalog = Catalog::new(dir.path().join("whole"));
    let whole = catalog.fork_from(file, "/other", ForkOptions::default());
    let whole = whole.unwrap_or_else(|error| panic!("{what}: {error}"));
    let leaf = source.leaf();
    assert_same(&whole, &source, leaf.as_ref().map(|leaf| leaf.as_str()), &what);
    assert_eq!(whole.cwd(), "/other", "{what}");
    assert_eq!(whole.header().parent_session.as_deref(), file.to_str(), "{what}");
    assert_ne!(whole.id(), source.id(), "{what}");
    assert_eq!(whole.name().is_some(), source.name().is_some(), "{what}");
    let mut forks = 1;
    for end in source.tree().conversation().leaves() {
        let options = ForkOptions::new().dir(dir.path().join("paths")).creation(Creation::AtOnce);
        let fork = source.fork(end.as_str(), options);
        let fork = fork.unwrap_or_else(|error| panic!("{what} at {end}: {error}"));
        if source.tree().kind(end.as_str()).unwrap() != treering::Kind::Leaf {
            assert_same(&fork, &source, Some(end.as_str()), &format!("{what} at {end}"));
        }
        forks += 1;
    }
    let written = Session::open(whole.path().unwrap()).unwrap();
    if source.header().version > treering::header::VERSION {
        return forks; // A version that is only read stays one.
    }
    written.append(Message::user("more")).unwrap();
    let again = Session::open(whole.path().unwrap()).unwrap();
    assert_eq!(again.dialect(), whole.dialect(), "{what}");
    let (before, after) = (whole.context().unwrap(), again.context().unwrap());
    assert_eq!(after.messages.len(), before.messages.len() + 1, "{what}: it goes on");
    forks
}

#[test]
fn forks_of_every_dialect_are_their_source() {
    let dir = tempfile::tempdir().unwrap();
    for file in samples::write_all(dir.path()) {
        assert!(fork_all(&file) > 1, "{}", file.display());
    }
}

#[test]
fn forks_of_every_file_of_the_corpus_are_their_source() {
    let files = treering_testkit::corpus::files();
    let forks: usize = files.iter().map(|file| fork_all(file)).sum();
    eprintln!("{forks} forks of {} files", files.len());
    assert!(files.is_empty() || forks > files.len());
}

#[test]
fn a_session_without_a_header_gets_one() {
    let dir = tempfile::tempdir().unwrap();
    let files = samples::write_all(dir.path());
    let file = files.iter().find(|file| file.ends_with("chimera-headerless.jsonl")).unwrap();
    let catalog = Catalog::new(dir.path().join("root"));
    let copy = catalog.fork_from(file, "/other", ForkOptions::default()).unwrap();
    let text = std::fs::read_to_string(copy.path().unwrap()).unwrap();
    let (header, rest) = text.split_once('\n').unwrap();
    assert!(header.starts_with(r#"{"type": "header""#), "{header}");
    assert_eq!(rest, std::fs::read_to_string(file).unwrap(), "all of it, as it was");
    assert_eq!(copy.leaf().unwrap(), "aaaaaaaaaaa3");
}

#[test]
fn forks_in_another_dialect_stay_out_of_their_sources_directory() {
    let dir = tempfile::tempdir().unwrap();
    for file in samples::write_all(dir.path()) {
        let source = Session::open(&file).unwrap();
        let leaf = source.leaf().unwrap();
        let before = std::fs::read_dir(dir.path()).unwrap().count();
        let asked = source.fork(leaf.as_str(), ForkOptions::default());
        match source.dialect() {
            Dialect::ClaudeCode | Dialect::Codex => {
                assert!(matches!(asked, Err(Error::NoForkDirectory { .. })), "{asked:?}");
                assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), before);
            }
            _ => assert_eq!(asked.unwrap().path().unwrap().parent(), Some(dir.path())),
        }
        let root = dir.path().join("own");
        let options = ForkOptions::new()
            .root(root.clone())
            .dialect(if source.dialect() == Dialect::Tau { Dialect::Omp } else { Dialect::Tau });
        let fork = source.fork(leaf.as_str(), options.clone()).unwrap();
        assert_eq!(Some(fork.dialect()), options.dialect);
        let project = Catalog::new(root).dir_for(source.cwd());
        assert_eq!(fork.path().unwrap().parent(), Some(&*project));
        let context = source.context_at(leaf.as_str()).unwrap();
        let ours = fork.context().unwrap();
        assert_eq!(spoken(&ours), spoken(&context), "{}", file.display());
    }
    let source = Session::open(dir.path().join("pi.jsonl")).unwrap();
    let leaf = source.leaf().unwrap();
    for dialect in [Dialect::ClaudeCode, Dialect::Codex] {
        let options = ForkOptions::new().dialect(dialect);
        let asked = source.fork(leaf.as_str(), options);
        assert!(matches!(asked, Err(Error::ReadOnlyDialect(_))), "{asked:?}");
    }
}

#[test]
fn a_fork_in_another_dialect_waits_for_its_first_message() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("claude.jsonl");
    let note = r#"{"type":"system","subtype":"info","uuid":"u1","parentUuid":null,"sessionId":"s","cwd":"/project","timestamp":"2026-01-05T09:00:01.000Z","content":"hello"}"#;
    std::fs::write(&file, format!("{note}\n")).unwrap();
    let source = Session::open(&file).unwrap();
    let options = ForkOptions::new().root(dir.path().join("own"));
    let fork = source.fork("u1", options).unwrap();
    assert!(!fork.is_written() && fork.path().is_some());
    fork.append(Message::user("hello")).unwrap();
    assert!(fork.is_written());
    let again = Session::open(fork.path().unwrap()).unwrap();
    assert_eq!(again.context().unwrap(), fork.context().unwrap());
}

/// A label is not on the path of the entry that it names. Conversions must not lose it.
#[test]
fn a_fork_in_another_dialect_keeps_the_labels_of_its_path() {
    for dialect in [Dialect::Omp, Dialect::Chimera, Dialect::Operator, Dialect::Tau] {
        let session = Session::in_memory("/project");
        let kept = session.append(Message::user("a or b?")).unwrap();
        let other = session.append(Message::assistant("acme", "m", "a")).unwrap();
        session.label(&kept, Some("here")).unwrap();
        session.label(&other, Some("not here")).unwrap();
        session.branch(&kept).unwrap();
        session.append(Message::assistant("acme", "m", "b")).unwrap();
        let options = ForkOptions::new().dialect(dialect);
        let fork = session.fork(Position::Leaf, options).unwrap();
        assert_eq!(fork.tree().label(kept.as_str()), Some("here"), "{dialect}");
        assert_eq!(fork.tree().labels().len(), 1, "{dialect}");
        assert_eq!(fork.context().unwrap().messages.len(), 2, "{dialect}");
    }
}
