//! Finds harmless irregularities in the text of a log: byte order marks, line ends, encoding.

use crate::findings::{Finding, Problem};
use crate::load::BOM;

#[derive(Debug, Default)]
pub(super) struct TextFindings {
    has_bom: bool,
    crlf: FindingLines,
    not_utf8: FindingLines,
}

/// The number of lines with a finding, and the first of them.
#[derive(Debug, Default)]
struct FindingLines {
    first: u64,
    count: u64,
}

impl FindingLines {
    fn add(&mut self, number: u64) {
        self.count += 1;
        if self.count == 1 {
            self.first = number;
        }
    }
}

impl TextFindings {
    /// Checks a line, which begins at `offset` if it has no byte order mark.
    pub(super) fn take(&mut self, number: u64, offset: u64, bytes: &[u8]) {
        self.has_bom |= number == 1 && offset == BOM.len() as u64;
        if bytes.last() == Some(&b'\r') {
            self.crlf.add(number);
        }
        if std::str::from_utf8(bytes).is_err() {
            self.not_utf8.add(number);
        }
    }

    pub(super) fn findings(self) -> impl Iterator<Item = Finding> {
        let TextFindings { has_bom, crlf, not_utf8 } = self;
        let bom = has_bom.then_some(Finding { line: Some(1), problem: Problem::ByteOrderMark });
        let of = |lines: FindingLines, problem: fn(u64) -> Problem| {
            let problem = problem(lines.count);
            (lines.count > 0).then_some(Finding { line: Some(lines.first), problem })
        };
        let crlf = of(crlf, |lines| Problem::CarriageReturns { lines });
        let not_utf8 = of(not_utf8, |lines| Problem::NotUtf8 { lines });
        [bom, crlf, not_utf8].into_iter().flatten()
    }
}
