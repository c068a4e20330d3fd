//! A path as a session of its own.

use super::options::Creation;
use super::state::{Place, State};
use super::{Durability, Session};
use crate::catalog;
use crate::convert;
use crate::dialect::omp::title;
use crate::dialect::{About, Dialect, Stamp};
use crate::entry::{Kind, NewEntry, Role};
use crate::error::{Error, Result};
use crate::fs::{self, NewFile};
use crate::header::Header;
use crate::id::{EntryId, IdMaker, SessionId};
use crate::json;
use crate::load::Loaded;
use crate::log::{Journal, MemoryJournal};
use crate::snapshot::{Bodies, Snapshot};
use crate::tree::NONE;
use std::borrow::Cow;
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
        let (view, source, header_row) = {
            let state = self.state();
            (state.view(), state.path().map(Path::to_owned), state.loaded.header_row())
        };
        let leaf = view.tree().find_row(leaf)?;
        let path = view.tree().path_rows(leaf);
        let id = options.id.unwrap_or_else(SessionId::generate);
        let cwd = options.cwd.unwrap_or_else(|| self.cwd().into());
        let parent = source.as_deref().map(|path| absolute(path).to_string_lossy().into_owned());
        let header = Header::new(&id, &cwd, parent.as_deref());
        let fork = Fork {
            // What treering never writes becomes a session of its own format.
            dialect: if self.dialect().is_writable() { self.dialect() } else { Dialect::Pi },
            is_copy: self.dialect().is_writable(),
            name: self.name(),
            header: &header,
            header_row,
        };

        let spoken =
            |row: &u32| matches!(view.tree().node(*row).role(), Some(Role::User | Role::Assistant));
        let directory =
            options.dir.or_else(|| source.and_then(|path| path.parent().map(Into::into)));
        match directory {
            Some(directory) if options.creation == Creation::AtOnce || path.iter().any(spoken) => {
                let target = directory.join(catalog::file_name(&header));
                write_whole(&target, |out| fork.write(&view, &path, out))?;
                let (creation, durability) = (options.creation, options.durability);
                let options = super::SessionOptions { creation, durability, ..Default::default() };
                Session::open_with(target, options)
            }
            directory => {
                let mut bytes = Vec::new();
                fork.write(&view, &path, &mut bytes).map_err(Error::Storage)?;
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
                Ok(Session::new(state, options.creation, options.durability))
            }
        }
    }
}

/// Writes a file that appears complete or not at all, and must not exist.
pub(crate) fn write_whole(
    target: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<()> {
    if fs::exists(target) {
        return Err(Error::AlreadyExists(target.to_owned()));
    }
    let written = NewFile::beside(target).and_then(|new| filled(new, write)?.publish());
    written.map(drop).map_err(Error::creating(target, "write"))
}

/// Fills a new file through a buffer.
pub(crate) fn filled(
    new: NewFile,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<NewFile> {
    let mut out = io::BufWriter::with_capacity(1 << 20, new);
    write(&mut out)?;
    out.into_inner().map_err(io::IntoInnerError::into_error)
}

/// A session to be made of a path.
pub(super) struct Fork<'a> {
    pub dialect: Dialect,
    /// Whether records are copied, because the source is of the same dialect.
    pub is_copy: bool,
    pub name: Option<String>,
    pub header: &'a Header,
    /// The row of the source's header, if that is a node.
    pub header_row: Option<u32>,
}

impl Fork<'_> {
    /// The path without its labels, re-chained, then the labels that are in force on it.
    pub(super) fn write(
        &self,
        view: &Snapshot,
        path: &[u32],
        out: &mut dyn Write,
    ) -> io::Result<()> {
        if !self.is_copy {
            return convert::write_path(view, path, self.header, out).map_err(io::Error::other);
        }
        let codec = self.dialect.codec();
        let Header { id, cwd, parent_session, .. } = self.header;
        let created = self.header.created().unwrap_or_else(crate::time::now);
        let about = About { id, cwd, parent_session: parent_session.as_deref(), created };
        let mut start = self.dialect.start(&about).map_err(io::Error::other)?;
        // What the path says about the name comes along; omp looks for it in the slot only.
        let own = self.name.as_deref();
        let name = view.tree().name_given_by(path).unwrap_or(own);
        if let (Dialect::Omp, Some(name)) = (self.dialect, name) {
            let slot = title::slot(name, Some("user"), &crate::time::format(created));
            start.splice(..slot.len().min(start.len()), slot);
        }
        out.write_all(&start)?;
        let root = json::get(&start, codec.keys().id).filter(|_| codec.roots_hang_on_the_header());

        let tree = view.tree();
        let is_kept =
            |row: &u32| tree.node(*row).kind() != Kind::Label && Some(*row) != self.header_row;
        let kept: Vec<u32> = path.iter().copied().filter(is_kept).collect();
        let moved = replacements(view, path);
        let mut bodies = Bodies::with_images();
        let mut parent = NONE;
        for &row in &kept {
            let body = match codec.is_native(tree.node(row).kind()) {
                true => bodies.any(view, row).map_err(io::Error::other)?.map(Cow::into_owned),
                false => bodies.record(view, row).map_err(io::Error::other)?.map(<[u8]>::to_vec),
            };
            // Known to be damaged, but its head can be read: it keeps its place.
            let body = body.map_or_else(|| view.bytes(row), Ok)?;
            let unchanged =
                tree.node(row).parent == parent && tree.node(row).kind() != Kind::Compaction;
            match unchanged && !(parent == NONE && root.is_some()) {
                true => out.write_all(&body)?,
                false => out.write_all(&rechained(view, &body, row, parent, root, &moved))?,
            }
            out.write_all(b"\n")?;
            parent = row;
        }
        self.write_labels(view, &kept, out)
    }

    /// Fresh label entries, chained to the end, with the times the labels were set.
    fn write_labels(&self, view: &Snapshot, kept: &[u32], out: &mut dyn Write) -> io::Result<()> {
        let (tree, codec) = (view.tree(), self.dialect.codec());
        let label = |&row: &u32| tree.label_literal(row).map(|(text, label)| (label, row, text));
        let mut set: Vec<_> = kept.iter().filter_map(label).collect();
        set.sort_unstable();
        let mut ids = IdMaker::new();
        let mut written: Vec<EntryId> = Vec::new();
        for (label, target, text) in set {
            let id = codec.make_id(&mut ids, &|id| {
                tree.contains(id) || written.iter().any(|other| other == id)
            });
            let entry = NewEntry::label(&tree.id(target), None).with("label", text);
            let entry = entry.map_err(io::Error::other)?;
            let line = match self.dialect {
                // Numeric ids and odd times go over as they are.
                Dialect::Pi => {
                    let parent = match (written.last(), kept.last()) {
                        (Some(label), _) => json::quoted(label.as_str()),
                        (None, Some(&last)) => tree.id_literal(last),
                        (None, None) => b"null".to_vec(),
                    };
                    let stamp = view.bytes(label)?;
                    let stamp = json::get(&stamp, "timestamp").unwrap_or(b"null");
                    let mut line = Vec::new();
                    entry.write_line(&mut line, id.as_str(), &parent, stamp);
                    line
                }
                _ => {
                    let last = kept.last().map(|&last| tree.id_text(last));
                    let parent = written.last().map(EntryId::as_str).or(last);
                    let millis = tree.node(label).time().unwrap_or_default();
                    let stamp = Stamp { id: id.as_str(), parent, millis, left: None };
                    let line = codec.encode(&entry, &stamp).unwrap_or_default();
                    [&*line, b"\n"].concat()
                }
            };
            out.write_all(&line)?;
            written.push(id);
        }
        Ok(())
    }
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
    root: Option<&[u8]>,
    moved: &HashMap<String, EntryId>,
) -> Vec<u8> {
    let (tree, keys) = (view.tree(), view.codec().keys());
    let parent_id = match parent {
        NONE => root.map(<[u8]>::to_vec),
        parent => Some(tree.id_literal(parent)),
    };
    let mut entry = match parent_id {
        _ if tree.node(row).parent == parent && root.is_none() => body.to_vec(),
        // Some dialects leave out what is null.
        None if json::get(body, keys.parent).is_some() && view.codec().leaves_out_nulls() => {
            json::without(body, &[keys.parent])
        }
        parent => json::with_member(body, keys.parent, parent.as_deref().unwrap_or(b"null")),
    };
    if tree.node(row).kind() != Kind::Compaction {
        return entry;
    }
    for key in ["firstKeptEntryId", "firstKeptEntryUuid", "first_kept_entry_id"] {
        let first_kept = json::get(&entry, key).and_then(json::string);
        if let Some(moved) = first_kept.and_then(|id| moved.get(&*id)) {
            entry = json::with_member(&entry, key, &json::quoted(moved.as_str()));
        }
    }
    entry
}

/// The path with the current directory in front, if it is relative.
pub(crate) fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}
