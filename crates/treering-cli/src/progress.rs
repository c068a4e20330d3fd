//! Shows progress on standard error.

use crate::text::size;
use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};
use treering::catalog::Progress;

/// Says how far something is, if it takes long and stderr is a terminal.
#[derive(Debug)]
pub(crate) struct Meter {
    terminal: bool,
    next: Instant,
    shown: bool,
}

impl Meter {
    pub(crate) fn new() -> Self {
        let next = Instant::now() + Duration::from_secs(1);
        Meter { terminal: io::stderr().is_terminal(), next, shown: false }
    }

    pub(crate) fn show(&mut self, progress: Progress) {
        if self.is_due() {
            let _ = write!(io::stderr(), "\r{} of {} files", progress.done, progress.total);
        }
    }

    /// The same for bytes of one file.
    pub(crate) fn show_bytes(&mut self, done: u64, total: u64) {
        if self.is_due() {
            let line = format!("{} of {}", size(done), size(total));
            let _ = write!(io::stderr(), "\r{line:30}");
        }
    }

    /// The same for sessions, with the bytes that were sent and received.
    pub(crate) fn show_sessions(&mut self, done: usize, total: usize, bytes: u64) {
        if self.is_due() {
            let line = format!("{done} of {total} sessions, {}", size(bytes));
            let _ = write!(io::stderr(), "\r{line:38}");
        }
    }

    fn is_due(&mut self) -> bool {
        if !self.terminal {
            return false;
        }
        let now = Instant::now();
        let is_due = now > self.next;
        if is_due {
            self.next = now + Duration::from_millis(100);
            self.shown = true;
        }
        is_due
    }

    /// Removes what was said.
    pub(crate) fn clear(&mut self) {
        if std::mem::take(&mut self.shown) {
            let _ = write!(io::stderr(), "\r{:40}\r", "");
        }
    }
}
