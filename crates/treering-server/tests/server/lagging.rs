//! Tests of the events of a store whose journals, like those of a database, show only the lines
//! that existed when their length was last requested.

use crate::events::Follower;
use crate::harness::{Node, TIMEOUT};
use std::io::{self, Read};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use treering::storage::{Appended, End, Journal, JournalError};
use treering::store::{Changes, ListQuery, Mark, MemoryStore, Page, Store};
use treering::{Message, OpenOptions, Result, Session, SessionId};

#[derive(Debug, Default)]
struct Lagging {
    inner: Arc<MemoryStore>,
    /// The number of polls.
    polls: Arc<(Mutex<u64>, Condvar)>,
    /// At which question for a length another program appends.
    append_at: Option<u64>,
}

impl Lagging {
    fn journal(&self, id: &SessionId, inner: Arc<dyn Journal>) -> Arc<dyn Journal> {
        Arc::new(LaggingJournal {
            id: id.clone(),
            store: Arc::clone(&self.inner),
            inner,
            seen: AtomicU64::new(0),
            questions: AtomicU64::new(0),
            polls: Arc::clone(&self.polls),
            append_at: self.append_at,
        })
    }
}

impl Store for Lagging {
    fn location(&self) -> String {
        self.inner.location()
    }

    fn create(&self, id: &SessionId, start: &mut dyn Read) -> Result<Arc<dyn Journal>> {
        Ok(self.journal(id, self.inner.create(id, start)?))
    }

    fn open(&self, id: &SessionId) -> Result<Arc<dyn Journal>> {
        Ok(self.journal(id, self.inner.open(id)?))
    }

    fn list(&self, query: &ListQuery) -> Result<Page> {
        self.inner.list(query)
    }

    fn remove(&self, id: &SessionId) -> Result<()> {
        self.inner.remove(id)
    }

    fn changes(&self, mark: Option<&Mark>) -> Result<Changes> {
        let changes = self.inner.changes(mark)?;
        *self.polls.0.lock().unwrap() += 1;
        self.polls.1.notify_all();
        Ok(changes)
    }
}

#[derive(Debug)]
struct LaggingJournal {
    id: SessionId,
    store: Arc<MemoryStore>,
    inner: Arc<dyn Journal>,
    /// The length when it was asked for last.
    seen: AtomicU64,
    questions: AtomicU64,
    polls: Arc<(Mutex<u64>, Condvar)>,
    append_at: Option<u64>,
}

impl LaggingJournal {
    /// Another program appends, and the change is polled and handled, before the length is returned.
    fn append_elsewhere(&self) {
        let store: Arc<dyn Store> = self.store.clone();
        let other = Session::open_in(&store, &self.id, OpenOptions::new()).unwrap();
        let before = *self.polls.0.lock().unwrap();
        other.append(Message::user("elsewhere")).unwrap();
        // Before the second poll after this one begins, the changes of the first were handled.
        let polls = self.polls.0.lock().unwrap();
        let waited = self.polls.1.wait_timeout_while(polls, TIMEOUT, |polls| *polls < before + 3);
        assert!(!waited.unwrap().1.timed_out(), "polls go on");
    }
}

impl Journal for LaggingJournal {
    fn len(&self) -> io::Result<u64> {
        let length = self.inner.len()?;
        self.seen.store(length, Ordering::SeqCst);
        if Some(self.questions.fetch_add(1, Ordering::SeqCst) + 1) == self.append_at {
            self.append_elsewhere();
        }
        Ok(length)
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.seen.load(Ordering::SeqCst).saturating_sub(offset);
        let wanted = buffer.len().min(usize::try_from(left).unwrap());
        self.inner.read_at(offset, &mut buffer[..wanted])
    }

    fn append(&self, end: &End, lines: &[u8]) -> std::result::Result<Appended, JournalError> {
        self.inner.append(end, lines)
    }

    fn sync(&self) -> io::Result<()> {
        self.inner.sync()
    }

    fn truncate_if(&self, expected: u64, length: u64) -> io::Result<bool> {
        self.inner.truncate_if(expected, length)
    }
}

#[tokio::test]
async fn what_is_appended_is_looked_for() {
    let node = Node::on(Arc::new(Lagging::default())).await;
    let session = node.session("chat").await;
    let mut follower = Follower::new(&node, &format!("{session}/events"), None).await;
    for text in ["one", "two", "three"] {
        let id = node.say(&session, text).await;
        assert_eq!(follower.next().await.unwrap().data["id"], id.as_str());
    }
}

/// The first follower of a session reads the end of its log while another program appends, and while the
/// change is polled.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_while_a_follower_begins_is_an_event() {
    for append_at in [1, 2] {
        let inner = Arc::new(MemoryStore::new());
        let id = SessionId::new("chat").unwrap();
        let header = br#"{"type":"session","version":3,"id":"chat","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/"}"#;
        inner.create(&id, &mut [header.as_slice(), b"\n"].concat().as_slice()).unwrap();
        let store = Lagging { inner, append_at: Some(append_at), ..Lagging::default() };
        let node = Node::on(Arc::new(store)).await;
        let mut follower = Follower::new(&node, "/v1/sessions/chat/events", None).await;
        let event = follower.next().await.unwrap();
        assert_eq!(
            event.data["message"]["content"][0]["text"], "elsewhere",
            "at question {append_at}"
        );
    }
}
