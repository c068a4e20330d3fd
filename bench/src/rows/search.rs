//! Rows about searching all sessions for a rare word, compared with searching their bytes.

use super::{QUICK_SESSIONS, Runs};
use crate::Bench;
use crate::data::RARE;
use crate::measure::{self, Stdout};
use crate::table::{self, Row};
use std::ffi::OsString;
use std::process::{Command, Stdio};

pub(crate) fn rows(bench: &Bench) -> Vec<Row> {
    let sessions = if bench.quick { QUICK_SESSIONS } else { 10_000 };
    let dir = bench.data.directory(sessions as u64);
    let search = [bench.treering.clone().into_os_string(), "search".into(), RARE.into()];
    let search: Vec<OsString> =
        search.into_iter().chain(["--dir".into(), dir.clone().into(), "--json".into()]).collect();
    let found = measure::process(&search, Stdout::Keep).stdout;
    assert_eq!(found.matches(RARE).count(), 1, "{found}");

    // It fails where nothing is found, and here something is.
    let mut grep: Vec<OsString> = ["grep", "-rcF", RARE].map(Into::into).to_vec();
    grep.push(dir.into());
    let has_grep = is_there("grep");
    let (mut ours, mut bytes) = (Runs::default(), Runs::default());
    for _ in 0..bench.rounds(7) {
        ours.run(&search);
        if has_grep {
            bytes.run(&grep);
        }
    }
    let sessions = table::thousands(sessions);
    let row =
        Row::new(format!("`treering search`, a rare word, {sessions} sessions, whole process"))
            .ours(table::time(ours.time()));
    if !has_grep {
        eprintln!("SKIPPED: there is no grep to compare with");
        return vec![row.untried("≤ 3 × grep")];
    }
    let (ours, grep) = (ours.time().median, bytes.time());
    vec![row.theirs("`grep -rcF`", table::time(grep)).at_most_times(3.0, ours, grep.median)]
}

fn is_there(program: &str) -> bool {
    let asked = Command::new(program).arg("--version").stdout(Stdio::null()).status();
    asked.is_ok_and(|status| status.success())
}
