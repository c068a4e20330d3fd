//! `treering migrate`

use crate::error::Failure;
use crate::in_use;
use crate::output::{self, Output, json_string};
use crate::text::{count, safe_line, safe_path};
use std::io::Write;
use std::path::{Path, PathBuf};
use treering::Session;
use treering::migrate::Upgrade;

/// Upgrade session files of older format versions
///
/// The new file is written next to the old one and replaces it when it is complete; the old one is kept
/// as a backup. Current files are left alone, and so are files that are write-protected or were written
/// to within the last 10 seconds, because an agent may still have them open.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The sessions: files, ids, names, or positions such as `@latest`
    #[arg(required = true, value_name = "SESSION")]
    pub(crate) files: Vec<PathBuf>,
    /// Show what would change; write nothing
    #[arg(long)]
    dry_run: bool,
    /// Replace a file although it was written to within the last 10 seconds
    #[arg(long)]
    force: bool,
    /// One JSON object per file and line: path, from, to, entries, compactions, backup; or path and
    /// error
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args, out: &mut Output) -> Result<(), Failure> {
    let mut all_done = true;
    for file in &args.files {
        match upgrade(file, args) {
            Ok(upgrade) if args.json => write_json(file, upgrade.as_ref(), out)?,
            Ok(upgrade) => write(file, upgrade.as_ref(), args.dry_run, out)?,
            Err(error) if args.files.len() == 1 => return Err(error),
            Err(failure) => {
                let error = match failure {
                    Failure::Library(error) => error.to_string(),
                    Failure::Message { what, .. } => what,
                    failure => return Err(failure),
                };
                all_done = false;
                if args.json {
                    out.write_all(b"{\"path\":")?;
                    out.json_path(file)?;
                    out.write_all(b",\"error\":")?;
                    json_string(out, &error)?;
                    out.write_all(b"}\n")?;
                }
                out.finish()?;
                output::write_notice("error", &safe_line(&error));
            }
        }
    }
    if all_done { Ok(()) } else { Err(Failure::Reported) }
}

fn upgrade(file: &Path, args: &Args) -> Result<Option<Upgrade>, Failure> {
    let session = Session::open(file)?;
    let planned = session.plan_upgrade()?;
    if args.dry_run || planned.is_none() {
        return Ok(planned);
    }
    if !args.force {
        in_use::check_idle(file)?;
    }
    Ok(session.upgrade()?)
}

fn write(
    file: &Path,
    upgrade: Option<&Upgrade>,
    dry_run: bool,
    out: &mut Output,
) -> Result<(), Failure> {
    let path = safe_path(file);
    let Some(upgrade) = upgrade else { return Ok(writeln!(out, "{path}: current")?) };
    let from = match upgrade.from {
        0 => "no version".to_owned(),
        from => format!("version {from}"),
    };
    let entries = count(upgrade.entries, "entry", "entries");
    let compactions = match upgrade.compactions {
        0 => String::new(),
        number => format!(" ({})", count(number, "compaction", "compactions")),
    };
    let what = format!("{from} → version {}: {entries} rewritten{compactions}", upgrade.to);
    match (&upgrade.backup, dry_run) {
        (Some(backup), _) => {
            let backup = safe_path(backup);
            writeln!(out, "{path}: {what}; the old file is {backup}")?;
        }
        (None, true) => writeln!(out, "{path}: {what} (dry run: nothing was written)")?,
        // Another process has upgraded the file meanwhile.
        (None, false) => writeln!(out, "{path}: {what}")?,
    }
    Ok(())
}

fn write_json(file: &Path, upgrade: Option<&Upgrade>, out: &mut Output) -> Result<(), Failure> {
    out.write_all(b"{\"path\":")?;
    out.json_path(file)?;
    match upgrade {
        None => out.write_all(b",\"from\":null,\"to\":null,\"entries\":0,\"compactions\":0")?,
        Some(Upgrade { from, to, entries, compactions, .. }) => {
            write!(out, ",\"from\":{from},\"to\":{to},\"entries\":{entries}")?;
            write!(out, ",\"compactions\":{compactions}")?;
        }
    }
    out.write_all(b",\"backup\":")?;
    let backup = upgrade.and_then(|upgrade| upgrade.backup.as_deref());
    out.json_path_or_null(backup)?;
    Ok(out.write_all(b"}\n")?)
}
