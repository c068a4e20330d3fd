//! A small server for tests: the calls of the API that a store needs, over a store in memory, with faults.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use treering::storage::{End, Journal, JournalError};
use treering::store::{Cursor, ListQuery, Mark, Store};
use treering::{Error, SessionId, time};
use treering_testkit::rng::Rng;

/// A fault of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// It is answered.
    None,
    /// The connection is closed before it is carried out.
    CloseBefore,
    /// The connection is closed after it was carried out.
    CloseAfter,
    /// It is refused with the status 503.
    Unavailable,
    /// It is carried out, and half of the answer is sent.
    Half,
}

#[derive(Debug, Default)]
struct Plan {
    script: VecDeque<Fault>,
    lot: Option<(Rng, f64)>,
}

/// The shared state of all connections.
#[derive(Debug)]
struct Shared {
    store: Arc<dyn Store>,
    plan: Mutex<Plan>,
    requests: Mutex<Vec<String>>,
    tokens: Mutex<Vec<Option<String>>>,
    is_stopped: AtomicBool,
    connections: AtomicUsize,
}

/// A server on a free port of the loopback interface. It stops when it is dropped.
#[derive(Debug)]
pub(crate) struct Responder {
    address: SocketAddr,
    shared: Arc<Shared>,
}

impl Responder {
    pub(crate) fn start(store: Arc<dyn Store>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared {
            store,
            plan: Mutex::default(),
            requests: Mutex::default(),
            tokens: Mutex::default(),
            is_stopped: AtomicBool::new(false),
            connections: AtomicUsize::new(0),
        });
        let accepted = Arc::clone(&shared);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if accepted.is_stopped.load(Ordering::SeqCst) {
                    return;
                }
                let shared = Arc::clone(&accepted);
                shared.connections.fetch_add(1, Ordering::SeqCst);
                std::thread::spawn(move || {
                    let _ = serve(&stream, &shared);
                });
            }
        });
        Responder { address, shared }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Sets the faults of the next requests, one by one.
    pub(crate) fn script(&self, faults: impl IntoIterator<Item = Fault>) {
        self.shared.plan.lock().unwrap().script.extend(faults);
    }

    /// From now on faults are drawn by lot.
    pub(crate) fn draw(&self, seed: u64, rate: f64) {
        self.shared.plan.lock().unwrap().lot = Some((Rng::new(seed), rate));
    }

    /// Returns the requests so far, `METHOD PATH`.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.shared.requests.lock().unwrap().clone()
    }

    /// Returns the header `Authorization` of all requests so far.
    pub(crate) fn tokens(&self) -> Vec<Option<String>> {
        self.shared.tokens.lock().unwrap().clone()
    }

    /// Closes the port, as the death of a node does.
    pub(crate) fn stop(&self) {
        self.shared.is_stopped.store(true, Ordering::SeqCst);
        // Wakes the listener.
        let _ = TcpStream::connect(self.address);
    }
}

impl Drop for Responder {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Shared {
    fn next_fault(&self) -> Fault {
        let mut plan = self.plan.lock().unwrap();
        if let Some(fault) = plan.script.pop_front() {
            return fault;
        }
        let Some((rng, rate)) = &mut plan.lot else { return Fault::None };
        match rng.chance(*rate) {
            false => Fault::None,
            true => [Fault::CloseBefore, Fault::CloseAfter, Fault::Unavailable, Fault::Half]
                [rng.index(4)],
        }
    }
}

#[derive(Debug, Default)]
struct Asked {
    method: String,
    path: String,
    query: Vec<(String, String)>,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Asked {
    fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| &**value)
    }

    fn parameter(&self, name: &str) -> Option<&str> {
        self.query.iter().find(|(key, _)| key == name).map(|(_, value)| &**value)
    }
}

#[derive(Debug, Default)]
struct Told {
    status: u16,
    headers: Vec<(&'static str, String)>,
    body: Vec<u8>,
}

impl Told {
    fn json(status: u16, body: impl Into<String>) -> Told {
        Told { status, body: body.into().into_bytes(), ..Told::default() }
    }

    fn problem(status: u16, code: &str, more: &str) -> Told {
        Told::json(status, format!("{{\"code\":\"{code}\",\"detail\":\"scripted\"{more}}}"))
    }
}

fn serve(stream: &TcpStream, shared: &Shared) -> io::Result<()> {
    stream.set_read_timeout(Some(Duration::from_secs(60)))?;
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream);
    loop {
        let Some(asked) = read_request(&mut reader)? else { return Ok(()) };
        // A node that died answers nothing.
        if shared.is_stopped.load(Ordering::SeqCst) {
            return Ok(());
        }
        let line = format!("{} {}", asked.method, asked.path);
        shared.requests.lock().unwrap().push(line);
        shared.tokens.lock().unwrap().push(asked.header("authorization").map(str::to_owned));
        let fault = shared.next_fault();
        match fault {
            Fault::CloseBefore => return Ok(()),
            Fault::Unavailable => {
                write_answer(stream, &asked, &Told::problem(503, "overloaded", ""), false)?;
                continue;
            }
            _ => {}
        }
        if asked.path.ends_with("/events") {
            return events(stream, shared, &asked, fault);
        }
        let told = answer(shared, &asked);
        match fault {
            Fault::CloseAfter => return Ok(()),
            Fault::Half => return write_answer(stream, &asked, &told, true),
            _ => write_answer(stream, &asked, &told, false)?,
        }
    }
}

fn read_request(reader: &mut BufReader<&TcpStream>) -> io::Result<Option<Asked>> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut words = line.split_whitespace();
    let mut asked = Asked { method: words.next().unwrap_or("").to_owned(), ..Asked::default() };
    let target = words.next().unwrap_or("").to_owned();
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    asked.path = path.to_owned();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        asked.query.push((key.to_owned(), decoded(value)));
    }
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        let (key, value) = line.split_once(':').unwrap_or((line, ""));
        asked.headers.push((key.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let length = asked.header("content-length").and_then(|length| length.parse().ok());
    asked.body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut asked.body)?;
    Ok(Some(asked))
}

fn decoded(text: &str) -> String {
    let (mut out, mut rest) = (Vec::new(), text.as_bytes());
    while let Some((byte, after)) = rest.split_first() {
        match (byte, after) {
            (b'%', [high, low, after @ ..]) => {
                let digits = [*high, *low];
                let digits = std::str::from_utf8(&digits).unwrap();
                out.push(u8::from_str_radix(digits, 16).unwrap());
                rest = after;
            }
            _ => {
                out.push(*byte);
                rest = after;
            }
        }
    }
    String::from_utf8(out).unwrap()
}

fn write_answer(
    mut stream: &TcpStream,
    asked: &Asked,
    told: &Told,
    is_half: bool,
) -> io::Result<()> {
    let mut head = format!("HTTP/1.1 {} Scripted\r\n", told.status);
    for (name, value) in &told.headers {
        let _ = write!(head, "{name}: {value}\r\n");
    }
    let _ = write!(head, "content-length: {}\r\n\r\n", told.body.len());
    let mut bytes = head.into_bytes();
    if asked.method != "HEAD" {
        bytes.extend_from_slice(&told.body);
    }
    let count = if is_half { bytes.len() / 2 } else { bytes.len() };
    stream.write_all(&bytes[..count])?;
    stream.flush()
}

fn answer(shared: &Shared, asked: &Asked) -> Told {
    let store = &shared.store;
    let parts: Vec<&str> = asked.path.split('/').filter(|part| !part.is_empty()).collect();
    let told = match (&*asked.method, &*parts) {
        ("GET", ["v1", "sessions"]) => list(&**store, asked),
        ("POST", ["v1", "sessions"]) => {
            let id = SessionId::new(asked.parameter("id").unwrap_or_default()).unwrap();
            store.create(&id, &mut asked.body.as_slice()).map(|_| Told::json(201, "{}"))
        }
        ("DELETE", ["v1", "sessions", id]) => {
            let id = SessionId::new(&decoded(id)).unwrap();
            store.remove(&id).map(|()| Told::json(204, ""))
        }
        ("GET", ["v1", "changes"]) => {
            let mark = asked.parameter("mark").map(Mark::new);
            store.changes(mark.as_ref()).map(|changes| {
                let sessions: Vec<_> = changes
                    .sessions
                    .iter()
                    .map(|change| serde_json::json!({"id": change.id.as_str(), "length": change.length}))
                    .collect();
                let mark = changes.mark.as_str();
                Told::json(200, serde_json::json!({"mark": mark, "sessions": sessions}).to_string())
            })
        }
        (_, ["v1", "sessions", id, "log", rest @ ..]) => {
            let id = SessionId::new(&decoded(id)).unwrap();
            store.open(&id).map(|journal| log(&*journal, asked, rest))
        }
        _ => Ok(Told::problem(404, "not_found", "")),
    };
    told.unwrap_or_else(|error| match error {
        Error::UnknownSession(_) => Told::problem(404, "unknown_session", ""),
        Error::SessionExists(_) => Told::problem(409, "session_exists", ""),
        other => Told::problem(500, &other.to_string(), ""),
    })
}

fn log(journal: &dyn Journal, asked: &Asked, rest: &[&str]) -> Told {
    let length = journal.len().unwrap();
    let headers = vec![("x-treering-length", length.to_string())];
    match (&*asked.method, rest) {
        ("HEAD", []) => Told { status: 200, headers, ..Told::default() },
        ("GET", []) => {
            let range = asked.header("range").and_then(|range| range.strip_prefix("bytes="));
            let (start, end) = match range.and_then(|range| range.split_once('-')) {
                Some((start, end)) => {
                    let end = end.parse().map_or(length, |end: u64| end + 1);
                    (start.parse().unwrap(), end.min(length))
                }
                None => (0, length),
            };
            if start >= length {
                return Told { status: 416, headers, ..Told::default() };
            }
            let mut body = vec![0; (end - start) as usize];
            let got = journal.read_at(start, &mut body).unwrap();
            assert_eq!(got, body.len());
            Told { status: 206, headers, body }
        }
        ("POST", []) => {
            let at: u64 = asked.parameter("at").unwrap().parse().unwrap();
            let end = match asked.header("x-treering-end").and_then(|end| end.split_once(':')) {
                Some((offset, sample)) => {
                    End::new(at, offset.parse().unwrap(), &from_base64(sample))
                }
                None => End::from(at),
            };
            match journal.append(&end, &asked.body) {
                Ok(appended) => {
                    let length = appended.start + asked.body.len() as u64;
                    Told::json(200, format!("{{\"start\":{},\"length\":{length}}}", appended.start))
                }
                Err(JournalError::Moved(length)) => {
                    Told::problem(409, "moved", &format!(",\"length\":{length}"))
                }
                Err(JournalError::Gone) => Told::problem(404, "unknown_session", ""),
                Err(other) => Told::problem(500, &other.to_string(), ""),
            }
        }
        ("POST", ["start"]) => {
            let body: serde_json::Value = serde_json::from_slice(&asked.body).unwrap();
            let bytes = |name: &str| from_base64(body[name].as_str().unwrap());
            let replaced = journal.replace_start(&bytes("expected"), &bytes("bytes")).unwrap();
            Told::json(200, format!("{{\"replaced\":{replaced}}}"))
        }
        _ => Told::problem(405, "not_found", ""),
    }
}

fn from_base64(text: &str) -> Vec<u8> {
    use base64::Engine;
    base64::engine::general_purpose::STANDARD.decode(text).unwrap()
}

fn list(store: &dyn Store, asked: &Asked) -> treering::Result<Told> {
    let mut query = ListQuery::new();
    let number = |name: &str| asked.parameter(name).map(|text| text.parse::<i64>().unwrap());
    query.cursor = asked.parameter("cursor").map(Cursor::new);
    query.cwd = asked.parameter("cwd").map(str::to_owned);
    query.agent = asked.parameter("agent").map(|name| name.parse().unwrap());
    (query.since, query.until) = (number("since"), number("until"));
    let page = store.list(&query.limit(number("limit").unwrap_or(100) as usize))?;
    let sessions: Vec<_> = page
        .sessions
        .iter()
        .map(|info| {
            serde_json::json!({
                "id": info.id.as_str(), "agent": info.agent.name(), "cwd": info.cwd, "name": info.name,
                "created": info.created.map(time::format), "modified": time::format(info.modified),
                "messageCount": info.message_count, "entryCount": info.entry_count,
                "firstMessage": info.first_message, "size": info.size, "partial": info.is_partial,
            })
        })
        .collect();
    let next = page.next.as_ref().map(Cursor::as_str);
    let body = serde_json::json!({"sessions": sessions, "next": next});
    Ok(Told::json(200, body.to_string()))
}

/// Sends two events at most, and half a third one, so that a follower has to reconnect.
fn events(mut stream: &TcpStream, shared: &Shared, asked: &Asked, fault: Fault) -> io::Result<()> {
    let id = asked.path.split('/').nth(3).unwrap_or_default();
    let Ok(journal) = shared.store.open(&SessionId::new(&decoded(id)).unwrap()) else {
        return write_answer(stream, asked, &Told::problem(404, "unknown_session", ""), false);
    };
    let after: usize = asked.header("last-event-id").unwrap().parse().unwrap();
    let mut log = vec![0; journal.len().unwrap() as usize];
    let got = journal.read_at(0, &mut log).unwrap();
    assert_eq!(got, log.len());
    let mut text = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n: alive\n\n".to_owned();
    let mut at = after;
    for line in log[after..].split_inclusive(|byte| *byte == b'\n').take(2) {
        at += line.len();
        let line = String::from_utf8_lossy(line);
        let _ = write!(text, "id: {at}\nevent: entry\ndata: {}\n\n", line.trim_end());
    }
    let _ = write!(text, "id: {}\nevent: entry\ndata: half of", at + 1);
    let count = if fault == Fault::None { text.len() } else { text.len() / 2 };
    stream.write_all(&text.as_bytes()[..count])
}
