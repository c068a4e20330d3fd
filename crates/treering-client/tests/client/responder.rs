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

    /// Plans random faults from a seed.
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
struct Request {
    method: String,
    path: String,
    query: Vec<(String, String)>,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Request {
    fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| &**value)
    }

    fn parameter(&self, name: &str) -> Option<&str> {
        self.query.iter().find(|(key, _)| key == name).map(|(_, value)| &**value)
    }
}

#[derive(Debug, Default)]
struct Response {
    status: u16,
    headers: Vec<(&'static str, String)>,
    body: Vec<u8>,
}

impl Response {
    fn json(status: u16, body: impl Into<String>) -> Response {
        Response { status, body: body.into().into_bytes(), ..Response::default() }
    }

    fn problem(status: u16, code: &str, more: &str) -> Response {
        Response::json(status, format!("{{\"code\":\"{code}\",\"detail\":\"scripted\"{more}}}"))
    }
}

fn serve(stream: &TcpStream, shared: &Shared) -> io::Result<()> {
    stream.set_read_timeout(Some(Duration::from_secs(60)))?;
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream);
    loop {
        let Some(request) = read_request(&mut reader)? else { return Ok(()) };
        // A node that died answers nothing.
        if shared.is_stopped.load(Ordering::SeqCst) {
            return Ok(());
        }
        let line = format!("{} {}", request.method, request.path);
        shared.requests.lock().unwrap().push(line);
        shared.tokens.lock().unwrap().push(request.header("authorization").map(str::to_owned));
        let fault = shared.next_fault();
        match fault {
            Fault::CloseBefore => return Ok(()),
            Fault::Unavailable => {
                write_answer(stream, &request, &Response::problem(503, "overloaded", ""), false)?;
                continue;
            }
            _ => {}
        }
        if request.path.ends_with("/events") {
            return events(stream, shared, &request, fault);
        }
        let response = answer(shared, &request);
        match fault {
            Fault::CloseAfter => return Ok(()),
            Fault::Half => return write_answer(stream, &request, &response, true),
            _ => write_answer(stream, &request, &response, false)?,
        }
    }
}

fn read_request(reader: &mut BufReader<&TcpStream>) -> io::Result<Option<Request>> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut words = line.split_whitespace();
    let mut request =
        Request { method: words.next().unwrap_or("").to_owned(), ..Request::default() };
    let target = words.next().unwrap_or("").to_owned();
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    request.path = path.to_owned();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        request.query.push((key.to_owned(), decoded(value)));
    }
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        let (key, value) = line.split_once(':').unwrap_or((line, ""));
        request.headers.push((key.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let length = request.header("content-length").and_then(|length| length.parse().ok());
    request.body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut request.body)?;
    Ok(Some(request))
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
    request: &Request,
    response: &Response,
    is_half: bool,
) -> io::Result<()> {
    let mut head = format!("HTTP/1.1 {} Scripted\r\n", response.status);
    for (name, value) in &response.headers {
        let _ = write!(head, "{name}: {value}\r\n");
    }
    let _ = write!(head, "content-length: {}\r\n\r\n", response.body.len());
    let mut bytes = head.into_bytes();
    if request.method != "HEAD" {
        bytes.extend_from_slice(&response.body);
    }
    let count = if is_half { bytes.len() / 2 } else { bytes.len() };
    stream.write_all(&bytes[..count])?;
    stream.flush()
}

fn answer(shared: &Shared, request: &Request) -> Response {
    let store = &shared.store;
    let parts: Vec<&str> = request.path.split('/').filter(|part| !part.is_empty()).collect();
    let response = match (&*request.method, &*parts) {
        ("GET", ["v1", "sessions"]) => list(&**store, request),
        ("POST", ["v1", "sessions"]) => {
            let id = SessionId::new(request.parameter("id").unwrap_or_default()).unwrap();
            store.create(&id, &mut request.body.as_slice()).map(|_| Response::json(201, "{}"))
        }
        ("DELETE", ["v1", "sessions", id]) => {
            let id = SessionId::new(&decoded(id)).unwrap();
            store.remove(&id).map(|()| Response::json(204, ""))
        }
        ("GET", ["v1", "changes"]) => {
            let mark = request.parameter("mark").map(Mark::new);
            store.changes(mark.as_ref()).map(|changes| {
                let sessions: Vec<_> = changes
                    .sessions
                    .iter()
                    .map(|change| serde_json::json!({"id": change.id.as_str(), "length": change.length}))
                    .collect();
                let mark = changes.mark.as_str();
                Response::json(200, serde_json::json!({"mark": mark, "sessions": sessions}).to_string())
            })
        }
        (_, ["v1", "sessions", id, "log", rest @ ..]) => {
            let id = SessionId::new(&decoded(id)).unwrap();
            store.open(&id).map(|journal| log(&*journal, request, rest))
        }
        _ => Ok(Response::problem(404, "not_found", "")),
    };
    response.unwrap_or_else(|error| match error {
        Error::UnknownSession(_) => Response::problem(404, "unknown_session", ""),
        Error::SessionExists(_) => Response::problem(409, "session_exists", ""),
        other => Response::problem(500, &other.to_string(), ""),
    })
}

fn log(journal: &dyn Journal, request: &Request, rest: &[&str]) -> Response {
    let length = journal.len().unwrap();
    let headers = vec![("x-treering-length", length.to_string())];
    match (&*request.method, rest) {
        ("HEAD", []) => Response { status: 200, headers, ..Response::default() },
        ("GET", []) => {
            let range = request.header("range").and_then(|range| range.strip_prefix("bytes="));
            let (start, end) = match range.and_then(|range| range.split_once('-')) {
                Some((start, end)) => {
                    let end = end.parse().map_or(length, |end: u64| end + 1);
                    (start.parse().unwrap(), end.min(length))
                }
                None => (0, length),
            };
            if start >= length {
                return Response { status: 416, headers, ..Response::default() };
            }
            let mut body = vec![0; (end - start) as usize];
            let got = journal.read_at(start, &mut body).unwrap();
            assert_eq!(got, body.len());
            Response { status: 206, headers, body }
        }
        ("POST", []) => {
            let at: u64 = request.parameter("at").unwrap().parse().unwrap();
            let end = match request.header("x-treering-end").and_then(|end| end.split_once(':')) {
                Some((offset, sample)) => {
                    End::new(at, offset.parse().unwrap(), &from_base64(sample))
                }
                None => End::from(at),
            };
            match journal.append(&end, &request.body) {
                Ok(appended) => {
                    let length = appended.start + request.body.len() as u64;
                    Response::json(
                        200,
                        format!("{{\"start\":{},\"length\":{length}}}", appended.start),
                    )
                }
                Err(JournalError::Moved(length)) => {
                    Response::problem(409, "moved", &format!(",\"length\":{length}"))
                }
                Err(JournalError::Gone) => Response::problem(404, "unknown_session", ""),
                Err(other) => Response::problem(500, &other.to_string(), ""),
            }
        }
        ("POST", ["start"]) => {
            let body: serde_json::Value = serde_json::from_slice(&request.body).unwrap();
            let bytes = |name: &str| from_base64(body[name].as_str().unwrap());
            let replaced = journal.replace_start(&bytes("expected"), &bytes("bytes")).unwrap();
            Response::json(200, format!("{{\"replaced\":{replaced}}}"))
        }
        _ => Response::problem(405, "not_found", ""),
    }
}

fn from_base64(text: &str) -> Vec<u8> {
    use base64::Engine;
    base64::engine::general_purpose::STANDARD.decode(text).unwrap()
}

fn list(store: &dyn Store, request: &Request) -> treering::Result<Response> {
    let mut query = ListQuery::new();
    let number = |name: &str| request.parameter(name).map(|text| text.parse::<i64>().unwrap());
    query.cursor = request.parameter("cursor").map(Cursor::new);
    query.cwd = request.parameter("cwd").map(str::to_owned);
    query.agent = request.parameter("agent").map(|name| name.parse().unwrap());
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
    Ok(Response::json(200, body.to_string()))
}

/// Sends two events at most, and half a third one, so that a follower has to reconnect.
fn events(
    mut stream: &TcpStream,
    shared: &Shared,
    request: &Request,
    fault: Fault,
) -> io::Result<()> {
    let id = request.path.split('/').nth(3).unwrap_or_default();
    let Ok(journal) = shared.store.open(&SessionId::new(&decoded(id)).unwrap()) else {
        return write_answer(
            stream,
            request,
            &Response::problem(404, "unknown_session", ""),
            false,
        );
    };
    let after: usize = request.header("last-event-id").unwrap().parse().unwrap();
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
