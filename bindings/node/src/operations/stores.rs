//! Operations on stores.

use super::files::create_options;
use super::plans::{fork_options, search_options};
use super::writing::nothing;
use crate::args::{Args, wrong};
use crate::outcome::{Answer, Outcome};
use std::sync::Arc;
use treering::store::{Cursor, ListQuery, Mark, Store};
use treering::{OpenOptions, Session, SessionId};
use treering_bindings::{Data, Failure, ToData, search_store};

/// Runs an operation; `None` if this module does not have it.
pub(super) fn invoke(store: &Arc<dyn Store>, operation: &str, args: &Args) -> Option<Answer> {
    Some(match operation {
        "location" => Ok(Outcome::of(store.location())),
        "open" => open(store, args),
        "create" => create(store, args),
        "fork" => fork(store, args),
        "list" => list(store, args),
        "remove" => remove(store, args),
        "changes" => changes(store, args),
        "hasNews" => Ok(Outcome::of(store.has_news())),
        "file" => file(store, args),
        "search" => search(store, args),
        _ => return None,
    })
}

fn session_id(args: &Args) -> Result<SessionId, Failure> {
    Ok(SessionId::new(args.needs_text("id")?)?)
}

fn open(store: &Arc<dyn Store>, args: &Args) -> Answer {
    let options = OpenOptions::new().durability(args.durability()?);
    Ok(Outcome::session(Session::open_in(store, &session_id(args)?, options)?))
}

fn create(store: &Arc<dyn Store>, args: &Args) -> Answer {
    Ok(Outcome::session(Session::create_in(store, args.needs_text("cwd")?, create_options(args)?)?))
}

fn fork(store: &Arc<dyn Store>, args: &Args) -> Answer {
    let source = args.other.as_ref().ok_or_else(|| wrong("session", "a session"))?;
    let at = args.position_or_leaf("at", source)?;
    Ok(Outcome::session(source.fork_into(store, at, fork_options(args)?)?))
}

fn list(store: &Arc<dyn Store>, args: &Args) -> Answer {
    let mut query = ListQuery::new();
    if let Some(limit) = args.number("limit")? {
        query = query.limit(usize::try_from(limit).unwrap_or(usize::MAX));
    }
    if let Some(cwd) = args.text("cwd")? {
        query = query.cwd(cwd);
    }
    if let Some(agent) = args.dialect("agent")? {
        query = query.agent(agent);
    }
    if let Some(since) = args.millis("since")? {
        query = query.since(since);
    }
    if let Some(until) = args.millis("until")? {
        query = query.until(until);
    }
    if let Some(cursor) = args.text("cursor")? {
        query = query.after(Cursor::new(cursor));
    }
    let page = store.list(&query)?;
    Ok(Outcome::record(vec![
        ("sessions", page.sessions.to_data()),
        ("next", page.next.map(|cursor| cursor.to_string()).to_data()),
    ]))
}

fn remove(store: &Arc<dyn Store>, args: &Args) -> Answer {
    store.remove(&session_id(args)?)?;
    Ok(nothing())
}

fn changes(store: &Arc<dyn Store>, args: &Args) -> Answer {
    let mark = args.text("mark")?.map(Mark::new);
    let changes = store.changes(mark.as_ref())?;
    let session = |changed: &treering::store::ChangedSession| {
        Data::Record(vec![
            ("id", changed.id.as_str().to_data()),
            ("length", changed.length.to_data()),
        ])
    };
    Ok(Outcome::record(vec![
        ("mark", changes.mark.as_str().to_data()),
        ("sessions", Data::List(changes.sessions.iter().map(session).collect())),
    ]))
}

fn file(store: &Arc<dyn Store>, args: &Args) -> Answer {
    let file = store.file(&session_id(args)?)?;
    Ok(Outcome::of(file.map(|path| path.display().to_string())))
}

fn search(store: &Arc<dyn Store>, args: &Args) -> Answer {
    let query = args.needs_text("query")?;
    Ok(Outcome::of(search_store(store, query, &search_options(args)?, &args.is_cancelled)?))
}
