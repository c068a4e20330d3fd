//! Rows about sessions in PostgreSQL, compared with those of other frameworks on the same server:
//! threads of 2,000 messages, with fsync on.

use crate::Bench;
use crate::measure::{self, Stat, Stdout, ms};
use crate::table::{self, Row};
use serde_json::Value;
use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;
use treering::session::Creation;
use treering::store::Store;
use treering::{CreateOptions, Message, NewEntry, Session, SessionId};
use treering_postgres::{PostgresOptions, PostgresStore};
use treering_testkit::postgres::Server;

const MESSAGES: usize = 2_000;

/// The number of bytes of text in a message.
const BYTES: usize = 1024;

/// The messages that a compaction keeps.
const KEPT: usize = 100;

/// The frameworks, as the driver names them, and as the table does.
const FRAMEWORKS: [(&str, &str); 3] = [
    ("openai", "OpenAI Agents SQLAlchemySession"),
    ("langgraph", "LangGraph PostgresSaver"),
    ("delta", "LangGraph with DeltaChannel"),
];

/// The times of a framework, in milliseconds.
#[derive(Default)]
struct Times {
    append: Vec<f64>,
    read: Vec<f64>,
    /// LangGraph alone: storing a checkpoint that was made before.
    put: Vec<f64>,
}

impl Times {
    fn ask(&mut self, python: &Path, kind: &str, url: &str, rounds: usize) {
        let driver = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers/stores.py");
        let mut command = vec![python.into(), driver.into_os_string()];
        let [messages, bytes, rounds] = [MESSAGES, BYTES, rounds].map(|number| number.to_string());
        let words = [kind, url, &messages, &bytes, &rounds];
        command.extend(words.map(OsString::from));
        let process = measure::process(&command, Stdout::Keep);
        let answer: Value = serde_json::from_str(process.stdout.trim_end()).unwrap();
        assert!(answer["messages"].as_u64().unwrap() >= MESSAGES as u64, "{answer}");
        self.append.push(answer["append_ms"].as_f64().unwrap());
        self.read.push(answer["read_ms"].as_f64().unwrap());
        self.put.extend(answer["least_append_ms"].as_f64());
    }
}

pub(crate) fn rows(bench: &Bench) -> Vec<Row> {
    let what = "PostgreSQL, next to other frameworks";
    let Some(python) = bench.frameworks.as_deref() else {
        return vec![Row::new(what).untried("bench/peers/install.sh installs them")];
    };
    let Some(server) = Server::start() else {
        return vec![Row::new(what).untried("PostgreSQL is not installed")];
    };
    server.create_database("bench");
    let (url, options) = (server.url("bench"), PostgresOptions::new());
    PostgresStore::init(&url, &options).unwrap();
    let store: Arc<dyn Store> = Arc::new(PostgresStore::connect(&url, &options).unwrap());
    let all = session(&store, "all");
    let compacted = session(&store, "compacted");
    compact(&compacted);
    // The appends of an agent that continues a session.
    compacted.append_all(&settings()).unwrap();
    let unset = session(&store, "unset");
    compact(&unset);

    let rounds = if bench.quick { 10 } else { 30 };
    let (mut append, mut seen, mut whole, mut read) = <(Vec<_>, Vec<_>, Vec<_>, Vec<_>)>::default();
    let mut theirs = FRAMEWORKS.map(|_| Times::default());
    for _ in 0..bench.rounds(3) {
        let [mut appends, mut contexts, mut wholes, mut reads] = [const { Vec::new() }; 4];
        for number in 0..rounds {
            appends.push(ms(|| compacted.append(message(number)).unwrap()));
            contexts.push(ms(|| assert!(context(&store, "compacted") > KEPT)));
            wholes.push(ms(|| assert!(context(&store, "unset") > KEPT)));
            reads.push(ms(|| assert_eq!(context(&store, "all"), MESSAGES)));
        }
        append.push(Stat::of(&appends).median);
        seen.push(Stat::of(&contexts).median);
        whole.push(Stat::of(&wholes).median);
        read.push(Stat::of(&reads).median);
        for ((kind, _), times) in FRAMEWORKS.iter().zip(&mut theirs) {
            times.ask(python, kind, &url, rounds);
        }
    }
    drop((all, unset));
    let [append, seen, whole, read] = [append, seen, whole, read].map(|times| Stat::of(&times));
    let with_all = |row: Row, times: fn(&Times) -> &Vec<f64>| {
        FRAMEWORKS.iter().zip(&theirs).fold(row, |row, ((_, name), theirs)| {
            row.theirs(name, table::time(Stat::of(times(theirs))))
        })
    };
    let median = |times: &[f64]| Stat::of(times).median;
    let [openai, langgraph, delta] = theirs.each_ref().map(|times| median(&times.append));
    let langgraph = langgraph.min(delta);
    let row = Row::new(format!("PostgreSQL: append to {} messages", table::thousands(MESSAGES)))
        .ours(table::time(append));
    let is_met = openai >= 3.0 * append.median && langgraph >= 20.0 * append.median;
    let put = table::time(Stat::of(&theirs[1].put));
    let append = with_all(row, |times| &times.append)
        .theirs("of which `put` of LangGraph", put)
        .times_as_fast(append.median, openai)
        .bar("≥ 3 × OpenAI, ≥ 20 × LangGraph", is_met);
    let best = theirs.iter().map(|times| median(&times.read)).fold(f64::INFINITY, f64::min);
    let row = Row::new(format!("PostgreSQL: what the model sees, all but {KEPT} compacted"));
    let seen = with_all(row.ours(table::time(seen)), |times| &times.read).at_least_times(
        5.0,
        seen.median,
        best,
        "the better",
    );
    let row = Row::new("PostgreSQL: the same, thinking level set at the start only");
    let whole = row.ours(table::time(whole)).at_least_times(5.0, whole.median, best, "the better");
    let row = Row::new(format!("PostgreSQL: all {} messages", table::thousands(MESSAGES)));
    let read = with_all(row.ours(table::time(read)), |times| &times.read).at_least_times(
        3.0,
        read.median,
        best,
        "the better",
    );
    vec![append, seen, whole, read]
}

/// Replaces all but the last messages by a summary.
fn compact(session: &Session) {
    let mut path = session.path_to(treering::Position::Leaf).unwrap();
    let first = path.nth(MESSAGES - KEPT).unwrap().unwrap();
    let summary = NewEntry::compaction("What happened so far.", Some(first.id()), 9);
    session.append(summary).unwrap();
}

fn message(number: usize) -> NewEntry {
    let text = format!("{:<BYTES$}", format!("{number} "));
    match number.is_multiple_of(2) {
        true => Message::user(&text).into(),
        false => Message::assistant("acme", "oak", &text).into(),
    }
}

/// Returns the settings that an agent writes when it begins.
fn settings() -> [NewEntry; 2] {
    [NewEntry::model_change("acme", "oak"), NewEntry::thinking_level_change("high")]
}

/// Creates a thread, each message an append of its own.
fn session(store: &Arc<dyn Store>, name: &str) -> Session {
    let options = CreateOptions::new().id(SessionId::new(name).unwrap());
    let options = options.creation(Creation::AtOnce);
    let session = Session::create_in(store, "/project", options).unwrap();
    session.append_all(&settings()).unwrap();
    for number in 0..MESSAGES {
        session.append(message(number)).unwrap();
    }
    session
}

/// Reads the context of a session that is not open. Returns the number of its messages.
fn context(store: &Arc<dyn Store>, name: &str) -> usize {
    let journal = store.open(&SessionId::new(name).unwrap()).unwrap();
    treering::active_context_of(journal).unwrap().messages.len()
}
