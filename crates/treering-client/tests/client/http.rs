//! The store over HTTP: the stories, and what happens to lost answers.

use crate::responder::{Fault, Responder};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use treering::storage::{End, Journal, JournalError};
use treering::store::{MemoryStore, Store};
use treering::{CreateOptions, Error, Message, OpenOptions, Session, SessionId};
use treering_client::{HttpOptions, HttpStore, InvalidAddress};
use treering_testkit::story;

fn options() -> HttpOptions {
    HttpOptions::new().token("tr_secret-of-the-test")
}

fn client(server: &Responder) -> Arc<dyn Store> {
    Arc::new(HttpStore::new(&server.url(), options()).unwrap())
}

fn id(text: &str) -> SessionId {
    SessionId::new(text).unwrap()
}

fn header(id: &str) -> Vec<u8> {
    format!("{{\"type\":\"session\",\"version\":3,\"id\":\"{id}\",\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"cwd\":\"/p\"}}\n").into_bytes()
}

fn contents(journal: &dyn Journal) -> Vec<u8> {
    let mut bytes = vec![0; journal.len().unwrap() as usize];
    let mut filled = 0;
    while filled < bytes.len() {
        match journal.read_at(filled as u64, &mut bytes[filled..]).unwrap() {
            0 => break,
            count => filled += count,
        }
    }
    bytes.truncate(filled);
    bytes
}

#[test]
fn stories_pass() {
    let server = Responder::start(Arc::new(MemoryStore::new()));
    story::store(|| client(&server));
    let count = AtomicUsize::new(0);
    story::journal(|| {
        let number = count.fetch_add(1, Ordering::SeqCst);
        client(&server).create(&id(&format!("journal-{number}")), &mut [].as_slice()).unwrap()
    });
}

/// With a third of all requests failing, in every way, the stories are the same: nothing is lost or
/// doubled.
#[test]
fn stories_pass_while_answers_are_lost() {
    for seed in 0..3 {
        let server = Responder::start(Arc::new(MemoryStore::new()));
        server.draw(seed, 0.3);
        let count = AtomicUsize::new(0);
        story::journal(|| {
            let number = count.fetch_add(1, Ordering::SeqCst);
            client(&server).create(&id(&format!("journal-{number}")), &mut [].as_slice()).unwrap()
        });
        let shared = id("shared");
        client(&server).create(&shared, &mut header("shared").as_slice()).unwrap();
        story::session(|| Session::open_in(&client(&server), &shared, OpenOptions::new()).unwrap());
    }
}

#[test]
fn an_append_without_an_answer_happens_once() {
    for faults in [
        vec![Fault::CloseBefore],
        vec![Fault::CloseAfter],
        vec![Fault::Half],
        vec![Fault::Unavailable],
        vec![Fault::CloseAfter, Fault::CloseAfter, Fault::Half, Fault::Unavailable],
    ] {
        let memory = Arc::new(MemoryStore::new());
        let server = Responder::start(Arc::clone(&memory) as Arc<dyn Store>);
        let start = header("once");
        let journal = client(&server).create(&id("once"), &mut start.as_slice()).unwrap();
        server.script(faults.clone());
        let appended = journal.append(&End::from(start.len() as u64), b"{\"a\":1}\n").unwrap();
        assert_eq!(appended.start, start.len() as u64);
        let expected = [&*start, b"{\"a\":1}\n"].concat();
        assert_eq!(contents(&*memory.open(&id("once")).unwrap()), expected, "{faults:?}");

        // An append of a faster writer is distinguished from an earlier attempt of this one.
        let theirs = memory.open(&id("once")).unwrap();
        server.script(faults.clone());
        theirs.append(&End::from(expected.len() as u64), b"{\"b\":2}\n").unwrap();
        let moved = journal.append(&End::from(expected.len() as u64), b"{\"c\":3}\n");
        let length = expected.len() as u64 + 8;
        assert!(matches!(moved, Err(JournalError::Moved(now)) if now == length), "{moved:?}");
    }
}

#[test]
fn creations_removals_and_titles_without_an_answer_happen_once() {
    for fault in [Fault::CloseBefore, Fault::CloseAfter, Fault::Half, Fault::Unavailable] {
        let memory = Arc::new(MemoryStore::new());
        let server = Responder::start(Arc::clone(&memory) as Arc<dyn Store>);
        let store = client(&server);
        let (name, start) = (id("a"), header("a"));
        server.script([fault]);
        let journal = store.create(&name, &mut start.as_slice()).unwrap();
        assert_eq!(contents(&*memory.open(&name).unwrap()), start);

        server.script([fault]);
        let other = header("b");
        assert!(journal.replace_start(&start, &other).unwrap(), "{fault:?}");
        assert!(!journal.replace_start(&start, &other).unwrap(), "{fault:?}");

        // Another session of this id is not taken for an own attempt.
        server.script([fault]);
        let exists = store.create(&name, &mut start.as_slice()).unwrap_err();
        assert!(matches!(exists, Error::SessionExists(_)), "{exists}");

        server.script([fault]);
        store.remove(&name).unwrap();
        assert!(matches!(store.remove(&name), Err(Error::UnknownSession(_))));
    }
}

#[test]
fn a_large_session_is_created_in_parts() {
    let memory = Arc::new(MemoryStore::new());
    let server = Responder::start(Arc::clone(&memory) as Arc<dyn Store>);
    let mut start = header("large");
    while start.len() < 20 << 20 {
        start.extend_from_slice(format!("{{\"n\":{},\"x\":\"", start.len()).as_bytes());
        start.extend(std::iter::repeat_n(b'x', 100_000));
        start.extend_from_slice(b"\"}\n");
    }
    server.script([Fault::CloseAfter, Fault::None, Fault::None, Fault::Half]);
    client(&server).create(&id("large"), &mut start.as_slice()).unwrap();
    assert!(contents(&*memory.open(&id("large")).unwrap()) == start);
}

#[test]
fn the_next_node_gets_the_request_when_one_dies() {
    let memory: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let (first, second) = (Responder::start(Arc::clone(&memory)), Responder::start(memory));
    let urls = format!("{}, {}/", first.url(), second.url());
    let store: Arc<dyn Store> = Arc::new(HttpStore::new(&urls, options()).unwrap());
    let session = Session::create_in(&store, "/p", CreateOptions::new()).unwrap();
    session.append(Message::user("one")).unwrap();
    first.stop();
    session.append(Message::user("two")).unwrap();
    let again = Session::open_in(&store, &session.id(), OpenOptions::new()).unwrap();
    assert_eq!(again.context().unwrap().messages.len(), 2);
    assert!(!second.requests().is_empty());
}

#[test]
fn a_server_that_cannot_be_reached_is_a_retryable_error() {
    let server = Responder::start(Arc::new(MemoryStore::new()));
    let url = server.url();
    drop(server);
    let options = options().deadline(Duration::from_millis(200));
    let store = HttpStore::new(&url, options.clone()).unwrap();
    let error = store.changes(None).unwrap_err();
    assert!(error.is_retryable(), "{error:?}");
    assert!(error.to_string().contains(&url), "{error}");
    assert!(!format!("{error:?} {store:?}").contains("secret-of-the-test"));
    // An address that was never reached may be wrong: there is one attempt at each.
    let patient = options.clone().deadline(Duration::from_secs(24 * 60 * 60));
    let error = HttpStore::new(&format!("{url},{url}"), patient).unwrap().changes(None);
    assert!(error.unwrap_err().is_retryable());

    // A server that accepts connections and never answers.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", silent.local_addr().unwrap());
    let error = HttpStore::new(&url, options).unwrap().changes(None).unwrap_err();
    assert!(error.is_retryable(), "{error:?}");
}

#[test]
fn the_token_is_sent_in_the_header_and_nowhere_else() {
    let server = Responder::start(Arc::new(MemoryStore::new()));
    client(&server).changes(None).unwrap();
    assert_eq!(server.tokens(), [Some("Bearer tr_secret-of-the-test".to_owned())]);
    assert_eq!(server.requests(), ["GET /v1/changes"]);
    for (urls, expected) in [
        ("https://tr_secret@host", InvalidAddress::Credentials),
        ("tr_secret@host", InvalidAddress::Credentials),
        ("host", InvalidAddress::Address("host".into())),
        ("http://", InvalidAddress::Address("http://".into())),
        ("http://host/?q", InvalidAddress::Address("http://host/?q".into())),
    ] {
        assert_eq!(HttpStore::new(urls, options()).unwrap_err(), expected);
    }
    let bad = HttpStore::new("http://host", HttpOptions::new().token("a\nb"));
    assert_eq!(bad.unwrap_err(), InvalidAddress::Token);
}

#[test]
fn an_active_context_takes_few_requests() {
    let memory: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let session = Session::create_in(&memory, "/p", CreateOptions::new().id(id("long"))).unwrap();
    let filler = "x".repeat(4000);
    for _ in 0..600 {
        session.append(Message::user(&*filler)).unwrap();
    }
    session.append(treering::NewEntry::thinking_level_change("off")).unwrap();
    let answer = session.append(Message::assistant("acme", "m", "done")).unwrap();
    session.append(treering::NewEntry::compaction("all of it", Some(&answer), 1000)).unwrap();
    let server = Responder::start(memory);
    let journal = client(&server).open(&id("long")).unwrap();
    let context = treering::active_context_of(journal).unwrap();
    assert_eq!(context, session.context().unwrap());
    assert!(server.requests().len() <= 3, "{:?}", server.requests());
}

#[test]
fn events_are_neither_lost_nor_repeated() {
    let memory: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let session = Session::create_in(&memory, "/p", CreateOptions::new().id(id("told"))).unwrap();
    for number in 0..9 {
        session.append(Message::user(&*format!("number {number}"))).unwrap();
    }
    let server = Responder::start(Arc::clone(&memory));
    server.script([Fault::None, Fault::CloseBefore, Fault::Half, Fault::None, Fault::Unavailable]);
    let store = HttpStore::new(&server.url(), options()).unwrap();
    let mut events = store.events(&id("told"), Some("0"));
    let received: Vec<String> = (&mut events).take(10).map(|event| event.unwrap().data).collect();
    let log = String::from_utf8(contents(&*memory.open(&id("told")).unwrap())).unwrap();
    assert_eq!(received, log.lines().collect::<Vec<_>>());
    assert_eq!(events.last_id(), Some(&*log.len().to_string()));

    let mut gone = store.events(&id("nowhere"), None);
    assert!(matches!(gone.next(), Some(Err(_))));
    assert!(gone.next().is_none());
    let mut stopped = store.events(&id("told"), Some("0"));
    stopped.stop_handle().stop();
    assert!(stopped.next().is_none());
}
