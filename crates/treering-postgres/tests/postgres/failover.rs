//! The primary is killed and its synchronous standby is promoted.

use crate::writers::{Account, assert_exactly_once, write};
use crate::{connect, contents, create, id};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use treering::store::{ChangedSession, ListQuery, Store};
use treering_postgres::{PostgresOptions, PostgresStore};
use treering_testkit::postgres::Server;

#[test]
fn a_standby_takes_over_and_nothing_acknowledged_is_lost() {
    let Some(primary) = Server::start() else { return };
    primary.create_database("failover");
    PostgresStore::init(&primary.url("failover"), &PostgresOptions::new()).expect("init");
    let standby = primary.start_standby();
    let hosts = format!("{},{}", primary.host(), standby.host());
    let url = format!("postgres://treering@{hosts}/failover?target_session_attrs=read-write");
    let options = PostgresOptions::new().timeout(Duration::from_secs(60));
    let programs: Vec<_> = (0..2).map(|_| connect(&url, &options)).collect();
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
            let journal = programs[writer % 2].open(&id(&name(writer))).expect("open");
            write(&*journal, writer, usize::MAX, stop)
        };
        let threads: Vec<_> = (0..8).map(|writer| scope.spawn(move || run(writer))).collect();
        let lines = |count: usize, server: &Server| {
            let sql = "SELECT count(*) FROM treering.lines";
            while server.sql("failover", sql).parse::<usize>().expect("a number") < count {}
        };
        lines(200, &primary);
        primary.kill();
        // The new primary has no standby of its own and must not wait for one.
        standby.sql("postgres", "SELECT 1");
        standby.promote();
        standby.sql("postgres", "ALTER SYSTEM RESET synchronous_standby_names");
        standby.sql("postgres", "SELECT pg_reload_conf()");
        let before: usize = standby
            .sql("failover", "SELECT count(*) FROM treering.lines")
            .parse()
            .expect("a number");
        lines(before + 200, &standby);
        stop.store(true, Ordering::Relaxed);
        threads.into_iter().map(|thread| thread.join().expect("join")).collect()
    });
    let log = |name: &str| contents(&*programs[0].open(&id(name)).expect("open"));
    for (writer, account) in accounts.iter().take(4).enumerate() {
        assert_exactly_once(&log(&format!("own-{writer}")), std::slice::from_ref(account));
    }
    assert_exactly_once(&log("shared"), &accounts[4..]);
    let acknowledged: usize = accounts.iter().map(|account| account.acknowledged.len()).sum();
    let failed: usize = accounts.iter().map(|account| account.failed.len()).sum();
    let gap = accounts.iter().map(|account| account.gap).max().unwrap_or_default();
    println!(
        "failover: {acknowledged} appends acknowledged, {failed} failed, none lost or doubled; {} ms without writes",
        gap.as_millis()
    );
    assert_eq!(failed, 0, "every append was carried over");
}

/// Transactions that the standby never saw have used up numbers, which it gives out again after its promotion.
/// A mark of the old primary must not hide the changes that they number now.
#[test]
fn a_mark_of_the_old_primary_misses_no_change_of_the_new_one() {
    let Some(primary) = Server::start() else { return };
    primary.create_database("failover");
    PostgresStore::init(&primary.url("failover"), &PostgresOptions::new()).expect("init");
    let options = PostgresOptions::new().timeout(Duration::from_secs(60));
    let before = connect(&primary.url("failover"), &options);
    create(&before, "old", b"{}\n");
    let standby = primary.start_standby();
    // Nothing that happens now reaches the standby. Transactions that are taken back do not wait for it.
    standby.stop();
    let use_numbers = "DO $$ BEGIN FOR number IN 1..50 LOOP
        BEGIN PERFORM pg_current_xact_id(); CREATE TEMPORARY TABLE x (); RAISE division_by_zero;
        EXCEPTION WHEN division_by_zero THEN NULL; END; END LOOP; RAISE division_by_zero; END $$";
    let taken_back = primary.sql_as("postgres", "failover", use_numbers);
    assert!(taken_back.is_err(), "{taken_back:?}");
    let mark = before.changes(None).expect("changes").mark;
    primary.kill();
    standby.boot();
    standby.promote();

    let after = connect(&standby.url("failover"), &options);
    create(&after, "new", b"{}\n");
    // The numbers pass those of the old primary.
    for _ in 0..2 {
        let _ = standby.sql_as("postgres", "failover", use_numbers);
    }
    let changes = after.changes(Some(&mark)).expect("changes");
    let is_new = |changed: &ChangedSession| changed.id == id("new");
    assert!(changes.sessions.iter().any(is_new), "{mark}: {changes:?}");
    let later = after.changes(Some(&changes.mark)).expect("changes");
    assert!(later.sessions.is_empty(), "{later:?}");
    let listed = after.list(&ListQuery::new()).expect("list");
    assert!(listed.sessions.is_empty(), "logs without a header are no sessions");
}
