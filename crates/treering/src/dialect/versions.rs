//! Converts entries of versions 1 and 2 of the format to version 3.
//!
//! An entry changes only where the newer version requires it.

use crate::entry::{Kind, Role};
use crate::json::{self, Members, with_head_member};
use crate::tree::{NONE, Node, Row, Shape, Tree};
use std::borrow::Cow;

/// Converts an entry of an older version to the current one.
pub(crate) fn upgraded<'a>(
    tree: &Tree,
    row: Row,
    shape: Shape,
    version: u64,
    bytes: &'a [u8],
) -> Cow<'a, [u8]> {
    let node = tree.node(row);
    let mut entry = Cow::Borrowed(bytes);
    if node.has(Node::DERIVED) {
        if shape == Shape::Chain {
            let parent = match node.parent {
                NONE => b"null".to_vec(),
                parent => json::quoted(tree.id_text(parent)),
            };
            entry = Cow::Owned(with_head_member(&entry, "parentId", &parent));
        }
        let id = json::quoted(tree.id_text(row));
        entry = Cow::Owned(with_head_member(&entry, "id", &id));
    }
    if shape == Shape::Chain && node.kind() == Kind::Compaction {
        entry = first_kept_by_id(tree, entry);
    }
    if shape == Shape::Chain && node.kind() == Kind::BranchSummary && popped_to(&entry).is_some() {
        let left = row.previous().map(|row| json::quoted(tree.id_text(row)));
        let from = left.unwrap_or_else(|| b"\"root\"".to_vec());
        let summary = json::with_member(&entry, "fromId", &from);
        let summary = with_head_member(&summary, "type", b"\"branch_summary\"");
        entry = Cow::Owned(json::without(&summary, &["backToIndex"]));
    }
    if version < 3 && node.role() == Some(Role::Custom) {
        entry = hook_to_custom(entry);
    }
    entry
}

/// Names the first kept entry by its id. Version 1 used a number, counting the header as 0.
fn first_kept_by_id<'a>(tree: &Tree, entry: Cow<'a, [u8]>) -> Cow<'a, [u8]> {
    let mut members = Members::new(&entry, json::skip_space(&entry, 0));
    let Some(member) = members.find(|member| json::key_is(member.key, "firstKeptEntryIndex"))
    else {
        return entry;
    };
    let index = crate::entry::number(&entry[member.value]).filter(|index| *index >= 1.0);
    let row = index.map_or(NONE, |index| Row::new(index as usize - 1));
    if tree.get(row).is_none() {
        return entry; // The header, or nothing: no entry is named, so nothing is kept.
    }
    let renamed = [b"\"firstKeptEntryId\":", &*json::quoted(tree.id_text(row))].concat();
    Cow::Owned([&entry[..member.whole.start], &renamed, &entry[member.whole.end..]].concat())
}

/// Returns how many entries stay in the context of a `stack_pop`, with which agents went back
/// before there were branches: those up to the one it names, counting the header as 0. Returns
/// `None` for other entries.
pub(crate) fn popped_to(entry: &[u8]) -> Option<usize> {
    if json::get(entry, "type")? != b"\"stack_pop\"" {
        return None;
    }
    let index = crate::entry::number(json::get(entry, "backToIndex")?)?;
    (index >= 0.0).then_some(index as usize)
}

/// Renames the role `hookMessage` of version 2.
fn hook_to_custom(entry: Cow<'_, [u8]>) -> Cow<'_, [u8]> {
    let Some(message) = json::get(&entry, "message") else { return entry };
    match json::get(message, "role") {
        Some(b"\"hookMessage\"") => {
            let message = json::with_member(message, "role", b"\"custom\"");
            Cow::Owned(json::with_member(&entry, "message", &message))
        }
        _ => entry,
    }
}
