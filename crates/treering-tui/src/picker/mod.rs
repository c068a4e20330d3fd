//! The session picker: every session of this machine, one of them chosen.
//!
//! `cards` is what is known of each session, `query` what is searched for, `threads` which session comes
//! from which, `rows` what is listed and where. `state` holds it together, `update` changes it, `view`
//! draws it; `areas` and `columns` are what those two must agree on. Sessions arrive in any order and any
//! number: what is listed depends only on which have arrived, and what is selected is a file, not a row.

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
pub use state::{PickerMode, PickerOptions, PickerState, Scope, Sort};
pub use update::{PickerEffect, PickerEvent, update};
pub use view::draw;
