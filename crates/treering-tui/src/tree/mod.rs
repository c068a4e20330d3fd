//! The tree selector: shows the branches of a session and chooses an entry.
//!
//! [`Filter`] and `search` select the visible entries, whose layout is [`treering_display::tree`];
//! `read` reads their preview lines and `preview_lines` stores them. `state` holds the state,
//! `event` its events and effects, `action` the actions of keys. `update` changes the state, with
//! `dialog` for prompts and overlays and `dialog_keys` for their keys; `view` draws it.
//! `preview_pane` is the content of the preview beside the tree.

mod action;
mod dialog;
mod dialog_keys;
mod entry_name;
mod event;
mod preview_lines;
mod preview_pane;
mod read;
mod search;
mod state;
mod update;
mod view;

#[cfg(test)]
mod tests;

pub use action::TreeAction;
pub use dialog::{Overlay, OverlayKind, Prompt, Task, TreeMode};
pub use event::{TreeEffect, TreeEvent};
pub use preview_pane::PreviewContent;
pub use read::{load_visible_previews, read_all, read_some};
pub use search::{SearchText, SearchWords};
pub use state::TreeState;
pub use update::update;
pub use view::draw;

pub use treering_display::tree::Filter;
