//! A session searched for secrets.

use super::Runs;
use crate::Bench;
use crate::measure;
use crate::table::{self, Row};

/// Searches and filters a session that holds no secret, next to counting its lines.
pub(crate) fn rows(bench: &Bench) -> Vec<Row> {
    let file = bench.data.session(100);
    measure::count_lines(&file.path);
    let command = bench.treering(&["redact", "--check"], &file.path);
    let this = std::env::current_exe().unwrap();
    let count = [this.into_os_string(), "count".into(), file.path.clone().into()];
    let (mut ours, mut base) = (Runs::default(), Runs::default());
    for _ in 0..bench.rounds(7) {
        ours.run(&command);
        base.run(&count);
    }
    let (time, counted) = (ours.time(), base.time());
    let megabytes = file.path.metadata().unwrap().len() as f64 / 1e6;
    let rate = megabytes / (time.median / 1000.0);
    let what = format!("`treering redact --check`, {file}, whole process");
    let row = Row::new(what)
        .ours(format!("{}, {rate:.0} MB/s", table::time(time)))
        .theirs("count lines", table::time(counted))
        .times_as_long(time.median, counted.median)
        .bar("≥ 300 MB/s", rate >= 300.0);
    vec![row]
}
