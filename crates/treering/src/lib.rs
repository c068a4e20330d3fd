//! Session trees for AI agents.
//!
//! An agent's conversation is a tree: every entry names its parent, branching moves a leaf pointer,
//! nothing is ever rewritten, and what the model sees is the path from the leaf to the root with
//! compactions and branch summaries applied. treering stores such trees as append-only JSONL files,
//! compatible with version 3 of the pi session format, and is built to lose nothing in a crash, on a
//! full disk, with several processes on one file, or around a damaged line.
//!
//! ```
//! use treering::{Catalog, Message};
//! # let root = tempfile::tempdir()?;
//! let catalog = Catalog::new(root.path());
//! let session = catalog.create("/home/me/project", Default::default())?;
//!
//! let question = session.append(Message::user("Name a color."))?;
//! session.append(Message::assistant("acme", "model-1", "Red."))?;
//!
//! session.branch(&question)?;
//! session.append(Message::assistant("acme", "model-1", "Blue."))?;
//!
//! let context = session.context()?;
//! assert_eq!(context.messages.len(), 2); // Red is on another branch now
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Data flows one way: bytes ([`storage`]) → lines → entries ([`entry`]) → tree ([`tree`]) → path →
//! context ([`context`]) → provider messages ([`provider`]). Writes go the other way, and all of
//! them end in [`Journal::append`]. The library is synchronous, prints nothing,
//! and reads no environment variables.
//!
//! The root holds the types that every program uses. Everything else is in a module named after its
//! purpose.

pub mod branch_summary;
pub mod catalog;
pub mod compaction;
pub mod context;
pub mod context_edit;
pub mod convert;
pub mod dialect;
pub mod diff;
pub mod doctor;
pub mod entry;
mod error;
pub mod findings;
pub mod fork;
mod fs;
pub mod header;
mod id;
mod json;
mod llm;
mod load;
mod log;
pub mod merge;
pub mod migrate;
mod position;
#[cfg(feature = "serde")]
mod serde_ids;
pub mod session;
mod snapshot;
pub mod store;
pub mod time;
mod title;
pub mod tree;
pub mod usage;

pub use catalog::Catalog;
pub use context::Context;
pub use dialect::Dialect;
pub use entry::{Entry, Kind, Message, NewEntry, Role};
pub use error::{Error, Result};
pub use fork::ForkOptions;
pub use header::Header;
pub use id::{EntryId, InvalidSessionId, SessionId};
pub use position::Position;
pub use session::{CreateOptions, OpenOptions, Session};
pub use tree::Tree;

/// Requests of model providers, built from a context.
pub mod provider {
    pub use crate::llm::{
        CacheControl, ContextRepair, LlmContext, Pairing, ProviderRequest, RequestOptions, Tool,
    };
}

/// Storage of sessions and ways to read it: journals, filters, archives.
pub mod storage {
    pub use crate::log::{
        Appended, Checkpoint, End, Journal, JournalError, LineFilter, MemoryJournal, UnpackLimits,
        decompress,
    };

    use std::path::Path;
    use std::sync::Arc;

    /// Opens the log in a file, shared with other processes. Archives are decompressed and read-only.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("chat.jsonl");
    /// std::fs::write(&path, "{\"type\":\"session\"}\n")?;
    /// assert_eq!(treering::storage::open_file(&path)?.len()?, 19);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open_file(path: impl AsRef<Path>) -> crate::Result<Arc<dyn Journal>> {
        Ok(Arc::new(crate::dialect::stored::open(path.as_ref())?))
    }
}

/// Items shared with the sibling crates of this workspace. They are not part of the public API and
/// may change in any release.
#[doc(hidden)]
pub mod internal {
    /// The file system as treering uses it.
    pub mod fs {
        pub use crate::fs::*;
    }

    /// Lines that are synchronized from one copy of a session to another.
    pub mod records {
        pub use crate::load::records::{LineContent, LogFormat, Record, TitleLine};
    }

    /// The files of subagents beside session files.
    pub mod subagents {
        pub use crate::dialect::subagents::{
            DirectoryNames, is_subagent_directory, subagent_files, subagent_files_among,
        };
    }

    /// The names of members in the records of all agents.
    pub mod members {
        pub use crate::dialect::members::{data, headers, ids, structural};
    }

    /// Returns the ids of all sessions in a database of an agent, including those of subagents.
    pub fn stored_ids(database: &std::path::Path) -> crate::Result<Vec<String>> {
        crate::dialect::stored::stored_ids(database)
    }

    /// Returns the id in the name of a session file; `None` if the name has another shape than those of
    /// new files.
    pub fn id_in_name(path: &std::path::Path) -> Option<crate::SessionId> {
        crate::session::location::id_in_name(path)
    }

    /// Returns the hash that an image is replaced by if it is stored outside of the session file; `None` for
    /// an image in the session.
    pub fn blob_hash(image_data: &str) -> Option<&str> {
        crate::dialect::blobs::hash_in(image_data)
    }

    /// Returns JSON as UTF-8, with replacement characters for invalid bytes and for halves of surrogate
    /// pairs, which other parsers refuse.
    pub fn unicode_json(json: &[u8]) -> std::borrow::Cow<'_, str> {
        crate::json::to_unicode(json)
    }

    /// Returns bytes as lowercase hexadecimal digits.
    pub fn hex(bytes: &[u8]) -> String {
        crate::id::hex(bytes)
    }

    /// Returns the log of a session.
    pub fn journal_of(session: &crate::Session) -> std::sync::Arc<dyn crate::storage::Journal> {
        session.view().shared_journal()
    }

    /// Returns the text of a JSON string literal, quotes included; `None` if it is something else.
    /// Anything that a `String` cannot hold becomes U+FFFD.
    ///
    /// ```
    /// assert_eq!(treering::internal::json_text(br#""a\nb""#).as_deref(), Some("a\nb"));
    /// ```
    pub fn json_text(literal: &[u8]) -> Option<std::borrow::Cow<'_, str>> {
        crate::json::string(literal)
    }
}

use crate::context::Projection;
use crate::storage::Journal;
use std::path::Path;
use std::sync::Arc;

/// Returns the context at the active leaf of a session file without opening the session: the file
/// is read from its end, only as far as necessary. The result equals that of [`Session::open`] and
/// [`Session::context`].
///
/// # Errors
///
/// As [`Session::open`].
pub fn active_context(path: impl AsRef<Path>) -> Result<Context> {
    Context::collect(active_projection(path)?)
}

/// Returns the context at the active leaf of a session file, message by message.
pub fn active_projection(path: impl AsRef<Path>) -> Result<Projection> {
    let path = path.as_ref();
    let journal: Arc<dyn Journal> = Arc::new(dialect::stored::open(path)?);
    match context::tail::projection(&journal, path)? {
        Some(projection) => Ok(projection),
        None => Session::open(path)?.projection(),
    }
}

/// Returns the context at the active leaf of the session in a journal, as [`active_context`] does for a
/// file.
///
/// # Errors
///
/// Fails if the journal is not that of a session, and if it cannot be read.
///
/// ```
/// use std::sync::Arc;
/// use treering::storage::MemoryJournal;
/// use treering::{CreateOptions, Message, Session};
/// let journal = Arc::new(MemoryJournal::default());
/// let session = Session::in_journal(journal.clone(), "/project", CreateOptions::new())?;
/// session.append(Message::user("hello"))?;
/// assert_eq!(treering::active_context_of(journal)?, session.context()?);
/// # Ok::<(), treering::Error>(())
/// ```
pub fn active_context_of(journal: Arc<dyn Journal>) -> Result<Context> {
    Context::collect(active_projection_of(journal)?)
}

/// Returns the context at the active leaf of the session in a journal, message by message.
pub fn active_projection_of(journal: Arc<dyn Journal>) -> Result<Projection> {
    match context::tail::projection(&journal, Path::new("(journal)"))? {
        Some(projection) => Ok(projection),
        None => Session::in_journal(journal, "", CreateOptions::new())?.projection(),
    }
}
