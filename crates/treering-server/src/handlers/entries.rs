//! Appends and reads entries.

use crate::appends::NewEntries;
use crate::call::{Call, JSON, NDJSON, answer, json_answer, tagged};
use crate::entry_json::entry_json;
use crate::idempotency::{self, Members};
use crate::operation::Answered;
use crate::problem::{Code, Problem};
use crate::streaming::chunks;
use crate::types::{AnyEntry, EntryPage, MAX_ENTRIES};
use axum::http::StatusCode;
use serde_json::value::RawValue;
use std::sync::Arc;
use treering::session::Entries;
use treering::{EntryId, NewEntry, Position, Session};

pub(crate) async fn append(mut call: Call) -> Answered {
    let body = call.bytes().await?;
    let new = parse(&call, &body)?;
    let appended = call.append(new).await?;
    let length = appended.length;
    Ok(tagged(json_answer(StatusCode::OK, &appended)?, length))
}

fn parse(call: &Call, body: &[u8]) -> Result<NewEntries, Problem> {
    let raw: Vec<Box<RawValue>> = serde_json::from_slice(body).map_err(|error| {
        Problem::invalid(format!("the body is not an array of entries: {error}"))
    })?;
    if raw.is_empty() || raw.len() > MAX_ENTRIES {
        let detail = format!("an append has 1 to {MAX_ENTRIES} entries");
        return Err(Problem::invalid(detail));
    }
    let (session, key) = (call.session_id()?, call.text("Idempotency-Key"));
    let mut new = NewEntries {
        entries: Vec::with_capacity(raw.len()),
        ids: Vec::with_capacity(raw.len()),
        sent: Vec::new(),
        next_id: key.map(|key| idempotency::entry_id(&session, key, raw.len())),
        expected: call.if_match().map(|leaf| match leaf {
            "" => Position::Start,
            leaf => Position::Entry(leaf.into()),
        }),
        bytes: body.len(),
    };
    for (at, raw) in raw.iter().enumerate() {
        let invalid =
            |detail: String| Problem::new(Code::InvalidEntry, format!("entry {at}: {detail}"));
        let entry = NewEntry::from_json(raw.get().as_bytes());
        let mut entry = entry.map_err(|error| invalid(error.to_string()))?;
        let sent: Members =
            serde_json::from_str(raw.get()).map_err(|error| invalid(error.to_string()))?;
        let id = sent.get("id").map(|id| serde_json::from_str::<String>(id.get())).transpose();
        let id = id.map_err(|error| invalid(format!("the id: {error}")))?;
        let mut id = id.map(EntryId::from);
        if let (None, Some(key)) = (&id, key) {
            let derived = idempotency::entry_id(&session, key, at);
            entry = entry.with_id(derived.clone());
            id = Some(derived);
        }
        new.entries.push(entry);
        new.ids.push(id);
        new.sent.push(sent);
    }
    Ok(new)
}

pub(crate) async fn list(call: Call) -> Answered {
    let after = call.text("after").map(str::to_owned);
    let open = move |session: &Arc<Session>| {
        Ok(match &after {
            Some(after) => session.entries_after(after)?,
            None => session.entries(),
        })
    };
    let entries = call.read(open).await?;
    if call.prefers(NDJSON) {
        let body = chunks(&call.node, entries, |entries, out| {
            let Some(entry) = entries.next() else { return Ok(false) };
            out.extend_from_slice(&entry_json(&entry?));
            out.push(b'\n');
            Ok(true)
        });
        return Ok(answer(StatusCode::OK, NDJSON, body));
    }
    let limit = call.count("limit").unwrap_or(100) as usize;
    let page = call.node.work.run(move || page(entries, limit)).await??;
    json_answer(StatusCode::OK, &page)
}

fn page(mut entries: Entries, limit: usize) -> Result<EntryPage, Problem> {
    let mut page = EntryPage { entries: Vec::new(), next: None };
    let mut last = None;
    for entry in entries.by_ref().take(limit) {
        let entry = entry?;
        page.entries.push(AnyEntry(raw(&entry)?));
        last = Some(entry.id().to_string());
    }
    page.next = last.filter(|_| entries.size_hint().0 > 0);
    Ok(page)
}

fn raw(entry: &treering::Entry) -> Result<Box<RawValue>, Problem> {
    let json = String::from_utf8_lossy(&entry_json(entry)).into_owned();
    RawValue::from_string(json)
        .map_err(|error| Problem::new(Code::Internal, format!("entry {}: {error}", entry.id())))
}

pub(crate) async fn get(call: Call) -> Answered {
    let id = call.text("entry").unwrap_or_default().to_owned();
    let json = call.read(move |session| Ok(entry_json(&session.entry(&id)?))).await?;
    Ok(answer(StatusCode::OK, JSON, json.into()))
}
