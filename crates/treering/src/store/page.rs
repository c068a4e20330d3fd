//! Lists of sessions in pages.

use crate::catalog::SessionInfo;
use crate::dialect::Dialect;
use std::fmt;

/// A query for the sessions of a store. All fields have defaults.
///
/// ```
/// use treering::store::ListQuery;
/// use treering::Dialect;
/// let query = ListQuery::new().agent(Dialect::ClaudeCode).limit(20);
/// assert_eq!(query.limit, 20);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ListQuery {
    /// The end of the previous page; `None` for the first page.
    pub cursor: Option<Cursor>,
    /// The maximum number of sessions on a page.
    pub limit: usize,
    /// Selects only sessions of exactly this directory.
    pub cwd: Option<String>,
    /// Selects only sessions of this directory and the directories below it.
    pub project: Option<String>,
    /// Selects only sessions of this dialect.
    pub agent: Option<Dialect>,
    /// Selects only sessions whose last message is at this time or later, in Unix milliseconds.
    pub since: Option<i64>,
    /// Selects only sessions whose last message is earlier than this, in Unix milliseconds.
    pub until: Option<i64>,
}

impl Default for ListQuery {
    fn default() -> Self {
        let (cursor, cwd, project, agent, since, until) = (None, None, None, None, None, None);
        ListQuery { cursor, limit: ListQuery::LIMIT, cwd, project, agent, since, until }
    }
}

impl ListQuery {
    /// The default number of sessions on a page.
    pub const LIMIT: usize = 100;

    /// The largest number of sessions on a page, even if the query asks for more.
    pub const MAX_LIMIT: usize = 1000;

    /// Creates a query for the first page of all sessions.
    pub fn new() -> Self {
        ListQuery::default()
    }

    /// Continues after `cursor`, the end of the previous page.
    #[must_use]
    pub fn after(self, cursor: Cursor) -> Self {
        ListQuery { cursor: Some(cursor), ..self }
    }

    /// Sets the number of sessions on a page: 1 to [`MAX_LIMIT`](ListQuery::MAX_LIMIT).
    #[must_use]
    pub fn limit(self, limit: usize) -> Self {
        ListQuery { limit: limit.clamp(1, ListQuery::MAX_LIMIT), ..self }
    }

    /// Selects only sessions of exactly this directory.
    #[must_use]
    pub fn cwd(self, cwd: impl Into<String>) -> Self {
        ListQuery { cwd: Some(cwd.into()), ..self }
    }

    /// Selects only sessions of a directory and the directories below it.
    ///
    /// ```
    /// use treering::catalog::SessionInfo;
    /// use treering::store::ListQuery;
    /// use treering::{Dialect, SessionId};
    /// let mut session = SessionInfo::new("", Dialect::default(), SessionId::generate());
    /// session.cwd = "/home/me/tea/pot".to_owned();
    /// assert!(ListQuery::new().project("/home/me/tea").matches(&session));
    /// assert!(!ListQuery::new().project("/home/me/te").matches(&session));
    /// ```
    #[must_use]
    pub fn project(self, directory: impl Into<String>) -> Self {
        ListQuery { project: Some(directory.into()), ..self }
    }

    /// Returns the directory of [`project`](ListQuery::project) without a separator at its end, and
    /// the prefix of the directories below it.
    pub fn project_prefix(&self) -> Option<(&str, String)> {
        let project = self.project.as_deref().filter(|project| !project.is_empty())?;
        let is_windows = project.contains('\\') && !project.contains('/');
        let separator = if is_windows { '\\' } else { '/' };
        let directory = project.trim_end_matches(separator);
        let below = format!("{directory}{separator}");
        Some((if directory.is_empty() { project } else { directory }, below))
    }

    /// Selects only sessions of one dialect.
    #[must_use]
    pub fn agent(self, agent: Dialect) -> Self {
        ListQuery { agent: Some(agent), ..self }
    }

    /// Selects only sessions whose last message is at this time or later, in Unix milliseconds.
    #[must_use]
    pub fn since(self, millis: i64) -> Self {
        ListQuery { since: Some(millis), ..self }
    }

    /// Selects only sessions whose last message is earlier than this, in Unix milliseconds.
    #[must_use]
    pub fn until(self, millis: i64) -> Self {
        ListQuery { until: Some(millis), ..self }
    }

    /// Returns whether the query selects a session, on any page.
    pub fn matches(&self, session: &SessionInfo) -> bool {
        let is_below = |(directory, below): (&str, String)| {
            session.cwd == directory || session.cwd.starts_with(&below)
        };
        self.cwd.as_ref().is_none_or(|cwd| *cwd == session.cwd)
            && self.project_prefix().is_none_or(is_below)
            && self.agent.is_none_or(|agent| agent == session.agent)
            && self.since.is_none_or(|since| session.modified >= since)
            && self.until.is_none_or(|until| session.modified < until)
    }

    /// Returns the page of an unsorted list.
    ///
    /// ```
    /// use treering::store::{ListQuery, Page};
    /// let page: Page = ListQuery::new().page_of(Vec::new());
    /// assert!(page.sessions.is_empty() && page.next.is_none());
    /// ```
    pub fn page_of(&self, sessions: Vec<SessionInfo>) -> Page {
        self.page_among(&sessions)
    }

    /// Returns the page of an unsorted list. Only the sessions of the page are copied.
    ///
    /// ```
    /// use treering::store::ListQuery;
    /// assert!(ListQuery::new().page_among(&[]).sessions.is_empty());
    /// ```
    pub fn page_among(&self, sessions: &[SessionInfo]) -> Page {
        let after = self.cursor.as_ref().and_then(Cursor::position);
        let after = after.as_ref().map(|(modified, id)| (*modified, id.as_str()));
        let is_after = |session: &SessionInfo| after.is_none_or(|after| key(session) < after);
        let mut page: Vec<&SessionInfo> =
            sessions.iter().filter(|session| self.matches(session) && is_after(session)).collect();
        page.sort_by(|one, other| key(other).cmp(&key(one)));
        let has_more = page.len() > self.limit;
        page.truncate(self.limit);
        let sessions: Vec<SessionInfo> = page.into_iter().cloned().collect();
        let next = sessions.last().filter(|_| has_more).map(Cursor::after);
        Page { sessions, next }
    }
}

/// Returns the value by which lists are sorted.
fn key(session: &SessionInfo) -> (i64, &str) {
    (session.modified, session.id.as_str())
}

/// A page of a list of sessions.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Page {
    /// The sessions, newest first.
    pub sessions: Vec<SessionInfo>,
    /// The cursor for the next page; `None` if this is the last one.
    pub next: Option<Cursor>,
}

impl Page {
    /// Creates a page with these sessions.
    pub fn new(sessions: Vec<SessionInfo>, next: Option<Cursor>) -> Self {
        Page { sessions, next }
    }
}

/// A position in a list of sessions, as text: the time of the last message and the id of the
/// session before it. It stays valid when sessions are added or removed.
///
/// ```
/// use treering::store::Cursor;
/// assert!(Cursor::new("not a cursor").position().is_none());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Cursor(String);

impl Cursor {
    /// Creates the cursor with this text.
    pub fn new(text: impl Into<String>) -> Self {
        Cursor(text.into())
    }

    /// Returns the position after a session.
    pub fn after(session: &SessionInfo) -> Self {
        Cursor(format!("{}_{}", session.modified, session.id))
    }

    /// Returns the time of the last message and the id of the session before this position; `None`
    /// if the text is not a valid cursor.
    pub fn position(&self) -> Option<(i64, String)> {
        let (modified, id) = self.0.split_once('_')?;
        Some((modified.parse().ok()?, id.to_owned()))
    }

    /// Returns the cursor as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
