//! `treering` on the command line. Glue: arguments in, the library's answers out.
//!
//! Here: arguments, dispatch, exit code. A command is a file in `commands/`; what people read goes
//! through `output` and `text`, what went wrong through `error`.

mod agent;
mod clock;
mod commands;
mod config;
mod describe;
mod error;
mod layout;
mod output;
mod progress;
mod redaction;
mod shelf;
mod short;
mod spent;
mod text;

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
    after_help = "New here? Try `treering demo`.",
    disable_help_subcommand = true
)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
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
        let _ = <Cli as clap::CommandFactory>::command().print_help();
        return ExitCode::SUCCESS;
    };
    let mut out = Output::stdout();
    let done = command.locate().and_then(|()| command.run(&mut out)).and_then(|()| out.finish());
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::Stdout(error)) if error.kind() == std::io::ErrorKind::BrokenPipe => {
            ExitCode::SUCCESS
        }
        Err(failure) => {
            // What was said before it failed comes first.
            let _ = out.finish();
            error::report(&failure, command.file());
            ExitCode::from(failure.exit_code())
        }
    }
}
