//! Collects the findings made while reading a log, with their lines.

use super::{Loaded, MAX_FINDINGS};
use crate::entry::Kind;
use crate::findings::{Finding, Problem};
use crate::json;
use crate::log::{Journal, scan};
use crate::tree::Shape;
use std::io;

impl Loaded {
    pub(super) fn find(&mut self, line: u64, problem: Problem) {
        if self.findings.len() < MAX_FINDINGS {
            self.findings.push(Finding { line: Some(line), problem });
        }
    }

    /// Returns all findings of reading, and `more`, by line.
    pub(crate) fn findings(
        &self,
        journal: &dyn Journal,
        more: Vec<(u64, Problem)>,
    ) -> io::Result<Vec<Finding>> {
        let mut findings = self.findings.clone();
        let mut found: Vec<_> = self.tree_problems().take(MAX_FINDINGS).collect();
        found.extend(self.dangling(journal)?);
        found.extend(more);
        found.sort_by_key(|(offset, _)| *offset);
        let offsets: Vec<u64> = found.iter().map(|(offset, _)| *offset).collect();
        let numbers = line_numbers(journal, &offsets)?;
        for (line, (_, problem)) in numbers.into_iter().zip(found) {
            findings.push(Finding { line: Some(line), problem });
        }
        findings.sort_by_key(|finding| finding.line);
        Ok(findings)
    }

    /// Returns the problems that were found while building the tree, except those that are usual
    /// for the agent.
    fn tree_problems(&self) -> impl Iterator<Item = (u64, Problem)> + '_ {
        let is_usual = |problem: &Problem| {
            self.facts.updates_records && matches!(problem, Problem::Duplicate(_))
        };
        self.tree.problems().filter(move |(_, problem)| !is_usual(problem))
    }

    /// Returns the number of findings that need no second pass over the log.
    pub(crate) fn finding_count(&self) -> usize {
        self.findings.len() + self.tree_problems().take(MAX_FINDINGS).count()
    }

    /// Returns the entries that refer to entries which do not exist.
    fn dangling(&self, journal: &dyn Journal) -> io::Result<Vec<(u64, Problem)>> {
        let mut found = Vec::new();
        for row in self.tree.live() {
            let node = self.tree.node(row);
            let key = match node.kind() {
                Kind::Label | Kind::Leaf => "targetId",
                Kind::Compaction if self.shape != Some(Shape::Chain) => "firstKeptEntryId",
                _ => continue,
            };
            let mut bytes = vec![0; usize::try_from(node.len).map_err(io::Error::other)?];
            scan::read_full(journal, node.offset, &mut bytes)?;
            if !self.facts.is_native(node.kind()) {
                bytes = self.codec().decode(&bytes).entry.fields_object();
            }
            let named = json::get(&bytes, key).and_then(json::string);
            if found.len() < MAX_FINDINGS
                && named.is_some_and(|id| !id.is_empty() && !self.tree.contains(&id))
            {
                let id = self.tree.id(row);
                found.push((
                    node.offset,
                    match node.kind() {
                        Kind::Compaction => Problem::MissingFirstKept(id),
                        _ => Problem::MissingTarget(id),
                    },
                ));
            }
        }
        Ok(found)
    }
}

/// Returns the numbers, counted from 1, of the lines that these (ascending) offsets are on.
fn line_numbers(journal: &dyn Journal, offsets: &[u64]) -> io::Result<Vec<u64>> {
    let mut numbers = Vec::with_capacity(offsets.len());
    let (mut number, mut at) = (1, 0);
    let mut chunk = vec![0; 64 * 1024];
    for &offset in offsets {
        while at < offset {
            let want = chunk.len().min((offset - at) as usize);
            let got = scan::read_full(journal, at, &mut chunk[..want])?;
            number += memchr::memchr_iter(b'\n', &chunk[..got]).count() as u64;
            at += got as u64;
            if got < want {
                break;
            }
        }
        numbers.push(number);
    }
    Ok(numbers)
}
