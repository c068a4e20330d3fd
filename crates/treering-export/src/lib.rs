//! Session trees as documents: one HTML file, Markdown, JSON, or a session of its own.
//!
//! Every format is written entry by entry, so memory is that of one entry and an index, not of the
//! session. What a session holds is hostile: no format lets it run, load, hide or break out of its
//! place. [`text`] has the rules for that, `html` the page, `markdown`, `json` and `jsonl` the rest;
//! `walk` says which entries a [`Part`] means. What an entry is made of is the same for every reader:
//! [`tool`] for calls, [`diff`] for changes, [`highlight`] for code.
//!
//! ```
//! use treering::{Message, Session};
//! use treering_export::Export;
//!
//! let session = Session::in_memory("/project");
//! session.append(Message::user("What is **here**?"))?;
//! let mut page = Vec::new();
//! Export::default().html(&session, &mut page)?;
//! assert!(page.starts_with(b"<!doctype html>"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod diff;
mod entry_parts;
mod file;
pub mod highlight;
mod html;
mod json;
mod jsonl;
mod markdown;
mod preview_line;
mod stats;
pub mod text;
pub mod tool;
mod walk;

pub use entry_parts::{MessageFields, message_parts};
pub use file::{Existing, document_name, write_file};
pub use preview_line::{Calls, PreviewLine};
pub use stats::usage_facts;

use std::io::{self, Write};
use treering::Session;
use treering::session::Part;

/// The options of an export. All have defaults.
#[derive(Debug, Clone, Default)]
pub struct Export {
    /// The entries to export.
    pub part: Part,
    /// Markdown: with what the model thought.
    pub thinking: bool,
    /// Markdown: long tool results in full.
    pub full: bool,
}

/// Why an export failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The session could not be read.
    #[error(transparent)]
    Session(#[from] treering::Error),
    /// The document could not be written.
    #[error("cannot write the export: {0}")]
    Write(#[from] io::Error),
}

/// The result of an export.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The formats.
impl Export {
    /// One HTML page that needs nothing else: the tree, the conversation of every branch, search.
    /// Nothing in it runs or loads but its own script, whatever the session holds.
    pub fn html(&self, session: &Session, out: &mut impl Write) -> Result<()> {
        html::write(self, session, out)
    }

    /// Markdown as one pastes it into an issue. Several branches come one after the other.
    pub fn markdown(&self, session: &Session, out: &mut impl Write) -> Result<()> {
        markdown::write(self, session, out)
    }

    /// One JSON document: `header`, `leaf`, `path`, `labels`, `entries` in treering's shape.
    pub fn json(&self, session: &Session, out: &mut impl Write) -> Result<()> {
        json::write(self, session, out)
    }

    /// A session of its own, in the format that pi and treering share.
    ///
    /// ```
    /// use treering::{Message, Session};
    /// use treering::session::Part;
    /// use treering_export::Export;
    /// # let dir = tempfile::tempdir()?;
    /// let session = Session::in_memory("/project");
    /// let hello = session.append(Message::user("hello"))?;
    /// session.append(Message::assistant("acme", "m", "hi"))?;
    /// let export = Export { part: Part::Branch(hello.to_string()), ..Export::default() };
    /// let file = dir.path().join("hello.jsonl");
    /// export.jsonl(&session, &mut std::fs::File::create(&file)?)?;
    /// assert_eq!(Session::open(&file)?.context()?, session.context_at(hello.as_str())?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn jsonl(&self, session: &Session, out: &mut impl Write) -> Result<()> {
        jsonl::write(self, session, out)
    }
}
