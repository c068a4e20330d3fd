//! The log: an append-only sequence of bytes that consists of lines, and the ways to read it.
//!
//! [`Journal`] is the interface to storage; everything above it (tree, context, session) is the
//! same for a file, for memory, and for any other implementation. The log knows bytes and lines,
//! and no agent.

mod checkpoint;
mod file;
mod filter;
mod in_memory;
mod joined;
mod journal;
mod memory;
mod replace;
pub(crate) mod scan;
mod scratch;
pub(crate) mod sqlite;
mod zstd;

pub use checkpoint::Checkpoint;
pub(crate) use file::{FileJournal, FileStates, LOCK_TIMEOUT, Locked, lock};
pub use filter::LineFilter;
pub(crate) use filter::filtered;
pub(crate) use in_memory::{InMemoryFile, Listed};
pub(crate) use joined::Joined;
pub(crate) use journal::CreateJournal;
pub use journal::{Appended, End, Journal, JournalError};
pub use memory::MemoryJournal;
pub(crate) use replace::{TailCopier, check_replaceable, free, replace, whole_lines};
pub(crate) use scratch::Scratch;
pub use zstd::{UnpackLimits, decompress};
