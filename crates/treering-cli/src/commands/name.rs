//! `treering name`

use crate::error::Failure;
use crate::output::Output;
use crate::text::{safe_line, shell_word};
use std::io::Write;
use std::path::PathBuf;
use treering::Session;

/// Show the session's name, or set it
///
/// An empty text clears it. Setting prints the id of the entry that records the name.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The session file
    pub(crate) file: PathBuf,
    /// The new name
    #[arg(allow_hyphen_values = true)]
    text: Option<String>,
}

pub(crate) fn run(args: &Args, out: &mut Output) -> Result<(), Failure> {
    let session = Session::open(&args.file)?;
    match (&args.text, session.name()) {
        (Some(text), _) => writeln!(out, "{}", session.set_name(text)?)?,
        (None, Some(name)) => writeln!(out, "{}", safe_line(&name))?,
        (None, None) => {
            let file = shell_word(&args.file);
            let hint = format!("`treering name {file} TEXT` names it");
            return Err(Failure::with_hint("the session has no name", hint));
        }
    }
    Ok(())
}
