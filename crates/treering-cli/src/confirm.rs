//! Asks the user at a terminal. Without a terminal, running the command counts as the answer.

use crate::progress;
use crate::text::safe_line;
use std::io::{self, BufRead, IsTerminal, Write};

/// Returns whether the user agrees.
pub(crate) fn agrees(question: &str) -> bool {
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return true;
    }
    progress::stop();
    let mut stderr = io::stderr().lock();
    let _ = write!(stderr, "{} [y/N] ", safe_line(question));
    let _ = stderr.flush();
    let mut answer = String::new();
    let read = io::stdin().lock().read_line(&mut answer);
    read.is_ok() && matches!(answer.trim().to_lowercase().as_str(), "y" | "yes")
}
