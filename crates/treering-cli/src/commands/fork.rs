//! `treering fork`

use crate::error::Failure;
use crate::output::Output;
use crate::redaction::{self, Redaction};
use std::path::{Path, PathBuf};
use treering::{Creation, ForkOptions, Session};

/// Make the path to an entry a session of its own
///
/// Prints the path of the new file.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The session file
    pub(crate) file: PathBuf,
    /// The last entry of the new session (an id or its beginning); the leaf if not given
    #[arg(long, value_name = "ID")]
    at: Option<String>,
    /// The directory of the new file; that of FILE if not given
    #[arg(long)]
    dir: Option<PathBuf>,
    /// The project the new session belongs to; that of FILE if not given
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
    #[command(flatten)]
    redaction: Redaction,
}

pub(crate) fn run(args: &Args, out: &mut Output) -> Result<(), Failure> {
    let redactor = args.redaction.redactor()?;
    let session = match &redactor {
        Some(redactor) => redactor.open(&args.file)?,
        None => Session::open(&args.file)?,
    };
    let nothing = |what: &str| Failure::with_hint(what, "choose an entry with `--at ID`");
    let leaf = session.leaf().map(|leaf| leaf.to_string());
    let at = args.at.clone().or(leaf).ok_or_else(|| nothing("there is no entry at the leaf"))?;
    let options = ForkOptions {
        dir: args.dir.clone().or_else(|| redactor.as_ref().map(|_| directory(&args.file))),
        cwd: args.cwd.as_deref().map(absolute).transpose()?,
        creation: Creation::AtOnce,
        ..ForkOptions::default()
    };
    let fork = session.fork(&at, options)?;
    if let Some(redactor) = redactor {
        let tree = fork.tree();
        redaction::tell(&redactor.report().only(|id| tree.contains(id)));
    }
    match fork.path() {
        Some(path) => Ok(out.path_line(&path)?),
        None => Err(nothing("the session is not in a file")),
    }
}

/// Where a fork goes if nobody says: a redacted session does not know where it comes from.
fn directory(file: &Path) -> PathBuf {
    file.parent().map(Path::to_owned).unwrap_or_default()
}

/// The directory as a header names it.
pub(super) fn absolute(path: &Path) -> Result<PathBuf, Failure> {
    std::path::absolute(path)
        .map_err(|error| Failure::message(format!("{}: {error}", path.display())))
}
