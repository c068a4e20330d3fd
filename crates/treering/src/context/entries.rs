//! Reads the whole entries that a context is made of, for programs that build the messages
//! themselves.

use super::{Model, NO_THINKING, each_setting, select};
use crate::entry::{Entry, Kind};
use crate::error::Result;
use crate::id::EntryId;
use crate::snapshot::{Bodies, Snapshot};
use crate::tree::{NONE, Row};

/// The entries that count at a leaf, and the settings there.
#[derive(Debug)]
#[non_exhaustive]
pub struct ContextEntries {
    /// The entries in the order of the context, including those that contribute no message.
    pub entries: Vec<Entry>,
    /// The `leaf` entries among these entries and their parents, each with its nearest ancestor
    /// that is not a `leaf` entry.
    pub moves: Vec<(EntryId, Option<EntryId>)>,
    /// The thinking level in effect; `None` if it was set before the part of the file that was read.
    pub thinking_level: Option<String>,
    /// The model in effect, if any was named.
    pub model: Option<Model>,
}

impl ContextEntries {
    /// Reads the entries that count at `leaf` (`None`: before the first entry). Returns `None` if
    /// the view is only a part of a log and the result depends on the rest.
    pub(crate) fn read(view: &Snapshot, leaf: Option<Row>) -> Result<Option<Self>> {
        let mut bodies = Bodies::default();
        let Some(leaf) = leaf else {
            return Ok(Some(ContextEntries {
                entries: Vec::new(),
                moves: Vec::new(),
                thinking_level: Some(NO_THINKING.to_owned()),
                model: None,
            }));
        };
        let Ok(selection) = select(view, &mut bodies, leaf)? else { return Ok(None) };
        let (level, model) = each_setting(view, &mut bodies, leaf, None)?;
        let Ok(model) = model else { return Ok(None) };
        let Some(moves) = moves(view, &selection.rows) else { return Ok(None) };
        let entry = |&row: &Row| bodies.entry(view, row);
        let entries = selection.rows.iter().map(entry).collect::<Result<_>>()?;
        Ok(Some(ContextEntries { entries, moves, thinking_level: level.ok(), model }))
    }
}

/// Returns the `leaf` entries among some rows and their parents. Returns `None` if one of the
/// parents was not read.
fn moves(view: &Snapshot, rows: &[Row]) -> Option<Vec<(EntryId, Option<EntryId>)>> {
    let tree = view.tree();
    let is_move = |row: Row| tree.node(row).kind() == Kind::Leaf;
    let mut moves = Vec::new();
    // The last `leaf` entry and the entry above it are remembered, so that a long chain of them is
    // walked once.
    let mut last = (NONE, NONE);
    for &row in rows {
        if view.is_cut(row) {
            return None;
        }
        for row in [tree.node(row).parent, row] {
            if row == NONE || row == last.0 || !is_move(row) {
                continue;
            }
            let mut above = row;
            while above != NONE && is_move(above) {
                if above == last.0 {
                    above = last.1;
                    break;
                }
                if view.is_cut(above) {
                    return None;
                }
                above = tree.node(above).parent;
            }
            last = (row, above);
            moves.push((tree.id(row), (above != NONE).then(|| tree.id(above))));
        }
    }
    Some(moves)
}
