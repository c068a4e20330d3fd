//! Diagnoses and repairs session files.
//!
//! [`examine`] reads every byte and writes nothing. It reports the findings of loading, of every
//! line (`survey`) and of every entry (`entries`, `tools`), and how much of the history is cut off
//! from the active leaf by broken links (`history`). [`plan_repair`] decides what a repair changes
//! (`plan`), and [`RepairPlan::apply`] makes a copy in which nothing that can be read is lost and
//! every link resolves: [`write`] copies, and the copy is read again before it is reported as good.
//! [`repair`] does both at once.
//!
//! Both work on every dialect, through its codec.

mod entries;
mod history;
mod nearest;
mod plan;
mod repair;
mod survey;
mod text;
mod tools;
mod write;

pub use history::Reachability;
pub use repair::{
    Relinked, Renamed, Repair, RepairChanges, RepairOptions, RepairPlan, RepairTo, plan_repair,
    repair,
};

use crate::dialect::Dialect;
use crate::error::{Error, Result};
use crate::findings::{Finding, Problem, Severity};
use crate::header::VERSION;
use crate::load::{Loaded, MAX_FINDINGS};
use crate::log::Journal;
use crate::migrate;
use crate::session::Session;
use crate::snapshot::Snapshot;
use crate::tree::Row;
use entries::{LocatedProblems, UnknownTypes};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use survey::PartKind;
use text::TextFindings;

/// The findings about a session file, all of which was read.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Diagnosis {
    /// The path of the file.
    pub path: PathBuf,
    /// The dialect of the file.
    pub dialect: Dialect,
    /// The number of entries.
    pub entries: usize,
    /// The size of the file in bytes.
    pub size: u64,
    /// The problems, by line; those that are not about one line come last. If a kind of problem is
    /// very frequent, not every case is listed.
    pub findings: Vec<Finding>,
}

impl Diagnosis {
    /// Returns the severity of the worst finding, or `None` if there is none.
    pub fn worst(&self) -> Option<Severity> {
        self.findings.iter().map(Finding::severity).max()
    }

    /// Returns whether there is neither an error nor a warning.
    pub fn is_healthy(&self) -> bool {
        self.worst() < Some(Severity::Warning)
    }
}

/// Reads all of a session file and returns the problems in it. Changes nothing.
///
/// # Errors
///
/// Fails with [`Error::NotASession`] if the file has content but is not a session, and if it cannot
/// be read. Problems in a session are never errors.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// let path = dir.path().join("s.jsonl");
/// std::fs::write(&path, concat!(
///     r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-05T09:00:00.000Z","cwd":"/p"}"#, "\n",
///     r#"{"type":"message","id":"a","parentId":"gone","timestamp":"2026-01-05T09:00:01.000Z","#,
///     r#""message":{"role":"user","content":"hello"}}"#, "\n",
/// ))?;
/// let diagnosis = treering::doctor::examine(&path)?;
/// assert!(!diagnosis.is_healthy());
/// assert_eq!(diagnosis.findings[0].code(), "missing-parent");
/// assert_eq!(diagnosis.findings[0].line, Some(2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn examine(path: impl AsRef<Path>) -> Result<Diagnosis> {
    let path = path.as_ref();
    let journal: Arc<dyn Journal> = Arc::new(crate::dialect::stored::open(path)?);
    let loaded = Loaded::read(&*journal).map_err(|error| error.at(Some(path)))?.at(path);
    let findings = findings(&journal, &loaded)?;
    Ok(Diagnosis {
        path: path.to_owned(),
        dialect: loaded.dialect,
        entries: loaded.tree.len(),
        size: loaded.seen,
        findings,
    })
}

impl Session {
    /// Reads all of the file and returns the findings, by line: see
    /// [`examine`].
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be read.
    pub fn all_findings(&self) -> Result<Vec<Finding>> {
        let state = self.state();
        findings(&state.journal, &state.loaded)
    }
}

/// Returns all findings about a loaded log.
fn findings(journal: &Arc<dyn Journal>, loaded: &Loaded) -> Result<Vec<Finding>> {
    let view = Snapshot::new(loaded, Arc::clone(journal), false);
    let mut found = about_the_header(loaded);
    let mut text = TextFindings::default();
    lines(&**journal, loaded, &mut found, &mut text)?;
    entries::examine(&view, loaded, &mut found)?;
    let mut findings = loaded.findings(&**journal, found).map_err(Error::Storage)?;
    findings.extend(text.findings());
    findings.sort_by_key(|finding| finding.line);
    // The survey repeats the findings of loading.
    let mut unique: Vec<Finding> = Vec::with_capacity(findings.len());
    for finding in findings {
        let same_line = unique.iter().rev().take_while(|other| other.line == finding.line);
        if !same_line.take(MAX_FINDINGS).any(|other| *other == finding) {
            unique.push(finding);
        }
    }
    let problem = history::unreachable(&view)?;
    unique.extend(problem.map(|problem| Finding { line: None, problem }));
    Ok(unique)
}

fn about_the_header(loaded: &Loaded) -> LocatedProblems {
    let mut found = LocatedProblems::new();
    let start = loaded.header_span.start;
    if loaded.seen == 0 {
        found.push((0, Problem::Empty));
    }
    if is_header_misplaced(loaded) {
        found.push((start, Problem::HeaderNotFirst));
    }
    if let Some(header) = loaded.header.as_ref().filter(|_| migrate::is_due(loaded)) {
        found.push(match header.declared {
            0 if header.version >= VERSION => (start, Problem::NoVersion),
            version => (start, Problem::OldVersion(version.max(1))),
        });
    }
    found
}

/// Returns whether there are entries before the header.
fn is_header_misplaced(loaded: &Loaded) -> bool {
    let first = loaded.tree.get(Row::FIRST);
    !loaded.header_span.is_empty()
        && !loaded.facts().is_headerless()
        && first.is_some_and(|node| node.offset < loaded.header_span.start)
}

/// Collects the findings of every line.
fn lines(
    journal: &dyn Journal,
    loaded: &Loaded,
    found: &mut LocatedProblems,
    text: &mut TextFindings,
) -> Result<()> {
    let mut unknown = UnknownTypes::default();
    let mut damage = 0;
    let surveyed = survey::lines(journal, loaded, |line| {
        text.take(line.number, line.offset, line.bytes);
        if line.parts.len() > 1 && damage < MAX_FINDINGS {
            damage += 1;
            found.push((line.offset, Problem::Glued));
        }
        for part in line.parts {
            let problem = match part.what {
                PartKind::Fragment => Problem::Damaged,
                PartKind::DamagedEntry(row) => Problem::DamagedEntry(loaded.tree.id(row)),
                PartKind::Torn => Problem::TornTail,
                PartKind::Side => {
                    let record = &line.bytes[part.span.clone()];
                    let name = crate::json::get(record, "type").and_then(crate::json::string);
                    let name = name.unwrap_or_default();
                    if !entries::is_known(loaded, &name) {
                        unknown.add(&name, line.offset);
                    }
                    continue;
                }
                _ => continue,
            };
            if damage < MAX_FINDINGS {
                damage += 1;
                found.push((line.offset, problem));
            }
        }
        Ok(())
    });
    surveyed.map_err(Error::Storage)?;
    found.extend(unknown.problems());
    Ok(())
}
