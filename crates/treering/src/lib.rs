//! Session trees for AI agents.
//!
//! An agent's conversation is a tree: every entry names its parent, branching moves a leaf pointer,
//! nothing is ever rewritten, and what the model sees is the path from the leaf to the root with
//! compactions and branch summaries applied. treering stores such trees as append-only JSONL files,
//! compatible with version 3 of the pi session format, and promises to lose nothing: not to a crash,
//! a full disk, a second process, or a damaged line.
//!
//! ```
//! use treering::{Catalog, Message};
//! # let root = tempfile::tempdir()?;
//! let catalog = Catalog::new(root.path());
//! let session = catalog.create("/home/me/project", Default::default())?;
//!
//! let question = session.append(Message::user("Name a colour."))?;
//! session.append(Message::assistant("acme", "model-1", "Red."))?;
//!
//! session.branch(question.as_str())?;
//! session.append(Message::assistant("acme", "model-1", "Blue."))?;
//!
//! let context = session.context()?;
//! assert_eq!(context.messages.len(), 2); // Red is on another branch now
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Data flows one way: bytes ([`Journal`]) → lines → entries ([`Entry`]) → tree ([`Tree`]) → path →
//! context ([`Context`]) → provider messages ([`LlmContext`]). Writes go the other way through one
//! door, [`Session::append_all`]. The library is synchronous, prints nothing, reads no environment and
//! knows no home directory.

mod branch_summary;
mod catalog;
mod compaction;
mod context;
mod context_edit;
mod convert;
mod dialect;
mod diff;
mod doctor;
mod entry;
mod error;
mod findings;
#[doc(hidden)]
pub mod fs;
mod graft;
mod header;
mod id;
mod json;
mod llm;
mod load;
mod log;
mod migrate;
mod session;
mod snapshot;
mod time;
mod tree;
mod usage;

pub use branch_summary::{
    AbandonedBranch, BRANCH_SUMMARY_PREAMBLE, branch_budget, summary_line, summary_substance,
};
pub use catalog::{Catalog, Listing, Progress, SessionInfo, info, infos, list_dir};
pub use compaction::{
    CompactionPlan, CompactionSettings, ContextTokens, FileLists, FileOps, ModelSettings,
    Preparation, Prepared, SUMMARIZER_ROLE, branch_request, conversation_text, estimate_tokens,
    prefix_request, summary_request,
};
pub use context::{Context, ContextMessage, Model, Projection};
pub use context_edit::EditPlan;
pub use convert::{ConvertOptions, Fate, Losses, convert, convert_session};
pub use dialect::{AgentContext, Dialect, UnknownDialect};
pub use diff::{Diff, Side};
pub use doctor::{
    Diagnosis, Measure, Relinked, Renamed, Repair, RepairOptions, RepairTo, examine, repair,
};
pub use entry::{Block, Body, Entry, Kind, Message, MessageView, NewEntry, Role, strings};
pub use error::{Error, Result};
pub use findings::{Finding, Place, Problem, Severity};
pub use graft::{
    MERGE_SUMMARY_PREAMBLE, Merge, MergePlan, MergeSummary, Merged, Origin, Pick, Repeated,
    Selection,
};
pub use header::{Header, VERSION};
pub use id::{EntryId, SessionId};
pub use llm::{
    CacheControl, ContextRepair, LlmContext, Pairing, ProviderRequest, RequestOptions, Tool,
};
pub use log::{
    Appended, End, Journal, JournalError, LineFilter, MemoryJournal, UnpackLimits, decompress,
};
pub use migrate::Upgrade;
pub use session::{
    Change, Creation, Durability, ForkOptions, LeafMoves, Part, Reader, Session, SessionOptions,
    relocate,
};
pub use tree::{Tree, TreeItem, TreeWalk};
pub use usage::{Added, Branch, Cost, Ledger, Purpose, Stats, Usage};

use std::path::Path;
use std::sync::Arc;

/// Returns the context at the active leaf of a session file without opening the session: the file
/// is read from its end, and only as far as the answer needs. Exactly what
/// [`Session::open`] and [`Session::context`] would say.
pub fn active_context(path: impl AsRef<Path>) -> Result<Context> {
    Context::collect(active_projection(path)?)
}

/// The same, message by message.
pub fn active_projection(path: impl AsRef<Path>) -> Result<Projection> {
    let path = path.as_ref();
    let journal: Arc<dyn Journal> = Arc::new(log::FileJournal::open(path)?);
    match log::tail::projection(&journal, path)? {
        Some(projection) => Ok(projection),
        None => Session::open(path)?.projection(),
    }
}

/// The text of a JSON string literal, quotes included; `None` if it is something else. What no
/// `String` can hold becomes U+FFFD.
///
/// ```
/// assert_eq!(treering::json_text(br#""a\nb""#).as_deref(), Some("a\nb"));
/// ```
pub fn json_text(literal: &[u8]) -> Option<std::borrow::Cow<'_, str>> {
    json::string(literal)
}

/// A time as sessions write it: ISO 8601, in UTC, with milliseconds.
///
/// ```
/// assert_eq!(treering::format_time(1_767_603_620_226), "2026-01-05T09:00:20.226Z");
/// ```
pub fn format_time(unix_millis: i64) -> String {
    time::format(unix_millis)
}

/// Unix milliseconds of an ISO 8601 time or date, which is in UTC unless it says otherwise.
///
/// ```
/// assert_eq!(treering::parse_time("2026-01-05"), Some(1_767_571_200_000));
/// assert_eq!(treering::parse_time("2026-01-05T10:00:20.226+01:00"), Some(1_767_603_620_226));
/// assert_eq!(treering::parse_time("yesterday"), None);
/// ```
pub fn parse_time(text: &str) -> Option<i64> {
    time::parse(text.as_bytes())
}

/// The README's example compiles.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
