//! Prints findings, for users and for programs.

use super::alike::{Row, together};
use super::{Detail, Health};
use crate::error::Failure;
use crate::output::{Output, Style, json_string, json_string_or_null};
use crate::text::{count, pad, safe_line, shell_word, size};
use std::io::{self, Write};
use std::path::Path;
use treering::Error;
use treering::doctor::Diagnosis;
use treering::findings::{Finding, Severity};

const SEVERITIES: [Severity; 3] = [Severity::Error, Severity::Warning, Severity::Note];

pub(super) fn write(
    diagnosis: &Diagnosis,
    detail: Detail,
    json: bool,
    out: &mut Output,
) -> Result<Health, Failure> {
    match (json, detail) {
        (true, _) => write_json(diagnosis, out)?,
        (false, Detail::Summary) => write_summary(diagnosis, out)?,
        (false, _) => write_all(diagnosis, detail, out)?,
    }
    Ok(if diagnosis.is_healthy() { Health::Healthy } else { Health::Damaged })
}

/// Returns the number of findings of each severity, the worst first.
pub(super) fn severities(findings: &[Finding]) -> [usize; 3] {
    SEVERITIES.map(|severity| findings.iter().filter(|f| f.severity() == severity).count())
}

/// Returns a text such as `2 errors, 1 note`.
pub(super) fn tally(severities: [usize; 3]) -> String {
    let tally = SEVERITIES.into_iter().zip(severities).filter_map(|(severity, number)| {
        let name = severity.name();
        (number > 0).then(|| count(number, name, &format!("{name}s")))
    });
    let tally: Vec<String> = tally.collect();
    if tally.is_empty() { "no findings".to_owned() } else { tally.join(", ") }
}

pub(super) fn style(severity: Severity) -> Style {
    match severity {
        Severity::Error => Style::Bad,
        Severity::Warning => Style::Id,
        Severity::Note => Style::Dim,
    }
}

/// Writes one line for one of several files.
fn write_summary(diagnosis: &Diagnosis, out: &mut Output) -> Result<(), Failure> {
    let path = safe_line(&diagnosis.path.to_string_lossy());
    let tally = tally(severities(&diagnosis.findings));
    let tally = match diagnosis.worst() {
        Some(worst) => out.paint(style(worst), &tally),
        None => tally,
    };
    let mut codes: Vec<(&str, usize)> = Vec::new();
    for severity in SEVERITIES {
        for finding in diagnosis.findings.iter().filter(|f| f.severity() == severity) {
            match codes.iter_mut().find(|(code, _)| *code == finding.code()) {
                Some((_, number)) => *number += 1,
                None => codes.push((finding.code(), 1)),
            }
        }
    }
    let codes: Vec<String> = codes
        .into_iter()
        .map(|(code, number)| match number {
            1 => code.to_owned(),
            number => format!("{code} ×{number}"),
        })
        .collect();
    let codes = if codes.is_empty() { String::new() } else { format!(": {}", codes.join(", ")) };
    Ok(writeln!(out, "{path}: {tally}{codes}")?)
}

fn write_all(diagnosis: &Diagnosis, detail: Detail, out: &mut Output) -> Result<(), Failure> {
    let Diagnosis { path, dialect, entries, findings, .. } = diagnosis;
    let entries = count(*entries, "entry", "entries");
    if findings.is_empty() {
        return Ok(writeln!(out, "no findings in {entries}")?);
    }
    let size = size(diagnosis.size);
    writeln!(out, "{} in {entries} ({dialect}, {size})", tally(severities(findings)))?;
    write_groups(findings, detail, out)?;
    let is_repairable = |finding: &Finding| {
        finding.problem.advice().is_some_and(|advice| advice.contains("repair"))
    };
    if findings.iter().any(is_repairable) {
        let hint =
            format!("`treering doctor --repair {}` writes a repaired copy", shell_word(path));
        writeln!(out, "\n{}", out.paint(Style::Heading, &safe_line(&hint)))?;
    }
    Ok(())
}

/// Writes the findings, worst first, and advice.
pub(super) fn write_groups(
    findings: &[Finding],
    detail: Detail,
    out: &mut Output,
) -> Result<(), Failure> {
    let rows = match detail {
        Detail::Verbose => findings.iter().map(Row::of).collect(),
        _ => together(findings),
    };
    let place_width = rows.iter().map(|row| row.place().len()).max().unwrap_or(0);
    let code_width = rows.iter().map(|row| row.first.code().len()).max().unwrap_or(0);
    for severity in SEVERITIES {
        let mut group = rows.iter().filter(|row| row.first.severity() == severity).peekable();
        if group.peek().is_none() {
            continue;
        }
        writeln!(out, "\n{}", out.paint(style(severity), &format!("{}s", severity.name())))?;
        let mut advice: Vec<(&str, &str)> = Vec::new();
        for row in group {
            let code = out.paint(Style::Dim, &pad(row.first.code(), code_width));
            let (place, what) = (pad(&row.place(), place_width), safe_line(&row.what()));
            writeln!(out, "  {place}  {code}  {what}")?;
            if let Some(text) = row.first.problem.advice()
                && !advice.iter().any(|(_, known)| *known == text)
            {
                advice.push((row.first.code(), text));
            }
        }
        for (code, text) in advice {
            writeln!(out, "  {}", out.paint(Style::Dim, &format!("→ {code}: {text}")))?;
        }
    }
    Ok(())
}

fn write_json(diagnosis: &Diagnosis, out: &mut Output) -> Result<(), Failure> {
    let Diagnosis { path, dialect, entries, size, findings, .. } = diagnosis;
    out.write_all(b"{\"path\":")?;
    out.json_path(path)?;
    write!(out, ",\"dialect\":\"{dialect}\",\"entries\":{entries},\"size\":{size}")?;
    for severity in SEVERITIES {
        let number = findings.iter().filter(|finding| finding.severity() == severity).count();
        write!(out, ",\"{}s\":{number}", severity.name())?;
    }
    out.write_all(b",\"findings\":")?;
    write_findings(findings, out)?;
    Ok(out.write_all(b"}\n")?)
}

/// Writes findings as a JSON array.
pub(super) fn write_findings(findings: &[Finding], out: &mut Output) -> io::Result<()> {
    for (at, finding) in findings.iter().enumerate() {
        out.write_all(if at == 0 { b"[" } else { b"," })?;
        match finding.line {
            Some(line) => write!(out, "{{\"line\":{line}")?,
            None => out.write_all(b"{\"line\":null")?,
        }
        let (severity, code) = (finding.severity().name(), finding.code());
        write!(out, ",\"severity\":\"{severity}\",\"code\":\"{code}\",\"entry\":")?;
        json_string_or_null(out, finding.problem.entry().map(|id| id.as_str()))?;
        out.write_all(b",\"message\":")?;
        json_string(out, &finding.problem.to_string())?;
        out.write_all(b",\"advice\":")?;
        json_string_or_null(out, finding.problem.advice())?;
        out.write_all(b"}")?;
    }
    out.write_all(if findings.is_empty() { b"[]" } else { b"]" })
}

/// Writes that a file could not be examined.
pub(super) fn write_failure(path: &Path, error: &Error, out: &mut Output) -> Result<(), Failure> {
    out.write_all(b"{\"path\":")?;
    out.json_path(path)?;
    out.write_all(b",\"error\":")?;
    json_string(out, &error.to_string())?;
    Ok(out.write_all(b"}\n")?)
}
