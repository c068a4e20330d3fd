//! Rows about reading the whole tree.

use super::Runs;
use crate::Bench;
use crate::data::{Made, Shape};
use crate::measure::{self, Stat, ms};
use crate::table::{self, Row};
use std::path::Path;
use treering::Session;

/// Returns all of a large file, next to reading it and counting its lines.
pub(crate) fn index(bench: &Bench) -> Vec<Row> {
    let file = bench.data.large();
    measure::count_lines(&file.path);
    let command = bench.treering(&["tree", "--quiet"], &file.path);
    let this = std::env::current_exe().unwrap();
    let count = [this.into_os_string(), "count".into(), file.path.clone().into()];
    let (mut ours, mut base) = (Runs::default(), Runs::default());
    for _ in 0..bench.rounds(11) {
        ours.run(&command);
        base.run(&count);
    }
    let (time, counted, peak) = (ours.time(), base.time(), ours.peak());
    let whole = Row::new(format!("index and tree, {file}, whole process"))
        .ours(format!("{}, {}", table::time(time), table::mebibytes(peak)))
        .theirs("count lines", table::time(counted))
        .at_most_times(3.0, time.median, counted.median)
        .bar("≤ 96 MiB", peak <= 96 << 20);

    let (time, counted) = measure::in_turns(
        bench.rounds(11),
        || ms(|| Session::open(&file.path).unwrap().tree().walk().count()),
        || ms(|| measure::count_lines(&file.path)),
    );
    let inside = Row::new(format!("`Session::open` and `Tree::walk`, {file}, without start-up"))
        .ours(table::time(time))
        .theirs("count lines", table::time(counted))
        .at_most_times(3.0, time.median, counted.median);
    vec![whole, inside]
}

/// Extreme shapes, on a small stack, and the children of every entry.
pub(crate) fn shapes(bench: &Bench) -> Vec<Row> {
    let scale = if bench.quick { 10 } else { 1 };
    let mut rows = Vec::new();
    for (name, size, shape) in [
        ("entries in one chain", 1_000_000 / scale, Shape::Chain),
        ("children of one parent", 200_000 / scale, Shape::Star),
    ] {
        let [large, small] = [size, size / 10].map(|size| bench.data.shape(shape, size));
        let per_entry = |made: &Made, times: u64| {
            let sum: f64 = (0..times).map(|_| on_small_stack(&made.path)).sum();
            sum / (made.entries * times) as f64
        };
        per_entry(&large, 1);
        // As much work on either side, so that what else the machine does falls on both alike.
        let (large, small) =
            measure::in_turns(bench.rounds(9), || per_entry(&large, 1), || per_entry(&small, 10));
        let what = format!("open and walk {} {name}", table::thousands(size as usize));
        rows.push(
            Row::new(format!("{what}, 256 KiB of stack"))
                .ours(format!("{} an entry", table::nanoseconds(large)))
                .theirs("a tenth of them:", format!("{} an entry", table::nanoseconds(small)))
                .at_most_times(2.0, large.median, small.median),
        );
    }
    rows.extend(children(bench));
    rows
}

/// Milliseconds for the whole tree of a file, in a thread whose stack no recursion would survive.
fn on_small_stack(path: &Path) -> f64 {
    let path = path.to_owned();
    let work = move || ms(|| Session::open(&path).unwrap().tree().walk().count());
    std::thread::Builder::new().stack_size(256 * 1024).spawn(work).unwrap().join().unwrap()
}

/// Returns the children of every entry of a large session.
fn children(bench: &Bench) -> Vec<Row> {
    let session = Session::open(&bench.data.large().path).unwrap();
    let tree = session.tree();
    let ids: Vec<String> = tree.ids().map(|id| id.to_string()).collect();
    let (mut made, mut walked, mut peer_runs) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..bench.rounds(11) {
        // The lists are made when first asked for, and then kept: a fresh copy has none yet.
        let tree = tree.as_ref().clone();
        made.push(ms(|| tree.children(&ids[0]).unwrap()));
        walked.push(ms(|| tree.walk().map(|item| item.children).sum::<usize>()));
        peer_runs.push(ms(|| ids.iter().map(|id| tree.children(id).unwrap().len()).sum::<usize>()));
    }
    let [made, walked, peer_runs] = [made, walked, peer_runs].map(|times| Stat::of(&times));
    let entries = table::thousands(ids.len());
    vec![
        Row::new(format!("children lists of all {entries} entries"))
            .ours(table::time(made))
            .bar("≤ 50 ms", made.median <= 50.0),
        Row::new(format!("`Tree::walk` over all {entries}, once these are there"))
            .ours(table::time(walked)),
        Row::new(format!("`Tree::children` of each of the {entries}, by id"))
            .ours(table::time(peer_runs)),
    ]
}
