//! The tree selector: one session, all its branches, a place in it.
//!
//! `outline` is the tree as it is read, `filter` and `search` say what of it is seen, `rows` where
//! that stands. `state` holds it together; `event` is what it is told and what it wants done, `action`
//! what keys do. `update` changes it, with `answer` for the keys that are not for the tree and `dialog`
//! for what those are about; `view` draws it. `preview_line` is what an entry says on one line, `preview_lines`
//! keeps those of a tree, `read` reads them; `preview` says what of the selected entry is shown beside the tree.

mod action;
mod dialog;
mod dialog_keys;
mod event;
mod filter;
mod outline;
mod preview_line;
mod preview_lines;
mod preview_pane;
mod read;
mod rows;
mod search;
mod state;
mod update;
mod view;

#[cfg(test)]
mod tests;

pub use action::TreeAction;
pub use dialog::{Overlay, OverlayKind, Prompt, Task, TreeMode};
pub use event::{TreeEffect, TreeEvent};
pub use filter::Filter;
pub use outline::{Outline, OutlineNode};
pub use preview_line::PreviewLine;
pub use preview_pane::PreviewContent;
pub use read::{know_screen, read_all, read_some};
pub use rows::{Connector, Fold, TreeRow, TreeRows};
pub use search::{SearchText, SearchWords};
pub use state::TreeState;
pub use update::update;
pub use view::draw;
