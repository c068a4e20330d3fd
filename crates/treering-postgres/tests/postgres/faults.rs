//! Faults: connections that break, servers that stop, pools that run out. Nothing acknowledged is
//! lost or doubled, and every call ends.

use crate::writers::{Account, assert_exactly_once, write};
use crate::{connect, contents, create, id};
use std::io::ErrorKind;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use treering::Error;
use treering::storage::{End, Journal, JournalError};
use treering::store::Store;
use treering_postgres::{PostgresOptions, PostgresStore};
use treering_testkit::postgres::Server;

/// Far more than any deadline of these tests: a call that takes longer hangs.
const HANGS: Duration = Duration::from_secs(60);

/// Starts a server of its own, with an initialized database.
fn own_server() -> Option<Server> {
    let server = Server::start()?;
    server.create_database("faults");
    PostgresStore::init(&server.url("faults"), &PostgresOptions::new()).expect("init");
    Some(server)
}

fn options(timeout: u64) -> PostgresOptions {
    PostgresOptions::new().timeout(Duration::from_millis(timeout))
}

/// The deadline of calls that must succeed, however busy the machine is.
const PATIENT: u64 = 60_000;

/// Returns what a call with a short deadline answers, other than that the deadline has passed: on a busy machine even a
/// healthy database may take longer.
fn in_time<T>(mut call: impl FnMut() -> treering::Result<T>) -> treering::Result<T> {
    let until = Instant::now() + HANGS;
    loop {
        match call() {
            Err(Error::Storage(error))
                if error.kind() == ErrorKind::TimedOut && Instant::now() < until => {}
            answer => return answer,
        }
    }
}

/// Appends a line to whatever the journal ends with. An append that was given up on may still be
/// carried out between the look at the end and the append.
fn append_at_end(journal: &dyn Journal, line: &[u8]) {
    let mut end = journal.len().expect("len");
    loop {
        match journal.append(&End::from(end), line) {
            Err(JournalError::Moved(now)) => end = now,
            result => {
                result.expect("append");
                return;
            }
        }
    }
}

/// Runs eight writers in four programs, half of them on one session, while `disturb` does its work.
fn write_through(url: &str, timeout: u64, disturb: impl FnOnce()) -> (usize, usize) {
    let programs: Vec<_> = (0..4).map(|_| connect(url, &options(timeout))).collect();
    create(&programs[0], "shared", b"{}\n");
    for writer in 0..4 {
        create(&programs[0], &format!("own-{writer}"), b"{}\n");
    }
    let stop = AtomicBool::new(false);
    let name = |writer: usize| match writer {
        0..4 => format!("own-{writer}"),
        _ => "shared".to_owned(),
    };
    let accounts: Vec<Account> = std::thread::scope(|scope| {
        let (stop, programs) = (&stop, &programs);
        let run = move |writer: usize| {
            let journal = programs[writer % 4].open(&id(&name(writer))).expect("open");
            write(&*journal, writer, usize::MAX, stop)
        };
        let threads: Vec<_> = (0..8).map(|writer| scope.spawn(move || run(writer))).collect();
        disturb();
        stop.store(true, Ordering::Relaxed);
        threads.into_iter().map(|thread| thread.join().expect("join")).collect()
    });
    let log = |name: &str| contents(&*programs[0].open(&id(name)).expect("open"));
    for (writer, account) in accounts.iter().take(4).enumerate() {
        assert_exactly_once(&log(&format!("own-{writer}")), std::slice::from_ref(account));
    }
    assert_exactly_once(&log("shared"), &accounts[4..]);
    let acknowledged = accounts.iter().map(|account| account.acknowledged.len()).sum();
    let failed = accounts.iter().map(|account| account.failed.len()).sum();
    let gap = accounts.iter().map(|account| account.gap).max().unwrap_or_default();
    println!(
        "{acknowledged} appends acknowledged, {failed} failed, none lost or doubled; longest pause of a writer {} ms",
        gap.as_millis()
    );
    assert!(acknowledged > 0);
    (acknowledged, failed)
}

#[test]
fn connections_that_break_between_commit_and_answer_lose_and_double_nothing() {
    let Some(server) = own_server() else { return };
    let terminate = "DO $$ BEGIN FOR i IN 1..40 LOOP PERFORM pg_stat_clear_snapshot();
        PERFORM pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'treering';
        PERFORM pg_sleep(0.05); END LOOP; END $$";
    let (_, failed) = write_through(&server.url("faults"), PATIENT, || {
        server.sql("postgres", terminate);
    });
    assert_eq!(failed, 0, "every append was carried over");
}

/// Waits until the writers have written `more` further lines.
fn await_lines(server: &Server, more: usize) {
    let count = || {
        let lines = server.sql("faults", "SELECT count(*) FROM treering.lines");
        lines.parse::<usize>().expect("a number")
    };
    let (enough, until) = (count() + more, Instant::now() + HANGS);
    while count() < enough {
        assert!(Instant::now() < until, "the writers do not go on");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_database_that_restarts_is_waited_for() {
    let Some(server) = own_server() else { return };
    let (_, failed) = write_through(&server.url("faults"), PATIENT, || {
        await_lines(&server, 60);
        server.stop();
        server.boot();
        await_lines(&server, 60);
        server.kill();
        server.boot();
        await_lines(&server, 60);
    });
    assert_eq!(failed, 0, "every append was carried over");
}

#[test]
fn a_database_that_does_not_answer_is_an_error_within_the_deadline() {
    let Some(server) = own_server() else { return };
    let patient = connect(&server.url("faults"), &options(PATIENT));
    create(&patient, "frozen", b"{}\n").append(&End::from(3), b"{\"n\":1}\n").expect("append");
    let (url, hasty) = (server.url("faults"), options(2500));
    let store = in_time(|| PostgresStore::connect(&url, &hasty)).expect("connect");
    let journal = in_time(|| store.open(&id("frozen"))).expect("open");
    server.freeze();
    let started = Instant::now();
    match journal.append(&End::from(11), b"{\"n\":2}\n") {
        Err(JournalError::Io(error)) => {
            assert_eq!(error.kind(), ErrorKind::TimedOut, "{error}");
            assert!(error.to_string().contains("postgres://treering@127.0.0.1"), "{error}");
            assert!(Error::Storage(error).is_retryable());
        }
        other => panic!("{other:?}"),
    }
    let opened = store.open(&id("frozen")).expect_err("a new connection does not help");
    assert!(opened.is_retryable(), "{opened}");
    assert!(started.elapsed() < HANGS);
    server.thaw();
    let journal = patient.open(&id("frozen")).expect("it answers again");
    append_at_end(&*journal, b"{\"n\":3}\n");
    let text = String::from_utf8(contents(&*journal)).expect("text");
    let (base, last) = ("{}\n{\"n\":1}\n", "{\"n\":3}\n");
    let carried_out = format!("{base}{{\"n\":2}}\n{last}");
    assert!(text == format!("{base}{last}") || text == carried_out, "carried out, or not: {text}");

    // Stopped for good.
    server.stop();
    let error = store.open(&id("frozen")).expect_err("nothing listens");
    assert!(error.is_retryable(), "{error}");
    assert!(started.elapsed() < HANGS);
}

/// A log that stops in the middle until it may continue.
struct SlowLog<'a> {
    left: usize,
    stopped: &'a Barrier,
    go_on: &'a Barrier,
}

impl std::io::Read for SlowLog<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.left == 0 {
            return Ok(0);
        }
        if self.left == 1 {
            self.stopped.wait();
            self.go_on.wait();
        }
        let count = buffer.len().min(self.left.saturating_sub(1).max(1));
        buffer[..count].fill(b'\n');
        self.left -= count;
        Ok(count)
    }
}

#[test]
fn a_pool_that_runs_out_is_an_error_within_the_deadline() {
    let Some(server) = crate::server() else { return };
    let options = options(3000).connections(1).space("exhausted");
    let store = connect(&server.url("shared"), &options);
    create(&store, "other", b"{}\n");
    let (stopped, go_on) = (Barrier::new(2), Barrier::new(2));
    std::thread::scope(|scope| {
        // A large log is written as it is read, so the only connection is in use meanwhile.
        let upload = scope.spawn(|| {
            let mut log = SlowLog { left: 9_000_000, stopped: &stopped, go_on: &go_on };
            store.create(&id("large"), &mut log).map(|journal| journal.len().expect("len"))
        });
        stopped.wait();
        let error = store.open(&id("other")).expect_err("no connection is free");
        assert!(error.to_string().contains("all 1 connections are in use"), "{error}");
        assert!(error.is_retryable());
        go_on.wait();
        assert_eq!(upload.join().expect("join").expect("create"), 9_000_000);
    });
    assert!(store.open(&id("other")).is_ok(), "the pool is whole again");
}

#[test]
fn connections_that_run_out_are_an_error_within_the_deadline() {
    let Some(server) = own_server() else { return };
    let patient = connect(&server.url("faults"), &options(PATIENT));
    for name in ["one", "two", "three"] {
        create(&patient, name, b"{}\n");
    }
    let (url, hasty) = (server.url("faults"), options(1000).connections(2));
    let store = in_time(|| PostgresStore::connect(&url, &hasty)).expect("connect");
    std::thread::scope(|scope| {
        // Another program holds the rows until all appends have failed, which wait with their connections.
        let holder = scope.spawn(|| {
            let hold = "BEGIN; UPDATE treering.sessions SET length = length; SELECT pg_sleep(120)";
            server.sql_as("postgres", "faults", hold)
        });
        let held =
            "FROM pg_stat_activity WHERE query LIKE '%pg_sleep(120)' AND wait_event = 'PgSleep'";
        while server.sql("postgres", &format!("SELECT count(*) {held}")) != "1" {
            assert!(!holder.is_finished(), "{:?}", holder.join());
        }
        let append = |name: &str| {
            let journal = store.open(&id(name)).map_err(|error| match error {
                Error::Storage(error) => error,
                other => panic!("{other}"),
            })?;
            match journal.append(&End::from(3), b"{\"n\":1}\n") {
                Err(JournalError::Io(error)) => Err(error),
                Err(other) => panic!("{other}"),
                Ok(_) => Ok(()),
            }
        };
        let threads = ["one", "two", "three", "one", "two", "three"]
            .map(|name| scope.spawn(move || append(name)));
        let results = threads.map(|thread| thread.join().expect("join"));
        server.sql("postgres", &format!("SELECT pg_terminate_backend(pid) {held}"));
        holder.join().expect("join").expect_err("it was ended");
        for result in results {
            let error = result.expect_err("the rows are held");
            assert!(Error::Storage(error).is_retryable());
        }
    });
    // The rows are unlocked, and the abandoned append was carried out at most once.
    for name in ["one", "two", "three"] {
        let journal = patient.open(&id(name)).expect("open");
        append_at_end(&*journal, b"{\"n\":2}\n");
        assert!(contents(&*journal).len() <= 19);
    }

    // The server's own limit.
    server.sql("postgres", "ALTER ROLE treering CONNECTION LIMIT 1");
    let error = in_time(|| PostgresStore::connect(&url, &hasty));
    let error = error.expect_err("the stores have the connection");
    assert!(error.is_retryable(), "{error}");
    assert!(error.to_string().contains("too many connections"), "{error}");
}

#[test]
fn a_commit_that_the_standby_did_not_confirm_is_not_acknowledged() {
    let Some(server) = own_server() else { return };
    let patient = connect(&server.url("faults"), &options(PATIENT));
    create(&patient, "local", b"{}\n").append(&End::from(3), b"{\"n\":1}\n").expect("append");
    let store = connect(&server.url("faults"), &options(6000));
    let journal = store.open(&id("local")).expect("open");
    server.sql("postgres", "ALTER SYSTEM SET synchronous_standby_names = 'missing'");
    server.sql("postgres", "SELECT pg_reload_conf()");
    let (stop, canceled) = (AtomicBool::new(false), AtomicUsize::new(0));
    let mut before = 0;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // Canceled commits return with a warning that they are only local.
            let cancel = "SELECT count(pg_cancel_backend(pid)) FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
            while !stop.load(Ordering::Relaxed) {
                let count = server.sql("postgres", cancel).parse().expect("a number");
                canceled.fetch_add(count, Ordering::Relaxed);
            }
        });
        // A server applies its settings some time after the reload: commits wait from then on.
        let mut probe = 0;
        while canceled.load(Ordering::Relaxed) == 0 {
            server.sql("postgres", &format!("CREATE TABLE probe_{probe} ()"));
            probe += 1;
        }
        before = canceled.load(Ordering::Relaxed);
        let result = journal.append(&End::from(11), b"{\"n\":2}\n");
        stop.store(true, Ordering::Relaxed);
        match result {
            Err(JournalError::Io(error)) => assert!(Error::Storage(error).is_retryable()),
            other => panic!("acknowledged although the standby is missing: {other:?}"),
        }
    });
    assert!(canceled.load(Ordering::Relaxed) > before, "the commit of the append was canceled");
    // The line is in the log, and another program sees it. That it lasts is not confirmed, either.
    let (url, hasty) = (server.url("faults"), options(2000));
    let impatient = in_time(|| PostgresStore::connect(&url, &hasty)).expect("connect");
    let seen = in_time(|| impatient.open(&id("local"))).expect("open");
    assert_eq!(in_time(|| seen.len().map_err(Error::Storage)).expect("len"), 19);
    let error = Error::Storage(seen.sync().expect_err("the standby is missing"));
    assert!(error.is_retryable(), "{error}");
    server.sql("postgres", "ALTER SYSTEM RESET synchronous_standby_names");
    server.sql("postgres", "SELECT pg_reload_conf()");
    let journal = patient.open(&id("local")).expect("open");
    assert_eq!(journal.len().expect("len"), 19);
    journal.sync().expect("no standby is missing any more");
    let before = patient.statistics().round_trips;
    journal.sync().expect("it is known");
    assert_eq!(patient.statistics().round_trips, before);
    append_at_end(&*journal, b"{\"n\":3}\n");
    let text = String::from_utf8(contents(&*journal)).expect("text");
    assert_eq!(text.matches("\"n\":2").count(), 1, "{text}");
}
