//! Starts an agent with a session: by the command of the agent, and with a copy if the agent cannot
//! resume the session itself.

use crate::config::Config;
use crate::error::Failure;
use crate::progress;
use crate::sessions;
use crate::text::{safe_line, shell_word};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use treering::convert::{ConvertOptions, convert_session};
use treering::dialect::Destination;
use treering::session::Creation;
use treering::store::{MemoryStore, Store};
use treering::{Catalog, Dialect, EntryId, ForkOptions, Position, Session};

/// The program that resumes treering's own sessions.
const TREERING: &str = "treering";

/// A command that resumes a session, and its working directory.
#[derive(Debug)]
pub(crate) struct Resume {
    words: Vec<OsString>,
    dir: PathBuf,
    /// The agent to start; `None` for treering itself.
    agent: Option<Dialect>,
}

impl Resume {
    /// Prepares to resume a session at `at`, or at its leaf, in `agent`, or in the agent that wrote
    /// it. A copy is made unless the agent can resume the session itself.
    pub(crate) fn prepare(
        session: &Session,
        at: Option<EntryId>,
        agent: Option<Dialect>,
        config: &Config,
    ) -> Result<Self, Failure> {
        let at = at.filter(|at| Some(at) != session.leaf().as_ref());
        let file = session.path().ok_or_else(|| {
            let what = "an agent can resume only sessions in files";
            Failure::with_hint(what, "fork this one into a file: `treering fork`")
        })?;
        let file = std::path::absolute(&file).unwrap_or(file);
        let is_own = agent.is_none() && session.dialect() == Dialect::default() && is_own(&file);
        let agent = agent.unwrap_or(session.dialect());
        let is_same = agent == session.dialect();
        // An agent whose sessions treering cannot write resumes its own sessions, but no copies.
        let runs_here = is_own || (is_same && at.is_some() && !agent.is_conversion_target());
        let target = if runs_here { None } else { Some(agent) };
        // The command is checked before a copy is made, which is useless without it.
        let words = match target {
            Some(agent) => words(agent, config)?,
            None => [TREERING, "chat", "{path}"].map(str::to_owned).to_vec(),
        };
        let file = match at.is_none() && is_same {
            true => readable(file, agent)?,
            false => copy(session, at.clone(), (!runs_here).then_some(agent), is_same)?,
        };
        // The command is run in another directory.
        let file = std::path::absolute(&file).unwrap_or(file);
        let id = match at.is_none() && is_same {
            true => session.id().to_string(),
            false => Session::open(&file)?.id().to_string(),
        };
        let words = words.iter().map(|word| filled(word, &file, &id)).collect();
        let dir = match session.cwd() {
            cwd if cwd.is_empty() => crate::interface::current_dir()?,
            cwd => cwd.into(),
        };
        Ok(Resume { words, dir, agent: target })
    }

    /// Returns the command in the syntax of a shell.
    pub(crate) fn shell_line(&self) -> String {
        let words: Vec<String> =
            self.words.iter().map(|word| shell_word(Path::new(word)).to_string()).collect();
        safe_line(&format!("cd {} && {}", shell_word(&self.dir), words.join(" ")))
    }

    /// Replaces this program by the command. Returns only if that fails, or, on systems where a
    /// program cannot be replaced, when the command has ended.
    pub(crate) fn start(self) -> Result<(), Failure> {
        if !self.dir.is_dir() {
            let what = format!("{}: the project's directory does not exist", self.dir.display());
            let hint = "create it, or give the session another project with `treering move`";
            return Err(Failure::with_hint(safe_line(&what), hint));
        }
        let (program, arguments) = match self.words.split_first() {
            Some((program, arguments)) if program == TREERING => {
                (std::env::current_exe().map_or_else(|_| program.clone(), Into::into), arguments)
            }
            Some((program, arguments)) => (program.clone(), arguments),
            None => return Err(Failure::message("the command is empty")),
        };
        let mut command = Command::new(&program);
        command.args(arguments).current_dir(&self.dir);
        progress::stop();
        let error = run(&mut command)?;
        let program = program.to_string_lossy();
        let hint = match self.agent {
            Some(agent) => format!(
                "install it, or name another command in the configuration: [resume] {agent} = [\"…\"]"
            ),
            None => "`treering chat` continues the session".to_owned(),
        };
        Err(Failure::with_hint(safe_line(&format!("cannot start {program}: {error}")), hint))
    }
}

/// Replaces this process. Returns the error if that failed.
#[cfg(unix)]
fn run(command: &mut Command) -> Result<std::io::Error, Failure> {
    use std::os::unix::process::CommandExt;
    Ok(command.exec())
}

/// Runs the command and ends with its exit code. Returns the error if it could not be run.
#[cfg(not(unix))]
fn run(command: &mut Command) -> Result<std::io::Error, Failure> {
    match command.status() {
        Ok(status) => std::process::exit(status.code().unwrap_or(1)),
        Err(error) => Ok(error),
    }
}

/// Returns the command of an agent, as configured or known.
fn words(agent: Dialect, config: &Config) -> Result<Vec<String>, Failure> {
    if let Some(words) = config.resume.get(agent) {
        return Ok(words.to_vec());
    }
    let known = agent.resume_command().ok_or_else(|| {
        let what = format!("no command is known that resumes a session in {agent}");
        let hint =
            format!("name it in the configuration: [resume] {agent} = [\"…\", \"{{path}}\"]");
        Failure::with_hint(what, hint)
    })?;
    Ok(known.iter().map(|word| (*word).to_owned()).collect())
}

/// Returns a word with its placeholders replaced.
fn filled(word: &str, file: &Path, id: &str) -> OsString {
    match word {
        "{path}" => file.into(),
        "{id}" => id.into(),
        "{name}" => {
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            name.split(".jsonl").next().unwrap_or_default().into()
        }
        word => word.into(),
    }
}

/// Returns whether a session is in treering's own directory.
fn is_own(file: &Path) -> bool {
    let places = sessions::places();
    let real = |path: &Path| path.canonicalize().ok();
    let own = places.own().and_then(real);
    own.zip(real(file)).is_some_and(|(own, file)| file.starts_with(own))
}

/// Returns the file if its agent can read it.
fn readable(file: PathBuf, agent: Dialect) -> Result<PathBuf, Failure> {
    let is_archive = file.extension().is_some_and(|extension| extension == "zst");
    match is_archive && !agent.reads_archives() {
        true => {
            let what = format!("{}: {agent} does not read archives", file.display());
            Err(Failure::with_hint(safe_line(&what), "decompress it first: `treering unarchive`"))
        }
        false => Ok(file),
    }
}

/// Creates a copy of a session, or of the path to an entry, at a path where an agent finds it;
/// without an agent, among treering's own. Returns its file.
fn copy(
    session: &Session,
    at: Option<EntryId>,
    agent: Option<Dialect>,
    is_same: bool,
) -> Result<PathBuf, Failure> {
    let places = sessions::places();
    let cwd = PathBuf::from(session.cwd());
    let fork = |dialect: Option<Dialect>, dir: Option<PathBuf>| -> Result<PathBuf, Failure> {
        let mut options = ForkOptions::new().creation(Creation::AtOnce);
        (options.dialect, options.dir) = (dialect, dir);
        let root = places.own().map(Path::to_owned);
        let made = match (&at, session.path()) {
            (None, Some(source)) => {
                Catalog::new(root.unwrap_or_default()).fork_from(source, &cwd, options)?
            }
            (at, _) => {
                options.root = root;
                session.fork(at.clone().map_or(Position::Leaf, Position::from), options)?
            }
        };
        made.path().ok_or_else(|| Failure::message("the copy is not in a file"))
    };
    let Some(agent) = agent else { return fork(Some(Dialect::default()), None) };
    let destination = places.destination(agent, &cwd);
    let unknown = || {
        if !agent.is_conversion_target() {
            let what = format!("treering does not write sessions of {agent}");
            let hint = format!("resume in another agent: `--in {}`", Dialect::default());
            return Failure::with_hint(what, hint);
        }
        let what = format!("treering does not know where {agent} finds its sessions");
        Failure::with_hint(what, format!("`treering convert --to {agent} -o FILE` writes one"))
    };
    // A fork in the same dialect is in the directory of its source, where its agent finds it unless it
    // knows only one session of the project.
    if is_same && agent.is_writable() && !agent.has_one_session_per_project() {
        return fork(None, None);
    }
    let target = match destination.ok_or_else(unknown)? {
        Destination::Directory(dir) => return fork(Some(agent), Some(dir)),
        Destination::NamedById(dir) => dir,
        Destination::File(file) if file.exists() => {
            let what = format!("{}: {agent} already has a session of this project", file.display());
            let hint = "move it away, or resume the session in another agent";
            return Err(Failure::with_hint(safe_line(&what), hint));
        }
        Destination::File(file) => file,
        _ => return Err(unknown()),
    };
    // A copy that is named by its id needs a new id, so that it is not taken for its source.
    let is_named_by_id = target.extension().is_none();
    let forked = match is_named_by_id || at.is_some() {
        true => {
            let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
            let place = at.clone().map_or(Position::Leaf, Position::from);

            let options = ForkOptions::new().creation(Creation::AtOnce);
            Some(session.fork_into(&store, place, options)?)
        }
        false => None,
    };
    let source = forked.as_ref().unwrap_or(session);
    let target = match is_named_by_id {
        true => target.join(format!("{}.jsonl", source.id())),
        false => target,
    };
    if let Some(dir) = target.parent() {
        std::fs::create_dir_all(dir).map_err(|error| Failure::io("create", dir, &error))?;
    }
    convert_session(source, &target, agent, &ConvertOptions::new())?;
    Ok(target)
}
