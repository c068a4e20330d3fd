//! The Model Context Protocol at `/mcp`: the tools of `treering-mcp` over the sessions of the token's space.
//!
//! Every message is a `POST` with one response. A client that asks for progress gets notifications
//! before the response. There is no state between messages, so any node can answer any of them, and
//! a client cancels by closing its connection. Tools that change sessions are offered only to
//! tokens with the scope to write.

mod exchange;

use crate::auth::unix_millis;
use crate::call::{Call, JSON, empty_answer, json_answer};
use crate::node::Node;
use crate::operation::{Answered, Operation};
use crate::problem::Problem;
use axum::http::{HeaderMap, Method, StatusCode};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use exchange::{CancelOnDrop, Exchange, Step, takes_events};
use serde_json::Value;
use std::ops::ControlFlow;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, LazyLock};
use std::time::Duration;
use treering::catalog::SessionInfo;
use treering::session::{Creation, Durability};
use treering::store::{ListQuery, Scope, Store};
use treering::{ForkOptions, Position, Session, SessionId};
use treering_index::Project;
use treering_mcp::{
    Access, Control, ErrorCode, McpServer, Message, ProgressNotes, ProtocolError, Request,
    Sessions, Settings, UsageRead, is_version,
};
use treering_search::{Found, Options, Query, Summary};
use treering_usage::{Prices, Zone};

/// The only operation. The protocol defines it, so it is not part of the OpenAPI document.
pub(crate) static OPERATION: LazyLock<Operation> = LazyLock::new(|| {
    Operation::new(
        (Method::POST, "/mcp"),
        ("mcp", "MCP"),
        Some(Scope::Read),
        ("Model Context Protocol", ""),
        |call| Box::pin(answer(call)),
    )
    .body::<Value>(JSON, Value::Null)
});

/// The time after which a search responds with what it has found: clients do not wait much longer.
const TIME_LIMIT: Duration = Duration::from_secs(20);

async fn answer(mut call: Call) -> Answered {
    let bytes = call.bytes().await?;
    let refused =
        |id: &Value, error: &ProtocolError, status| json_answer(status, &error.to_message(id));
    let request = match Message::parse(&bytes) {
        Err((id, error)) => return refused(&id, &error, StatusCode::BAD_REQUEST),
        Ok(Message::Notification { .. } | Message::Response) => {
            return Ok(empty_answer(StatusCode::ACCEPTED));
        }
        Ok(Message::Request(request)) => request,
    };
    if let Err(error) = check_headers(&call.headers, &request) {
        return refused(&request.id, &error, StatusCode::BAD_REQUEST);
    }
    let server = server(&call)?;
    let flag = Arc::new(AtomicBool::new(false));
    let cancel = CancelOnDrop(Arc::clone(&flag));
    let turn = match request.writes() {
        true => turn(&call, &server, &request, &flag).await?,
        false => None,
    };
    let names_version = request.version().is_some();
    let (writes, id) = (request.writes(), request.id.clone());
    let (sender, notes) = tokio::sync::mpsc::unbounded_channel();
    let progress_notes = ProgressNotes::of(&request).filter(|_| takes_events(&call.headers));
    let time_limit = TIME_LIMIT.min(call.node.limits.request_time / 2);
    let (node, space) = (Arc::clone(&call.node), call.space().to_owned());
    let working = async move {
        let work = node.work.run(move || {
            let tell = |progress| {
                if let Some(note) =
                    progress_notes.as_ref().and_then(|progress_notes| progress_notes.note(progress))
                {
                    // If the client is gone, the call is being canceled.
                    let _ = sender.send(note);
                }
            };
            let answered = server.answer(&request, &Control::new(&flag).with_progress(&tell));
            drop(turn);
            answered
        });
        let answered = work.await;
        node.sessions.trim();
        if writes {
            node.feeds.wake(&space);
        }
        answered
    };
    let mut exchange = Exchange::new(id, cancel, working, notes, time_limit);
    match exchange.next().await {
        Step::Note(note) => Ok(exchange.into_events(note)),
        Step::Answer(answered) => match answered? {
            Ok(answer) => json_answer(StatusCode::OK, &answer),
            Err(error) => refused(&exchange.id, &error, status(&error, names_version)),
        },
    }
}

/// Returns the status of an error. Up to version 2025-11-25 of the protocol it belongs to the
/// transport alone; since then it also depends on the error.
fn status(error: &ProtocolError, names_version: bool) -> StatusCode {
    match error.code {
        _ if !names_version => StatusCode::OK,
        ErrorCode::MethodNotFound => StatusCode::NOT_FOUND,
        _ => StatusCode::BAD_REQUEST,
    }
}

/// Checks the headers that repeat parts of the message, for proxies that read only headers.
fn check_headers(headers: &HeaderMap, request: &Request) -> Result<(), ProtocolError> {
    let mismatch = |message: &str| Err(ProtocolError::new(ErrorCode::HeaderMismatch, message));
    let text = |name: &str| {
        let mut values = headers.get_all(name).iter();
        let value = values.next().and_then(|value| value.to_str().ok());
        (value, values.next().is_none())
    };
    let (version, is_only_one) = text("mcp-protocol-version");
    if !is_only_one {
        return mismatch("Mcp-Protocol-Version is given twice");
    }
    let Some(named) = request.version() else {
        return match version {
            Some(version) if !is_version(version) => {
                let message = format!("the protocol version {version:?} is not supported");
                Err(ProtocolError::new(ErrorCode::UnsupportedVersion, message))
            }
            _ => Ok(()),
        };
    };
    if version != Some(named) {
        return mismatch("Mcp-Protocol-Version is not the version of the message");
    }
    if text("mcp-method") != (Some(request.method.as_str()), true) {
        return mismatch("Mcp-Method is not the method of the message");
    }
    if let Some(tool) = request.tool() {
        let (name, is_only_one) = text("mcp-name");
        if !is_only_one || name.and_then(decoded).as_deref() != Some(tool) {
            return mismatch("Mcp-Name is not the tool of the message");
        }
    }
    Ok(())
}

/// Returns the text of a header value, which may be encoded as `=?base64?…?=`.
fn decoded(value: &str) -> Option<String> {
    match value.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?=")) {
        Some(encoded) => String::from_utf8(STANDARD.decode(encoded).ok()?).ok(),
        None => Some(value.to_owned()),
    }
}

/// Waits for the turn of a call that changes a session, among all writers of the session. Returns
/// `None` if there is no such session, which the tool reports.
async fn turn(
    call: &Call,
    server: &McpServer,
    request: &Request,
    cancel: &Arc<AtomicBool>,
) -> Result<Option<tokio::sync::OwnedMutexGuard<()>>, Problem> {
    let Some(text) = request.session().map(str::to_owned) else { return Ok(None) };
    let (server, cancel) = (server.clone(), Arc::clone(cancel));
    let resolved = call.node.work.run(move || server.resolve(&text, &Control::new(&cancel)));
    let Ok(id) = resolved.await? else { return Ok(None) };
    let slot = call.slot(&id)?;
    Ok(Some(Arc::clone(&slot.queue).lock_owned().await))
}

fn server(call: &Call) -> Result<McpServer, Problem> {
    let scope = call.grant.as_ref().map(|grant| grant.scope);
    let sessions = SpaceSessions {
        node: Arc::clone(&call.node),
        space: call.space().to_owned(),
        store: call.store()?,
    };
    Ok(McpServer::new(Settings {
        sessions: Arc::new(sessions),
        // A server belongs to no project, so all sessions count.
        project: Project::new(""),
        prices: Prices::published(),
        zone: Zone::local(),
        access: match scope {
            Some(scope) if scope >= Scope::Write => Access::ReadWrite,
            _ => Access::ReadOnly,
        },
        clock: unix_millis,
    }))
}

/// The sessions of a space, opened as for all other calls.
#[derive(Debug)]
struct SpaceSessions {
    node: Arc<Node>,
    space: String,
    store: Arc<dyn Store>,
}

fn message(problem: impl Into<Problem>) -> String {
    problem.into().detail
}

impl Sessions for SpaceSessions {
    fn list(&self, control: &Control<'_>) -> Result<Vec<SessionInfo>, String> {
        let mut query = ListQuery::new().limit(ListQuery::MAX_LIMIT);
        let mut sessions = Vec::new();
        loop {
            let page = self.store.list(&query).map_err(message)?;
            sessions.extend(page.sessions);
            match page.next {
                Some(_) if control.is_canceled() => return Err("listing took too long".to_owned()),
                Some(next) => query = query.after(next),
                None => return Ok(sessions),
            }
        }
    }

    fn open(&self, info: &SessionInfo) -> Result<Arc<Session>, String> {
        self.node.open_session(&self.space, &info.id, &self.store).map_err(message)
    }

    fn open_id(&self, id: &SessionId) -> Option<Arc<Session>> {
        self.node.open_session(&self.space, id, &self.store).ok()
    }

    fn search(
        &self,
        query: &Query,
        options: &Options,
        control: &Control<'_>,
        each: &mut dyn FnMut(Found) -> ControlFlow<()>,
    ) -> Result<Summary, String> {
        treering_search::search_store(&self.store, query, options, control.cancel(), each)
            .map_err(message)
    }

    fn usage(&self, _: &Control<'_>) -> Result<UsageRead, String> {
        self.node.known_usage.read_all(&self.space, &self.store).map_err(message)
    }

    fn fork(&self, session: &Session, at: Position) -> Result<Session, String> {
        let options = ForkOptions::new().creation(Creation::AtOnce).durability(Durability::Each);
        session.fork_into(&self.store, at, options).map_err(message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn header_values_may_be_encoded() {
        assert_eq!(decoded("search").as_deref(), Some("search"));
        assert_eq!(decoded("=?base64?c2VhcmNo?=").as_deref(), Some("search"));
        assert_eq!(decoded("=?base64?%?="), None);
    }
}
