//! Every session on this machine.
//!
//! Agents keep their sessions in places of their own. A [`SessionIndex`] knows these [`Places`], finds the
//! session files there and says of each what a list says, remembering it in a cache so that asking again
//! costs little more than looking at the files' times. [`resolve`] turns what people type for a session
//! (an id's beginning, a name, `@latest`) into its file.
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
//! The crate reads no environment by itself ([`Places::from_env`] is given a function). Reading an index
//! writes nothing but its cache, where it is told to; only [`housekeeping`] touches sessions, as whole
//! files.

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
