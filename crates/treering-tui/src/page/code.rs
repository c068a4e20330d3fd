//! Code as lines: what its pieces are is found by the scanner that all readers share.

use super::wrap::span_columns;
use super::writer::{MAX_LINE_BYTES, pieces, with_plain_ends};
use super::{Line, Shape, Span};
use crate::text::safe_line;
use crate::theme::Tone;
use treering_export::highlight::{self, Class};

/// The prefix of lines of code.
#[derive(Debug, Clone, Copy)]
pub(super) struct Gutter<'a> {
    /// Before the first.
    pub first: &'a [Span],
    /// Before the others.
    pub rest: &'a [Span],
}

impl<'a> Gutter<'a> {
    /// The same before all lines.
    pub(super) fn even(spans: &'a [Span]) -> Self {
        Gutter { first: spans, rest: spans }
    }

    /// Nothing.
    pub(super) const NONE: Gutter<'static> = Gutter { first: &[], rest: &[] };
}

/// Some blanks.
pub(super) fn blanks(count: usize) -> [Span; 1] {
    [Span { tone: Tone::Plain, text: " ".repeat(count) }]
}

/// Returns the lines of some code. A line that is broken goes on under its own beginning.
pub(super) fn code_lines(gutter: Gutter<'_>, language: &str, code: &str) -> Vec<Line> {
    let mut lines = Lines { gutter, out: Vec::new(), line: Vec::new(), bytes: 0 };
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

struct Lines<'a> {
    gutter: Gutter<'a>,
    out: Vec<Line>,
    line: Vec<Span>,
    bytes: usize,
}

impl Lines<'_> {
    fn add(&mut self, tone: Tone, text: &str) {
        for piece in pieces(text).filter(|piece| !piece.is_empty()) {
            if self.bytes + piece.len() > MAX_LINE_BYTES {
                self.end();
            }
            self.bytes += piece.len();
            self.line.push(Span { tone, text: safe_line(piece) });
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
        self.out.push(Line { spans, hang: before + own, shape: Shape::Code });
    }
}

fn tone(class: Class) -> Tone {
    match class {
        Class::Comment => Tone::Comment,
        Class::Text => Tone::Literal,
        Class::Number => Tone::Number,
        Class::Word => Tone::Keyword,
        Class::Name => Tone::Name,
        Class::Added => Tone::Added,
        Class::Removed => Tone::Removed,
        // Code on lines of its own needs no colour to be told from prose.
        _ => Tone::Plain,
    }
}
