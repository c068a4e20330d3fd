//! The display layer: the code that the command line, the terminal interface and exported documents
//! share to show a session.
//!
//! | module | content |
//! |---|---|
//! | [`text`] | makes text of a session safe to show |
//! | [`mod@line`] | one line of a text |
//! | [`columns`] | measures, cuts and pads text by terminal columns |
//! | [`number`] | tokens, money, bytes and ages in few characters |
//! | [`json`] | JSON over several lines |
//! | [`preview_line`] | one line for an entry |
//! | [`entry_parts`], [`tool`], [`diff`], [`usage`] | the parts of entries: messages, tool calls, edits, usage |
//! | [`highlight`] | splits code into keywords, strings, comments and numbers |
//! | [`tree`] | the order and the layout of a tree |
//!
//! The crate reads sessions through `treering` and writes nothing. It draws nothing either: callers turn
//! its values into terminal cells, lines of output or HTML.

pub mod columns;
pub mod diff;
pub mod entry_parts;
pub mod highlight;
pub mod json;
pub mod line;
pub mod number;
pub mod preview_line;
pub mod text;
pub mod tool;
pub mod tree;
pub mod usage;
