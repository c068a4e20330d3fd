//! Decides which entries the result has, and the parent of each.

use crate::context::{self, Model, NO_THINKING, contributes};
use crate::dialect::facts::{LeafParent, ResetForm};
use crate::dialect::{Codec, Dialect};
use crate::entry::{Kind, NewEntry, Role};
use crate::error::Result;
use crate::json;
use crate::snapshot::{Bodies, Snapshot};
use crate::tree::{NONE, Node, Row, Tree};
use std::collections::{HashMap, HashSet};

/// The reason why a row is not written as an entry of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OmitReason {
    /// The row is the header; the target has its own.
    Header,
    Damaged,
    /// The row is a piece of the message of another row.
    Joined(Row),
    /// The row is a reset. Its summary is written as a compaction that keeps nothing, which has the
    /// same effect.
    Summarized,
}

/// The position of every entry in the result: the rows to write, and the replacements of those that
/// are not written.
#[derive(Debug)]
pub(super) struct Placement {
    pub rows: Vec<Row>,
    dropped: HashMap<Row, OmitReason>,
    /// The later pieces of a message, by the row of the first.
    parts: HashMap<Row, Vec<Row>>,
    /// The number of additional entries that a row is written as.
    more: HashMap<Row, usize>,
    /// Messages that summarize the entries before a reset, and are written as compactions.
    summaries: HashSet<Row>,
    /// Resets that are written as new roots, with the current settings there.
    roots: HashMap<Row, Vec<NewEntry>>,
    /// Whether the parent of an entry after a `leaf` entry is the target of that `leaf` entry.
    skips_leaves: bool,
}

impl Placement {
    pub(super) fn new(
        view: &Snapshot,
        rows: Vec<Row>,
        header: Option<Row>,
        leaf: Option<Row>,
        target: Dialect,
    ) -> Result<Self> {
        let tree = view.tree();
        let mut plan = Placement {
            rows,
            dropped: HashMap::new(),
            parts: HashMap::new(),
            more: HashMap::new(),
            summaries: HashSet::new(),
            roots: HashMap::new(),
            skips_leaves: target.facts().leaf_parent == LeafParent::PreviousLeaf,
        };
        plan.dropped.extend(header.map(|row| (row, OmitReason::Header)));
        let mut bodies = Bodies::default();
        for &row in &plan.rows {
            let node = tree.node(row);
            if node.has(Node::CONTINUED)
                && let Some(first) = first_part(tree, row)
            {
                plan.parts.entry(first).or_default().push(row);
                plan.dropped.insert(row, OmitReason::Joined(first));
                continue;
            }
            match bodies.record(view, row)? {
                None => drop(plan.dropped.insert(row, OmitReason::Damaged)),
                Some(record) if matches!(node.kind(), Kind::Message | Kind::Compaction) => {
                    let more = additional_messages(view.codec(), record);
                    if more > 0 {
                        plan.more.insert(row, more);
                    }
                }
                Some(_) => {}
            }
        }
        // The other targets have resets of their own.
        if target.facts().reset == ResetForm::Root {
            plan.place_resets(view, leaf)?;
        }
        Ok(plan)
    }

    /// Decides how resets are written in a dialect that has none. If every branch below the reset
    /// begins with a summary of the entries before it, a compaction has the same effect. Otherwise
    /// the entries below the reset must not be linked to those before it, so they get a root of
    /// their own.
    fn place_resets(&mut self, view: &Snapshot, leaf: Option<Row>) -> Result<()> {
        let tree = view.tree();
        let mut is_written = vec![false; tree.row_count()];
        for &row in self.rows.iter().filter(|row| !self.dropped.contains_key(row)) {
            is_written[row.index()] = true;
        }
        let resets = self.rows.iter().copied();
        let resets: Vec<Row> = resets.filter(|&row| tree.node(row).kind() == Kind::Reset).collect();
        for reset in resets {
            let mut summarized = true;
            let mut below = vec![reset];
            while let Some(row) = below.pop() {
                let children = tree.children_index().of(row).iter().copied();
                let children: Vec<Row> =
                    children.filter(|&child| is_written[child.index()]).collect();
                // The context is empty at this entry.
                let is_end = children.is_empty() && tree.node(row).kind() != Kind::Leaf;
                summarized &= !is_end && leaf != Some(row);
                for child in children {
                    let node = tree.node(child);
                    match node.kind() {
                        Kind::Reset | Kind::Compaction => {}
                        _ if node.role() == Some(Role::CompactionSummary) => {
                            self.summaries.insert(child);
                        }
                        _ if contributes(tree, child) => summarized = false,
                        _ => below.push(child),
                    }
                }
            }
            if summarized {
                self.dropped.insert(reset, OmitReason::Summarized);
                continue;
            }
            let settings = settings_at(view, reset)?;
            if !settings.is_empty() {
                self.more.insert(reset, settings.len());
            }
            self.roots.insert(reset, settings);
        }
        Ok(())
    }

    /// Returns the rows that are converted.
    pub(super) fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// Returns whether a row's message is written as a compaction that keeps nothing.
    pub(super) fn is_summary(&self, row: Row) -> bool {
        self.summaries.contains(&row)
    }

    /// Returns the entries that restate the current settings at a reset that is written as a root;
    /// `None` for any other row.
    pub(super) fn root_settings(&self, row: Row) -> Option<&[NewEntry]> {
        self.roots.get(&row).map(Vec::as_slice)
    }

    pub(super) fn dropped(&self, row: Row) -> Option<OmitReason> {
        self.dropped.get(&row).copied()
    }

    pub(super) fn parts(&self, row: Row) -> &[Row] {
        self.parts.get(&row).map_or(&[], Vec::as_slice)
    }

    /// Returns whether every message on the path to a row is in a single piece.
    pub(super) fn has_whole_messages(&self, tree: &Tree, row: Row) -> bool {
        if self.parts.is_empty() {
            return true;
        }
        let path: HashSet<Row> = tree.ancestors(row).collect();
        path.iter().all(|row| self.parts(*row).iter().all(|part| path.contains(part)))
    }

    /// Returns the rows at which a branch of the result ends. `leaf` entries do not count: a row
    /// with nothing else below it is an end.
    pub(super) fn ends<'a>(&'a self, tree: &'a Tree) -> impl Iterator<Item = Row> + 'a {
        let mut is_written = vec![false; tree.row_count()];
        for &row in &self.rows {
            is_written[row.index()] = tree.node(row).kind() != Kind::Leaf;
        }
        let children = tree.children_index();
        self.rows.iter().copied().filter(move |&row| {
            is_written[row.index()]
                && !children.of(row).iter().any(|&child| is_written[child.index()])
        })
    }

    /// Returns the id of the last entry that a row is written as, which is the parent of the row's
    /// children.
    pub(super) fn end(&self, tree: &Tree, row: Row) -> String {
        match self.more.get(&row) {
            Some(&more) => extra_id(tree.id_text(row), more),
            None => tree.id_text(row).to_owned(),
        }
    }

    /// Returns the id of the nearest row at or above this one that is written: the parent of the
    /// row's children.
    pub(super) fn stand_in(&self, tree: &Tree, row: Row) -> Option<String> {
        let mut at = row;
        // Every step goes up, or from a `leaf` entry to its target, so there are at most as many
        // steps as rows.
        for _ in 0..=tree.row_count() {
            if at == NONE {
                return None;
            }
            at = match self.dropped.get(&at) {
                Some(OmitReason::Joined(first)) if !tree.ancestors(at).any(|up| up == *first) => {
                    *first
                }
                Some(_) => tree.node(at).parent,
                None if self.skips_leaves && tree.node(at).kind() == Kind::Leaf => {
                    tree.leaf_target(at).unwrap_or(NONE)
                }
                None => return Some(self.end(tree, at)),
            };
        }
        None
    }

    /// Returns the id that replaces an id to which another entry refers.
    pub(super) fn reference(&self, tree: &Tree, id: &str) -> String {
        let row = tree.row(id);
        match row.and_then(|row| self.dropped.get(&row)) {
            Some(OmitReason::Joined(first)) => tree.id_text(*first).to_owned(),
            Some(OmitReason::Header | OmitReason::Damaged | OmitReason::Summarized) => {
                let next = row.and_then(|row| self.next_below(tree, row));
                next.map_or(id.to_owned(), |row| tree.id_text(row).to_owned())
            }
            None => id.to_owned(),
        }
    }

    /// Returns the first row in file order that is written and below a row.
    fn next_below(&self, tree: &Tree, row: Row) -> Option<Row> {
        let is_written = |at: &Row| !self.dropped.contains_key(at);
        let children = tree.children_index().of(row).iter().copied();
        children.filter(is_written).min()
    }
}

/// Returns the current settings at a row, as entries.
fn settings_at(view: &Snapshot, row: Row) -> Result<Vec<NewEntry>> {
    let (level, model) = context::settings_at(view, row)?;
    let mut entries = Vec::new();
    if level != NO_THINKING {
        entries.push(NewEntry::thinking_level_change(&level));
    }
    if let Some(Model { provider, model_id }) = model {
        let mut entry = NewEntry::of_type("model_change");
        for (key, value) in [("provider", provider), ("modelId", model_id)] {
            entry = match value {
                Some(value) => entry.raw(key, &json::quoted(&value)),
                None => entry,
            };
        }
        entries.push(entry);
    }
    Ok(entries)
}

/// Returns the row of the first piece of a row's message.
fn first_part(tree: &Tree, row: Row) -> Option<Row> {
    let is_first = |&row: &Row| {
        tree.node(row).role() == Some(Role::Assistant) && !tree.node(row).has(Node::CONTINUED)
    };
    tree.ancestors(row).skip(1).find(is_first)
}

/// Returns the number of messages in a record after the first one.
fn additional_messages(codec: &dyn Codec, record: &[u8]) -> usize {
    if codec.facts().is_native(Kind::Message) { 0 } else { codec.decode(record).more.len() }
}

/// Returns the id of the `number`-th additional entry of an entry, counted from 1.
pub(super) fn extra_id(id: &str, number: usize) -> String {
    format!("{id}.{number}")
}

/// Returns an entry in which ids that have changed are replaced.
pub(super) fn with_references(plan: &Placement, tree: &Tree, mut entry: NewEntry) -> NewEntry {
    if matches!(entry.kind(), Kind::Message | Kind::Custom | Kind::Other) {
        return entry;
    }
    let mut object = entry.fields_object();
    let mut changed = false;
    for key in ["targetId", "firstKeptEntryId", "fromId"] {
        let Some(literal) = json::get(&object, key) else { continue };
        let id = match json::string(literal) {
            Some(id) => id.into_owned(),
            // An id that was a number is a text in the result.
            None => String::from_utf8_lossy(literal).into_owned(),
        };
        if id.is_empty() || !tree.contains(&id) {
            continue;
        }
        let quoted = json::quoted(&plan.reference(tree, &id));
        if quoted != literal {
            object = json::with_member(&object, key, &quoted);
            changed = true;
        }
    }
    if changed {
        entry.fields = [b",", &object[1..object.len() - 1]].concat();
    }
    entry
}
