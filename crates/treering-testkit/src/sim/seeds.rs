//! Runs a simulation for many seeds, or for the one that failed.
//!
//! `TREERING_SIMULATION_SEED=17` runs one seed and prints its calls; `TREERING_SIMULATION_RUNS=1000000` runs
//! that many, from `TREERING_SIMULATION_FIRST` on.

use super::World;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The outcome of a run.
#[derive(Debug, Default)]
pub struct Outcome {
    /// The invariants that do not hold.
    pub problems: Vec<String>,
    /// A digest of all calls: the same for the same seed.
    pub digest: u64,
    /// The names of the events that happened.
    pub met: Vec<&'static str>,
}

/// One run of a simulation, which follows from its seed.
pub trait Scenario: Sized + std::fmt::Debug {
    /// Creates the scenario of a seed.
    fn new(seed: u64) -> Self;
    /// Returns the machine.
    fn world(&self) -> &Arc<World>;
    /// Returns the name of the verb that is run.
    fn verb(&self) -> String;
    /// Returns a short description.
    fn title(&self) -> String;
    /// Runs the scenario and checks all invariants.
    fn run(&self) -> Outcome;
}

/// The maximum number of failures that one thread collects.
const MAX_FAILURES: usize = 20;

fn variable(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// The results of the runs of a simulation.
#[derive(Debug, Default)]
pub struct Report {
    /// A line for each run that failed.
    pub failures: Vec<String>,
    /// The verb and the name of every event that happened in a run.
    pub met: BTreeSet<(String, &'static str)>,
}

/// Runs the seeds that the environment asks for, or the first `runs`.
pub fn run<S: Scenario>(runs: u64) -> Report {
    if let Some(seed) = variable("TREERING_SIMULATION_SEED") {
        return Report { failures: run_aloud::<S>(seed), met: BTreeSet::new() };
    }
    let runs = variable("TREERING_SIMULATION_RUNS").unwrap_or(runs);
    let first = variable("TREERING_SIMULATION_FIRST").unwrap_or(0);
    let next = AtomicU64::new(first);
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(8);
    let work = || {
        let mut failed = Vec::new();
        let mut met = BTreeSet::new();
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= first + runs || failed.len() >= MAX_FAILURES {
                return (failed, met);
            }
            let scenario = S::new(seed);
            let outcome = scenario.run();
            met.extend(outcome.met.into_iter().map(|what| (scenario.verb(), what)));
            if !outcome.problems.is_empty() {
                let problems = outcome.problems.join("; ");
                failed.push((seed, format!("seed {seed} ({}): {problems}", scenario.title())));
            }
        }
    };
    let results: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let panicked = |_| (vec![(0, "a run panicked".to_owned())], BTreeSet::new());
        threads.into_iter().map(|thread| thread.join().unwrap_or_else(panicked)).collect()
    });
    let mut failed = Vec::new();
    let mut met = BTreeSet::new();
    for (failures, events) in results {
        failed.extend(failures);
        met.extend(events);
    }
    failed.sort();
    Report { failures: failed.into_iter().map(|(_, what)| what).collect(), met }
}

/// Runs one seed, prints its calls and its files, and returns what failed.
#[allow(clippy::print_stderr, reason = "the record of a run that was asked for")]
fn run_aloud<S: Scenario>(seed: u64) -> Vec<String> {
    let scenario = S::new(seed);
    scenario.world().record();
    eprintln!("{scenario:?}");
    let problems = scenario.run().problems;
    for call in scenario.world().calls() {
        eprintln!("{call}");
    }
    let state = scenario.world().state();
    for (name, inode) in state.disk.file_names() {
        let data = String::from_utf8_lossy(&state.disk.content(inode).data);
        eprintln!("{} (file {inode}):\n{data}", name.display());
    }
    problems
}

/// Returns whether the environment asks for other seeds than the first ones.
pub fn are_chosen() -> bool {
    ["SEED", "RUNS", "FIRST"]
        .iter()
        .any(|name| variable(&format!("TREERING_SIMULATION_{name}")).is_some())
}

/// Returns the seeds below `seeds` that give another run the second time.
pub fn unrepeatable<S: Scenario>(seeds: u64) -> Vec<u64> {
    (0..seeds).filter(|&seed| S::new(seed).run().digest != S::new(seed).run().digest).collect()
}
