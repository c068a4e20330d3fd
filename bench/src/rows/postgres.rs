//! Rows about sessions in PostgreSQL, compared with bare statements of the same client on the same
//! server, with fsync on.

use crate::Bench;
use crate::measure::{Stat, ms};
use crate::table::{self, Row};
use std::sync::{Arc, Barrier};
use treering::session::Creation;
use treering::storage::{End, Journal};
use treering::store::Store;
use treering::{CreateOptions, Message, OpenOptions, Session, SessionId};
use treering_postgres::internal::RawClient;
use treering_postgres::{PostgresOptions, PostgresStore};
use treering_testkit::generate::{self, Plan};
use treering_testkit::postgres::Server;

/// The number of bytes of text in a message.
const BYTES: usize = 1024;

/// Writers that append at the same time.
const WRITERS: usize = 64;

const INSERT: &str = "INSERT INTO bare (line) VALUES ($1)";

/// A server with a database, a table of bare lines, and a store.
struct Setting {
    server: Server,
    store: Arc<dyn Store>,
    postgres: PostgresStore,
    url: String,
}

impl Setting {
    fn start() -> Option<Setting> {
        let server = Server::start()?;
        server.create_database("bench");
        let url = server.url("bench");
        let options = PostgresOptions::new().connections(WRITERS);
        PostgresStore::init(&url, &options).unwrap();
        let postgres = PostgresStore::connect(&url, &options).unwrap();
        let table = "CREATE TABLE bare (id bigserial PRIMARY KEY, line bytea NOT NULL)";
        server.sql_as("treering", "bench", table).unwrap();
        let store: Arc<dyn Store> = Arc::new(postgres.clone());
        Some(Setting { server, store, postgres, url })
    }

    fn session(&self, name: &str) -> Session {
        let options = CreateOptions::new().id(SessionId::new(name).unwrap());
        Session::create_in(&self.store, "/project", options.creation(Creation::AtOnce)).unwrap()
    }

    fn client(&self) -> RawClient {
        RawClient::connect(&self.url).unwrap()
    }

    /// Returns the bytes of the tables, without those that a rewrite would free.
    fn stored(&self) -> u64 {
        self.server.sql("bench", "VACUUM FULL treering.sessions");
        let sql = "SELECT sum(pg_total_relation_size(c.oid)) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
            WHERE n.nspname = 'treering' AND c.relkind = 'r'";
        self.server.sql("bench", sql).parse().unwrap()
    }
}

pub(crate) fn rows(bench: &Bench) -> Vec<Row> {
    let Some(setting) = Setting::start() else {
        return vec![Row::new("sessions in PostgreSQL").untried("PostgreSQL is not installed")];
    };
    let mut rows = vec![append(bench, &setting), many_writers(bench, &setting)];
    rows.extend(contexts(bench, &setting));
    rows.push(scan(bench, &setting));
    rows.push(stored_bytes(bench, &setting));
    rows
}

fn append(bench: &Bench, setting: &Setting) -> Row {
    let count = if bench.quick { 300 } else { 2_000 };
    let text = "x".repeat(BYTES);
    let session = setting.session("append");
    session.append(Message::user(&text)).unwrap();
    let line = last_line(setting, "append");
    let mut client = setting.client();
    let (mut ours, mut bare) = (Vec::new(), Vec::new());
    for _ in 0..bench.rounds(5) {
        let (mut appends, mut inserts) = (Vec::new(), Vec::new());
        for _ in 0..count {
            appends.push(ms(|| session.append(Message::user(&text)).unwrap()));
            inserts.push(ms(|| client.execute(INSERT, &[&line]).unwrap()));
        }
        ours.push(Stat::of(&appends).median);
        bare.push(Stat::of(&inserts).median);
    }
    let (ours, bare) = (Stat::of(&ours), Stat::of(&bare));
    Row::new("PostgreSQL: append of a 1 KB message, row-level security on, p50")
        .ours(table::time(ours))
        .theirs("one prepared INSERT and commit", table::time(bare))
        .at_most_times(1.4, ours.median, bare.median)
}

/// Returns the last line of a session.
fn last_line(setting: &Setting, name: &str) -> Vec<u8> {
    let journal = setting.store.open(&SessionId::new(name).unwrap()).unwrap();
    let mut bytes = vec![0; journal.len().unwrap() as usize];
    let got = journal.read_at(0, &mut bytes).unwrap();
    let text = &bytes[..got];
    let start = text[..got - 1].iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
    text[start..].to_vec()
}

fn many_writers(bench: &Bench, setting: &Setting) -> Row {
    let each = if bench.quick { 20 } else { 100 };
    let line = last_line(setting, "append");
    let journals: Vec<Arc<dyn Journal>> = (0..WRITERS)
        .map(|writer| {
            setting.session(&format!("writer-{writer}"));
            let id = SessionId::new(&format!("writer-{writer}")).unwrap();
            setting.store.open(&id).unwrap()
        })
        .collect();
    let mut clients: Vec<RawClient> = (0..WRITERS).map(|_| setting.client()).collect();
    let (mut ours, mut bare, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..=if bench.quick { 5 } else { 9 } {
        let appends = per_second(&mut journals.iter().collect::<Vec<_>>(), each, |journal| {
            let mut length = journal.len().unwrap();
            for _ in 0..each {
                journal.append(&End::from(length), &line).unwrap();
                length += line.len() as u64;
            }
        });
        let inserts = per_second(&mut clients.iter_mut().collect::<Vec<_>>(), each, |client| {
            for _ in 0..each {
                client.execute(INSERT, &[&line]).unwrap();
            }
        });
        // The first round connects and prepares.
        if round > 0 {
            ours.push(appends);
            bare.push(inserts);
            ratios.push(appends / inserts);
        }
    }
    let [ours, bare, ratio] = [ours, bare, ratios].map(|values| Stat::of(&values));
    Row::new(format!("PostgreSQL: {WRITERS} writers on {WRITERS} sessions, 1 KB lines"))
        .ours(table::rate(ours))
        .theirs(&format!("INSERT by {WRITERS} clients"), table::rate(bare))
        .times_as_long(ratio.median, 1.0)
        .bar("≥ 0.6 ×", ratio.median >= 0.6)
}

/// Returns how many times a second all workers together do something that each does `each` times.
fn per_second<T: Send>(workers: &mut [T], each: usize, work: impl Fn(&mut T) + Sync) -> f64 {
    let count = workers.len();
    let barrier = Barrier::new(count + 1);
    let took = std::thread::scope(|scope| {
        let threads: Vec<_> = workers
            .iter_mut()
            .map(|worker| {
                let (barrier, work) = (&barrier, &work);
                scope.spawn(move || {
                    barrier.wait();
                    work(worker);
                })
            })
            .collect();
        barrier.wait();
        ms(|| threads.into_iter().for_each(|thread| thread.join().unwrap()))
    });
    (count * each) as f64 / took * 1000.0
}

/// The line of an entry in a chain.
fn entry(kind: &str, number: usize, more: &str) -> String {
    let parent = match number {
        0 => "null".to_owned(),
        _ => format!("\"e{:07}\"", number - 1),
    };
    format!(
        "{{\"type\":\"{kind}\",\"id\":\"e{number:07}\",\"parentId\":{parent},\"timestamp\":\"2026-01-05T09:00:01.000Z\",{more}}}\n"
    )
}

fn message(words: usize) -> String {
    format!("\"message\":{{\"role\":\"user\",\"content\":\"{}\"}}", "a word, ".repeat(words))
}

/// Creates a chain of `entries` entries, `in_a_row` of them in one row of the database, that ends with a compaction
/// and 100 messages of 1 KB, each in a row of its own. Returns its length in bytes.
fn long_session(setting: &Setting, name: &str, entries: usize, in_a_row: usize) -> u64 {
    let id = SessionId::new(name).unwrap();
    let header = format!(
        "{{\"type\":\"session\",\"version\":3,\"id\":\"{name}\",\"timestamp\":\"2026-01-05T09:00:00.000Z\",\"cwd\":\"/project\"}}\n"
    );
    let journal = setting.store.create(&id, &mut header.as_bytes()).unwrap();
    let mut length = header.len();
    let first = entry("message", 0, &message(35));
    journal.append(&End::from(length as u64), first.as_bytes()).unwrap();
    length += first.len();
    // Loaded by the database, as rows that an agent would have written, or several in one append.
    let line = entry("message", 1, &message(35));
    let (size, chain) = (line.len(), entries - 120);
    let sql = format!(
        "SET treering.space = 'default';
         INSERT INTO treering.lines SELECT 'default', '{name}', {length} + (min(n) - 1) * {size}::bigint,
           string_agg(convert_to(replace(replace($t${line}$t$, 'e0000001', 'e' || lpad(n::text, 7, '0')),
             'e0000000', 'e' || lpad((n - 1)::text, 7, '0')), 'UTF8'), ''::bytea ORDER BY n)
           FROM generate_series(1, {chain}) n GROUP BY (n - 1) / {in_a_row};
         UPDATE treering.sessions SET length = {length} + {chain} * {size}::bigint WHERE id = '{name}'"
    );
    setting.server.sql_as("treering", "bench", &sql).unwrap();
    let mut length = journal.len().unwrap();
    for number in chain + 1..entries {
        let line = match number - chain {
            1 => entry("model_change", number, "\"provider\":\"acme\",\"modelId\":\"oak\""),
            2 => entry("thinking_level_change", number, "\"thinkingLevel\":\"high\""),
            15 => {
                let kept = format!("\"firstKeptEntryId\":\"e{:07}\"", number - 8);
                entry(
                    "compaction",
                    number,
                    &format!("\"summary\":\"so far\",\"tokensBefore\":9,{kept}"),
                )
            }
            _ => entry("message", number, &message(120)),
        };
        journal.append(&End::from(length), line.as_bytes()).unwrap();
        length += line.len() as u64;
    }
    length
}

fn contexts(bench: &Bench, setting: &Setting) -> Vec<Row> {
    let many = 1_000_000;
    long_session(setting, "short", 1_000, 1);
    // Loading as many rows takes longest.
    let size = long_session(setting, "long", many, if bench.quick { 500 } else { 1 });
    setting.server.sql("bench", "VACUUM ANALYZE treering.lines");
    let read = |name: &str| {
        let id = SessionId::new(name).unwrap();
        let journal = setting.store.open(&id).unwrap();
        let before = setting.postgres.statistics().round_trips;
        let mut messages = 0;
        let took = ms(|| {
            let context = treering::active_context_of(Arc::clone(&journal)).unwrap();
            messages = context.messages.len();
        });
        (took, setting.postgres.statistics().round_trips - before, messages)
    };
    // From here on the peak is that of reading contexts.
    let memory = memory("VmRSS:");
    let _ = std::fs::write("/proc/self/clear_refs", "5");
    let cold = read("long").0;
    read("short");
    let mut trips = 0;
    let (mut long, mut short) = (Vec::new(), Vec::new());
    for _ in 0..if bench.quick { 15 } else { 61 } {
        let (took, round_trips, messages) = read("long");
        trips = trips.max(round_trips);
        long.push(took);
        let (took, _, same) = read("short");
        short.push(took);
        assert_eq!(messages, same, "the same context");
    }
    let grown = self::memory("VmHWM:").saturating_sub(memory);
    let (long, short) = (Stat::of(&long), Stat::of(&short));
    vec![
        Row::new(format!(
            "PostgreSQL: context at the leaf of {} entries ({}); first time {:.1} ms",
            table::thousands(many),
            table::mebibytes(size),
            cold
        ))
        .ours(table::time(long))
        .theirs("1,000 entries with the same tail", table::time(short))
        .at_most_times(1.2, long.median, short.median),
        Row::new("PostgreSQL: round trips and memory for that context")
            .ours(format!("{trips}, {} more", table::mebibytes(grown)))
            .bar("≤ 3, ≤ 20 MB", trips <= 3 && grown <= 20_000_000),
    ]
}

/// The memory that this process has (`VmRSS:`) or has needed at most (`VmHWM:`), in bytes.
fn memory(what: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(what));
    let kilobytes = line.and_then(|line| line.trim().split(' ').next()?.parse::<u64>().ok());
    kilobytes.unwrap_or(0) * 1024
}

fn scan(bench: &Bench, setting: &Setting) -> Row {
    let id = SessionId::new("long").unwrap();
    let journal = setting.store.open(&id).unwrap();
    let length = journal.len().unwrap();
    let (mut raw, mut opened) = (Vec::new(), Vec::new());
    for _ in 0..bench.rounds(3) {
        let mut buffer = vec![0; 256 * 1024];
        raw.push(ms(|| {
            let mut at = 0;
            while at < length {
                at += journal.read_at(at, &mut buffer).unwrap() as u64;
            }
        }));
        opened.push(ms(|| Session::open_in(&setting.store, &id, OpenOptions::new()).unwrap()));
    }
    let rate = |ms: f64| format!("{:.0} MB/s", length as f64 / 1000.0 / ms);
    let (raw, opened) = (Stat::of(&raw), Stat::of(&opened));
    Row::new(format!("PostgreSQL: reading all of it, {}", table::mebibytes(length))).ours(format!(
        "{} ({}); opened as a session {}",
        table::time(raw),
        rate(raw.median),
        table::time(opened)
    ))
}

fn stored_bytes(bench: &Bench, setting: &Setting) -> Row {
    let log =
        generate::session_bytes(&Plan::entries(9, if bench.quick { 3_000 } else { 20_000 })).0;
    setting.server.sql("bench", "TRUNCATE treering.lines, treering.sessions, treering.facts");
    let empty = setting.stored();
    let mut lines = log.split_inclusive(|&byte| byte == b'\n');
    let id = SessionId::new("stored").unwrap();
    let journal = setting.store.create(&id, &mut lines.next().unwrap()).unwrap();
    let mut length = journal.len().unwrap();
    for line in lines {
        journal.append(&End::from(length), line).unwrap();
        length += line.len() as u64;
    }
    let stored = setting.stored() - empty;
    Row::new("PostgreSQL: bytes stored of a session of 2 KB entries, one append each")
        .ours(table::mebibytes(stored))
        .theirs("raw lines", table::mebibytes(length))
        .at_most_times(1.5, stored as f64, length as f64)
}
