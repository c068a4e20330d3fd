//! Reads the sessions of the index, and follows their changes.

use crate::picker::PickerEvent;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};
use treering::catalog::SessionInfo;
use treering_index::{FileChange, SessionIndex, Watch};

/// The interval at which found sessions are sent to the screen.
const FRAME: Duration = Duration::from_millis(40);
/// The poll interval of session files.
const LOOK: Duration = Duration::from_secs(3);
/// The size above which a file is not read again while it grows.
const MAX_SIZE: u64 = 64 << 20;

/// Reads the index and sends the sessions: cached ones at once, the others as they are read.
pub(super) fn read(index: SessionIndex, events: Sender<PickerEvent>) {
    std::thread::spawn(move || {
        let mut found: Vec<SessionInfo> = Vec::new();
        let mut told = Instant::now();
        let contents = index.read(|step| {
            found.extend(step.session.cloned());
            if told.elapsed() >= FRAME {
                told = Instant::now();
                // A failure means that the screen is gone; the cache keeps the result.
                let _ = events
                    .send(PickerEvent::Found(std::mem::take(&mut found), Some(step.progress)));
            }
        });
        let _ = events.send(PickerEvent::Found(found, None));
        let _ = events.send(PickerEvent::Complete);
        let unreadable = contents.skipped.iter().find(|skipped| !skipped.is_no_session);
        if let Some(skipped) = unreadable {
            let text = format!("cannot read {}: {}", skipped.path.display(), skipped.reason);
            let _ = events.send(PickerEvent::Failure(text));
        }
    });
}

/// Sends the time and the changes of session files, until the returned sender is dropped.
pub(super) fn watch(
    index: &SessionIndex,
    now: fn() -> i64,
    events: Sender<PickerEvent>,
) -> Sender<()> {
    let (stop, stopped) = channel();
    let places = index.places().clone();
    std::thread::spawn(move || {
        let mut watch = Watch::new(places);
        while stopped.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
            if events.send(PickerEvent::Now(now())).is_err() {
                return;
            }
            let (mut found, mut gone) = (Vec::new(), Vec::new());
            for event in watch.look() {
                match event.change {
                    FileChange::Gone => gone.push(event.path),
                    FileChange::Grown { to, .. } if to > MAX_SIZE => {}
                    _ => found.extend(SessionIndex::info(&event.path)),
                }
            }
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
