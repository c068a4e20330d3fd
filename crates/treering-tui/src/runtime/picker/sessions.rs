//! Sessions as they are found, and what happens to them afterwards.

use crate::picker::PickerEvent;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};
use treering::catalog::SessionInfo;
use treering_index::{FileChange, SessionIndex, Watch};

/// So often what was found is told: as often as an eye can follow.
const FRAME: Duration = Duration::from_millis(40);
/// So often files are looked at for what others wrote.
const LOOK: Duration = Duration::from_secs(3);
/// The size above which a file is not read again while it grows.
const MAX_SIZE: u64 = 64 << 20;

/// Reads an index and tells what is found: all that is known already at once, the rest as it is read.
pub(super) fn read(index: SessionIndex, events: Sender<PickerEvent>) {
    std::thread::spawn(move || {
        let mut found: Vec<SessionInfo> = Vec::new();
        let mut told = Instant::now();
        let contents = index.read(|step| {
            found.extend(step.session.cloned());
            if told.elapsed() >= FRAME {
                told = Instant::now();
                // If this fails the screen is gone; the cache keeps what was read.
                let _ = events
                    .send(PickerEvent::Found(std::mem::take(&mut found), Some(step.progress)));
            }
        });
        let _ = events.send(PickerEvent::Found(found, None));
        let _ = events.send(PickerEvent::Complete);
        let unreadable = contents.skipped.iter().find(|skipped| !skipped.is_no_session);
        if let Some(skipped) = unreadable {
            let text = format!("cannot be read: {}: {}", skipped.path.display(), skipped.reason);
            let _ = events.send(PickerEvent::Failure(text));
        }
    });
}

/// Tells what time it is and what happens to session files, until what is returned is dropped.
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
