//! The tree selector: one session, all its branches, a place in it.
//!
//! `outline` is the tree as it is read, `filter` and `search` say what of it is seen, `rows` where
//! that stands. `state` holds it together; `event` is what it is told and what it wants done, `action`
//! what keys do. `update` changes it, with `answer` for the keys that are not for the tree and `dialog`
//! for what those are about; `view` draws it. `gist` is what an entry says on one line, `gists`
//! keeps those of a tree, `read` reads them; `preview` says what of the selected entry is shown beside the tree.

mod action;
mod answer;
mod dialog;
mod event;
mod filter;
mod gist;
mod gists;
mod outline;
mod preview;
mod read;
mod rows;
mod search;
mod state;
mod update;
mod view;

#[cfg(test)]
mod tests;

pub use action::Action;
pub use dialog::{Mode, Question, Sheet, Subject, Work};
pub use event::{Effect, Event};
pub use filter::Filter;
pub use gist::Gist;
pub use outline::{Node, Outline};
pub use preview::Shown;
pub use read::{know_screen, read_all, read_some};
pub use rows::{Fold, Joint, Row, Rows};
pub use search::{Text, Words};
pub use state::State;
pub use update::update;
pub use view::draw;
