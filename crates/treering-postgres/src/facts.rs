//! The facts about sessions that lists show.
//!
//! They are computed by the library, as for every other store, and stored with the length and the
//! generation of the log that they describe. An append does not change them: a list first computes
//! the facts of sessions that have grown since. Appending therefore stays one small statement, and
//! dialects whose names or counts depend on the whole log are handled correctly.

use crate::failure::Failure;
use crate::journal::PostgresJournal;
use crate::sql;
use crate::store::PostgresStore;
use std::collections::HashMap;
use std::io;
use std::sync::{Arc, PoisonError};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;
use treering::catalog::{self, SessionInfo};
use treering::storage::{Journal, MemoryJournal};
use treering::store::{Cursor, ListQuery, Page};
use treering::{Dialect, Error, Result, SessionId};

/// The maximum number of sessions whose facts one list computes, and the maximum number of bytes
/// that it reads for that, except for the first session.
const MAX_SESSIONS: i64 = 200;
const MAX_BYTES: u64 = 64 * 1024 * 1024;

/// The maximum size of sessions that are read together.
const SMALL: u64 = 1024 * 1024;
const MAX_BATCH: u64 = 8 * 1024 * 1024;

/// The stored facts about a session.
#[derive(Debug, Clone)]
pub(crate) struct Facts {
    modified: i64,
    created: Option<i64>,
    agent: Option<&'static str>,
    cwd: String,
    name: Option<String>,
    parent_session: Option<String>,
    first_message: String,
    messages: i64,
    entries: i64,
    branches: i64,
    compactions: i64,
    tokens: Option<i64>,
    cost: Option<f64>,
    findings: i64,
    is_session: bool,
}

/// Returns a text without NUL characters, which the database cannot store.
fn text(text: String) -> String {
    if text.contains('\0') { text.replace('\0', "\u{FFFD}") } else { text }
}

fn count(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

impl Facts {
    /// Returns the facts about a session that was not read yet.
    pub(crate) fn unknown(now: i64) -> Self {
        Facts {
            modified: now,
            created: None,
            agent: None,
            cwd: String::new(),
            name: None,
            parent_session: None,
            first_message: String::new(),
            messages: 0,
            entries: 0,
            branches: 0,
            compactions: 0,
            tokens: None,
            cost: None,
            findings: 0,
            is_session: true,
        }
    }

    /// Computes the facts about the session in a journal. A log that is not a session is marked as
    /// such.
    pub(crate) fn of(journal: Arc<dyn Journal>, now: i64) -> Result<Self> {
        match catalog::info_of(journal) {
            Ok(info) => Ok(Facts::from(info)),
            Err(error @ (Error::Storage(_) | Error::Io { .. })) => Err(error),
            Err(_) => Ok(Facts { is_session: false, ..Facts::unknown(now) }),
        }
    }

    /// Returns the parameters of the statements that store facts, in their order.
    pub(crate) fn parameters(&self) -> [&(dyn ToSql + Sync); 15] {
        [
            &self.modified,
            &self.created,
            &self.agent,
            &self.cwd,
            &self.name,
            &self.parent_session,
            &self.first_message,
            &self.messages,
            &self.entries,
            &self.branches,
            &self.compactions,
            &self.tokens,
            &self.cost,
            &self.findings,
            &self.is_session,
        ]
    }
}

impl From<SessionInfo> for Facts {
    fn from(info: SessionInfo) -> Self {
        Facts {
            modified: info.modified,
            created: info.created,
            agent: Some(info.agent.name()),
            cwd: text(info.cwd),
            name: info.name.map(text),
            parent_session: info.parent_session.map(text),
            first_message: text(info.first_message),
            messages: count(info.message_count),
            entries: count(info.entry_count),
            branches: count(info.branch_count),
            compactions: count(info.compaction_count),
            tokens: info.tokens.map(|tokens| i64::try_from(tokens).unwrap_or(i64::MAX)),
            cost: info.cost,
            findings: count(info.finding_count),
            is_session: true,
        }
    }
}

/// A session whose facts are out of date.
struct StaleSession {
    id: SessionId,
    length: u64,
    generation: i64,
}

impl PostgresStore {
    pub(crate) fn list_page(&self, query: &ListQuery) -> Result<Page> {
        self.describe_stale()?;
        let deadline = self.shared.pool.deadline();
        let cursor = match &query.cursor {
            Some(cursor) => cursor.position().ok_or_else(|| {
                Error::InvalidOption(format!("{cursor} is not the cursor of a list of sessions"))
            })?,
            // This is a position after all sessions.
            None => (i64::MAX, "\u{10FFFF}".to_owned()),
        };
        let cursor = (cursor.0, text(cursor.1));
        let (since, until) = (query.since.unwrap_or(i64::MIN), query.until.unwrap_or(i64::MAX));
        let agent = query.agent.map(Dialect::name);
        let limit = query.limit.clamp(1, ListQuery::MAX_LIMIT);
        let fetched = count(limit + 1);
        // The upper bound of all texts with a prefix is the prefix with its last character
        // incremented.
        let project = query.project_prefix().map(|(directory, below)| {
            let mut after = below.clone();
            let separator = after.pop();
            after.push(if separator == Some('/') { '0' } else { ']' });
            (text(directory.to_owned()), text(below), text(after))
        });
        let cwd = query.cwd.clone().map(text);
        let space = &*self.space;
        let rows = self.repeat(deadline, |connection| {
            let mut parameters: Vec<&(dyn ToSql + Sync)> =
                vec![&space, &cursor.0, &cursor.1, &since, &until, &agent, &fetched];
            let sql = match (&cwd, &project) {
                (cwd, Some((directory, below, after))) => {
                    let project: [&(dyn ToSql + Sync); 4] = [directory, below, after, cwd];
                    parameters.extend(project);
                    sql::LIST_OF_PROJECT
                }
                (Some(cwd), None) => {
                    parameters.push(cwd);
                    sql::LIST_OF_CWD
                }
                (None, None) => sql::LIST,
            };
            connection.query(sql, &parameters, deadline)
        });
        let rows = rows.map_err(Error::Storage)?;
        let infos = rows.iter().take(limit).map(info);
        let sessions = infos
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| Error::Storage(io::Error::new(io::ErrorKind::InvalidData, error)))?;
        let next = sessions.last().filter(|_| rows.len() > limit).map(Cursor::after);
        Ok(Page::new(sessions, next))
    }

    /// Computes the facts of the sessions that have grown, as far as the limits allow.
    fn describe_stale(&self) -> Result<()> {
        let deadline = self.shared.pool.deadline();
        let stale = |since: i64| {
            let rows = self.repeat(deadline, |connection| {
                connection.query(sql::STALE, &[&&*self.space, &since, &MAX_SESSIONS], deadline)
            });
            let rows = rows.map_err(Error::Storage)?;
            let now = rows.first();
            let now = now.and_then(|row| Some((row.try_get(5).ok()?, row.try_get(4).ok()?)));
            let now: Option<(String, i64)> = now;
            Ok::<_, Error>((rows, now))
        };
        let (mut rows, mut latest) = (Vec::new(), None);
        let known = self.described_before();
        if let Some((instance, since)) = &known {
            (rows, latest) = stale(*since)?;
            // Transaction numbers of another instance are not comparable.
            latest = latest.filter(|(now, _)| now == instance);
        }
        if latest.is_none() {
            (rows, latest) = stale(0)?;
        }
        let is_complete = (rows.len() as i64) < MAX_SESSIONS;
        let (mut small, mut large, mut budget, mut left_out) = (Vec::new(), Vec::new(), 0, 0);
        for row in &rows {
            let Ok(Some(id)) = row.try_get::<_, Option<&str>>(0) else { continue };
            let (length, generation): (i64, i64) = match (row.try_get(1), row.try_get(2)) {
                (Ok(length), Ok(generation)) => (length, generation),
                _ => continue,
            };
            let (length, described) = (length as u64, row.try_get::<_, i64>(3).unwrap_or(0) as u64);
            // Reading a large log takes long, so it is done only when the log has grown by an
            // eighth.
            let is_due =
                length < MAX_BYTES || length < described || length - described > described / 8;
            if !is_due || (budget > 0 && budget + length > MAX_BYTES) {
                left_out += 1;
                continue;
            }
            budget += length;
            let stale = StaleSession { id: SessionId::of_file(id), length, generation };
            if length <= SMALL { small.push(stale) } else { large.push(stale) }
        }
        let mut batch = Vec::new();
        let mut size = 0;
        for stale in small {
            size += stale.length;
            batch.push(stale);
            if size > MAX_BATCH {
                self.describe_small(&std::mem::take(&mut batch))?;
                size = 0;
            }
        }
        self.describe_small(&batch)?;
        for stale in large {
            let journal =
                PostgresJournal::new(&self.shared, &self.space, &stale.id, stale.generation);
            // If the log has grown in the meantime, the next list computes its facts again.
            match Facts::of(Arc::new(journal), now()) {
                Err(Error::Storage(error)) if error.kind() == io::ErrorKind::NotFound => {}
                facts => self.store_facts(&stale, &facts?)?,
            }
        }
        if is_complete
            && left_out == 0
            && let Some(latest) = latest
        {
            let mut described =
                self.shared.described.lock().unwrap_or_else(PoisonError::into_inner);
            described.insert(Arc::clone(&self.space), latest);
        }
        Ok(())
    }

    /// Returns the instance, and its transaction before which the facts of all sessions are known.
    fn described_before(&self) -> Option<(String, i64)> {
        let described = self.shared.described.lock().unwrap_or_else(PoisonError::into_inner);
        described.get(&self.space).cloned()
    }

    /// Computes the facts of small sessions, whose logs are read together.
    fn describe_small(&self, sessions: &[StaleSession]) -> Result<()> {
        if sessions.is_empty() {
            return Ok(());
        }
        let deadline = self.shared.pool.deadline();
        let ids: Vec<&str> = sessions.iter().map(|stale| stale.id.as_str()).collect();
        let rows = self.repeat(deadline, |connection| {
            connection.query(sql::READ_SEVERAL, &[&&*self.space, &ids], deadline)
        });
        let mut logs: HashMap<&str, Vec<u8>> = HashMap::new();
        let rows = rows.map_err(Error::Storage)?;
        for row in &rows {
            let (id, bytes) = (row.try_get::<_, &str>(0), row.try_get::<_, &[u8]>(2));
            if let (Ok(id), Ok(bytes)) = (id, bytes) {
                logs.entry(id).or_default().extend_from_slice(bytes);
            }
        }
        for stale in sessions {
            let mut log = logs.remove(stale.id.as_str()).unwrap_or_default();
            if (log.len() as u64) < stale.length {
                continue; // Shortened or removed in the meantime.
            }
            log.truncate(stale.length as usize);
            let facts = Facts::of(Arc::new(MemoryJournal::new(log)), now())?;
            self.store_facts(stale, &facts)?;
        }
        Ok(())
    }

    fn store_facts(&self, stale: &StaleSession, facts: &Facts) -> Result<()> {
        let deadline = self.shared.pool.deadline();
        let (space, id) = (&*self.space, stale.id.as_str());
        let length = count(stale.length as usize);
        let stored = self.repeat(deadline, |connection| -> Result<u64, Failure> {
            let mut parameters: Vec<&(dyn ToSql + Sync)> =
                vec![&space, &id, &length, &stale.generation];
            parameters.extend(facts.parameters());
            connection.execute(sql::DESCRIBE, &parameters, deadline)
        });
        stored.map(drop).map_err(Error::Storage)
    }
}

/// Returns the current time in Unix milliseconds.
pub(crate) fn now() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.ok().and_then(|since| i64::try_from(since.as_millis()).ok()).unwrap_or(0)
}

/// Returns a row of a list.
fn info(row: &Row) -> Result<SessionInfo, tokio_postgres::Error> {
    let count = |column: usize| -> Result<usize, tokio_postgres::Error> {
        Ok(usize::try_from(row.try_get::<_, i64>(column)?).unwrap_or(0))
    };
    let id = SessionId::of_file(row.try_get::<_, &str>(0)?);
    let agent: Option<&str> = row.try_get(4)?;
    let agent = agent.and_then(|agent| agent.parse().ok()).unwrap_or_default();
    let mut info = SessionInfo::new("", agent, id);
    info.size = count(1)? as u64;
    info.modified = row.try_get(2)?;
    info.created = row.try_get(3)?;
    info.cwd = row.try_get(5)?;
    info.name = row.try_get(6)?;
    info.parent_session = row.try_get(7)?;
    info.first_message = row.try_get(8)?;
    info.message_count = count(9)?;
    info.entry_count = count(10)?;
    info.branch_count = count(11)?;
    info.compaction_count = count(12)?;
    info.tokens = row.try_get::<_, Option<i64>>(13)?.and_then(|tokens| u64::try_from(tokens).ok());
    info.cost = row.try_get(14)?;
    info.finding_count = count(15)?;
    Ok(info)
}
