//! Rows about planning a compaction, compared with opening the session.

use crate::Bench;
use crate::data::Shape;
use crate::measure::{self, Stat, ms};
use crate::table::{self, Row};
use std::path::Path;
use treering::compaction::{CompactionPlan, CompactionSettings, Preparation};
use treering::{CreateOptions, Message, NewEntry, Session};

pub(crate) fn rows(bench: &Bench) -> Vec<Row> {
    // All of them are in the context: nothing was compacted before.
    let entries = if bench.quick { 50_000 } else { 100_000 };
    let dir = bench.data.scratch();
    let talk = dir.path().join("talk.jsonl");
    write_talk(&talk, entries);
    let short = bench.data.shape(Shape::Chain, entries);
    let talk = of(bench, &talk, entries, "questions and answers");
    let short = of(bench, &short.path, entries, "messages of one token");
    talk.into_iter().chain(short).collect()
}

fn of(bench: &Bench, path: &Path, entries: u64, what: &str) -> [Row; 2] {
    measure::count_lines(path);
    let (mut opened, mut planned, mut read) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..bench.rounds(11) {
        let (mut session, mut plan) = (None, None);
        opened.push(ms(|| session = Some(Session::open(path).unwrap())));
        planned.push(ms(|| plan = Some(compaction(session.as_ref().unwrap()))));
        read.push(ms(|| plan.map(|plan| plan.read().unwrap())));
    }
    let [opened, planned, read] = [opened, planned, read].map(|times| Stat::of(&times));
    let entries = table::thousands(entries as usize);
    let row = |call: &str, time: Stat| {
        Row::new(format!("`{call}`, {entries} {what} in the context"))
            .ours(table::time(time))
            .theirs("`Session::open`", table::time(opened))
    };
    let plan = row("Session::plan_compaction", planned);
    [
        plan.at_most_times(1.0, planned.median, opened.median),
        row("CompactionPlan::read", read).times_as_long(read.median, opened.median),
    ]
}

fn compaction(session: &Session) -> CompactionPlan {
    match session.plan_compaction(&CompactionSettings::default()).unwrap() {
        Preparation::Ready(plan) => *plan,
        why_not => panic!("{why_not:?}"),
    }
}

/// A session of about 700 bytes an entry in which two take turns.
fn write_talk(path: &Path, entries: u64) {
    let session = Session::create_at(path, "/project", CreateOptions::new()).unwrap();
    let turn = |number: u64| {
        let question = format!("question {number} {}", "word ".repeat(40));
        let answer = format!("answer {number} {}", "word ".repeat(120));
        [Message::user(&question), Message::assistant("acme", "oak", &answer)].map(NewEntry::from)
    };
    let all: Vec<NewEntry> = (0..entries / 2).flat_map(turn).collect();
    for some in all.chunks(1000) {
        session.append_all(some).unwrap();
    }
}
