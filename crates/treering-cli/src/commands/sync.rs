//! `treering push`, `treering pull` and `treering sync`

use crate::error::Failure;
use crate::output::{self, Output, json_string};
use crate::poll_loop::{IdleTimeout, PollLoop, seconds};
use crate::progress::Meter;
use crate::redaction::Redaction;
use crate::sessions;
use crate::stores::{self, StoreChoice};
use crate::text::{count, safe_line, size};
use std::collections::HashMap;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use treering::storage::Journal;
use treering::store::{Changes, ListQuery, Mark, Page, Store};
use treering::{Error, SessionId};
use treering_client::sync::{Direction, Follower, Report, Syncer};
use treering_index::{LocalStore, SessionIndex};

/// Push sessions of this machine to a store
///
/// Only what the store lacks is sent, byte for byte; an interrupted push is continued. A session that
/// grew on both sides becomes branches of one session, or is reported as a conflict if its agent's files
/// cannot be merged. Nothing is overwritten.
#[derive(Debug, clap::Args)]
pub(crate) struct Push {
    /// The sessions: files, ids, names or positions such as `@latest`
    #[arg(value_name = "SESSION", required_unless_present = "all", conflicts_with = "all")]
    pub(crate) sessions: Vec<PathBuf>,
    /// All sessions of all agents on this machine
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    common: Common,
    #[command(flatten)]
    redaction: Redaction,
}

/// Pull sessions from a store to this machine
///
/// A session that is not on this machine becomes a file in treering's own directory. A session that is
/// on both sides gets the entries that are missing here, by the rules of `push`. Nothing is overwritten.
#[derive(Debug, clap::Args)]
pub(crate) struct Pull {
    /// The sessions: ids, names or positions in the store, or URLs such as https://HOST/s/ID
    #[arg(value_name = "SESSION", required_unless_present = "all", conflicts_with = "all")]
    sessions: Vec<String>,
    /// All sessions of the store
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    common: Common,
}

/// Push and pull all sessions of this machine and of a store
///
/// Afterwards both have all sessions. A session that was removed on one side since the last sync is not
/// created there again, and stays on the other side.
#[derive(Debug, clap::Args)]
pub(crate) struct Sync {
    /// Keep running and sync changes of either side; Ctrl-C ends
    #[arg(long)]
    watch: bool,
    /// The interval at which the store is asked for changes, in seconds
    #[arg(long, value_name = "SECS", default_value = "2", requires = "watch", value_parser = seconds, allow_negative_numbers = true)]
    interval: Duration,
    #[command(flatten)]
    idle: IdleTimeout,
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, clap::Args)]
struct Common {
    /// The file that holds the token for a server (also TREERING_TOKEN, and `token_file` in the
    /// configuration)
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// One JSON object: sessions, created, appended, merged, retitled, unchanged, sent and received
    /// (bytes), removed, older, conflicts, failed, left
    #[arg(long)]
    json: bool,
}

pub(crate) fn push(args: &Push, store: &StoreChoice, out: &mut Output) -> Result<(), Failure> {
    let remote = remote(store, &args.common)?;
    let (local, ids) = match args.all {
        true => (local(), Vec::new()),
        false => named(&args.sessions)?,
    };
    let mut syncer = Syncer::new(local, remote);
    // An invalid pattern is an error before anything is sent.
    if args.redaction.redactor()?.is_some() {
        let redaction = args.redaction.clone();
        syncer = syncer.with_filter(move |session| {
            let redactor = redaction.redactor().ok().flatten();
            let missing = || Error::InvalidOption("the redaction cannot be used".to_owned());
            redactor.ok_or_else(missing)?.session(session)
        });
    }
    let syncer = recorded(syncer);
    let report = run(&syncer, Direction::Push, args.all, &ids)?;
    write_report(&report, args.common.json, out)
}

pub(crate) fn pull(args: &Pull, store: &StoreChoice, out: &mut Output) -> Result<(), Failure> {
    let mut choice = store.clone();
    let mut ids = Vec::new();
    for text in &args.sessions {
        match stores::address(text).transpose()? {
            Some((of_address, id)) => {
                choice = of_address;
                ids.push(id);
            }
            None => {
                let remote = remote(&choice, &args.common)?;
                ids.push(sessions::find_in(&remote, text)?);
            }
        }
    }
    let syncer = recorded(Syncer::new(local(), remote(&choice, &args.common)?));
    let report = run(&syncer, Direction::Pull, args.all, &ids)?;
    write_report(&report, args.common.json, out)
}

pub(crate) fn sync(args: &Sync, store: &StoreChoice, out: &mut Output) -> Result<(), Failure> {
    if args.idle.is_given() && !args.watch {
        return Err(Failure::Usage {
            what: "--until-idle needs --watch".to_owned(),
            hint: "add `--watch`, or leave it out: a single sync ends by itself".to_owned(),
        });
    }
    let syncer = recorded(Syncer::new(local(), remote(store, &args.common)?));
    if !args.watch {
        let report = run(&syncer, Direction::Both, true, &[])?;
        return write_report(&report, args.common.json, out);
    }
    let interval = args.interval.max(Duration::from_millis(100));
    let mut poll = PollLoop::new(&args.idle)?;
    // Changes during the first run must not be missed.
    let mut follower = Follower::default();
    syncer.follow(&mut follower, Direction::Both, |_| {})?;
    let report = run(&syncer, Direction::Both, true, &[])?;
    let written = write_report(&report, args.common.json, out);
    out.finish()?;
    if !args.common.json {
        output::write_notice("note", "watching for changes; Ctrl-C ends");
    }
    let (mut last, mut is_reached) = (Instant::now(), true);
    while poll.wait() {
        if last.elapsed() < interval {
            continue;
        }
        last = Instant::now();
        match syncer.follow(&mut follower, Direction::Both, |_| {}) {
            Ok(report) => {
                is_reached = true;
                if has_news(&report) {
                    poll.mark_change();
                    // A conflict is reported and does not end the watch.
                    let _ = write_report(&report, args.common.json, out);
                    out.finish()?;
                }
            }
            Err(error) if error.is_retryable() => {
                if std::mem::take(&mut is_reached) {
                    output::write_notice("warning", &safe_line(&format!("{error}; trying again")));
                }
            }
            Err(error) => return Err(error.into()),
        }
    }
    written
}

/// Opens the chosen store.
fn remote(store: &StoreChoice, common: &Common) -> Result<Arc<dyn Store>, Failure> {
    store.open_with_token(common.token_file.as_deref())?.ok_or_else(|| Failure::Usage {
        what: "no store is chosen".to_owned(),
        hint: "give --store URL, or set TREERING_STORE or `url` in [store] of the configuration"
            .to_owned(),
    })
}

/// Returns the sessions of all agents on this machine.
fn local() -> Arc<dyn Store> {
    Arc::new(LocalStore::new(SessionIndex::new(sessions::places())))
}

/// Lets a syncer record what it did, beside the cache of the index.
fn recorded(syncer: Syncer) -> Syncer {
    let places = sessions::places();
    let directory = places.cache_file().and_then(Path::parent).map(|cache| cache.join("sync"));
    match directory {
        None => syncer,
        Some(directory) => syncer.with_record(&directory),
    }
}

fn run(
    syncer: &Syncer,
    direction: Direction,
    is_all: bool,
    ids: &[SessionId],
) -> Result<Report, Failure> {
    let meter = Meter::new();
    let progress = |progress: &treering_client::sync::Progress| {
        meter.show_sessions(progress.done, progress.total, progress.bytes);
    };
    let report = match is_all {
        true => syncer.all(direction, progress),
        false => syncer.sessions(ids, direction, progress),
    };
    Ok(report?)
}

/// Returns whether the report has changes.
fn has_news(report: &Report) -> bool {
    report.created + report.appended + report.retitled > 0
        || !report.conflicts.is_empty()
        || !report.failed.is_empty()
}

fn write_report(report: &Report, json: bool, out: &mut Output) -> Result<(), Failure> {
    match json {
        true => write_json(report, out)?,
        false => write(report, out)?,
    }
    match report.is_complete() {
        true => Ok(()),
        false => Err(Failure::Reported),
    }
}

fn write(report: &Report, out: &mut Output) -> Result<(), Failure> {
    let mut parts = Vec::new();
    let mut part = |number: usize, what: &str| {
        if number > 0 {
            parts.push(format!("{number} {what}"));
        }
    };
    part(report.created, "new");
    part(report.appended, "continued");
    part(report.merged, "merged");
    part(report.retitled, "renamed");
    part(report.unchanged, "unchanged");
    part(report.removed.len(), "removed");
    part(report.conflicts.len(), "in conflict");
    part(report.failed.len(), "failed");
    part(report.left, "left");
    let sessions = count(report.sessions, "session", "sessions");
    let parts = if parts.is_empty() { String::new() } else { format!(": {}", parts.join(", ")) };
    let sent = |what: &str, bytes: u64| match bytes {
        0 => String::new(),
        bytes => format!("; {what} {}", size(bytes)),
    };
    let (sent, received) = (sent("sent", report.sent), sent("received", report.received));
    writeln!(out, "{sessions}{parts}{sent}{received}")?;
    out.finish()?;
    for conflict in &report.conflicts {
        output::write_notice("conflict", &safe_line(&conflict.to_string()));
    }
    if !report.conflicts.is_empty() {
        let hint =
            "nothing was changed there; `treering fork` copies one of the two into a new session";
        output::write_notice("hint", hint);
    }
    for id in &report.older {
        let what = format!("{id}: the store has lines that would be redacted now");
        output::write_notice("warning", &safe_line(&what));
    }
    if !report.older.is_empty() {
        output::write_notice("hint", "remove it from the store and push it again");
    }
    for failed in &report.failed {
        output::write_notice("error", &safe_line(&format!("{}: {}", failed.id, failed.error)));
    }
    if !report.removed.is_empty() {
        let removed = count(report.removed.len(), "session was", "sessions were");
        let what =
            format!("{removed} removed on the other side; name a session to create it again");
        output::write_notice("note", &what);
    }
    Ok(())
}

fn write_json(report: &Report, out: &mut Output) -> Result<(), Failure> {
    let Report { sessions, created, appended, merged, retitled, unchanged, sent, received, .. } =
        report;
    write!(
        out,
        "{{\"sessions\":{sessions},\"created\":{created},\"appended\":{appended},\"merged\":{merged},\
         \"retitled\":{retitled},\"unchanged\":{unchanged},\"sent\":{sent},\"received\":{received}"
    )?;
    for (key, ids) in [("removed", &report.removed), ("older", &report.older)] {
        write!(out, ",\"{key}\":")?;
        let ids: Vec<&str> = ids.iter().map(SessionId::as_str).collect();
        output::json_strings(out, &ids)?;
    }
    let conflicts = report.conflicts.iter().map(|one| (&one.id, one.reason.to_string()));
    let failed = report.failed.iter().map(|one| (&one.id, one.error.to_string()));
    objects(out, "conflicts", "reason", conflicts)?;
    objects(out, "failed", "error", failed)?;
    writeln!(out, ",\"left\":{}}}", report.left)?;
    Ok(())
}

/// Writes a member with one object for each session.
fn objects<'a>(
    out: &mut Output,
    member: &str,
    key: &str,
    items: impl Iterator<Item = (&'a SessionId, String)>,
) -> Result<(), Failure> {
    write!(out, ",\"{member}\":[")?;
    for (number, (id, text)) in items.enumerate() {
        out.write_all(if number == 0 { b"{\"id\":" } else { b",{\"id\":" })?;
        json_string(out, id.as_str())?;
        write!(out, ",\"{key}\":")?;
        json_string(out, &text)?;
        out.write_all(b"}")?;
    }
    out.write_all(b"]")?;
    Ok(())
}

/// Returns some session files as a store, and their ids.
fn named(files: &[PathBuf]) -> Result<(Arc<dyn Store>, Vec<SessionId>), Failure> {
    let mut store = NamedFiles::default();
    let mut ids = Vec::new();
    for path in files {
        let info = treering::catalog::info(path)?;
        let id = SessionId::new(info.id.as_str()).map_err(Error::from)?;
        ids.push(id.clone());
        store.files.insert(id, path.clone());
    }
    Ok((Arc::new(store), ids))
}

/// The named files as a read-only store.
#[derive(Debug, Default)]
struct NamedFiles {
    files: HashMap<SessionId, PathBuf>,
}

impl NamedFiles {
    fn refused<T>() -> treering::Result<T> {
        Err(Error::InvalidOption("files that were named are only read".to_owned()))
    }
}

impl Store for NamedFiles {
    /// Returns another name than the store of all sessions has: a file outside the usual
    /// directories was not removed from there.
    fn location(&self) -> String {
        "named files".to_owned()
    }

    fn create(&self, _: &SessionId, _: &mut dyn Read) -> treering::Result<Arc<dyn Journal>> {
        NamedFiles::refused()
    }

    fn open(&self, id: &SessionId) -> treering::Result<Arc<dyn Journal>> {
        let path = self.files.get(id).ok_or_else(|| Error::UnknownSession(id.clone()))?;
        treering::storage::open_file(path)
    }

    fn list(&self, _: &ListQuery) -> treering::Result<Page> {
        NamedFiles::refused()
    }

    fn remove(&self, _: &SessionId) -> treering::Result<()> {
        NamedFiles::refused()
    }

    fn changes(&self, _: Option<&Mark>) -> treering::Result<Changes> {
        NamedFiles::refused()
    }
}
