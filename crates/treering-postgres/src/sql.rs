//! The SQL statements. Each has the space as its first parameter, in addition to row-level
//! security.

/// Returns the length, the generation and the checkpoint of a session.
pub(crate) const SELECT_STATE: &str =
    "SELECT length, generation, checkpoint FROM treering.sessions WHERE space = $1 AND id = $2";

/// Returns the same as [`SELECT_STATE`], with a write. If this is committed, everything that was read is
/// committed as well: a standby that has this transaction has all earlier ones.
pub(crate) const CONFIRM: &str = "UPDATE treering.sessions
    SET changed = pg_current_xact_id()::text::bigint
    WHERE space = $1 AND id = $2 RETURNING length, generation, checkpoint";

/// Appends a row if the session has the expected length and generation: one statement, one round trip.
pub(crate) const APPEND: &str = "WITH moved AS (
      UPDATE treering.sessions SET length = $6, changed = pg_current_xact_id()::text::bigint,
        updated = clock_timestamp(), checkpoint = $7
      WHERE space = $1 AND id = $2 AND length = $3 AND generation = $4 RETURNING 1)
    INSERT INTO treering.lines (space, session, at, bytes) SELECT $1, $2, $3, $5 FROM moved";

/// Sets the length, as the first half of an append of several rows.
pub(crate) const MOVE: &str = "UPDATE treering.sessions
    SET length = $5, changed = pg_current_xact_id()::text::bigint, updated = clock_timestamp()
    WHERE space = $1 AND id = $2 AND length = $3 AND generation = $4";

/// Inserts a row.
pub(crate) const INSERT: &str =
    "INSERT INTO treering.lines (space, session, at, bytes) VALUES ($1, $2, $3, $4)";

macro_rules! read {
    () => {
        "(SELECT at, bytes FROM treering.lines
          WHERE space = $1 AND session = $2 AND at <= $3 ORDER BY at DESC LIMIT 1)
        UNION ALL
        (SELECT at, bytes FROM treering.lines
          WHERE space = $1 AND session = $2 AND at > $3 AND at < $4 ORDER BY at)"
    };
}

/// Returns the rows from the one that holds the byte at $3 to the one that holds the byte before $4, in any
/// order.
///
/// All conditions compare columns with parameters: under row-level security others are not used for the index, and a
/// single statement that looks up its first row in a subquery reads the whole log before it.
pub(crate) const READ: &str = read!();

/// As [`READ`], with the generation that the rows belong to: in a row of its own before them, without bytes.
pub(crate) const STREAM: &str = concat!(
    "(SELECT generation AS at, NULL::bytea AS bytes FROM treering.sessions WHERE space = $1 AND id = $2)
    UNION ALL ",
    read!()
);

/// Shortens a log to $4 bytes if its length is $3. Returns the new generation.
pub(crate) const TRUNCATE: &str = "WITH cut AS (
      UPDATE treering.sessions SET length = $4, generation = generation + 1,
        changed = pg_current_xact_id()::text::bigint, updated = clock_timestamp()
      WHERE space = $1 AND id = $2 AND length = $3 RETURNING generation),
    gone AS (DELETE FROM treering.lines
      WHERE space = $1 AND session = $2 AND at >= $4 AND EXISTS (SELECT FROM cut)),
    shortened AS (UPDATE treering.lines SET bytes = substring(bytes FROM 1 FOR ($4 - at)::int)
      WHERE space = $1 AND session = $2 AND at < $4 AND at + octet_length(bytes) > $4
        AND at >= $4 - 1048576 AND EXISTS (SELECT FROM cut))
    SELECT generation FROM cut";

/// Replaces the first bytes of a log by as many others, if they are the expected ones.
pub(crate) const REPLACE_START: &str = "WITH replaced AS (
      UPDATE treering.lines SET bytes = overlay(bytes PLACING $4::bytea FROM 1)
      WHERE space = $1 AND session = $2 AND at = 0
        AND substring(bytes FROM 1 FOR octet_length($3::bytea)) = $3 RETURNING 1)
    UPDATE treering.sessions SET generation = generation + 1,
      changed = pg_current_xact_id()::text::bigint, updated = clock_timestamp()
    WHERE space = $1 AND id = $2 AND length >= octet_length($3::bytea) AND EXISTS (SELECT FROM replaced)
    RETURNING generation";

/// Creates a session with its first row and its facts. It replaces a removed session with this id.
pub(crate) const CREATE: &str = "WITH made AS (
      INSERT INTO treering.sessions (space, id, length, generation, changed, updated)
      VALUES ($1, $2, $3, 0, pg_current_xact_id()::text::bigint, clock_timestamp())
      ON CONFLICT (space, id) DO UPDATE SET length = excluded.length,
        generation = sessions.generation + 1, changed = excluded.changed, updated = excluded.updated
      WHERE sessions.length < 0
      RETURNING generation),
    written AS (INSERT INTO treering.lines (space, session, at, bytes)
      SELECT $1, $2, 0, $4::bytea FROM made WHERE octet_length($4::bytea) > 0),
    described AS (INSERT INTO treering.facts (space, session, length, generation, modified, created,
        agent, cwd, name, parent_session, first_message, messages, entries, branches, compactions,
        tokens, cost, findings, is_session)
      SELECT $1, $2, $5, generation, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19,
        $20 FROM made)
    SELECT generation FROM made";

/// Sets the length of a session that is being created.
pub(crate) const SET_LENGTH: &str =
    "UPDATE treering.sessions SET length = $3, updated = clock_timestamp()
    WHERE space = $1 AND id = $2";

/// Stores the facts about a session, unless there are newer ones.
pub(crate) const DESCRIBE: &str = "UPDATE treering.facts SET length = $3, generation = $4,
      modified = $5, created = $6, agent = $7, cwd = $8, name = $9, parent_session = $10,
      first_message = $11, messages = $12, entries = $13, branches = $14, compactions = $15,
      tokens = $16, cost = $17, findings = $18, is_session = $19
    WHERE space = $1 AND session = $2 AND (generation, length) < ($4, $3)";

/// Removes a session. Its row stays, for followers.
pub(crate) const REMOVE: &str = "WITH removed AS (
      UPDATE treering.sessions SET length = -1, generation = generation + 1,
        changed = pg_current_xact_id()::text::bigint, updated = clock_timestamp()
      WHERE space = $1 AND id = $2 AND length >= 0 RETURNING 1),
    lines AS (DELETE FROM treering.lines
      WHERE space = $1 AND session = $2 AND EXISTS (SELECT FROM removed)),
    facts AS (DELETE FROM treering.facts
      WHERE space = $1 AND session = $2 AND EXISTS (SELECT FROM removed))
    SELECT 1 FROM removed";

/// Identifies the scope in which transaction numbers are comparable: a database cluster and its
/// timeline. A standby that is promoted may use numbers again that its primary gave to transactions
/// which it never received.
macro_rules! instance {
    () => {
        "(SELECT system_identifier FROM pg_control_system())::text || '-' ||
          CASE WHEN pg_is_in_recovery() THEN 'standby'
          ELSE substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) END"
    };
}

/// Returns sessions whose facts are out of date, the last changed first, the oldest transaction in
/// progress, and the instance. On a standby, where facts cannot be changed, it returns none.
pub(crate) const STALE: &str = concat!(
    "SELECT s.id, s.length, s.generation, f.length, m.oldest, m.instance
    FROM (SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint AS oldest, ",
    instance!(),
    " AS instance) m
    LEFT JOIN (treering.sessions s JOIN treering.facts f ON f.space = $1 AND f.session = s.id
        AND (f.length <> s.length OR f.generation <> s.generation))
      ON s.space = $1 AND s.period >= $2::bigint >> 10 AND s.changed >= $2 AND s.length >= 0
        AND NOT pg_is_in_recovery()
    ORDER BY s.changed DESC NULLS LAST LIMIT $3"
);

/// Returns the whole logs of some sessions.
pub(crate) const READ_SEVERAL: &str = "SELECT session, at, bytes FROM treering.lines
    WHERE space = $1 AND session = ANY($2) ORDER BY session, at";

macro_rules! list {
    ($condition:literal) => {
        concat!(
            "SELECT f.session, s.length, f.modified, f.created, f.agent, f.cwd, f.name,
               f.parent_session, f.first_message, f.messages, f.entries, f.branches, f.compactions,
               f.tokens, f.cost, f.findings
             FROM treering.facts f JOIN treering.sessions s ON s.space = $1 AND s.id = f.session
             WHERE f.space = $1 AND f.is_session AND s.length >= 0
               AND (f.modified, f.session) < ($2, $3) AND f.modified >= $4 AND f.modified < $5
               AND ($6::text IS NULL OR f.agent = $6) ",
            $condition,
            " ORDER BY f.modified DESC, f.session DESC LIMIT $7"
        )
    };
}

/// Returns a page of sessions.
pub(crate) const LIST: &str = list!("");

/// Returns a page of the sessions of a directory.
pub(crate) const LIST_OF_CWD: &str = list!("AND f.cwd = $8");

/// Returns a page of the sessions of a project: of the directory $8, and of those that begin with
/// $9 and are therefore less than $10.
pub(crate) const LIST_OF_PROJECT: &str =
    list!("AND (f.cwd = $8 OR f.cwd >= $9 AND f.cwd < $10) AND ($11::text IS NULL OR f.cwd = $11)");

/// Returns the sessions that a transaction from $2 on changed, the oldest transaction in progress
/// (later changes are made by that transaction or by newer ones), the next one, and the instance.
pub(crate) const CHANGES: &str = concat!(
    "SELECT s.id, s.length, m.oldest, m.next, m.instance
    FROM (SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint AS oldest,
      pg_snapshot_xmax(pg_current_snapshot())::text::bigint AS next, ",
    instance!(),
    " AS instance) m
    LEFT JOIN treering.sessions s
      ON s.space = $1 AND s.period >= $2::bigint >> 10 AND s.changed >= $2"
);

/// Marks sessions as changed now if the number of their last change is one that this database has
/// not reached: they were restored from another database.
pub(crate) const RENUMBER: &str = "UPDATE treering.sessions
    SET changed = pg_current_xact_id()::text::bigint
    WHERE space = $1 AND period >= $2::bigint >> 10 AND changed >= $2";
