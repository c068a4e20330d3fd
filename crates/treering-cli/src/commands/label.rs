//! `treering label`

use crate::error::Failure;
use crate::output::{self, Output};
use crate::session_arg::SessionArg;
use crate::text::{safe_line, shell_word};
use crate::typed::{TypedEntry, label};
use std::io::Write;
use std::path::Path;

/// Label an entry, show its label, or clear it
///
/// Prints the id of the entry that records the change, or the current label if no text is given.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The session: a file, an id, a name, `@latest`, or a URL (https://HOST/s/ID)
    #[arg(value_name = "SESSION")]
    pub(crate) file: SessionArg,
    /// The entry (an id or its beginning)
    id: TypedEntry,
    /// The new label; the current one is shown if not given
    #[arg(allow_hyphen_values = true, value_parser = label)]
    text: Option<String>,
    /// Clear the label
    #[arg(long, conflicts_with = "text")]
    clear: bool,
}

pub(crate) fn run(args: &Args, out: &mut Output) -> Result<(), Failure> {
    let session = args.file.open()?;
    let id = args.id.resolve(&session)?;
    if args.clear || args.text.is_some() {
        writeln!(out, "{}", session.label(&id, args.text.as_deref())?)?;
        return Ok(());
    }
    match session.tree().label(&id) {
        Some(label) => writeln!(out, "{}", safe_line(label))?,
        None => {
            output::write_notice("note", &format!("entry {} has no label", safe_line(id.as_str())));
            let (file, id) = (shell_word(&args.file), shell_word(Path::new(id.as_str())));
            output::write_notice("hint", &format!("`treering label {file} {id} TEXT` labels it"));
        }
    }
    Ok(())
}
