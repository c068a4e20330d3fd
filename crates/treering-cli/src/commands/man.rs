//! `treering man`

use crate::error::Failure;
use crate::output::Output;
use crate::text::safe_line;
use clap_mangen::Man;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Write the manual pages
///
/// Without a directory, the page of treering itself: `treering man | man -l -`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Where to put the page of every command: treering.1, treering-log.1 …
    directory: Option<PathBuf>,
}

pub(crate) fn run(args: &Args, out: &mut Output) -> Result<(), Failure> {
    let mut treering = crate::command();
    treering.build();
    let Some(dir) = &args.directory else {
        return Ok(out.write_all(&page(treering)?)?);
    };
    std::fs::create_dir_all(dir).map_err(|error| cannot(dir, &error))?;
    for command in treering.get_subcommands().filter(|command| !command.is_hide_set()) {
        let name = format!("treering-{}", command.get_name());
        write(dir, &name, command.clone(), out)?;
    }
    write(dir, "treering", treering.clone(), out)
}

fn page(command: clap::Command) -> Result<Vec<u8>, Failure> {
    let mut page = Vec::new();
    Man::new(command).render(&mut page)?;
    Ok(page)
}

fn write(dir: &Path, name: &str, command: clap::Command, out: &mut Output) -> Result<(), Failure> {
    let path = dir.join(format!("{name}.1"));
    std::fs::write(&path, page(command)?).map_err(|error| cannot(&path, &error))?;
    writeln!(out, "{}", safe_line(&path.to_string_lossy()))?;
    Ok(())
}

fn cannot(path: &Path, error: &std::io::Error) -> Failure {
    Failure::message(format!("{}: {error}", path.display()))
}
