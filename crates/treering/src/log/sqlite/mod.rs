//! A reader of SQLite databases, for agents that keep their sessions in one.
//!
//! It reads the tables from the file format: pages, b-trees, records and the schema, and the pages
//! that are still in the write-ahead log, because agents keep their databases open. It never
//! writes, takes no lock and creates no file beside the database. A writer may move pages from the
//! log to the database while they are read; [`read`] notices that and starts again.
//!
//! A database is untrusted input. Lengths and page numbers are checked, trees may not be deeper
//! than SQLite makes them, and no page is visited more often than there are pages, so that a file
//! whose pages form a cycle causes an error instead of exhausting the memory.
//!
//! Limitations: text in UTF-8 only, no tables without row ids, no SQL. An index helps to find rows if it
//! begins with the column that is asked for, in the usual order.

mod btree;
mod pages;
mod record;
mod schema;
#[cfg(test)]
mod tests;
mod wal;

pub(crate) use record::Row;
#[cfg(test)]
use record::Value;
pub(crate) use schema::Table;

use crate::fs;
use pages::Pages;
use std::io;
use std::path::Path;
use std::time::Duration;

/// The first bytes of every database.
pub(crate) const MAGIC: &[u8; 16] = b"SQLite format 3\0";

/// The number of times that a database is read again because it changed while it was read, and the pause before each.
const ATTEMPTS: u32 = 10;
const PAUSE: Duration = Duration::from_millis(10);

/// A consistent state of a database.
#[derive(Debug)]
pub(crate) struct Database {
    pages: Pages,
    tables: Vec<Table>,
}

/// Returns whether a file begins like a database.
pub(crate) fn is_database(start: &[u8]) -> bool {
    start.starts_with(MAGIC)
}

/// Calls `body` with a database, and again if the database was changed meanwhile, so that `body`
/// may have seen half of a change.
///
/// # Errors
///
/// Fails for a file that is not a database or is damaged, and for one that keeps changing.
pub(crate) fn read<T>(
    path: &Path,
    mut body: impl FnMut(&Database) -> io::Result<T>,
) -> io::Result<T> {
    for _ in 0..ATTEMPTS {
        let pages = Pages::open(path)?;
        let result = Database::of(&pages).and_then(|database| body(&database));
        if pages.is_unchanged(path)? {
            return result;
        }
        fs::sleep(PAUSE);
    }
    Err(io::Error::new(
        io::ErrorKind::ResourceBusy,
        "the database changes faster than it can be read; try again",
    ))
}

impl Database {
    fn of(pages: &Pages) -> io::Result<Self> {
        Ok(Database { tables: schema::tables(pages)?, pages: pages.clone() })
    }

    /// Returns a table by its name.
    pub(crate) fn table(&self, name: &str) -> Option<&Table> {
        self.tables.iter().find(|table| table.name == name)
    }

    /// Calls `each` for all rows of a table, in the order of their ids.
    pub(crate) fn rows(
        &self,
        table: &Table,
        each: impl FnMut(&Row<'_>) -> io::Result<()>,
    ) -> io::Result<()> {
        btree::rows(&self.pages, table, each)
    }

    /// Calls `each` for the row with an id, if there is one.
    pub(crate) fn row(
        &self,
        table: &Table,
        id: i64,
        each: impl FnMut(&Row<'_>) -> io::Result<()>,
    ) -> io::Result<()> {
        btree::row(&self.pages, table, id, each)
    }

    /// Calls `each` for all rows of a table that have this text in a column.
    pub(crate) fn rows_with(
        &self,
        table: &Table,
        column: &str,
        text: &str,
        mut each: impl FnMut(&Row<'_>) -> io::Result<()>,
    ) -> io::Result<()> {
        match table.index_on(column) {
            Some(root) => {
                let mut ids = Vec::new();
                btree::find(&self.pages, root, text, |row| {
                    ids.extend(row.last_integer()?);
                    Ok(())
                })?;
                ids.into_iter().try_for_each(|id| btree::row(&self.pages, table, id, &mut each))
            }
            None => self.rows(table, |row| match row.text(column)?.as_deref() == Some(text) {
                true => each(row),
                false => Ok(()),
            }),
        }
    }
}

/// Returns the error for a file that is not a valid database.
fn damaged(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("the database is damaged: {what}"))
}

/// Returns the big-endian number at a position.
fn u16_at(bytes: &[u8], at: usize) -> io::Result<u16> {
    let bytes = bytes.get(at..).and_then(<[u8]>::first_chunk);
    bytes.map(|bytes| u16::from_be_bytes(*bytes)).ok_or_else(|| damaged("a page is too short"))
}

/// Returns the big-endian number at a position.
fn u32_at(bytes: &[u8], at: usize) -> io::Result<u32> {
    let bytes = bytes.get(at..).and_then(<[u8]>::first_chunk);
    bytes.map(|bytes| u32::from_be_bytes(*bytes)).ok_or_else(|| damaged("a page is too short"))
}
