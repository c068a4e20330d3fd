//! `treering tail`
//!
//! Between two polls the file may have grown, or may be another one: a repair or an upgrade
//! replaces it, another program may truncate it. The command reports such changes, and shows all
//! new entries.

use super::log;
use crate::error::Failure;
use crate::output::{self, Output, Style};
use crate::poll_loop::{IdleTimeout, PollLoop};
use crate::session_arg::SessionArg;
use crate::short_ids::ShortIds;
use crate::text::safe_line;
use crate::typed::number;
use std::io::Write;
use std::path::Path;
use treering::{Entry, EntryId, Error, Session};
use treering_display::preview_line::Calls;
use treering_index::{FileChange, Stamp};

/// Print the last entries of a session, then new ones as they are written
///
/// Shows the entries of all branches, in the order in which any process writes them. If the parent of an
/// entry is not the entry before it, the parent is shown. Ctrl-C ends the command.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The session: a file, an id, a name, `@latest`, or a URL (https://HOST/s/ID)
    #[arg(value_name = "SESSION")]
    pub(crate) file: SessionArg,
    /// The number of existing entries to print first
    #[arg(short = 'n', long, value_name = "N", default_value_t = 10, value_parser = number::<usize>, allow_negative_numbers = true)]
    last: usize,
    #[command(flatten)]
    idle: IdleTimeout,
    /// The entries as they are in the file, one JSON object per line, as `log` shows them
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args, out: &mut Output) -> Result<(), Failure> {
    let mut poll = PollLoop::new(&args.idle)?;
    let mut file = TailedFile::new(&args.file);
    let session = args.file.open()?;
    let mut tail =
        Tail { session, ids: None, calls: Calls::last(8192), before: None, json: args.json };
    tail.write_last(args.last, out)?;
    out.finish()?;
    while poll.wait() {
        file.report_file_change();
        if !tail.session.has_news() {
            continue;
        }
        match tail.session.refresh() {
            Ok(new) if new.is_empty() => file.last_warning = None,
            Ok(new) => {
                file.last_warning = None;
                poll.mark_change();
                tail.write(&new, out)?;
                out.finish()?;
            }
            // A file that is being replaced may have any content for a moment.
            Err(error) => file.warn_once(&error),
        }
    }
    Ok(())
}

/// The file with its metadata.
struct TailedFile<'a> {
    path: &'a Path,
    stamp: Option<Stamp>,
    last_warning: Option<String>,
}

impl<'a> TailedFile<'a> {
    fn new(path: &'a Path) -> Self {
        TailedFile { path, stamp: stamp(path), last_warning: None }
    }

    /// Reports a change of the file other than growing.
    fn report_file_change(&mut self) {
        // A session of a store may have no file.
        let Some(now) = stamp(self.path) else { return };
        let before = self.stamp.replace(now);
        let path = safe_line(&self.path.to_string_lossy());
        let what = match before.and_then(|before| now.since(&before)) {
            Some(FileChange::Replaced) => format!("{path} is another file now; reading it again"),
            Some(FileChange::Shrunk { from, to }) => {
                format!("{path} was cut off, from {from} to {to} bytes; reading it again")
            }
            _ => return,
        };
        output::write_notice("note", &what);
    }

    fn warn_once(&mut self, error: &Error) {
        let what = match error {
            Error::Deleted(_) => format!("{error}; waiting for it to come back"),
            _ => format!("{error}; trying again"),
        };
        if self.last_warning.as_ref() != Some(&what) {
            output::write_notice("note", &safe_line(&what));
            self.last_warning = Some(what);
        }
    }
}

fn stamp(path: &Path) -> Option<Stamp> {
    Stamp::at(path)
}

struct Tail {
    session: Session,
    /// The short ids, built when the first entry is shown to a user.
    ids: Option<ShortIds>,
    /// The latest tool calls, for their results.
    calls: Calls,
    /// The entry that was shown last.
    before: Option<EntryId>,
    json: bool,
}

impl Tail {
    fn write_last(&mut self, count: usize, out: &mut Output) -> Result<(), Failure> {
        let tree = self.session.tree();
        let mut last: Vec<EntryId> = tree.ids().rev().take(count).collect();
        last.reverse();
        self.write(&last, out)
    }

    fn write(&mut self, entries: &[EntryId], out: &mut Output) -> Result<(), Failure> {
        let tree = self.session.tree();
        let dialect = self.session.dialect();
        let mut reader = self.session.reader();
        if !self.json {
            match &mut self.ids {
                Some(ids) => entries.iter().for_each(|id| ids.add(id.as_str())),
                None => self.ids = Some(ShortIds::of(&tree)),
            }
        }
        for id in entries {
            let entry = match reader.entry(id.as_str()) {
                Ok(entry) => entry,
                // The file was truncated meanwhile: the next poll reports it.
                Err(error) => {
                    out.finish()?;
                    output::write_notice(
                        "note",
                        &safe_line(&format!("{id} cannot be shown: {error}")),
                    );
                    continue;
                }
            };
            match &self.ids {
                None => log::write_json(&entry, dialect, out)?,
                Some(ids) => {
                    self.write_turn(&entry, ids, out)?;
                    log::write(&entry, &tree, ids, &mut self.calls, out)?;
                }
            }
            self.before = Some(id.clone());
        }
        Ok(())
    }

    /// Writes the parent of an entry, if it is not the entry before it.
    fn write_turn(&self, entry: &Entry, ids: &ShortIds, out: &mut Output) -> Result<(), Failure> {
        let Some(before) = &self.before else { return Ok(()) };
        let turn = match entry.parent() {
            Some(parent) if parent == before => return Ok(()),
            Some(parent) => format!("↳ after {}", ids.show(parent.as_str())),
            None => "↳ from the start".to_owned(),
        };
        let turn = out.paint(Style::Dim, &turn);
        writeln!(out, "{turn}")?;
        Ok(())
    }
}
