//! `treering export --site`

use super::{Args, Failure};
use crate::clock;
use crate::output::{self, Output};
use crate::progress::Meter;
use crate::project_filter::ProjectFilter;
use crate::sessions;
use crate::stores::{self, StoreChoice};
use crate::text::{count, safe_line, shell_word};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Write};
use std::path::Path;
use treering::catalog::{Progress, SessionInfo};
use treering::store::ListQuery;
use treering::{OpenOptions, Session};
use treering_export::Site;
use treering_index::SessionIndex;

/// The maximum number of unreadable sessions that are named.
const MAX_NAMED: usize = 5;

/// Writes the selected sessions as a site in `dir`.
pub(super) fn write(
    args: &Args,
    dir: &Path,
    store: &StoreChoice,
    out: &mut Output,
) -> Result<(), Failure> {
    let now = clock::now();
    let project = args.project.as_deref().map(ProjectFilter::named).transpose()?;
    // An invalid pattern is an error before anything is written.
    let is_redacted = args.redaction.redactor()?.is_some();
    let is_wanted = |info: &SessionInfo| {
        args.agent.is_none_or(|agent| info.agent == agent)
            && args.since.is_none_or(|since| info.modified >= since.at(now))
            && project.as_ref().is_none_or(|project| project.has(&info.cwd))
    };
    let store = store.open()?;
    let found = match &store {
        Some(store) => {
            let query = project.as_ref().map_or_else(ListQuery::new, ProjectFilter::query);
            stores::list_all(store, &query)?
        }
        None => sessions::read(&SessionIndex::new(sessions::places())).sessions,
    };
    let wanted: Vec<SessionInfo> = found.into_iter().filter(is_wanted).collect();
    if wanted.is_empty() {
        let hint = "`treering ls --all` lists the sessions of this machine";
        return Err(Failure::with_hint("no sessions match: nothing was written", hint));
    }
    // Patterns may reveal what they should hide, so only their hash is stored.
    let mut hasher = DefaultHasher::new();
    format!("{:?}", args.redaction).hash(&mut hasher);
    let variant =
        if is_redacted { format!("redacted {:016x}", hasher.finish()) } else { String::new() };
    let site = Site::open(dir, variant).map_err(|error| unwritable(dir, &error))?;
    let open = |info: &SessionInfo| {
        // Every session has its own redactor, so that its page does not depend on the others.
        let redactor = args
            .redaction
            .redactor()
            .map_err(|_| treering::Error::Storage(io::Error::other("it cannot be redacted")))?;
        let session = match &store {
            Some(store) => Session::open_in(store, &info.id, OpenOptions::default())?,
            None => Session::open(&info.path)?,
        };
        match redactor {
            Some(redactor) => redactor.session(&session),
            None => Ok(session),
        }
    };
    let (meter, total) = (Meter::new(), wanted.len());
    let progress = |done| meter.show(Progress::new(done, total));
    let report = site.write(&wanted, open, progress).map_err(|error| match error {
        treering_export::Error::Session(error) => Failure::Library(error),
        error => Failure::message(format!("{}: {error}", dir.display())),
    });
    let report = report?;
    let pages = count(report.written, "page", "pages");
    let index = shell_word(&dir.join("index.html"));
    writeln!(
        out,
        "{index}: {pages} written, {} unchanged, {} removed",
        report.unchanged, report.removed
    )?;
    out.finish()?;
    for (path, why) in report.failed.iter().take(MAX_NAMED) {
        let what = format!("not exported: {}: {why}", path.display());
        output::write_notice("warning", &safe_line(&what));
    }
    if let Some(more) = report.failed.len().checked_sub(MAX_NAMED).filter(|more| *more > 0) {
        output::write_notice("warning", &format!("… and {more} more that cannot be read"));
    }
    Ok(())
}

fn unwritable(dir: &Path, error: &io::Error) -> Failure {
    let what = format!("{}: {error}", dir.display());
    match error.kind() {
        io::ErrorKind::DirectoryNotEmpty => {
            Failure::with_hint(what, "name a directory that does not exist yet, or an empty one")
        }
        io::ErrorKind::InvalidData => {
            Failure::with_hint(what, "delete the directory, and export again")
        }
        _ => Failure::message(what),
    }
}
