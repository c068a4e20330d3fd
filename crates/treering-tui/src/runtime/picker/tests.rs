//! Tests of the handler: the actions on files, and the events that the screen receives.

use super::file_actions::FileActionWorker;
use super::*;
use crate::page::StyledLine;
use std::sync::mpsc::channel;
use std::time::Duration;
use treering::store::MemoryStore;
use treering::{Message, Session};
use treering_index::Places;

/// Later than any file: nothing was written to a moment ago.
fn later() -> i64 {
    system_time() + 3_600_000
}

/// Returns a session with an answer.
fn talk(dir: &Path, name: &str, text: &str) -> PathBuf {
    let path = dir.join(name);
    let session = Session::create_at(&path, "/tea", Default::default()).unwrap();
    session.append(Message::user(text)).unwrap();
    session.append(Message::assistant("acme", "larch-2", "Take the **blue** one.")).unwrap();
    path
}

fn setup(dir: &Path) -> PickerSetup {
    let places = Places::from_env(|_| None).only([dir.join("sessions")]);
    let data = dir.join("data").into_os_string();
    let trash = Trash::from_env(|name| match name {
        "XDG_DATA_HOME" => Some(data.clone()),
        "HOME" => Some(dir.into()),
        _ => None,
    });
    let index = SessionIndex::new(places).with_cache(None);
    PickerSetup { now: later, ..PickerSetup::new(index, dir, trash.ok()) }
}

fn worker(dir: &Path) -> FileActionWorker {
    let PickerSetup { source, trash, export_dir, .. } = setup(dir);
    FileActionWorker { source, trash, export_dir, now: later }
}

#[test]
fn sessions_are_found_and_then_there_are_no_more() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("sessions")).unwrap();
    let paths =
        ["a", "b"].map(|name| talk(&dir.path().join("sessions"), &format!("{name}.jsonl"), name));
    let (events, inbox) = channel();
    sessions::read(setup(dir.path()).source, events);
    let mut found = Vec::new();
    for event in inbox {
        match event {
            PickerEvent::Found(sessions, _) => {
                found.extend(sessions.into_iter().map(|one| one.path))
            }
            other => assert_eq!(other, PickerEvent::Complete),
        }
    }
    found.sort();
    assert_eq!(found, paths);
}

#[test]
fn a_session_is_renamed_archived_unpacked_exported_and_deleted() {
    let dir = tempfile::tempdir().unwrap();
    let path = talk(dir.path(), "talk.jsonl", "Which pot?");
    let worker = worker(dir.path());
    let events = worker.perform(PickerEffect::Rename(path.clone(), "Pots".into())).unwrap();
    assert!(
        matches!(&events[0], PickerEvent::Found(all, None) if all[0].name.as_deref() == Some("Pots"))
    );

    let events = worker.perform(PickerEffect::Archive(path.clone())).unwrap();
    let packed = dir.path().join("talk.jsonl.zst");
    assert!(
        matches!(&events[0], PickerEvent::Moved(from, to) if *from == path && to.path == packed)
    );
    let why = worker.perform(PickerEffect::Rename(packed.clone(), "x".into())).unwrap_err();
    assert!(!why.is_empty() && !path.exists());
    let events = worker.perform(PickerEffect::Unarchive(packed.clone())).unwrap();
    assert!(
        matches!(&events[0], PickerEvent::Moved(from, to) if *from == packed && to.path == path)
    );

    for name in ["talk.html", "talk-2.html"] {
        let events = worker.perform(PickerEffect::Export(path.clone())).unwrap();
        assert!(
            matches!(&events[0], PickerEvent::Notice(text) if text.contains(name)),
            "{events:?}"
        );
        assert!(dir.path().join(name).exists());
    }

    std::fs::create_dir(dir.path().join("talk")).unwrap();
    let events = worker.perform(PickerEffect::Delete(path.clone())).unwrap();
    assert_eq!(events[0], PickerEvent::Gone(vec![path.clone()]));
    assert!(
        matches!(&events[1], PickerEvent::Notice(text) if text.contains("still in")),
        "{events:?}"
    );
    assert!(!path.exists());
    assert!(worker.perform(PickerEffect::Delete(path)).is_err());
}

#[test]
fn what_was_written_to_a_moment_ago_stays() {
    let dir = tempfile::tempdir().unwrap();
    let path = talk(dir.path(), "talk.jsonl", "hello");
    let worker = FileActionWorker { now: system_time, ..worker(dir.path()) };
    for action in [PickerEffect::Delete(path.clone()), PickerEffect::Archive(path.clone())] {
        let why = worker.perform(action).unwrap_err();
        assert!(why.starts_with("it was written to a moment ago"), "{why}");
    }
    assert!(path.exists());
}

#[test]
fn the_open_session_stays_whatever_it_is_called() {
    let dir = tempfile::tempdir().unwrap();
    let path = talk(dir.path(), "talk.jsonl", "hello");
    std::fs::create_dir(dir.path().join("sub")).unwrap();
    let other = dir.path().join("sub/../talk.jsonl");
    let setup = setup(dir.path());
    let (events, inbox) = channel();
    let mut controller = PickerController::new(&setup, Some(&path), &events);
    let state = PickerState::new(PickerOptions {
        project: setup.project.clone(),
        scope: Scope::All,
        home: None,
        open: Some(path.clone()),
        has_trash: true,
        now: 0,
        recent_queries: Vec::new(),
    });
    for effect in [PickerEffect::Delete(other.clone()), PickerEffect::Archive(other)] {
        assert_eq!(controller.perform(effect, &state), None);
        let event = inbox.recv_timeout(Duration::from_secs(60)).unwrap();
        assert!(matches!(event, PickerEvent::Failure(_)), "{event:?}");
    }
    assert!(path.exists());
}

#[test]
fn a_preview_shows_totals_and_the_last_messages() {
    let dir = tempfile::tempdir().unwrap();
    let source = setup(dir.path()).source;
    let path = talk(dir.path(), "talk.jsonl", "Which pot?\u{1b}[2J");
    let info = SessionIndex::info(&path).unwrap();
    let text =
        |page: crate::page::Page| page.lines.iter().map(StyledLine::text).collect::<Vec<_>>();
    let lines = text(preview::page(&source, &info, later()));
    assert!(lines[0].starts_with("2 messages · 2 entries · 1 branch · "), "{lines:?}");
    assert!(lines[1].starts_with("pi · acme/larch-2 · /tea"), "{lines:?}");
    let lines: Vec<&str> = lines.iter().skip_while(|line| !line.is_empty()).map(|l| &**l).collect();
    assert_eq!(lines[..4], ["", "user", "Which pot?\\x1b[2J", ""]);
    assert_eq!(lines[4], "assistant");
    std::fs::remove_file(&path).unwrap();
    let page = preview::page(&source, &info, 0);
    let last = page.lines.last().and_then(|line| line.spans.first());
    assert_eq!(last.map(|span| span.tone), Some(crate::theme::Tone::Failure));
}

#[test]
fn the_sessions_of_a_store_are_shown_followed_changed_and_deleted() {
    let dir = tempfile::tempdir().unwrap();
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let create = |text: &str| {
        let session = Session::create_in(&store, "/tea", Default::default()).unwrap();
        session.append(Message::user(text)).unwrap();
        PathBuf::from(session.id().as_str())
    };
    let first = create("the blue kettle");
    let mut setup = setup(dir.path());
    setup.show_store(Arc::clone(&store));
    let (events, inbox) = channel();
    sessions::read(setup.source.clone(), events.clone());
    let found = |event: PickerEvent| -> Vec<PathBuf> {
        match event {
            PickerEvent::Found(sessions, _) => sessions.into_iter().map(|one| one.path).collect(),
            other => panic!("{other:?}"),
        }
    };
    let next = || inbox.recv_timeout(Duration::from_secs(60)).unwrap();
    assert_eq!(found(next()), std::slice::from_ref(&first));
    assert_eq!(next(), PickerEvent::Complete);

    let mut changes = sessions::ChangeSource::new(&setup.source);
    let second = create("a pot");
    let (new, gone) = changes.poll(&setup.source);
    assert_eq!((new[0].path.clone(), gone), (second.clone(), vec![]));
    let page = preview::page(&setup.source, &new[0], later());
    assert!(page.lines.iter().any(|line| line.text().contains("a pot")), "{page:?}");

    let mut search = ContentSearch::new(setup.source.clone(), later, events);
    search.start("kettle", vec![]);
    let hit = (first.clone(), "the blue kettle".to_owned());
    assert_eq!(next(), PickerEvent::Hits("kettle".to_owned(), vec![hit]));

    let worker = FileActionWorker {
        source: setup.source.clone(),
        trash: None,
        export_dir: dir.path().to_owned(),
        now: later,
    };
    let events = worker.perform(PickerEffect::Rename(first.clone(), "Tea".to_owned())).unwrap();
    assert!(matches!(&events[0], PickerEvent::Found(found, _) if found[0].title() == "Tea"));
    assert!(worker.perform(PickerEffect::Archive(first.clone())).is_err());
    worker.perform(PickerEffect::Export(first.clone())).unwrap();
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1, "the page");
    let events = worker.perform(PickerEffect::Delete(first.clone())).unwrap();
    assert_eq!(events[0], PickerEvent::Gone(vec![first.clone()]));
    assert_eq!(changes.poll(&setup.source).1, [first]);
    assert_eq!(store.list(&Default::default()).unwrap().sessions.len(), 1);
}
