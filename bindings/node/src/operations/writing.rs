//! Operations that write to a session.

use crate::args::Args;
use crate::outcome::{Answer, Outcome};
use treering::entry::TokenUsage;
use treering::session::LeafMoves;
use treering::{EntryId, NewEntry, Session};
use treering_bindings::{Failure, ToData};

/// Runs an operation; `None` if this module does not have it.
pub(super) fn invoke(session: &Session, operation: &str, args: &Args) -> Option<Answer> {
    Some(match operation {
        "append" => append(session, args),
        "appendRecords" => session.append_records(&args.data).map(ids).map_err(Failure::from),
        "appendLate" => append_late(session, args),
        "branch" => branch(session, args),
        "branchWithSummary" => branch_with_summary(session, args),
        "label" => label(session, args),
        "setName" => set_name(session, args),
        "newId" => Ok(id(session.new_id())),
        "refresh" => session.refresh().map(ids).map_err(Failure::from),
        "follow" => session
            .follow()
            .map(|leaf| Outcome::of(leaf.map(|id| id.to_string())))
            .map_err(Failure::from),
        "sync" => session.sync().map(|()| nothing()).map_err(Failure::from),
        "recreate" => session.recreate().map(|()| nothing()).map_err(Failure::from),
        "upgrade" => session.upgrade().map(Outcome::of).map_err(Failure::from),
        "planUpgrade" => session.plan_upgrade().map(Outcome::of).map_err(Failure::from),
        "checkWritable" => session.check_writable().map(|()| nothing()).map_err(Failure::from),
        "rewindFailed" => session.rewind_failed().map(ids).map_err(Failure::from),
        _ => return None,
    })
}

pub(super) fn nothing() -> Outcome {
    Outcome::Json(b"null".to_vec())
}

pub(super) fn id(id: EntryId) -> Outcome {
    Outcome::of(id.as_str())
}

pub(super) fn ids(ids: Vec<EntryId>) -> Outcome {
    Outcome::of(ids.iter().map(|id| id.as_str().to_data()).collect::<Vec<_>>())
}

fn new_entries(args: &Args) -> Result<Vec<NewEntry>, Failure> {
    args.data.iter().map(|json| Ok(NewEntry::from_json(json.as_bytes())?)).collect()
}

fn append(session: &Session, args: &Args) -> Answer {
    let entries = new_entries(args)?;
    let appended = match args.position("expecting")? {
        Some(leaf) => session.append_expecting(leaf, &entries)?,
        None if args.flag("following")? => session.append_following(&entries)?,
        None => session.append_all(&entries)?,
    };
    Ok(ids(appended))
}

/// Appends to a branch that may have been left meanwhile.
fn append_late(session: &Session, args: &Args) -> Answer {
    let entries = new_entries(args)?;
    let expected = args.position_or_leaf("expecting", session)?;
    let mut moves = LeafMoves::none(expected);
    if args.flag("moveFile")? {
        moves = moves.moving_file_leaf();
    }
    if let Some(own) = args.position("moveOwnFrom")? {
        moves = moves.moving_session_leaf_at(own);
    }
    Ok(ids(session.append_to_branch(&entries, &moves)?))
}

fn branch(session: &Session, args: &Args) -> Answer {
    let to = args.needs_position("to")?;
    if args.flag("inMemory")? {
        session.branch_in_memory(to)?;
        return Ok(Outcome::of(session.leaf().map(|id| id.to_string())));
    }
    Ok(Outcome::of(session.branch(to)?.map(|id| id.to_string())))
}

fn branch_with_summary(session: &Session, args: &Args) -> Answer {
    let to = args.needs_position("to")?;
    let is_from_hook = args.flag("fromHook")?;
    let usage =
        args.value("usage").and_then(|usage| TokenUsage::from_json(usage.to_string().as_bytes()));
    let added = session.branch_with_summary(to, args.needs_text("summary")?, |mut entry| {
        if let Some(details) = args.data.first() {
            entry = entry.with_details(details)?;
        }
        if let Some(usage) = usage {
            entry = entry.with_usage(usage);
        }
        Ok(if is_from_hook { entry.from_hook() } else { entry })
    })?;
    Ok(id(added))
}

fn label(session: &Session, args: &Args) -> Answer {
    Ok(id(session.label(args.needs_text("id")?, args.text("label")?)?))
}

fn set_name(session: &Session, args: &Args) -> Answer {
    Ok(id(session.set_name(args.needs_text("name")?)?))
}
