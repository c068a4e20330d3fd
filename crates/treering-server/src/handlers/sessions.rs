//! Lists, creates, describes, names and removes sessions.

use crate::call::{Call, JSON, empty_answer, json_answer, session_id, tagged};
use crate::idempotency;
use crate::operation::Answered;
use crate::problem::{Code, Problem};
use crate::types::{NewName, NewSession, Session as SessionObject, SessionDetail, SessionPage};
use axum::http::{HeaderValue, StatusCode, header};
use std::io;
use std::sync::Arc;
use treering::session::{Creation, Durability};
use treering::storage::{Journal, MemoryJournal};
use treering::store::{Cursor, ListQuery, Store};
use treering::{CreateOptions, Dialect, Error, OpenOptions, Session, SessionId};

/// Returns the query for the part of a list that a call asks for.
pub(crate) fn list_query(call: &Call, limit: usize) -> Result<ListQuery, Problem> {
    let limit = call.count("limit").and_then(|limit| usize::try_from(limit).ok()).unwrap_or(limit);
    let mut query = ListQuery::new().limit(limit);
    if let Some(cursor) = call.text("cursor") {
        let cursor = Cursor::new(cursor);
        if cursor.position().is_none() {
            return Err(Problem::invalid("the cursor was not issued by this server"));
        }
        query = query.after(cursor);
    }
    if let Some(cwd) = call.text("cwd") {
        query = query.cwd(cwd);
    }
    if let Some(directory) = call.text("project") {
        query = query.project(directory);
    }
    if let Some(agent) = call.text("agent").and_then(|agent| agent.parse().ok()) {
        query = query.agent(agent);
    }
    if let Some(since) = call.integer("since") {
        query = query.since(since);
    }
    if let Some(until) = call.integer("until") {
        query = query.until(until);
    }
    Ok(query)
}

pub(crate) async fn list(call: Call) -> Answered {
    let (store, query) = (call.store()?, list_query(&call, ListQuery::LIMIT)?);
    let page = call.node.work.run(move || store.list(&query)).await??;
    let next = page.next.map(|next| next.to_string());
    let sessions = page.sessions.into_iter().map(SessionObject::new).collect();
    json_answer(StatusCode::OK, &SessionPage { sessions, next })
}

pub(crate) async fn create(mut call: Call) -> Answered {
    let detail = match call.media().as_deref() {
        Some(JSON) => create_empty(&mut call).await?,
        _ => (create_of_log(&mut call).await?, StatusCode::CREATED),
    };
    let (detail, status) = detail;
    call.node.feeds.wake(call.space());
    created(&detail, status)
}

/// Returns the response for a session that was created now or before.
pub(crate) fn created(detail: &SessionDetail, status: StatusCode) -> Answered {
    let mut response = tagged(json_answer(status, detail)?, detail.length());
    if let Ok(location) = HeaderValue::try_from(format!("/v1/sessions/{}", detail.id())) {
        response.headers_mut().insert(header::LOCATION, location);
    }
    Ok(response)
}

async fn create_empty(call: &mut Call) -> Result<(SessionDetail, StatusCode), Problem> {
    let new: NewSession = call.json().await?;
    let key = call.text("Idempotency-Key").map(str::to_owned);
    let id = match (&new.id, &key) {
        (Some(id), _) => Some(session_id(&id.0)?),
        (None, Some(key)) => Some(idempotency::session_id(call.space(), key)?),
        (None, None) => None,
    };
    let store = call.store()?;
    let done = call.node.work.run(move || match create_in(&store, &new, id.clone()) {
        Err(Error::SessionExists(_) | Error::AlreadyExists(_)) if key.is_some() => {
            let id = id.unwrap_or_else(SessionId::generate);
            let session = Session::open_in(&store, &id, OpenOptions::new())?;
            if !is_created_by(&session, &new)? {
                return Err(match new.id {
                    Some(_) => Error::SessionExists(id).into(),
                    None => {
                        let detail = "the key was used to create another session before";
                        Problem::new(Code::IdempotencyKeyReused, detail)
                    }
                });
            }
            session.sync()?;
            Ok((SessionDetail::of(&session)?, StatusCode::OK))
        }
        created => Ok((SessionDetail::of(&created?)?, StatusCode::CREATED)),
    });
    done.await?
}

/// Returns whether a session can be the one that a call created. If the call was interrupted before
/// it named the session, the name is set now.
fn is_created_by(session: &Session, new: &NewSession) -> treering::Result<bool> {
    let dialect = new.dialect.map_or(Dialect::default(), |dialect| dialect.0);
    let parent = new.parent_session.as_ref().map(|parent| parent.0.as_str());
    // Not every dialect stores the parent.
    let is_other_parent = session.header().parent_session.is_some_and(|of| parent != Some(&*of));
    if session.cwd() != cwd(new) || session.dialect() != dialect || is_other_parent {
        return Ok(false);
    }
    let wanted = new.name.as_ref().map(|name| name.0.trim()).filter(|name| !name.is_empty());
    match (wanted, session.name()) {
        (Some(name), None) if session.tree().is_empty() => session.set_name(name).map(|_| true),
        // A session that has grown may have been renamed.
        (wanted, name) => Ok(session.tree().len() > 1 || name.as_deref() == wanted),
    }
}

fn cwd(new: &NewSession) -> &str {
    new.cwd.as_ref().map_or("/", |cwd| &cwd.0)
}

fn create_in(
    store: &Arc<dyn Store>,
    new: &NewSession,
    id: Option<SessionId>,
) -> treering::Result<Session> {
    let mut session = treering::session::NewSession::new();
    session.id = id;
    session.dialect = new.dialect.map(|dialect| dialect.0);
    session.parent_session = new.parent_session.as_ref().map(|parent| parent.0.clone().into());
    let mut options = CreateOptions::new().creation(Creation::AtOnce).durability(Durability::Each);
    options.session = session;
    let session = Session::create_in(store, cwd(new), options)?;
    if let Some(name) = &new.name {
        session.set_name(&name.0)?;
    }
    Ok(session)
}

async fn create_of_log(call: &mut Call) -> Result<SessionDetail, Problem> {
    let start = call.bytes().await?;
    let id = call.text("id").ok_or_else(|| Problem::invalid("id is missing"))?;
    let (id, store) = (session_id(id)?, call.store()?);
    let done = call.node.work.run(move || {
        if !start.ends_with(b"\n") {
            return Err(Problem::new(Code::NotASession, "a log consists of whole lines"));
        }
        let memory: Arc<dyn Journal> = Arc::new(MemoryJournal::new(start.to_vec()));
        let session = Session::in_journal(memory, "/", CreateOptions::new())?;
        let created = store.create(&id, &mut &*start);
        if matches!(created, Err(Error::SessionExists(_))) {
            // A client that did not get the response checks whether the session is its own.
            let journal = store.open(&id)?;
            journal.len()?;
            journal.sync()?;
        }
        created?;
        Ok(SessionDetail::of(&session)?.with_id(&id))
    });
    done.await?
}

pub(crate) async fn get(call: Call) -> Answered {
    let detail = call.read(|session| Ok(SessionDetail::of(session)?)).await?;
    let detail = detail.with_id(&call.session_id()?);
    let length = detail.length();
    if call.has_tag(&length.to_string()) {
        return Ok(tagged(empty_answer(StatusCode::NOT_MODIFIED), length));
    }
    Ok(tagged(json_answer(StatusCode::OK, &detail)?, length))
}

pub(crate) async fn remove(call: Call) -> Answered {
    let (store, id) = (call.store()?, call.session_id()?);
    let removed = id.clone();
    let done = call.node.work.run(move || store.remove(&removed)).await?;
    done.map_err(|error| match &error {
        // Another program has the file.
        Error::Io { source, .. } if source.kind() == io::ErrorKind::ResourceBusy => {
            Problem::new(Code::SessionInUse, format!("the session cannot be removed now: {source}"))
        }
        _ => error.into(),
    })?;
    call.node.sessions.forget(call.space(), &id);
    call.node.feeds.wake(call.space());
    Ok(empty_answer(StatusCode::NO_CONTENT))
}

pub(crate) async fn rename(mut call: Call) -> Answered {
    let new: NewName = call.json().await?;
    let detail = call.change(move |session| {
        if session.name().as_deref().unwrap_or_default() != new.name.0.trim() {
            session.set_name(&new.name.0)?;
        }
        Ok(SessionDetail::of(session)?)
    });
    let detail = detail.await?;
    Ok(tagged(json_answer(StatusCode::OK, &detail)?, detail.length()))
}
