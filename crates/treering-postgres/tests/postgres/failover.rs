//! The primary is killed and its synchronous standby takes over.

use crate::writers::{Account, assert_exactly_once, write};
use crate::{connect, contents, create, id};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use treering::store::Store;
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
