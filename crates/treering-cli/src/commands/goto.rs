//! `treering goto`

use super::Position;
use crate::error::Failure;
use crate::output::Output;
use crate::text::safe_line;
use std::io::Write;
use std::path::PathBuf;
use treering::Session;

/// Move the leaf: the next entry continues from there
///
/// Nothing is lost: what was left stays in the tree. Prints the new leaf.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The session file
    pub(crate) file: PathBuf,
    /// The entry to go to (an id or its beginning; `none`: before the first entry)
    id: Position,
}

pub(crate) fn run(args: &Args, out: &mut Output) -> Result<(), Failure> {
    let session = Session::open(&args.file)?;
    match &args.id {
        Position::Entry(id) => writeln!(out, "{}", safe_line(session.branch(id)?.as_str()))?,
        Position::Start => {
            session.reset_leaf()?;
            writeln!(out, "none")?;
        }
    }
    Ok(())
}
