//! Begins a turn: writes the user's message, or finds what to answer without one.

use super::name_of;
use crate::chat::ChatModel;
use crate::error::AgentError;
use treering::entry::MessageView;
use treering::provider::Pairing;
use treering::{Context, EntryId, Error, Message, NewEntry, Role, Session};

/// Returns the entry that records a change of the model, if there is one.
fn model_change(session: &Session, model: &dyn ChatModel) -> Result<Option<NewEntry>, Error> {
    let is_same = session.projection()?.model.as_ref() == Some(&name_of(model));
    Ok((!is_same).then(|| NewEntry::model_change(model.provider(), model.model())))
}

/// Returns whether a conversation ends with something to answer. Answers that failed or were aborted can
/// be retried.
pub(super) fn ends_with_question(context: &Context) -> Result<bool, Error> {
    let messages = context.to_llm(Pairing::Strict).messages;
    let mut rest = messages.iter().rev().map(|message| MessageView::new(&message.json));
    let last = rest.find(|message| match message.role() {
        Role::System => false,
        Role::Assistant => {
            !matches!(message.field("stopReason").as_deref(), Some("error" | "aborted"))
        }
        _ => true,
    });
    Ok(last.is_some_and(|last| last.role() != Role::Assistant))
}

/// Moves the leaf before answers that failed, and records a change of the model. Returns the entry to
/// answer.
pub(super) fn begin_at_leaf(
    session: &Session,
    model: &dyn ChatModel,
) -> Result<EntryId, AgentError> {
    session.rewind_failed()?;
    let leaf = session.leaf().ok_or(AgentError::NothingToAnswer)?;
    match model_change(session, model)? {
        Some(change) => Ok(session.append(change)?),
        None => Ok(leaf),
    }
}

/// Writes the user's message in one append, after a change of the model if there is one.
pub(super) fn write_question(
    session: &Session,
    model: &dyn ChatModel,
    text: &str,
) -> Result<EntryId, Error> {
    let mut entries: Vec<NewEntry> = model_change(session, model)?.into_iter().collect();
    let id = session.new_id();
    entries.push(Message::user(text).into_entry().with_id(id.clone()));
    session.append_all(&entries)?;
    Ok(id)
}
