//! `treering` on the command line. Glue: arguments in, the library's answers out.
//!
//! Here: arguments, dispatch, exit code. A command is a file in `commands/`; what people read goes
//! through `output` and `text`, what went wrong through `error`.

mod agent;
mod ask;
mod clock;
mod commands;
mod config;
mod describe;
mod error;
mod layout;
mod output;
mod pack;
mod pager;
mod progress;
mod pulse;
mod quiet;
mod redaction;
mod shelf;
mod short;
mod spent;
mod text;
mod trash;

use clap::Parser;
use commands::Command;
use error::Failure;
use output::Output;
use std::process::ExitCode;

/// Look at agent session trees, move in them, append to them.
///
/// A session is a tree of entries in an append-only file. The path from its leaf to the root is what
/// the model sees. A session is named by its file, its id, its name or its age (`@latest`: see `treering
/// ls`); ids may be shortened as long as they stay unambiguous.
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
    /// Do not send long output to a pager
    #[arg(long, global = true)]
    no_pager: bool,
}

/// The command line as data: for help, completions and manual pages.
fn command() -> clap::Command {
    <Cli as clap::CommandFactory>::command()
}

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version are such errors, too. If nobody reads them there is nobody to tell.
            let _ = error.print();
            return ExitCode::from(if error.use_stderr() { error::USAGE } else { 0 });
        }
    };
    let Some(mut command) = cli.command else {
        let _ = self::command().print_help();
        return ExitCode::SUCCESS;
    };
    let mut out = Output::stdout();
    let located = command.locate();
    if located.is_ok() && command.is_long() && !cli.no_pager {
        out.page();
    }
    let done = located.and_then(|()| command.run(&mut out)).and_then(|()| out.finish());
    if done.is_err() {
        // What was said before it failed comes first.
        let _ = out.finish();
    }
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::Stdout(error)) if error.kind() == std::io::ErrorKind::BrokenPipe => {
            ExitCode::SUCCESS
        }
        Err(failure) => {
            error::report(&failure, command.file());
            ExitCode::from(failure.exit_code())
        }
    }
}
