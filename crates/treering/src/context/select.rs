//! Selects the entries of a context (the latest compaction, the entries that it keeps, and the
//! entries after it) and the settings of the whole path. If the tree is only the end of a log, the
//! result may be unknown until more of the log is read.

use super::{Model, NO_THINKING};
use crate::entry::{Kind, Role};
use crate::error::Result;
use crate::json;
use crate::log::Checkpoint;
use crate::snapshot::{Bodies, Snapshot};
use crate::tree::{NONE, Node, Row};
use std::collections::HashMap;
use std::sync::Arc;

/// The tree is only the end of a log, and the result depends on earlier entries.
pub(super) struct Incomplete;

/// A result, or `Incomplete` if more of the log is needed.
pub(super) type TailResult<T> = std::result::Result<T, Incomplete>;

/// The entries that count, in the order of the context.
#[derive(Debug, Default)]
pub(super) struct SelectedRows {
    pub rows: Vec<Row>,
    /// Whether the first of the rows is a compaction, which replaces the entries before it.
    pub compacted: bool,
    /// The number of rows that are that compaction and the entries it keeps.
    pub old: usize,
}

pub(super) fn select(
    view: &Snapshot,
    bodies: &mut Bodies,
    leaf: Row,
) -> Result<TailResult<SelectedRows>> {
    let tree = view.tree();
    let Some((compaction, first_kept)) = latest_compaction(view, bodies, leaf)? else {
        let rows = tree.path_rows(leaf);
        let cut = rows.first().is_some_and(|&top| view.is_cut(top));
        return Ok(if cut {
            Err(Incomplete)
        } else {
            Ok(SelectedRows { rows, ..SelectedRows::default() })
        });
    };
    let mut rows: Vec<Row> = tree.ancestors(leaf).take_while(|&row| row != compaction).collect();
    if tree.node(compaction).kind() == Kind::Reset {
        rows.reverse();
        return Ok(Ok(SelectedRows { rows, ..SelectedRows::default() }));
    }
    let after = rows.len();
    if let Some(first_kept) = first_kept.filter(|id| tree.id_text(compaction) != id.as_str()) {
        match tree.row(&first_kept) {
            None if view.is_partial() => return Ok(Err(Incomplete)),
            None => {}
            Some(first) => match collect_kept(view, compaction, first, &mut rows) {
                KeptRows::All => {}
                KeptRows::None => rows.truncate(after),
                KeptRows::Unknown => return Ok(Err(Incomplete)),
            },
        }
    }
    rows.push(compaction);
    let old = rows.len() - after;
    // The rows are newest first here: the entries after the compaction, the kept ones, the
    // compaction.
    rows.reverse();
    Ok(Ok(SelectedRows { rows, compacted: true, old }))
}

enum KeptRows {
    All,
    None,
    Unknown,
}

/// Collects the rows from above `compaction` up to `first`, newest first.
fn collect_kept(view: &Snapshot, compaction: Row, first: Row, rows: &mut Vec<Row>) -> KeptRows {
    let tree = view.tree();
    for row in tree.ancestors(compaction).skip(1) {
        let node = tree.node(row);
        if tree.is_plain() && row < first {
            return KeptRows::None;
        }
        // The compaction's own system message replaces those that it compacted.
        if node.role() != Some(Role::System) {
            rows.push(row);
        }
        if row == first {
            return KeptRows::All;
        }
        if view.is_cut(row) {
            return KeptRows::Unknown;
        }
    }
    KeptRows::None
}

/// Returns the nearest compaction at or above `leaf` that can be read, and the first row that it
/// keeps.
fn latest_compaction(
    view: &Snapshot,
    bodies: &mut Bodies,
    leaf: Row,
) -> Result<Option<(Row, Option<String>)>> {
    let mut row = view.tree().node(leaf).compaction;
    while row != NONE {
        if let Some(body) = bodies.whole(view, row)? {
            let first_kept =
                json::get(&body, "firstKeptEntryId").map(|raw| match json::string(raw) {
                    Some(id) => id.into_owned(),
                    None => String::from_utf8_lossy(raw).into_owned(),
                });
            return Ok(Some((row, first_kept)));
        }
        row = above(view, row, |node| node.compaction);
    }
    Ok(None)
}

/// Returns the value that a row's parent inherited.
fn above(view: &Snapshot, row: Row, inherited: impl Fn(&Node) -> Row) -> Row {
    match view.tree().node(row).parent {
        NONE => NONE,
        parent => inherited(view.tree().node(parent)),
    }
}

/// Returns the thinking level that the path to a row sets last, if any entry does.
pub(super) fn level(view: &Snapshot, bodies: &mut Bodies, leaf: Row) -> Result<Option<String>> {
    let mut row = view.tree().node(leaf).thinking;
    while row != NONE {
        let body = bodies.whole(view, row)?;
        let value = body.as_deref().and_then(|body| json::get(body, "thinkingLevel"));
        if let Some(level) = value.and_then(json::string) {
            return Ok(Some(level.into_owned()));
        }
        row = above(view, row, |node| node.thinking);
    }
    Ok(None)
}

/// Returns the thinking level and the model: the latest on the whole path, compacted entries
/// included. If the log was not read as a whole, its checkpoint has the level of the unread part.
pub(super) fn settings(
    view: &Snapshot,
    bodies: &mut Bodies,
    leaf: Row,
    checkpoint: Option<&Checkpoint>,
) -> Result<TailResult<(String, Option<Model>)>> {
    let (level, model) = each_setting(view, bodies, leaf, checkpoint)?;
    Ok(level.and_then(|level| Ok((level, model?))))
}

/// Returns both settings separately: the end of a log mostly names the model and seldom the level.
pub(super) fn each_setting(
    view: &Snapshot,
    bodies: &mut Bodies,
    leaf: Row,
    checkpoint: Option<&Checkpoint>,
) -> Result<(TailResult<String>, TailResult<Option<Model>>)> {
    let tree = view.tree();
    let (mut level, mut named) = (level(view, bodies, leaf)?, None);
    let mut row = tree.node(leaf).model;
    while row != NONE && named.is_none() {
        named = named_by(view, bodies, row)?;
        row = above(view, row, |node| node.model);
    }
    if view.is_partial() && (level.is_none() || named.is_none()) {
        let top = tree.ancestors(leaf).last();
        if top.is_some_and(|top| view.is_cut(top)) {
            let is_above = |known: &&Checkpoint| {
                let row = tree.row(known.entry());
                row.is_some_and(|row| tree.ancestors(leaf).any(|above| above == row))
            };
            match checkpoint.filter(|known| named.is_some() && is_above(known)) {
                Some(known) => level = known.thinking_level().map(str::to_owned),
                None => return Ok((level.ok_or(Incomplete), named.map(Some).ok_or(Incomplete))),
            }
        }
    }
    Ok((Ok(level.unwrap_or_else(|| NO_THINKING.into())), Ok(named)))
}

/// Returns the model that an entry names.
fn named_by(view: &Snapshot, bodies: &mut Bodies, row: Row) -> Result<Option<Model>> {
    let kind = view.tree().node(row).kind();
    let named = bodies.whole(view, row)?.and_then(|body| model(kind, &body));
    // Messages of some agents do not name their model. A message of pi always does, so its model
    // counts.
    let counts = |model: &Model| {
        let is_unnamed = model.provider.is_none() && model.model_id.is_none();
        !is_unnamed || view.facts().is_native(Kind::Message)
    };
    Ok(named.filter(counts))
}

/// The models in effect at many rows of one tree. In a session whose messages do not name their
/// models, every search would go up to the root, so the results of earlier searches are kept.
#[derive(Debug, Default)]
pub(crate) struct ModelCache {
    found: HashMap<Row, Option<Arc<Model>>>,
    bodies: Bodies,
}

impl ModelCache {
    /// Returns the model in effect at a row.
    pub(crate) fn at(&mut self, view: &Snapshot, row: Row) -> Result<Option<Arc<Model>>> {
        let mut asked = Vec::new();
        let (mut row, mut found) = (view.tree().node(row).model, None);
        while row != NONE && found.is_none() {
            if let Some(known) = self.found.get(&row) {
                found.clone_from(known);
                break;
            }
            asked.push(row);
            found = named_by(view, &mut self.bodies, row)?.map(Arc::new);
            row = above(view, row, |node| node.model);
        }
        self.found.extend(asked.into_iter().map(|row| (row, found.clone())));
        Ok(found)
    }
}

fn model(kind: Kind, body: &[u8]) -> Option<Model> {
    let text =
        |object: &[u8], key| json::get(object, key).and_then(json::string).map(|t| t.into_owned());
    Some(match kind {
        Kind::ModelChange => {
            Model { provider: text(body, "provider"), model_id: text(body, "modelId") }
        }
        _ => {
            let message = json::get(body, "message").filter(|raw| raw.starts_with(b"{"))?;
            Model { provider: text(message, "provider"), model_id: text(message, "model") }
        }
    })
}
