//! The tokens of a server, stored in the database as hashes.

use crate::store::PostgresStore;
use std::io;
use tokio_postgres::Row;
use treering::store::Scope;
use treering::{Error, Result};

/// A token without its secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// The SHA-256 hash of the secret.
    pub hash: [u8; 32],
    /// The name that a user gave the token.
    pub name: String,
    /// The space that the token is for.
    pub space: String,
    /// The permission of the token.
    pub scope: Scope,
    /// The time at which the token was created, in Unix milliseconds.
    pub created: i64,
    /// The time at which the token expires, in Unix milliseconds.
    pub expires: Option<i64>,
    /// The time at which the token was revoked, in Unix milliseconds.
    pub revoked: Option<i64>,
}

macro_rules! select {
    ($rest:literal) => {
        concat!(
            "SELECT hash, name, space, scope, (extract(epoch FROM created) * 1000)::bigint,
               (extract(epoch FROM expires) * 1000)::bigint,
               (extract(epoch FROM revoked) * 1000)::bigint
             FROM treering.tokens ",
            $rest
        )
    };
}

/// The clock of the database decides about expiry.
const FIND: &str = select!(
    "WHERE hash = $1 AND revoked IS NULL AND (expires IS NULL OR expires > clock_timestamp())"
);
const ALL: &str = select!("ORDER BY created, name");
const CREATE: &str = "INSERT INTO treering.tokens (hash, name, space, scope, expires)
    VALUES ($1, $2, $3, $4, to_timestamp($5::bigint::double precision / 1000))
    ON CONFLICT (hash) DO NOTHING";
const REVOKE: &str = "UPDATE treering.tokens SET revoked = coalesce(revoked, clock_timestamp())
    WHERE name = $1 AND revoked IS NULL";

fn token(row: &Row) -> Result<Token> {
    let broken = |error| Error::Storage(io::Error::new(io::ErrorKind::InvalidData, error));
    let hash: &[u8] = row.try_get(0).map_err(broken)?;
    let wrong = |_| Error::Storage(io::Error::from(io::ErrorKind::InvalidData));
    let scope: &str = row.try_get(3).map_err(broken)?;
    Ok(Token {
        hash: hash.try_into().map_err(wrong)?,
        name: row.try_get(1).map_err(broken)?,
        space: row.try_get(2).map_err(broken)?,
        scope: scope.parse()?,
        created: row.try_get(4).map_err(broken)?,
        expires: row.try_get(5).map_err(broken)?,
        revoked: row.try_get(6).map_err(broken)?,
    })
}

/// Tokens of servers. They belong to the database, independently of the space of this store.
impl PostgresStore {
    /// Returns the token with this hash, if it has neither expired nor been revoked.
    pub fn find_token(&self, hash: &[u8; 32]) -> Result<Option<Token>> {
        let deadline = self.shared.pool.deadline();
        let row = self.repeat(deadline, |connection| {
            connection.query_opt(FIND, &[&hash.as_slice()], deadline)
        });
        row.map_err(Error::Storage)?.as_ref().map(token).transpose()
    }

    /// Stores a token. The time at which it expires is in Unix milliseconds.
    ///
    /// # Errors
    ///
    /// Fails with [`Error::InvalidOption`] for a name that is empty or has control characters, and
    /// for the name of a space that [`in_space`](PostgresStore::in_space) refuses.
    pub fn create_token(
        &self,
        hash: &[u8; 32],
        name: &str,
        space: &str,
        scope: Scope,
        expires: Option<i64>,
    ) -> Result<()> {
        self.in_space(space)?;
        if name.is_empty() || name.chars().any(char::is_control) {
            let why = "the name of a token must not be empty or have control characters";
            return Err(Error::InvalidOption(why.to_owned()));
        }
        let deadline = self.shared.pool.deadline();
        let created = self.repeat(deadline, |connection| {
            connection.execute(
                CREATE,
                &[&hash.as_slice(), &name, &space, &scope.name(), &expires],
                deadline,
            )
        });
        created.map(drop).map_err(Error::Storage)
    }

    /// Returns all tokens, oldest first, including those that expired or were revoked.
    pub fn tokens(&self) -> Result<Vec<Token>> {
        let deadline = self.shared.pool.deadline();
        let rows = self.repeat(deadline, |connection| connection.query(ALL, &[], deadline));
        rows.map_err(Error::Storage)?.iter().map(token).collect()
    }

    /// Revokes the tokens with this name. Returns how many there were.
    pub fn revoke_token(&self, name: &str) -> Result<u64> {
        let deadline = self.shared.pool.deadline();
        let revoked =
            self.repeat(deadline, |connection| connection.execute(REVOKE, &[&name], deadline));
        revoked.map_err(Error::Storage)
    }
}
