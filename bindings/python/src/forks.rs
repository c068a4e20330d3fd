//! Forks of the process: a child must not use the files, connections and threads of its parent.
//!
//! A file that was open before a fork has one position and one lock for both processes, a connection carries the
//! requests of both, and threads of the parent do not run in the child. Sessions and stores therefore remember the
//! number of forks that led to their process, and compare it with the current one before they are used.

use pyo3::prelude::*;
use std::sync::atomic::{AtomicU32, Ordering};
use treering_bindings::Failure;

static FORKS: AtomicU32 = AtomicU32::new(0);

/// Returns the number of forks that led to this process since the module was loaded.
pub(crate) fn count() -> u32 {
    FORKS.load(Ordering::Relaxed)
}

/// Notes that this process is the child of a fork. Called by Python in every such child, before anything else.
#[pyfunction]
pub(crate) fn after_fork_in_child() {
    FORKS.fetch_add(1, Ordering::Relaxed);
}

/// Returns the error of a call that would use a connection of the parent process.
pub(crate) fn failure(what: &str) -> Failure {
    Failure::invalid(
        "forked",
        format!("the {what} was opened before this process was forked: open it again here"),
    )
}
