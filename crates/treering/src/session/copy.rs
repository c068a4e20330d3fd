//! Creates sessions from the records of another session of the same dialect.

use super::options::with_system_prompt;
use crate::dialect::{Dialect, Facts, NewHeader, Stamp};
use crate::entry::{Kind, NewEntry};
use crate::header::Header;
use crate::id::{EntryId, IdMaker};
use crate::json;
use crate::load::{BOM, Loaded};
use crate::log::scan;
use crate::migrate;
use crate::snapshot::{Bodies, Snapshot};
use crate::tree::{NONE, Row};
use std::borrow::Cow;
use std::collections::HashMap;
use std::io::{self, Write};

/// Writes a copy of a whole log with `header` instead of its own, byte for byte except for upgrades
/// of an older version.
pub(crate) fn whole(
    view: &Snapshot,
    loaded: &Loaded,
    header: &Header,
    out: &mut dyn Write,
) -> io::Result<()> {
    let journal = view.journal();
    let start = loaded.dialect.first_lines(&about(header)).map_err(io::Error::other)?;
    if !loaded.header_span.is_empty() {
        let own = loaded.header.as_ref().map(Header::raw).unwrap_or_default();
        return migrate::copy(journal, loaded, &renewed(own, &start, loaded), out).map(drop);
    }
    // The log has no header: the copy gets one, before everything else.
    out.write_all(&start)?;
    let mut first = [0; BOM.len()];
    let got = scan::read_full(journal, 0, &mut first)?;
    let skipped = if first.get(..got) == Some(BOM) { BOM.len() as u64 } else { 0 };
    migrate::copy_from(journal, loaded, skipped, out)
}

/// Returns the header `own` with the id, project and time of the new session's header, which is the
/// last line of `start`. A header that is a node keeps its position in the tree.
fn renewed(own: &[u8], start: &[u8], loaded: &Loaded) -> Vec<u8> {
    const NEW: [&str; 4] = ["version", "id", "timestamp", "cwd"];
    let line = start.strip_suffix(b"\n").unwrap_or(start);
    let new = line.rsplit(|&byte| byte == b'\n').next().unwrap_or(line);
    let parents = loaded.facts().parent_session;
    let mut header = json::without(own, parents);
    let is_node = loaded.header_row().is_some();
    for &key in NEW.iter().chain(parents).chain(&["treering"]) {
        let is_kept = match key {
            // The version changes only if the copy is an upgrade.
            "version" => !migrate::is_due(loaded),
            "id" => is_node && loaded.facts().keys.id == "id",
            _ => false,
        };
        if let Some(value) = json::get(new, key).filter(|_| !is_kept) {
            header = json::with_head_member(&header, key, value);
        }
    }
    loaded.facts().json.rendered(header)
}

fn about(header: &Header) -> NewHeader<'_> {
    let created = header.created().unwrap_or_else(crate::time::now);
    let parent_session = header.parent_session.as_deref();
    NewHeader { id: header.id.as_str(), cwd: &header.cwd, parent_session, created }
}

/// A path that becomes a session, in the dialect of its source.
pub(crate) struct PathCopy<'a> {
    pub dialect: Dialect,
    /// The name of the source session.
    pub name: Option<String>,
    pub header: &'a Header,
    /// The row of the source's header, if it is a node of the tree.
    pub header_row: Option<Row>,
    /// The system prompt in the source's header, a JSON string.
    pub system_prompt: Option<&'a [u8]>,
}

impl PathCopy<'_> {
    /// Writes the path without its labels, with new parents, and then the current labels on it.
    pub(crate) fn write(
        &self,
        view: &Snapshot,
        path: &[Row],
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let facts = self.dialect.facts();
        let about = about(self.header);
        let created = about.created;
        let mut start = self.dialect.first_lines(&about).map_err(io::Error::other)?;
        if let Some(same) = self.system_prompt.and_then(|prompt| with_system_prompt(&start, prompt))
        {
            start = same;
        }
        // The current name on the path is copied, even to a dialect that stores names only in the
        // title slot.
        let own = self.name.as_deref();
        let name = view.tree().name_given_by(path).unwrap_or(own);
        if let (Some(slot), Some(name)) = (facts.title_slot, name) {
            let slot = (slot.render)(name, &crate::time::format(created));
            start.splice(..slot.len().min(start.len()), slot);
        }
        out.write_all(&start)?;
        let root = json::get(&start, facts.keys.id).filter(|_| facts.roots_below_header);

        let tree = view.tree();
        let is_kept =
            |row: &Row| tree.node(*row).kind() != Kind::Label && Some(*row) != self.header_row;
        let kept: Vec<Row> = path.iter().copied().filter(is_kept).collect();
        let moved = replacements(view, path, is_kept);
        let mut bodies = Bodies::with_images();
        let mut parent = NONE;
        for &row in &kept {
            let body = match facts.is_native(tree.node(row).kind()) {
                true => bodies.any(view, row).map_err(io::Error::other)?.map(Cow::into_owned),
                false => bodies.record(view, row).map_err(io::Error::other)?.map(<[u8]>::to_vec),
            };
            // The entry is damaged, but its head can be read: it keeps its position.
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

    /// Writes new label entries at the end, with the times at which the labels were set.
    fn write_labels(&self, view: &Snapshot, kept: &[Row], out: &mut dyn Write) -> io::Result<()> {
        let (tree, facts) = (view.tree(), self.dialect.facts());
        let label = |&row: &Row| tree.label_literal(row).map(|(text, label)| (label, row, text));
        let mut set: Vec<_> = kept.iter().filter_map(label).collect();
        set.sort_unstable();
        let mut ids = IdMaker::new();
        let mut written: Vec<EntryId> = Vec::new();
        for (label, target, text) in set {
            let id = facts.make_id(&mut ids, |id| {
                tree.contains(id) || written.iter().any(|other| other == id)
            });
            let entry = NewEntry::label(tree.id(target), None).raw("label", text);
            let line = match facts.is_own_format {
                // Numeric ids and unusual times are copied unchanged.
                true => {
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
                false => {
                    let last = kept.last().map(|&last| tree.id_text(last));
                    let parent = written.last().map(EntryId::as_str).or(last);
                    let millis = tree.node(label).time().unwrap_or_default();
                    let stamp = Stamp { id: id.as_str(), parent, millis, left: None };
                    let line = self.dialect.codec().encode(&entry, &stamp).unwrap_or_default();
                    [&*line, b"\n"].concat()
                }
            };
            out.write_all(&line)?;
            written.push(id);
        }
        Ok(())
    }
}

/// Returns the replacement of each entry that is left out, a label or a header that is a node: the
/// next entry of the path.
fn replacements(
    view: &Snapshot,
    path: &[Row],
    is_kept: impl Fn(&Row) -> bool,
) -> HashMap<String, EntryId> {
    let tree = view.tree();
    let mut moved = HashMap::new();
    let mut next = None;
    for &row in path.iter().rev() {
        if is_kept(&row) {
            next = Some(row);
        } else if let Some(next) = next {
            moved.insert(tree.id_text(row).to_owned(), tree.id(next));
        }
    }
    moved
}

fn rechained(
    view: &Snapshot,
    body: &[u8],
    row: Row,
    parent: Row,
    root: Option<&[u8]>,
    moved: &HashMap<String, EntryId>,
) -> Vec<u8> {
    let (tree, keys) = (view.tree(), &view.facts().keys);
    let parent_id = match parent {
        NONE => root.map(<[u8]>::to_vec),
        parent => Some(tree.id_literal(parent)),
    };
    let mut entry = match parent_id {
        _ if tree.node(row).parent == parent && root.is_none() => body.to_vec(),
        // Some dialects omit members that are null.
        None if json::get(body, keys.parent).is_some() && view.facts().omits_null_parent => {
            json::without(body, &[keys.parent])
        }
        parent => json::with_member(body, keys.parent, parent.as_deref().unwrap_or(b"null")),
    };
    if tree.node(row).kind() != Kind::Compaction {
        return entry;
    }
    entry = with_first_kept(entry, view.facts().first_kept, moved);
    // The entry that is embedded in the record has the same parent.
    if let Some(embedded) = json::get(&entry, "treering").filter(|value| value.starts_with(b"{")) {
        let embedded = with_first_kept(embedded.to_vec(), Facts::DEFAULT.first_kept, moved);
        entry = json::with_member(&entry, "treering", &embedded);
    }
    entry
}

/// Returns a compaction in which a first kept entry that is left out is replaced.
fn with_first_kept(entry: Vec<u8>, key: &str, moved: &HashMap<String, EntryId>) -> Vec<u8> {
    let first_kept = json::get(&entry, key).and_then(json::string);
    match first_kept.and_then(|id| moved.get(&*id)) {
        Some(moved) => json::with_member(&entry, key, &json::quoted(moved.as_str())),
        None => entry,
    }
}
