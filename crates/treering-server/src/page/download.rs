//! Downloads a fork of a session as a file, in the dialect of any agent.

use crate::call::{Call, NDJSON, answer};
use crate::handlers::export::redactor;
use crate::operation::Answered;
use crate::problem::Problem;
use crate::streaming::{PIECE, chunks};
use axum::http::{HeaderValue, StatusCode, header};
use std::sync::Arc;
use treering::store::{MemoryStore, Store};
use treering::{Dialect, ForkOptions, Position};

pub(crate) async fn get(call: Call) -> Answered {
    let entry = call.text("entry").filter(|entry| !entry.is_empty()).map(str::to_owned);
    let dialect = call.text("dialect").map(str::parse::<Dialect>).transpose();
    let dialect = dialect.map_err(|error| Problem::invalid(error.to_string()))?;
    let is_redacted = call.flag("redact");
    let (journal, id) = call
        .read(move |session| {
            let redacted = match is_redacted {
                true => Some(redactor()?.session(session)?),
                false => None,
            };
            let session = redacted.as_ref().unwrap_or(session);
            let position = match &entry {
                Some(entry) => Position::Entry(session.tree().find(entry)?),
                None => Position::Leaf,
            };
            let mut options = ForkOptions::new();
            options.dialect = dialect;
            let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
            let fork = session.fork_into(&store, position, options)?;
            Ok((store.open(&fork.id())?, fork.id()))
        })
        .await?;
    let body = chunks(&call.node, (journal, 0_u64), |(journal, at), out| {
        let mut piece = vec![0; PIECE];
        let got = journal.read_at(*at, &mut piece).map_err(Problem::from)?;
        out.extend_from_slice(piece.get(..got).unwrap_or_default());
        *at += got as u64;
        Ok(got > 0)
    });
    let mut response = answer(StatusCode::OK, NDJSON, body);
    let name = format!("attachment; filename=\"{id}.jsonl\"");
    if let Ok(name) = HeaderValue::try_from(name) {
        response.headers_mut().insert(header::CONTENT_DISPOSITION, name);
    }
    Ok(response)
}
