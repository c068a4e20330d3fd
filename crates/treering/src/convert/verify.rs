//! Reads the result of a conversion by the target's own rules and compares it with the source.

use super::plan::Placement;
use crate::context::{Context, Projection};
use crate::dialect::facts::NameRule;
use crate::dialect::{Dialect, embed};
use crate::entry::{Block, Kind, MessageView, Role};
use crate::error::{Error, Result};
use crate::json;
use crate::llm::Pairing;
use crate::session::Session;
use crate::snapshot::Snapshot;
use crate::tree::Row;

/// The fewest ends of branches that are compared, however long their paths are.
const FEWEST: usize = 64;

/// The number of entries on all compared paths after which no further end is compared: contexts share
/// most of their entries, so the ends of a large tree would take quadratic time.
const ENOUGH: usize = 1 << 20;

/// The contexts that were compared, and those that there are.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Verified {
    pub compared: usize,
    pub ends: usize,
}

/// Compares what the model sees in the source and in the result: at the active leaf, and at the end of
/// every branch, the newest first. A format that sessions are exported to cannot say more than the
/// active branch exactly, so only that is compared there.
///
/// # Errors
///
/// Fails with [`Error::Unfaithful`] at the first difference.
pub(super) fn contexts(
    source: &Session,
    plan: &Placement,
    view: &Snapshot,
    leaf: Option<Row>,
    result: &Session,
    dialect: Dialect,
) -> Result<Verified> {
    let tree = view.tree();
    // Before the first message, some dialects cannot be told from another.
    let is_untold = dialect.facts().reads_as == Some(result.dialect())
        && !plan.rows.iter().any(|&row| tree.node(row).kind() == Kind::Message);
    if result.dialect() != dialect && !is_untold {
        return Err(differs(format!("the result reads as {}", result.dialect())));
    }
    let (result_view, result_leaf) = result.view_and_leaf()?;
    compare(view, leaf, &result_view, result_leaf, dialect)?;
    if !is_same_name(source.name(), result.name(), dialect) {
        return Err(differs("its name is another one".into()));
    }
    let ends: Vec<Row> = plan.ends(tree).filter(|&row| Some(row) != leaf).collect();
    let mut verified = Verified { compared: 1, ends: ends.len() + 1 };
    if dialect.facts().export.is_some() {
        return Ok(verified);
    }
    let mut walked = 0;
    for row in ends.into_iter().rev() {
        walked += tree.ancestors(row).count();
        if walked > ENOUGH && verified.compared > FEWEST {
            break;
        }
        // A message that goes on elsewhere is one message in the result.
        if !plan.has_whole_messages(tree, row) {
            continue;
        }
        let Some(end) = plan.stand_in(tree, row) else { continue };
        let end = result_view.tree().find_row(&end)?;
        compare(view, Some(row), &result_view, Some(end), dialect)?;
        verified.compared += 1;
    }
    Ok(verified)
}

fn compare(
    before: &Snapshot,
    at: Option<Row>,
    after: &Snapshot,
    result_at: Option<Row>,
    dialect: Dialect,
) -> Result<()> {
    let (theirs, ours) = (before.clone().projection(at)?, after.clone().projection(result_at)?);
    let difference = match dialect.facts().export {
        Some(_) => spoken_difference(theirs, ours)?,
        None => difference(theirs, ours)?,
    };
    let place = at.map_or("the start".to_owned(), |row| before.tree().id(row).to_string());
    match difference {
        None => Ok(()),
        Some(what) => Err(differs(format!("in the context at {place}, {what}"))),
    }
}

/// Returns whether the name came through. A slot of fixed length cuts a long name, and some dialects
/// never forget one.
fn is_same_name(theirs: Option<String>, ours: Option<String>, dialect: Dialect) -> bool {
    let facts = dialect.facts();
    match (&theirs, &ours) {
        (Some(theirs), Some(ours)) if facts.title_slot.is_some() => {
            theirs.starts_with(ours.as_str())
        }
        (None, Some(_)) if facts.name_rule == NameRule::NeverCleared => true,
        _ => theirs == ours,
    }
}

fn differs(what: String) -> Error {
    Error::Unfaithful(what)
}

/// Describes what is not the same about two contexts, read message by message.
fn difference(mut theirs: Projection, mut ours: Projection) -> Result<Option<String>> {
    if theirs.thinking_level != ours.thinking_level {
        return Ok(Some("the thinking level is another one".into()));
    }
    let named = |projection: &Projection| {
        let model = projection.model.clone();
        model.filter(|model| model.provider.is_some() || model.model_id.is_some())
    };
    if named(&theirs) != named(&ours) {
        return Ok(Some("the model is another one".into()));
    }
    for number in 1.. {
        match (theirs.next().transpose()?, ours.next().transpose()?) {
            (None, None) => break,
            (Some(before), Some(after)) if is_same_message(&before.json, &after.json) => {}
            (Some(_), Some(_)) => return Ok(Some(format!("message {number} is another one"))),
            (Some(_), None) => return Ok(Some(format!("message {number} is missing"))),
            (None, Some(_)) => return Ok(Some(format!("message {number} was added"))),
        }
    }
    Ok(None)
}

/// Returns the same for formats that hold less: what was said, and by whom.
fn spoken_difference(theirs: Projection, ours: Projection) -> Result<Option<String>> {
    let (theirs, ours) = (said(&Context::collect(theirs)?), said(&Context::collect(ours)?));
    let place = theirs.iter().zip(&ours).position(|(a, b)| a != b);
    let place = place.or((theirs.len() != ours.len()).then_some(theirs.len().min(ours.len())));
    Ok(place.map(|place| format!("message {} is another one", place + 1)))
}

/// Returns whether a message came through. Where it does not name its model, the result may.
fn is_same_message(before: &[u8], after: &[u8]) -> bool {
    let names = |json| json::get(json, "provider").is_some() || json::get(json, "model").is_some();
    // An entry without a valid time gets that of the one before it.
    let timeless = json::get(before, "timestamp") == Some(b"null");
    let after = match timeless {
        true => json::with_member(after, "timestamp", b"null"),
        false => after.to_vec(),
    };
    if names(before) || !names(&after) {
        return embed::same_members(before, &after);
    }
    embed::same_members(before, &json::without(&after, &["provider", "model"]))
}

/// Returns roles and texts, which every agent's format can hold. Consecutive messages of the user
/// are one: providers join them anyway.
fn said(context: &Context) -> Vec<(Role, Vec<String>)> {
    let mut all: Vec<(Role, Vec<String>)> = Vec::new();
    for message in context.to_llm(Pairing::Raw).messages {
        let view = MessageView::new(&message.json);
        // Such a format keeps no system prompt, and what a developer says to the model is part of it.
        if matches!(view.role(), Role::System | Role::Other) {
            continue;
        }
        let mut parts: Vec<String> =
            view.field("toolCallId").map(|id| id.into_owned()).into_iter().collect();
        for block in view.blocks() {
            match block {
                Block::Text { text, .. } if !text.is_empty() => parts.push(text.into_owned()),
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
