//! Rows about searching a session for secrets.

use super::Runs;
use crate::Bench;
use crate::measure::{self, Stat, ms};
use crate::table::{self, Row};
use std::hint::black_box;
use treering::storage::LineFilter;
use treering_redact::{Options, Redactor};

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
        .times_as_long(time.median, counted.median);
    vec![first_pass(bench), row]
}

/// Runs the pass that tells lines without a secret from others, in one thread and in memory.
fn first_pass(bench: &Bench) -> Row {
    let file = bench.data.session(100);
    let bytes = std::fs::read(&file.path).unwrap();
    let redactor = Redactor::new(&Options::default()).unwrap();
    let (mut ours, mut base) = (Vec::new(), Vec::new());
    for _ in 0..bench.rounds(7) {
        ours.push(ms(|| {
            let marked = bytes.split(|byte| *byte == b'\n').filter(|line| redactor.inspect(line));
            black_box(marked.count());
        }));
        base.push(ms(|| {
            black_box(memchr::memchr_iter(b'\n', &bytes).count());
        }));
    }
    let (ours, base) = (Stat::of(&ours), Stat::of(&base));
    let rate = bytes.len() as f64 / 1e6 / (ours.median / 1000.0);
    Row::new(format!("search for secrets, first pass, {file}, one thread, in memory"))
        .ours(format!("{}, {rate:.0} MB/s", table::time(ours)))
        .theirs("count lines", table::time(base))
        .times_as_long(ours.median, base.median)
        .bar("≥ 300 MB/s", rate >= 300.0)
}
