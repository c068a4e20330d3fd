//! Handlers about the server: health, metrics, its document, and the login of browsers.

use crate::auth;
use crate::call::{Call, JSON, answer, empty_answer, json_answer};
use crate::node::Phase;
use crate::operation::Answered;
use crate::page;
use crate::problem::{Code, Problem};
use crate::types::Health;
use axum::body::Body;
use axum::http::{StatusCode, header};
use bytes::Bytes;
use std::sync::{Arc, LazyLock};

pub(crate) async fn health(_: Call) -> Answered {
    json_answer(StatusCode::OK, &Health { status: "ok".to_owned() })
}

pub(crate) async fn ready(call: Call) -> Answered {
    if call.node.phase() > Phase::Ready {
        return Err(Problem::new(Code::ShuttingDown, "the server is shutting down"));
    }
    let spaces = Arc::clone(&call.node.spaces);
    call.node.work.run(move || spaces.check()).await??;
    json_answer(StatusCode::OK, &Health { status: "ok".to_owned() })
}

pub(crate) async fn metrics(call: Call) -> Answered {
    let node = &call.node;
    let (sessions, bytes) = node.sessions.size();
    let text = node.metrics.text(&[
        ("treering_open_sessions", "Sessions that are open.", sessions),
        ("treering_open_session_bytes", "Memory of open sessions, estimated.", bytes),
        ("treering_followed_sessions", "Sessions that are followed.", node.feeds.count()),
    ]);
    Ok(answer(StatusCode::OK, "text/plain; version=0.0.4; charset=utf-8", text.into()))
}

pub(crate) async fn openapi(_: Call) -> Answered {
    static DOCUMENT: LazyLock<Bytes> =
        LazyLock::new(|| crate::openapi::document().to_string().into());
    Ok(answer(StatusCode::OK, JSON, Body::from(DOCUMENT.clone())))
}

pub(crate) async fn login(call: Call) -> Answered {
    let next = page::place(call.text("next").unwrap_or_default());
    let Some(code) = call.text("code") else { return page::login_form(&call, &next, None) };
    let cookie = auth::log_in_with_code(&call.node, code, call.peer)?;
    let Some(cookie) = cookie else {
        let detail = "the link was used before, or is too old; `treering serve` prints a new one";
        return Err(Problem::new(Code::Forbidden, detail).because("login_code"));
    };
    let mut response = empty_answer(StatusCode::SEE_OTHER);
    response.headers_mut().insert(header::SET_COOKIE, cookie);
    response.headers_mut().insert(header::LOCATION, next.location());
    Ok(response)
}
