//! `treering completions`

use crate::error::Failure;
use crate::output::Output;
use clap_complete::Shell;
use std::io::Write;

/// Write completions for a shell: `source <(treering completions bash)`
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

pub(crate) fn run(args: &Args, out: &mut Output) -> Result<(), Failure> {
    // The generator panics on a closed pipe, so it writes to memory first.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut crate::command(), "treering", &mut script);
    Ok(out.write_all(&script)?)
}
