//! Every verb that writes or replaces session files, run where other programs act, calls fail, processes
//! are killed and the power fails between any two calls to the file system.
//!
//! A run follows from its seed: `treering_testkit::sim::seeds` says how to run others.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests: helpers of tests included"
)]

mod checks;
mod scenario;
mod single;

use scenario::Scenario;
use treering_testkit::sim::seeds::{self, Scenario as _};

/// Enough for every verb to meet every misfortune, in a few seconds.
const RUNS: u64 = 6000;

#[test]
fn nothing_is_lost_whatever_happens() {
    let failures = seeds::failures::<Scenario>(RUNS);
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn a_seed_gives_the_same_run_again() {
    assert_eq!(seeds::unrepeatable::<Scenario>(200), Vec::<u64>::new());
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
