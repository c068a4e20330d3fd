//! The store: the sessions of one space of a database.

use crate::address::Address;
use crate::appends::Appends;
use crate::cache::Cache;
use crate::connection::Connection;
use crate::facts::{Facts, now};
use crate::failure::Failure;
use crate::journal::{MAX_ROW, PostgresJournal, extended, signed};
use crate::pool::{Pauses, Pool};
use crate::{rows, schema, sql};
use std::collections::HashMap;
use std::io::{self, Read};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio_postgres::types::ToSql;
use treering::storage::{Journal, MemoryJournal};
use treering::store::{ChangedSession, Changes, ListQuery, Mark, Page, Store};
use treering::{Error, Result, SessionId};

/// The maximum size of a new session whose facts are computed when it is created.
const MAX_DESCRIBED: usize = 8 * 1024 * 1024;

/// The time limit of migrations.
const MIGRATION_TIMEOUT: Duration = Duration::from_secs(600);

/// Options for a connection to a database. All fields have defaults.
///
/// ```
/// use treering_postgres::PostgresOptions;
/// let options = PostgresOptions::new().space("team").connections(4);
/// assert_eq!((options.space.as_str(), options.connections), ("team", 4));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PostgresOptions {
    /// The space whose sessions are visible; `default` by default.
    pub space: String,
    /// The maximum number of connections; 16 by default.
    pub connections: usize,
    /// The time limit of a call; 10 seconds by default. Writing a large log may take longer, by a
    /// second for every 10 MB.
    pub timeout: Duration,
    /// The maximum number of bytes of logs in memory; 32 MiB by default.
    pub cache: usize,
}

impl Default for PostgresOptions {
    fn default() -> Self {
        PostgresOptions {
            space: "default".to_owned(),
            connections: 16,
            timeout: Duration::from_secs(10),
            cache: 32 * 1024 * 1024,
        }
    }
}

impl PostgresOptions {
    /// Returns the defaults.
    pub fn new() -> Self {
        PostgresOptions::default()
    }

    /// Sets the space.
    #[must_use]
    pub fn space(self, space: impl Into<String>) -> Self {
        PostgresOptions { space: space.into(), ..self }
    }

    /// Sets the maximum number of connections.
    #[must_use]
    pub fn connections(self, connections: usize) -> Self {
        PostgresOptions { connections, ..self }
    }

    /// Sets the time limit of a call.
    #[must_use]
    pub fn timeout(self, timeout: Duration) -> Self {
        PostgresOptions { timeout, ..self }
    }

    /// Sets the maximum number of bytes of logs in memory.
    #[must_use]
    pub fn cache(self, cache: usize) -> Self {
        PostgresOptions { cache, ..self }
    }
}

/// The sessions of one space of a PostgreSQL database.
///
/// All calls block the calling thread, for no longer than the timeout of the options. They need no
/// runtime, so they are allowed in every thread; in an asynchronous program they belong into
/// `spawn_blocking`, like every blocking call. Clones, and stores of other spaces made by
/// [`in_space`](PostgresStore::in_space), share their connections.
///
/// A call that fails because the database is being restarted, replaced by its standby or out of
/// connections is repeated until its timeout, and then fails with an error for which
/// [`Error::is_retryable`] is true.
///
/// ```no_run
/// use std::sync::Arc;
/// use treering::store::Store;
/// use treering::{CreateOptions, Message, Session};
/// use treering_postgres::{PostgresOptions, PostgresStore};
/// let url = "postgres://me@db1,db2/agents?target_session_attrs=read-write";
/// PostgresStore::init(url, &PostgresOptions::new())?;
/// let store: Arc<dyn Store> = Arc::new(PostgresStore::connect(url, &PostgresOptions::new())?);
/// let session = Session::create_in(&store, "/project", CreateOptions::new())?;
/// session.append(Message::user("hello"))?;
/// # Ok::<(), treering::Error>(())
/// ```
#[derive(Clone)]
pub struct PostgresStore {
    pub(crate) shared: Arc<Shared>,
    pub(crate) space: Arc<str>,
}

impl std::fmt::Debug for PostgresStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("PostgresStore").field(&self.location()).finish()
    }
}

/// The part of a store that all its spaces and journals share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) pool: Pool,
    pub(crate) appends: Appends,
    pub(crate) cache: Cache,
    /// For each space, the transaction before which the facts of all sessions are known, and its
    /// instance.
    pub(crate) described: Mutex<HashMap<Arc<str>, (String, i64)>>,
}

/// Counters of a store since it was connected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Statistics {
    /// The number of requests that were sent to the database.
    pub round_trips: u64,
    /// The number of connections that were opened.
    pub connections: u64,
}

/// The versions of the schema before and after [`PostgresStore::init`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Migration {
    /// The previous version; 0 if there was no schema.
    pub before: i32,
    /// The current version.
    pub after: i32,
}

fn check_space(space: &str) -> Result<()> {
    if space.is_empty() || space.len() > 200 || space.chars().any(char::is_control) {
        let why =
            format!("{space:?} is not the name of a space: 1 to 200 bytes, no control characters");
        return Err(Error::InvalidOption(why));
    }
    Ok(())
}

fn shared(url: &str, options: &PostgresOptions, timeout: Duration) -> Result<Arc<Shared>> {
    check_space(&options.space)?;
    let address = Address::parse(url).map_err(Error::Storage)?;
    let pool = Pool::new(address, timeout, options.connections);
    let cache = Cache::new(options.cache);
    Ok(Arc::new(Shared { pool, appends: Appends::default(), cache, described: Mutex::default() }))
}

impl PostgresStore {
    /// Connects to a database that has been initialized. There is only one attempt: a database that
    /// cannot be reached is an error at once.
    ///
    /// # Errors
    ///
    /// Fails with [`Error::Storage`] if the database cannot be reached, or if its schema is
    /// missing, older or newer than that of this release.
    pub fn connect(url: &str, options: &PostgresOptions) -> Result<Self> {
        let shared = shared(url, options, options.timeout)?;
        let store = PostgresStore { shared, space: options.space.as_str().into() };
        let deadline = store.shared.pool.deadline();
        let version = store.shared.pool.once(&store.space, deadline, |connection| {
            let version = schema::version(connection, deadline)?;
            schema::check(version)
        });
        version.map_err(|failure| Error::Storage(failure.into_io()))?;
        Ok(store)
    }

    /// Creates the tables in a database, or migrates them to the version of this release.
    ///
    /// Several programs may do this at the same time; one of them does the work.
    ///
    /// # Errors
    ///
    /// Fails with [`Error::Storage`] if the database cannot be reached, or if its schema is newer
    /// than that of this release.
    pub fn init(url: &str, options: &PostgresOptions) -> Result<Migration> {
        let shared = shared(url, options, MIGRATION_TIMEOUT)?;
        let deadline = shared.pool.deadline();
        let migrated = shared
            .pool
            .once(&options.space, deadline, |connection| schema::migrate(connection, deadline));
        let before = migrated.map_err(|failure| Error::Storage(failure.into_io()))?;
        Ok(Migration { before, after: schema::VERSION })
    }

    /// Returns the store of another space of the same database.
    ///
    /// # Errors
    ///
    /// Fails with [`Error::InvalidOption`] if the name is empty, longer than 200 bytes, or has
    /// control characters.
    pub fn in_space(&self, space: &str) -> Result<Self> {
        check_space(space)?;
        Ok(PostgresStore { shared: Arc::clone(&self.shared), space: space.into() })
    }

    /// Returns the name of the space.
    pub fn space(&self) -> &str {
        &self.space
    }

    /// Returns the counters of all spaces.
    pub fn statistics(&self) -> Statistics {
        let counters = &self.shared.pool.counters;
        Statistics {
            round_trips: counters.round_trips.load(Ordering::Relaxed),
            connections: counters.connections.load(Ordering::Relaxed),
        }
    }

    /// Calls `action` with a connection until it succeeds or the deadline passes.
    pub(crate) fn repeat<T>(
        &self,
        deadline: Instant,
        action: impl FnMut(&mut Connection) -> Result<T, Failure>,
    ) -> io::Result<T> {
        self.shared.pool.repeat(&self.space, deadline, action)
    }

    fn journal(&self, id: &SessionId, generation: i64) -> Arc<dyn Journal> {
        Arc::new(PostgresJournal::new(&self.shared, &self.space, id, generation))
    }

    /// Creates a session from the bytes in `start` and the rest, in one attempt. Returns its
    /// generation; `None` if there is a session with this id.
    fn create_once(
        &self,
        id: &SessionId,
        start: &[u8],
        rest: &mut dyn Read,
        facts: (&Facts, i64),
        deadline: Instant,
    ) -> Result<Option<i64>, Failure> {
        self.shared.pool.once(&self.space, deadline, |connection| {
            let (facts, described) = facts;
            let (first, more) = start.split_at(start.len().min(MAX_ROW));
            let (space, key, length) = (&*self.space, id.as_str(), first.len() as i64);
            let make = |connection: &mut Connection| {
                let mut parameters: Vec<&(dyn ToSql + Sync)> =
                    vec![&space, &key, &length, &first, &described];
                parameters.extend(facts.parameters());
                let row = connection.query_opt(sql::CREATE, &parameters, deadline)?;
                Ok(row.and_then(|row| row.try_get::<_, i64>(0).ok()))
            };
            if start.len() <= MAX_ROW {
                let generation = make(connection)?;
                rows::confirmed(connection)?;
                return Ok(generation);
            }
            let mut generation = None;
            rows::transaction(connection, deadline, |connection| {
                generation = make(connection)?;
                if generation.is_none() {
                    return Ok(false);
                }
                let mut at = length;
                rows::insert(connection, &self.space, key, at, more, deadline)?;
                at += more.len() as i64;
                let mut buffer = vec![0; MAX_ROW];
                loop {
                    let count = read_full(rest, &mut buffer).map_err(Failure::Permanent)?;
                    if count == 0 {
                        break;
                    }
                    // Every part has the time limit of a call.
                    let deadline = self.shared.pool.deadline();
                    let part = &buffer[..count];
                    rows::insert(connection, &self.space, key, at, part, deadline)?;
                    at += count as i64;
                }
                let deadline = self.shared.pool.deadline();
                connection.execute(sql::SET_LENGTH, &[&space, &key, &at], deadline)?;
                Ok(true)
            })?;
            Ok(generation)
        })
    }

    /// Returns the generation of a session whose log begins with `start`: an attempt to create it
    /// succeeded although there was no response.
    fn was_created(&self, id: &SessionId, start: &[u8]) -> Result<Option<i64>> {
        let journal = PostgresJournal::new(&self.shared, &self.space, id, -1);
        let deadline = self.shared.pool.deadline();
        let seen = journal.confirm(deadline).map_err(Error::Storage)?;
        let is_ours = journal.stands(0, start, deadline).map_err(Error::Storage)?;
        Ok(seen.filter(|_| is_ours).map(|seen| seen.generation))
    }
}

/// Fails for an id that the database cannot store.
fn check_id(id: &SessionId) -> Result<()> {
    match id.as_str().contains('\0') {
        true => Err(Error::UnknownSession(id.clone())),
        false => Ok(()),
    }
}

/// Reads until the buffer is full or the reader ends.
fn read_full(reader: &mut dyn Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match reader.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

impl Store for PostgresStore {
    fn location(&self) -> String {
        format!("{} (space {})", self.shared.pool.name(), self.space)
    }

    fn create(&self, id: &SessionId, start: &mut dyn Read) -> Result<Arc<dyn Journal>> {
        SessionId::new(id.as_str())?;
        let mut bytes = Vec::new();
        let limit = MAX_DESCRIBED as u64 + 1;
        start.take(limit).read_to_end(&mut bytes).map_err(Error::Storage)?;
        let is_whole = bytes.len() <= MAX_DESCRIBED;
        let (facts, described) = match is_whole {
            true => {
                let journal = MemoryJournal::new(bytes.clone());
                (Facts::of(Arc::new(journal), now())?, signed(bytes.len() as u64))
            }
            false => (Facts::unknown(now()), Ok(0)),
        };
        let described = described.map_err(Error::Storage)?;
        let deadline = extended(self.shared.pool.deadline(), bytes.len());
        let mut pauses = Pauses::new(deadline);
        let mut is_uncertain = false;
        loop {
            match self.create_once(id, &bytes, start, (&facts, described), deadline) {
                Ok(Some(generation)) => return Ok(self.journal(id, generation)),
                Ok(None) => {
                    let ours = if is_uncertain { self.was_created(id, &bytes)? } else { None };
                    let generation = ours.ok_or_else(|| Error::SessionExists(id.clone()))?;
                    return Ok(self.journal(id, generation));
                }
                Err(Failure::Permanent(error)) => return Err(Error::Storage(error)),
                // The rest of a long log was already read, and cannot be read again.
                Err(failure) if !is_whole => return Err(Error::Storage(failure.into_io())),
                Err(Failure::Refused(error)) => pauses.pause(error).map_err(Error::Storage)?,
                Err(Failure::Lost(error)) => {
                    is_uncertain = true;
                    pauses.pause(error).map_err(Error::Storage)?;
                }
            }
        }
    }

    fn open(&self, id: &SessionId) -> Result<Arc<dyn Journal>> {
        check_id(id)?;
        let deadline = self.shared.pool.deadline();
        let seen = self.repeat(deadline, |connection| {
            rows::read_version(connection, &self.space, id.as_str(), deadline)
        });
        let seen =
            seen.map_err(Error::Storage)?.ok_or_else(|| Error::UnknownSession(id.clone()))?;
        Ok(self.journal(id, seen.generation))
    }

    fn list(&self, query: &ListQuery) -> Result<Page> {
        self.list_page(query)
    }

    fn remove(&self, id: &SessionId) -> Result<()> {
        check_id(id)?;
        let deadline = self.shared.pool.deadline();
        let mut is_uncertain = false;
        let removed = self.repeat(deadline, |connection| {
            let result =
                connection.query_opt(sql::REMOVE, &[&&*self.space, &id.as_str()], deadline);
            let result = result.and_then(|row| rows::confirmed(connection).map(|()| row));
            is_uncertain |= matches!(result, Err(Failure::Lost(_)));
            Ok(result?.is_some())
        });
        match removed.map_err(Error::Storage)? || is_uncertain {
            true => Ok(()),
            false => Err(Error::UnknownSession(id.clone())),
        }
    }

    fn changes(&self, mark: Option<&Mark>) -> Result<Changes> {
        let Some(mark) = mark else {
            let now = self.changed_since(i64::MAX)?;
            self.renumber(now.next)?;
            return Ok(Changes::new(Vec::new(), now.mark()));
        };
        // The mark contains the instance, which is known only with the response.
        let number = mark.as_str().rsplit_once(':').and_then(|(_, number)| number.parse().ok());
        let changed = self.changed_since(number.unwrap_or(0))?;
        let is_ours = mark.number_in(&changed.instance).is_some();
        let changed = if is_ours { changed } else { self.changed_since(0)? };
        let mark = changed.mark();
        Ok(Changes::new(changed.sessions, mark))
    }
}

/// The sessions that some transactions changed, and the current transactions.
struct ChangeBatch {
    sessions: Vec<ChangedSession>,
    instance: String,
    /// The oldest transaction in progress.
    oldest: i64,
    /// The number of the next transaction.
    next: i64,
}

impl ChangeBatch {
    fn mark(&self) -> Mark {
        Mark::numbered(&self.instance, self.oldest.unsigned_abs())
    }
}

impl PostgresStore {
    /// Returns the sessions that a transaction from `first` on changed.
    fn changed_since(&self, first: i64) -> Result<ChangeBatch> {
        let deadline = self.shared.pool.deadline();
        let rows = self.repeat(deadline, |connection| {
            connection.query(sql::CHANGES, &[&&*self.space, &first], deadline)
        });
        let rows = rows.map_err(Error::Storage)?;
        let broken = |error| Error::Storage(io::Error::new(io::ErrorKind::InvalidData, error));
        let mut changed =
            ChangeBatch { sessions: Vec::new(), instance: String::new(), oldest: 0, next: 0 };
        if let Some(row) = rows.first() {
            (changed.oldest, changed.next) =
                (row.try_get(2).map_err(broken)?, row.try_get(3).map_err(broken)?);
            changed.instance = row.try_get(4).map_err(broken)?;
        }
        for row in &rows {
            let id: Option<&str> = row.try_get(0).map_err(broken)?;
            let Some(id) = id.map(SessionId::of_file) else { continue };
            let length: i64 = row.try_get(1).map_err(broken)?;
            changed.sessions.push(ChangedSession::new(id, u64::try_from(length).ok()));
        }
        Ok(changed)
    }

    /// Marks sessions as changed now whose last change is in the future of this database.
    fn renumber(&self, next: i64) -> Result<()> {
        if self.changed_since(next)?.sessions.is_empty() {
            return Ok(());
        }
        let deadline = self.shared.pool.deadline();
        let renumbered = self.repeat(deadline, |connection| {
            connection.execute(sql::RENUMBER, &[&&*self.space, &next], deadline)
        });
        renumbered.map(drop).map_err(Error::Storage)
    }
}
