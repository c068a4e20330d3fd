//! Writes a part of the tree as a new session to any writer.
//!
//! A branch is written like a fork. The whole tree is a copy under a new id. A subtree keeps its
//! entries unchanged, with these exceptions: its top entry has no parent, labels and `leaf` entries
//! that name entries outside are left out, and labels and the leaf that entries outside set are
//! written again at the end.

use super::Session;
use super::copy::PathCopy;
use crate::entry::{Kind, NewEntry};
use crate::error::{Error, Result};
use crate::fs;
use crate::header::Header;
use crate::id::{EntryId, IdMaker, SessionId};
use crate::json;
use crate::position::Position;
use crate::snapshot::{Bodies, Snapshot};
use crate::tree::{NONE, Row};
use crate::{migrate, time};
use std::collections::{HashMap, HashSet};
use std::io::Write;
use std::path::Path;

/// A selection of a session's entries.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Part {
    /// All entries.
    #[default]
    All,
    /// The path from the root to a position.
    Branch(Position),
    /// An entry and everything below it.
    Subtree(EntryId),
}

impl Session {
    /// Writes a part of the session as a session of its own, with a new id, in treering's format.
    /// Sessions of other dialects must be [converted](crate::convert) first.
    ///
    /// # Errors
    ///
    /// Fails with [`Error::ReadOnlyDialect`] for a session of another dialect, with
    /// [`Error::UnknownEntry`] if the session does not have the entry, and if writing fails.
    ///
    /// ```
    /// use treering::{Message, Session};
    /// use treering::session::Part;
    /// let session = Session::in_memory("/project");
    /// let question = session.append(Message::user("Tea or coffee?"))?;
    /// let mut lines = Vec::new();
    /// session.write_part(&Part::Subtree(question), &mut lines)?;
    /// assert_eq!(lines.iter().filter(|byte| **byte == b'\n').count(), 2); // header, question
    /// # Ok::<(), treering::Error>(())
    /// ```
    pub fn write_part(&self, part: &Part, out: &mut dyn Write) -> Result<()> {
        let state = self.state();
        let (view, dialect) = (state.view(), state.loaded.dialect);
        if !dialect.facts().is_own_format {
            return Err(Error::ReadOnlyDialect(dialect));
        }
        let source = state.path().map(|path| fs::absolute(path).to_string_lossy().into_owned());
        let cwd = &state.header().cwd;
        let header = Header::new(&SessionId::generate(), Path::new(cwd), source.as_deref());
        let written = match part {
            Part::All => migrate::copy(&*state.journal, &state.loaded, header.raw(), out).map(drop),
            Part::Branch(position) => {
                let (header_row, row) = (state.loaded.header_row(), state.row(position)?);
                drop(state);
                let path = row.map(|row| view.tree().path_rows(row)).unwrap_or_default();
                let system_prompt = None;
                let copy =
                    PathCopy { dialect, name: None, header: &header, header_row, system_prompt };
                copy.write(&view, &path, out)
            }
            Part::Subtree(id) => {
                let leaf = state.leaf.clone();
                drop(state);
                let top = view.tree().find_row(id.as_str())?;
                out.write_all(header.raw())
                    .and_then(|()| out.write_all(b"\n"))
                    .map_err(Error::Storage)?;
                return Subtree::new(&view, top)?.write(leaf.as_ref(), out);
            }
        };
        written.map_err(Error::Storage)
    }
}

/// A row and all rows below it.
struct Subtree<'a> {
    view: &'a Snapshot,
    top: Row,
    /// The rows, in file order.
    rows: Vec<Row>,
    inside: HashSet<Row>,
    /// Labels and `leaf` entries that name an entry outside, each with the row that replaces it as
    /// a parent.
    dropped: HashMap<Row, Row>,
}

impl<'a> Subtree<'a> {
    fn new(view: &'a Snapshot, top: Row) -> Result<Self> {
        let children = view.tree().children_index();
        let mut rows = vec![top];
        let mut done = 0;
        while let Some(&row) = rows.get(done) {
            rows.extend_from_slice(children.of(row));
            done += 1;
        }
        let inside = rows.iter().copied().collect();
        let mut subtree = Subtree { view, top, rows, inside, dropped: HashMap::new() };
        subtree.drop_outside_references()?;
        subtree.rows.sort_unstable();
        Ok(subtree)
    }

    /// Collects the labels and `leaf` entries that name an entry outside. The rows must be in the
    /// order of the tree, parents first.
    fn drop_outside_references(&mut self) -> Result<()> {
        let tree = self.view.tree();
        let mut bodies = Bodies::with_images();
        let mut first_kept = HashSet::new();
        for &row in self.rows.iter().filter(|&&row| tree.node(row).kind() == Kind::Compaction) {
            first_kept.extend(self.named(&mut bodies, row, "firstKeptEntryId")?);
        }
        for &row in &self.rows {
            let is_about_another = matches!(tree.node(row).kind(), Kind::Label | Kind::Leaf);
            if !is_about_another || row == self.top || first_kept.contains(&row) {
                continue;
            }
            let target = self.named(&mut bodies, row, "targetId")?;
            if target.is_none_or(|target| !self.inside.contains(&target)) {
                let parent = tree.node(row).parent;
                self.dropped.insert(row, self.dropped.get(&parent).copied().unwrap_or(parent));
            }
        }
        Ok(())
    }

    /// Returns the row that an entry names in one of its fields.
    fn named(&self, bodies: &mut Bodies, row: Row, key: &str) -> Result<Option<Row>> {
        let Some(body) = bodies.any(self.view, row)? else { return Ok(None) };
        let id = json::get(&body, key).and_then(json::string);
        Ok(id.and_then(|id| self.view.tree().row(&id)))
    }

    fn write(&self, leaf: Option<&EntryId>, out: &mut dyn Write) -> Result<()> {
        let tree = self.view.tree();
        let above: HashSet<Row> = tree.ancestors(self.top).skip(1).collect();
        let mut bodies = Bodies::with_images();
        let mut labels = HashMap::new();
        let mut last = self.top;
        for &row in self.rows.iter().filter(|row| !self.dropped.contains_key(row)) {
            let kind = tree.node(row).kind();
            if kind == Kind::Label
                && let Some(target) = self.named(&mut bodies, row, "targetId")?
            {
                labels.insert(target, row);
            }
            let body = bodies.any(self.view, row)?.map(|body| body.into_owned());
            let mut body = body.map_or_else(|| self.view.bytes(row), Ok).map_err(Error::Storage)?;
            let parent = tree.node(row).parent;
            if row == self.top && parent != NONE {
                body = json::with_member(&body, "parentId", b"null");
            } else if let Some(&instead) = self.dropped.get(&parent) {
                body = json::with_member(&body, "parentId", &tree.id_literal(instead));
            }
            if kind == Kind::Compaction {
                body = self.clamp_first_kept(body, &above);
            }
            out.write_all(&body).and_then(|()| out.write_all(b"\n")).map_err(Error::Storage)?;
            last = row;
        }
        let leaf = leaf.and_then(|leaf| tree.row(leaf.as_str()));
        let leaf = leaf.map(|row| self.dropped.get(&row).copied().unwrap_or(row));
        let leaf = leaf.filter(|row| self.inside.contains(row)).unwrap_or(last);
        self.write_end(&labels, leaf, last, out)
    }

    /// Returns a compaction whose first kept entry is the top of the subtree, if it was above the
    /// top.
    fn clamp_first_kept(&self, body: Vec<u8>, above: &HashSet<Row>) -> Vec<u8> {
        let tree = self.view.tree();
        let first_kept = json::get(&body, "firstKeptEntryId").and_then(json::string);
        match first_kept.and_then(|id| tree.row(&id)) {
            Some(row) if above.contains(&row) => {
                json::with_member(&body, "firstKeptEntryId", &tree.id_literal(self.top))
            }
            _ => body,
        }
    }

    /// Writes the labels and the leaf that entries outside the subtree set.
    fn write_end(
        &self,
        written: &HashMap<Row, Row>,
        leaf: Row,
        last: Row,
        out: &mut dyn Write,
    ) -> Result<()> {
        let tree = self.view.tree();
        let mut ids = IdMaker::new();
        let mut used: HashSet<EntryId> = HashSet::new();
        let mut parent = tree.id_literal(leaf);
        let mut line = Vec::new();
        for &row in self.rows.iter().filter(|row| !self.dropped.contains_key(row)) {
            let now = tree.label_literal(row);
            if now.map(|(_, label)| label) == written.get(&row).copied() {
                continue;
            }
            let entry = NewEntry::label(tree.id(row), None);
            let (entry, label) = match now {
                Some((text, label)) => (entry.raw("label", text), label),
                None => (entry, NONE),
            };
            let millis = tree.get(label).and_then(|node| node.time());
            let stamp = json::quoted(&time::format(millis.unwrap_or_else(time::now)));
            let id = ids.make(|id| tree.contains(id) || used.contains(id));
            entry.write_line(&mut line, id.as_str(), &parent, &stamp);
            parent = json::quoted(id.as_str());
            used.insert(id);
        }
        if line.is_empty() && leaf != last {
            let id = ids.make(|id| tree.contains(id));
            let stamp = json::quoted(&time::format(time::now()));
            NewEntry::leaf(Some(&tree.id(leaf))).write_line(
                &mut line,
                id.as_str(),
                &parent,
                &stamp,
            );
        }
        out.write_all(&line).map_err(Error::Storage)
    }
}
