//! `treering man`

use crate::error::Failure;
use crate::output::Output;
use crate::text::safe_path;
use clap_mangen::Man;
use std::collections::VecDeque;
use std::io::Write;
use std::path::{Path, PathBuf};
use treering::internal::fs::NewFile;

/// Print or write the manual pages
///
/// Without a directory, prints the page of treering itself: `treering man | man -l -`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The directory for the pages of all commands: treering.1, treering-log.1 …
    directory: Option<PathBuf>,
}

pub(crate) fn run(args: &Args, out: &mut Output) -> Result<(), Failure> {
    let mut treering = crate::command();
    treering.build();
    let Some(dir) = &args.directory else {
        return Ok(out.write_all(&page(treering)?)?);
    };
    // Manual pages are readable by all users, unlike directories of sessions.
    std::fs::create_dir_all(dir).map_err(|error| Failure::io("create", dir, &error))?;
    // Subcommands have pages as well, such as those of `treering edit-context`.
    let mut rest = VecDeque::from([("treering".to_owned(), &treering)]);
    while let Some((name, command)) = rest.pop_front() {
        write(dir, &name, command.clone(), out)?;
        let below = command.get_subcommands().filter(|command| !command.is_hide_set());
        rest.extend(below.map(|below| (format!("{name}-{}", below.get_name()), below)));
    }
    Ok(())
}

fn page(command: clap::Command) -> Result<Vec<u8>, Failure> {
    let mut page = Vec::new();
    Man::new(command).render(&mut page)?;
    Ok(page)
}

fn write(dir: &Path, name: &str, command: clap::Command, out: &mut Output) -> Result<(), Failure> {
    let path = dir.join(format!("{name}.1"));
    put(&path, &page(command)?).map_err(|error| Failure::io("write", &path, &error))?;
    writeln!(out, "{}", safe_path(&path))?;
    Ok(())
}

/// Writes a page that all users can read, and replaces an older one.
fn put(path: &Path, page: &[u8]) -> std::io::Result<()> {
    let mut new = NewFile::beside(path)?;
    new.write_all(page)?;
    new.file()?.set_mode(0o644)?;
    new.publish_replacing_unsynced().map(drop)
}
