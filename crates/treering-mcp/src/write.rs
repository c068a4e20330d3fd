//! Implements the tools that change sessions, by appending to them or by creating new ones.

use crate::read::{entry, message, open};
use crate::{Control, Settings, args};
use serde_json::{Value, json};
use treering::{EntryId, NewEntry, Position};

pub(crate) fn label(
    settings: &Settings,
    arguments: Value,
    control: &Control<'_>,
) -> Result<Value, String> {
    let args: args::Label = args::parse(arguments)?;
    let session = open(settings, &args.session, control)?;
    let id = entry(&session, &args.entry)?;
    let label = args.label.filter(|label| !label.is_empty());
    session.label(&id, label.as_deref()).map_err(message)?;
    Ok(json!({"entry": id.as_str(), "label": label}))
}

pub(crate) fn branch(
    settings: &Settings,
    arguments: Value,
    control: &Control<'_>,
) -> Result<Value, String> {
    let args: args::At = args::parse(arguments)?;
    let session = open(settings, &args.session, control)?;
    let id = entry(&session, &args.entry)?;
    session.branch(&id).map_err(message)?;
    Ok(json!({"leaf": session.leaf().as_ref().map(EntryId::as_str)}))
}

pub(crate) fn fork(
    settings: &Settings,
    arguments: Value,
    control: &Control<'_>,
) -> Result<Value, String> {
    let args: args::Fork = args::parse(arguments)?;
    let session = open(settings, &args.session, control)?;
    let at = match &args.entry {
        Some(text) => entry(&session, text)?.into(),
        None => Position::Leaf,
    };
    let fork = settings.sessions.fork(&session, at)?;
    Ok(json!({"id": fork.id().as_str(), "agent": fork.dialect().name()}))
}

pub(crate) fn note(
    settings: &Settings,
    arguments: Value,
    control: &Control<'_>,
) -> Result<Value, String> {
    let args: args::Note = args::parse(arguments)?;
    let session = open(settings, &args.session, control)?;
    let data = json!({"text": args.text}).to_string();
    let note = NewEntry::custom("note", Some(data.as_bytes())).map_err(message)?;
    let id = session.append(note).map_err(message)?;
    Ok(json!({"entry": id.as_str()}))
}
