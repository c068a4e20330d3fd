//! Background work: reads preview lines, searches contents, makes pages, follows other writers.
//! Each job is a thread that sends events and ends when the receiver is gone.

use crate::page::Page;
use crate::runtime::background::background;
use crate::runtime::open_session::LeafHistory;
use crate::time_zone::DisplayZone;
use crate::tree::{
    Overlay, PreviewContent, SearchText, SearchWords, TreeEvent, TreeState, read_all, read_some,
};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;
use treering::entry::strings;
use treering::findings::{Finding, Severity};
use treering::{Error, Session};
use treering_display::tree::Outline;

/// The interval at which a session is polled for entries of other writers.
const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// The largest number of matching entries whose lines are kept.
const MAX_SNIPPETS: usize = 10_000;

/// The pause in typing after which a search begins.
const PAUSE: Duration = Duration::from_millis(120);
/// The number of preview lines up to which they are read one by one.
const MAX_READ_SINGLY: usize = 2048;

/// Sends events to the screen from background threads.
#[derive(Debug, Clone)]
pub(super) struct TreeWorker {
    pub session: Arc<Session>,
    pub events: Sender<TreeEvent>,
    /// The number of the current search; older ones end.
    pub search: Arc<AtomicU64>,
    /// The generation of the current tree; reading an older one ends.
    pub generation: Arc<AtomicU64>,
    zone: DisplayZone,
}

impl TreeWorker {
    pub(super) fn new(session: Arc<Session>, events: Sender<TreeEvent>, zone: DisplayZone) -> Self {
        TreeWorker { session, events, search: Arc::default(), generation: Arc::default(), zone }
    }

    /// Checks the file for damage in the background, and names the command that shows the details.
    pub(super) fn look_for_damage(&self) {
        let worker = self.clone();
        background(move || {
            let findings = worker.session.findings().unwrap_or_default();
            let is_bad = |finding: &&Finding| finding.severity() == Severity::Error;
            let count = findings.iter().filter(is_bad).count();
            if let (1.., Some(file)) = (count, worker.session.path()) {
                worker.tell(TreeEvent::Notice(damage(count, &file)));
            }
        });
    }

    /// Sends an event to the screen. A failure means that the screen is gone.
    pub(super) fn tell(&self, event: TreeEvent) {
        let _ = self.events.send(event);
    }

    /// Reads the missing preview lines in the background.
    pub(super) fn read(&self, state: &TreeState) {
        let generation = state.generation();
        self.generation.store(generation, Ordering::Relaxed);
        let (unknown, outline) = (state.unknown(), Arc::clone(state.outline()));
        let worker = self.clone();
        background(move || {
            if unknown.len() <= MAX_READ_SINGLY {
                let preview_lines = read_some(&worker.session, &outline, &unknown);
                worker.tell(TreeEvent::PreviewLines(generation, preview_lines));
                return;
            }
            read_all(&worker.session, &outline, |preview_lines| {
                let is_wanted = worker.generation.load(Ordering::Relaxed) == generation;
                let sent =
                    worker.events.send(TreeEvent::PreviewLines(generation, preview_lines)).is_ok();
                if is_wanted && sent { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            });
        });
    }

    /// Searches the contents of all entries, after a pause in typing.
    pub(super) fn search(&self, generation: u64, outline: Arc<Outline>, query: String) {
        let number = self.search.fetch_add(1, Ordering::Relaxed) + 1;
        let words = SearchWords::new(&query);
        if words.is_empty() {
            return;
        }
        let worker = self.clone();
        background(move || {
            std::thread::sleep(PAUSE);
            worker.find(number, generation, &outline, &query, &words);
        });
    }

    /// Makes an overlay; `None` if there is nothing to compact.
    pub(super) fn overlay<S: Into<Option<Overlay>>>(
        &self,
        make: impl FnOnce(&Session) -> Result<S, Error> + Send + 'static,
    ) {
        let worker = self.clone();
        background(move || {
            worker.tell(match make(&worker.session).map(Into::into) {
                Ok(Some(overlay)) => TreeEvent::Overlay(Box::new(overlay)),
                Ok(None) => {
                    TreeEvent::Done("nothing to compact: the context is too small".to_owned())
                }
                Err(error) => TreeEvent::Failed(error.to_string()),
            });
        });
    }

    fn find(
        &self,
        number: u64,
        generation: u64,
        outline: &Outline,
        query: &str,
        words: &SearchWords,
    ) {
        let mut reader = self.session.reader();
        let (mut found, mut count) = (Vec::new(), 0);
        for node in 0..outline.len() as u32 {
            if self.search.load(Ordering::Relaxed) != number {
                return;
            }
            let Ok(entry) = reader.entry(outline.id(node)) else { continue };
            let mut text = outline.label(node).unwrap_or_default().to_owned();
            for string in strings(entry.raw()) {
                text.push('\n');
                text.push_str(&string);
            }
            let small = text.to_ascii_lowercase();
            if words.match_any_of(&[SearchText::new(&small)]) {
                count += 1;
                // A search for a letter finds nearly everything.
                let is_shown = count <= MAX_SNIPPETS;
                let snippet = if is_shown { words.snippet(&text, &small) } else { String::new() };
                found.push((node, snippet));
            }
            if found.len() >= 1024 && !self.send_found(generation, query, &mut found) {
                return;
            }
        }
        self.send_found(generation, query, &mut found);
    }

    fn send_found(&self, generation: u64, query: &str, found: &mut Vec<(u32, String)>) -> bool {
        let found = std::mem::take(found);
        self.events.send(TreeEvent::Found(generation, query.to_owned(), found)).is_ok()
    }

    pub(super) fn page(&self, id: String, shown: PreviewContent) {
        let worker = self.clone();
        background(move || {
            let page = match shown {
                PreviewContent::Nothing => return,
                PreviewContent::Entry => {
                    let entry = worker.session.entry(&id);
                    entry.map(|entry| Page::of_entry_in(&worker.session, &entry, &worker.zone))
                }
                PreviewContent::Context => Page::of_context_at(&worker.session, &id),
            };
            let page = page.unwrap_or_else(|error| Page::of_failure(&error.to_string()));
            // A failure means that the screen is gone.
            let _ = worker.events.send(TreeEvent::Page(id, shown, page));
        });
    }

    /// Follows entries of other processes, until the returned sender is dropped. The leaf follows
    /// too, unless the user has moved it.
    pub(super) fn follow(&self, leaf_history: LeafHistory) -> Sender<()> {
        let (stop, stopped) = channel();
        let worker = self.clone();
        background(move || {
            let mut count = worker.session.tree().len();
            while stopped.recv_timeout(POLL_INTERVAL) == Err(RecvTimeoutError::Timeout) {
                match worker.changes(&leaf_history, &mut count) {
                    Ok(changes) => changes.into_iter().for_each(|event| worker.tell(event)),
                    // The shown content is no longer valid, so the file is read again.
                    Err(error) => {
                        worker.tell(TreeEvent::FileLost(error.to_string()));
                        return;
                    }
                }
            }
        });
        stop
    }

    /// Reads changes of other processes. `count` is the number of entries before and after.
    fn changes(
        &self,
        leaf_history: &LeafHistory,
        count: &mut usize,
    ) -> Result<Vec<TreeEvent>, Error> {
        if !self.session.has_news() {
            return Ok(Vec::new());
        }
        let new = self.session.refresh()?;
        let before = std::mem::replace(count, self.session.tree().len());
        let gone = before.saturating_sub(*count);
        if new.is_empty() && gone == 0 {
            return Ok(Vec::new());
        }
        if !leaf_history.is_own() {
            self.session.follow()?;
        }
        let mut events = vec![TreeEvent::Tree(Outline::of(&self.session))];
        events.extend((gone > 0).then(|| TreeEvent::Notice(shrunk(gone))));
        Ok(events)
    }
}

/// Returns the notice about a file with problems.
fn damage(count: usize, file: &Path) -> String {
    let findings = treering_display::number::count(count, "finding", "findings");
    format!("{findings} in this file; for details: treering doctor {}", file.display())
}

/// Returns the notice about a file that has lost entries.
fn shrunk(count: usize) -> String {
    let entries = if count == 1 { "1 entry is" } else { &format!("{count} entries are") };
    format!("the file was cut off or replaced: {entries} gone")
}

#[cfg(test)]
mod tests {
    use super::*;
    use treering::Message;

    #[test]
    fn entries_that_are_gone_from_the_file_are_gone_from_the_tree() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("a.jsonl");
        let writer = Session::create_at(&file, "/p", Default::default()).unwrap();
        writer.append(Message::user("one")).unwrap();
        writer.append(Message::assistant("acme", "m", "two")).unwrap();
        let kept = file.metadata().unwrap().len();
        writer.append(Message::user("three")).unwrap();
        drop(writer);

        let session = Arc::new(Session::open(&file).unwrap());
        let (events, _inbox) = channel();
        let worker = TreeWorker::new(Arc::clone(&session), events, DisplayZone::default());
        let (leaf_history, mut count) = (LeafHistory::default(), session.tree().len());
        assert_eq!(worker.changes(&leaf_history, &mut count).unwrap(), []);
        std::fs::OpenOptions::new().write(true).open(&file).unwrap().set_len(kept).unwrap();
        let events = worker.changes(&leaf_history, &mut count).unwrap();
        let [TreeEvent::Tree(outline), TreeEvent::Notice(notice)] = events.as_slice() else {
            panic!("{events:?}");
        };
        assert_eq!((outline.len(), outline.leaf()), (2, Some(1)));
        assert_eq!(notice, "the file was cut off or replaced: 1 entry is gone");
    }
}
