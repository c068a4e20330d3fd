//! `treering rm`

use crate::ask;
use crate::clock;
use crate::error::Failure;
use crate::output::{self, Output, json_string, json_string_or_null};
use crate::text::{count, safe_line};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use treering_shelf::housekeeping::{Recent, Trash, hold};

/// Move sessions to the trash
///
/// At a terminal it asks first. A session that is being written to, or was a moment ago, stays where it
/// is.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The session files
    #[arg(required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Do not ask
    #[arg(short, long)]
    yes: bool,
    /// Delete them for good instead, without asking, and those written to a moment ago as well
    #[arg(long)]
    force: bool,
    /// One JSON object per session and line: path, trash (where it is now; null: nowhere)
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args, out: &mut Output) -> Result<(), Failure> {
    let recent = if args.force { Recent::Accepted } else { Recent::Refused };
    // All of them can go, or none does.
    let held: Vec<(&Path, File)> = args
        .files
        .iter()
        .map(|path| {
            let file = hold(path, recent, clock::now())?;
            treering::info(path)?;
            Ok((path.as_path(), file))
        })
        .collect::<Result<_, Failure>>()?;
    let question = match held.as_slice() {
        [(path, _)] => format!("Move {} to the trash?", path.display()),
        several => format!("Move {} to the trash?", count(several.len(), "session", "sessions")),
    };
    if !args.yes && !args.force && !ask::agrees(&question) {
        return Err(Failure::message("nothing was changed"));
    }
    for (path, file) in held {
        let trash = match args.force {
            true => delete(path).map(|()| None)?,
            false => to_trash(path).map(Some)?,
        };
        drop(file);
        write(path, trash.as_deref(), args.json, out)?;
    }
    Ok(())
}

fn delete(path: &Path) -> Result<(), Failure> {
    std::fs::remove_file(path)
        .map_err(|error| Failure::message(format!("{}: {error}", path.display())))
}

/// Moves a file to the user's trash.
pub(super) fn to_trash(path: &Path) -> Result<PathBuf, Failure> {
    let trash = Trash::from_env(|name| std::env::var_os(name));
    trash.and_then(|trash| trash.take(path, clock::now())).map_err(|error| {
        let what = format!("{}: cannot be moved to the trash: {error}", path.display());
        Failure::with_hint(what, "`treering rm --force` deletes for good")
    })
}

fn write(path: &Path, trash: Option<&Path>, json: bool, out: &mut Output) -> Result<(), Failure> {
    let name = path.to_string_lossy();
    let trash = trash.map(Path::to_string_lossy);
    if json {
        out.write_all(b"{\"path\":")?;
        json_string(out, &name)?;
        out.write_all(b",\"trash\":")?;
        json_string_or_null(out, trash.as_deref())?;
        writeln!(out, "}}")?;
    } else {
        let what = match trash {
            Some(trash) => format!("in the trash: {}", safe_line(&trash)),
            None => "deleted".to_owned(),
        };
        writeln!(out, "{}: {what}", safe_line(&name))?;
    }
    note_companion(path, out)
}

/// Some agents keep more of a session in a directory of its name.
fn note_companion(path: &Path, out: &mut Output) -> Result<(), Failure> {
    let dir = path.with_extension("");
    if dir.is_dir() && dir != path {
        out.finish()?;
        let dir = safe_line(&dir.to_string_lossy());
        output::complain("note", &format!("what else belongs to it is still in {dir}"));
    }
    Ok(())
}
