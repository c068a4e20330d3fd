//! `treering rm`

use crate::clock;
use crate::confirm;
use crate::error::Failure;
use crate::output::{self, Output};
use crate::session_arg::SessionArg;
use crate::text::{count, safe_line, safe_path};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use treering::SessionId;
use treering::internal::fs::{self, File};
use treering::store::Store;
use treering_index::housekeeping::{Recent, Trash, hold};

/// Move sessions to the trash
///
/// Asks first, if it runs in a terminal. `treering restore` restores the sessions. A session that is
/// being written to, or was a moment ago, is not moved. A session of a store is deleted permanently.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The sessions: files, ids, names, positions such as `@latest`, or URLs
    #[arg(required = true, value_name = "SESSION")]
    pub(crate) files: Vec<SessionArg>,
    /// Do not ask
    #[arg(short, long)]
    yes: bool,
    /// Delete the sessions permanently, without asking, even those written to a moment ago
    #[arg(long)]
    force: bool,
    /// One JSON object per session and line: path, trash (where it is now; null: nowhere)
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args, out: &mut Output) -> Result<(), Failure> {
    let recent = if args.force { Recent::Accepted } else { Recent::Refused };
    // Either all sessions are removed, or none.
    let held: Vec<Removal<'_>> = args
        .files
        .iter()
        .map(|session| match session.store() {
            Some((store, id)) => {
                store.open(id)?;
                Ok(Removal::Stored(store, id))
            }
            None => {
                let file = hold(session, recent, clock::now())?;
                treering::catalog::info(session)?;
                Ok(Removal::File(session, file))
            }
        })
        .collect::<Result<_, Failure>>()?;
    let question = match held.as_slice() {
        [Removal::File(path, _)] => format!("Move {} to the trash?", safe_path(path)),
        [Removal::Stored(store, id)] => {
            format!("Delete {id} from {} permanently?", safe_line(&store.location()))
        }
        several => format!("Remove {}?", count(several.len(), "session", "sessions")),
    };
    if !args.yes && !args.force && !confirm::agrees(&question) {
        return Err(Failure::message("nothing was changed"));
    }
    for removal in held {
        let (path, trash) = match removal {
            Removal::Stored(store, id) => {
                store.remove(id)?;
                (Path::new(id.as_str()), None)
            }
            Removal::File(path, file) => {
                let trash = match args.force {
                    true => delete(path).map(|()| None)?,
                    false => to_trash(path).map(Some)?,
                };
                drop(file);
                (path, trash)
            }
        };
        write(path, trash.as_deref(), args.json, out)?;
    }
    Ok(())
}

/// A session that can be removed.
enum Removal<'a> {
    /// A file, which is locked until it is removed.
    File(&'a Path, File),
    Stored(&'a Arc<dyn Store>, &'a SessionId),
}

fn delete(path: &Path) -> Result<(), Failure> {
    fs::remove_file(path)
        .and_then(|()| fs::sync_dir(path.parent().unwrap_or(Path::new(""))))
        .map_err(|error| Failure::io("delete", path, &error))
}

/// Moves a file to the user's trash.
pub(super) fn to_trash(path: &Path) -> Result<PathBuf, Failure> {
    let trash = Trash::from_env(|name| std::env::var_os(name));
    trash.and_then(|trash| trash.take(path, clock::now())).map_err(|error| {
        let what = format!("cannot move {} to the trash: {error}", path.display());
        Failure::with_hint(what, "`treering rm --force` deletes permanently")
    })
}

fn write(path: &Path, trash: Option<&Path>, json: bool, out: &mut Output) -> Result<(), Failure> {
    if json {
        out.write_all(b"{\"path\":")?;
        out.json_path(path)?;
        out.write_all(b",\"trash\":")?;
        out.json_path_or_null(trash)?;
        writeln!(out, "}}")?;
    } else {
        let what = match trash {
            Some(trash) => format!("in the trash: {}", safe_path(trash)),
            None => "deleted".to_owned(),
        };
        writeln!(out, "{}: {what}", safe_path(path))?;
    }
    note_companion(path, out)
}

/// Reports a directory with the session's name, in which some agents store more of a session.
fn note_companion(path: &Path, out: &mut Output) -> Result<(), Failure> {
    let dir = path.with_extension("");
    if dir.is_dir() && dir != path {
        out.finish()?;
        let dir = safe_path(&dir);
        output::write_notice("note", &format!("other files of the session are still in {dir}"));
    }
    Ok(())
}
