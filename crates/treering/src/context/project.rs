//! Turns an entry into messages: its stored message, or one made of its fields, changed by the
//! context edits of the branch.

use super::{ContextMessage, EditAt};
use crate::entry::{Kind, Role};
use crate::error::Result;
use crate::json::{self, Members, ObjectEnd};
use crate::load::Loaded;
use crate::snapshot::{Bodies, Snapshot};
use crate::tree::{Node, Row, Tree};
use std::collections::{HashMap, VecDeque};

/// Returns the latest context edit for every target, among the selected entries.
pub(super) fn edits(
    view: &Snapshot,
    bodies: &mut Bodies,
    rows: &[Row],
) -> Result<(HashMap<String, Edit>, Vec<EditAt>)> {
    let (mut edits, mut edited) = (HashMap::new(), Vec::new());
    for (at, &row) in rows.iter().enumerate() {
        if view.tree().node(row).kind() != Kind::ContextEdit {
            continue;
        }
        let Some(body) = bodies.whole(view, row)? else { continue };
        let Some(target) = json::get(&body, "targetId").and_then(json::string) else { continue };
        let edit = match json::get(&body, "replacement") {
            Some(b"null") => Edit::Remove,
            Some(replacement) => match json::get(replacement, "content") {
                Some(content) => Edit::Replace(content.to_vec()),
                None => continue,
            },
            None => continue,
        };
        let (target, removes) = (target.into_owned(), matches!(edit, Edit::Remove));
        edited.push(EditAt { at, target: target.clone(), removes });
        edits.insert(target, edit);
    }
    Ok((edits, edited))
}

#[derive(Debug)]
pub(super) enum Edit {
    Remove,
    Replace(Vec<u8>),
}

/// Returns whether entries of this kind contribute to contexts.
pub(crate) fn contributes(tree: &Tree, row: Row) -> bool {
    let kind = tree.node(row).kind();
    matches!(kind, Kind::Message | Kind::CustomMessage | Kind::BranchSummary)
}

/// Appends the messages that one entry contributes.
pub(super) fn project(
    view: &Snapshot,
    bodies: &mut Bodies,
    row: Row,
    is_summary: bool,
    edits: &HashMap<String, Edit>,
    out: &mut VecDeque<ContextMessage>,
) -> Result<()> {
    let tree = view.tree();
    let node = *tree.node(row);
    let edit = if edits.is_empty() { None } else { edits.get(tree.id_text(row)) };
    if matches!(edit, Some(Edit::Remove)) {
        return Ok(());
    }
    if !contributes(tree, row) && !is_summary {
        return Ok(());
    }
    let mut push = |json: Vec<u8>| {
        let json = match edit {
            Some(Edit::Replace(content)) => edited(json, content),
            _ => json,
        };
        out.push_back(ContextMessage { entry: tree.id(row), json });
    };
    if let Some(message) = bodies.take_made(row) {
        push(message);
        return Ok(());
    }
    let mut more = Vec::new();
    let Some(body) = bodies.all(view, row, &mut more)? else { return Ok(()) };
    match node.kind() {
        Kind::Message => {
            if let Some(message) = message(&body) {
                push(message);
                more.into_iter().for_each(push);
            }
        }
        _ if !is_whole(&body) => {}
        Kind::CustomMessage => push(custom_message(&body, &node)),
        Kind::BranchSummary => {
            let summary = json::get(&body, "summary").filter(|summary| *summary != b"\"\"");
            if let Some(summary) = summary {
                let from = json::get(&body, "fromId");
                push(synthesized(
                    "branchSummary",
                    &[("summary", Some(summary)), ("fromId", from)],
                    &node,
                ));
            }
        }
        _ => {
            if let Some(system) =
                json::get(&body, "systemMessage").filter(|raw| raw.starts_with(b"{"))
            {
                push(system.to_vec());
            }
            let (summary, tokens) = (json::get(&body, "summary"), json::get(&body, "tokensBefore"));
            let fields = [("summary", summary), ("tokensBefore", tokens)];
            push(synthesized("compactionSummary", &fields, &node));
            // Some agents store the messages that the model sees after the summary in the
            // compaction itself.
            more.into_iter().for_each(push);
        }
    }
    Ok(())
}

/// Returns the row and the message of the last line that was read of a log, if [`project`] would take the message
/// from that line without a change.
pub(super) fn message_of(loaded: &Loaded, line: &[u8]) -> Option<(Row, Vec<u8>)> {
    if !loaded.is_suffix_readable() {
        return None;
    }
    let row = Row::new(loaded.tree.row_count().checked_sub(1)?);
    let node = loaded.tree.node(row);
    let is_line = node.offset + node.len + 1 == loaded.complete && node.len == line.len() as u64;
    if !is_line || node.kind() != Kind::Message || node.has(Node::DAMAGED) {
        return None;
    }
    Some((row, message(line)?))
}

/// Returns the message of a message entry, in one pass over its bytes; `None` if the entry is
/// incomplete. Content that is missing or `null` becomes the empty content of its role.
fn message(body: &[u8]) -> Option<Vec<u8>> {
    let mut found = None;
    let mut members = Members::new(body, json::skip_space(body, 0));
    while let Some((key, start)) = members.key() {
        if !json::key_is(&body[key.start + 1..key.end - 1], "message") {
            members.skip_value(start);
        } else if body.get(start) == Some(&b'{') {
            let mut inner = Members::new(body, start);
            let (mut role, mut content) = (None, None);
            for member in &mut inner {
                match &*json::key_name(member.key) {
                    b"role" => role = Some(&body[member.value]),
                    b"content" => content = Some(&body[member.value]),
                    _ => {}
                }
            }
            if let ObjectEnd::Closed(end) = inner.end {
                found = Some((&body[start..end], role, content));
            }
            members.value_ends(inner.end);
        } else {
            members.skip_value(start);
            found = None;
        }
    }
    let (ObjectEnd::Closed(_), Some((message, role, content))) = (members.end, found) else {
        return None;
    };
    if content.is_some_and(|content| content != b"null") {
        return Some(message.to_vec());
    }
    Some(match role.and_then(json::string).as_deref().map(Role::of) {
        Some(Role::System) => json::with_member(message, "content", b"\"\""),
        Some(Role::User | Role::Assistant | Role::ToolResult) => {
            json::with_member(message, "content", b"[]")
        }
        _ => message.to_vec(),
    })
}

fn is_whole(body: &[u8]) -> bool {
    body.starts_with(b"{") && json::skip_value(body, 0).is_some()
}

fn custom_message(body: &[u8], node: &Node) -> Vec<u8> {
    let get = |key| json::get(body, key);
    let content = get("content").filter(|content| *content != b"null").unwrap_or(b"[]");
    let fields = [
        ("customType", get("customType")),
        ("content", Some(content)),
        ("display", get("display")),
        ("details", get("details")),
    ];
    synthesized("custom", &fields, node)
}

/// Returns a message made of an entry's fields; missing fields are left out.
fn synthesized(role: &str, fields: &[(&str, Option<&[u8]>)], node: &Node) -> Vec<u8> {
    let mut out = b"{\"role\":".to_vec();
    json::write_string(&mut out, role);
    for (key, value) in fields {
        if let Some(value) = value {
            out.push(b',');
            json::write_string(&mut out, key);
            out.push(b':');
            out.extend_from_slice(value);
        }
    }
    let time = node.time().map_or("null".to_owned(), |time| time.to_string());
    out.extend_from_slice(format!(",\"timestamp\":{time}}}").as_bytes());
    out
}

/// Returns a message with its content replaced, if messages of its role have content that can be
/// replaced.
pub(crate) fn edited(message: Vec<u8>, content: &[u8]) -> Vec<u8> {
    let role = json::get(&message, "role").and_then(json::string);
    match role.as_deref().map(Role::of) {
        Some(Role::Assistant | Role::ToolResult) if content.starts_with(b"\"") => {
            let block = [b"[{\"type\":\"text\",\"text\":", content, b"}]"].concat();
            json::with_member(&message, "content", &block)
        }
        Some(Role::User | Role::Custom | Role::Assistant | Role::ToolResult) => {
            json::with_member(&message, "content", content)
        }
        _ => message,
    }
}

/// Returns a message with another piece of it appended: the blocks of both, and the metadata of the
/// later piece (whose usage is complete).
pub(crate) fn joined(whole: &[u8], part: &[u8]) -> Vec<u8> {
    let blocks = |message| json::get(message, "content").map(json::elements).unwrap_or_default();
    let content: Vec<&[u8]> = blocks(whole).into_iter().chain(blocks(part)).collect();
    json::with_member(part, "content", &[b"[", &*content.join(&b","[..]), b"]"].concat())
}
