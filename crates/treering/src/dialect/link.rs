//! Links records by rules that only their agent knows.
//!
//! Most dialects say it all in a record's parent. Where they do not — one message spread over several
//! records, turns that were rolled back, titles in records of their own — a [`Linker`] watches the
//! records pass as the file is read, and sets the tree right at its end.

use crate::entry::head::Head;
use crate::tree::{Row, Tree};
use std::fmt;

/// Watches records pass, and links them when all were seen.
pub(crate) trait Linker: fmt::Debug + Send + Sync {
    /// A record that became a row.
    fn row(&mut self, row: Row, head: &Head<'_>);

    /// A record that did not.
    fn side(&mut self, record: &[u8]);

    /// Sets the tree right: every row is there.
    fn finish(&mut self, tree: &mut Tree);
}
