//! Rows about a node of `treering serve` over PostgreSQL and over files, compared with bare
//! statements on the same server.

use crate::Bench;
use crate::measure::{Stat, ms};
use crate::table::{self, Row};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier};
use std::time::Duration;
use treering::storage::{End, JournalError};
use treering::store::Store;
use treering::{CreateOptions, Message, Session, SessionId};
use treering_postgres::internal::RawClient;
use treering_postgres::{PostgresOptions, PostgresStore};
use treering_testkit::postgres::Server;

const INSERT: &str = "INSERT INTO bare (line) VALUES ($1)";

/// Writers that append to one session.
const WRITERS: usize = 16;

/// A running node.
struct Node {
    child: Child,
    address: String,
    token: String,
}

impl Node {
    fn start(bench: &Bench, state: &Path, variables: &[(&str, &str)], arguments: &[&str]) -> Self {
        let token = state.join("token");
        let mut command = Command::new(&bench.treering);
        command.args(["serve", "--listen", "127.0.0.1:0", "--token-file"]).arg(&token);
        command.args(arguments).env("HOME", state).env("XDG_CACHE_HOME", state.join("cache"));
        command.envs(variables.iter().copied());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("listening on http://").unwrap().to_owned();
        let token = fs::read_to_string(token).unwrap().trim().to_owned();
        Node { child, address, token }
    }

    fn client(&self) -> Client {
        let stream = TcpStream::connect(&self.address).unwrap();
        stream.set_nodelay(true).unwrap();
        let (address, token) = (self.address.clone(), self.token.clone());
        Client { reader: BufReader::new(stream.try_clone().unwrap()), stream, address, token }
    }

    /// Returns the memory that the node has now, in bytes.
    fn memory(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id()));
        let status = status.unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kilobytes = line.and_then(|line| line.trim().split(' ').next()?.parse::<u64>().ok());
        kilobytes.unwrap_or(0) * 1024
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A connection to a node that is kept open.
struct Client {
    stream: TcpStream,
    reader: BufReader<TcpStream>,
    address: String,
    token: String,
}

impl Client {
    fn request(&mut self, method: &str, path: &str, headers: &str, body: &str) -> (u16, String) {
        let (address, token, length) = (&self.address, &self.token, body.len());
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n\
             Content-Type: application/json\r\nContent-Length: {length}\r\n{headers}\r\n{body}"
        );
        self.stream.write_all(request.as_bytes()).unwrap();
        let (mut line, mut length) = (String::new(), 0);
        self.reader.read_line(&mut line).unwrap();
        let status = line.split(' ').nth(1).unwrap().parse().unwrap();
        loop {
            line.clear();
            self.reader.read_line(&mut line).unwrap();
            if line == "\r\n" {
                break;
            }
            if let Some((name, value)) = line.split_once(':')
                && name.eq_ignore_ascii_case("content-length")
            {
                length = value.trim().parse().unwrap();
            }
        }
        let mut body = vec![0; length];
        self.reader.read_exact(&mut body).unwrap();
        (status, String::from_utf8(body).unwrap())
    }

    fn create(&mut self, id: &str) {
        let body = format!("{{\"id\":\"{id}\",\"cwd\":\"/project\"}}");
        let (status, answer) = self.request("POST", "/v1/sessions", "", &body);
        assert_eq!(status, 201, "{answer}");
    }

    fn append(&mut self, id: &str, body: &str, key: usize) {
        let path = format!("/v1/sessions/{id}/entries");
        let key = format!("Idempotency-Key: {id}-{key}\r\n");
        let (status, answer) = self.request("POST", &path, &key, body);
        assert_eq!(status, 200, "{answer}");
    }
}

/// Returns an append of a message of 1 KB, as the API takes it.
fn entry() -> String {
    let text = "x".repeat(1024);
    format!("[{{\"type\":\"message\",\"message\":{{\"role\":\"user\",\"content\":\"{text}\"}}}}]")
}

pub(crate) fn rows(bench: &Bench) -> Vec<Row> {
    let mut rows = vec![start(bench)];
    let Some(server) = Server::start() else {
        rows.push(Row::new("a node over PostgreSQL").untried("PostgreSQL is not installed"));
        return rows;
    };
    server.create_database("bench");
    let url = server.url("bench");
    let options = PostgresOptions::new().connections(WRITERS);
    PostgresStore::init(&url, &options).unwrap();
    let table = "CREATE TABLE bare (id bigserial PRIMARY KEY, line bytea NOT NULL)";
    server.sql_as("treering", "bench", table).unwrap();
    let state = tempfile::tempdir().unwrap();
    let node = Node::start(bench, state.path(), &[], &["--store", &url]);
    rows.push(append(bench, &node, &url));
    let store: Arc<dyn Store> = Arc::new(PostgresStore::connect(&url, &options).unwrap());
    rows.extend(one_session(bench, &node, &store));
    rows
}

fn append(bench: &Bench, node: &Node, url: &str) -> Row {
    let count = if bench.quick { 300 } else { 2_000 };
    let (mut client, mut bare, body) = (node.client(), RawClient::connect(url).unwrap(), entry());
    client.create("http");
    let line = format!("{body}\n").into_bytes();
    let (mut ours, mut theirs, mut key) = (Vec::new(), Vec::new(), 0);
    for _ in 0..bench.rounds(5) {
        let (mut appends, mut inserts) = (Vec::new(), Vec::new());
        for _ in 0..count {
            key += 1;
            appends.push(ms(|| client.append("http", &body, key)));
            inserts.push(ms(|| bare.execute(INSERT, &[&line]).unwrap()));
        }
        ours.push(Stat::of(&appends).median);
        theirs.push(Stat::of(&inserts).median);
    }
    let (ours, theirs) = (Stat::of(&ours), Stat::of(&theirs));
    Row::new("HTTP: append of a 1 KB message to PostgreSQL, token and idempotency key, p50")
        .ours(table::time(ours))
        .theirs("one prepared INSERT and commit", table::time(theirs))
        .at_most_times(2.0, ours.median, theirs.median)
}

/// Returns the appends of every writer, each of which writes until the time is over.
fn appended<T: Send>(
    writers: &mut [T],
    time: Duration,
    write: impl Fn(&mut T, usize) + Sync,
) -> Vec<usize> {
    let (barrier, is_over) = (Barrier::new(writers.len() + 1), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let threads: Vec<_> = writers
            .iter_mut()
            .map(|writer| {
                let (barrier, is_over, write) = (&barrier, &is_over, &write);
                scope.spawn(move || {
                    barrier.wait();
                    let mut count = 0;
                    while !is_over.load(Ordering::Relaxed) {
                        write(writer, count);
                        count += 1;
                    }
                    count
                })
            })
            .collect();
        barrier.wait();
        std::thread::sleep(time);
        is_over.store(true, Ordering::Relaxed);
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

fn one_session(bench: &Bench, node: &Node, store: &Arc<dyn Store>) -> Vec<Row> {
    let time = Duration::from_secs(if bench.quick { 2 } else { 5 });
    let body = entry();
    node.client().create("shared");
    let mut clients: Vec<(usize, Client)> =
        (0..WRITERS).map(|number| (number, node.client())).collect();
    let options = CreateOptions::new().id(SessionId::new("naive").unwrap());
    let session = Session::create_in(store, "/project", options).unwrap();
    session.append(Message::user("first")).unwrap();
    let line = format!("{{\"text\":\"{}\"}}\n", "x".repeat(1200)).into_bytes();
    let id = SessionId::new("naive").unwrap();
    let mut journals: Vec<_> = (0..WRITERS).map(|_| store.open(&id).unwrap()).collect();
    let rate = |counts: &[usize]| counts.iter().sum::<usize>() as f64 / time.as_secs_f64();
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    let (mut slowest, mut fastest) = (0, 1);
    for round in 0..bench.rounds(5) {
        let through = |(number, client): &mut (usize, Client), count: usize| {
            let key = (round * WRITERS + *number) * 1_000_000 + count;
            client.append("shared", &body, key);
        };
        let counts = appended(&mut clients, time, through);
        ours.push(rate(&counts));
        let (least, most) = (*counts.iter().min().unwrap(), *counts.iter().max().unwrap());
        // The round in which the writers differed most is shown.
        if round == 0 || least * fastest < slowest * most {
            (slowest, fastest) = (least, most.max(1));
        }
        let naive = appended(&mut journals, time, |journal, _| {
            let mut length = journal.len().unwrap();
            loop {
                match journal.append(&End::from(length), &line) {
                    Ok(_) => return,
                    Err(JournalError::Moved(now)) => length = now,
                    Err(error) => panic!("{error}"),
                }
            }
        });
        theirs.push(rate(&naive));
    }
    let (ours, theirs) = (Stat::of(&ours), Stat::of(&theirs));
    let share = slowest as f64 / fastest as f64;
    vec![
        Row::new(format!("HTTP: {WRITERS} writers on one session through a node"))
            .ours(table::rate(ours))
            .theirs("compare-and-append with retries", table::rate(theirs))
            .at_least_times(5.0, theirs.median, ours.median, "naive retries"),
        Row::new("HTTP: the slowest of these writers, of the fastest")
            .ours(format!("{slowest} of {fastest} appends"))
            .bar("≥ 0.5", share >= 0.5),
    ]
}

/// Measures the time from the start of a node over the sessions of this machine to its first answer.
fn start(bench: &Bench) -> Row {
    let count = if bench.quick { super::QUICK_SESSIONS } else { 10_000 };
    let directory = bench.data.directory(count as u64);
    let state = tempfile::tempdir().unwrap();
    let (variables, path) = ([("TREERING_SESSIONS", directory.to_str().unwrap())], "/v1/sessions");
    let mut times = Vec::new();
    let mut memory = 0;
    for round in 0..=bench.rounds(5) {
        let mut node = None;
        let took = ms(|| {
            let started = Node::start(bench, state.path(), &variables, &[]);
            let (status, answer) = started.client().request("GET", path, "", "");
            assert_eq!(status, 200, "{answer}");
            node = Some(started);
        });
        memory = node.map_or(0, |node| node.memory());
        // The first round fills the cache of the list.
        if round > 0 {
            times.push(took);
        }
    }
    let times = Stat::of(&times);
    let what = format!(
        "HTTP: start to the first list of {} local sessions, and memory then",
        table::thousands(count)
    );
    let is_met = times.median <= 100.0 && memory <= 40_000_000;
    Row::new(what)
        .ours(format!("{}, {}", table::time(times), table::mebibytes(memory)))
        .bar("≤ 100 ms, ≤ 40 MB", is_met)
}
