//! Fills a page up to a limit. An entry may be a gigabyte, a page is not.

use super::code::{Gutter, code_lines};
use super::{Page, StyledLine, StyledSpan};
use crate::theme::Tone;
use std::borrow::Cow;
use treering_display::text::{prefix, safe_line};

/// The largest number of lines of a page.
pub(super) const MAX_LINES: usize = 20_000;
const MAX_BYTES: usize = 4 << 20;
/// The largest number of bytes of a line; longer ones are split, so that a screen needs only what
/// it shows.
pub(super) const MAX_LINE_BYTES: usize = 8 << 10;

/// A page that is being written.
#[derive(Debug, Default)]
pub(super) struct PageWriter {
    lines: Vec<StyledLine>,
    bytes: usize,
    is_full: bool,
}

impl PageWriter {
    pub(super) fn finish(self) -> Page {
        Page { lines: self.lines }
    }

    pub(super) fn is_full(&self) -> bool {
        self.is_full
    }

    pub(super) fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// Returns the number of bytes for which there is room.
    pub(super) fn room(&self) -> usize {
        MAX_BYTES.saturating_sub(self.bytes)
    }

    pub(super) fn push(&mut self, line: StyledLine) {
        if self.is_full {
            return;
        }
        self.bytes += line.spans.iter().map(|span| span.text.len()).sum::<usize>() + 1;
        self.is_full = self.lines.len() >= MAX_LINES || self.bytes > MAX_BYTES;
        self.lines.push(match self.is_full {
            true => StyledLine::new(Tone::Dim, "… the rest is not shown"),
            false => line,
        });
    }

    /// Adds an empty line, unless the page is empty.
    pub(super) fn gap(&mut self) {
        if !self.is_empty() {
            self.push(StyledLine::default());
        }
    }

    /// Adds a text line by line.
    pub(super) fn text(&mut self, tone: Tone, text: &str) {
        self.indented(tone, "", text);
    }

    /// Adds a text line by line, each after some spaces.
    pub(super) fn indented(&mut self, tone: Tone, blanks: &str, text: &str) {
        for line in with_plain_ends(text).split('\n') {
            for piece in pieces(line) {
                if self.is_full {
                    return;
                }
                let text = format!("{blanks}{}", safe_line(piece));
                self.push(StyledLine::of(vec![StyledSpan { tone, text }]).hanging(blanks.len()));
            }
        }
    }

    /// Adds code in a language, every line after the gutter.
    pub(super) fn code(&mut self, gutter: Gutter<'_>, language: &str, code: &str) {
        // Only the visible part is highlighted.
        let end = prefix(code, self.room() + 1).len();
        for line in code_lines(gutter, language, code.get(..end).unwrap_or(code)) {
            if self.is_full {
                return;
            }
            self.push(line);
        }
    }

    /// Adds JSON over several lines.
    pub(super) fn json(&mut self, gutter: Gutter<'_>, raw: &[u8]) {
        let raw = raw.get(..self.room() + 1).unwrap_or(raw);
        let json = treering_display::json::pretty_json(&String::from_utf8_lossy(raw));
        self.code(gutter, "json", &json);
    }
}

/// Returns a text with `\n` as line breaks.
pub(super) fn with_plain_ends(text: &str) -> Cow<'_, str> {
    match text.contains("\r\n") {
        true => text.replace("\r\n", "\n").into(),
        false => text.into(),
    }
}

/// Splits a line into pieces of limited length; an empty line is one piece.
pub(super) fn pieces(line: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(line);
    std::iter::from_fn(move || {
        let line = rest.take()?;
        let (piece, more) = line.split_at_checked(prefix(line, MAX_LINE_BYTES).len())?;
        rest = Some(more).filter(|more| !more.is_empty());
        Some(piece)
    })
}
