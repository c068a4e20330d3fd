//! The sessions of this machine: reads the index with progress, and resolves session arguments.
//!
//! A session argument is a path if there is such a file, or if it looks like a path. Anything else
//! is looked up in the index, which is read only then.

use crate::clock;
use crate::config::Config;
use crate::error::Failure;
use crate::output;
use crate::progress::Meter;
use crate::session_arg::{self, SessionArg};
use crate::stores::{self, StoreChoice};
use crate::text::{age, excerpt, safe_line, shell_word};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use treering::SessionId;
use treering::catalog::SessionInfo;
use treering::store::{ListQuery, Store};
use treering_index::{AddressError, Contents, Places, Project, Scope, SessionIndex, resolve};

/// Returns the directories of sessions on this machine. The environment takes precedence over the
/// configuration.
pub(crate) fn places() -> Places {
    let places = Places::from_env(|name| std::env::var_os(name));
    let configured = &Config::current().places;
    let expand = |dir: &PathBuf| match (dir.strip_prefix("~"), places.home()) {
        (Ok(rest), Some(home)) => home.join(rest),
        _ => dir.clone(),
    };
    let only: Vec<PathBuf> = configured.only.iter().map(expand).collect();
    let also: Vec<PathBuf> = configured.also.iter().map(expand).collect();
    let is_set = std::env::var_os("TREERING_SESSIONS").is_some_and(|dirs| !dirs.is_empty());
    match () {
        () if is_set => places,
        () if only.is_empty() => places.and(also),
        () => places.only(only).and(also),
    }
}

/// Returns the given directories as places of sessions, or those of this machine if there are none.
///
/// # Errors
///
/// Fails if a directory cannot be read. The library treats a missing directory as empty, but a user who
/// named it made a mistake.
pub(crate) fn places_in(dirs: &[PathBuf]) -> Result<Places, Failure> {
    if dirs.is_empty() {
        return Ok(places());
    }
    for dir in dirs {
        std::fs::read_dir(dir).map_err(|error| Failure::io("read", dir, &error))?;
    }
    Ok(places().only(dirs.iter().cloned()))
}

/// Reads an index, and shows progress if that takes long.
pub(crate) fn read(index: &SessionIndex) -> Contents {
    let meter = Meter::new();
    index.read(|step| meter.show(step.progress))
}

/// Returns the project of the current directory.
pub(crate) fn project(places: &Places) -> Project {
    let cwd = std::env::current_dir().unwrap_or_default();
    Project::around(&cwd, places.home())
}

/// The treatment of an argument that names neither a file nor a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UnknownArgument {
    /// The argument is an error.
    Fails,
    /// The argument is the path of a new file, or the id of a new session.
    IsAPath,
}

/// Replaces an argument by the session that it names: a file, an address in a store, or an address
/// that is looked up in the store, or in the index of this machine if there is none.
pub(crate) fn locate(
    argument: &mut SessionArg,
    unknown: UnknownArgument,
    store: &StoreChoice,
) -> Result<(), Failure> {
    if let Some((store, id)) = argument.to_str().and_then(stores::address).transpose()? {
        if let Some(store) = store.open()? {
            argument.set_stored(store, id);
        }
        return Ok(());
    }
    let Some(text) = reference(argument).map(str::to_owned) else { return Ok(()) };
    match store.open()? {
        None => locate_file(argument.typed(), unknown, store),
        Some(store) => {
            let id = match (find(&store, &text)?, SessionId::new(&text)) {
                (Ok(id), _) => id,
                (Err(AddressError::Unknown { .. }), Ok(id))
                    if unknown == UnknownArgument::IsAPath =>
                {
                    id
                }
                (Err(error), _) => return Err(failure_in(&store, &error)),
            };
            argument.set_stored(store, id);
            Ok(())
        }
    }
}

/// Returns the id of the session that a text names in a store.
///
/// # Errors
///
/// Fails if there is no such session, or if there are several.
pub(crate) fn find_in(store: &Arc<dyn Store>, text: &str) -> Result<SessionId, Failure> {
    find(store, text)?.map_err(|error| failure_in(store, &error))
}

fn find(store: &Arc<dyn Store>, text: &str) -> Result<Result<SessionId, AddressError>, Failure> {
    if let Ok(id) = SessionId::new(text)
        && store.open(&id).is_ok()
    {
        return Ok(Ok(id));
    }
    let sessions = stores::list_all(store, &ListQuery::new())?;
    match resolve(text, &sessions, &project(&places())) {
        Ok(session) => Ok(Ok(SessionId::new(session.id.as_ref()).map_err(treering::Error::from)?)),
        Err(error) => Ok(Err(error)),
    }
}

/// Replaces an argument by the path of the session file that it names on this machine.
pub(crate) fn locate_file(
    argument: &mut PathBuf,
    unknown: UnknownArgument,
    store: &StoreChoice,
) -> Result<(), Failure> {
    if let Some((store, id)) = argument.to_str().and_then(stores::address).transpose()? {
        let location = store.location().unwrap_or_default();
        let what = format!("this command works on files, and {id} is in the store {location}");
        let hint = format!("`treering pull {}` copies it to a file", shell_word(argument));
        return Err(Failure::with_hint(what, hint));
    }
    let Some(text) = reference(argument) else { return Ok(()) };
    if let Some(location) = store.location() {
        return Err(session_arg::needs_file(&location, text));
    }
    let index = SessionIndex::new(places());
    let contents = read(&index);
    match resolve(text, &contents.sessions, &project(index.places())) {
        Ok(session) => *argument = session.path.clone(),
        Err(AddressError::Unknown { .. })
            if unknown == UnknownArgument::IsAPath && !text.starts_with('@') => {}
        Err(error) => return Err(failure(&error)),
    }
    Ok(())
}

/// Returns the argument, if it has to be looked up.
fn reference(argument: &Path) -> Option<&str> {
    // A broken symbolic link counts as a path as well.
    if argument.symlink_metadata().is_ok() || treering::dialect::is_stored(argument) {
        return None;
    }
    let text = argument.to_str().filter(|text| !text.is_empty())?;
    let is_named_so = text.ends_with(".jsonl") || text.ends_with(".jsonl.zst");
    let parent = argument.parent().filter(|parent| !parent.as_os_str().is_empty());
    let is_path = is_named_so || argument.is_absolute() || parent.is_some_and(Path::is_dir);
    (text.starts_with('@') || !is_path).then_some(text)
}

/// Returns the failure for an address that names no session of this machine, with suggestions.
pub(crate) fn failure(error: &AddressError) -> Failure {
    suggest(error, "`treering ls --all` lists the sessions of this machine".to_owned())
}

/// Returns the failure for an address that names no session of a store, with suggestions.
fn failure_in(store: &Arc<dyn Store>, error: &AddressError) -> Failure {
    let location = shell_word(Path::new(&store.location()));
    suggest(
        error,
        format!("`treering ls --all --store {location}` lists the sessions of the store"),
    )
}

/// Returns the failure for an address that names no session. `list` is the command that lists the
/// sessions there are.
fn suggest(error: &AddressError, list: String) -> Failure {
    let what = error.to_string();
    match error {
        AddressError::Ambiguous { candidates, .. } => {
            output::write_notice("error", &safe_line(&what));
            let now = clock::now();
            candidates.iter().for_each(|one| output::write_notice("session", &candidate(one, now)));
            output::write_notice(
                "hint",
                "give more of the id or the name, or the path of the one you mean",
            );
            Failure::Reported
        }
        AddressError::Unknown { near, .. } => {
            let hint = match near.is_empty() {
                true => list,
                false => format!("did you mean {}?", near.join(" or ")),
            };
            Failure::with_hint(what, hint)
        }
        AddressError::TooFew { scope: Scope::Project, .. } => {
            Failure::with_hint(what, "`@all` and `@all/2` count the sessions of all projects")
        }
        AddressError::TooFew { scope: Scope::All, .. } => Failure::with_hint(what, list),
    }
}

fn candidate(session: &SessionInfo, now: i64) -> String {
    let title = session.title();
    let id = excerpt(session.id.as_str(), 40);
    let path = safe_line(&shell_word(&session.path));
    format!("{id}  {}  {}  {path}", age(now.saturating_sub(session.modified)), excerpt(title, 40))
}
