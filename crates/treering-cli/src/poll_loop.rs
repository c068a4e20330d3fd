//! The poll loop of commands that follow files: a pause between two polls, until the user ends it.
//!
//! It ends with Ctrl-C, a closed pipe, or after a given time without changes. All three count as
//! success. Polling is simpler than notifications, and works on file systems without them; the
//! pause is long enough that polling never takes most of the time.

use crate::error::Failure;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::time::{Duration, Instant};

/// The pause between two polls, unless a poll takes long.
const PAUSE: Duration = Duration::from_millis(200);

/// The minimum pause after a poll, as a multiple of the duration of the poll.
const REST: u32 = 9;

/// The option that ends a command that otherwise runs until Ctrl-C.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct IdleTimeout {
    /// End after this many seconds without a change; 0 checks once
    #[arg(long, value_name = "SECS", value_parser = seconds, allow_negative_numbers = true)]
    until_idle: Option<Duration>,
}

impl IdleTimeout {
    pub(crate) fn is_given(&self) -> bool {
        self.until_idle.is_some()
    }
}

/// Parses a number of seconds.
pub(crate) fn seconds(text: &str) -> Result<Duration, String> {
    let number = text.parse::<f64>().ok();
    let duration = number.and_then(|number| Duration::try_from_secs_f64(number).ok());
    duration.ok_or_else(|| "expected a number of seconds such as 2 or 0.5".to_owned())
}

/// A loop that polls at intervals.
pub(crate) struct PollLoop {
    runtime: tokio::runtime::Runtime,
    interrupt: Pin<Box<dyn Future<Output = io::Result<()>>>>,
    idle: Option<Duration>,
    /// The time of the last change.
    last: Instant,
    /// The time at which the current poll began.
    began: Instant,
}

impl PollLoop {
    /// Creates the loop. From now on Ctrl-C ends the loop instead of the program.
    pub(crate) fn new(idle: &IdleTimeout) -> Result<Self, Failure> {
        let cannot =
            |error: io::Error| Failure::message(format!("cannot start the runtime: {error}"));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let mut poll = PollLoop {
            runtime: runtime.map_err(cannot)?,
            interrupt: Box::pin(tokio::signal::ctrl_c()),
            idle: idle.until_idle,
            last: Instant::now(),
            began: Instant::now(),
        };
        // The handler is installed by the first pause.
        poll.pause(Duration::ZERO);
        Ok(poll)
    }

    /// Records a change.
    pub(crate) fn mark_change(&mut self) {
        self.last = Instant::now();
    }

    /// Waits for the next poll. Returns false when the loop should end.
    pub(crate) fn wait(&mut self) -> bool {
        let mut pause = PAUSE.max(self.began.elapsed() * REST);
        if let Some(idle) = self.idle {
            let left = idle.saturating_sub(self.last.elapsed());
            if left.is_zero() {
                return false;
            }
            pause = pause.min(left);
        }
        let goes_on = self.pause(pause) && !is_output_closed();
        self.began = Instant::now();
        goes_on
    }

    /// Waits. Returns false if the wait was interrupted.
    fn pause(&mut self, pause: Duration) -> bool {
        let interrupt = &mut self.interrupt;
        self.runtime.block_on(async {
            tokio::select! {
                biased;
                _ = interrupt => false,
                () = tokio::time::sleep(pause) => true,
            }
        })
    }
}

/// Returns whether the reader of the output is gone. If there is nothing to write for a long time,
/// no failed write would show it.
#[cfg(unix)]
fn is_output_closed() -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let stdout = io::stdout();
    let mut fds = [PollFd::new(&stdout, PollFlags::empty())];
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    let is_broken = |fd: &PollFd<'_>| fd.revents().intersects(PollFlags::ERR | PollFlags::NVAL);
    poll(&mut fds, Some(&at_once)).is_ok() && fds.iter().any(is_broken)
}

#[cfg(not(unix))]
fn is_output_closed() -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_may_have_fractions_but_no_sign() {
        assert_eq!(seconds("0"), Ok(Duration::ZERO));
        assert_eq!(seconds("0.25"), Ok(Duration::from_millis(250)));
        for bad in ["", "-1", "NaN", "inf", "1e300", "5s"] {
            assert!(seconds(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_zero_idle_timeout_does_not_wait() {
        let mut poll = PollLoop::new(&IdleTimeout { until_idle: Some(Duration::ZERO) }).unwrap();
        assert!(!poll.wait());
    }
}
