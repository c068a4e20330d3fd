//! A short message in the last line of a screen.

use crate::theme::Tone;
use treering_display::text::safe_line;

/// A notice for the user. Its text is made safe to show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    pub(crate) tone: Tone,
    pub(crate) text: String,
}

impl Notice {
    /// Creates a notice.
    pub fn new(text: impl AsRef<str>) -> Self {
        Notice { tone: Tone::Plain, text: safe_line(text.as_ref()) }
    }

    /// Creates a notice about a task that ends soon.
    pub fn work(text: impl AsRef<str>) -> Self {
        Notice { tone: Tone::Dim, ..Notice::new(text) }
    }

    /// Creates a notice about a failure.
    pub fn failure(text: impl AsRef<str>) -> Self {
        Notice { tone: Tone::Failure, ..Notice::new(text) }
    }
}
