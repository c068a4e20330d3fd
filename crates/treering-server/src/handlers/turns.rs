//! Begins, streams and stops turns with a model.

use crate::call::{Call, json_answer};
use crate::chat::{self, RunningTurn};
use crate::handlers::events::stream;
use crate::operation::Answered;
use crate::problem::{Code, Problem};
use crate::types::{NewTurn, TurnStopped};
use axum::body::Body;
use axum::http::StatusCode;
use bytes::{Bytes, BytesMut};
use std::convert::Infallible;
use std::sync::Arc;
use tokio::sync::mpsc;
use treering::session::Durability;
use treering::{OpenOptions, Session};
use treering_agent::CancellationToken;

/// The size from which waiting events are not joined.
const PIECE: usize = 64 * 1024;

/// Stops a turn when the client is gone.
struct CancelOnDisconnect(CancellationToken);

impl Drop for CancelOnDisconnect {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

pub(crate) async fn start(mut call: Call) -> Answered {
    let NewTurn { text } = call.json().await?;
    let limit = call.node.limits.question;
    if text.len() > limit {
        let detail = format!("a message to the model has at most {limit} bytes");
        return Err(Problem::new(Code::BodyTooLarge, detail).with("limit", limit));
    }
    if text.trim().is_empty() {
        return Err(Problem::invalid("the message is empty"));
    }
    let Some(chat) = call.node.chat.clone() else {
        let detail = "this server has no model: see \"Talking to a model\" in docs/server.md";
        return Err(Problem::new(Code::NoModel, detail));
    };
    let (store, id) = (call.store()?, call.session_id()?);
    let turn = RunningTurn::begin(&call.node, call.space(), id.clone())?;
    let opened = call.node.work.run(move || -> Result<Session, Problem> {
        let options = OpenOptions::new().durability(Durability::Each);
        let session = Session::open_in(&store, &id, options)?;
        session.check_writable()?;
        Ok(session)
    });
    let session = opened.await??;
    let (events, arriving) = mpsc::unbounded_channel();
    let connected = CancelOnDisconnect(turn.cancel.clone());
    let runtime = tokio::runtime::Handle::current();
    // The task is not awaited: the stream ends when the turn drops its sender.
    drop(tokio::task::spawn_blocking(move || {
        runtime.block_on(chat::run(events, turn, chat, session, text));
    }));
    let period = call.node.limits.heartbeat;
    let heartbeat = tokio::time::interval_at(tokio::time::Instant::now() + period, period);
    let state = (arriving, heartbeat, connected);
    let body =
        futures_util::stream::unfold(state, |(mut arriving, mut heartbeat, connected)| async {
            let piece = tokio::select! {
                piece = arriving.recv() => joined(piece?, &mut arriving),
                _ = heartbeat.tick() => Bytes::from_static(b": \n\n"),
            };
            Some((Ok::<_, Infallible>(piece), (arriving, heartbeat, connected)))
        });
    Ok(stream(Body::from_stream(body)))
}

/// Joins an event with the waiting ones after it.
fn joined(first: Bytes, arriving: &mut mpsc::UnboundedReceiver<Bytes>) -> Bytes {
    let Ok(second) = arriving.try_recv() else { return first };
    let mut all = BytesMut::from(&*first);
    all.extend_from_slice(&second);
    while all.len() < PIECE
        && let Ok(next) = arriving.try_recv()
    {
        all.extend_from_slice(&next);
    }
    all.freeze()
}

pub(crate) async fn stop(call: Call) -> Answered {
    let stopped = call.node.turns.stop(call.space(), &call.session_id()?);
    if !stopped {
        // A session that does not exist is a problem, as in all calls.
        call.read(|session| Ok(Arc::clone(session))).await?;
    }
    json_answer(StatusCode::OK, &TurnStopped { stopped })
}
