//! Handlers that read a session: its tree, its context, its usage.

use crate::call::{Call, JSON, NDJSON, answer, json_answer, tagged};
use crate::entry_json::one_line;
use crate::operation::Answered;
use crate::problem::{Code, Problem};
use crate::streaming::chunks;
use crate::types::{TreeRow, UsageReport};
use axum::http::StatusCode;
use serde_json::value::RawValue;
use std::collections::HashSet;
use std::sync::Arc;
use treering::provider::{ProviderRequest, RequestOptions};
use treering::session::Entries;
use treering::store::Store;
use treering::{Context, EntryId, OpenOptions, Position, Session, SessionId, Tree};
use treering_display::preview_line::{Calls, PreviewLine};

/// The views of a context.
pub(crate) const VIEWS: &[&str] =
    &["treering", "agent", "anthropic", "openai-chat", "openai-responses"];

pub(crate) async fn context(call: Call) -> Answered {
    let view = call.text("view").unwrap_or("treering").to_owned();
    let leaf = call.text("leaf").map(str::to_owned);
    let id = call.session_id()?;
    let is_open = call.node.sessions.is_open(call.space(), &id);
    let json = if leaf.is_none() && view != "agent" && !is_open {
        // The context at the leaf of a session that is not open is read from the end of its log.
        let store = call.store()?;
        call.node.work.run(move || in_view(&active(&store, &id)?, &view)).await??
    } else {
        let json = call.read(move |session| {
            let position = match leaf.as_deref() {
                None => Position::Leaf,
                Some("") => Position::Start,
                Some(leaf) => Position::Entry(leaf.into()),
            };
            if view == "agent"
                && let Some(context) = session.agent_context_at(position.clone())?
            {
                return Ok(context.to_json());
            }
            in_view(&session.context_at(position)?, &view)
        });
        json.await?
    };
    Ok(answer(StatusCode::OK, JSON, one_line(&json).into()))
}

fn active(store: &Arc<dyn Store>, id: &SessionId) -> treering::Result<Context> {
    let context = match store.file(id)? {
        Some(path) => treering::active_context(path)?,
        None => treering::active_context_of(store.open(id)?)?,
    };
    if context.messages.is_empty() {
        // A log without a header is not a session, as in every other call.
        return Session::open_in(store, id, OpenOptions::new())?.context();
    }
    Ok(context)
}

fn in_view(context: &Context, view: &str) -> Result<Vec<u8>, Problem> {
    let options = RequestOptions::new();
    let ProviderRequest { json, repairs, .. } = match view {
        "anthropic" => context.to_anthropic(&options),
        "openai-chat" => context.to_openai_chat(&options),
        "openai-responses" => context.to_openai_responses(&options),
        _ => return Ok(context.to_json()),
    };
    let failed = |error: serde_json::Error| Problem::new(Code::Internal, error.to_string());
    let request = RawValue::from_string(json).map_err(failed)?;
    let repairs: Vec<String> = repairs.iter().map(ToString::to_string).collect();
    let answer = ProviderView { request: &request, repairs };
    serde_json::to_vec(&answer).map_err(failed)
}

#[derive(serde::Serialize)]
struct ProviderView<'a> {
    request: &'a RawValue,
    repairs: Vec<String>,
}

/// A tree that is being written.
struct TreeWriter {
    entries: Entries,
    tree: Arc<Tree>,
    active: HashSet<EntryId>,
    calls: Calls,
    leaf: Option<String>,
    is_json: bool,
    /// The number of rows that were written; `None` before the beginning.
    written: Option<u64>,
}

/// The number of tool calls that are kept for the previews of their results.
const CALLS: usize = 10_000;

pub(crate) async fn tree(call: Call) -> Answered {
    let is_json = !call.prefers(NDJSON);
    let (writer, length) = call
        .read(move |session| {
            let (tree, leaf) = (session.tree(), session.leaf());
            let active = match &leaf {
                Some(leaf) => tree.path(leaf)?.into_iter().collect(),
                None => HashSet::new(),
            };
            let writer = TreeWriter {
                entries: session.entries(),
                tree,
                active,
                calls: Calls::last(CALLS),
                leaf: leaf.map(|leaf| leaf.to_string()),
                is_json,
                written: None,
            };
            Ok((writer, session.log_length()))
        })
        .await?;
    if call.has_tag(&length.to_string()) {
        return Ok(tagged(crate::call::empty_answer(StatusCode::NOT_MODIFIED), length));
    }
    let media = if is_json { JSON } else { NDJSON };
    let body = chunks(&call.node, writer, TreeWriter::add);
    Ok(tagged(answer(StatusCode::OK, media, body), length))
}

impl TreeWriter {
    fn add(&mut self, out: &mut Vec<u8>) -> Result<bool, Problem> {
        let failed = |error: serde_json::Error| Problem::new(Code::Internal, error.to_string());
        let Some(written) = self.written else {
            if self.is_json {
                out.extend_from_slice(b"{\"leaf\":");
                serde_json::to_writer(&mut *out, &self.leaf).map_err(failed)?;
                out.extend_from_slice(b",\"rows\":[");
            }
            self.written = Some(0);
            return Ok(true);
        };
        let Some(entry) = self.entries.next() else {
            if self.is_json {
                out.extend_from_slice(b"]}");
            }
            return Ok(false);
        };
        let entry = entry?;
        let preview = PreviewLine::read(&entry, &mut self.calls).text;
        let row = TreeRow {
            id: entry.id().to_string(),
            parent: entry.parent().map(EntryId::to_string),
            r#type: entry.type_name().into_owned(),
            role: entry.role().and_then(|role| role.name()).map(str::to_owned),
            time: entry.time().map(treering::time::format),
            label: self.tree.label(entry.id()).map(str::to_owned),
            preview: preview.chars().take(MAX_PREVIEW).collect(),
            active: self.active.contains(entry.id()),
        };
        if self.is_json && written > 0 {
            out.push(b',');
        }
        serde_json::to_writer(&mut *out, &row).map_err(failed)?;
        if !self.is_json {
            out.push(b'\n');
        }
        self.written = Some(written + 1);
        Ok(true)
    }
}

/// The maximum length of a preview, in characters.
const MAX_PREVIEW: usize = 200;

pub(crate) async fn usage(call: Call) -> Answered {
    let report =
        call.read(|session: &Arc<Session>| Ok(UsageReport::new(&session.stats()?, 1, None)));
    json_answer(StatusCode::OK, &report.await?)
}
