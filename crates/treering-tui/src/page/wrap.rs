//! Wraps lines to a width: prose at spaces, code at the edge.
//!
//! The wrapping uses grapheme clusters and the same columns as drawing. Nothing visible is lost,
//! only the spaces at which prose is wrapped.

use super::{StyledLine, StyledSpan, WrapMode};
use crate::theme::Tone;
use treering_display::columns::{columns, graphemes};

/// The smallest width. Some characters take two columns.
const MIN_WIDTH: usize = 2;

/// Appends the rows of a line.
pub(super) fn wrap(line: &StyledLine, width: usize, out: &mut Vec<StyledLine>) {
    let width = width.max(MIN_WIDTH);
    match &line.wrap_mode {
        WrapMode::Rule => return out.push(rule(line, width)),
        WrapMode::Row(table, row) => {
            return table.lay_out(*row, lead(line, width), width, out);
        }
        // A character has at least as many bytes as columns.
        _ if bytes(line) <= width || is_narrow(line, width) => {
            return out.push(StyledLine::of(line.spans.clone()));
        }
        _ => {}
    }
    let start = out.len();
    let mut rows = LineWrapper::new(line, width, out);
    match line.wrap_mode {
        WrapMode::Code => rows.code(line),
        _ => rows.prose(line),
    }
    debug_assert!(out.len() > start);
}

/// Returns the columns of some spans.
pub(super) fn span_columns(spans: &[StyledSpan]) -> usize {
    spans.iter().map(|span| columns(&span.text)).sum()
}

fn bytes(line: &StyledLine) -> usize {
    line.spans.iter().map(|span| span.text.len()).sum()
}

fn is_narrow(line: &StyledLine, width: usize) -> bool {
    let mut left = width;
    line.spans.iter().flat_map(|span| graphemes(&span.text)).all(|(_, wide)| {
        let fits = wide <= left;
        left = left.saturating_sub(wide);
        fits
    })
}

fn rule(line: &StyledLine, width: usize) -> StyledLine {
    let mut spans = line.spans.clone();
    let text = "─".repeat(width.saturating_sub(span_columns(&spans)));
    spans.push(StyledSpan { tone: Tone::Dim, text });
    StyledLine::of(spans)
}

/// The prefix of the first row, and that of the others.
pub(super) struct HangingIndent<'a> {
    pub first: Vec<(Tone, &'a str)>,
    pub rest: Vec<(Tone, &'a str)>,
    pub columns: usize,
    /// The number of clusters in the prefix.
    clusters: usize,
}

/// Returns the prefix of a line's rows, in at most half of the width.
pub(super) fn lead(line: &StyledLine, width: usize) -> HangingIndent<'_> {
    let most = line.hang.min(width / 2).min(width - MIN_WIDTH);
    let mut lead = HangingIndent { first: Vec::new(), rest: Vec::new(), columns: 0, clusters: 0 };
    for span in &line.spans {
        for (cluster, wide) in graphemes(&span.text) {
            if lead.columns + wide > most {
                return lead;
            }
            lead.first.push((span.tone, cluster));
            match span.tone {
                Tone::Quote => lead.rest.push((span.tone, cluster)),
                _ => lead.rest.extend((0..wide).map(|_| (Tone::Plain, " "))),
            }
            lead.columns += wide;
            lead.clusters += 1;
        }
    }
    lead
}

/// Adds a cluster to a row.
pub(super) fn add(row: &mut Vec<StyledSpan>, tone: Tone, cluster: &str) {
    match row.last_mut() {
        Some(last) if last.tone == tone => last.text.push_str(cluster),
        _ => row.push(StyledSpan { tone, text: cluster.to_owned() }),
    }
}

struct LineWrapper<'a, 'b> {
    width: usize,
    lead: HangingIndent<'a>,
    row: Vec<StyledSpan>,
    used: usize,
    out: &'b mut Vec<StyledLine>,
}

impl<'a, 'b> LineWrapper<'a, 'b> {
    fn new(line: &'a StyledLine, width: usize, out: &'b mut Vec<StyledLine>) -> Self {
        let lead = lead(line, width);
        let mut row = Vec::new();
        lead.first.iter().for_each(|(tone, cluster)| add(&mut row, *tone, cluster));
        let used = lead.columns;
        LineWrapper { width, lead, row, used, out }
    }

    /// Puts a cluster on this row, or on the next if there is no room.
    fn put(&mut self, tone: Tone, cluster: &str, wide: usize) {
        if self.used + wide > self.width && self.used > self.lead.columns {
            self.end();
        }
        if self.used + wide <= self.width {
            add(&mut self.row, tone, cluster);
            self.used += wide;
            return;
        }
        // A cluster may be wider than a very narrow screen.
        let mut bytes = [0; 4];
        for character in cluster.chars() {
            let character: &str = character.encode_utf8(&mut bytes);
            let wide = columns(character);
            if self.used + wide > self.width {
                self.end();
            }
            add(&mut self.row, tone, character);
            self.used += wide;
        }
    }

    fn end(&mut self) {
        self.out.push(StyledLine::of(std::mem::take(&mut self.row)));
        for (tone, cluster) in &self.lead.rest {
            add(&mut self.row, *tone, cluster);
        }
        self.used = self.lead.columns;
    }

    fn clusters(
        &self,
        line: &'a StyledLine,
    ) -> impl Iterator<Item = (Tone, &'a str, usize)> + use<'a> {
        let all = line.spans.iter().flat_map(|span| {
            graphemes(&span.text).map(|(cluster, wide)| (span.tone, cluster, wide))
        });
        all.skip(self.lead.clusters)
    }

    fn code(&mut self, line: &'a StyledLine) {
        for (tone, cluster, wide) in self.clusters(line) {
            self.put(tone, cluster, wide);
        }
        self.end();
    }

    fn prose(&mut self, line: &'a StyledLine) {
        let (mut gap, mut word) = (Vec::new(), Vec::new());
        for (tone, cluster, wide) in self.clusters(line) {
            match cluster {
                " " => {
                    self.word(&mut gap, &mut word);
                    gap.push(tone);
                }
                _ => word.push((tone, cluster, wide)),
            }
        }
        self.word(&mut gap, &mut word);
        self.end();
    }

    /// Puts a word with the spaces before it, or at the beginning of a new row.
    fn word(&mut self, gap: &mut Vec<Tone>, word: &mut Vec<(Tone, &'a str, usize)>) {
        if word.is_empty() {
            return;
        }
        let wide: usize = word.iter().map(|(_, _, wide)| wide).sum();
        if self.used + gap.len() + wide <= self.width {
            gap.iter().for_each(|tone| self.put(*tone, " ", 1));
        } else if self.used > self.lead.columns {
            self.end();
        }
        gap.clear();
        word.drain(..).for_each(|(tone, cluster, wide)| self.put(tone, cluster, wide));
    }
}
