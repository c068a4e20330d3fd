//! Reads the result again, by the target's own rules.

use super::plan::Plan;
use super::write::CLEARED;
use crate::context::Context;
use crate::dialect::{Dialect, carry};
use crate::entry::{Block, Kind, MessageView, Role};
use crate::error::{Error, Result};
use crate::json;
use crate::llm::Pairing;
use crate::session::Session;
use crate::snapshot::Snapshot;
use std::path::Path;

/// Leaves that are compared; more would only say the same again.
const LEAVES: usize = 64;

/// Compares what the model would see, at the active leaf and at the ends of other branches. Returns
/// how many were compared.
pub(super) fn contexts(
    source: &Session,
    plan: &Plan,
    view: &Snapshot,
    leaf: Option<u32>,
    path: &Path,
    dialect: Dialect,
) -> Result<usize> {
    let tree = view.tree();
    let result = Session::open(path)?;
    if result.dialect() != dialect {
        return Err(differs(format!("the result reads as {}", result.dialect())));
    }
    let compare =
        |theirs: &Context, ours: &Context, at: &str| match difference(theirs, ours, dialect) {
            None => Ok(()),
            Some(what) => Err(differs(format!("in the context at {at}, {what}"))),
        };
    let at = leaf.map(|row| tree.id(row));
    let at = at.as_ref().map(|id| id.as_str());
    compare(&source.context_at(at)?, &result.context()?, at.unwrap_or("the start"))?;
    if !is_same_name(source.name(), result.name(), dialect) {
        return Err(differs("its name is another one".into()));
    }
    let mut verified = 1;
    if dialect != Dialect::ClaudeCode {
        let written = plan.rows.iter().copied();
        let is_end = |&row: &u32| {
            // A leaf entry is bookkeeping, not a place where the conversation stood.
            tree.node(row).kind() != Kind::Leaf && tree.children_index().of(row).is_empty()
        };
        let is_whole = |row: &u32| plan.has_whole_messages(tree, *row);
        for row in written.filter(is_end).filter(is_whole).take(LEAVES) {
            let Some(end) = plan.stand_in(tree, row) else { continue };
            let id = tree.id(row);
            let theirs = source.context_at(Some(id.as_str()))?;
            compare(&theirs, &result.context_at(Some(&end))?, id.as_str())?;
            verified += 1;
        }
    }
    Ok(verified)
}

/// omp's title slot cuts a long name; Tau never forgets one.
fn is_same_name(theirs: Option<String>, ours: Option<String>, dialect: Dialect) -> bool {
    match (&theirs, &ours, dialect) {
        (Some(theirs), Some(ours), Dialect::Omp) => theirs.starts_with(ours.as_str()),
        (None, Some(_), Dialect::Tau) => true,
        _ => theirs == ours,
    }
}

fn differs(what: String) -> Error {
    Error::Unfaithful(what)
}

/// What is not the same about two contexts.
fn difference(theirs: &Context, ours: &Context, dialect: Dialect) -> Option<String> {
    if dialect == Dialect::ClaudeCode {
        let (theirs, ours) = (said(theirs), said(ours));
        let place = theirs.iter().zip(&ours).position(|(a, b)| a != b);
        let place = place.or((theirs.len() != ours.len()).then_some(theirs.len().min(ours.len())));
        return place.map(|place| format!("message {} is another one", place + 1));
    }
    let messages = |context: &Context| -> Vec<Vec<u8>> {
        let is_made_up = |json: &[u8]| {
            json::get(json, "summary").and_then(json::string).as_deref() == Some(CLEARED)
        };
        let kept = context.messages.iter().filter(|message| !is_made_up(&message.json));
        kept.map(|message| message.json.clone()).collect()
    };
    let (before, after) = (messages(theirs), messages(ours));
    if before.len() != after.len() {
        return Some(format!("there are {} messages instead of {}", after.len(), before.len()));
    }
    let place = before.iter().zip(&after).position(|(a, b)| !is_same_message(a, b));
    if let Some(place) = place {
        return Some(format!("message {} is another one", place + 1));
    }
    if theirs.thinking_level != ours.thinking_level {
        return Some("the thinking level is another one".into());
    }
    let named = |context: &Context| {
        context.model.clone().filter(|model| model.provider.is_some() || model.model_id.is_some())
    };
    (named(theirs) != named(ours)).then(|| "the model is another one".into())
}

/// Whether a message came through. Where it does not name its model, the result may.
fn is_same_message(before: &[u8], after: &[u8]) -> bool {
    let names = |json| json::get(json, "provider").is_some() || json::get(json, "model").is_some();
    // An entry without a valid time gets that of the one before it.
    let timeless = json::get(before, "timestamp") == Some(b"null");
    let after = match timeless {
        true => json::with_member(after, "timestamp", b"null"),
        false => after.to_vec(),
    };
    if names(before) || !names(&after) {
        return carry::same_members(before, &after);
    }
    carry::same_members(before, &json::without(&after, &["provider", "model"]))
}

/// What was said, and by whom: what every agent's format can hold. Consecutive messages of the user
/// are one: providers join them anyway.
fn said(context: &Context) -> Vec<(Role, Vec<String>)> {
    let mut all: Vec<(Role, Vec<String>)> = Vec::new();
    for message in context.to_llm(Pairing::Raw).messages {
        let view = MessageView::new(&message.json);
        if view.role() == Role::System {
            continue;
        }
        let mut parts: Vec<String> =
            view.field("toolCallId").map(|id| id.into_owned()).into_iter().collect();
        for block in view.blocks() {
            match block {
                Block::Text(text) if !text.is_empty() => parts.push(text.into_owned()),
                Block::ToolCall { id, name, .. } => parts.push(format!("{id} {name}")),
                _ => {}
            }
        }
        match all.last_mut() {
            Some((role, before)) if *role == Role::User && view.role() == Role::User => {
                before.extend(parts);
            }
            _ => all.push((view.role(), parts)),
        }
    }
    all
}
