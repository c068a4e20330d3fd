//! Prints the report of a repair, for users and for programs.

use super::finding::{write_findings, write_groups};
use super::{Detail, Health};
use crate::error::Failure;
use crate::output::{Output, Style, json_string, json_string_or_null};
use crate::text::{count, safe_line};
use std::io::{self, Write};
use std::path::Path;
use treering::doctor::{
    Reachability, Relinked, Renamed, Repair, RepairChanges, RepairOptions, RepairPlan, RepairTo,
};
use treering::findings::{Finding, Severity};

/// The number of changes of a kind that are listed.
const MAX_LISTED: usize = 20;

pub(super) fn write(
    repair: &Repair,
    detail: Detail,
    json: bool,
    out: &mut Output,
) -> Result<Health, Failure> {
    match (json, &repair.output) {
        (true, _) => write_json(repair, out)?,
        (false, None) => {
            let path = safe_line(&repair.path.to_string_lossy());
            writeln!(out, "{path}: nothing to repair")?;
        }
        (false, Some(output)) => {
            let (path, output) = (repair.path.to_string_lossy(), output.to_string_lossy());
            let what = match &repair.backup {
                Some(backup) => {
                    format!("{path}: repaired; the original is {}", backup.to_string_lossy())
                }
                None => format!("{path}: repaired as {output}"),
            };
            writeln!(out, "{}", out.paint(Style::Heading, &safe_line(&what)))?;
            if detail != Detail::Summary {
                write_numbers(repair, out)?;
                write_changes(&repair.changes, Tense::Done, repair.rejects.as_deref(), out)?;
            }
        }
    }
    write_remaining(&repair.remaining, detail, json, out)
}

/// Prints errors and warnings that a repair cannot remove.
fn write_remaining(
    remaining: &[Finding],
    detail: Detail,
    json: bool,
    out: &mut Output,
) -> Result<Health, Failure> {
    let is_bad = |finding: &&Finding| finding.severity() >= Severity::Warning;
    let bad: Vec<Finding> = remaining.iter().filter(is_bad).cloned().collect();
    if !json && detail != Detail::Summary && !bad.is_empty() {
        writeln!(out, "\nnot repaired:")?;
        write_groups(&bad, detail, out)?;
    }
    Ok(if bad.is_empty() { Health::Healthy } else { Health::Damaged })
}

/// A repair that was planned but not carried out.
pub(super) struct PlannedRepair {
    pub(super) plan: RepairPlan,
    pub(super) options: RepairOptions,
    /// The findings that the repair would remove.
    pub(super) removed: Vec<Finding>,
    /// The findings that would remain.
    pub(super) left: Vec<Finding>,
}

/// Prints the changes that a repair would make.
pub(super) fn write_plan(
    planned: &PlannedRepair,
    detail: Detail,
    json: bool,
    out: &mut Output,
) -> Result<Health, Failure> {
    let PlannedRepair { plan, options, removed, left } = planned;
    if json {
        write_plan_json(planned, out)?;
    } else if plan.is_empty() {
        writeln!(out, "{}: nothing to repair", safe_line(&plan.path().to_string_lossy()))?;
    } else {
        let (path, output) = (plan.path().to_string_lossy(), plan.output(options)?);
        let what = match &options.to {
            RepairTo::InPlace => {
                format!("{path}: would be repaired, and the original kept next to it")
            }
            _ => format!("{path}: would be repaired as {}", output.to_string_lossy()),
        };
        writeln!(out, "{}", out.paint(Style::Heading, &safe_line(&what)))?;
        if detail != Detail::Summary {
            let findings = count(removed.len(), "finding", "findings");
            writeln!(out, "\n  {findings} would be removed, {} would remain", left.len())?;
            write_changes(plan.changes(), Tense::Planned, None, out)?;
        }
        writeln!(out, "{}", out.paint(Style::Dim, "dry run: nothing was written"))?;
    }
    write_remaining(left, detail, json, out)
}

fn write_plan_json(planned: &PlannedRepair, out: &mut Output) -> Result<(), Failure> {
    let PlannedRepair { plan, options, removed, left } = planned;
    out.write_all(b"{\"path\":")?;
    out.json_path(plan.path())?;
    write!(out, ",\"dialect\":\"{}\",\"dryRun\":true,\"output\":", plan.dialect())?;
    let output = if plan.is_empty() { None } else { Some(plan.output(options)?) };
    out.json_path_or_null(output.as_deref())?;
    write_reachability("before", &plan.before(), out)?;
    write_changes_json(plan.changes(), out)?;
    out.write_all(b",\"removed\":")?;
    write_findings(removed, out)?;
    out.write_all(b",\"remaining\":")?;
    write_findings(left, out)?;
    Ok(out.write_all(b"}\n")?)
}

/// Whether changes were made or only planned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tense {
    Done,
    Planned,
}

impl Tense {
    /// Returns the verb of a change.
    fn verb(self, done: &str, planned: &str) -> String {
        match self {
            Tense::Done => done.to_owned(),
            Tense::Planned => format!("would {planned}"),
        }
    }
}

fn write_numbers(repair: &Repair, out: &mut Output) -> Result<(), Failure> {
    let Repair { before, after, .. } = repair;
    let rows = [
        ("entries", before.entries, after.entries),
        ("reachable from the leaf", before.reachable, after.reachable),
        ("on the path to the leaf", before.path, after.path),
        ("messages in the context", before.messages, after.messages),
    ];
    writeln!(out)?;
    for (what, before, after) in rows {
        writeln!(out, "  {what:<24} {before:>8} → {after}")?;
    }
    let gained = repair.contexts_gained;
    Ok(writeln!(out, "  {:<24} {gained:>8}", "contexts gained")?)
}

fn write_changes(
    changes: &RepairChanges,
    tense: Tense,
    rejects: Option<&Path>,
    out: &mut Output,
) -> Result<(), Failure> {
    let mut lines = Vec::new();
    let verb = |done: &str, planned: &str| tense.verb(done, planned);
    if changes.upgraded {
        lines.push(format!("{} the file to the current version", verb("brought", "bring")));
    }
    if changes.moved_header {
        lines.push(format!("{} the header first", verb("put", "put")));
    }
    if changes.named_header {
        lines.push(format!("{} the id of the session into the header", verb("wrote", "write")));
    }
    if changes.split > 0 {
        lines.push(format!("{} {}", verb("split", "split"), count(changes.split, "line", "lines")));
    }
    if !changes.rejected.is_empty() {
        let pieces = count(changes.rejected.len(), "piece", "pieces");
        let shown = changes.rejected.iter().take(MAX_LISTED).map(u64::to_string);
        let shown: Vec<String> = shown.collect();
        let more = if changes.rejected.len() > MAX_LISTED { ", …" } else { "" };
        let file = rejects.map_or("a separate file".into(), Path::to_string_lossy);
        let (shown, moved) = (shown.join(", "), verb("moved", "move"));
        lines.push(format!("{moved} {pieces} to {file}: line {shown}{more}"));
    }
    if changes.copies > 0 {
        let copies = count(changes.copies, "copy", "copies");
        lines.push(format!("{} {copies} of later lines", verb("left out", "leave out")));
    }
    let (linked, gave, wrote) =
        (verb("linked", "link"), verb("gave", "give"), verb("wrote", "write"));
    let relinked = changes.relinked.iter().map(|Relinked { entry, from, to, .. }| {
        let (from, to) = (from.as_deref().unwrap_or("none"), to.as_ref().map(|id| id.as_str()));
        format!("{linked} {entry} to {} instead of {from}", to.unwrap_or("none"))
    });
    let renamed = changes
        .renamed
        .iter()
        .map(|Renamed { entry, from, .. }| format!("{gave} the earlier {from} the id {entry}"));
    let named = changes.named.iter().map(|entry| format!("{wrote} the id {entry} into its entry"));
    let kinds: [(usize, Box<dyn Iterator<Item = String>>); 3] = [
        (changes.relinked.len(), Box::new(relinked)),
        (changes.renamed.len(), Box::new(renamed)),
        (changes.named.len(), Box::new(named)),
    ];
    for (number, changes) in kinds {
        lines.extend(changes.take(MAX_LISTED));
        if let Some(more) = number.checked_sub(MAX_LISTED).filter(|more| *more > 0) {
            lines.push(format!("… and {more} more"));
        }
    }
    writeln!(out)?;
    for line in lines {
        writeln!(out, "  {}", safe_line(&line))?;
    }
    Ok(())
}

fn write_json(repair: &Repair, out: &mut Output) -> Result<(), Failure> {
    out.write_all(b"{\"path\":")?;
    out.json_path(&repair.path)?;
    write!(out, ",\"dialect\":\"{}\"", repair.dialect)?;
    let files =
        [("output", &repair.output), ("backup", &repair.backup), ("rejects", &repair.rejects)];
    for (key, file) in files {
        write!(out, ",\"{key}\":")?;
        out.json_path_or_null(file.as_deref())?;
    }
    write_reachability("before", &repair.before, out)?;
    write_reachability("after", &repair.after, out)?;
    write!(out, ",\"contextsGained\":{}", repair.contexts_gained)?;
    write_changes_json(&repair.changes, out)?;
    out.write_all(b",\"remaining\":")?;
    write_findings(&repair.remaining, out)?;
    Ok(out.write_all(b"}\n")?)
}

fn write_changes_json(changes: &RepairChanges, out: &mut Output) -> Result<(), Failure> {
    out.write_all(b",\"relinked\":[")?;
    for (at, Relinked { entry, from, to, .. }) in changes.relinked.iter().enumerate() {
        out.write_all(if at == 0 { b"{\"id\":" } else { b",{\"id\":" })?;
        json_string(out, entry.as_str())?;
        out.write_all(b",\"from\":")?;
        json_string_or_null(out, from.as_deref())?;
        out.write_all(b",\"to\":")?;
        json_string_or_null(out, to.as_ref().map(|id| id.as_str()))?;
        out.write_all(b"}")?;
    }
    out.write_all(b"],\"renamed\":[")?;
    for (at, Renamed { entry, from, .. }) in changes.renamed.iter().enumerate() {
        out.write_all(if at == 0 { b"{\"id\":" } else { b",{\"id\":" })?;
        json_string(out, entry.as_str())?;
        out.write_all(b",\"from\":")?;
        json_string(out, from.as_str())?;
        out.write_all(b"}")?;
    }
    out.write_all(b"],\"named\":[")?;
    for (at, id) in changes.named.iter().enumerate() {
        out.write_all(if at == 0 { b"" } else { b"," })?;
        json_string(out, id.as_str())?;
    }
    let rejected: Vec<String> = changes.rejected.iter().map(u64::to_string).collect();
    let RepairChanges { copies, split, moved_header, named_header, upgraded, .. } = changes;
    write!(out, "],\"copies\":{copies},\"split\":{split},\"rejected\":[{}]", rejected.join(","))?;
    write!(out, ",\"movedHeader\":{moved_header},\"namedHeader\":{named_header}")?;
    Ok(write!(out, ",\"upgraded\":{upgraded}")?)
}

fn write_reachability(key: &str, reachability: &Reachability, out: &mut Output) -> io::Result<()> {
    let Reachability { entries, reachable, path, messages, .. } = reachability;
    write!(out, ",\"{key}\":{{\"entries\":{entries},\"reachable\":{reachable}")?;
    write!(out, ",\"path\":{path},\"messages\":{messages}}}")
}
