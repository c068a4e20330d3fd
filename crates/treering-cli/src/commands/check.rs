//! `treering check`

use crate::error::Failure;
use crate::output::Output;
use crate::text::{count, safe_line};
use std::io::Write;
use std::path::PathBuf;
use treering::Session;

/// List what is odd about a session file, by line
///
/// Reads every byte and changes nothing. The exit code is 1 if there is anything to list.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The session file
    pub(crate) file: PathBuf,
}

pub(crate) fn run(args: &Args, out: &mut Output) -> Result<(), Failure> {
    let session = Session::open(&args.file)?;
    let findings = session.examine()?;
    if findings.is_empty() {
        writeln!(out, "nothing odd in {}", count(session.tree().len(), "entry", "entries"))?;
        return Ok(());
    }
    for finding in &findings {
        writeln!(out, "{}", safe_line(&finding.to_string()))?;
    }
    Err(Failure::Said)
}
