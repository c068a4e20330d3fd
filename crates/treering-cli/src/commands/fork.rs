//! `treering fork`

use crate::error::Failure;
use crate::output::Output;
use crate::progress;
use crate::redaction::{self, Redaction};
use crate::session_arg::SessionArg;
use crate::sessions;
use crate::typed::TypedEntry;
use std::io::Write;
use std::path::{Path, PathBuf};
use treering::session::Creation;
use treering::{Catalog, Dialect, ForkOptions, Session};

/// Copy the path to an entry into a new session
///
/// The fork is read again and must give the same context before its file gets its name. If treering does
/// not write sessions of the agent, such as Claude Code and Codex, the fork is written in treering's own
/// format to treering's own directory; so are forks of sessions of a store. Prints the path of the new
/// file.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The session: a file, an id, a name, `@latest`, or a URL (https://HOST/s/ID)
    #[arg(value_name = "SESSION")]
    pub(crate) file: SessionArg,
    /// The last entry of the new session (an id or its beginning); the leaf if not given
    #[arg(long, value_name = "ID")]
    at: Option<TypedEntry>,
    /// The directory of the new file; if not given, that of SESSION, or the project's in treering's own
    /// directory if the new session is another agent's
    #[arg(long)]
    dir: Option<PathBuf>,
    /// The agent to fork to: pi, uuid, omp, chimera, operator or tau; that of SESSION if not given
    #[arg(long, value_name = "AGENT")]
    to: Option<Dialect>,
    /// The project the new session belongs to; that of SESSION if not given
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
    /// Create the fork in the store that the session is in, instead of in a file; prints its id
    #[arg(long, conflicts_with = "dir")]
    in_store: bool,
    #[command(flatten)]
    redaction: Redaction,
}

pub(crate) fn run(args: &Args, out: &mut Output) -> Result<(), Failure> {
    let redactor = args.redaction.redactor()?;
    let session = args.file.open_redacted(redactor.as_ref())?;
    let nothing = |what: &str| Failure::with_hint(what, "choose an entry with `--at ID`");
    let at = match &args.at {
        Some(at) => at.resolve(&session)?,
        None => session.leaf().ok_or_else(|| nothing("the leaf is before the first entry"))?,
    };
    let mut options = ForkOptions::new().creation(Creation::AtOnce);
    options.dir = args.dir.clone();
    if !args.in_store {
        if options.dir.is_none() && session.path().is_none() {
            options.dir = directory(args, &session);
        }
        options.root = sessions::places().own().map(Path::to_owned);
    }
    options.dialect = args.to;
    options.cwd = args.cwd.as_deref().map(absolute).transpose()?;
    progress::set_activity("writing the fork, and comparing it");
    let fork = match args.file.store().filter(|_| args.in_store) {
        Some((store, _)) => session.fork_into(store, &at, options)?,
        None if args.in_store => {
            return Err(Failure::Usage {
                what: format!(
                    "--in-store needs a session of a store, and {} is a file",
                    args.file.display()
                ),
                hint: "name the session by its id, and the store with `--store URL`".to_owned(),
            });
        }
        None => session.fork(&at, options)?,
    };
    if let Some(redactor) = redactor {
        let tree = fork.tree();
        redaction::report_replacements(&redactor.report().only(|id| tree.contains(id)));
    }
    match fork.path() {
        _ if args.in_store => Ok(writeln!(out, "{}", fork.id())?),
        Some(path) => Ok(out.path_line(&path)?),
        None => Err(nothing("the session is not in a file")),
    }
}

/// Returns the directory for the fork of a session that has no file of its own: a redacted one, or
/// one of a store.
fn directory(args: &Args, session: &Session) -> Option<PathBuf> {
    let own = session.dialect();
    let target = args.to.unwrap_or(if own.is_writable() { own } else { Dialect::default() });
    match target == own && args.file.store().is_none() {
        true => args.file.parent().map(Path::to_owned),
        false => {
            let root = sessions::places().own().map(Path::to_owned)?;
            let cwd = args.cwd.clone().unwrap_or_else(|| session.cwd().into());
            Some(Catalog::new(root).dir_for(cwd))
        }
    }
}

/// Returns the directory in the form in which a header names it.
pub(crate) fn absolute(path: &Path) -> Result<PathBuf, Failure> {
    std::path::absolute(path)
        .map_err(|error| Failure::message(format!("{}: {error}", path.display())))
}
