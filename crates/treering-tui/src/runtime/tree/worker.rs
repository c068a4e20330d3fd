//! What is done beside the screen: reading gists, searching contents, making pages, noticing what
//! others write. Each job is a thread that sends events and ends when nobody wants them any more.

use crate::page::Page;
use crate::tree::{Event, Outline, Shown, Words, read_all};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;
use treering::{Session, strings};

/// How often a session is looked at for what others wrote.
const LOOK: Duration = Duration::from_millis(500);

/// Sends what happens beside the screen.
#[derive(Debug, Clone)]
pub(super) struct Worker {
    pub session: Arc<Session>,
    pub events: Sender<Event>,
    /// The number of the search in force: older ones end.
    pub search: Arc<AtomicU64>,
    /// The generation of the tree in force: reading an older one ends.
    pub generation: Arc<AtomicU64>,
}

impl Worker {
    pub(super) fn new(session: Arc<Session>, events: Sender<Event>) -> Self {
        Worker { session, events, search: Arc::default(), generation: Arc::default() }
    }

    /// Tells the screen something; nobody is there any more if that fails.
    pub(super) fn tell(&self, event: Event) {
        let _ = self.events.send(event);
    }

    pub(super) fn read(&self, generation: u64, outline: Arc<Outline>) {
        self.generation.store(generation, Ordering::Relaxed);
        let worker = self.clone();
        std::thread::spawn(move || {
            read_all(&worker.session, &outline, |gists| {
                let is_wanted = worker.generation.load(Ordering::Relaxed) == generation;
                let sent = worker.events.send(Event::Gists(generation, gists)).is_ok();
                if is_wanted && sent { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            });
        });
    }

    pub(super) fn search(&self, generation: u64, outline: Arc<Outline>, query: String) {
        let number = self.search.fetch_add(1, Ordering::Relaxed) + 1;
        let words = Words::new(&query);
        if words.is_empty() {
            return;
        }
        let worker = self.clone();
        std::thread::spawn(move || worker.find(number, generation, &outline, &query, &words));
    }

    fn find(&self, number: u64, generation: u64, outline: &Outline, query: &str, words: &Words) {
        let mut reader = self.session.reader();
        let mut found = Vec::new();
        for node in 0..outline.len() as u32 {
            if self.search.load(Ordering::Relaxed) != number {
                return;
            }
            let Ok(entry) = reader.entry(outline.id(node)) else { continue };
            let mut text = outline.label(node).unwrap_or_default().to_lowercase();
            for string in strings(entry.raw()) {
                text.push('\n');
                text.push_str(&string.to_lowercase());
            }
            if words.match_any_of(&[&text]) {
                found.push(node);
            }
            if found.len() >= 1024 && !self.tell_found(generation, query, &mut found) {
                return;
            }
        }
        self.tell_found(generation, query, &mut found);
    }

    fn tell_found(&self, generation: u64, query: &str, found: &mut Vec<u32>) -> bool {
        let found = std::mem::take(found);
        self.events.send(Event::Found(generation, query.to_owned(), found)).is_ok()
    }

    pub(super) fn page(&self, id: String, shown: Shown) {
        let worker = self.clone();
        std::thread::spawn(move || {
            let page = match shown {
                Shown::Nothing => return,
                Shown::Entry => worker.session.entry(&id).map(|entry| Page::of_entry(&entry)),
                Shown::Context => {
                    worker.session.context_at(Some(&id)).map(|context| Page::of_context(&context))
                }
            };
            let page = page.unwrap_or_else(|error| Page::of_failure(&error.to_string()));
            // Nobody waits for it any more if this fails.
            let _ = worker.events.send(Event::Page(id, shown, page));
        });
    }

    /// Follows what other processes append, until what is returned is dropped.
    pub(super) fn follow(&self) -> Sender<()> {
        let (stop, stopped) = channel();
        let worker = self.clone();
        std::thread::spawn(move || {
            while stopped.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
                match worker.session.refresh() {
                    Ok(new) if new.is_empty() => {}
                    Ok(_) => worker.tell(Event::Tree(Outline::of(&worker.session))),
                    Err(error) => {
                        worker.tell(Event::Notice(error.to_string()));
                        return;
                    }
                }
            }
        });
        stop
    }
}
