//! `treering redact`

use crate::error::Failure;
use crate::output::{Output, Style, json_string, json_string_or_null};
use crate::progress;
use crate::redaction::{redactor, void};
use crate::session_arg::SessionArg;
use crate::short_ids::ShortIds;
use crate::text::{count, pad, safe_line, shell_word};
use std::io::Write;
use std::path::{Path, PathBuf};
use treering::Tree;
use treering_redact::{Place, Report};

/// Write a copy of a session with its secrets replaced
///
/// Replaces keys and tokens in known formats, private keys, headers, passwords in URLs, and values whose
/// names suggest a secret with [REDACTED:kind:number]; the same secret always gets the same number. The
/// tree stays as it is. The report lists what was replaced and where, but never the secrets. Look at the
/// result before you share it: a secret in an unknown format under an ordinary name is not found.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The session: a file, an id, a name, `@latest`, or a URL (https://HOST/s/ID)
    #[arg(value_name = "SESSION")]
    pub(crate) file: SessionArg,
    /// The new file; beside the session, with `redacted` in its name, if not given
    #[arg(short, long, value_name = "PATH")]
    output: Option<PathBuf>,
    /// Only report, and exit with 1 if something was found; write nothing
    #[arg(long, conflicts_with = "output")]
    check: bool,
    /// Also replace e-mail addresses
    #[arg(long, alias = "redact-emails")]
    emails: bool,
    /// Also replace user names in paths of home directories
    #[arg(long, alias = "redact-home")]
    home: bool,
    /// Also replace matches of this regular expression (or of its first group); may be repeated
    #[arg(long, alias = "redact-pattern", value_name = "NAME=REGEX")]
    pattern: Vec<String>,
    /// The report as one JSON object: output, occurrences, signatures, kinds, places
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args, out: &mut Output) -> Result<(), Failure> {
    let redactor = redactor(args.emails, args.home, &args.pattern)?;
    let session = args.file.open_redacted(Some(&redactor))?;
    super::check_is_file(args.output.as_deref())?;
    let target = args.output.clone().unwrap_or_else(|| output_path(&args.file));
    let target = (!args.check).then_some(target);
    if let Some(target) = &target {
        progress::set_activity("writing the copy");
        session.copy_to(target)?;
    }
    let report = redactor.report();
    match args.json {
        true => write_json(&report, target.as_deref(), out)?,
        false => write(&report, target.as_deref(), &session.tree(), out)?,
    }
    match args.check && !report.is_empty() {
        true => Err(Failure::Reported),
        false => Ok(()),
    }
}

/// Returns the path beside the session: `name.jsonl` becomes `name.redacted.jsonl`.
fn output_path(file: &Path) -> PathBuf {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let stem = name.strip_suffix(".zst").unwrap_or(&name);
    let stem = stem.strip_suffix(".jsonl").unwrap_or(stem);
    file.with_file_name(format!("{stem}.redacted.jsonl"))
}

/// The maximum number of places of a kind that are shown.
const MAX_PLACES: usize = 5;

fn write(
    report: &Report,
    target: Option<&Path>,
    tree: &Tree,
    out: &mut Output,
) -> Result<(), Failure> {
    if let Some(target) = target {
        writeln!(out, "{}", shell_word(target))?;
    }
    if report.is_empty() {
        let nothing = out.paint(Style::Dim, "nothing was found");
        return Ok(writeln!(out, "{nothing}")?);
    }
    let ids = ShortIds::of(tree);
    let sums = report.sums();
    let widest = sums.iter().map(|sum| sum.kind.len()).max().unwrap_or(0);
    for sum in &sums {
        let kind = out.paint(Style::Label, &pad(&sum.kind, widest));
        let distinct = format!("{} distinct", sum.distinct);
        let times = count(sum.occurrences, "occurrence", "occurrences");
        writeln!(out, "{kind}  {distinct}, {times}")?;
        let places: Vec<&Place> =
            report.places.iter().filter(|place| place.kind == sum.kind).collect();
        for place in places.iter().take(MAX_PLACES) {
            let entry = match &place.entry {
                Some(id) => ids.show(id),
                None => format!("line {}", place.line),
            };
            let times = if place.count > 1 { format!(" ×{}", place.count) } else { String::new() };
            let place = format!("  #{} {entry} {}{times}", place.number, safe_line(&place.field));
            writeln!(out, "{}", out.paint(Style::Dim, &place))?;
        }
        if let Some(more) = places.len().checked_sub(MAX_PLACES).filter(|more| *more > 0) {
            let more = out.paint(Style::Dim, &format!("  … and {more} more: --json lists them"));
            writeln!(out, "{more}")?;
        }
    }
    if report.signatures > 0 {
        let line = out.paint(Style::Dim, &void(report.signatures));
        writeln!(out, "{line}")?;
    }
    Ok(())
}

fn write_json(report: &Report, target: Option<&Path>, out: &mut Output) -> Result<(), Failure> {
    out.write_all(b"{\"output\":")?;
    out.json_path_or_null(target)?;
    let (occurrences, signatures) = (report.occurrences(), report.signatures);
    write!(out, ",\"occurrences\":{occurrences},\"signatures\":{signatures},\"kinds\":[")?;
    for (at, sum) in report.sums().iter().enumerate() {
        out.write_all(if at == 0 { b"{\"kind\":" } else { b",{\"kind\":" })?;
        json_string(out, &sum.kind)?;
        write!(out, ",\"distinct\":{},\"occurrences\":{}}}", sum.distinct, sum.occurrences)?;
    }
    out.write_all(b"],\"places\":[")?;
    for (at, place) in report.places.iter().enumerate() {
        out.write_all(if at == 0 { b"{\"kind\":" } else { b",{\"kind\":" })?;
        json_string(out, &place.kind)?;
        write!(out, ",\"number\":{},\"line\":{},\"entry\":", place.number, place.line)?;
        json_string_or_null(out, place.entry.as_deref())?;
        out.write_all(b",\"field\":")?;
        json_string(out, &place.field)?;
        write!(out, ",\"count\":{}}}", place.count)?;
    }
    Ok(out.write_all(b"]}\n")?)
}
