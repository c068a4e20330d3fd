//! Progress on stderr, for somebody who is waiting.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};
use treering::Progress;

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
        if self.terminal && Instant::now() > self.next {
            self.next += Duration::from_millis(100);
            self.shown = true;
            let _ = write!(io::stderr(), "\r{} of {} files", progress.done, progress.total);
        }
    }

    /// Removes what was said.
    pub(crate) fn clear(&mut self) {
        if std::mem::take(&mut self.shown) {
            let _ = write!(io::stderr(), "\r{:40}\r", "");
        }
    }
}
