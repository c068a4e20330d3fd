//! Logs that are parsed while they arrive give the same contexts, whatever happens in the middle of a stream.

use crate::{connect, create, id, store};
use std::io;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use treering::storage::{Appended, Checkpoint, End, Journal, JournalError};
use treering::store::Store;
use treering::{Context, Message, NewEntry, OpenOptions, Session};
use treering_postgres::{PostgresOptions, PostgresStore};
use treering_testkit::postgres::Server;

/// Far more than any deadline of these tests: a call that takes longer hangs.
const HANGS: Duration = Duration::from_secs(60);

/// Creates a session of `count` entries of 1 KB, the last of which an append of its own, and returns its context.
fn session(store: &PostgresStore, name: &str, count: usize) -> Context {
    let mut log = format!(
        "{{\"type\":\"session\",\"version\":3,\"id\":\"{name}\",\"timestamp\":\"2026-01-05T09:00:00.000Z\",\"cwd\":\"/\"}}\n"
    );
    let text = "word ".repeat(200);
    for number in 0..count {
        let parent = match number {
            0 => "null".to_owned(),
            _ => format!("\"e{:07}\"", number - 1),
        };
        log.push_str(&format!(
            "{{\"type\":\"message\",\"id\":\"e{number:07}\",\"parentId\":{parent},\"timestamp\":\"2026-01-05T09:00:01.000Z\",\"message\":{{\"role\":\"user\",\"content\":\"{text}\"}}}}\n"
        ));
    }
    create(store, name, log.as_bytes());
    open(store, name).append(Message::user("the last one")).expect("append");
    open(store, name).context().expect("context")
}

fn open(store: &PostgresStore, name: &str) -> Session {
    let store: Arc<dyn Store> = Arc::new(store.clone());
    Session::open_in(&store, &id(name), OpenOptions::new()).expect("open")
}

/// An action on the store while a stream is open.
type Event = Box<dyn FnOnce() + Send>;

/// A journal to which something happens before a stream, and after its first piece.
struct Disturbed {
    journal: Arc<dyn Journal>,
    before: Mutex<Option<Event>>,
    within: Mutex<Option<Event>>,
    /// Whether each stream was read to its end.
    streams: Mutex<Vec<bool>>,
}

impl std::fmt::Debug for Disturbed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.journal.fmt(f)
    }
}

impl Disturbed {
    fn new(store: &PostgresStore, name: &str) -> Self {
        let journal = store.open(&id(name)).expect("open");
        Disturbed {
            journal,
            before: Mutex::default(),
            within: Mutex::default(),
            streams: Mutex::default(),
        }
    }

    fn before(self, event: impl FnOnce() + Send + 'static) -> Self {
        Disturbed { before: Mutex::new(Some(Box::new(event))), ..self }
    }

    fn within(self, event: impl FnOnce() + Send + 'static) -> Self {
        Disturbed { within: Mutex::new(Some(Box::new(event))), ..self }
    }

    /// Returns the context, and whether the only stream was read to its end.
    fn context(self) -> (Context, bool) {
        let (journal, started) = (Arc::new(self), Instant::now());
        let context = treering::active_context_of(Arc::clone(&journal) as _).expect("context");
        assert!(started.elapsed() < HANGS);
        let streams = journal.streams.lock().expect("a lock");
        assert_eq!(streams.len(), 1);
        (context, streams[0])
    }
}

fn happen(event: &Mutex<Option<Event>>) {
    if let Some(event) = event.lock().expect("a lock").take() {
        event();
    }
}

impl Journal for Disturbed {
    fn len(&self) -> io::Result<u64> {
        self.journal.len()
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.journal.read_at(offset, buffer)
    }

    fn stream(&self, range: std::ops::Range<u64>, each: &mut dyn FnMut(&[u8])) -> io::Result<()> {
        happen(&self.before);
        let result = self.journal.stream(range, &mut |piece| {
            happen(&self.within);
            each(piece);
        });
        self.streams.lock().expect("a lock").push(result.is_ok());
        result
    }

    fn append(&self, end: &End, lines: &[u8]) -> Result<Appended, JournalError> {
        self.journal.append(end, lines)
    }

    fn keeps_checkpoints(&self) -> bool {
        self.journal.keeps_checkpoints()
    }

    fn checkpoint(&self, length: u64) -> Option<Checkpoint> {
        self.journal.checkpoint(length)
    }

    fn sync(&self) -> io::Result<()> {
        self.journal.sync()
    }

    fn truncate_if(&self, expected: u64, length: u64) -> io::Result<bool> {
        self.journal.truncate_if(expected, length)
    }
}

#[test]
fn a_context_without_a_compaction_takes_two_round_trips() {
    let Some(ours) = store("streamed") else { return };
    let expected = session(&ours, "whole", 2_000);
    let options = PostgresOptions::new().space("streamed").connections(1);
    let url = crate::server().expect("a server").url("shared");
    let reader = connect(&url, &options);
    let context = |name: &str| {
        let journal = reader.open(&id(name)).expect("open");
        let before = reader.statistics().round_trips;
        let context = treering::active_context_of(journal).expect("context");
        (context, reader.statistics().round_trips - before)
    };
    context("whole"); // Prepares the statements.
    let (found, trips) = context("whole");
    assert_eq!(found, expected);
    assert_eq!(trips, 2, "the length, and everything");

    // A compaction makes the end enough, from the append that brings it on.
    let writer = open(&ours, "whole");
    writer.append(NewEntry::model_change("acme", "oak")).expect("append");
    writer.append(NewEntry::compaction("so far", Some(&"e0001990".into()), 9)).expect("compact");
    context("whole"); // Prepares the statement that reads parts.
    for more in 0..2 {
        let (found, trips) = context("whole");
        assert_eq!(found, open(&ours, "whole").context().expect("context"));
        assert_eq!((found.messages.len(), trips), (12 + more, 3));
        writer.append(Message::user("more")).expect("append");
    }
}

#[test]
fn pieces_follow_on_each_other() {
    let Some(ours) = store("pieces") else { return };
    let journal = create(&ours, "pieces", b"0123456789\n");
    let mut end = 11;
    for line in ["abc\n", "d\n", "efghi\n"] {
        journal.append(&End::from(end), line.as_bytes()).expect("append");
        end += line.len() as u64;
    }
    let log = b"0123456789\nabc\nd\nefghi\n";
    for from in 0..log.len() {
        for to in from..=log.len() {
            let mut streamed = Vec::new();
            let mut each = |piece: &[u8]| streamed.extend_from_slice(piece);
            journal.stream(from as u64..to as u64, &mut each).expect("a stream");
            assert_eq!(streamed, log[from..to], "{from}..{to}");
        }
    }
    let error = journal.stream(3..24, &mut |_| {}).expect_err("it is shorter");
    assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
}

/// Ends all connections of the store to a database.
fn terminate(server: &Server) {
    let sql = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'treering'";
    server.sql("postgres", sql);
}

/// Starts a server of its own, with an initialized database.
fn own_server() -> Option<Arc<Server>> {
    let server = Server::start()?;
    server.create_database("streams");
    PostgresStore::init(&server.url("streams"), &PostgresOptions::new()).expect("init");
    Some(Arc::new(server))
}

#[test]
fn a_connection_that_breaks_in_the_middle_of_a_stream_is_carried_over() {
    let Some(server) = own_server() else { return };
    let options = PostgresOptions::new().connections(1).timeout(HANGS / 2);
    let ours = connect(&server.url("streams"), &options);
    let expected = session(&ours, "broken", 6_000);
    let other = Arc::clone(&server);
    let (context, _) = Disturbed::new(&ours, "broken").within(move || terminate(&other)).context();
    assert_eq!(context, expected);

    // More than fits between the database and the reader, so that the end cannot have been sent.
    let log = vec![b'\n'; 64 * 1024 * 1024];
    let journal = create(&ours, "large", &log);
    let (mut pieces, before) = (0, ours.statistics().connections);
    let error = journal.stream(0..log.len() as u64, &mut |_| {
        pieces += 1;
        if pieces == 1 {
            terminate(&server);
        }
    });
    error.expect_err("the connection broke");
    let mut bytes = [0; 9];
    assert_eq!(journal.read_at(log.len() as u64 / 2, &mut bytes).expect("read"), 9);
    assert_eq!(ours.statistics().connections, before + 1, "a new connection");
}

#[test]
fn a_stream_ends_with_its_deadline() {
    let Some(server) = own_server() else { return };
    let patient = connect(&server.url("streams"), &PostgresOptions::new().timeout(HANGS));
    let log = vec![b'\n'; 64 * 1024 * 1024];
    create(&patient, "large", &log);
    let options = PostgresOptions::new().connections(1).timeout(Duration::from_secs(3));
    let hasty = connect(&server.url("streams"), &options);
    let journal = hasty.open(&id("large")).expect("open");
    let (mut pieces, started) = (0, Instant::now());
    let result = journal.stream(0..log.len() as u64, &mut |_| {
        pieces += 1;
        if pieces == 1 {
            server.freeze();
        }
    });
    server.thaw();
    let error = result.expect_err("the database does not go on");
    assert_eq!(error.kind(), io::ErrorKind::TimedOut, "{error}");
    assert!(started.elapsed() < HANGS);
    assert_eq!(patient.open(&id("large")).expect("open").len().expect("len"), log.len() as u64);
    assert!(hasty.open(&id("large")).is_ok(), "the pool is whole again");
}

#[test]
fn a_log_that_is_shortened_or_replaced_is_one_or_the_other() {
    let Some(ours) = store("shortened") else { return };
    let cut = |name: &'static str| {
        let writer = store("shortened").expect("a server").open(&id(name)).expect("open");
        move || {
            let length = writer.len().expect("len");
            let mut end = vec![0; 4096];
            let got = writer.read_at(length - 4096, &mut end).expect("read");
            let lines = end[..got - 1].iter().rposition(|byte| *byte == b'\n').expect("a line");
            let kept = length - 4096 + lines as u64 + 1;
            assert!(writer.truncate_if(length, kept).expect("truncate"));
        }
    };
    // What the database sends is of the moment at which it was asked.
    let expected = session(&ours, "within", 2_000);
    let (context, is_streamed) = Disturbed::new(&ours, "within").within(cut("within")).context();
    assert!(is_streamed);
    assert_eq!(context, expected);

    let expected = session(&ours, "before", 2_000);
    let (context, is_streamed) = Disturbed::new(&ours, "before").before(cut("before")).context();
    assert!(!is_streamed);
    assert_eq!(context.messages, expected.messages[..2_000]);
    assert_eq!(context, open(&ours, "before").context().expect("context"));

    session(&ours, "replaced", 2_000);
    let other = ours.clone();
    let (context, is_streamed) = Disturbed::new(&ours, "replaced")
        .before(move || {
            other.remove(&id("replaced")).expect("remove");
            session(&other, "replaced", 2_100);
        })
        .context();
    assert!(!is_streamed, "another generation");
    assert_eq!(context.messages.len(), 2_101);
    assert_eq!(context, open(&ours, "replaced").context().expect("context"));
}
