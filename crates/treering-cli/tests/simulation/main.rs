//! Commands that make documents and copies of sessions, archive them and delete them, run where other
//! programs act, calls fail, processes are killed and the power fails between any two calls to the file
//! system.
//!
//! The verbs of the library itself are in its own simulation, on the same machine. A run follows from its
//! seed: `treering_testkit::sim::seeds` says how to run others.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests: helpers of tests included"
)]

mod checks;
mod scenario;

use scenario::Scenario;
use std::collections::BTreeSet;
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
    assert_eq!(seeds::unrepeatable::<Scenario>(100), Vec::<u64>::new());
}

/// A simulation in which nothing happens proves nothing.
#[test]
fn every_verb_succeeds_and_meets_every_misfortune() {
    let mut met = BTreeSet::new();
    for seed in 0..2000 {
        let scenario = Scenario::new(seed);
        met.extend(
            scenario.run().met.into_iter().map(|what| (format!("{:?}", scenario.verb), what)),
        );
    }
    for verb in scenario::VERBS {
        for what in ["succeeded", "failed", "was killed", "lost power", "an agent wrote"] {
            assert!(met.contains(&(format!("{verb:?}"), what)), "{verb:?}: {what} never happened");
        }
    }
}
