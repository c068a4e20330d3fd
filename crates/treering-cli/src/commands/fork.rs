//! `treering fork`

use crate::error::Failure;
use crate::output::Output;
use crate::redaction::{self, Redaction};
use crate::sessions;
use crate::typed::TypedEntry;
use std::path::{Path, PathBuf};
use treering::session::Creation;
use treering::{Catalog, Dialect, ForkOptions, Session};

/// Make the path to an entry a session of its own
///
/// The fork is read again, and must give the same context, before its file gets its name. Forks of
/// Claude Code's and Codex's sessions are sessions of treering's own format: they do not go among those
/// agents' files, but into treering's own directory. Prints the path of the new file.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The session file
    pub(crate) file: PathBuf,
    /// The last entry of the new session (an id or its beginning); the leaf if not given
    #[arg(long, value_name = "ID")]
    at: Option<TypedEntry>,
    /// The directory of the new file; if not given, that of FILE, or the project's in treering's own
    /// directory if the new session is another agent's
    #[arg(long)]
    dir: Option<PathBuf>,
    /// The agent whose session the fork becomes: pi, uuid, omp, chimera, operator or tau
    #[arg(long, value_name = "AGENT")]
    to: Option<Dialect>,
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
    let at = match &args.at {
        Some(at) => at.resolve(&session)?,
        None => session.leaf().ok_or_else(|| nothing("the leaf is before the first entry"))?,
    };
    let options = ForkOptions {
        dir: args.dir.clone().or_else(|| redactor.as_ref().and_then(|_| beside(args, &session))),
        root: sessions::places().own().map(Path::to_owned),
        dialect: args.to,
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

/// Returns the directory of the fork of a redacted session, which does not know its own file.
fn beside(args: &Args, session: &Session) -> Option<PathBuf> {
    let own = session.dialect();
    let target = args.to.unwrap_or(if own.is_writable() { own } else { Dialect::default() });
    match target == own {
        true => args.file.parent().map(Path::to_owned),
        false => {
            let root = sessions::places().own().map(Path::to_owned)?;
            let cwd = args.cwd.clone().unwrap_or_else(|| session.cwd().into());
            Some(Catalog::new(root).dir_for(cwd))
        }
    }
}

/// Returns the directory as a header names it.
pub(super) fn absolute(path: &Path) -> Result<PathBuf, Failure> {
    std::path::absolute(path)
        .map_err(|error| Failure::message(format!("{}: {error}", path.display())))
}
