//! Paths of requests and bodies of responses.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Deserialize;
use std::fmt::Write;
use treering::catalog::SessionInfo;
use treering::store::{ChangedSession, Changes, Cursor, ListQuery, Mark, Page};
use treering::{Dialect, SessionId, time};

/// All characters except those that need no escape in any part of an address.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

pub(super) fn session_path(id: &SessionId) -> String {
    format!("/v1/sessions/{}", utf8_percent_encode(id.as_str(), RESERVED))
}

pub(super) fn create_path(id: &SessionId) -> String {
    format!("/v1/sessions?id={}", utf8_percent_encode(id.as_str(), RESERVED))
}

pub(super) fn changes_path(mark: Option<&Mark>) -> String {
    let mut path = "/v1/changes".to_owned();
    parameter(&mut path, "mark", mark.map(Mark::as_str));
    path
}

pub(super) fn list_path(query: &ListQuery) -> String {
    let mut path = format!("/v1/sessions?limit={}", query.limit);
    parameter(&mut path, "cursor", query.cursor.as_ref().map(Cursor::as_str));
    parameter(&mut path, "cwd", query.cwd.as_deref());
    parameter(&mut path, "project", query.project.as_deref());
    parameter(&mut path, "agent", query.agent.map(Dialect::name));
    parameter(&mut path, "since", query.since.map(|millis| millis.to_string()).as_deref());
    parameter(&mut path, "until", query.until.map(|millis| millis.to_string()).as_deref());
    path
}

/// Adds a parameter to a path.
pub(super) fn parameter(path: &mut String, name: &str, value: Option<&str>) {
    if let Some(value) = value {
        let separator = if path.contains('?') { '&' } else { '?' };
        let _ = write!(path, "{separator}{name}={}", utf8_percent_encode(value, RESERVED));
    }
}

#[derive(Debug, Deserialize)]
struct ListAnswer {
    sessions: Vec<Session>,
    next: Option<String>,
}

/// A session in a list. Servers may send more fields, and newer ones other agents.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Session {
    id: String,
    agent: String,
    #[serde(default)]
    cwd: String,
    name: Option<String>,
    parent_session: Option<String>,
    created: Option<String>,
    modified: Option<String>,
    #[serde(default)]
    message_count: usize,
    #[serde(default)]
    entry_count: usize,
    #[serde(default)]
    branch_count: usize,
    #[serde(default)]
    compaction_count: usize,
    #[serde(default)]
    finding_count: usize,
    tokens: Option<u64>,
    cost: Option<f64>,
    #[serde(default)]
    first_message: String,
    #[serde(default)]
    size: u64,
    #[serde(default)]
    partial: bool,
}

impl Session {
    /// Returns the session; `None` if this release does not know its agent, or its id is invalid.
    fn info(self) -> Option<SessionInfo> {
        let millis = |text: Option<String>| text.and_then(time::parse);
        let (agent, id) = (self.agent.parse().ok()?, SessionId::new(&self.id).ok()?);
        let mut info = SessionInfo::new("", agent, id);
        (info.cwd, info.name, info.parent_session) = (self.cwd, self.name, self.parent_session);
        (info.created, info.modified) = (millis(self.created), millis(self.modified).unwrap_or(0));
        (info.message_count, info.entry_count) = (self.message_count, self.entry_count);
        (info.branch_count, info.compaction_count) = (self.branch_count, self.compaction_count);
        (info.tokens, info.cost, info.finding_count) = (self.tokens, self.cost, self.finding_count);
        (info.first_message, info.size, info.is_partial) =
            (self.first_message, self.size, self.partial);
        Some(info)
    }
}

pub(super) fn page(body: &[u8]) -> serde_json::Result<Page> {
    let answer: ListAnswer = serde_json::from_slice(body)?;
    let sessions = answer.sessions.into_iter().filter_map(Session::info).collect();
    Ok(Page::new(sessions, answer.next.map(Cursor::new)))
}

#[derive(Debug, Deserialize)]
struct ChangesAnswer {
    mark: String,
    sessions: Vec<Change>,
}

#[derive(Debug, Deserialize)]
struct Change {
    id: String,
    length: Option<u64>,
}

pub(super) fn changes(body: &[u8]) -> serde_json::Result<Changes> {
    let answer: ChangesAnswer = serde_json::from_slice(body)?;
    let sessions = answer.sessions.into_iter().filter_map(|change| {
        Some(ChangedSession::new(SessionId::new(&change.id).ok()?, change.length))
    });
    Ok(Changes::new(sessions.collect(), Mark::new(answer.mark)))
}

/// The response to an append.
#[derive(Debug, Deserialize)]
pub(super) struct AppendAnswer {
    pub start: u64,
    pub length: u64,
}

/// The response to the replacement of a start.
#[derive(Debug, Deserialize)]
pub(super) struct ReplaceAnswer {
    pub replaced: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_encoded() {
        let query = ListQuery::new().cwd("/a b&c").agent(Dialect::ClaudeCode).since(5).limit(3);
        assert_eq!(
            list_path(&query.after(Cursor::new("7_x"))),
            "/v1/sessions?limit=3&cursor=7_x&cwd=%2Fa%20b%26c&agent=claude-code&since=5"
        );
        assert_eq!(changes_path(None), "/v1/changes");
        assert_eq!(changes_path(Some(&Mark::new("1/2"))), "/v1/changes?mark=1%2F2");
    }

    #[test]
    fn sessions_of_unknown_agents_are_left_out() {
        let body = br#"{"sessions":[{"id":"a","agent":"pi","modified":"2026-01-01T00:00:00.000Z"},
            {"id":"b","agent":"from-the-future"}],"next":"c"}"#;
        let page = page(body).unwrap();
        assert_eq!(page.sessions.len(), 1);
        assert_eq!(page.sessions[0].modified, 1_767_225_600_000);
        assert_eq!(page.next, Some(Cursor::new("c")));
    }
}
