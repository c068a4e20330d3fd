//! The schema of the database and its versions.

use crate::connection::Connection;
use crate::failure::Failure;
use std::io;
use std::time::Instant;

/// The migrations, oldest first. The version of a schema is the number of applied migrations.
const MIGRATIONS: [&str; 2] =
    [include_str!("../migrations/0001.sql"), include_str!("../migrations/0002.sql")];

/// The version of the schema that this release works with.
pub(crate) const VERSION: i32 = MIGRATIONS.len() as i32;

/// The key of the lock for migrations: "treering" in ASCII.
const LOCK: i64 = 0x7472_6565_7269_6e67;

/// Returns the version of the schema; 0 if there is none.
pub(crate) fn version(connection: &mut Connection, deadline: Instant) -> Result<i32, Failure> {
    let exists = "SELECT to_regclass('treering.versions') IS NOT NULL";
    let exists = connection.query_opt(exists, &[], deadline)?;
    if !exists.is_some_and(|row| row.try_get(0).unwrap_or(false)) {
        return Ok(0);
    }
    let newest = "SELECT coalesce(max(version), 0) FROM treering.versions";
    let newest = connection.query_opt(newest, &[], deadline)?;
    Ok(newest.map_or(0, |row| row.try_get(0).unwrap_or(0)))
}

/// Fails if the schema does not have the version of this release.
pub(crate) fn check(found: i32) -> Result<(), Failure> {
    let refuse = |kind, text: String| Err(Failure::Permanent(io::Error::new(kind, text)));
    match found {
        VERSION => Ok(()),
        0 => {
            let text = "the database has no sessions of treering: run `treering store init` first";
            refuse(io::ErrorKind::NotFound, text.to_owned())
        }
        older if older < VERSION => refuse(
            io::ErrorKind::Unsupported,
            format!(
                "the schema has version {older}, this release needs {VERSION}: run `treering store migrate`"
            ),
        ),
        newer => refuse(
            io::ErrorKind::Unsupported,
            format!(
                "the schema has version {newer}, newer than the {VERSION} of this release: use a newer release"
            ),
        ),
    }
}

/// Migrates the schema to the version of this release, in one transaction. Returns the previous
/// version.
pub(crate) fn migrate(connection: &mut Connection, deadline: Instant) -> Result<i32, Failure> {
    connection.batch(deadline, &format!("BEGIN; SELECT pg_advisory_xact_lock({LOCK})"))?;
    let result = apply(connection, deadline);
    let end = if result.is_ok() { "COMMIT" } else { "ROLLBACK" };
    match (result, connection.batch(deadline, end)) {
        (Ok(_), Err(failure)) => Err(failure),
        (result, _) => result,
    }
}

fn apply(connection: &mut Connection, deadline: Instant) -> Result<i32, Failure> {
    let before = version(connection, deadline)?;
    if before > VERSION {
        return check(before).map(|()| before);
    }
    if before == 0 {
        let start = "CREATE SCHEMA IF NOT EXISTS treering;
            CREATE TABLE treering.versions (version int PRIMARY KEY, applied timestamptz NOT NULL DEFAULT now())";
        connection.batch(deadline, start)?;
    }
    for (number, migration) in (1..).zip(MIGRATIONS).skip(before.max(0) as usize) {
        connection.batch(deadline, migration)?;
        let note = format!("INSERT INTO treering.versions (version) VALUES ({number})");
        connection.batch(deadline, &note)?;
    }
    Ok(before)
}
