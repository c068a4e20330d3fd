//! Implements the tools that read.

use crate::pieces::{self, Budget};
use crate::{Control, Settings, args};
use serde_json::{Value, json};
use std::collections::HashSet;
use std::ops::ControlFlow;
use std::sync::Arc;
use treering::catalog::SessionInfo;
use treering::entry::MessageView;
use treering::{EntryId, Position, Session, SessionId};
use treering_display::preview_line::Calls;
use treering_index::resolve;
use treering_search::{Case, Found, Options, Query, Since, Sort};
use treering_usage::{GroupBy, UsageEvents, UsageSession};

/// The longest title in a list, in characters.
const TITLE: usize = 200;

/// Returns the message of an error.
pub(crate) fn message(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// Opens the session that a text names.
pub(crate) fn open(
    settings: &Settings,
    text: &str,
    control: &Control<'_>,
) -> Result<Arc<Session>, String> {
    let id = SessionId::new(text).ok();
    if let Some(session) = id.and_then(|id| settings.sessions.open_id(&id)) {
        return Ok(session);
    }
    let sessions = settings.sessions.list(control)?;
    let info = resolve(text, &sessions, &settings.project).map_err(message)?;
    settings.sessions.open(info)
}

/// Returns the entry that a text refers to.
pub(crate) fn entry(session: &Session, text: &str) -> Result<EntryId, String> {
    session.resolve(text).found(text).map_err(message)
}

fn position(session: &Session, leaf: Option<&str>) -> Result<Position, String> {
    leaf.map_or(Ok(Position::Leaf), |text| Ok(entry(session, text)?.into()))
}

fn time(millis: Option<i64>) -> Value {
    millis.map_or(Value::Null, |millis| json!(treering::time::format(millis)))
}

fn session(info: &SessionInfo) -> Value {
    let title = treering_display::line::excerpt(info.title(), TITLE);
    json!({
        "id": info.id.as_str(),
        "agent": info.agent.name(),
        "project": info.cwd,
        "title": title,
        "modified": time(Some(info.modified)),
        "messages": info.message_count,
        "branches": info.branch_count,
        "tokens_used": info.tokens,
        "cost": info.cost,
    })
}

/// Returns whether a text contains another one, ignoring case.
fn contains(text: &str, wanted: Option<&String>) -> bool {
    wanted.is_none_or(|wanted| text.to_lowercase().contains(&wanted.to_lowercase()))
}

fn since(text: Option<&String>, now: i64) -> Result<i64, String> {
    text.map_or(Ok(i64::MIN), |text| Ok(Since::parse(text)?.at(now)))
}

pub(crate) fn list_sessions(
    settings: &Settings,
    arguments: Value,
    control: &Control<'_>,
) -> Result<Value, String> {
    let args: args::ListSessions = args::parse(arguments)?;
    let agent = args.agent.as_deref().map(treering_search::agent).transpose()?;
    let since = since(args.since.as_ref(), (settings.clock)())?;
    let sessions = settings.sessions.list(control)?;
    let is_wanted = |info: &&SessionInfo| {
        agent.is_none_or(|agent| info.agent == agent)
            && info.modified >= since
            && contains(&info.cwd, args.project.as_ref())
            && (contains(info.title(), args.text.as_ref())
                || contains(&info.cwd, args.text.as_ref()))
    };
    let wanted: Vec<&SessionInfo> = sessions.iter().filter(is_wanted).collect();
    let start = match &args.cursor {
        None => 0,
        Some(last) => {
            let at = wanted.iter().position(|info| info.id.as_str() == last);
            at.ok_or("the session of this cursor is not in the list any more: begin again")? + 1
        }
    };
    let limit = args.limit.unwrap_or(20).clamp(1, 200);
    let shown: Vec<&&SessionInfo> = wanted.iter().skip(start).take(limit).collect();
    let has_more = start + shown.len() < wanted.len();
    let next = shown.last().filter(|_| has_more).map(|info| info.id.as_str());
    let sessions: Vec<Value> = shown.iter().map(|info| session(info)).collect();
    Ok(json!({"sessions": sessions, "total": wanted.len(), "next_cursor": next}))
}

pub(crate) fn search(
    settings: &Settings,
    arguments: Value,
    control: &Control<'_>,
) -> Result<Value, String> {
    let args: args::Search = args::parse(arguments)?;
    let query = Query::parse(&args.query, Case::Ignored).map_err(message)?;
    let (skipped, limit) = (args.cursor.unwrap_or(0), args.limit.unwrap_or(20).clamp(1, 200));
    let options = Options::new()
        .sort(if args.by_relevance { Sort::Relevance } else { Sort::Newest })
        .hits_per_session(args.per_session.unwrap_or(3).clamp(1, 100))
        .counts_all(false)
        // One more hit shows whether there are more.
        .max_hits(skipped.saturating_add(limit).saturating_add(1))
        .now((settings.clock)())
        .snippet_width(300);
    let (mut at, mut sessions) = (0_usize, Vec::new());
    let mut each = |found: Found| {
        let found = match found {
            Found::Session(found) => found,
            Found::Searched(progress) => {
                control.report(progress);
                return ControlFlow::Continue(());
            }
            _ => return ControlFlow::Continue(()),
        };
        let mut hits = Vec::new();
        for hit in &found.hits {
            if at >= skipped && at < skipped.saturating_add(limit) {
                hits.push(json!({
                    "entry": hit.entry.as_ref().map(EntryId::as_str),
                    "role": hit.name,
                    "part": hit.part.name(),
                    "state": hit.state.name(),
                    "time": time(hit.time),
                    "snippet": hit.snippet.text,
                }));
            }
            at += 1;
        }
        if !hits.is_empty() {
            sessions.push(json!({"session": session(&found.info), "hits": hits}));
        }
        ControlFlow::Continue(())
    };
    let summary = settings.sessions.search(&query, &options, control, &mut each)?;
    let next = (at > skipped.saturating_add(limit)).then(|| skipped + limit);
    let mut answer =
        json!({"sessions": sessions, "next_cursor": next, "files_searched": summary.files});
    if control.is_canceled() {
        answer["incomplete"] = json!(
            "the search stopped because it took too long: add project:, agent:, model: or since: to search fewer sessions"
        );
    }
    Ok(answer)
}

pub(crate) fn read_session(
    settings: &Settings,
    arguments: Value,
    control: &Control<'_>,
) -> Result<Value, String> {
    let args: args::ReadSession = args::parse(arguments)?;
    let session = open(settings, &args.session, control)?;
    let tree = session.tree();
    let leaf = match &args.leaf {
        Some(leaf) => Some(entry(&session, leaf)?),
        None => session.leaf(),
    };
    let mut path = match leaf {
        Some(leaf) => tree.path(&leaf).map_err(message)?,
        None => Vec::new(),
    };
    if args.newest_first {
        path.reverse();
    }
    let start = match &args.cursor {
        None => 0,
        Some(last) => {
            let at = path.iter().position(|id| id.as_str() == last);
            at.ok_or("the entry of this cursor is not on this path: begin again")? + 1
        }
    };
    let (mut reader, mut budget) = (session.reader(), Budget::new(args.max_tokens));
    let (mut entries, mut next) = (Vec::new(), None);
    let mut last = None;
    for id in path.iter().skip(start) {
        let entry = reader.entry(id).map_err(message)?;
        let text = pieces::text(&entry, args.thinking);
        if text.is_empty() {
            last = Some(id);
            continue;
        }
        let (piece, is_cut) = pieces::beginning(&text, budget.each);
        if !budget.take(piece) {
            next = last.map(EntryId::as_str);
            break;
        }
        entries.push(json!({
            "id": id.as_str(),
            "role": pieces::role(&entry),
            "time": time(entry.time()),
            "label": tree.label(id.as_str()),
            "text": piece,
            "tokens": pieces::tokens(&text),
            "cut": is_cut,
        }));
        last = Some(id);
    }
    Ok(json!({
        "id": session.id().as_str(),
        "agent": session.dialect().name(),
        "project": session.cwd(),
        "entries_on_path": path.len(),
        "entries": entries,
        "next_cursor": next,
    }))
}

pub(crate) fn read_entry(
    settings: &Settings,
    arguments: Value,
    control: &Control<'_>,
) -> Result<Value, String> {
    let args: args::ReadEntry = args::parse(arguments)?;
    let session = open(settings, &args.session, control)?;
    let id = entry(&session, &args.entry)?;
    let entry = session.entry(&id).map_err(message)?;
    let text = pieces::text(&entry, true);
    let rest = text.get(args.offset..).ok_or("the offset is not one that was returned")?;
    let (piece, is_cut) = pieces::beginning(rest, Budget::new(args.max_tokens).left);
    let next = is_cut.then(|| args.offset + piece.len());
    Ok(json!({
        "id": id.as_str(),
        "parent": entry.parent().map(EntryId::as_str),
        "role": pieces::role(&entry),
        "time": time(entry.time()),
        "label": session.tree().label(id.as_str()),
        "text": piece,
        "tokens": pieces::tokens(&text),
        "next_offset": next,
    }))
}

pub(crate) fn read_context(
    settings: &Settings,
    arguments: Value,
    control: &Control<'_>,
) -> Result<Value, String> {
    let args: args::ReadContext = args::parse(arguments)?;
    let session = open(settings, &args.session, control)?;
    let position = position(&session, args.leaf.as_deref())?;
    let context = session.context_at(position.clone()).map_err(message)?;
    let all = session.context_tokens_at(position).map_err(message)?.tokens;
    let mut budget = Budget::new(args.max_tokens);
    let (mut messages, mut next) = (Vec::new(), None);
    for (at, each) in context.messages.iter().enumerate().skip(args.cursor) {
        let view = MessageView::new(&each.json);
        let text = pieces::message_text(view, false);
        let (piece, is_cut) = pieces::beginning(&text, budget.each);
        if !budget.take(piece) {
            next = Some(at);
            break;
        }
        messages.push(json!({
            "entry": each.entry.as_str(),
            "role": view.role_name(),
            "text": piece,
            "tokens": pieces::tokens(&text),
            "cut": is_cut,
        }));
    }
    Ok(json!({
        "id": session.id().as_str(),
        "model": context.model.as_ref().and_then(|model| model.full_name()),
        "tokens": all,
        "messages_in_context": context.messages.len(),
        "messages": messages,
        "next_cursor": next,
    }))
}

pub(crate) fn read_tree(
    settings: &Settings,
    arguments: Value,
    control: &Control<'_>,
) -> Result<Value, String> {
    let args: args::ReadTree = args::parse(arguments)?;
    let session = open(settings, &args.session, control)?;
    let tree = session.tree();
    let leaf = session.leaf();
    let active: HashSet<EntryId> = match &leaf {
        Some(leaf) => tree.path(leaf).map_err(message)?.into_iter().collect(),
        None => HashSet::new(),
    };
    let limit = args.limit.unwrap_or(100).clamp(1, 1000);
    let (mut reader, mut calls) = (session.reader(), Calls::default());
    let mut entries = Vec::new();
    for id in tree.ids().skip(args.cursor).take(limit) {
        let entry = reader.entry(&id).map_err(message)?;
        entries.push(json!({
            "id": id.as_str(),
            "parent": tree.parent(&id).map_err(message)?.as_ref().map(EntryId::as_str),
            "role": pieces::role(&entry),
            "preview": pieces::preview(&entry, &mut calls),
            "label": tree.label(id.as_str()),
            "active": active.contains(&id),
        }));
    }
    let end = args.cursor.saturating_add(entries.len());
    Ok(json!({
        "id": session.id().as_str(),
        "leaf": leaf.as_ref().map(EntryId::as_str),
        "total": tree.len(),
        "entries": entries,
        "next_cursor": (end < tree.len()).then_some(end),
    }))
}

pub(crate) fn usage(
    settings: &Settings,
    arguments: Value,
    control: &Control<'_>,
) -> Result<Value, String> {
    let args: args::Usage = args::parse(arguments)?;
    let (by, is_time) = match args.by.as_deref().unwrap_or("day") {
        "day" => (GroupBy::Day, true),
        "week" => (GroupBy::Week, true),
        "month" => (GroupBy::Month, true),
        "project" => (GroupBy::Project, false),
        "agent" => (GroupBy::Agent, false),
        "model" => (GroupBy::Model, false),
        "session" => (GroupBy::Session, false),
        other => {
            return Err(format!(
                "there are no rows by {other:?}: use day, week, month, project, agent, model or session"
            ));
        }
    };
    let now = (settings.clock)();
    let start = match &args.since {
        Some(text) => match settings.zone.day_range(text, now) {
            Some(day) => day.start,
            None => since(Some(text), now)?,
        },
        None => i64::MIN,
    };
    let agent = args.agent.as_deref().map(treering_search::agent).transpose()?;
    let found = settings.sessions.usage(control)?;
    let sessions: Vec<UsageSession<'_>> = found
        .sessions
        .iter()
        .filter(|(info, _)| agent.is_none_or(|agent| info.agent == agent))
        .filter(|(info, _)| contains(&info.cwd, args.project.as_ref()))
        .map(|(info, events)| UsageSession { info, events })
        .collect();
    let counted = UsageEvents::count(found.seed, &sessions, &settings.prices).within(start..);
    let report = counted.report(by, &settings.zone);
    let row = |row: &treering_usage::Row<'_>| {
        let usage = row.usage;
        let is_known = usage.requests > usage.unknown();
        json!({
            "name": row.name,
            "sessions": row.sessions,
            "requests": usage.requests,
            "input": usage.input,
            "output": usage.output,
            "cache_read": usage.cache_read,
            "cache_write": usage.cache_write,
            "cost": is_known.then(|| usage.total_cost().dollars()),
            "cost_computed": usage.computed_requests > 0,
            "requests_of_unknown_cost": usage.unknown(),
        })
    };
    let limit = args.limit.unwrap_or(31).clamp(1, 1000);
    let skipped = if is_time { report.rows.len().saturating_sub(limit) } else { 0 };
    let rows: Vec<Value> = report.rows.iter().skip(skipped).take(limit).map(row).collect();
    Ok(json!({
        "rows": rows,
        "rows_left_out": report.rows.len() - rows.len(),
        "sessions_not_read": found.missing,
        "total": row(&report.total),
        "prices": {"source": settings.prices.source(), "date": settings.prices.date()},
    }))
}
