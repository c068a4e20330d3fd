//! `treering move`

use super::{fork, rm};
use crate::clock;
use crate::error::Failure;
use crate::in_use;
use crate::output::{self, Output};
use crate::text::{safe_path, shell_word};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use treering::{Catalog, Dialect, Session};
use treering_index::housekeeping::{Recent, hold};

/// Move a session to another project
///
/// Writes the new directory to the session's header, and moves the file to where pi keeps the sessions
/// of that project. The old file goes to the trash. A file that is not where pi keeps its sessions stays
/// where it is, with its old version as NAME.jsonl.bak. For sessions of pi and oh-my-pi.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The session: a file, an id, a name or `@latest`
    #[arg(value_name = "SESSION")]
    pub(crate) file: PathBuf,
    /// The directory of the project
    directory: PathBuf,
    /// Move the session even if the directory does not exist
    #[arg(long)]
    missing: bool,
    /// Move the session even if it was written to within the last 10 seconds
    #[arg(long)]
    force: bool,
    /// One JSON object: path, output, cwd, kept (where the old file is now)
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args, out: &mut Output) -> Result<(), Failure> {
    let cwd = directory(args)?;
    if args.file.extension().is_some_and(|extension| extension == "zst") {
        let what = format!("{}: an archived session cannot be moved", args.file.display());
        let hint = format!("`treering unarchive {}` decompresses it", shell_word(&args.file));
        return Err(Failure::with_hint(what, hint));
    }
    // The lock is released again, because the library takes it itself.
    drop(hold(&args.file, Recent::Accepted, clock::now())?);
    if !args.force {
        in_use::check_idle(&args.file)?;
    }
    let (dialect, old) = {
        let session = Session::open(&args.file)?;
        (session.dialect(), session.cwd())
    };
    if Path::new(&old) == cwd {
        return Err(Failure::message(format!(
            "{} already belongs to {}",
            args.file.display(),
            cwd.display()
        )));
    }
    let target = target(&args.file, dialect, Path::new(&old), &cwd)?;
    if target != fork::absolute(&args.file)? && target.symlink_metadata().is_ok() {
        return Err(treering::Error::AlreadyExists(target).into());
    }
    let mut trashed = None;
    let retire = |path: &Path| match rm::to_trash(path) {
        Ok(trash) => {
            trashed = Some(trash);
            Ok(())
        }
        Err(Failure::Message { what, .. }) => Err(io::Error::other(what)),
        Err(_) => Err(io::Error::other("it cannot be moved to the trash")),
    };
    let backup = treering::session::relocate(&args.file, &cwd, &target, retire)?;
    let kept = trashed.or(backup);
    write(args, &target, &cwd, kept.as_deref(), out)
}

fn directory(args: &Args) -> Result<PathBuf, Failure> {
    let dir = &args.directory;
    match dir.canonicalize() {
        Ok(dir) if dir.is_dir() => Ok(dir),
        _ if args.missing => fork::absolute(dir),
        Ok(_) => Err(Failure::message(format!("{}: not a directory", dir.display()))),
        Err(error) => {
            let what = format!("{}: {error}", dir.display());
            Err(Failure::with_hint(
                what,
                "`--missing` moves it to a project whose directory does not exist",
            ))
        }
    }
}

/// Returns the new path of the session's file: in the project's directory, if it is in such a
/// directory now.
fn target(file: &Path, dialect: Dialect, old: &Path, new: &Path) -> Result<PathBuf, Failure> {
    let file = fork::absolute(file)?;
    let name = file.file_name().unwrap_or_default();
    let dir = file.parent().unwrap_or(Path::new(""));
    let catalog = dir.parent().map(Catalog::new);
    let is_in_catalog = |catalog: &&Catalog| catalog.dir_for(old) == dir;
    match catalog.as_ref().filter(is_in_catalog) {
        Some(catalog) => Ok(catalog.dir_for(new).join(name)),
        None if dialect == Dialect::default() => Ok(file),
        None => {
            let what = format!(
                "the directory in which {dialect} keeps sessions of that project is not known"
            );
            let hint = format!(
                "`treering fork {} --cwd DIR --dir DIR` makes a copy for another project",
                shell_word(&file)
            );
            Err(Failure::with_hint(what, hint))
        }
    }
}

fn write(
    args: &Args,
    target: &Path,
    cwd: &Path,
    kept: Option<&Path>,
    out: &mut Output,
) -> Result<(), Failure> {
    if args.json {
        let paths = [("{\"path\":", &*args.file), (",\"output\":", target), (",\"cwd\":", cwd)];
        for (key, path) in paths {
            out.write_all(key.as_bytes())?;
            out.json_path(path)?;
        }
        out.write_all(b",\"kept\":")?;
        out.json_path_or_null(kept)?;
        writeln!(out, "}}")?;
        return Ok(());
    }
    writeln!(out, "{}: now belongs to {}", safe_path(target), safe_path(cwd))?;
    out.finish()?;
    if let Some(kept) = kept {
        output::write_notice("note", &format!("the old file is {}", safe_path(kept)));
    }
    Ok(())
}
