//! Prints the report of a repair, for people and for programs.

use super::finding::{write_findings, write_groups};
use super::{Detail, Health};
use crate::error::Failure;
use crate::output::{Output, Style, json_string, json_string_or_null};
use crate::text::{count, safe_line};
use std::io::{self, Write};
use treering::doctor::{Reachability, Relinked, Renamed, Repair};
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
                write_changes(repair, out)?;
            }
        }
    }
    let bad: Vec<Finding> = repair
        .remaining
        .iter()
        .filter(|finding| finding.severity() >= Severity::Warning)
        .cloned()
        .collect();
    if !json && detail != Detail::Summary && !bad.is_empty() {
        writeln!(out, "\nnot repaired:")?;
        write_groups(&bad, detail, out)?;
    }
    Ok(if bad.is_empty() { Health::Healthy } else { Health::Ill })
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

fn write_changes(repair: &Repair, out: &mut Output) -> Result<(), Failure> {
    let mut lines = Vec::new();
    if repair.upgraded {
        lines.push("brought to the current version".to_owned());
    }
    if repair.moved_header {
        lines.push("put the header first".to_owned());
    }
    if repair.split > 0 {
        lines.push(format!("split {}", count(repair.split, "line", "lines")));
    }
    if let Some(rejects) = &repair.rejects {
        let pieces = count(repair.rejected.len(), "piece", "pieces");
        let shown = repair.rejected.iter().take(MAX_LISTED).map(u64::to_string);
        let shown: Vec<String> = shown.collect();
        let more = if repair.rejected.len() > MAX_LISTED { ", …" } else { "" };
        let (shown, rejects) = (shown.join(", "), rejects.to_string_lossy());
        lines.push(format!("moved {pieces} to {rejects}: line {shown}{more}"));
    }
    if repair.copies > 0 {
        lines.push(format!("left out {} of later lines", count(repair.copies, "copy", "copies")));
    }
    let relinked = repair.relinked.iter().map(|Relinked { entry, from, to, .. }| {
        let (from, to) = (from.as_deref().unwrap_or("none"), to.as_ref().map(|id| id.as_str()));
        format!("linked {entry} to {} instead of {from}", to.unwrap_or("none"))
    });
    let renamed = repair
        .renamed
        .iter()
        .map(|Renamed { entry, from, .. }| format!("gave the earlier {from} the id {entry}"));
    let named = repair.named.iter().map(|entry| format!("wrote the id {entry} into its entry"));
    let kinds: [(usize, Box<dyn Iterator<Item = String>>); 3] = [
        (repair.relinked.len(), Box::new(relinked)),
        (repair.renamed.len(), Box::new(renamed)),
        (repair.named.len(), Box::new(named)),
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
    out.write_all(b",\"relinked\":[")?;
    for (at, Relinked { entry, from, to, .. }) in repair.relinked.iter().enumerate() {
        out.write_all(if at == 0 { b"{\"id\":" } else { b",{\"id\":" })?;
        json_string(out, entry.as_str())?;
        out.write_all(b",\"from\":")?;
        json_string_or_null(out, from.as_deref())?;
        out.write_all(b",\"to\":")?;
        json_string_or_null(out, to.as_ref().map(|id| id.as_str()))?;
        out.write_all(b"}")?;
    }
    out.write_all(b"],\"renamed\":[")?;
    for (at, Renamed { entry, from, .. }) in repair.renamed.iter().enumerate() {
        out.write_all(if at == 0 { b"{\"id\":" } else { b",{\"id\":" })?;
        json_string(out, entry.as_str())?;
        out.write_all(b",\"from\":")?;
        json_string(out, from.as_str())?;
        out.write_all(b"}")?;
    }
    out.write_all(b"],\"named\":[")?;
    for (at, id) in repair.named.iter().enumerate() {
        out.write_all(if at == 0 { b"" } else { b"," })?;
        json_string(out, id.as_str())?;
    }
    let rejected: Vec<String> = repair.rejected.iter().map(u64::to_string).collect();
    let Repair { copies, split, moved_header, upgraded, .. } = repair;
    write!(out, "],\"copies\":{copies},\"split\":{split},\"rejected\":[{}]", rejected.join(","))?;
    write!(out, ",\"movedHeader\":{moved_header},\"upgraded\":{upgraded},\"remaining\":")?;
    write_findings(&repair.remaining, out)?;
    Ok(out.write_all(b"}\n")?)
}

fn write_reachability(key: &str, reachability: &Reachability, out: &mut Output) -> io::Result<()> {
    let Reachability { entries, reachable, path, messages, .. } = reachability;
    write!(out, ",\"{key}\":{{\"entries\":{entries},\"reachable\":{reachable}")?;
    write!(out, ",\"path\":{path},\"messages\":{messages}}}")
}
