//! Groups similar findings: a file often has the same problem on many lines.

use treering::findings::Finding;

/// The maximum number of findings of one kind that are shown; the others are counted.
const MAX_OF_A_KIND: usize = 5;

/// The maximum number of ranges of lines that are listed.
const MAX_RANGES: usize = 6;

/// One row of a report: a finding, or several similar ones.
#[derive(Debug)]
pub(super) struct Row<'a> {
    pub(super) first: &'a Finding,
    /// The lines of all findings of the row, in order.
    lines: Vec<u64>,
    count: usize,
    /// Whether the findings are of one kind, but have different texts.
    is_rest: bool,
}

impl<'a> Row<'a> {
    pub(super) fn of(first: &'a Finding) -> Self {
        Row { first, lines: first.line.into_iter().collect(), count: 1, is_rest: false }
    }

    fn add(&mut self, finding: &Finding) {
        self.count += 1;
        self.lines.extend(finding.line);
    }

    /// Returns the position of the first finding.
    pub(super) fn place(&self) -> String {
        self.first.line.map_or("file".to_owned(), |line| format!("line {line}"))
    }

    /// Returns the text of the row.
    pub(super) fn what(&self) -> String {
        let (what, lines) = (self.first.problem.to_string(), ranges(&self.lines));
        match (self.is_rest, self.count) {
            (true, count) => format!("… and {count} more: lines {lines}; --verbose lists them"),
            (false, 1) => what,
            (false, count) if lines.is_empty() => format!("{what} (×{count})"),
            (false, count) => format!("{what} (×{count}: lines {lines})"),
        }
    }
}

/// Groups findings with the same text, and the rest of a kind with many findings.
pub(super) fn together(findings: &[Finding]) -> Vec<Row<'_>> {
    use std::collections::HashMap;
    let mut rows: Vec<Row<'_>> = Vec::new();
    let mut same: HashMap<(&str, String), usize> = HashMap::new();
    // The number of rows of each kind, and the row that counts the others.
    let mut kinds: HashMap<&str, (usize, Option<usize>)> = HashMap::new();
    for finding in findings {
        let key = (finding.code(), finding.problem.to_string());
        if let Some(row) = same.get(&key).and_then(|&at| rows.get_mut(at)) {
            row.add(finding);
            continue;
        }
        let (shown, rest) = kinds.entry(finding.code()).or_default();
        match *rest {
            _ if *shown < MAX_OF_A_KIND => {
                *shown += 1;
                same.insert(key, rows.len());
                rows.push(Row::of(finding));
            }
            None => {
                *rest = Some(rows.len());
                rows.push(Row { is_rest: true, ..Row::of(finding) });
            }
            Some(at) => {
                if let Some(row) = rows.get_mut(at) {
                    row.add(finding);
                }
            }
        }
    }
    // Showing one more finding takes no more room than saying that there is one more.
    for row in rows.iter_mut().filter(|row| row.count == 1) {
        row.is_rest = false;
    }
    rows
}

/// Returns ranges such as `3–7, 9, 12`.
fn ranges(lines: &[u64]) -> String {
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    for &line in lines {
        match ranges.last_mut() {
            Some((_, end)) if line == *end || line == *end + 1 => *end = line,
            _ => ranges.push((line, line)),
        }
    }
    let shown = ranges.iter().take(MAX_RANGES).map(|(start, end)| match start == end {
        true => start.to_string(),
        false => format!("{start}–{end}"),
    });
    let mut shown: Vec<String> = shown.collect();
    if ranges.len() > MAX_RANGES {
        shown.push("…".to_owned());
    }
    shown.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_shown_as_ranges() {
        assert_eq!(ranges(&[]), "");
        assert_eq!(ranges(&[3]), "3");
        assert_eq!(ranges(&[3, 4, 4, 5, 9, 11, 12]), "3–5, 9, 11–12");
        assert_eq!(ranges(&[1, 3, 5, 7, 9, 11, 13]), "1, 3, 5, 7, 9, 11, …");
    }
}
