//! `treering completions`

use crate::complete;
use crate::error::Failure;
use crate::output::Output;
use clap_complete::Shell;
use std::io::Write;

/// Print completions for a shell: `source <(treering completions bash)`
///
/// They complete commands and options, sessions (ids, names, `@latest`, files), entries, labels and
/// agents.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

pub(crate) fn run(args: &Args, out: &mut Output) -> Result<(), Failure> {
    let script = complete::script(&args.shell.to_string());
    let script =
        script.ok_or_else(|| Failure::message("there are no completions for this shell"))?;
    Ok(out.write_all(&script)?)
}
