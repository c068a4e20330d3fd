//! Links records by rules that only their agent knows.
//!
//! In most dialects the parent of a record is enough. In others — one message in several records,
//! turns that were rolled back, titles in records of their own — a [`Linker`] sees every record
//! while the file is read, and corrects the tree at the end.

use crate::entry::head::Head;
use crate::tree::{Row, Tree};
use std::fmt;

/// Sees all records of a file, and links them at the end.
pub(crate) trait Linker: fmt::Debug + Send + Sync {
    /// Receives a record that became a row.
    fn row(&mut self, row: Row, head: &Head<'_>);

    /// Receives a record that did not become a row.
    fn side(&mut self, record: &[u8]);

    /// Corrects the tree, once all rows are in it.
    fn finish(&mut self, tree: &mut Tree);
}
