//! A path as a session of its own.

use super::options::Creation;
use super::state::{Place, State};
use super::{Durability, Session};
use crate::catalog;
use crate::entry::{Kind, NewEntry, Role};
use crate::error::{Error, Result};
use crate::header::Header;
use crate::id::{EntryId, IdMaker, SessionId};
use crate::json;
use crate::load::Loaded;
use crate::log::{Journal, MemoryJournal, create_private, create_private_dir};
use crate::snapshot::{Bodies, Snapshot};
use crate::tree::NONE;
use std::collections::HashMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Choices for a fork. All have defaults.
#[derive(Debug, Clone, Default)]
pub struct ForkOptions {
    /// The new session's directory; that of the source if `None`.
    pub dir: Option<PathBuf>,
    /// The new session's project; that of the source if `None`.
    pub cwd: Option<PathBuf>,
    /// The new session's id; a UUID if `None`.
    pub id: Option<SessionId>,
    /// When the new session's file is created, if the path holds no message yet.
    pub creation: Creation,
    /// What appends to the new session promise.
    pub durability: Durability,
}

impl Session {
    /// Makes the path to `leaf` a session of its own: labels and their times included, parents
    /// chained over what is left out. A fork without any conversation gets its file with its first
    /// message; a fork of a session in memory stays in memory.
    ///
    /// ```
    /// use treering::{ForkOptions, Message, Session};
    /// # let dir = tempfile::tempdir()?;
    /// let session = Session::create_at(dir.path().join("a.jsonl"), "/project", Default::default())?;
    /// let hello = session.append(Message::user("hello"))?;
    /// session.append(Message::assistant("acme", "m", "hi"))?;
    /// let fork = session.fork(hello.as_str(), ForkOptions::default())?;
    /// assert_eq!(fork.context()?.messages.len(), 1);
    /// assert_eq!(fork.header().parent_session, Some(session.path().unwrap().display().to_string()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn fork(&self, leaf: &str, options: ForkOptions) -> Result<Session> {
        let (view, source) = {
            let state = self.state();
            (state.view(), state.path().map(Path::to_owned))
        };
        let leaf = view.tree().find_row(leaf)?;
        let path = view.tree().path_rows(leaf);
        let id = options.id.unwrap_or_else(SessionId::generate);
        let cwd = options.cwd.unwrap_or_else(|| self.cwd().into());
        let parent = source.as_deref().map(|path| absolute(path).to_string_lossy().into_owned());
        let header = Header::new(&id, &cwd, parent.as_deref());

        let spoken =
            |row: &u32| matches!(view.tree().node(*row).role(), Some(Role::User | Role::Assistant));
        let directory =
            options.dir.or_else(|| source.and_then(|path| path.parent().map(Into::into)));
        match directory {
            Some(directory) if options.creation == Creation::AtOnce || path.iter().any(spoken) => {
                let target = directory.join(catalog::file_name(&header));
                write_whole(&target, |out| write_path(&view, &path, &header, out))?;
                let options =
                    super::SessionOptions { durability: options.durability, ..Default::default() };
                Session::open_with(target, options)
            }
            directory => {
                let mut bytes = Vec::new();
                write_path(&view, &path, &header, &mut bytes).map_err(Error::Storage)?;
                let memory = Arc::new(MemoryJournal::new(bytes));
                let loaded = Loaded::read(&*memory).map_err(|error| error.at(None))?;
                let place = match directory {
                    None => Place::Elsewhere,
                    Some(directory) => Place::Pending {
                        path: directory.join(catalog::file_name(&header)),
                        creation: options.creation,
                        memory: Arc::clone(&memory),
                    },
                };
                let state = State::with_header(place, memory as Arc<dyn Journal>, loaded, header)?;
                Ok(Session::new(state, options.durability))
            }
        }
    }
}

/// Writes a file that appears complete or not at all, and must not exist.
pub(crate) fn write_whole(
    target: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<()> {
    if let Some(directory) = target.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        create_private_dir(directory)?;
    }
    if target.exists() {
        return Err(Error::AlreadyExists(target.to_owned()));
    }
    let mut name = target.file_name().unwrap_or_default().to_owned();
    name.push(".tmp");
    let temporary = target.with_file_name(name);
    let _ = std::fs::remove_file(&temporary);
    let written = (|| {
        let mut out = io::BufWriter::with_capacity(1 << 20, create_private(&temporary)?);
        write(&mut out)?;
        out.into_inner().map_err(io::IntoInnerError::into_error)?.sync_data()?;
        std::fs::rename(&temporary, target)
    })();
    if written.is_err() {
        let _ = std::fs::remove_file(&temporary);
    }
    written.map_err(Error::io(target, "write"))
}

/// The path without its labels, re-chained, then the labels that are in force on it.
fn write_path(
    view: &Snapshot,
    path: &[u32],
    header: &Header,
    out: &mut dyn Write,
) -> io::Result<()> {
    out.write_all(header.raw())?;
    out.write_all(b"\n")?;
    let tree = view.tree();
    let kept: Vec<u32> =
        path.iter().copied().filter(|&row| tree.node(row).kind() != Kind::Label).collect();
    let moved = replacements(view, path);
    let mut bodies = Bodies::default();
    let mut parent = NONE;
    for &row in &kept {
        let unchanged =
            tree.node(row).parent == parent && tree.node(row).kind() != Kind::Compaction;
        let body = bodies.any(view, row).map_err(io::Error::other)?;
        match body {
            Some(body) if unchanged => out.write_all(&body)?,
            Some(body) => out.write_all(&rechained(view, &body, row, parent, &moved))?,
            // Known to be damaged, but its head can be read: it keeps its place.
            None => out.write_all(&rechained(view, &view.bytes(row)?, row, parent, &moved))?,
        }
        out.write_all(b"\n")?;
        parent = row;
    }
    write_labels(view, &kept, out)
}

/// Which entry takes the place of each label that is left out: the next one on the path.
fn replacements(view: &Snapshot, path: &[u32]) -> HashMap<String, EntryId> {
    let tree = view.tree();
    let mut moved = HashMap::new();
    let mut next = None;
    for &row in path.iter().rev() {
        match tree.node(row).kind() {
            Kind::Label => {
                if let Some(next) = next {
                    moved.insert(tree.id_text(row).to_owned(), tree.id(next));
                }
            }
            _ => next = Some(row),
        }
    }
    moved
}

fn rechained(
    view: &Snapshot,
    body: &[u8],
    row: u32,
    parent: u32,
    moved: &HashMap<String, EntryId>,
) -> Vec<u8> {
    let tree = view.tree();
    let parent_id = match parent {
        NONE => b"null".to_vec(),
        parent => tree.id_literal(parent),
    };
    let mut entry = match tree.node(row).parent == parent {
        true => body.to_vec(),
        false => json::with_member(body, "parentId", &parent_id),
    };
    let first_kept = json::get(&entry, "firstKeptEntryId").and_then(json::string);
    if tree.node(row).kind() == Kind::Compaction
        && let Some(moved) = first_kept.and_then(|id| moved.get(&*id))
    {
        entry = json::with_member(&entry, "firstKeptEntryId", &json::quoted(moved.as_str()));
    }
    entry
}

/// Fresh label entries, chained to the end, with the times the labels were set.
fn write_labels(view: &Snapshot, kept: &[u32], out: &mut dyn Write) -> io::Result<()> {
    let tree = view.tree();
    let label = |&row: &u32| tree.label_literal(row).map(|(text, label)| (label, row, text));
    let mut set: Vec<_> = kept.iter().filter_map(label).collect();
    set.sort_unstable();
    let mut ids = IdMaker::new();
    let mut written: Vec<EntryId> = Vec::new();
    let mut line = Vec::new();
    for (label, target, text) in set {
        let id = ids.make(|id| tree.contains(id) || written.iter().any(|other| other == id));
        let parent = match (written.last(), kept.last()) {
            (Some(label), _) => json::quoted(label.as_str()),
            (None, Some(&last)) => tree.id_literal(last),
            (None, None) => b"null".to_vec(),
        };
        let stamp = json::get(&view.bytes(label)?, "timestamp").unwrap_or(b"null").to_vec();
        line.clear();
        let entry = NewEntry::label(&tree.id(target), None).with("label", text);
        entry.map_err(io::Error::other)?.write_line(&mut line, id.as_str(), &parent, &stamp);
        out.write_all(&line)?;
        written.push(id);
    }
    Ok(())
}

/// The path with the current directory in front, if it is relative.
pub(crate) fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}
