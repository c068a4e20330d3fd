//! The poll loop of commands that follow files: a pause between two polls, until the user ends it.
//!
//! It ends by Ctrl-C, a closed pipe, or a time without changes that was given beforehand. All
//! three are ways to end well. Looking again is simpler than being notified, and works on file systems
//! without notifications; a pause is never so short that polling takes most of the time.

use crate::error::Failure;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::time::{Duration, Instant};

/// The pause between two looks, unless looking takes long.
const PAUSE: Duration = Duration::from_millis(200);

/// The least pause after a poll, as a multiple of the poll's own time.
const REST: u32 = 9;

/// When following ends by itself.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct IdleTimeout {
    /// End once nothing has happened for so many seconds; 0 looks once
    #[arg(long, value_name = "SECS", value_parser = seconds)]
    until_idle: Option<Duration>,
}

fn seconds(text: &str) -> Result<Duration, String> {
    let number: f64 = text.parse().map_err(|_| "not a number of seconds".to_owned())?;
    Duration::try_from_secs_f64(number).map_err(|error| error.to_string())
}

/// The rhythm of looking.
pub(crate) struct PollLoop {
    runtime: tokio::runtime::Runtime,
    interrupt: Pin<Box<dyn Future<Output = io::Result<()>>>>,
    idle: Option<Duration>,
    /// When something happened last.
    last: Instant,
    /// When the look under way began.
    began: Instant,
}

impl PollLoop {
    /// From now on Ctrl-C no longer ends the program: it ends the waiting.
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
        // Being asked once is what makes it listen.
        poll.pause(Duration::ZERO);
        Ok(poll)
    }

    /// Something happened.
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
        let goes_on = self.pause(pause) && !nobody_listens();
        self.began = Instant::now();
        goes_on
    }

    /// False: interrupted.
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

/// Returns whether the reader of our output is gone: there may be nothing to write for long, and
/// then no failed write would tell.
#[cfg(unix)]
fn nobody_listens() -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let stdout = io::stdout();
    let mut fds = [PollFd::new(&stdout, PollFlags::empty())];
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    let is_broken = |fd: &PollFd<'_>| fd.revents().intersects(PollFlags::ERR | PollFlags::NVAL);
    poll(&mut fds, Some(&at_once)).is_ok() && fds.iter().any(is_broken)
}

#[cfg(not(unix))]
fn nobody_listens() -> bool {
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
    fn without_patience_there_is_no_waiting() {
        let mut poll = PollLoop::new(&IdleTimeout { until_idle: Some(Duration::ZERO) }).unwrap();
        assert!(!poll.wait());
    }
}
