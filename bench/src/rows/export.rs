//! Rows about exporting a session as one HTML page.

use super::{PeerRuns, Runs, against_pi};
use crate::Bench;
use crate::measure;
use crate::table::{self, Row};

/// Whole processes: for pi that is the only way to ask for it.
pub(crate) fn rows(bench: &Bench) -> Vec<Row> {
    let file = bench.data.session(100);
    measure::count_lines(&file.path);
    let mut peer_runs = PeerRuns::of(&bench.peers);
    let copies: Vec<_> = bench.peers.iter().map(|peer| peer.file(&file.path)).collect();
    let (mut ours, mut page_bytes) = (Runs::default(), 0);
    for _ in 0..bench.rounds(7) {
        // A new page each time: to replace one makes the file system write it out at once.
        let dir = bench.data.scratch();
        let page = dir.path().join("page.html");
        ours.run(&bench.treering(&["export", "-o", page.to_str().unwrap()], &file.path));
        page_bytes = page.metadata().unwrap().len();
        for (peer_runs, copy) in peer_runs.iter_mut().zip(&copies) {
            let dir = bench.data.scratch();
            peer_runs.ask(&[&"export", copy, &dir.path().join("page.html")]);
        }
    }
    let (time, peak) = (ours.time(), ours.peak());
    let what = format!("`treering export` to HTML, {file}, whole process");
    let row = against_pi(Row::new(what), time, &peer_runs, Some(10.0), PeerRuns::whole);
    let what = format!("its peak memory, for a page of {}", table::mebibytes(page_bytes));
    let mut memory =
        Row::new(what).ours(table::mebibytes(peak)).bar("≤ 4 × the page", peak <= 4 * page_bytes);
    for peer_runs in peer_runs.iter().filter(|peer_runs| peer_runs.whole().is_some()) {
        memory = memory.theirs(peer_runs.name(), table::mebibytes(peer_runs.peak()));
    }
    vec![row, memory]
}
