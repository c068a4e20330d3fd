//! Handles signals that end the program, and removes unfinished files.
//!
//! The terminal interface, and commands that wait for a model or for a file to grow, handle Ctrl-C
//! themselves. For all others a thread waits for signals, removes the files that are being written,
//! and lets the signal end the process, so that a shell sees the signal in the exit code (130 for
//! Ctrl-C, 143 for SIGTERM).

/// The signals that the command handles itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HandledByCommand {
    /// The command handles no signals.
    Nothing,
    /// The command handles Ctrl-C.
    Interrupt,
    /// The command handles all signals.
    All,
}

/// Handles signals from now on. If the handler cannot be installed, signals end the program as
/// usual.
#[cfg(unix)]
pub(crate) fn install(handled: HandledByCommand) {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    let signals = match handled {
        HandledByCommand::Nothing => &[SIGHUP, SIGTERM, SIGINT][..],
        HandledByCommand::Interrupt => &[SIGHUP, SIGTERM],
        HandledByCommand::All => return,
    };
    // A program that is started with a signal ignored (`nohup`, background jobs) leaves it ignored.
    let is_ignored = |signal: &i32| ignored() >> (signal - 1) & 1 == 1;
    let signals: Vec<i32> = signals.iter().copied().filter(|signal| !is_ignored(signal)).collect();
    let Ok(mut signals) = signal_hook::iterator::Signals::new(signals) else { return };
    std::thread::spawn(move || {
        if let Some(signal) = signals.forever().next() {
            let _no_more = treering::internal::fs::remove_unfinished();
            let _ = signal_hook::low_level::emulate_default_handler(signal);
            // This is not reached, because the signal has ended the process.
            std::process::exit(128 + signal);
        }
    });
}

#[cfg(not(unix))]
pub(crate) fn install(_: HandledByCommand) {}

/// Returns the signals that this process ignores, one bit each; none if the system does not report
/// them.
#[cfg(unix)]
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}
