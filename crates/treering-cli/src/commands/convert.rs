//! `treering convert`

use crate::error::Failure;
use crate::output::{Output, Style, json_string};
use crate::redaction::{self, Redaction};
use crate::session_arg::SessionArg;
use crate::text::{count, pad, safe_line, shell_word};
use crate::typed::TypedEntry;
use std::collections::HashSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use treering::convert::{ConversionReport, ConvertOptions, Outcome, convert_session};
use treering::{Dialect, Position};
use treering_redact::Redactor;

/// Write a session as another agent would have written it
///
/// The whole tree, with a report of what was carried exactly, what had to be adapted and what was left
/// out. The result is read again by the other agent's rules and must give the same contexts, or nothing
/// is written.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The session: its file, its id, its name, its age (`@latest`), or its address in a store
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
    /// The report as one JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    redaction: Redaction,
}

pub(crate) fn run(args: &Args, out: &mut Output) -> Result<(), Failure> {
    let target = args.output.clone().unwrap_or_else(|| beside(&args.file, args.to));
    let report = match (args.redaction.redactor()?, &args.leaf) {
        (None, None) => {
            let session = args.file.open()?;
            convert_session(&session, &target, args.to, &ConvertOptions::default())?
        }
        (None, Some(leaf)) => {
            let session = args.file.open()?;
            let options = ConvertOptions::new().path_to(leaf.resolve(&session)?);
            convert_session(&session, &target, args.to, &options)?
        }
        (Some(redactor), _) => redacted(&redactor, args, &target)?,
    };
    match args.json {
        true => write_json(&report, &target, out),
        false => write(&report, &target, out),
    }
}

/// Converts what is left without secrets.
fn redacted(redactor: &Redactor, args: &Args, target: &Path) -> Result<ConversionReport, Failure> {
    let session = args.file.open_redacted(Some(redactor))?;
    let leaf = args.leaf.as_ref().map(|leaf| leaf.resolve(&session)).transpose()?;
    let mut options = ConvertOptions::new();
    options.path_to = leaf.as_ref().map(Position::from);
    let report = convert_session(&session, target, args.to, &options)?;
    let mut redaction = redactor.report();
    if let Some(leaf) = leaf {
        let path = session.path_to(leaf)?.map(|entry| Ok(entry?.id().to_string()));
        let path = path.collect::<Result<HashSet<String>, Failure>>()?;
        redaction = redaction.only(|id| path.contains(id));
    }
    redaction::tell(&redaction);
    Ok(report)
}

/// `name.jsonl` becomes `name.agent.jsonl`.
fn beside(file: &Path, dialect: Dialect) -> PathBuf {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let stem = name.strip_suffix(".zst").unwrap_or(&name);
    let stem = stem.strip_suffix(".jsonl").unwrap_or(stem);
    file.with_file_name(format!("{stem}.{dialect}.jsonl"))
}

fn write(report: &ConversionReport, target: &Path, out: &mut Output) -> Result<(), Failure> {
    let ConversionReport { from, to, verified, ends, .. } = report;
    writeln!(out, "{from} → {to}: {}", shell_word(target))?;
    let items = report.items();
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
    let read = match verified < ends {
        true => format!("{verified} of {ends} contexts"),
        false => count(*verified, "context", "contexts"),
    };
    let end = format!("verified by reading the result back: {read} compared, no difference");
    let end = out.paint(Style::Dim, &end);
    writeln!(out, "{end}")?;
    Ok(())
}

fn write_json(report: &ConversionReport, target: &Path, out: &mut Output) -> Result<(), Failure> {
    let ConversionReport { from, to, verified, ends, .. } = report;
    write!(out, "{{\"from\":\"{from}\",\"to\":\"{to}\",\"output\":")?;
    out.json_path(target)?;
    let (carried, adapted, left_out) = (report.carried(), report.adapted(), report.left_out());
    write!(out, ",\"carried\":{carried},\"adapted\":{adapted},\"leftOut\":{left_out}")?;
    write!(out, ",\"contexts\":{ends},\"verifiedContexts\":{verified},\"items\":[")?;
    for (at, (kind, outcome, number)) in report.items().into_iter().enumerate() {
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
