//! Checks a database for settings that weaken the guarantees of a store.

use crate::connection::Connection;
use crate::facts::now;
use crate::failure::Failure;
use crate::schema;
use crate::store::PostgresStore;
use std::time::Instant;
use treering::{Error, Result};

/// The severity of a [`Check`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// The setting is correct.
    Good,
    /// A guarantee is weaker than it could be.
    Warning,
    /// A guarantee does not hold.
    Failure,
}

/// The result of one check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// The severity of the result.
    pub level: Level,
    /// The name of the check, one or two words.
    pub name: &'static str,
    /// The result, and what to do about it.
    pub detail: String,
}

const SETTINGS_AND_ROLES: &str =
    "SELECT current_setting('fsync'), current_setting('full_page_writes'),
    current_setting('synchronous_commit'), current_setting('synchronous_standby_names'),
    r.rolsuper, r.rolbypassrls, current_user::text, current_setting('server_version'),
    (extract(epoch FROM clock_timestamp()) * 1000)::bigint,
    (SELECT count(*) FROM pg_inherits WHERE inhparent = 'treering.lines'::regclass),
    (SELECT count(*) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
      WHERE n.nspname = 'treering' AND (c.relname IN ('sessions', 'facts', 'lines')
        OR c.relname ~ '^lines_[0-9]+$') AND c.relkind IN ('r', 'p')
        AND NOT (c.relrowsecurity AND c.relforcerowsecurity)),
    current_setting('max_connections')::int, pg_is_in_recovery()
    FROM pg_roles r WHERE r.rolname = current_user";

/// Counts rows that row-level security should hide: there is no condition, and no session is in the
/// space.
const FENCE: &str = "SELECT (SELECT count(*) FROM (SELECT FROM treering.sessions LIMIT 1) s)
    + (SELECT count(*) FROM (SELECT FROM treering.lines LIMIT 1) l)
    + (SELECT count(*) FROM (SELECT FROM treering.facts LIMIT 1) f)";

/// The difference between clocks from which on it is reported, in milliseconds.
const MAX_SKEW: i64 = 2000;

impl PostgresStore {
    /// Checks the schema, the roles and the settings of the database, and tests whether spaces are
    /// separated.
    pub fn check(&self) -> Result<Vec<Check>> {
        let deadline = self.shared.pool.deadline();
        let checks = self.repeat(deadline, |connection| run_checks(connection, deadline));
        let mut checks = checks.map_err(Error::Storage)?;
        // No session is in a space with this name, because it has a control character.
        let fence = self.shared.pool.repeat("\u{1}", deadline, |connection| {
            let row = connection.query_opt(FENCE, &[], deadline)?;
            Ok(row.map_or(1, |row| row.try_get::<_, i64>(0).unwrap_or(1)))
        });
        let seen = fence.map_err(Error::Storage)?;
        let is_superuser =
            checks.iter().any(|check| check.name == "role" && check.level > Level::Good);
        checks.push(match (seen, is_superuser) {
            (0, false) => good("spaces", "row-level security separates spaces"),
            (_, true) => warning(
                "spaces",
                "row-level security does not apply to this role: only the statements separate spaces",
            ),
            (_, false) => failure("spaces", "a query without a condition sees other spaces"),
        });
        Ok(checks)
    }
}

fn good(name: &'static str, detail: impl Into<String>) -> Check {
    Check { level: Level::Good, name, detail: detail.into() }
}

fn warning(name: &'static str, detail: impl Into<String>) -> Check {
    Check { level: Level::Warning, name, detail: detail.into() }
}

fn failure(name: &'static str, detail: impl Into<String>) -> Check {
    Check { level: Level::Failure, name, detail: detail.into() }
}

fn run_checks(connection: &mut Connection, deadline: Instant) -> Result<Vec<Check>, Failure> {
    let version = schema::version(connection, deadline)?;
    schema::check(version)?;
    let mut checks = vec![good("schema", format!("version {version}"))];
    let Some(row) = connection.query_opt(SETTINGS_AND_ROLES, &[], deadline)? else {
        return Ok(checks);
    };
    let text = |column: usize| row.try_get::<_, &str>(column).unwrap_or_default().to_owned();
    let flag = |column: usize| row.try_get::<_, bool>(column).unwrap_or(false);
    let number = |column: usize| row.try_get::<_, i64>(column).unwrap_or(0);

    checks.push(good("server", format!("PostgreSQL {}", text(7))));
    checks.push(match (text(0).as_str(), text(1).as_str()) {
        ("on", "on") => good("durability", "fsync and full_page_writes are on"),
        _ => failure(
            "durability",
            "fsync or full_page_writes is off: a power failure loses sessions",
        ),
    });
    checks.push(match (text(2).as_str(), text(3).is_empty()) {
        ("local", false) => warning(
            "replication",
            "synchronous_commit is local: a failover loses appends that were acknowledged",
        ),
        (_, true) => warning(
            "replication",
            "synchronous_standby_names is empty: a failover may lose appends that were acknowledged",
        ),
        (mode, false) => good("replication", format!("synchronous standbys, {mode}")),
    });
    checks.push(match (flag(4), flag(5)) {
        (false, false) => good("role", format!("{} obeys row-level security", text(6))),
        _ => warning(
            "role",
            format!(
                "{} is a superuser or has BYPASSRLS: connect as a role that row-level security binds",
                text(6)
            ),
        ),
    });
    checks.push(match number(9) {
        16 => good("partitions", "16 partitions of lines"),
        count => failure("partitions", format!("{count} partitions of lines instead of 16")),
    });
    checks.push(match number(10) {
        0 => good("policies", "row-level security is on and forced for all tables"),
        count => {
            failure("policies", format!("row-level security is not forced for {count} tables"))
        }
    });
    let skew = number(8) - now();
    checks.push(match skew.abs() <= MAX_SKEW {
        true => good("clock", format!("the clocks differ by {} ms", skew.abs())),
        false => warning(
            "clock",
            format!("the database's clock differs by {skew} ms: tokens expire by its clock"),
        ),
    });
    if flag(12) {
        checks.push(warning("standby", "the database is a standby: sessions can only be read"));
    }
    Ok(checks)
}
