//! Rows about the index of all sessions on a machine, without a cache and with one.

use super::{PeerRuns, QUICK_SESSIONS, Runs, against_pi};
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

    let mut peer_runs = PeerRuns::of(&bench.peers);
    let (mut cold, mut warm) = (Runs::default(), Runs::default());
    for _ in 0..bench.rounds(5) {
        std::fs::remove_dir_all(&cache).unwrap();
        cold.run_with(&variables, &command);
        warm.run_with(&variables, &command);
        for peer_runs in &mut peer_runs {
            peer_runs.ask(&[&"list", &dir]);
        }
    }
    let row = |what: &str| {
        let sessions = table::thousands(sessions);
        Row::new(format!("`treering ls --all`, {sessions} sessions, {what}, whole process"))
    };
    let warm = warm.time();
    vec![
        against_pi(row("without a cache"), cold.time(), &peer_runs, Some(20.0), PeerRuns::whole),
        against_pi(row("with one"), warm, &peer_runs, None, PeerRuns::whole)
            .bar("≤ 150 ms", warm.median <= 150.0),
    ]
}
