//! Rows about the usage of all sessions on a machine, without a cache and with one, compared with
//! counting the lines of the same files.

use super::{QUICK_SESSIONS, Runs};
use crate::Bench;
use crate::measure::{self, Stat, Stdout};
use crate::table::{self, Row};
use std::ffi::OsStr;

pub(crate) fn rows(bench: &Bench) -> Vec<Row> {
    let sessions = if bench.quick { QUICK_SESSIONS } else { 10_000 };
    let dir = bench.data.directory(sessions as u64);
    let files: Vec<_> =
        std::fs::read_dir(&dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    let scratch = bench.data.scratch();
    let cache = scratch.path().join("cache");
    let variables: [(&str, &OsStr); 2] =
        [("TREERING_SESSIONS", dir.as_ref()), ("XDG_CACHE_HOME", cache.as_ref())];
    let command = ["usage", "daily", "--json"].map(Into::into);
    let command = [vec![bench.treering.clone().into_os_string()], command.to_vec()].concat();
    let shown = measure::process_with(&variables, &command, Stdout::Keep).stdout;
    let report: serde_json::Value = serde_json::from_str(&shown).unwrap();
    assert!(report["total"]["usage"]["requests"].as_u64().unwrap() > 0);

    let (mut cold, mut warm, mut lines) = (Runs::default(), Runs::default(), Vec::new());
    for _ in 0..bench.rounds(5) {
        std::fs::remove_dir_all(&cache).unwrap();
        cold.run_with(&variables, &command);
        lines.push(measure::ms(|| {
            files.iter().map(|file| measure::count_lines(file)).sum::<usize>()
        }));
        warm.run_with(&variables, &command);
    }
    let row = |what: &str| {
        let sessions = table::thousands(sessions);
        Row::new(format!("`treering usage daily`, {sessions} sessions, {what}, whole process"))
    };
    let (cold, warm, lines) = (cold.time(), warm.time(), Stat::of(&lines));
    vec![
        row("without a cache")
            .ours(table::time(cold))
            .theirs("counting lines", table::time(lines))
            .at_most_times(3.0, cold.median, lines.median),
        row("with one").ours(table::time(warm)).bar("≤ 200 ms", warm.median <= 200.0),
    ]
}
