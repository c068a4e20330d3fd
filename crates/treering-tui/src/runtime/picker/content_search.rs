//! Searches the contents of sessions while a query is typed. A search ends when the next one begins.

use super::PickerSource;
use crate::picker::PickerEvent;
use crate::runtime::background::background;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};
use treering_search::{Case, Found, Options, Query, search, search_store};

/// The time for which hits are collected before they are sent to the screen, except for the first.
const COLLECT: Duration = Duration::from_millis(50);

/// The width of a snippet in columns: more than a row has room for.
const SNIPPET: usize = 100;

/// The running search, if any.
#[derive(Debug)]
pub(super) struct ContentSearch {
    source: PickerSource,
    now: fn() -> i64,
    events: Sender<PickerEvent>,
    cancel: Arc<AtomicBool>,
}

impl ContentSearch {
    pub(super) fn new(source: PickerSource, now: fn() -> i64, events: Sender<PickerEvent>) -> Self {
        ContentSearch { source, now, events, cancel: Arc::default() }
    }

    /// Ends the running search, and starts one unless the query is empty.
    pub(super) fn start(&mut self, query: &str, files: Vec<PathBuf>) {
        self.cancel.store(true, Ordering::Relaxed);
        let Ok(parsed) = Query::parse(query, Case::Ignored) else { return };
        let cancel = Arc::new(AtomicBool::new(false));
        self.cancel = Arc::clone(&cancel);
        let (query, events, now) = (query.to_owned(), self.events.clone(), (self.now)());
        let source = self.source.clone();
        background(move || run(&query, &parsed, &source, files, now, &cancel, &events));
    }
}

impl Drop for ContentSearch {
    fn drop(&mut self) {
        self.cancel.store(true, Ordering::Relaxed);
    }
}

fn run(
    text: &str,
    query: &Query,
    source: &PickerSource,
    files: Vec<PathBuf>,
    now: i64,
    cancel: &AtomicBool,
    events: &Sender<PickerEvent>,
) {
    let mut options = Options::new();
    (options.hits_per_session, options.counts_all) = (1, false);
    (options.snippet_width, options.now) = (SNIPPET, now);
    let (mut hits, mut reported) = (Vec::new(), None);
    let tell = |hits: &mut Vec<(PathBuf, String)>| {
        let hits = std::mem::take(hits);
        events.send(PickerEvent::Hits(text.to_owned(), hits)).is_ok()
    };
    let each = |found| {
        if let Found::Session(session) = found {
            let snippet = session.hits.into_iter().next().map(|hit| hit.snippet.text);
            let path = match source {
                PickerSource::Machine(_) => session.info.path,
                PickerSource::Store(_) => PathBuf::from(session.info.id.as_str()),
            };
            hits.push((path, snippet.unwrap_or_default()));
        }
        let is_due = reported.is_none_or(|reported: Instant| reported.elapsed() >= COLLECT);
        if is_due && !hits.is_empty() {
            reported = Some(Instant::now());
            if !tell(&mut hits) {
                return ControlFlow::Break(());
            }
        }
        ControlFlow::Continue(())
    };
    match source {
        PickerSource::Machine(_) => {
            search(files, query, &options, cancel, each);
        }
        PickerSource::Store(store) => {
            if let Err(error) = search_store(store, query, &options, cancel, each) {
                let _ = events.send(PickerEvent::Failure(error.to_string()));
            }
        }
    }
    if !cancel.load(Ordering::Relaxed) && (hits.is_empty() || tell(&mut hits)) {
        // A failure means that the screen is gone.
        let _ = events.send(PickerEvent::Searched(text.to_owned()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;
    use treering::{Message, Session};
    use treering_index::{Places, SessionIndex};

    #[test]
    fn contents_are_found_with_the_line_that_matches() {
        let dir = tempfile::tempdir().unwrap();
        let file = |name: &str, answer: &str| {
            let path = dir.path().join(name);
            let session = Session::create_at(&path, "/p", Default::default()).unwrap();
            session.append(Message::user("hello")).unwrap();
            session.append(Message::assistant("acme", "m", answer)).unwrap();
            path
        };
        let files = vec![file("a.jsonl", "the blue kettle"), file("b.jsonl", "a pot")];
        let (events, inbox) = channel();
        let source = PickerSource::Machine(SessionIndex::new(Places::from_env(|_| None)));
        let mut search = ContentSearch::new(source, || 0, events);
        search.start("kettle OR teapot", files.clone());
        let reported: Vec<PickerEvent> = inbox.iter().take(2).collect();
        let query = "kettle OR teapot".to_owned();
        let hit = (files[0].clone(), "the blue kettle".to_owned());
        assert_eq!(
            reported,
            [PickerEvent::Hits(query.clone(), vec![hit]), PickerEvent::Searched(query)]
        );
        // A query that makes no sense, and an empty one, start nothing.
        search.start("", files.clone());
        search.start("re:(", files);
        drop(search);
        assert_eq!(inbox.iter().count(), 0);
    }
}
