//! A short message in the last line of a screen.

use crate::text::safe_line;
use crate::theme::Tone;

/// Something a person should know. Safe to show, whatever is in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    pub(crate) tone: Tone,
    pub(crate) text: String,
}

impl Notice {
    /// Good news, or none.
    pub fn new(text: impl AsRef<str>) -> Self {
        Notice { tone: Tone::Plain, text: safe_line(text.as_ref()) }
    }

    /// Something is being done, and will be over in a moment.
    pub fn work(text: impl AsRef<str>) -> Self {
        Notice { tone: Tone::Dim, ..Notice::new(text) }
    }

    /// Something did not work.
    pub fn failure(text: impl AsRef<str>) -> Self {
        Notice { tone: Tone::Failure, ..Notice::new(text) }
    }
}
