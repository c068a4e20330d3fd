//! Completes sessions, entries, labels and agents in shells.
//!
//! A shell runs treering with the words of the command line, and with [`VARIABLE`] set. The types
//! of arguments decide which of them name a session or an entry, so that every command completes
//! what it resolves.

use crate::commands::restore;
use crate::describe;
use crate::session_arg::SessionArg;
use crate::sessions;
use crate::text::excerpt;
use crate::typed::{TypedEntry, TypedPosition, TypedSelection};
use clap::builder::StyledStr;
use clap_complete::engine::{
    ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter as _,
};
use clap_complete::{CompleteEnv, env::Shells};
use std::any::TypeId;
use std::ffi::OsStr;
use std::path::{MAIN_SEPARATOR, Path, PathBuf};
use treering::catalog::SessionInfo;
use treering::{Dialect, Session};
use treering_display::preview_line::Calls;
use treering_index::{SessionIndex, candidates, resolve};

/// The environment variable with the name of the shell that requests completions.
const VARIABLE: &str = "TREERING_COMPLETE";

/// The maximum number of sessions or entries that are offered.
const MAX_OFFERED: usize = 50;

/// The width of the text beside a session or an entry.
const HELP: usize = 60;

/// The longest name of a session that is offered, in characters. Its id is offered as well.
const LONGEST: usize = 60;

/// The script for bash. Unlike that of the completion library it completes after `=` and `:`, where
/// bash begins another word.
const BASH: &str = include_str!("complete/treering.bash");

/// The commands whose arguments name sessions by the paths of their files.
const OF_FILES: [&str; 6] = ["archive", "doctor", "migrate", "move", "push", "unarchive"];

/// Answers a shell that requests completions. Returns whether one did.
pub(crate) fn answer() -> bool {
    let dir = std::env::current_dir().ok();
    let asked = CompleteEnv::with_factory(command).var(VARIABLE);
    // An error cannot be shown between two keystrokes.
    asked.try_complete(std::env::args_os(), dir.as_deref()).unwrap_or(true)
}

/// Returns the script with which a shell requests completions; `None` for an unknown shell.
pub(crate) fn script(shell: &str) -> Option<Vec<u8>> {
    if shell == "bash" {
        return Some(BASH.as_bytes().to_vec());
    }
    let mut script = Vec::new();
    let name = "treering";
    let shells = Shells::builtins();
    let shell = shells.completer(shell)?;
    shell.write_registration(VARIABLE, name, name, name, &mut script).ok()?;
    Some(script)
}

/// Returns the command line with the completers of its arguments.
fn command() -> clap::Command {
    with_completers(crate::command())
}

fn with_completers(command: clap::Command) -> clap::Command {
    let name = command.get_name().to_owned();
    let with = |arg: clap::Arg| match completer(&name, &arg) {
        Some(completer) => arg.add(completer),
        None => arg,
    };
    command.mut_args(with).mut_subcommands(with_completers)
}

/// Returns the completer of an argument, by the type of its value.
fn completer(command: &str, arg: &clap::Arg) -> Option<ArgValueCompleter> {
    let kind = arg.get_value_parser().type_id();
    let is_file = kind == TypeId::of::<PathBuf>() && arg.is_positional();
    if kind == TypeId::of::<SessionArg>() || is_file && OF_FILES.contains(&command) {
        return Some(ArgValueCompleter::new(sessions));
    }
    let entries_are =
        [TypeId::of::<TypedEntry>(), TypeId::of::<TypedPosition>(), TypeId::of::<TypedSelection>()];
    if entries_are.into_iter().any(|entry| kind == entry) {
        return Some(ArgValueCompleter::new(entries));
    }
    if kind == TypeId::of::<Dialect>() {
        return Some(match (command, arg.get_long()) {
            ("convert", Some("to")) => ArgValueCompleter::new(targets),
            ("resume", Some("in")) => ArgValueCompleter::new(successors),
            _ => ArgValueCompleter::new(agents),
        });
    }
    match (command, arg.get_id().as_str()) {
        ("label", "text") => Some(ArgValueCompleter::new(labels)),
        ("restore", "sessions") => Some(ArgValueCompleter::new(trashed)),
        ("search", "query") => Some(ArgValueCompleter::new(filters)),
        _ => None,
    }
}

fn candidate(text: &str, help: String) -> CompletionCandidate {
    CompletionCandidate::new(text).help(Some(StyledStr::from(help)))
}

/// Returns whether a word needs no quotes in any shell. Not all shells quote completions.
fn is_plain(word: &str) -> bool {
    word.chars().all(|c| c.is_alphanumeric() || "-_.@/+,%".contains(c)) && !word.starts_with('-')
}

/// Offers the sessions of this machine, those of the project first, and session files.
fn sessions(current: &OsStr) -> Vec<CompletionCandidate> {
    let mut found = Vec::new();
    if let Some(text) = current.to_str() {
        let index = SessionIndex::new(sessions::places());
        found.extend(named(text, &index.read(|_| {}).sessions, &index));
    }
    let is_path = current.to_string_lossy().contains(['/', MAIN_SEPARATOR]);
    let is_offered = move |path: &Path| {
        let name = path.to_string_lossy();
        name.ends_with(".jsonl") || name.ends_with(".jsonl.zst") || is_path && path.is_dir()
    };
    found.extend(PathCompleter::any().filter(is_offered).complete(current));
    found
}

/// Offers the sessions among these whose names begin with a text.
fn named(text: &str, all: &[SessionInfo], index: &SessionIndex) -> Vec<CompletionCandidate> {
    let named = candidates(text, all, &sessions::project(index.places()), MAX_OFFERED);
    let is_offered = |word: &str| is_plain(word) && word.chars().count() <= LONGEST;
    let offered = named.into_iter().filter(|one| is_offered(&one.text));
    offered.map(|one| candidate(&one.text, excerpt(one.session.title(), HELP))).collect()
}

/// Offers the sessions in the trash.
fn trashed(current: &OsStr) -> Vec<CompletionCandidate> {
    let (Some(text), Ok(found)) = (current.to_str(), restore::sessions_in_trash()) else {
        return Vec::new();
    };
    named(text, &found, &SessionIndex::new(sessions::places()))
}

/// Offers the entries of the session on the command line, the newest first.
fn entries(current: &OsStr) -> Vec<CompletionCandidate> {
    let (Some(text), Some(session)) = (current.to_str(), typed_session()) else {
        return Vec::new();
    };
    // In `FIRST..LAST`, the last entry is being typed.
    let (first, text) = match text.rsplit_once("..") {
        Some((first, last)) => (format!("{first}.."), last),
        None => (String::new(), text),
    };
    let (tree, mut reader) = (session.tree(), session.reader());
    let mut calls = Calls::default();
    tree.ids()
        .rev()
        .filter(|id| id.as_str().starts_with(text) && is_plain(id.as_str()))
        .take(MAX_OFFERED)
        .map(|id| {
            let label = tree.label(id.as_str()).map(|label| format!("[{}] ", excerpt(label, 20)));
            let line = reader.entry(id.as_str()).map(|entry| {
                let name = describe::name(&entry);
                format!("{name}  {}", describe::preview(&entry, &mut calls, HELP))
            });
            let help = label.unwrap_or_default() + &line.unwrap_or_default();
            candidate(&format!("{first}{id}"), help)
        })
        .collect()
}

/// Offers the labels of the session on the command line.
fn labels(current: &OsStr) -> Vec<CompletionCandidate> {
    let (Some(text), Some(session)) = (current.to_str(), typed_session()) else {
        return Vec::new();
    };
    let tree = session.tree();
    let mut labels: Vec<&str> = tree.labels().into_iter().map(|(_, label, _)| label).collect();
    labels.sort_unstable();
    labels.dedup();
    let fits = |label: &&str| label.starts_with(text) && is_plain(label);
    labels.into_iter().filter(fits).map(CompletionCandidate::new).collect()
}

/// Offers the agents, which are the dialects.
fn agents(current: &OsStr) -> Vec<CompletionCandidate> {
    agents_that(current, |_| true)
}

fn agents_that(current: &OsStr, are: impl Fn(Dialect) -> bool) -> Vec<CompletionCandidate> {
    let current = current.to_string_lossy().to_lowercase();
    let names = Dialect::ALL.into_iter().filter(|agent| are(*agent)).map(Dialect::name);
    names.filter(|name| name.starts_with(&current)).map(CompletionCandidate::new).collect()
}

/// Offers the agents whose sessions treering can write.
fn targets(current: &OsStr) -> Vec<CompletionCandidate> {
    agents_that(current, Dialect::is_conversion_target)
}

/// Offers the agents that can resume a session of another one.
fn successors(current: &OsStr) -> Vec<CompletionCandidate> {
    let (places, here) = (sessions::places(), std::env::current_dir().unwrap_or_default());
    agents_that(current, |agent| {
        let is_found = || places.destination(agent, &here).is_some();
        agent.is_conversion_target() && agent.resume_command().is_some() && is_found()
    })
}

/// Offers the agents after `agent:` in a query.
fn filters(current: &OsStr) -> Vec<CompletionCandidate> {
    const FILTER: &str = "agent:";
    let current = current.to_string_lossy();
    let Some(typed) = current.strip_prefix(FILTER) else { return Vec::new() };
    let agents = agents(OsStr::new(typed)).into_iter();
    agents.map(|agent| agent.add_prefix(FILTER)).collect()
}

/// Opens the session that an earlier word of the command line names.
fn typed_session() -> Option<Session> {
    let words = std::env::args_os().skip_while(|word| word != "--").skip(1);
    let matches = crate::command().ignore_errors(true).try_get_matches_from(words).ok()?;
    let (_, typed) = matches.subcommand()?;
    // Entries after `--from` are those of that session.
    let argument = ["from", "file", "session", "files"].into_iter().find_map(|id| {
        typed.try_get_many::<SessionArg>(id).ok().flatten().and_then(|mut all| all.next())
    })?;
    let path: &Path = argument;
    if path.exists() {
        return Session::open(path).ok();
    }
    let index = SessionIndex::new(sessions::places());
    let contents = index.read(|_| {});
    let project = sessions::project(index.places());
    Session::open(&resolve(path.to_str()?, &contents.sessions, &project).ok()?.path).ok()
}
