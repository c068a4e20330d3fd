//! `treering convert`

use crate::error::Failure;
use crate::output::{Output, Style, json_string};
use crate::progress;
use crate::redaction::{self, Redaction};
use crate::session_arg::SessionArg;
use crate::text::{count, pad, safe_line, shell_word};
use crate::typed::TypedEntry;
use std::collections::HashSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use treering::convert::{ConversionReport, ConvertOptions, Outcome, Outcomes, convert_session};
use treering::{Dialect, EntryId, Position, Session};
use treering_redact::Redactor;

/// Convert a session to another agent's format
///
/// Converts the whole tree, and reports what was carried over exactly, what was adapted and what was
/// left out. The result is read again by the other agent's rules and must give the same contexts;
/// otherwise nothing is written.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The session: a file, an id, a name, `@latest`, or a URL (https://HOST/s/ID)
    #[arg(value_name = "SESSION")]
    pub(crate) file: SessionArg,
    /// The agent to convert to: pi, uuid, omp, chimera, operator, tau or claude-code
    #[arg(long, value_name = "AGENT")]
    to: Dialect,
    /// The new file; beside the session, with the agent in its name, if not given
    #[arg(short, long, value_name = "PATH")]
    output: Option<PathBuf>,
    /// Only the path to this entry (an id or its beginning)
    #[arg(long, value_name = "ID")]
    leaf: Option<TypedEntry>,
    /// Show what would be carried over, adapted and left out; write nothing
    #[arg(long)]
    dry_run: bool,
    /// The report as one JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    redaction: Redaction,
}

pub(crate) fn run(args: &Args, out: &mut Output) -> Result<(), Failure> {
    super::check_is_file(args.output.as_deref())?;
    let target = args.output.clone().unwrap_or_else(|| output_path(&args.file, args.to));
    let redactor = args.redaction.redactor()?;
    let session = args.file.open_redacted(redactor.as_ref())?;
    let leaf = args.leaf.as_ref().map(|leaf| leaf.resolve(&session)).transpose()?;
    let mut options = ConvertOptions::new();
    options.path_to = leaf.as_ref().map(Position::from);
    if args.dry_run {
        let plan = session.plan_conversion(args.to, &options)?;
        let (dialects, outcomes) = ((plan.from(), plan.to()), plan.outcomes());
        return match args.json {
            true => write_json(dialects, outcomes, None, &target, out),
            false => write(dialects, outcomes, None, &target, out),
        };
    }
    progress::set_activity("converting, and comparing the contexts");
    let report = convert_session(&session, &target, args.to, &options)?;
    if let Some(redactor) = redactor {
        report_redaction(&redactor, &session, leaf)?;
    }
    let (dialects, outcomes) = ((report.from, report.to), &report.outcomes);
    match args.json {
        true => write_json(dialects, outcomes, Some(&report), &target, out),
        false => write(dialects, outcomes, Some(&report), &target, out),
    }
}

/// Reports the replacements in the part of the session that was converted.
fn report_redaction(
    redactor: &Redactor,
    session: &Session,
    leaf: Option<EntryId>,
) -> Result<(), Failure> {
    let mut redaction = redactor.report();
    if let Some(leaf) = leaf {
        let path = session.path_to(leaf)?.map(|entry| Ok(entry?.id().to_string()));
        let path = path.collect::<Result<HashSet<String>, Failure>>()?;
        redaction = redaction.only(|id| path.contains(id));
    }
    redaction::report_replacements(&redaction);
    Ok(())
}

/// Returns the path beside the session: `name.jsonl` becomes `name.agent.jsonl`.
fn output_path(file: &Path, dialect: Dialect) -> PathBuf {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let stem = name.strip_suffix(".zst").unwrap_or(&name);
    let stem = stem.strip_suffix(".jsonl").unwrap_or(stem);
    file.with_file_name(format!("{stem}.{dialect}.jsonl"))
}

/// Prints the outcome of the entries; without a report, the planned outcome.
fn write(
    (from, to): (Dialect, Dialect),
    outcomes: &Outcomes,
    report: Option<&ConversionReport>,
    target: &Path,
    out: &mut Output,
) -> Result<(), Failure> {
    writeln!(out, "{from} → {to}: {}", shell_word(target))?;
    let items = outcomes.items();
    let widest = items.iter().map(|(kind, _, _)| kind.chars().count()).max().unwrap_or(0).min(40);
    for (kind, outcome, number) in items {
        let (word, style, why) = match outcome {
            Outcome::Carried => ("carried", Style::Dim, ""),
            Outcome::Adapted(why) => ("adapted", Style::Label, why),
            Outcome::LeftOut(why) => ("left out", Style::Bad, why),
            _ => ("", Style::Dim, ""),
        };
        let word = out.paint(style, &pad(word, 8));
        let line = format!("{number:>8}  {word}  {}  {why}", pad(&safe_line(kind), widest));
        writeln!(out, "{}", line.trim_end())?;
    }
    let end = match report {
        None => "dry run: nothing was written".to_owned(),
        Some(ConversionReport { verified, ends, .. }) => {
            let read = match verified < ends {
                true => format!("{verified} of {ends} contexts"),
                false => count(*verified, "context", "contexts"),
            };
            format!("verified by reading the result back: {read} compared, no difference")
        }
    };
    let end = out.paint(Style::Dim, &end);
    writeln!(out, "{end}")?;
    Ok(())
}

fn write_json(
    (from, to): (Dialect, Dialect),
    outcomes: &Outcomes,
    report: Option<&ConversionReport>,
    target: &Path,
    out: &mut Output,
) -> Result<(), Failure> {
    write!(out, "{{\"from\":\"{from}\",\"to\":\"{to}\",\"output\":")?;
    out.json_path(target)?;
    let (carried, adapted, left_out) =
        (outcomes.carried(), outcomes.adapted(), outcomes.left_out());
    write!(out, ",\"carried\":{carried},\"adapted\":{adapted},\"leftOut\":{left_out}")?;
    match report {
        None => out.write_all(b",\"dryRun\":true")?,
        Some(ConversionReport { verified, ends, .. }) => {
            write!(out, ",\"contexts\":{ends},\"verifiedContexts\":{verified}")?;
        }
    }
    out.write_all(b",\"items\":[")?;
    for (at, (kind, outcome, number)) in outcomes.items().into_iter().enumerate() {
        out.write_all(if at == 0 { b"{\"kind\":" } else { b",{\"kind\":" })?;
        json_string(out, kind)?;
        let (word, why) = match outcome {
            Outcome::Carried => ("carried", None),
            Outcome::Adapted(why) => ("adapted", Some(why)),
            Outcome::LeftOut(why) => ("leftOut", Some(why)),
            _ => ("unknown", None),
        };
        write!(out, ",\"outcome\":\"{word}\",\"count\":{number}")?;
        if let Some(why) = why {
            out.write_all(b",\"reason\":")?;
            json_string(out, why)?;
        }
        out.write_all(b"}")?;
    }
    Ok(out.write_all(b"]}\n")?)
}
