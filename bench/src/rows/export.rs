//! A session as one HTML page.

use super::{Asked, Runs, against_pi};
use crate::Bench;
use crate::measure;
use crate::table::{self, Row};

/// Whole processes: for pi that is the only way to ask for it.
pub(crate) fn rows(bench: &Bench) -> Vec<Row> {
    let file = bench.data.session(100);
    measure::count_lines(&file.path);
    let mut asked = Asked::of(&bench.peers);
    let copies: Vec<_> = bench.peers.iter().map(|peer| peer.file(&file.path)).collect();
    let (mut ours, mut page_bytes) = (Runs::default(), 0);
    for _ in 0..bench.rounds(7) {
        // A new page each time: to replace one makes the file system write it out at once.
        let dir = bench.data.scratch();
        let page = dir.path().join("page.html");
        ours.run(&bench.treering(&["export", "-o", page.to_str().unwrap()], &file.path));
        page_bytes = page.metadata().unwrap().len();
        for (asked, copy) in asked.iter_mut().zip(&copies) {
            let dir = bench.data.scratch();
            asked.ask(&[&"export", copy, &dir.path().join("page.html")]);
        }
    }
    let (time, peak) = (ours.time(), ours.peak());
    let what = format!("`treering export` to HTML, {file}, whole process");
    let row = against_pi(Row::new(what), time, &asked, Some(10.0), Asked::whole);
    let what = format!("its peak memory, for a page of {}", table::mebibytes(page_bytes));
    let mut memory =
        Row::new(what).ours(table::mebibytes(peak)).bar("≤ 4 × the page", peak <= 4 * page_bytes);
    for asked in asked.iter().filter(|asked| asked.whole().is_some()) {
        memory = memory.theirs(asked.name(), table::mebibytes(asked.peak()));
    }
    vec![row, memory]
}
