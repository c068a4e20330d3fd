//! `treering label`

use crate::error::Failure;
use crate::output::Output;
use std::io::Write;
use std::path::PathBuf;
use treering::Session;

/// Label an entry, or clear its label
///
/// Prints the id of the entry that records the label.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The session file
    pub(crate) file: PathBuf,
    /// The entry (an id or its beginning)
    id: String,
    /// The label; without it the label is cleared
    #[arg(allow_hyphen_values = true)]
    text: Option<String>,
}

pub(crate) fn run(args: &Args, out: &mut Output) -> Result<(), Failure> {
    let session = Session::open(&args.file)?;
    writeln!(out, "{}", session.label(&args.id, args.text.as_deref())?)?;
    Ok(())
}
