//! Reads the result of a conversion by the target's own rules and compares it with the source.

use super::plan::Placement;
use crate::context::{Context, Projection};
use crate::dialect::export::ExportedRecords;
use crate::dialect::facts::NameRule;
use crate::dialect::{Dialect, embed};
use crate::entry::{Block, Kind, MessageView, Role};
use crate::error::{Error, Result};
use crate::json;
use crate::llm::Pairing;
use crate::session::Session;
use crate::snapshot::Snapshot;
use crate::tree::Row;
use std::collections::HashSet;

/// The least number of branch ends that are compared, however long their paths are.
const MIN_COMPARED: usize = 64;

/// The number of entries on all compared paths after which no further end is compared: contexts share
/// most of their entries, so the ends of a large tree would take quadratic time.
const MAX_WALKED: usize = 1 << 20;

/// The number of contexts that were compared, and the number of all contexts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Verified {
    pub compared: usize,
    pub ends: usize,
}

/// The source of a conversion, and how it was converted.
#[derive(Debug, Clone, Copy)]
pub(super) struct Verification<'a> {
    pub source: &'a Session,
    pub plan: &'a Placement,
    pub view: &'a Snapshot,
    pub leaf: Option<Row>,
    pub dialect: Dialect,
}

impl Verification<'_> {
    /// Compares the contexts of the source and of the result: at the active leaf, and at the end of
    /// every branch, the newest first. Where the target writes whole sessions, `records` says where
    /// the entries are, and branches that its format cannot hold are skipped.
    ///
    /// # Errors
    ///
    /// Fails with [`Error::Unfaithful`] at the first difference.
    pub(super) fn contexts(
        &self,
        result: &Session,
        records: Option<&ExportedRecords>,
    ) -> Result<Verified> {
        let Verification { source, plan, view, leaf, dialect } = *self;
        let tree = view.tree();
        // Before the first message, some dialects cannot be distinguished.
        let is_untold = dialect.facts().reads_as == Some(result.dialect())
            && !plan.rows.iter().any(|&row| tree.node(row).kind() == Kind::Message);
        if result.dialect() != dialect && !is_untold {
            return Err(differs(format!("the result reads as {}", result.dialect())));
        }
        let (result_view, result_leaf) = result.view_and_leaf()?;
        let is_exact = self.compare(leaf, &result_view, result_leaf)?;
        if !is_exact {
            return Err(differs("the active branch has further results of tools".into()));
        }
        if !is_same_name(source.name(), result.name(), dialect) {
            return Err(differs("its name differs".into()));
        }
        let ends: Vec<Row> = plan.ends(tree).filter(|&row| Some(row) != leaf).collect();
        let mut verified = Verified { compared: 1, ends: ends.len() + 1 };
        let edits = self.edits(leaf);
        let mut walked = 0;
        for row in ends.into_iter().rev() {
            walked += tree.ancestors(row).count();
            if walked > MAX_WALKED && verified.compared > MIN_COMPARED {
                break;
            }
            // A message in several pieces is one message in the result.
            if !plan.has_whole_messages(tree, row) {
                continue;
            }
            let Some(end) = plan.stand_in(tree, row) else { continue };
            let end = match records {
                None => Some(&end),
                Some(records) => {
                    let is_held = self.edits(Some(row)) == edits
                        && tree
                            .ancestors(row)
                            .all(|row| !records.left_out.contains(tree.id_text(row)));
                    records.tails.get(&end).filter(|_| is_held)
                }
            };
            let Some(end) = end else { continue };
            let end = result_view.tree().find_row(end)?;
            verified.compared += usize::from(self.compare(Some(row), &result_view, Some(end))?);
        }
        Ok(verified)
    }

    /// Returns the context edits on the path to a row. In a format without edits, the messages are
    /// as the edits on the active path left them.
    fn edits(&self, at: Option<Row>) -> Vec<Row> {
        let tree = self.view.tree();
        let path = at.into_iter().flat_map(|at| tree.ancestors(at));
        path.filter(|&row| tree.node(row).kind() == Kind::ContextEdit).collect()
    }

    /// Compares two contexts. Returns false if the result has additional tool results: an exported
    /// session has the results of all branches that ended with one.
    fn compare(&self, at: Option<Row>, after: &Snapshot, result_at: Option<Row>) -> Result<bool> {
        let before = self.view;
        let (theirs, ours) = (before.clone().projection(at)?, after.clone().projection(result_at)?);
        let difference = match self.dialect.facts().export {
            Some(_) => text_difference(theirs, ours)?,
            None => difference(theirs, ours)?.map(Difference::Message),
        };
        let place = at.map_or("the start".to_owned(), |row| before.tree().id(row).to_string());
        match difference {
            None => Ok(true),
            Some(Difference::MoreResults) => Ok(false),
            Some(Difference::Message(what)) => {
                Err(differs(format!("in the context at {place}, {what}")))
            }
        }
    }
}

/// A difference between two contexts.
enum Difference {
    /// The result has tool results that the source does not have, and is equal without them.
    MoreResults,
    Message(String),
}

/// Returns whether the name was kept. A title slot of fixed length cuts a long name, and in some
/// dialects a name cannot be removed.
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

/// Describes the first difference between two contexts, which are read message by message.
fn difference(mut theirs: Projection, mut ours: Projection) -> Result<Option<String>> {
    if theirs.thinking_level != ours.thinking_level {
        return Ok(Some("the thinking level differs".into()));
    }
    let named = |projection: &Projection| {
        let model = projection.model.clone();
        model.filter(|model| model.provider.is_some() || model.model_id.is_some())
    };
    if named(&theirs) != named(&ours) {
        return Ok(Some("the model differs".into()));
    }
    for number in 1.. {
        match (theirs.next().transpose()?, ours.next().transpose()?) {
            (None, None) => break,
            (Some(before), Some(after)) if is_same_message(&before.json, &after.json) => {}
            (Some(_), Some(_)) => return Ok(Some(format!("message {number} differs"))),
            (Some(_), None) => return Ok(Some(format!("message {number} is missing"))),
            (None, Some(_)) => return Ok(Some(format!("message {number} was added"))),
        }
    }
    Ok(None)
}

/// Describes the first difference for formats that hold less: only roles and texts are compared.
fn text_difference(theirs: Projection, ours: Projection) -> Result<Option<Difference>> {
    let (theirs, mut ours) =
        (message_texts(&Context::collect(theirs)?), message_texts(&Context::collect(ours)?));
    let count = ours.len();
    let known: HashSet<&MessageTexts> =
        theirs.iter().filter(|message| message.0 == Role::ToolResult).collect();
    ours.retain(|message| message.0 != Role::ToolResult || known.contains(message));
    let has_more = ours.len() < count;
    let (theirs, ours) = (joined(theirs), joined(ours));
    let place = theirs.iter().zip(&ours).position(|(a, b)| a != b);
    let place = place.or((theirs.len() != ours.len()).then_some(theirs.len().min(ours.len())));
    Ok(match place {
        Some(place) => Some(Difference::Message(format!("message {} differs", place + 1))),
        None => has_more.then_some(Difference::MoreResults),
    })
}

/// Returns whether a message was kept. If the source's message does not name its model, the
/// result's may.
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

/// The role and the texts of a message, which every agent's format can hold.
type MessageTexts = (Role, Vec<String>);

fn message_texts(context: &Context) -> Vec<MessageTexts> {
    let mut all = Vec::new();
    for message in context.to_llm(Pairing::Raw).messages {
        let view = MessageView::new(&message.json);
        // Such a format has no system prompt, which developer messages are a part of.
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
        all.push((view.role(), parts));
    }
    all
}

/// Joins consecutive user messages, as providers do.
fn joined(all: Vec<MessageTexts>) -> Vec<MessageTexts> {
    let mut joined: Vec<MessageTexts> = Vec::new();
    for (role, parts) in all {
        match joined.last_mut() {
            Some((Role::User, before)) if role == Role::User => before.extend(parts),
            _ => joined.push((role, parts)),
        }
    }
    joined
}
