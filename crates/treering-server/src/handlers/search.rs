//! Searches sessions, and sums up their usage, in pages of sessions.

use super::sessions::list_query;
use crate::call::{Call, json_answer};
use crate::operation::Answered;
use crate::problem::Problem;
use crate::types::{SearchHit, SearchPage, Session as SessionObject, SessionHits, UsageReport};
use axum::http::StatusCode;
use std::sync::Arc;
use treering::store::{Cursor, ListQuery, Store};
use treering::usage::Ledger;
use treering::{OpenOptions, Session, SessionId};
use treering_search::{Case, Options, Query};

/// The maximum number of sessions that one response searches; the cursor continues with the others.
const SEARCHED: usize = 200;

/// The maximum number of sessions whose usage one response sums up.
const COUNTED: usize = 200;

/// The maximum number of hits of a session that are described.
const HITS: usize = 20;

pub(crate) async fn search(call: Call) -> Answered {
    let text = call.text("q").unwrap_or_default();
    let query = Query::parse(text, Case::Ignored).map_err(|error| {
        Problem::invalid(format!("the query, at {}: {}", error.at, error.message))
    })?;
    let list = list_query(&call, SEARCHED)?;
    let limit = call.count("limit").unwrap_or(100) as usize;
    let store = call.store()?;
    let found = call.node.work.run(move || find(&store, &query, list, limit));
    let (sessions, next) = found.await??;
    let sessions = sessions.into_iter().map(|(info, found)| hits(info, found)).collect();
    let next = next.map(|next| next.to_string());
    json_answer(StatusCode::OK, &SearchPage { sessions, next })
}

/// Searches the sessions of a list, up to a limit, until `limit` of them have hits. Returns those,
/// and the cursor of the sessions that were not searched.
pub(crate) fn find(
    store: &Arc<dyn Store>,
    query: &Query,
    list: ListQuery,
    limit: usize,
) -> Result<(Vec<SearchResult>, Option<Cursor>), Problem> {
    let mut options = Options::default();
    options.hits_per_session = HITS;
    let page = store.list(&list.limit(SEARCHED))?;
    let (mut sessions, mut next) = (Vec::new(), page.next);
    let count = page.sessions.len();
    for (at, info) in page.sessions.into_iter().enumerate() {
        let Some(session) = open(store, &info.id)? else { continue };
        if let Some(found) = treering_search::search_session(&session, query, &options)? {
            sessions.push((info.clone(), found));
        }
        if sessions.len() >= limit {
            if at + 1 < count {
                next = Some(Cursor::after(&info));
            }
            break;
        }
    }
    Ok((sessions, next))
}

/// A session in which something was found.
type SearchResult = (treering::catalog::SessionInfo, treering_search::SessionHits);

/// Opens a session of a list; `None` if it was removed meanwhile, or cannot be read.
fn open(store: &Arc<dyn Store>, id: &SessionId) -> Result<Option<Session>, Problem> {
    match Session::open_in(store, id, OpenOptions::new()) {
        Ok(session) => Ok(Some(session)),
        Err(error) if error.is_retryable() => Err(error.into()),
        Err(_) => Ok(None),
    }
}

fn hits(info: treering::catalog::SessionInfo, found: treering_search::SessionHits) -> SessionHits {
    let hits = found.hits.into_iter().map(|hit| SearchHit {
        id: hit.entry.map(|id| id.to_string()),
        role: hit.name,
        part: hit.part.name().to_owned(),
        state: hit.state.name().to_owned(),
        time: hit.time.map(treering::time::format),
        snippet: hit.snippet.text,
    });
    SessionHits { session: SessionObject::new(info), hits: hits.collect(), hit_count: found.total }
}

pub(crate) async fn usage(call: Call) -> Answered {
    let (list, store) = (list_query(&call, COUNTED)?.limit(COUNTED), call.store()?);
    let report = call.node.work.run(move || {
        let page = store.list(&list)?;
        let mut ledger = Ledger::default();
        for info in &page.sessions {
            if let Some(session) = open(&store, &info.id)? {
                ledger.add(&session)?;
            }
        }
        let next = page.next.map(|next| next.to_string());
        Ok::<_, Problem>(UsageReport::new(&ledger.stats(), ledger.sessions(), next))
    });
    json_answer(StatusCode::OK, &report.await??)
}
