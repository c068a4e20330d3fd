//! The rows of the table, a file for each group.

mod append;
mod compaction;
mod context;
mod dialects;
mod export;
mod fork;
mod frameworks;
mod index;
mod leaves;
mod list;
mod postgres;
mod redact;
mod screen;
mod search;
mod server;
mod tree;
mod usage;

use crate::Bench;
use crate::measure::{self, Process, Stat, Stdout};
use crate::peers::Peer;
use crate::table::Row;
use std::ffi::{OsStr, OsString};

/// Rows that are measured together.
#[derive(Debug)]
pub(crate) struct Group {
    pub(crate) name: &'static str,
    pub(crate) rows: fn(&Bench) -> Vec<Row>,
}

/// The number of sessions in a directory in quick mode.
const QUICK_SESSIONS: usize = 1000;

/// The groups in the order of the table.
pub(crate) const GROUPS: &[Group] = &[
    Group { name: "context", rows: context::large },
    Group { name: "index", rows: tree::index },
    Group { name: "open", rows: context::open },
    Group { name: "leaves", rows: leaves::rows },
    Group { name: "same", rows: context::same },
    Group { name: "append", rows: append::plain },
    Group { name: "durable", rows: append::durable },
    Group { name: "list", rows: list::rows },
    Group { name: "sessions", rows: index::rows },
    Group { name: "usage", rows: usage::rows },
    Group { name: "search", rows: search::rows },
    Group { name: "fork", rows: fork::rows },
    Group { name: "export", rows: export::rows },
    Group { name: "redact", rows: redact::rows },
    Group { name: "shapes", rows: tree::shapes },
    Group { name: "dialects", rows: dialects::rows },
    Group { name: "compaction", rows: compaction::rows },
    Group { name: "screen", rows: screen::rows },
    Group { name: "postgres", rows: postgres::rows },
    Group { name: "server", rows: server::rows },
    Group { name: "frameworks", rows: frameworks::rows },
];

/// Their names.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    GROUPS.iter().map(|group| group.name)
}

/// Several runs of the same command.
#[derive(Debug, Default)]
struct Runs(Vec<Process>);

impl Runs {
    fn run(&mut self, command: &[OsString]) {
        self.run_with(&[], command);
    }

    /// With some variables set.
    fn run_with(&mut self, variables: &[(&str, &OsStr)], command: &[OsString]) {
        self.0.push(measure::process_with(variables, command, Stdout::Discard));
    }

    fn time(&self) -> Stat {
        Stat::of(&self.0.iter().map(|run| run.ms).collect::<Vec<_>>())
    }

    /// Returns the most memory that any of them needed.
    fn peak(&self) -> u64 {
        self.0.iter().map(|run| run.peak_bytes).max().unwrap()
    }
}

/// The answers of peers in several rounds: one list of numbers for each peer.
#[derive(Debug)]
struct PeerRuns<'a> {
    peer: &'a Peer,
    answers: Vec<crate::peers::Answer>,
}

impl<'a> PeerRuns<'a> {
    fn of(peers: &'a [Peer]) -> Vec<Self> {
        peers.iter().map(|peer| PeerRuns { peer, answers: Vec::new() }).collect()
    }

    fn ask(&mut self, arguments: &[&dyn AsRef<OsStr>]) {
        self.answers.extend(self.peer.ask(arguments));
    }

    fn name(&self) -> &str {
        &self.peer.name
    }

    /// Returns the time of the whole process.
    fn whole(&self) -> Option<Stat> {
        self.stat(|answer| answer.ms)
    }

    /// Returns the sum of some numbers that the driver measured; `None` if the peer cannot do it.
    fn sum(&self, names: &[&str]) -> Option<Stat> {
        self.stat(|answer| names.iter().map(|name| answer.number(name)).sum())
    }

    fn stat(&self, value: impl Fn(&crate::peers::Answer) -> f64) -> Option<Stat> {
        let values: Vec<f64> = self.answers.iter().map(value).collect();
        (!values.is_empty()).then(|| Stat::of(&values))
    }

    fn peak(&self) -> u64 {
        self.answers.iter().map(|answer| answer.peak_bytes).max().unwrap_or(0)
    }
}

/// Fills in a row that is compared with pi and shows the other peers, too.
fn against_pi<'a>(
    mut row: Row,
    ours: Stat,
    peer_runs: &[PeerRuns<'a>],
    limit: Option<f64>,
    value: impl Fn(&PeerRuns<'a>) -> Option<Stat>,
) -> Row {
    row = row.ours(crate::table::time(ours));
    let mut pi = None;
    for peer_runs in peer_runs {
        let Some(stat) = value(peer_runs) else { continue };
        row = row.theirs(peer_runs.name(), crate::table::time(stat));
        if peer_runs.name() == "pi" {
            pi = Some(stat.median);
        }
    }
    match (pi, limit) {
        (Some(pi), Some(limit)) => row.at_least_times(limit, ours.median, pi, "pi"),
        (Some(pi), None) => row.times_as_fast(ours.median, pi),
        (None, Some(limit)) => row.untried(format!("≥ {limit} × pi")),
        (None, None) => row,
    }
}
