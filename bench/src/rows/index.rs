//! Every session on a machine: the first time, when all are read, and again, when the cache knows them.

use super::{Asked, QUICK_SESSIONS, Runs, against_pi};
use crate::Bench;
use crate::measure::{self, Stdout};
use crate::table::{self, Row};
use std::ffi::OsStr;

pub(crate) fn rows(bench: &Bench) -> Vec<Row> {
    let sessions = if bench.quick { QUICK_SESSIONS } else { 10_000 };
    let dir = bench.data.directory(sessions as u64);
    let scratch = bench.data.scratch();
    let cache = scratch.path().join("cache");
    let variables: [(&str, &OsStr); 2] =
        [("TREERING_SESSIONS", dir.as_ref()), ("XDG_CACHE_HOME", cache.as_ref())];
    let command = ["ls", "--all", "--json"].map(Into::into);
    let command = [vec![bench.treering.clone().into_os_string()], command.to_vec()].concat();
    let listed = measure::process_with(&variables, &command, Stdout::Keep).stdout;
    assert_eq!(listed.lines().count(), sessions);

    let mut asked = Asked::of(&bench.peers);
    let (mut cold, mut warm) = (Runs::default(), Runs::default());
    for _ in 0..bench.rounds(5) {
        std::fs::remove_dir_all(&cache).unwrap();
        cold.run_with(&variables, &command);
        warm.run_with(&variables, &command);
        for asked in &mut asked {
            asked.ask(&[&"list", &dir]);
        }
    }
    let row = |what: &str| {
        let sessions = table::thousands(sessions);
        Row::new(format!("`treering ls --all`, {sessions} sessions, {what}, whole process"))
    };
    let warm = warm.time();
    vec![
        against_pi(row("without a cache"), cold.time(), &asked, Some(20.0), Asked::whole),
        against_pi(row("with one"), warm, &asked, None, Asked::whole)
            .bar("≤ 150 ms", warm.median <= 150.0),
    ]
}
