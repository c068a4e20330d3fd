//! Prints the totals of the findings in several files.

use super::finding::{severities, tally};
use crate::error::Failure;
use crate::output::{Output, Style};
use crate::text::count;
use std::io::Write;
use treering::findings::{Finding, Severity};

#[derive(Debug, Default)]
pub(super) struct DoctorTotals {
    files: usize,
    /// The number of files with errors or warnings.
    ill: usize,
    /// The number of files that could not be examined.
    pub(super) unreadable: usize,
    severities: [usize; 3],
}

impl DoctorTotals {
    /// Adds the findings of one file.
    pub(super) fn add(&mut self, findings: &[Finding]) {
        self.files += 1;
        let is_bad = |finding: &Finding| finding.severity() >= Severity::Warning;
        self.ill += usize::from(findings.iter().any(is_bad));
        for (sum, number) in self.severities.iter_mut().zip(severities(findings)) {
            *sum += number;
        }
    }

    /// Writes `12 sessions: 3 with errors or warnings (9 errors, 1 note); 1 file …`.
    pub(super) fn write(&self, out: &mut Output) -> Result<(), Failure> {
        let sessions = count(self.files, "session", "sessions");
        let ill = match self.ill {
            0 => "none with errors or warnings".to_owned(),
            ill => format!("{ill} with errors or warnings"),
        };
        let mut line = format!("{sessions}: {ill} ({})", tally(self.severities));
        if self.unreadable > 0 {
            let unreadable = count(self.unreadable, "file", "files");
            line += &format!("; {unreadable} could not be read as a session");
        }
        Ok(writeln!(out, "{}", out.paint(Style::Heading, &line))?)
    }
}
