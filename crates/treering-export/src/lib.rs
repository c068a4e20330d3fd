//! Session trees as documents: one HTML file, Markdown, JSON, or a session file.
//!
//! Every format is written entry by entry, so an export needs the memory of one entry and an index,
//! not of the session. The content of a session is not trusted: in no format can it run scripts,
//! load data, be invisible, or appear outside of its entry. `html` writes the page, `markdown`,
//! `json` and `jsonl` the other formats; `walk` lists the entries of a [`Part`]. [`Site`] writes
//! many sessions as a static site. [`viewer`] has the parts of the page that the web page of the
//! server uses. Safe text, previews, tool calls, diffs and highlighting come from
//! `treering-display`.
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

mod file;
mod html;
mod json;
mod jsonl;
mod markdown;
mod site;
mod stats;
pub mod viewer;
mod walk;

pub use file::{Existing, document_name, write_file};
pub use site::{Site, SiteReport};

use std::io::{self, Write};
use treering::Session;
use treering::session::Part;
use treering_display::line::excerpt;

/// The options of an export. All have defaults.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Export {
    /// The entries to export.
    pub part: Part,
    /// Includes the thinking of the model (Markdown only).
    pub thinking: bool,
    /// Includes long tool results and system prompts in full (Markdown only).
    pub full: bool,
}

impl Export {
    /// Returns the defaults.
    pub fn new() -> Self {
        Export::default()
    }

    /// Sets the part of the session.
    #[must_use]
    pub fn part(self, part: Part) -> Self {
        Export { part, ..self }
    }

    /// Sets whether thinking is included.
    #[must_use]
    pub fn thinking(self, thinking: bool) -> Self {
        Export { thinking, ..self }
    }

    /// Sets whether long texts are included as a whole.
    #[must_use]
    pub fn full(self, full: bool) -> Self {
        Export { full, ..self }
    }
}

/// The error of an export.
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
    /// Writes one self-contained HTML page: the tree, the conversation of every branch, search. The
    /// page runs and loads only its own script, whatever the session contains.
    pub fn html(&self, session: &Session, out: &mut impl Write) -> Result<()> {
        html::write(self, session, out)
    }

    /// Writes Markdown that can be pasted into an issue. Several branches follow one another.
    pub fn markdown(&self, session: &Session, out: &mut impl Write) -> Result<()> {
        markdown::write(self, session, out)
    }

    /// Writes one JSON document with `header`, `leaf`, `path`, `labels` and `entries` in treering's format.
    pub fn json(&self, session: &Session, out: &mut impl Write) -> Result<()> {
        json::write(self, session, out)
    }

    /// Writes a session file in the format that pi and treering share.
    ///
    /// ```
    /// use treering::{Message, Session};
    /// use treering::session::Part;
    /// use treering_export::Export;
    /// # let dir = tempfile::tempdir()?;
    /// let session = Session::in_memory("/project");
    /// let hello = session.append(Message::user("hello"))?;
    /// session.append(Message::assistant("acme", "m", "hi"))?;
    /// let export = Export::new().part(Part::Branch(hello.clone().into()));
    /// let file = dir.path().join("hello.jsonl");
    /// export.jsonl(&session, &mut std::fs::File::create(&file)?)?;
    /// assert_eq!(Session::open(&file)?.context()?, session.context_at(hello.as_str())?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn jsonl(&self, session: &Session, out: &mut impl Write) -> Result<()> {
        jsonl::write(self, session, out)
    }
}

/// Returns the title of a document: that of the session, cut to `most` characters.
pub(crate) fn title(session: &Session, most: usize) -> Result<String> {
    let title = excerpt(&session.title()?, most);
    Ok(if title.is_empty() { "Session".to_owned() } else { title })
}
