//! Streams of events, and lists of changes.

use crate::call::{Call, answer, json_answer};
use crate::operation::Answered;
use crate::types::{ChangeList, ChangedSession};
use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use treering::session::LogPosition;
use treering::store::Mark;

const EVENTS: &str = "text/event-stream";

pub(crate) async fn session(call: Call) -> Answered {
    let after = call.text("Last-Event-ID").or_else(|| call.text("after"));
    let after = after.and_then(|after| after.parse::<LogPosition>().ok());
    let space = call.node.feeds.space(call.space(), call.store()?);
    let follower = space.follow(&call.node, call.session_id()?, after).await?;
    Ok(stream(Body::from_stream(follower.into_stream())))
}

pub(crate) async fn all(call: Call) -> Answered {
    let mark = call.text("Last-Event-ID").or_else(|| call.text("after"));
    let mark = mark.map(|mark| Mark::new(mark.to_owned()));
    let space = call.node.feeds.space(call.space(), call.store()?);
    let follower = space.follow_all(&call.node, mark).await?;
    Ok(stream(Body::from_stream(follower.into_stream())))
}

/// Returns a response whose body is a stream of events.
pub(crate) fn stream(body: Body) -> axum::http::Response<Body> {
    let mut response = answer(StatusCode::OK, EVENTS, body);
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    // Proxies that buffer responses would delay events.
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

pub(crate) async fn changes(call: Call) -> Answered {
    let mark = call.text("mark").map(|mark| Mark::new(mark.to_owned()));
    let store = call.store()?;
    let changes = call.node.work.run(move || store.changes(mark.as_ref())).await??;
    let sessions = changes.sessions.into_iter();
    let sessions = sessions
        .map(|changed| ChangedSession { id: changed.id.to_string(), length: changed.length });
    let list = ChangeList { mark: changes.mark.to_string(), sessions: sessions.collect() };
    json_answer(StatusCode::OK, &list)
}
