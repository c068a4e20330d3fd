//! What an examination found, for people and for programs.

use super::{Detail, Health};
use crate::error::Failure;
use crate::output::{Output, Style, json_string, json_string_or_null};
use crate::text::{count, pad, safe_line, shell_word, size};
use std::io::{self, Write};
use std::path::Path;
use treering::{Diagnosis, Error, Finding, Severity};

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
        (false, Detail::Full) => write_all(diagnosis, out)?,
    }
    Ok(if diagnosis.is_healthy() { Health::Healthy } else { Health::Ill })
}

/// `2 errors, 1 note`
fn tally(findings: &[Finding]) -> String {
    let tally = SEVERITIES.into_iter().filter_map(|severity| {
        let number = findings.iter().filter(|finding| finding.severity() == severity).count();
        let name = severity.name();
        (number > 0).then(|| count(number, name, &format!("{name}s")))
    });
    let tally: Vec<String> = tally.collect();
    if tally.is_empty() { "nothing odd".to_owned() } else { tally.join(", ") }
}

pub(super) fn style(severity: Severity) -> Style {
    match severity {
        Severity::Error => Style::Bad,
        Severity::Warning => Style::Id,
        Severity::Note => Style::Dim,
    }
}

/// One line for one file of several.
fn write_summary(diagnosis: &Diagnosis, out: &mut Output) -> Result<(), Failure> {
    let path = safe_line(&diagnosis.path.to_string_lossy());
    let tally = tally(&diagnosis.findings);
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

fn write_all(diagnosis: &Diagnosis, out: &mut Output) -> Result<(), Failure> {
    let Diagnosis { path, dialect, entries, findings, .. } = diagnosis;
    let entries = count(*entries, "entry", "entries");
    if findings.is_empty() {
        return Ok(writeln!(out, "nothing odd in {entries}")?);
    }
    let size = size(diagnosis.size);
    writeln!(out, "{} in {entries} ({dialect}, {size})", tally(findings))?;
    write_groups(findings, out)?;
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

/// The findings, worst first, and what to do about them.
pub(super) fn write_groups(findings: &[Finding], out: &mut Output) -> Result<(), Failure> {
    let place = |finding: &Finding| finding.line.map_or("file".to_owned(), |n| format!("line {n}"));
    let place_width = findings.iter().map(|f| place(f).len()).max().unwrap_or(0);
    let code_width = findings.iter().map(|f| f.code().len()).max().unwrap_or(0);
    for severity in SEVERITIES {
        let mut group = findings.iter().filter(|f| f.severity() == severity).peekable();
        if group.peek().is_none() {
            continue;
        }
        writeln!(out, "\n{}", out.paint(style(severity), &format!("{}s", severity.name())))?;
        let mut advice: Vec<(&str, &str)> = Vec::new();
        for finding in group {
            let what = safe_line(&finding.problem.to_string());
            let code = out.paint(Style::Dim, &pad(finding.code(), code_width));
            writeln!(out, "  {}  {code}  {what}", pad(&place(finding), place_width))?;
            if let Some(text) = finding.problem.advice()
                && !advice.iter().any(|(_, known)| *known == text)
            {
                advice.push((finding.code(), text));
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
    json_string(out, &path.to_string_lossy())?;
    write!(out, ",\"dialect\":\"{dialect}\",\"entries\":{entries},\"size\":{size}")?;
    for severity in SEVERITIES {
        let number = findings.iter().filter(|finding| finding.severity() == severity).count();
        write!(out, ",\"{}s\":{number}", severity.name())?;
    }
    out.write_all(b",\"findings\":")?;
    write_findings(findings, out)?;
    Ok(out.write_all(b"}\n")?)
}

/// Findings as a JSON array.
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

/// A file that could not be looked at.
pub(super) fn write_failure(path: &Path, error: &Error, out: &mut Output) -> Result<(), Failure> {
    out.write_all(b"{\"path\":")?;
    json_string(out, &path.to_string_lossy())?;
    out.write_all(b",\"error\":")?;
    json_string(out, &error.to_string())?;
    Ok(out.write_all(b"}\n")?)
}
