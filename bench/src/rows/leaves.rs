//! Rows about contexts at many leaves of one open session.

use super::PeerRuns;
use super::context::check_messages;
use crate::Bench;
use crate::measure::{self, Stat, ms};
use crate::table::{self, Row};
use treering::Session;

pub(crate) fn rows(bench: &Bench) -> Vec<Row> {
    let file = bench.data.session(100);
    measure::count_lines(&file.path);
    let ids = &file.sample;
    let list = file.path.with_extension("ids.json");
    std::fs::write(&list, serde_json::to_vec(ids).unwrap()).unwrap();
    let session = Session::open(&file.path).unwrap();
    let contexts =
        || -> usize { ids.iter().map(|id| session.context_at(id).unwrap().messages.len()).sum() };
    let mut peer_runs = PeerRuns::of(&bench.peers);
    let copies: Vec<_> = bench.peers.iter().map(|peer| peer.file(&file.path)).collect();
    let mut ours = Vec::new();
    for _ in 0..bench.rounds(3) {
        ours.push(ms(contexts));
        for (peer_runs, copy) in peer_runs.iter_mut().zip(&copies) {
            peer_runs.ask(&[&"leaves", copy, &list]);
        }
    }
    check_messages(&peer_runs, contexts());
    let ours = Stat::of(&ours);
    let what =
        format!("contexts at {} leaves of an open session, {file}", table::thousands(ids.len()));
    let mut row = Row::new(what).ours(table::time(ours));
    let mut fastest = f64::INFINITY;
    for peer_runs in &peer_runs {
        let Some(stat) = peer_runs.sum(&["contexts_ms"]) else { continue };
        row = row.theirs(peer_runs.name(), table::time(stat));
        fastest = fastest.min(stat.median);
    }
    vec![match fastest.is_finite() {
        true => row.at_least_times(5.0, ours.median, fastest, "the fastest peer"),
        false => row.untried("≥ 5 × the fastest peer"),
    }]
}
