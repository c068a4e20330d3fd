//! Reading: few round trips for logs of any length, and the same contexts as from files.

use crate::{create, id, store};
use std::sync::Arc;
use treering::storage::{Journal, MemoryJournal};
use treering::store::Store;
use treering::{CreateOptions, Message, NewEntry, OpenOptions, Session};
use treering_testkit::corpus;
use treering_testkit::generate::{Plan, session_bytes, small};
use treering_testkit::model::{self, Model};

#[test]
fn the_end_of_a_long_log_takes_few_round_trips() {
    let Some(ours) = store("tail") else { return };
    let log = session_bytes(&Plan::bytes(3, 12_000_000)).0;
    create(&ours, "tail", &log);
    let reader = store("tail").expect("a server");
    let journal = reader.open(&id("tail")).expect("open");
    let length = journal.len().expect("len");
    let read = |from: u64| {
        let mut bytes = vec![0; 64 * 1024];
        let got = journal.read_at(from, &mut bytes).expect("read");
        assert!(got > 0 && bytes[..got] == log[from as usize..][..got]);
        from + got as u64
    };
    let tail = length - 512 * 1024;
    read(1_000_000); // Prepares the statement.
    let before = reader.statistics().round_trips;
    let mut at = read(tail - 700_000);
    while at < length {
        at = read(at);
    }
    for from in (tail..length - 70_000).step_by(33_333) {
        read(from);
    }
    let trips = reader.statistics().round_trips - before;
    assert!((1..=3).contains(&trips), "{trips} round trips for 1.2 MB");

    // From start to end, in few round trips.
    let before = reader.statistics().round_trips;
    let mut at = 0;
    while at < length {
        at = read(at);
    }
    let trips = reader.statistics().round_trips - before;
    assert!(trips <= 12, "{trips} round trips for 12 MB");
}

#[test]
fn the_active_context_takes_three_round_trips() {
    let Some(ours) = store("context") else { return };
    let mut log = String::from(
        "{\"type\":\"session\",\"version\":3,\"id\":\"context\",\"timestamp\":\"2026-01-05T09:00:00.000Z\",\"cwd\":\"/\"}\n",
    );
    let mut add = |kind: &str, number: usize, more: &str| {
        let parent = match number {
            0 => "null".to_owned(),
            _ => format!("\"e{:07}\"", number - 1),
        };
        log.push_str(&format!(
            "{{\"type\":\"{kind}\",\"id\":\"e{number:07}\",\"parentId\":{parent},\"timestamp\":\"2026-01-05T09:00:01.000Z\",{more}}}\n"
        ));
    };
    let text = format!("\"message\":{{\"role\":\"user\",\"content\":\"{}\"}}", "word ".repeat(200));
    for number in 0..6000 {
        match number {
            5900 => add("model_change", number, "\"provider\":\"acme\",\"modelId\":\"oak\""),
            5901 => add("thinking_level_change", number, "\"thinkingLevel\":\"high\""),
            5930 => add(
                "compaction",
                number,
                "\"summary\":\"so far\",\"tokensBefore\":9,\"firstKeptEntryId\":\"e0005920\"",
            ),
            _ => add("message", number, &text),
        }
    }
    create(&ours, "context", log.as_bytes());
    let expected = {
        let memory = Arc::new(MemoryJournal::new(log.into_bytes()));
        Session::in_journal(memory, "/", CreateOptions::new()).expect("open").context()
    };
    let context = |store: &treering_postgres::PostgresStore| {
        let journal = store.open(&id("context")).expect("open");
        let before = store.statistics().round_trips;
        let context = treering::active_context_of(journal).expect("context");
        (context, store.statistics().round_trips - before)
    };
    let reader = store("context").expect("a server");
    context(&reader); // Prepares the statements.
    let (context, trips) = context(&reader);
    assert_eq!(context, expected.expect("context"));
    assert!(trips <= 3, "{trips} round trips");
}

#[test]
fn a_session_is_what_the_model_says() {
    let Some(ours) = store("model") else { return };
    let ours: Arc<dyn Store> = Arc::new(ours);
    for seed in 0..8 {
        let log = small(seed, 60);
        let name = id(&format!("model-{seed}"));
        ours.create(&name, &mut &*log).expect("create");
        let session = Session::open_in(&ours, &name, OpenOptions::new()).expect("open");
        let mut model = Model::read(&log).expect("a session");
        let ids: Vec<String> = session.tree().ids().map(|id| id.to_string()).collect();
        model.adopt_derived(&ids);
        assert_eq!(ids, model.ids());
        assert_eq!(session.leaf().map(|id| id.to_string()), model.leaf());
        for leaf in model.leaves() {
            let context = session.context_at(&leaf).expect("context");
            let messages: Vec<_> = context
                .messages
                .iter()
                .map(|message| (message.entry.to_string(), model::value(&message.json)))
                .collect();
            let expected: Vec<_> = model
                .context(Some(&leaf))
                .messages
                .into_iter()
                .map(|message| (message.entry, Some(message.value)))
                .collect();
            assert_eq!(messages, expected, "at {leaf} of seed {seed}");
        }
    }
}

#[test]
fn the_corpus_reads_as_from_files() {
    let Some(ours) = store("corpus") else { return };
    let ours: Arc<dyn Store> = Arc::new(ours);
    let mut compared = 0;
    for (number, path) in corpus::files().iter().enumerate() {
        let bytes = std::fs::read(path).expect("a file");
        let name = id(&format!("corpus-{number}"));
        ours.create(&name, &mut &*bytes).expect("create");
        let journal = ours.open(&name).expect("open");
        // The same bytes in memory: a file also has neighbors, such as those of its subagents.
        let memory: Arc<dyn Journal> = Arc::new(MemoryJournal::new(bytes));
        assert_eq!(corpus::shown(journal), corpus::shown(memory), "{}", path.display());
        compared += 1;
    }
    println!("{compared} sessions of the corpus read as from files");
}

/// Returns a log of which the first entry sets the thinking level, and its last entry is
/// `e0005999`.
fn level_at_the_start(name: &str) -> String {
    let mut log = format!(
        "{{\"type\":\"session\",\"version\":3,\"id\":\"{name}\",\"timestamp\":\"2026-01-05T09:00:00.000Z\",\"cwd\":\"/\"}}\n"
    );
    let text = "word ".repeat(200);
    for number in 0..6000_usize {
        let parent = match number {
            0 => "null".to_owned(),
            _ => format!("\"e{:07}\"", number - 1),
        };
        let rest = match number {
            0 => "thinking_level_change\",\"thinkingLevel\":\"high\"".to_owned(),
            _ => format!(
                "message\",\"message\":{{\"role\":\"assistant\",\"provider\":\"acme\",\"model\":\"oak\",\"content\":\"{text}\"}}"
            ),
        };
        let (kind, fields) = rest.split_once("\",").expect("a kind");
        log.push_str(&format!(
            "{{\"type\":\"{kind}\",\"id\":\"e{number:07}\",\"parentId\":{parent},\"timestamp\":\"2026-01-05T09:00:01.000Z\",{fields}}}\n"
        ));
    }
    log
}

#[test]
fn the_level_set_at_the_start_is_known_at_the_end() {
    let Some(ours) = store("checkpoint") else { return };
    create(&ours, "level", level_at_the_start("level").as_bytes());
    let shared: Arc<dyn Store> = Arc::new(ours.clone());
    let writer = Session::open_in(&shared, &id("level"), OpenOptions::new()).expect("open");
    let kept = "e0005980".into();
    writer.append(NewEntry::compaction("so far", Some(&kept), 9)).expect("compact");
    let reader = store("checkpoint").expect("a server");
    let context = || {
        let journal = reader.open(&id("level")).expect("open");
        let before = reader.statistics().round_trips;
        let context = treering::active_context_of(journal).expect("context");
        let whole = Session::open_in(&shared, &id("level"), OpenOptions::new()).expect("open");
        assert_eq!(context, whole.context().expect("context"));
        (context.thinking_level, reader.statistics().round_trips - before)
    };
    context(); // Prepares the statements.
    let (level, trips) = context();
    assert_eq!(level, "high");
    assert!(trips <= 3, "{trips} round trips");

    // A release that knows no checkpoints takes the last append back and makes another one, which
    // gives the first
    // entry another meaning.
    let journal = shared.open(&id("level")).expect("open");
    let length = journal.len().expect("len");
    let line = format!(
        "{:<180}\n",
        "{\"type\":\"custom\",\"id\":\"e0000000\",\"parentId\":null,\"customType\":\"x\"}"
    );
    writer.append(Message::user("more")).expect("append");
    let server = crate::server().expect("a server");
    let sql = |sql: &str| {
        let sql = format!("SET treering.space = 'checkpoint'; {sql}");
        server.sql_as("treering", "shared", &sql).expect("sql");
    };
    assert_eq!(context().0, "high");
    sql(&format!(
        "UPDATE treering.lines SET bytes = '{line}' WHERE session = 'level' AND at = {length};
         UPDATE treering.sessions SET length = {length} + {}, generation = generation + 1 WHERE id = 'level'",
        line.len()
    ));
    assert_eq!(context().0, "off");
}
