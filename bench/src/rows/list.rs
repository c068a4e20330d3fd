//! Rows about listing a directory of sessions.

use super::{PeerRuns, Runs, against_pi};
use crate::Bench;
use crate::measure::{Stat, ms};
use crate::table::Row;

pub(crate) fn rows(bench: &Bench) -> Vec<Row> {
    let sessions = if bench.quick { super::QUICK_SESSIONS } else { 2000 };
    let dir = bench.data.directory(sessions as u64);
    let command = bench.treering(&["ls", "--json"], &dir);
    let mut peer_runs = PeerRuns::of(&bench.peers);
    let (mut whole, mut inside) = (Runs::default(), Vec::new());
    for _ in 0..bench.rounds(5) {
        whole.run(&command);
        inside.push(ms(|| {
            let listing = treering::catalog::list_dir(&dir, |_| {}).unwrap();
            assert_eq!(listing.sessions.len(), sessions);
        }));
        for peer_runs in &mut peer_runs {
            peer_runs.ask(&[&"list", &dir]);
        }
    }
    let what = format!("{} sessions of about 100 KB", crate::table::thousands(sessions));
    let row = Row::new(format!("`treering ls --json`, {what}, whole process"));
    let whole = against_pi(row, whole.time(), &peer_runs, Some(20.0), PeerRuns::whole);
    let row = Row::new(format!("`list_dir`, {what}, without start-up"));
    let inside = Stat::of(&inside);
    vec![whole, against_pi(row, inside, &peer_runs, Some(20.0), |peer_runs| peer_runs.sum(&["ms"]))]
}
