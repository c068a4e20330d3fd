//! Checks session files that a command is about to replace.

use crate::clock;
use crate::error::Failure;
use std::path::Path;
use treering_index::housekeeping::{Reason, check_idle as check};

/// Refuses a file that was modified a moment ago. An agent that takes no lock may have it open, and
/// later writes would go to the old file.
pub(crate) fn check_idle(file: &Path) -> Result<(), Failure> {
    match check(file, clock::now()) {
        Err(refusal) if matches!(refusal.reason, Reason::Recent) => {
            let hint =
                "stop the program that writes to it and try again in 10 seconds, or pass `--force`";
            Err(Failure::with_hint(refusal.to_string(), hint))
        }
        checked => Ok(checked?),
    }
}
