//! Rows about appends.

use super::PeerRuns;
use crate::Bench;
use crate::measure::{Stat, ms};
use crate::table::{self, Row};
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::sync::Barrier;
use treering::session::{Creation, Durability};
use treering::{CreateOptions, Message, Session};

/// The number of bytes of text in a message.
const BYTES: usize = 1024;

/// Measures appends of messages that are in the file when the call returns, next to bare writes.
pub(crate) fn plain(bench: &Bench) -> Vec<Row> {
    let count = if bench.quick { 2_000 } else { 10_000 };
    let text = "x".repeat(BYTES);
    let mut peer_runs = PeerRuns::of(&bench.peers);
    let (mut ours, mut bare) = (Vec::new(), Vec::new());
    for _ in 0..bench.rounds(7) {
        let dir = bench.data.scratch();
        let session = create(dir.path(), Durability::None);
        let line = first_line(&session, &text);
        let mut file = appending(&dir.path().join("bare"));
        let (mut appends, mut writes) = (Vec::new(), Vec::new());
        for _ in 0..count {
            appends.push(ms(|| session.append(Message::user(&text)).unwrap()));
            writes.push(ms(|| file.write_all(&line).unwrap()));
        }
        ours.push(Stat::of(&appends).median);
        bare.push(Stat::of(&writes).median);
        for peer_runs in &mut peer_runs {
            let dir = bench.data.scratch();
            peer_runs.ask(&[&"append", &dir.path(), &count.to_string(), &BYTES.to_string()]);
        }
    }
    let (ours, bare) = (Stat::of(&ours), Stat::of(&bare));
    let mut row = Row::new("append of a 1 KB message, durability none, p50")
        .ours(table::time(ours))
        .theirs("bare write", table::time(bare));
    for peer_runs in &peer_runs {
        if let Some(Stat { median, low, high }) = peer_runs.sum(&["p50_us"]) {
            let stat = Stat { median: median / 1000.0, low: low / 1000.0, high: high / 1000.0 };
            row = row.theirs(peer_runs.name(), table::time(stat));
        }
    }
    vec![row.at_most_times(3.0, ours.median, bare.median)]
}

/// Messages that are on disk when the append returns, from eight threads that each wait for theirs.
pub(crate) fn durable(bench: &Bench) -> Vec<Row> {
    const THREADS: usize = 8;
    let each = if bench.quick { 50 } else { 200 };
    let text = "x".repeat(BYTES);
    let dir = bench.data.scratch();
    let session = create(dir.path(), Durability::Each);
    let line = first_line(&session, &text);
    let [alone, shared, together] =
        ["alone", "shared", "together"].map(|name| appending(&dir.path().join(name)));
    let write = |mut file: &File| {
        file.write_all(&line).unwrap();
        file.sync_data().unwrap();
    };
    let lines = line.repeat(THREADS);
    let barrier = Barrier::new(THREADS);
    let meet = || {
        if barrier.wait().is_leader() {
            (&together).write_all(&lines).unwrap();
            together.sync_data().unwrap();
        }
        barrier.wait();
    };
    let (mut ours, mut one, mut eight, mut ideal) = <(Vec<_>, Vec<_>, Vec<_>, Vec<_>)>::default();
    for _ in 0..bench.rounds(9) {
        ours.push(per_second(THREADS, each, || {
            drop(session.append(Message::user(&text)).unwrap())
        }));
        one.push(per_second(1, each, || write(&alone)));
        eight.push(per_second(THREADS, each, || write(&shared)));
        ideal.push(per_second(THREADS, each, meet));
    }
    let [ours, one, eight, ideal] = [ours, one, eight, ideal].map(|rates| Stat::of(&rates));
    let row = Row::new("appends of 1 KB, durability each, 8 threads")
        .ours(table::rate(ours))
        .theirs("write + fdatasync: 1 thread", table::rate(one))
        .theirs("8 threads", table::rate(eight));
    let limit = Row::new("the same against threads that meet for one write and one sync")
        .ours(table::rate(ours))
        .theirs("8 threads at a barrier", table::rate(ideal));
    vec![
        row.at_least_times(4.0, one.median, ours.median, "1 thread"),
        limit.at_least_times(0.7, ideal.median, ours.median, "the barrier"),
    ]
}

/// Returns how many times a second `threads` together do something that each does `times` times.
fn per_second(threads: usize, times: usize, work: impl Fn() + Sync) -> f64 {
    let took = ms(|| {
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| (0..times).for_each(|_| work()));
            }
        });
    });
    (threads * times) as f64 / took * 1000.0
}

fn create(dir: &Path, durability: Durability) -> Session {
    let options = CreateOptions::new().creation(Creation::AtOnce).durability(durability);
    Session::create_at(dir.join("session.jsonl"), "/project", options).unwrap()
}

/// Appends a message; the bytes that this wrote.
fn first_line(session: &Session, text: &str) -> Vec<u8> {
    session.append(Message::user(text)).unwrap();
    let bytes = std::fs::read(session.path().unwrap()).unwrap();
    let header = memchr::memchr(b'\n', &bytes).unwrap();
    bytes[header + 1..].to_vec()
}

fn appending(path: &Path) -> File {
    OpenOptions::new().append(true).create_new(true).open(path).unwrap()
}
