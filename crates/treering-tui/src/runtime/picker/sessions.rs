//! Reads the sessions of the index, and follows their changes.

use super::source::{PickerSource, keyed};
use crate::picker::PickerEvent;
use crate::runtime::background::background;
use std::path::PathBuf;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};
use treering::catalog::SessionInfo;
use treering::store::{ListQuery, Mark, Store};
use treering_index::{FileChange, SessionIndex, Watch};

/// The interval at which found sessions are sent to the screen.
const FRAME: Duration = Duration::from_millis(40);
/// The poll interval of session files.
const POLL_INTERVAL: Duration = Duration::from_secs(3);
/// The size above which a file is not read again while it grows.
const MAX_SIZE: u64 = 64 << 20;

/// Reads the sessions of a source and sends them: those that are known at once, the others as they are read.
pub(super) fn read(source: PickerSource, events: Sender<PickerEvent>) {
    background(move || match source {
        PickerSource::Machine(index) => read_index(&index, &events),
        PickerSource::Store(store) => {
            if let Err(error) = read_store(&*store, &events) {
                let text = format!("cannot read {}: {error}", store.location());
                let _ = events.send(PickerEvent::Failure(text));
            }
            let _ = events.send(PickerEvent::Complete);
        }
    });
}

/// Sends the sessions of a store, page by page.
fn read_store(store: &dyn Store, events: &Sender<PickerEvent>) -> treering::Result<()> {
    let mut query = ListQuery::new();
    loop {
        let page = store.list(&query)?;
        let found = page.sessions.into_iter().map(keyed).collect();
        // A failure means that the screen is gone.
        let (is_shown, next) = (events.send(PickerEvent::Found(found, None)).is_ok(), page.next);
        match next {
            Some(next) if is_shown => query = query.after(next),
            _ => return Ok(()),
        }
    }
}

fn read_index(index: &SessionIndex, events: &Sender<PickerEvent>) {
    let mut found: Vec<SessionInfo> = Vec::new();
    let mut reported = Instant::now();
    let contents = index.read(|step| {
        found.extend(step.session.cloned());
        if reported.elapsed() >= FRAME {
            reported = Instant::now();
            // A failure means that the screen is gone; the cache keeps the result.
            let _ =
                events.send(PickerEvent::Found(std::mem::take(&mut found), Some(step.progress)));
        }
    });
    let _ = events.send(PickerEvent::Found(found, None));
    let _ = events.send(PickerEvent::Complete);
    let unreadable = contents.skipped.iter().find(|skipped| !skipped.is_no_session);
    if let Some(skipped) = unreadable {
        let text = format!("cannot read {}: {}", skipped.path.display(), skipped.reason);
        let _ = events.send(PickerEvent::Failure(text));
    }
}

/// Sends the time and the changes of sessions, until the returned sender is dropped.
pub(super) fn watch(
    source: &PickerSource,
    now: fn() -> i64,
    events: Sender<PickerEvent>,
) -> Sender<()> {
    let (stop, stopped) = channel();
    let source = source.clone();
    background(move || {
        let mut changes = ChangeSource::new(&source);
        while stopped.recv_timeout(POLL_INTERVAL) == Err(RecvTimeoutError::Timeout) {
            if events.send(PickerEvent::Now(now())).is_err() {
                return;
            }
            let (found, gone) = changes.poll(&source);
            if !gone.is_empty() {
                let _ = events.send(PickerEvent::Gone(gone));
            }
            if !found.is_empty() {
                let _ = events.send(PickerEvent::Found(found, None));
            }
        }
    });
    stop
}

/// The source of changes.
#[derive(Debug)]
pub(super) enum ChangeSource {
    Files(Box<Watch>),
    Store(Option<Mark>),
}

impl ChangeSource {
    pub(super) fn new(source: &PickerSource) -> Self {
        match source {
            PickerSource::Machine(index) => {
                ChangeSource::Files(Box::new(Watch::new(index.places().clone())))
            }
            PickerSource::Store(store) => {
                ChangeSource::Store(store.changes(None).ok().map(|changes| changes.mark))
            }
        }
    }

    /// Returns the sessions that are new or grew, and those that are gone. A store that does not answer is asked
    /// again the next time.
    pub(super) fn poll(&mut self, source: &PickerSource) -> (Vec<SessionInfo>, Vec<PathBuf>) {
        let (mut found, mut gone) = (Vec::new(), Vec::new());
        match (self, source) {
            (ChangeSource::Files(watch), _) => {
                for event in watch.poll() {
                    match event.change {
                        FileChange::Gone => gone.push(event.path),
                        FileChange::Grown { to, .. } if to > MAX_SIZE => {}
                        _ => found.extend(SessionIndex::info(&event.path)),
                    }
                }
            }
            (ChangeSource::Store(mark), PickerSource::Store(store)) if store.has_news() => {
                let Ok(changes) = store.changes(mark.as_ref()) else { return (found, gone) };
                *mark = Some(changes.mark);
                for session in changes.sessions {
                    let path = PathBuf::from(session.id.as_str());
                    match session.length {
                        None => gone.push(path),
                        Some(length) if length > MAX_SIZE => {}
                        Some(_) => found.extend(source.info(&path)),
                    }
                }
            }
            (ChangeSource::Store(_), _) => {}
        }
        (found, gone)
    }
}
