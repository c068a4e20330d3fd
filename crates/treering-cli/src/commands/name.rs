//! `treering name`

use crate::error::Failure;
use crate::output::{self, Output};
use crate::session_arg::SessionArg;
use crate::text::{safe_line, shell_word};
use crate::typed::label_text;
use std::io::Write;

/// Show the session's name, or set it
///
/// An empty name clears it. Setting a name prints the id of the entry that records it.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The session: a file, an id, a name, `@latest`, or a URL (https://HOST/s/ID)
    #[arg(value_name = "SESSION")]
    pub(crate) file: SessionArg,
    /// The new name
    #[arg(allow_hyphen_values = true, value_parser = label_text)]
    text: Option<String>,
}

pub(crate) fn run(args: &Args, out: &mut Output) -> Result<(), Failure> {
    let session = args.file.open()?;
    match (&args.text, session.name()) {
        (Some(text), _) => writeln!(out, "{}", session.set_name(text)?)?,
        (None, Some(name)) => writeln!(out, "{}", safe_line(&name))?,
        (None, None) => {
            output::write_notice("note", "the session has no name");
            let file = shell_word(&args.file);
            output::write_notice("hint", &format!("`treering name {file} TEXT` names it"));
        }
    }
    Ok(())
}
