//! Listing a directory of sessions.

use super::{Asked, Runs, against_pi};
use crate::Bench;
use crate::measure::{Stat, ms};
use crate::table::Row;

pub(crate) fn rows(bench: &Bench) -> Vec<Row> {
    let sessions = if bench.quick { super::QUICK_SESSIONS } else { 2000 };
    let dir = bench.data.directory(sessions as u64);
    let command = bench.treering(&["ls", "--json"], &dir);
    let mut asked = Asked::of(&bench.peers);
    let (mut whole, mut inside) = (Runs::default(), Vec::new());
    for _ in 0..bench.rounds(5) {
        whole.run(&command);
        inside.push(ms(|| {
            let listing = treering::catalog::list_dir(&dir, |_| {}).unwrap();
            assert_eq!(listing.sessions.len(), sessions);
        }));
        for asked in &mut asked {
            asked.ask(&[&"list", &dir]);
        }
    }
    let what = format!("{} sessions of about 100 KB", crate::table::thousands(sessions));
    let row = Row::new(format!("`treering ls --json`, {what}, whole process"));
    let whole = against_pi(row, whole.time(), &asked, Some(20.0), Asked::whole);
    let row = Row::new(format!("`list_dir`, {what}, without start-up"));
    let inside = Stat::of(&inside);
    vec![whole, against_pi(row, inside, &asked, Some(20.0), |asked| asked.sum(&["ms"]))]
}
