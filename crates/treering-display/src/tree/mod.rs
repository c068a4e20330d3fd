//! The order and the layout of a tree, the same on the command line, in the terminal interface and in
//! exported pages.
//!
//! [`Outline`] puts the entries into the order in which they are shown. A [`Filter`] selects some
//! of them. [`TreeRows`] lays out the visible ones: the active path is unindented in the first
//! column, and side branches are indented below it.

mod filter;
mod outline;
mod rows;

#[cfg(test)]
mod tests;

pub use filter::{Filter, FilterTraits};
pub use outline::{DisplayOrder, Outline, OutlineNode};
pub use rows::{Connector, Fold, TreeRow, TreeRows};
