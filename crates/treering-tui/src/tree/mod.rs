//! The tree selector: one session, all its branches, a place in it.
//!
//! `outline` is the tree as it is read, `filter` and `search` say what of it is seen, `rows` where
//! that stands. `state` holds it together, `update` changes it (`answer` for keys that are not
//! for the tree), `view` draws it; `areas` is what
//! those two must agree on, `dialog` what stands between a key and what it does. `gist` is what an entry says on one line, `read` reads
//! gists; `preview` says what of the selected entry is shown beside the tree.

mod action;
mod answer;
mod areas;
mod dialog;
mod event;
mod filter;
mod gist;
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
pub use search::Words;
pub use state::State;
pub use update::update;
pub use view::draw;
