//! `treering watch`
//!
//! Only the size and the title of a session are kept, and of appended bytes only the line ends are
//! counted. The cost therefore does not depend on the size of sessions, or on how many are being
//! written.

use crate::clock;
use crate::error::Failure;
use crate::output::{self, Output, Style, json_string, json_string_or_null};
use crate::poll_loop::{IdleTimeout, PollLoop};
use crate::sessions;
use crate::stores::{self, StoreChoice};
use crate::text::{columns, count, excerpt, fit, pad, safe_line, safe_path, time};
use std::collections::HashMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use treering::catalog::SessionInfo;
use treering::internal::fs::Access;
use treering::store::{ListQuery, Store};
use treering_index::{Event, FileChange, Project, SessionIndex, Watch};

/// Report sessions as they are created and written to
///
/// Prints one line for each change of a session of this project, of any agent. Ctrl-C ends the command.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Sessions of all projects
    #[arg(long)]
    all: bool,
    /// Report the sessions of all projects in this directory, instead of where agents keep their
    /// sessions; may be repeated
    #[arg(long, short, value_name = "DIR")]
    dir: Vec<PathBuf>,
    #[command(flatten)]
    idle: IdleTimeout,
    /// One JSON object per line: time, event (new, grown, shrunk, replaced, gone), path, agent, id, cwd,
    /// title, size, lines
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args, store: &StoreChoice, out: &mut Output) -> Result<(), Failure> {
    let mut poll = PollLoop::new(&args.idle)?;
    if let Some(store) = store.open_unless(!args.dir.is_empty())? {
        return watch_store(args, &store, &mut poll, out);
    }
    // A directory that is created later is watched as well.
    for dir in &args.dir {
        match std::fs::read_dir(dir) {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                output::write_notice("note", &format!("{} does not exist yet", safe_path(dir)));
            }
            Err(error) => return Err(Failure::io("read", dir, &error)),
        }
    }
    let places = match args.dir.is_empty() {
        true => sessions::places(),
        false => sessions::places().only(args.dir.iter().cloned()),
    };
    let project = (!args.all && args.dir.is_empty()).then(|| sessions::project(&places));
    // Changes during the first read must not be missed.
    let mut watch = Watch::new(places.clone());
    let contents = sessions::read(&SessionIndex::new(places));
    let mut watched = WatchOutput { project, json: args.json, titles: HashMap::new() };
    for session in &contents.sessions {
        watched.titles.insert(session.path.clone(), WatchedSession::of(session));
    }
    watched.greet();
    while poll.wait() {
        for event in watch.poll() {
            if watched.report(&event, out)? {
                poll.mark_change();
            }
        }
        out.finish()?;
    }
    Ok(())
}

/// Reports the changes of the sessions of a store.
fn watch_store(
    args: &Args,
    store: &Arc<dyn Store>,
    poll: &mut PollLoop,
    out: &mut Output,
) -> Result<(), Failure> {
    let project = (!args.all).then(|| sessions::project(&sessions::places()));
    // Changes during the first read must not be missed.
    let mut mark = store.changes(None)?.mark;
    let mut watched = WatchOutput { project, json: args.json, titles: HashMap::new() };
    let mut lengths = HashMap::new();
    for session in stores::list_all(store, &ListQuery::new())? {
        watched.titles.insert(PathBuf::from(session.id.to_string()), WatchedSession::of(&session));
        lengths.insert(session.id.to_string(), session.size);
    }
    watched.greet();
    while poll.wait() {
        if !store.has_news() {
            continue;
        }
        let changes = match store.changes(Some(&mark)) {
            Ok(changes) => changes,
            Err(error) if error.is_retryable() => {
                output::write_notice(
                    "note",
                    &format!("{}; trying again", safe_line(&error.to_string())),
                );
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        mark = changes.mark;
        for changed in changes.sessions {
            let (id, before) = (changed.id.to_string(), lengths.get(changed.id.as_str()).copied());
            let change = match (before, changed.length) {
                (None, Some(_)) => FileChange::New,
                (Some(from), Some(to)) if to > from => FileChange::Grown { from, to },
                (Some(from), Some(to)) if to < from => FileChange::Shrunk { from, to },
                (Some(_), None) => FileChange::Gone,
                _ => continue,
            };
            match changed.length {
                Some(length) => lengths.insert(id.clone(), length),
                None => lengths.remove(&id),
            };
            let path = PathBuf::from(id);
            let journal = store.open(&changed.id).ok();
            let is_unnamed = watched.titles.get(&path).is_none_or(|title| title.text.is_empty());
            if is_unnamed && let Some(journal) = &journal {
                let info = treering::catalog::info_of(Arc::clone(journal));
                watched
                    .titles
                    .extend(info.ok().map(|info| (path.clone(), WatchedSession::of(&info))));
            }
            let Some(title) = watched.titles.get(&path).filter(|title| watched.has(title)) else {
                continue;
            };
            let lines = match (change, &journal) {
                (FileChange::Grown { from, to }, Some(journal)) => {
                    line_ends(from, to, |offset, buffer| journal.read_at(offset, buffer)).ok()
                }
                _ => None,
            };
            let line = ChangeLine {
                path: &path,
                title,
                change,
                now: clock::now(),
                lines,
                size: changed.length,
            };
            watched.write(&line, out)?;
            poll.mark_change();
        }
        out.finish()?;
    }
    Ok(())
}

/// The maximum size of a session without a name or message that is read again when it grows, in
/// bytes.
const MAX_READ_AGAIN: u64 = 1 << 20;

/// The remembered state of a session.
#[derive(Debug, Clone)]
struct WatchedSession {
    agent: &'static str,
    id: String,
    cwd: String,
    text: String,
}

impl WatchedSession {
    fn of(info: &SessionInfo) -> Self {
        let text = info.title();
        WatchedSession {
            agent: info.agent.name(),
            id: info.id.to_string(),
            cwd: info.cwd.clone(),
            text: excerpt(text, 60),
        }
    }
}

struct WatchOutput {
    /// The project whose sessions are reported; `None` for all.
    project: Option<Project>,
    titles: HashMap<PathBuf, WatchedSession>,
    json: bool,
}

impl WatchOutput {
    fn has(&self, title: &WatchedSession) -> bool {
        self.project.as_ref().is_none_or(|project| project.has(&title.cwd))
    }

    fn greet(&self) {
        let number = self.titles.values().filter(|title| self.has(title)).count();
        let of = self.project.as_ref().map(|project| project.root().to_string_lossy());
        let of = of.map(|root| format!(" of {}", safe_line(&root))).unwrap_or_default();
        let sessions = count(number, "session", "sessions");
        output::write_notice("note", &format!("watching {sessions}{of}; Ctrl-C ends"));
    }

    /// Reports an event, if it is about a session of the project.
    fn report(&mut self, event: &Event, out: &mut Output) -> Result<bool, Failure> {
        let path = &event.path;
        let known = match event.change {
            FileChange::Gone => self.titles.remove(path),
            FileChange::Grown { .. } | FileChange::Shrunk { .. } => self.titles.get(path).cloned(),
            FileChange::New | FileChange::Replaced => None,
        };
        // A file becomes a session with its first lines, and gets its title with later ones.
        let is_small = path.metadata().is_ok_and(|metadata| metadata.len() < MAX_READ_AGAIN);
        let is_unnamed = match &known {
            Some(title) => title.text.is_empty() && is_small,
            None => true,
        };
        let fresh = match event.change {
            FileChange::Gone => None,
            _ if !is_unnamed => None,
            _ => treering::catalog::info(path).ok().map(|info| WatchedSession::of(&info)),
        };
        let was_known = self.titles.contains_key(path) || event.change == FileChange::Gone;
        if let Some(title) = &fresh {
            self.titles.insert(path.clone(), title.clone());
        }
        let Some(title) = fresh.or(known).filter(|title| self.has(title)) else {
            return Ok(false);
        };
        let change = if was_known { event.change } else { FileChange::New };
        let lines = match change {
            FileChange::Grown { from, to } => lines_of_file(path, from, to).ok(),
            _ => None,
        };
        let size = std::fs::metadata(path).ok().map(|metadata| metadata.len());
        let line = ChangeLine { path, title: &title, change, now: clock::now(), lines, size };
        self.write(&line, out)?;
        Ok(true)
    }

    fn write(&self, line: &ChangeLine<'_>, out: &mut Output) -> Result<(), Failure> {
        match self.json {
            true => line.write_json(out),
            false => line.write(out),
        }
    }
}

/// One event of one session.
struct ChangeLine<'a> {
    path: &'a Path,
    title: &'a WatchedSession,
    change: FileChange,
    now: i64,
    /// The number of lines that were added.
    lines: Option<u64>,
    size: Option<u64>,
}

impl ChangeLine<'_> {
    fn name(&self) -> &'static str {
        match self.change {
            FileChange::New => "new",
            FileChange::Grown { .. } => "grown",
            FileChange::Shrunk { .. } => "shrunk",
            FileChange::Replaced => "replaced",
            FileChange::Gone => "gone",
        }
    }

    fn write(&self, out: &mut Output) -> Result<(), Failure> {
        let when = out.paint(Style::Dim, &time(Some(self.now)));
        let what = match self.lines {
            Some(1) => "+1 line".to_owned(),
            Some(lines) => format!("+{lines} lines"),
            None => self.name().to_owned(),
        };
        let style = match self.change {
            FileChange::New => Style::Leaf,
            FileChange::Grown { .. } => Style::Assistant,
            _ => Style::Bad,
        };
        let what = out.paint(style, &pad(&what, 10));
        let id: String = self.title.id.chars().take(8).collect();
        let id = safe_line(&id);
        let agent = pad(self.title.agent, 11);
        let used = 20 + 2 + 10 + 2 + 11 + 2 + columns(&id) + 2;
        let text = fit(&self.title.text, out.width().saturating_sub(used).max(20));
        let id = out.paint(Style::Id, &id);
        let line = format!("{when}  {what}  {agent}  {id}  {text}");
        writeln!(out, "{}", line.trim_end())?;
        Ok(())
    }

    fn write_json(&self, out: &mut Output) -> Result<(), Failure> {
        let time = treering::time::format(self.now);
        out.write_all(b"{\"path\":")?;
        out.json_path(self.path)?;
        let fields = [
            (",\"time\":", &*time),
            (",\"event\":", self.name()),
            (",\"agent\":", self.title.agent),
            (",\"id\":", &self.title.id),
            (",\"cwd\":", &self.title.cwd),
        ];
        for (key, value) in fields {
            out.write_all(key.as_bytes())?;
            json_string(out, value)?;
        }
        let title = Some(&*self.title.text).filter(|text| !text.is_empty());
        out.write_all(b",\"title\":")?;
        json_string_or_null(out, title)?;
        let number = |number: Option<u64>| number.map_or("null".to_owned(), |n| n.to_string());
        writeln!(out, ",\"size\":{},\"lines\":{}}}", number(self.size), number(self.lines))?;
        Ok(())
    }
}

/// Returns the number of lines that end between two offsets of a file.
fn lines_of_file(path: &Path, from: u64, to: u64) -> io::Result<u64> {
    let file = treering::internal::fs::open(path, Access::Read)?;
    line_ends(from, to, |offset, buffer| file.read_at(offset, buffer))
}

/// Returns the number of lines that end between two offsets.
fn line_ends(
    mut from: u64,
    to: u64,
    read_at: impl Fn(u64, &mut [u8]) -> io::Result<usize>,
) -> io::Result<u64> {
    let mut buffer = vec![0; 64 * 1024];
    let mut lines = 0;
    while from < to {
        let rest = usize::try_from(to - from).map_or(buffer.len(), |rest| rest.min(buffer.len()));
        let read = match read_at(from, &mut buffer[..rest]) {
            Ok(0) => break,
            Ok(length) => buffer.get(..length).unwrap_or_default(),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        lines += read.iter().filter(|byte| **byte == b'\n').count() as u64;
        from += read.len() as u64;
    }
    Ok(lines)
}
