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
use std::sync::LazyLock;
use treering_testkit::sim::seeds::{self, Report};

/// Enough for every verb to meet every misfortune. The runs take a few seconds.
const RUNS: u64 = 2000;

/// The runs, which both tests below look at.
static REPORT: LazyLock<Report> = LazyLock::new(|| seeds::run::<Scenario>(RUNS));

#[test]
fn no_run_of_any_seed_loses_anything() {
    assert!(REPORT.failures.is_empty(), "{}", REPORT.failures.join("\n"));
}

#[test]
fn a_seed_gives_the_same_run_again() {
    assert_eq!(seeds::unrepeatable::<Scenario>(50), Vec::<u64>::new());
}

/// A simulation in which nothing happens proves nothing.
#[test]
fn every_verb_succeeds_and_meets_every_misfortune() {
    for verb in scenario::VERBS.map(|verb| format!("{verb:?}")) {
        for what in ["succeeded", "was killed", "lost power", "an agent wrote"] {
            let happened = REPORT.met.contains(&(verb.clone(), what));
            assert!(happened || seeds::are_chosen(), "{verb}: {what} never happened");
        }
    }
}
