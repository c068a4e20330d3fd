//! The commands, one file each. The doc comment of a command's arguments is its help.

mod append;
mod archive;
mod branches;
mod chat;
mod cherry_pick;
mod compact;
mod completions;
mod config;
mod context;
mod convert;
pub(crate) mod demo;
mod diff;
mod doctor;
mod edit_context;
mod export;
mod fork;
mod gc;
mod goto;
mod help;
mod label;
mod log;
mod ls;
mod man;
mod mcp;
mod merge;
mod migrate;
mod move_to;
mod name;
mod open;
mod pop;
mod redact;
pub(crate) mod restore;
mod resume;
mod rm;
mod search;
mod serve;
mod share;
mod show;
mod stats;
mod store;
mod sync;
mod tail;
mod token;
mod tree;
mod usage;
mod watch;

pub(crate) use fork::absolute;
pub(crate) use mcp::run as serve_mcp;
pub(crate) use open::continue_last;

use crate::error::Failure;
use crate::output::{self, Output};
use crate::session_arg::SessionArg;
use crate::sessions::{self, UnknownArgument};
use crate::signals;
use crate::stores::StoreChoice;
use crate::text::{safe_line, shell_word};
use std::collections::HashSet;
use std::iter;
use std::path::{Path, PathBuf};
use treering::Session;

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    Open(open::Args),
    Chat(chat::Args),
    Resume(resume::Args),
    Context(context::Args),
    Log(log::Args),
    Tree(tree::Args),
    Branches(branches::Args),
    Show(show::Args),
    Stats(stats::Args),
    Append(append::Args),
    Goto(goto::Args),
    Pop(pop::Args),
    Label(label::Args),
    #[command(visible_alias = "rename")]
    Name(name::Args),
    Fork(fork::Args),
    Merge(merge::Args),
    CherryPick(cherry_pick::Args),
    Diff(diff::Args),
    EditContext(edit_context::Args),
    Compact(compact::Args),
    Ls(ls::Args),
    Usage(usage::Args),
    Search(search::Args),
    Tail(tail::Args),
    Watch(watch::Args),
    Push(sync::Push),
    Pull(sync::Pull),
    Sync(sync::Sync),
    Rm(rm::Args),
    Restore(restore::Args),
    Archive(archive::Args),
    Unarchive(archive::Unarchive),
    Move(move_to::Args),
    Gc(gc::Args),
    Convert(convert::Args),
    Export(export::Args),
    Share(share::Args),
    Redact(redact::Args),
    #[command(alias = "check")]
    Doctor(doctor::Args),
    Migrate(migrate::Args),
    Serve(serve::Args),
    Mcp(mcp::Args),
    Store(store::Args),
    Token(token::Args),
    Demo(demo::Args),
    Config(config::Args),
    Completions(completions::Args),
    Man(man::Args),
    Help(help::Args),
}

/// Facts about a command that the caller needs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Traits {
    /// Whether it may print more than fits on a screen at once.
    pub is_long: bool,
    /// Whether it may change or create files before it reports what it did.
    pub is_change: bool,
    /// The signals that it handles itself.
    pub signals: signals::HandledByCommand,
    /// Whether it shows progress if it takes long. Other commands use the terminal themselves, or
    /// wait for changes.
    pub shows_progress: bool,
}

/// The command that runs if none is given.
impl Default for Command {
    fn default() -> Self {
        Command::Open(open::Args::default())
    }
}

impl Command {
    pub(crate) fn run(&self, store: &StoreChoice, out: &mut Output) -> Result<(), Failure> {
        match self {
            Command::Open(args) => open::run(args, store, out),
            Command::Chat(args) => chat::run(args, out),
            Command::Resume(args) => resume::run(args, out),
            Command::Context(args) => context::run(args, out),
            Command::Log(args) => log::run(args, out),
            Command::Tree(args) => tree::run(args, out),
            Command::Branches(args) => branches::run(args, out),
            Command::Show(args) => show::run(args, out),
            Command::Stats(args) => stats::run(args, out),
            Command::Append(args) => append::run(args, out),
            Command::Goto(args) => goto::run(args, out),
            Command::Pop(args) => pop::run(args, out),
            Command::Label(args) => label::run(args, out),
            Command::Name(args) => name::run(args, out),
            Command::Fork(args) => fork::run(args, out),
            Command::Merge(args) => merge::run(args, out),
            Command::CherryPick(args) => cherry_pick::run(args, out),
            Command::Diff(args) => diff::run(args, out),
            Command::EditContext(args) => edit_context::run(args, out),
            Command::Compact(args) => compact::run(args, out),
            Command::Ls(args) => ls::run(args, store, out),
            Command::Usage(args) => usage::run(args, store, out),
            Command::Search(args) => search::run(args, store, out),
            Command::Tail(args) => tail::run(args, out),
            Command::Watch(args) => watch::run(args, store, out),
            Command::Push(args) => sync::push(args, store, out),
            Command::Pull(args) => sync::pull(args, store, out),
            Command::Sync(args) => sync::sync(args, store, out),
            Command::Rm(args) => rm::run(args, out),
            Command::Restore(args) => restore::run(args, out),
            Command::Archive(args) => archive::run(args, out),
            Command::Unarchive(args) => archive::unarchive(args, out),
            Command::Move(args) => move_to::run(args, out),
            Command::Gc(args) => gc::run(args, out),
            Command::Convert(args) => convert::run(args, out),
            Command::Export(args) => export::run(args, store, out),
            Command::Share(args) => share::run(args, out),
            Command::Redact(args) => redact::run(args, out),
            Command::Doctor(args) => doctor::run(args, out),
            Command::Migrate(args) => migrate::run(args, out),
            Command::Serve(args) => serve::run(args, store, out),
            // `main` runs it without an output.
            Command::Mcp(_) => Ok(()),
            Command::Store(args) => self::store::run(args, out),
            Command::Token(args) => token::run(args, store, out),
            Command::Demo(args) => demo::run(args, out),
            Command::Config(args) => config::run(args, out),
            Command::Completions(args) => completions::run(args, out),
            Command::Man(args) => man::run(args, out),
            Command::Help(args) => help::run(args, out),
        }
    }

    /// Returns the facts about the command that the caller needs. Every command is listed here, so
    /// that a new one cannot be forgotten.
    pub(crate) fn traits(&self) -> Traits {
        let (is_long, is_change, signals) = match self {
            Command::Open(_) => (false, false, signals::HandledByCommand::All),
            Command::Chat(_) => (false, true, signals::HandledByCommand::All),
            Command::Serve(_) => (false, false, signals::HandledByCommand::All),
            Command::Mcp(_) => (false, false, signals::HandledByCommand::Nothing),
            Command::Store(_) | Command::Token(_) => {
                (false, true, signals::HandledByCommand::Nothing)
            }
            // A pager handles Ctrl-C, and the command ends with it.
            Command::Context(_)
            | Command::Log(_)
            | Command::Tree(_)
            | Command::Branches(_)
            | Command::Show(_)
            | Command::Stats(_)
            | Command::Diff(_)
            | Command::Ls(_)
            | Command::Usage(_)
            | Command::Help(_) => (true, false, signals::HandledByCommand::Interrupt),
            Command::Tail(_) | Command::Watch(_) => {
                (false, false, signals::HandledByCommand::Interrupt)
            }
            Command::Goto(_)
            | Command::Pop(_)
            | Command::Merge(_)
            | Command::CherryPick(_)
            | Command::Compact(_)
            | Command::Sync(_) => (false, true, signals::HandledByCommand::Interrupt),
            Command::Label(_)
            | Command::Resume(_)
            | Command::Name(_)
            | Command::Fork(_)
            | Command::EditContext(_)
            | Command::Push(_)
            | Command::Pull(_)
            | Command::Rm(_)
            | Command::Restore(_)
            | Command::Archive(_)
            | Command::Unarchive(_)
            | Command::Move(_)
            | Command::Gc(_)
            | Command::Convert(_)
            | Command::Redact(_)
            | Command::Doctor(_)
            | Command::Migrate(_)
            | Command::Man(_) => (false, true, signals::HandledByCommand::Nothing),
            Command::Append(_)
            | Command::Search(_)
            | Command::Export(_)
            | Command::Share(_)
            | Command::Demo(_)
            | Command::Config(_)
            | Command::Completions(_) => (false, false, signals::HandledByCommand::Nothing),
        };
        let waits = matches!(
            self,
            Command::Open(_)
                | Command::Chat(_)
                | Command::Serve(_)
                | Command::Mcp(_)
                | Command::Tail(_)
                | Command::Watch(_)
        );
        Traits { is_long, is_change, signals, shows_progress: !waits }
    }

    /// Fails if the user named a store for a command that does not use one.
    pub(crate) fn check_store(&self, store: &StoreChoice) -> Result<(), Failure> {
        let is_without = match self {
            // The arguments of these commands name no sessions of a store.
            Command::Restore(_)
            | Command::Gc(_)
            | Command::Mcp(_)
            | Command::Store(_)
            | Command::Demo(_)
            | Command::Config(_)
            | Command::Completions(_)
            | Command::Man(_)
            | Command::Help(_) => true,
            Command::Resume(args) => args.file.is_none(),
            Command::Open(_)
            | Command::Chat(_)
            | Command::Context(_)
            | Command::Log(_)
            | Command::Tail(_)
            | Command::Tree(_)
            | Command::Branches(_)
            | Command::Show(_)
            | Command::Stats(_)
            | Command::Append(_)
            | Command::Goto(_)
            | Command::Pop(_)
            | Command::Label(_)
            | Command::Name(_)
            | Command::Fork(_)
            | Command::Merge(_)
            | Command::CherryPick(_)
            | Command::Diff(_)
            | Command::EditContext(_)
            | Command::Compact(_)
            | Command::Ls(_)
            | Command::Usage(_)
            | Command::Search(_)
            | Command::Watch(_)
            | Command::Push(_)
            | Command::Pull(_)
            | Command::Sync(_)
            | Command::Rm(_)
            | Command::Archive(_)
            | Command::Unarchive(_)
            | Command::Move(_)
            | Command::Convert(_)
            | Command::Export(_)
            | Command::Share(_)
            | Command::Redact(_)
            | Command::Doctor(_)
            | Command::Migrate(_)
            | Command::Serve(_)
            | Command::Token(_) => false,
        };
        match is_without && store.is_option() {
            true => Err(Failure::Usage {
                what: "this command does not use a store".to_owned(),
                hint: "leave out --store".to_owned(),
            }),
            false => Ok(()),
        }
    }

    /// Finds the sessions that the arguments of the command name, unless they are paths.
    pub(crate) fn locate(&mut self, store: &StoreChoice) -> Result<(), Failure> {
        let unknown = match self {
            Command::Append(_) => UnknownArgument::IsAPath,
            Command::Chat(args) if args.new => UnknownArgument::IsAPath,
            _ => UnknownArgument::Fails,
        };
        self.arguments().into_iter().try_for_each(|argument| match argument {
            Argument::Session(session) => sessions::locate(session, unknown, store),
            Argument::File(file) => sessions::locate_file(file, unknown, store),
            Argument::LocalFile(file) => {
                sessions::locate_file(file, unknown, &StoreChoice::default())
            }
        })?;
        // A session that is named twice is meant once.
        match self {
            Command::Rm(args) => keep_first(&mut args.files, |session| session),
            Command::Stats(args) => keep_first(&mut args.files, |session| session),
            Command::Doctor(args) => keep_first(&mut args.paths, |path| path),
            Command::Migrate(args) => keep_first(&mut args.files, |path| path),
            Command::Archive(args) => keep_first(&mut args.files, |path| path),
            Command::Unarchive(args) => keep_first(&mut args.files, |path| path),
            Command::Push(args) => keep_first(&mut args.sessions, |path| path),
            _ => {}
        }
        Ok(())
    }

    /// Returns all arguments that name sessions.
    fn arguments(&mut self) -> Vec<Argument<'_>> {
        let session = |session| vec![Argument::Session(session)];
        match self {
            Command::Open(args) => args.session.iter_mut().map(Argument::Session).collect(),
            Command::Chat(args) => args.session.iter_mut().map(Argument::Session).collect(),
            Command::Resume(args) => args.file.iter_mut().map(Argument::Session).collect(),
            Command::Context(args) => session(&mut args.file),
            Command::Log(args) => session(&mut args.file),
            Command::Tail(args) => session(&mut args.file),
            Command::Tree(args) => session(&mut args.file),
            Command::Show(args) => session(&mut args.file),
            Command::Append(args) => session(&mut args.file),
            Command::Goto(args) => session(&mut args.file),
            Command::Label(args) => session(&mut args.file),
            Command::Name(args) => session(&mut args.file),
            Command::Fork(args) => session(&mut args.file),
            Command::Compact(args) => session(&mut args.file),
            Command::Branches(args) => session(&mut args.file),
            Command::Pop(args) => session(&mut args.file),
            Command::CherryPick(args) => {
                iter::once(&mut args.file).chain(&mut args.from).map(Argument::Session).collect()
            }
            Command::Merge(args) => session(&mut args.file),
            Command::Diff(args) => {
                iter::once(&mut args.file).chain(&mut args.with).map(Argument::Session).collect()
            }
            Command::EditContext(args) => session(&mut args.file),
            Command::Export(args) => args.file.iter_mut().map(Argument::Session).collect(),
            Command::Share(args) => session(&mut args.file),
            Command::Stats(args) => args.files.iter_mut().map(Argument::Session).collect(),
            Command::Convert(args) => session(&mut args.file),
            Command::Redact(args) => session(&mut args.file),
            Command::Rm(args) => args.files.iter_mut().map(Argument::Session).collect(),
            Command::Doctor(args) => args.paths.iter_mut().map(Argument::File).collect(),
            Command::Migrate(args) => args.files.iter_mut().map(Argument::File).collect(),
            Command::Archive(args) => args.files.iter_mut().map(Argument::File).collect(),
            Command::Unarchive(args) => args.files.iter_mut().map(Argument::File).collect(),
            Command::Move(args) => vec![Argument::File(&mut args.file)],
            Command::Push(args) => args.sessions.iter_mut().map(Argument::LocalFile).collect(),
            Command::Ls(_)
            | Command::Usage(_)
            | Command::Search(_)
            | Command::Watch(_)
            | Command::Pull(_)
            | Command::Sync(_)
            | Command::Gc(_)
            | Command::Restore(_)
            | Command::Serve(_)
            | Command::Mcp(_)
            | Command::Store(_)
            | Command::Token(_)
            | Command::Demo(_)
            | Command::Config(_)
            | Command::Completions(_)
            | Command::Man(_)
            | Command::Help(_) => Vec::new(),
        }
    }

    /// Returns the session that the command is about, if any.
    pub(crate) fn file(&mut self) -> Option<&Path> {
        let mut arguments = self.arguments();
        let argument = arguments.pop()?;
        arguments.is_empty().then_some(match argument {
            Argument::Session(session) => session,
            Argument::File(file) | Argument::LocalFile(file) => file,
        })
    }
}

/// Removes arguments with the path of an earlier one.
fn keep_first<T>(arguments: &mut Vec<T>, path: impl Fn(&T) -> &Path) {
    let mut seen = HashSet::new();
    arguments.retain(|argument| {
        let path = path(argument);
        seen.insert(std::path::absolute(path).unwrap_or_else(|_| path.to_owned()))
    });
}

/// An argument that names a session.
enum Argument<'a> {
    /// A session of any storage.
    Session(&'a mut SessionArg),
    /// A file, because the command works only on files.
    File(&'a mut PathBuf),
    /// A file of this machine, whatever store is chosen.
    LocalFile(&'a mut PathBuf),
}

/// Fails if the output of a command that writes only files is to be standard output.
fn check_is_file(output: Option<&Path>) -> Result<(), Failure> {
    match output.is_some_and(|output| output == Path::new("-")) {
        true => Err(Failure::Usage {
            what: "the result cannot be written to standard output: it is read again".to_owned(),
            hint: "name a file; a file with the name - is ./-".to_owned(),
        }),
        false => Ok(()),
    }
}

/// The maximum number of findings that other commands show.
const MAX_WARNINGS: usize = 5;

/// Reports problems of the session on stderr, after the output.
fn warn_of_findings(session: &Session, file: &Path, out: &mut Output) -> Result<(), Failure> {
    let findings = session.findings()?;
    if findings.is_empty() {
        return Ok(());
    }
    out.finish()?;
    for finding in findings.iter().take(MAX_WARNINGS) {
        output::write_notice("warning", &safe_line(&finding.to_string()));
    }
    if let Some(more) = findings.len().checked_sub(MAX_WARNINGS).filter(|more| *more > 0) {
        let doctor = format!("… and {more} more: treering doctor {}", shell_word(file));
        output::write_notice("warning", &safe_line(&doctor));
    }
    Ok(())
}
