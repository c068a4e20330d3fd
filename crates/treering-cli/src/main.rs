//! The command `treering`, which passes arguments to the library and prints the results.
//!
//! This file has the arguments, the dispatch and the exit code. A command is a file in `commands/`;
//! output is written through `output` and `text`, errors through `error`.

mod agent;
mod amounts;
mod clock;
mod commands;
mod complete;
mod config;
mod confirm;
mod describe;
mod directories;
mod error;
mod in_use;
mod interface;
mod last_session;
mod models;
mod output;
mod pager;
mod poll_loop;
mod prices;
mod progress;
mod project_filter;
mod redaction;
mod resume;
mod server_store;
mod session_arg;
mod sessions;
mod short_ids;
mod signals;
mod stores;
mod text;
mod typed;

use clap::Parser;
use clap::builder::NonEmptyStringValueParser;
use clap::error::{ContextKind, ContextValue};
use commands::Command;
use error::Failure;
use output::Output;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use stores::StoreChoice;

/// Browse, search, branch, repair and convert the session trees of AI agents.
///
/// Without a command, treering opens the session picker, if it runs in a terminal.
///
/// A session is a tree of entries in an append-only file. The model sees the path from the root to the
/// leaf. To name a session, give a file, an id, a name, or a position in the list of `treering ls`
/// (`@latest`, `@2`). Ids may be shortened as long as they are unambiguous.
#[derive(Debug, Parser)]
#[command(
    name = "treering",
    version,
    after_help = "New here? Try `treering demo`. `treering help` lists topics as well.",
    disable_help_subcommand = true
)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    /// Continue the last session of this directory, in the terminal interface
    #[arg(short = 'c', long = "continue")]
    continue_last: bool,
    /// Do not send long output to a pager
    #[arg(long, global = true)]
    no_pager: bool,
    /// Look for sessions in a store instead of on this machine: a directory, https://HOST, or
    /// postgres://USER@HOST/DATABASE (also TREERING_STORE; `local` is this machine)
    #[arg(long, global = true, value_name = "URL", value_parser = NonEmptyStringValueParser::new())]
    store: Option<String>,
}

/// Returns the definition of the command line, for help, completions and manual pages.
fn command() -> clap::Command {
    <Cli as clap::CommandFactory>::command()
}

fn main() -> ExitCode {
    if complete::answer() {
        return ExitCode::SUCCESS;
    }
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            if let Some(failure) = file_as_command(&error) {
                return exit(Err(failure), None);
            }
            let printed = print_usage(&error);
            return match error.use_stderr() {
                // If an error cannot be printed, this cannot be reported either.
                true => ExitCode::from(error::USAGE),
                false => exit(printed.map_err(Failure::Stdout), None),
            };
        }
    };
    let mut out = Output::stdout();
    let store = StoreChoice::new(cli.store.as_deref());
    let mut command = match cli.command {
        Some(_) if cli.continue_last => {
            let what = "-c cannot be combined with a command".to_owned();
            let hint = "leave out the command, or -c".to_owned();
            return exit(Err(Failure::Usage { what, hint }), None);
        }
        Some(command) => command,
        None if cli.continue_last && store.is_option() => {
            let what = "-c continues a session of this machine, not of a store".to_owned();
            let hint = "leave out --store, or name the session: `treering chat SESSION`".to_owned();
            return exit(Err(Failure::Usage { what, hint }), None);
        }
        None if cli.continue_last => return exit(commands::continue_last(&mut out), None),
        None if interface::has_terminal() => Command::default(),
        None => {
            return exit(self::command().print_help().map_err(Failure::Stdout), None);
        }
    };
    if let Err(failure) = command.check_store(&store) {
        return exit(Err(failure), None);
    }
    let traits = command.traits();
    signals::install(traits.signals);
    if let Command::Mcp(args) = &command {
        // The protocol needs standard output, which `out` has locked.
        drop(out);
        config::Config::warn();
        return exit(commands::serve_mcp(args), None);
    }
    if traits.shows_progress && !std::env::args_os().any(|argument| argument == "--json") {
        progress::start();
    }
    let located = command.locate(&store);
    if located.is_ok() && traits.is_long && !cli.no_pager {
        out.page();
    }
    let done = located.and_then(|()| command.run(&store, &mut out)).and_then(|()| out.finish());
    if done.is_err() {
        // Output that was written before the failure comes first.
        let _ = out.finish();
    }
    progress::stop();
    let done = match done {
        Err(Failure::Stdout(error)) if traits.is_change => Err(Failure::Report(error)),
        done => done,
    };
    // The terminal interface may end while it writes a file in the background.
    drop(treering::internal::fs::remove_unfinished());
    exit(done, command.file())
}

/// Returns the failure for a file that was given instead of a command.
fn file_as_command(error: &clap::Error) -> Option<Failure> {
    let ContextValue::String(given) = error.get(ContextKind::InvalidSubcommand)? else {
        return None;
    };
    let file = Path::new(given);
    file.is_file().then(|| Failure::Usage {
        what: format!("{given:?} is a file, not a command"),
        hint: format!("`treering open {}` shows its tree", text::shell_word(file)),
    })
}

/// Prints an error of the command line, help, or the version. It quotes what the user typed, which
/// may contain anything.
fn print_usage(error: &clap::Error) -> std::io::Result<()> {
    let text = error.render().to_string();
    let shown = text::safe_lines(&text);
    match shown == text.replace("\r\n", "\n") {
        true => error.print(),
        false => writeln!(std::io::stderr(), "{}", shown.trim_end()),
    }
}

/// Reports a failure, if there was one, and returns the exit code.
fn exit(done: Result<(), Failure>, file: Option<&Path>) -> ExitCode {
    config::Config::warn();
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::Stdout(error) | Failure::Report(error))
            if error.kind() == std::io::ErrorKind::BrokenPipe =>
        {
            ExitCode::SUCCESS
        }
        Err(failure) => {
            error::report(&failure, file);
            ExitCode::from(failure.exit_code())
        }
    }
}
