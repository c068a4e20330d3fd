//! Every verb that writes or replaces session files, run where other programs act, calls fail, processes
//! are killed and the power fails between any two calls to the file system.
//!
//! A run follows from its seed. `TREERING_SIMULATION_SEED=17` runs one seed and prints its calls;
//! `TREERING_SIMULATION_RUNS=1000000` runs that many.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "tests: helpers of tests included"
)]

mod checks;
mod files;
mod scenario;
mod single;

use scenario::Scenario;
use std::sync::atomic::{AtomicU64, Ordering};

/// Enough for every verb to meet every misfortune, in a few seconds.
const RUNS: u64 = 6000;

fn variable(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[test]
fn nothing_is_lost_whatever_happens() {
    if let Some(seed) = variable("TREERING_SIMULATION_SEED") {
        let scenario = Scenario::new(seed);
        scenario.world.record();
        eprintln!("{scenario:?}");
        let outcome = scenario.run();
        for call in &outcome.calls {
            eprintln!("{call}");
        }
        let state = scenario.world.state();
        for (name, inode) in state.disk.file_names() {
            let data = String::from_utf8_lossy(&state.disk.content(inode).data);
            eprintln!("{} (file {inode}):\n{data}", name.display());
        }
        assert_eq!(outcome.problems, Vec::<String>::new(), "seed {seed}");
        return;
    }
    let runs = variable("TREERING_SIMULATION_RUNS").unwrap_or(RUNS);
    let first = variable("TREERING_SIMULATION_FIRST").unwrap_or(0);
    let next = AtomicU64::new(first);
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(8);
    let mut failed: Vec<(u64, Vec<String>)> = std::thread::scope(|scope| {
        let work = || {
            let mut failed = Vec::new();
            loop {
                let seed = next.fetch_add(1, Ordering::Relaxed);
                if seed >= first + runs || failed.len() >= 20 {
                    return failed;
                }
                let outcome = Scenario::new(seed).run();
                if !outcome.problems.is_empty() {
                    failed.push((seed, outcome.problems));
                }
            }
        };
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    failed.sort();
    for (seed, problems) in &failed {
        let Scenario { verb, file, .. } = &Scenario::new(*seed);
        eprintln!("seed {seed} ({verb:?}, {file:?}): {}", problems.join("; "));
    }
    assert!(failed.is_empty(), "{} of {runs} runs failed", failed.len());
}

#[test]
fn a_seed_gives_the_same_run_again() {
    for seed in 0..200 {
        let (one, two) = (Scenario::new(seed).run(), Scenario::new(seed).run());
        assert_eq!(one.digest, two.digest, "seed {seed}");
    }
}

/// A simulation in which nothing happens proves nothing.
#[test]
fn every_verb_succeeds_and_meets_every_misfortune() {
    let mut met = std::collections::BTreeMap::<String, usize>::new();
    for seed in 0..2000 {
        let scenario = Scenario::new(seed);
        let verb = format!("{:?}", scenario.verb);
        for what in scenario.run().met {
            *met.entry(format!("{verb}: {what}")).or_default() += 1;
        }
    }
    for verb in scenario::VERBS {
        for what in ["succeeded", "was killed", "lost power", "an agent wrote"] {
            let key = format!("{verb:?}: {what}");
            assert!(met.contains_key(&key), "{key} never happened: {met:#?}");
        }
    }
}
