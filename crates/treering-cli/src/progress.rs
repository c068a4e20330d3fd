//! Shows the progress of a command on standard error, once it has taken a second.
//!
//! There is one line, at a terminal only, and not if a program reads the output (`--json`).
//! Commands report their progress ([`Meter`], [`doing`]); a thread draws the line, so that it moves
//! even while one large file is read. All output removes the line first ([`while_clear`]).

use crate::text::{columns, excerpt, size};
use std::io::{self, IsTerminal, Write};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use treering::catalog::Progress;

/// The time after which the line appears.
const FIRST: Duration = Duration::from_secs(1);

/// The interval at which the line is drawn again.
const INTERVAL: Duration = Duration::from_millis(200);

/// The maximum length of the line, in columns: it must not be wrapped.
const LONGEST: usize = 60;

/// The work that a command is doing.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Work {
    Unknown,
    Text(String),
    Files(Progress),
    Bytes(u64, u64),
    Sessions(Progress, u64),
}

impl Work {
    fn words(&self) -> String {
        match self {
            Work::Unknown => "working".to_owned(),
            Work::Text(text) => text.clone(),
            Work::Files(Progress { done, total, .. }) => format!("{done} of {total} files"),
            Work::Bytes(done, total) => format!("{} of {}", size(*done), size(*total)),
            Work::Sessions(Progress { done, total, .. }, bytes) => {
                format!("{done} of {total} sessions, {}", size(*bytes))
            }
        }
    }
}

/// The line of progress, and its part on the screen. It uses no clock and no terminal.
#[derive(Debug)]
struct ProgressLine {
    work: Work,
    /// The line on the screen; empty if there is none.
    drawn: String,
    /// Whether the line may be drawn.
    is_on: bool,
}

impl ProgressLine {
    const fn new() -> Self {
        ProgressLine { work: Work::Unknown, drawn: String::new(), is_on: false }
    }

    /// Returns the text to write after the command has run for `time`.
    fn draw(&mut self, time: Duration) -> String {
        if !self.is_on || time < FIRST {
            return String::new();
        }
        let line = format!("{}, {} s", self.work.words(), time.as_secs());
        if line == self.drawn {
            return String::new();
        }
        let rest = " ".repeat(columns(&self.drawn).saturating_sub(columns(&line)));
        let text = format!("\r{line}{rest}");
        self.drawn = line;
        text
    }

    /// Returns the text that removes the line.
    fn erase(&mut self) -> String {
        match std::mem::take(&mut self.drawn) {
            drawn if drawn.is_empty() => drawn,
            drawn => format!("\r{}\r", " ".repeat(columns(&drawn))),
        }
    }
}

static LINE: Mutex<ProgressLine> = Mutex::new(ProgressLine::new());
static STOPPED: Condvar = Condvar::new();

fn lock() -> MutexGuard<'static, ProgressLine> {
    LINE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn write(text: &str) {
    if !text.is_empty() {
        let mut stderr = io::stderr().lock();
        // A closed standard error is not a failure.
        let _ = stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush());
    }
}

/// Shows progress from now on, if standard error is a terminal.
pub(crate) fn start() {
    if !io::stderr().is_terminal() {
        return;
    }
    lock().is_on = true;
    let started = Instant::now();
    std::thread::spawn(move || {
        let mut wait = FIRST;
        loop {
            let waited = STOPPED.wait_timeout(lock(), wait);
            let mut line = waited.unwrap_or_else(PoisonError::into_inner).0;
            if !line.is_on {
                return;
            }
            write(&line.draw(started.elapsed()));
            wait = INTERVAL;
        }
    });
}

/// Removes the line permanently: before a question, a pager or another program.
pub(crate) fn stop() {
    let mut line = lock();
    line.is_on = false;
    write(&line.erase());
    STOPPED.notify_all();
}

/// Runs `print` while the line is not on the screen.
pub(crate) fn while_clear<T>(print: impl FnOnce() -> T) -> T {
    let mut line = lock();
    write(&line.erase());
    print()
}

fn set(work: Work) {
    lock().work = work;
}

/// Sets the description of the current work. The text must be safe to show.
pub(crate) fn set_activity(text: &str) {
    set(Work::Text(excerpt(text, LONGEST)));
}

/// Shows the progress of a command, until it is dropped.
#[derive(Debug)]
pub(crate) struct Meter(());

impl Meter {
    pub(crate) fn new() -> Self {
        Meter(())
    }

    pub(crate) fn show(&self, progress: Progress) {
        set(Work::Files(progress));
    }

    /// Shows progress in bytes of one file.
    pub(crate) fn show_bytes(&self, done: u64, total: u64) {
        set(Work::Bytes(done, total));
    }

    /// Shows progress in sessions, with the bytes that were sent and received.
    pub(crate) fn show_sessions(&self, done: usize, total: usize, bytes: u64) {
        set(Work::Sessions(Progress::new(done, total), bytes));
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        set(Work::Unknown);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(line: &mut ProgressLine, millis: u64) -> String {
        line.draw(Duration::from_millis(millis))
    }

    #[test]
    fn a_line_appears_after_a_second_and_covers_the_one_before() {
        let mut line = ProgressLine { is_on: true, ..ProgressLine::new() };
        assert_eq!(at(&mut line, 999), "");
        assert_eq!(line.erase(), "", "nothing was drawn");
        assert_eq!(at(&mut line, 1000), "\rworking, 1 s");
        assert_eq!(at(&mut line, 1200), "", "it says so already");
        line.work = Work::Files(Progress::new(99, 1000));
        assert_eq!(at(&mut line, 1200), "\r99 of 1000 files, 1 s");
        line.work = Work::Bytes(1_000_000, 1_000_000_000);
        assert_eq!(at(&mut line, 61_000), "\r1.0 MB of 1.0 GB, 61 s");
        line.work = Work::Text("x".to_owned());
        assert_eq!(at(&mut line, 62_000), format!("\rx, 62 s{}", " ".repeat(15)));
        assert_eq!(line.erase(), format!("\r{}\r", " ".repeat(7)));
        assert_eq!(line.erase(), "");
    }

    #[test]
    fn nothing_is_drawn_where_nothing_is_shown() {
        let mut line = ProgressLine::new();
        assert_eq!(at(&mut line, 60_000), "");
        assert_eq!(line.erase(), "");
    }
}
