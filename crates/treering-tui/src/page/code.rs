//! Renders highlighted code as lines.

use super::wrap::span_columns;
use super::writer::{MAX_LINE_BYTES, pieces, with_plain_ends};
use super::{StyledLine, StyledSpan, WrapMode};
use crate::theme::Tone;
use treering_display::highlight::{self, Class};
use treering_display::text::safe_line;

/// The prefix of lines of code.
#[derive(Debug, Clone, Copy)]
pub(super) struct Gutter<'a> {
    /// The prefix of the first line.
    pub first: &'a [StyledSpan],
    /// The prefix of the other lines.
    pub rest: &'a [StyledSpan],
}

impl<'a> Gutter<'a> {
    /// Creates a gutter that is the same for all lines.
    pub(super) fn even(spans: &'a [StyledSpan]) -> Self {
        Gutter { first: spans, rest: spans }
    }

    /// An empty gutter.
    pub(super) const NONE: Gutter<'static> = Gutter { first: &[], rest: &[] };
}

/// Returns spaces.
pub(super) fn blanks(count: usize) -> [StyledSpan; 1] {
    [StyledSpan { tone: Tone::Plain, text: " ".repeat(count) }]
}

/// Returns the lines of some code. A wrapped line continues under its own beginning.
pub(super) fn code_lines(gutter: Gutter<'_>, language: &str, code: &str) -> Vec<StyledLine> {
    let mut lines = CodeLines { gutter, out: Vec::new(), line: Vec::new(), bytes: 0 };
    let code = with_plain_ends(code);
    for (class, text) in highlight::pieces(language, code.trim_end_matches('\n')) {
        let mut parts = text.split('\n');
        lines.add(tone(class), parts.next().unwrap_or_default());
        for part in parts {
            lines.end();
            lines.add(tone(class), part);
        }
    }
    lines.end();
    lines.out
}

struct CodeLines<'a> {
    gutter: Gutter<'a>,
    out: Vec<StyledLine>,
    line: Vec<StyledSpan>,
    bytes: usize,
}

impl CodeLines<'_> {
    fn add(&mut self, tone: Tone, text: &str) {
        for piece in pieces(text).filter(|piece| !piece.is_empty()) {
            if self.bytes + piece.len() > MAX_LINE_BYTES {
                self.end();
            }
            self.bytes += piece.len();
            self.line.push(StyledSpan { tone, text: safe_line(piece) });
        }
    }

    fn end(&mut self) {
        let gutter = if self.out.is_empty() { self.gutter.first } else { self.gutter.rest };
        let own = self
            .line
            .first()
            .map_or(0, |span| span.text.bytes().take_while(|byte| *byte == b' ').count());
        let mut spans = gutter.to_vec();
        let before = span_columns(&spans);
        spans.append(&mut self.line);
        self.bytes = 0;
        self.out.push(StyledLine { spans, hang: before + own, wrap_mode: WrapMode::Code });
    }
}

fn tone(class: Class) -> Tone {
    match class {
        Class::Comment => Tone::Comment,
        Class::String => Tone::Literal,
        Class::Number => Tone::Number,
        Class::Keyword => Tone::Keyword,
        Class::Name => Tone::Name,
        Class::Added => Tone::Added,
        Class::Removed => Tone::Removed,
        // Code on lines of its own is distinguished from prose without a color.
        _ => Tone::Plain,
    }
}
