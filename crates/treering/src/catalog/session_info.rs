//! Describes a session for lists: what a list shows of it, read in one pass.

use crate::dialect::{self, Dialect};
use crate::entry::{Kind, Role};
use crate::error::{Error, Result};
use crate::header::Header;
use crate::id::SessionId;
use crate::json;
use crate::load::Loaded;
use crate::log::{InMemoryFile, Joined, Journal, Listed};
use crate::session::Session;
use crate::snapshot::Snapshot;
use crate::title;
use crate::tree::{Node, Row};
use crate::usage::{self, EventSeed, SessionEvents};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

/// A session in a list.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SessionInfo {
    /// The path of the session's file.
    pub path: PathBuf,
    /// The dialect of the session.
    pub agent: Dialect,
    /// The id of the session.
    pub id: SessionId,
    /// The project directory that the session belongs to.
    pub cwd: String,
    /// The name of the session, if it has one.
    pub name: Option<String>,
    /// The path or the id of the session that this one was forked from.
    pub parent_session: Option<String>,
    /// The time at which the session was created, in Unix milliseconds.
    pub created: Option<i64>,
    /// The time of the last message, in Unix milliseconds.
    pub modified: i64,
    /// The number of messages, on all branches.
    pub message_count: usize,
    /// The number of entries, on all branches.
    pub entry_count: usize,
    /// Number of branches: those for which [`Branch::is_counted`](crate::usage::Branch::is_counted)
    /// holds.
    pub branch_count: usize,
    /// Number of times that older context was replaced by a summary.
    pub compaction_count: usize,
    /// Number of tokens that the session used, each event counted once, as in [`Session::stats`];
    /// `None` if the file does not state them.
    pub tokens: Option<u64>,
    /// Cost in dollars, as far as the file states it.
    pub cost: Option<f64>,
    /// The number of findings made while reading the file; [`examine`](crate::doctor::examine) may
    /// find more.
    pub finding_count: usize,
    /// The text of the first user message; empty if there is none. Texts that the agent put into
    /// user messages count only if there is no other text.
    pub first_message: String,
    /// The size of the file in bytes, including the files of its subagents; the compressed size if
    /// `is_partial`.
    pub size: u64,
    /// Whether this is an archive of which only the first 8 MiB were read. The numbers of messages,
    /// entries, branches and findings are then too low, and tokens and cost are unknown.
    pub is_partial: bool,
}

impl SessionInfo {
    /// Returns the title of the session, as [`Session::title`] does.
    pub fn title(&self) -> &str {
        let name = self.name.as_deref().filter(|name| !name.trim().is_empty());
        name.unwrap_or(&self.first_message)
    }
}

/// Returns the `SessionInfo` of the session at `path`.
pub fn info(path: &Path) -> Result<SessionInfo> {
    info_with_usage(path, EventSeed::random()).map(|(info, _)| info)
}

/// Returns the `SessionInfo` of the session at `path`, and its usage events. An archive of which
/// only a part was read has no events.
pub fn info_with_usage(path: &Path, seed: EventSeed) -> Result<(SessionInfo, SessionEvents)> {
    let (loaded, Listed { journal, cut }) = read_listed(path)?;
    match cut {
        Some(size) => Ok((partial_info(path, &loaded, &journal, size)?, SessionEvents::default())),
        None => priced(path, &loaded, &journal, seed),
    }
}

pub(super) fn info_without_usage(path: &Path) -> Result<(SessionInfo, Option<i64>)> {
    let (loaded, Listed { journal, cut }) = read_listed(path)?;
    if let Some(size) = cut {
        return Ok((partial_info(path, &loaded, &journal, size)?, None));
    }
    let (info, view) = describe_loaded(path, &loaded, &journal)?;
    Ok((info, last_message_time(&view)?))
}

/// Returns the timestamp inside the last user or assistant message.
fn last_message_time(view: &Snapshot) -> Result<Option<i64>> {
    let tree = view.tree();
    let is_message = |row: &Row| {
        let node = tree.node(*row);
        matches!(node.role(), Some(Role::User | Role::Assistant)) && !node.has(Node::DAMAGED)
    };
    let Some(row) = tree.live().rev().find(is_message) else { return Ok(None) };
    let record = view.bytes(row).map_err(Error::Storage)?;
    let time = json::get(&record, "message").and_then(|message| json::get(message, "timestamp"));
    Ok(time.and_then(|time| std::str::from_utf8(time).ok()?.parse().ok()))
}

fn read_listed(path: &Path) -> Result<(Loaded, Listed)> {
    let mut listed = open_for_list(path)?;
    let mut loaded = Loaded::read(&*listed.journal).map_err(|error| error.at(Some(path)))?;
    let subagents = loaded.facts().subagents_of(path);
    if !subagents.is_empty() {
        listed.journal = Arc::new(Joined::open(path, &subagents)?);
        loaded = Loaded::read(&*listed.journal).map_err(|error| error.at(Some(path)))?;
    }
    let loaded = loaded.at(path);
    if loaded.facts().leaves_empty_files
        && title::is_unused(&Snapshot::new(&loaded, Arc::clone(&listed.journal), false))?
    {
        let reason = "nothing was said in it".to_owned();
        return Err(Error::NotASession { path: path.to_owned(), reason });
    }
    Ok((loaded, listed))
}

/// Describes an archive of this size of which only a part was read. Its time is that of the
/// original session.
fn partial_info(
    path: &Path,
    loaded: &Loaded,
    journal: &Arc<dyn Journal>,
    size: u64,
) -> Result<SessionInfo> {
    let info = describe_loaded(path, loaded, journal)?.0;
    Ok(SessionInfo { modified: file_time(path), size, is_partial: true, ..info })
}

/// Opens a session file, or a session in a database, to read it once.
pub(super) fn open_for_list(path: &Path) -> Result<Listed> {
    match dialect::is_stored(path) {
        true => Ok(Listed { journal: Arc::new(dialect::stored::open(path)?), cut: None }),
        false => InMemoryFile::open(path),
    }
}

/// Returns the `SessionInfo` of the session in a journal. Its path is empty.
///
/// ```
/// use std::sync::Arc;
/// use treering::storage::MemoryJournal;
/// use treering::{CreateOptions, Message, Session};
/// let journal = Arc::new(MemoryJournal::default());
/// let session = Session::in_journal(journal.clone(), "/project", CreateOptions::new())?;
/// session.append(Message::user("hello"))?;
/// assert_eq!(treering::catalog::info_of(journal)?.first_message, "hello");
/// # Ok::<(), treering::Error>(())
/// ```
pub fn info_of(journal: Arc<dyn Journal>) -> Result<SessionInfo> {
    let loaded = Loaded::read(&*journal).map_err(|error| error.at(None))?;
    priced(Path::new(""), &loaded, &journal, EventSeed::random()).map(|(info, _)| info)
}

/// Describes a session that was read, including its tokens and cost, and returns its usage events.
fn priced(
    path: &Path,
    loaded: &Loaded,
    journal: &Arc<dyn Journal>,
    seed: EventSeed,
) -> Result<(SessionInfo, SessionEvents)> {
    let (info, view) = describe_loaded(path, loaded, journal)?;
    let events = usage::of_session(&view, seed)?;
    let usage = events.usage();
    let info = SessionInfo {
        tokens: (usage.requests > 0).then(|| usage.total()),
        cost: (usage.requests > usage.unpriced).then(|| usage.cost.dollars()),
        ..info
    };
    Ok((info, events))
}

fn describe_loaded(
    path: &Path,
    loaded: &Loaded,
    journal: &Arc<dyn Journal>,
) -> Result<(SessionInfo, Snapshot)> {
    let Some(header) = &loaded.header else {
        let reason = "it is empty".to_owned();
        return Err(Error::NotASession { path: path.to_owned(), reason });
    };
    let view = Snapshot::new(loaded, Arc::clone(journal), false);
    let (leaf, found) = (view.tree().file_leaf_row(), loaded.finding_count());
    let info = describe(path, loaded.dialect, header, &view, leaf, (loaded.seen, found))?;
    Ok((info, view))
}

impl SessionInfo {
    /// Creates the description of a session that was not read: everything else is empty or zero.
    pub fn new(path: impl Into<PathBuf>, agent: Dialect, id: SessionId) -> Self {
        SessionInfo {
            path: path.into(),
            agent,
            id,
            cwd: String::new(),
            name: None,
            parent_session: None,
            created: None,
            modified: 0,
            message_count: 0,
            entry_count: 0,
            branch_count: 0,
            compaction_count: 0,
            tokens: None,
            cost: None,
            finding_count: 0,
            first_message: String::new(),
            size: 0,
            is_partial: false,
        }
    }
}

impl Session {
    /// Returns the `SessionInfo` of this session, without its tokens and cost: see
    /// [`stats`](Session::stats).
    ///
    /// ```
    /// use treering::{Message, Session};
    /// let session = Session::in_memory("/project");
    /// session.append(Message::user("hello"))?;
    /// assert_eq!(session.info()?.first_message, "hello");
    /// # Ok::<(), treering::Error>(())
    /// ```
    pub fn info(&self) -> Result<SessionInfo> {
        let (view, path, dialect, header) =
            (self.view(), self.path().unwrap_or_default(), self.dialect(), self.header());
        let size = view.size().map_err(Error::Storage)?;
        let findings = self.findings()?.len();
        let leaf = self.leaf().and_then(|leaf| view.tree().row(leaf.as_str()));
        describe(&path, dialect, &header, &view, leaf, (size, findings))
    }
}

fn describe(
    path: &Path,
    agent: Dialect,
    header: &Header,
    view: &Snapshot,
    leaf: Option<Row>,
    (size, findings): (u64, usize),
) -> Result<SessionInfo> {
    let tree = view.tree();
    let (mut message_count, mut compaction_count, mut last) = (0, 0, None);
    for row in tree.live() {
        let node = tree.node(row);
        compaction_count += usize::from(node.is_compaction());
        message_count += usize::from(node.kind() == Kind::Message);
        if matches!(node.role(), Some(Role::User | Role::Assistant)) {
            last = last.max(node.time());
        }
    }
    let modified = last.or_else(|| header.created()).unwrap_or_else(|| file_time(path));
    Ok(SessionInfo {
        cwd: header.cwd.clone(),
        name: tree.name().map(str::to_owned),
        parent_session: header.parent_session.clone(),
        created: header.created(),
        modified,
        message_count,
        entry_count: tree.len(),
        branch_count: usage::branch_count(tree, leaf),
        compaction_count,
        finding_count: findings,
        first_message: title::first_message(view)?,
        size,
        ..SessionInfo::new(path, agent, header.id.clone())
    })
}

/// Returns the file's modification time, in Unix milliseconds.
fn file_time(path: &Path) -> i64 {
    let modified = path.metadata().and_then(|metadata| metadata.modified()).ok();
    let since = modified.and_then(|time| time.duration_since(SystemTime::UNIX_EPOCH).ok());
    since.and_then(|since| i64::try_from(since.as_millis()).ok()).unwrap_or(0)
}
