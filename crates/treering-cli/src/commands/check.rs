//! `treering check`

use crate::error::Failure;
use crate::output::Output;
use crate::text::{count, safe_line};
use std::collections::{HashMap, HashSet};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use treering::{EntryId, Error, Finding, Problem, Session};

/// List what is odd about a session file, by line
///
/// Reads every byte and changes nothing. The exit code is 1 if there is anything to list.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The session file
    pub(crate) file: PathBuf,
}

pub(crate) fn run(args: &Args, out: &mut Output) -> Result<(), Failure> {
    let session = Session::open(&args.file)?;
    let mut findings = session.findings()?;
    let damaged = unnoticed_damage(&session, &findings)?;
    if !damaged.is_empty() {
        findings.extend(find_lines(&args.file, damaged)?);
        findings.sort_by_key(|finding| finding.line);
    }
    if findings.is_empty() {
        writeln!(out, "nothing odd in {}", count(session.tree().len(), "entry", "entries"))?;
        return Ok(());
    }
    for finding in &findings {
        writeln!(out, "{}", safe_line(&finding.to_string()))?;
    }
    Err(Failure::Said)
}

/// Damaged entries, by their bytes. Opening does not look at every body; this does.
fn unnoticed_damage(
    session: &Session,
    findings: &[Finding],
) -> Result<HashMap<Vec<u8>, EntryId>, Failure> {
    let noticed: HashSet<&EntryId> = findings
        .iter()
        .filter_map(|finding| match &finding.problem {
            Problem::DamagedEntry(id) => Some(id),
            _ => None,
        })
        .collect();
    let mut damaged = HashMap::new();
    for entry in session.entries() {
        let entry = entry?;
        if entry.is_damaged() && !noticed.contains(entry.id()) {
            damaged.insert(entry.raw().to_vec(), entry.id().clone());
        }
    }
    Ok(damaged)
}

/// The lines that damaged entries stand on: entries know their bytes, not their lines.
fn find_lines(
    file: &Path,
    mut damaged: HashMap<Vec<u8>, EntryId>,
) -> Result<Vec<Finding>, Failure> {
    let failed = |source| Error::Io { path: file.to_owned(), action: "read", source };
    let reader = BufReader::new(std::fs::File::open(file).map_err(failed)?);
    let mut findings = Vec::new();
    for (line, number) in reader.split(b'\n').zip(1..) {
        if let Some(id) = damaged.remove(&line.map_err(failed)?) {
            findings.push(Finding { line: Some(number), problem: Problem::DamagedEntry(id) });
        }
    }
    let lost = damaged.into_values().map(Problem::DamagedEntry);
    findings.extend(lost.map(|problem| Finding { line: None, problem }));
    Ok(findings)
}
