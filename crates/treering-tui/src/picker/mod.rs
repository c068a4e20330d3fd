//! The session picker: lists all sessions of this machine and chooses one.
//!
//! `session_table` holds the known sessions, `search_input` the query, `threads` the forks, `rows`
//! the listed rows. `state` holds the state, `update` changes it, `view` draws it; `areas` and
//! `columns` are shared by those two. Sessions arrive in any order: the list depends only on which
//! have arrived, and the selection is a file, not a row.

mod action;
mod areas;
mod columns;
mod rows;
mod search_input;
mod session_table;
mod state;
mod threads;
mod update;
mod view;

#[cfg(test)]
mod tests;

pub use action::PickerAction;
pub use rows::{SessionRow, SessionRows};
pub(crate) use state::PickerView;
pub use state::{PickerMode, PickerOptions, PickerState, Scope, Sort};
pub use update::{PickerEffect, PickerEvent, update};
pub use view::draw;
