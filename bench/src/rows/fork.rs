//! Rows about writing the path to an entry as a new session.

use super::{PeerRuns, against_pi};
use crate::Bench;
use crate::measure::{self, Stat, ms};
use crate::table::Row;
use treering::{ForkOptions, Session};

pub(crate) fn rows(bench: &Bench) -> Vec<Row> {
    let file = bench.data.session(100);
    measure::count_lines(&file.path);
    let mut peer_runs = PeerRuns::of(&bench.peers);
    let copies: Vec<_> = bench.peers.iter().map(|peer| peer.file(&file.path)).collect();
    let (mut opened, mut forked) = (Vec::new(), Vec::new());
    for _ in 0..bench.rounds(7) {
        let dir = bench.data.scratch();
        let mut session = None;
        opened.push(ms(|| session = Some(Session::open(&file.path).unwrap())));
        let options = ForkOptions::new().dir(dir.path().to_owned());
        forked.push(ms(|| session.as_ref().unwrap().fork(&file.middle, options).unwrap()));
        for (peer_runs, copy) in peer_runs.iter_mut().zip(&copies) {
            let dir = bench.data.scratch();
            peer_runs.ask(&[&"fork", copy, &file.middle, &dir.path()]);
        }
    }
    let sums: Vec<f64> = opened.iter().zip(&forked).map(|(open, fork)| open + fork).collect();
    let row = Row::new(format!("open, and fork from the middle, {file}"));
    let both = |peer_runs: &PeerRuns<'_>| peer_runs.sum(&["open_ms", "fork_ms"]);
    let whole = against_pi(row, Stat::of(&sums), &peer_runs, Some(10.0), both);
    let row = Row::new(format!("fork from the middle, {file}, already open"));
    let fork = |peer_runs: &PeerRuns<'_>| peer_runs.sum(&["fork_ms"]);
    vec![whole, against_pi(row, Stat::of(&forked), &peer_runs, None, fork)]
}
