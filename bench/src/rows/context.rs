//! Rows about the context at the active leaf.

use super::{PeerRuns, Runs, against_pi};
use crate::Bench;
use crate::data::Level;
use crate::measure::{self, Stat, ms};
use crate::table::{self, Row};
use treering::Session;

/// From the end of a large file, as a whole process.
pub(crate) fn large(bench: &Bench) -> Vec<Row> {
    let file = bench.data.large();
    measure::count_lines(&file.path);
    let command = bench.treering(&["context", "--json"], &file.path);
    let mut ours = Runs::default();
    for _ in 0..bench.rounds(15) {
        ours.run(&command);
    }
    let (time, peak) = (ours.time(), ours.peak());
    let mut row = Row::new(format!("`treering context`, {file}, whole process"))
        .ours(format!("{}, {}", table::time(time), table::mebibytes(peak)))
        .bar("≤ 40 ms", time.median <= 40.0)
        .bar("≤ 32 MiB", peak <= 32 << 20);
    // Once is enough to see what kind of number it is, and it is a matter of many seconds.
    for peer_runs in &mut PeerRuns::of(&bench.peers) {
        peer_runs.ask(&[&"context", &peer_runs.peer.file(&file.path)]);
        if let Some(stat) = peer_runs.whole() {
            let value =
                format!("{}, {} (once)", table::time(stat), table::mebibytes(peer_runs.peak()));
            row = row.theirs(peer_runs.name(), value);
        }
    }
    vec![row]
}

/// Open and context of sessions of usual sizes.
pub(crate) fn open(bench: &Bench) -> Vec<Row> {
    let mut rows = Vec::new();
    for (megabytes, bar) in [(1, 15.0), (10, 15.0), (100, 60.0)] {
        let file = bench.data.session(megabytes);
        measure::count_lines(&file.path);
        let command = bench.treering(&["context", "--json"], &file.path);
        let mut peer_runs = PeerRuns::of(&bench.peers);
        let copies: Vec<_> = bench.peers.iter().map(|peer| peer.file(&file.path)).collect();
        let mut whole = Runs::default();
        let mut inside = Vec::new();
        for _ in 0..bench.rounds(7) {
            // So short a run tells little: several count as many for the median.
            (0..5).for_each(|_| whole.run(&command));
            let opened = || Session::open(&file.path).unwrap().context().unwrap().messages.len();
            inside.push(ms(opened));
            for (peer_runs, copy) in peer_runs.iter_mut().zip(&copies) {
                peer_runs.ask(&[&"context", copy]);
            }
        }
        check_messages(
            &peer_runs,
            Session::open(&file.path).unwrap().context().unwrap().messages.len(),
        );
        let what = format!("`treering context`, {file}, whole process");
        rows.push(against_pi(Row::new(what), whole.time(), &peer_runs, Some(bar), PeerRuns::whole));
        let what = format!("`Session::open` and `context`, {file}, without start-up");
        let inside = Stat::of(&inside);
        rows.push(against_pi(Row::new(what), inside, &peer_runs, None, |peer_runs| {
            peer_runs.sum(&["ms"])
        }));
    }
    rows
}

/// pi must see as many messages as treering does, or the comparison is none. The others have rules
/// of their own about tool calls without results and about what was compacted.
pub(super) fn check_messages(peer_runs: &[PeerRuns<'_>], messages: usize) {
    for pi in peer_runs.iter().filter(|peer_runs| peer_runs.name() == "pi") {
        let theirs = pi.sum(&["messages"]).unwrap().median;
        assert_eq!(theirs, messages as f64, "pi sees another number of messages");
    }
}

/// The same context at the end of a small and of a large file.
pub(crate) fn same(bench: &Bench) -> Vec<Row> {
    let mut rows = Vec::new();
    for (level, note) in [
        (Level::InTail, "thinking level set near the end"),
        // Then the end of the file does not tell, and all of it is read: shown, without a bar.
        (Level::AtStart, "thinking level set at the start only"),
    ] {
        let (small, large) = bench.data.same_tail(level);
        measure::count_lines(&large);
        let context = |path| treering::active_context(path).unwrap();
        assert_eq!(context(&small), context(&large));
        assert!(context(&small).messages[0].json.starts_with(b"{\"role\":\"compactionSummary\""));
        let commands = [&small, &large].map(|path| bench.treering(&["context", "--json"], path));
        let mut whole = [Runs::default(), Runs::default()];
        for _ in 0..bench.rounds(15) {
            for (runs, command) in whole.iter_mut().zip(&commands) {
                runs.run(command);
            }
        }
        let [in_small, in_large] = whole.map(|runs| runs.time());
        let row = Row::new(format!("`treering context` of the same tail, {note}"))
            .ours(table::time(in_large))
            .theirs("10 MB:", table::time(in_small));
        rows.push(match level {
            Level::InTail => row.at_most_times(1.5, in_large.median, in_small.median),
            Level::AtStart => row,
        });
    }

    let (small, large) = bench.data.same_tail(Level::AtStart);
    let sessions = [&small, &large].map(|path| Session::open(path).unwrap());
    let [small, large] = &sessions;
    let at_leaf = |session: &Session| ms(|| session.context().unwrap());
    let rounds = bench.rounds(99);
    let (large, small) = measure::in_turns(rounds, || at_leaf(large), || at_leaf(small));
    rows.push(
        Row::new("`Session::context` of the same tail, already open")
            .ours(table::time(large))
            .theirs("10 MB:", table::time(small))
            .at_most_times(1.5, large.median, small.median),
    );
    rows
}
