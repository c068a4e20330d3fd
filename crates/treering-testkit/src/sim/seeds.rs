//! Runs a simulation for many seeds, or for the one that failed.
//!
//! `TREERING_SIMULATION_SEED=17` runs one seed and prints its calls; `TREERING_SIMULATION_RUNS=1000000` runs
//! that many, from `TREERING_SIMULATION_FIRST` on.

use super::World;
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
    /// Returns a short description.
    fn title(&self) -> String;
    /// Runs it and checks all invariants.
    fn run(&self) -> Outcome;
}

/// The most failures that one thread collects.
const MAX_FAILURES: usize = 20;

fn variable(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// Runs the seeds that the environment asks for, or the first `runs`. Returns a line for each failure.
#[allow(clippy::print_stderr, reason = "the record of a run that was asked for")]
pub fn failures<S: Scenario>(runs: u64) -> Vec<String> {
    if let Some(seed) = variable("TREERING_SIMULATION_SEED") {
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
        return problems;
    }
    let runs = variable("TREERING_SIMULATION_RUNS").unwrap_or(runs);
    let first = variable("TREERING_SIMULATION_FIRST").unwrap_or(0);
    let next = AtomicU64::new(first);
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(8);
    let work = || {
        let mut failed = Vec::new();
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= first + runs || failed.len() >= MAX_FAILURES {
                return failed;
            }
            let scenario = S::new(seed);
            let problems = scenario.run().problems;
            if !problems.is_empty() {
                let what = format!("seed {seed} ({}): {}", scenario.title(), problems.join("; "));
                failed.push((seed, what));
            }
        }
    };
    let mut failed: Vec<(u64, String)> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let panicked = |_| vec![(0, "a run panicked".to_owned())];
        threads.into_iter().flat_map(|thread| thread.join().unwrap_or_else(panicked)).collect()
    });
    failed.sort();
    failed.into_iter().map(|(_, what)| what).collect()
}

/// Returns the seeds below `seeds` that give another run the second time.
pub fn unrepeatable<S: Scenario>(seeds: u64) -> Vec<u64> {
    (0..seeds).filter(|&seed| S::new(seed).run().digest != S::new(seed).run().digest).collect()
}
