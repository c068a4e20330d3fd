//! Moves the leaf and labels entries; forks, copies, merges and compacts branches; edits the context.

use super::export::redactor;
use super::sessions::created;
use crate::call::{Call, json_answer, session_id, tagged};
use crate::idempotency;
use crate::operation::Answered;
use crate::problem::{Code, Problem};
use crate::types::{
    Compacted, ContextEdited, EditKind, Leaf, Merged, NewCompaction, NewContextEdit, NewFork,
    NewLabel, NewLeaf, NewMerge, NewPick, Picked, SessionDetail,
};
use axum::http::StatusCode;
use std::sync::Arc;
use treering::compaction::{CompactionSettings, Preparation, Prepared, SummarySource};
use treering::merge::{Merge, MergePlan, MergeSummary, Repeated, Selection};
use treering::session::{Creation, Durability};
use treering::{EntryId, Error, ForkOptions, OpenOptions, Position, Session};
use treering_agent::{Conversation, Extractive};

fn names(ids: &[EntryId]) -> Vec<String> {
    ids.iter().map(EntryId::to_string).collect()
}

fn leaf_answer(session: &Session) -> Leaf {
    let leaf = session.leaf().map(|leaf| leaf.to_string());
    Leaf { leaf, length: session.log_length() }
}

pub(crate) async fn move_leaf(mut call: Call) -> Answered {
    let new: NewLeaf = call.json().await?;
    let expected = expected_leaf(&call);
    let leaf = call.change(move |session| {
        check_leaf(session, &expected)?;
        let position = match &new.entry {
            Some(entry) => Position::Entry(entry.0.as_str().into()),
            None => Position::Start,
        };
        session.branch(position)?;
        Ok(leaf_answer(session))
    });
    let leaf = leaf.await?;
    Ok(tagged(json_answer(StatusCode::OK, &leaf)?, leaf.length))
}

/// Returns the leaf that `If-Match` names.
fn expected_leaf(call: &Call) -> Option<String> {
    call.if_match().map(str::to_owned)
}

fn check_leaf(session: &Session, expected: &Option<String>) -> Result<(), Problem> {
    let Some(expected) = expected else { return Ok(()) };
    let actual = session.leaf();
    let expected = Some(expected.as_str()).filter(|leaf| !leaf.is_empty()).map(EntryId::from);
    match actual == expected {
        true => Ok(()),
        false => Err(Error::LeafMoved { expected, actual }.into()),
    }
}

pub(crate) async fn label(mut call: Call) -> Answered {
    let new: NewLabel = call.json().await?;
    let entry = call.text("entry").unwrap_or_default().to_owned();
    let leaf = call.change(move |session| {
        let tree = session.tree();
        let entry = tree.find(&entry)?;
        let label =
            new.label.as_ref().map(|label| label.0.as_str()).filter(|label| !label.is_empty());
        if tree.label(&entry) != label {
            session.label(&entry, label)?;
        }
        Ok(leaf_answer(session))
    });
    let leaf = leaf.await?;
    Ok(tagged(json_answer(StatusCode::OK, &leaf)?, leaf.length))
}

pub(crate) async fn fork(mut call: Call) -> Answered {
    let new: NewFork = call.json().await?;
    let key = call.text("Idempotency-Key").map(str::to_owned);
    let id = match (&new.id, &key) {
        (Some(id), _) => Some(session_id(&id.0)?),
        (None, Some(key)) => Some(idempotency::fork_id(call.space(), &call.session_id()?, key)?),
        (None, None) => None,
    };
    let store = call.store()?;
    let done = call.read(move |session| {
        let redacted = match new.redact {
            Some(true) => Some(redactor()?.session(session)?),
            _ => None,
        };
        let session = redacted.as_ref().unwrap_or(session);
        let position = match &new.at {
            Some(entry) => Position::Entry(entry.0.as_str().into()),
            None => Position::Leaf,
        };
        let mut options =
            ForkOptions::new().creation(Creation::AtOnce).durability(Durability::Each);
        options.dialect = new.dialect.map(|dialect| dialect.0);
        options.cwd = new.cwd.as_ref().map(|cwd| cwd.0.clone().into());
        options.id.clone_from(&id);
        match (session.fork_into(&store, position, options), &id) {
            (Err(Error::SessionExists(_) | Error::AlreadyExists(_)), Some(id)) if key.is_some() => {
                let fork = Session::open_in(&store, id, OpenOptions::new())?;
                if !is_forked_by(&fork, session, &new)? {
                    return Err(match new.id {
                        Some(_) => Error::SessionExists(id.clone()).into(),
                        None => {
                            let detail = "the key was used for another fork before";
                            Problem::new(Code::IdempotencyKeyReused, detail)
                        }
                    });
                }
                fork.sync()?;
                Ok((SessionDetail::of(&fork)?, StatusCode::OK))
            }
            (fork, _) => Ok((SessionDetail::of(&fork?)?, StatusCode::CREATED)),
        }
    });
    let (detail, status) = done.await?;
    call.node.feeds.wake(call.space());
    created(&detail, status)
}

/// Returns whether a session can be the fork that a call made: it has the path to the entry, and
/// does not begin with more than that. A fork in another dialect may have other ids, and is not
/// compared.
fn is_forked_by(fork: &Session, source: &Session, new: &NewFork) -> treering::Result<bool> {
    let cwd = new.cwd.as_ref().map_or_else(|| source.cwd(), |cwd| cwd.0.clone());
    let dialect = new.dialect.map(|dialect| dialect.0);
    if fork.cwd() != cwd || dialect.is_some_and(|dialect| dialect != fork.dialect()) {
        return Ok(false);
    }
    let Some(at) = new.at.as_ref().filter(|_| fork.dialect() == source.dialect()) else {
        return Ok(true);
    };
    let (source, fork) = (source.tree(), fork.tree());
    let path = source.path(&at.0)?;
    let Some(last) = path.last() else { return Ok(true) };
    let is_longer = source.children(last)?.iter().any(|child| fork.contains(child));
    Ok(path.iter().all(|entry| fork.contains(entry)) && !is_longer)
}

pub(crate) async fn cherry_pick(mut call: Call) -> Answered {
    let new: NewPick = call.json().await?;
    let source: Option<Arc<Session>> = match &new.from {
        Some(from) => {
            let from = session_id(&from.0)?;
            Some(call.read_session(from, |session| Ok(Arc::clone(session))).await?)
        }
        None => None,
    };
    let picked = call.change(move |session| {
        let source = source.as_deref().unwrap_or(session);
        let first = EntryId::from(new.first.0.as_str());
        let selection = match &new.last {
            Some(last) => Selection::range(first, last.0.as_str()),
            None => Selection::entry(first),
        };
        let is_forced = new.force == Some(true);
        let repeated = if is_forced { Repeated::Copied } else { Repeated::Skipped };
        let plan = session.plan_pick(source, &selection, repeated)?;
        let is_dry = new.dry_run == Some(true);
        let ids = if is_dry { Vec::new() } else { session.apply_pick(&plan)? };
        Ok(Picked {
            entries: names(&plan.entries),
            ids: names(&ids),
            companions: names(&plan.companions),
            skipped: plan.skipped.iter().map(|(from, _)| from.to_string()).collect(),
            left_out: names(&plan.left_out),
            tokens: plan.tokens,
        })
    });
    json_answer(StatusCode::OK, &picked.await?)
}

pub(crate) async fn merge(mut call: Call) -> Answered {
    let new: NewMerge = call.json().await?;
    let merged = call.change(move |session| {
        let Merge::Ready(plan) = session.plan_merge(new.from.0.as_str(), 0)? else {
            let (id, entries, copies) = (None, Vec::new(), Vec::new());
            return Ok(Merged { merged: false, id, entries, copies, tokens: 0 });
        };
        let plan: &MergePlan = &plan;
        let mut merged = Merged {
            merged: false,
            id: None,
            entries: names(&plan.entries),
            copies: Vec::new(),
            tokens: plan.total_tokens,
        };
        if new.dry_run == Some(true) {
            return Ok(merged);
        }
        merged.merged = true;
        match &new.summary {
            Some(summary) => {
                let text = plan.compose(summary);
                let summary = MergeSummary::new(&text);
                merged.id = Some(session.apply_merge_summary(plan, summary)?.to_string());
            }
            None => {
                let done = session.apply_merge(plan)?;
                merged.id = Some(done.record.to_string());
                merged.copies = names(&done.copies);
            }
        }
        Ok(merged)
    });
    json_answer(StatusCode::OK, &merged.await?)
}

pub(crate) async fn compact(mut call: Call) -> Answered {
    let new: NewCompaction = call.json().await?;
    let compacted = call.change(move |session| compact_session(session, &new));
    json_answer(StatusCode::OK, &compacted.await?)
}

pub(crate) async fn edit_context(mut call: Call) -> Answered {
    let new: NewContextEdit = call.json().await?;
    let expected = expected_leaf(&call);
    let edited = call.change(move |session| {
        check_leaf(session, &expected)?;
        let entries = new.entries.0.iter().map(|entry| entry.0.as_str());
        let plan = match (new.edit, &new.text, new.entries.0.as_slice()) {
            (EditKind::Drop, None, _) => session.plan_drop(entries)?,
            (EditKind::Restore, None, _) => session.plan_restore(entries)?,
            (EditKind::Replace, Some(text), [entry]) => session.plan_replace(&entry.0, text)?,
            (EditKind::Replace, ..) => {
                let detail = "`replace` takes one entry and a text";
                return Err(Problem::new(Code::NotApplicable, detail));
            }
            (EditKind::Drop | EditKind::Restore, ..) => {
                let detail = "only `replace` takes a text";
                return Err(Problem::new(Code::NotApplicable, detail));
            }
        };
        let is_dry = new.dry_run == Some(true);
        let edits = if is_dry { Vec::new() } else { session.apply_edit(&plan)? };
        Ok(ContextEdited {
            targets: names(&plan.targets),
            companions: names(&plan.companions),
            edits: names(&edits),
            tokens_before: plan.tokens_before,
            tokens_after: plan.tokens_after,
        })
    });
    json_answer(StatusCode::OK, &edited.await?)
}

fn compact_session(session: &Session, new: &NewCompaction) -> Result<Compacted, Problem> {
    let mut settings = CompactionSettings::default();
    if let Some(keep) = new.keep_recent_tokens {
        settings.keep_recent_tokens = keep;
    }
    let mut compacted = Compacted {
        compacted: false,
        reason: None,
        id: None,
        first_kept_entry_id: None,
        tokens_before: None,
        tokens_kept: None,
        conversation: None,
        summary: None,
    };
    let plan = match session.plan_compaction(&settings)? {
        Preparation::Ready(plan) => plan.read()?,
        Preparation::TooSmall => {
            compacted.reason = Some("too_small".to_owned());
            return Ok(compacted);
        }
        Preparation::AlreadyCompacted => {
            compacted.reason = Some("already_compacted".to_owned());
            return Ok(compacted);
        }
    };
    compacted.first_kept_entry_id = Some(plan.first_kept.to_string());
    compacted.tokens_before = Some(plan.tokens_before);
    compacted.tokens_kept = Some(plan.tokens_kept);
    if new.dry_run == Some(true) {
        let all = plan.messages_to_summarize.iter().chain(&plan.turn_prefix);
        let all: Vec<_> = all.cloned().collect();
        compacted.conversation = Some(treering::compaction::conversation_text(&all));
        return Ok(compacted);
    }
    let summary = match &new.summary {
        Some(summary) => plan.compose(Some(summary), None),
        None => extract(&plan),
    };
    let entry = plan.entry(&summary, SummarySource::Summarizer)?;
    compacted.id = Some(session.apply_compaction(&plan, entry)?.to_string());
    compacted.compacted = true;
    compacted.summary = Some(summary);
    Ok(compacted)
}

/// Returns a summary of quotations, which needs no model.
fn extract(plan: &Prepared) -> String {
    let extractive = Extractive::default();
    let summarize = |messages: &[treering::context::ContextMessage], previous: Option<String>| {
        let messages: Vec<Vec<u8>> = messages.iter().map(|message| message.json.clone()).collect();
        let mut conversation = Conversation::new(messages);
        conversation.previous_summary = previous;
        extractive.extract(&conversation)
    };
    let history = (!plan.messages_to_summarize.is_empty() || plan.previous_summary.is_some())
        .then(|| summarize(&plan.messages_to_summarize, plan.previous_summary.clone()));
    let prefix = plan.is_split_turn.then(|| summarize(&plan.turn_prefix, None));
    plan.compose(history.as_deref(), prefix.as_deref())
}
