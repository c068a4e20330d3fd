//! Every session on this machine.
//!
//! Agents store their sessions in directories of their own. A [`SessionIndex`] finds the session
//! files in these [`Places`] and reads the facts for lists, with a cache, so that reading the index
//! again costs little more than reading the files' metadata. [`resolve`] finds the session for an
//! address that a user types (the beginning of an id, a name, `@latest`).
//!
//! ```
//! # let home = tempfile::tempdir()?;
//! use treering_index::{Places, SessionIndex};
//! let places = Places::from_env(|name| (name == "HOME").then(|| home.path().into()));
//! let index = SessionIndex::new(places);
//! let contents = index.read(|_| {});
//! assert!(contents.sessions.is_empty());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The crate reads no environment by itself ([`Places::from_env`] takes a function). Reading an
//! index writes only its cache; only [`housekeeping`] changes sessions, as whole files.

mod address;
mod agents;
mod cache;
mod databases;
mod files;
pub mod housekeeping;
mod local_store;
mod places;
mod project;
mod record;
mod scan;
mod watch;

pub use address::{AddressError, Candidate, Scope, candidates, distance, resolve, short_ids};
pub use files::Stamp;
pub use local_store::LocalStore;
pub use places::{Place, Places};
pub use project::Project;
pub use scan::{Contents, SessionIndex, Skipped, Step, UsageContents};
pub use watch::{Event, FileChange, Watch};
