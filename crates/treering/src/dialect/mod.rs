//! Dialects: the formats in which agents write sessions, and their conversion to treering's own
//! format.
//!
//! A dialect is a `Codec` and its `Facts`, one file or folder each; a new agent is one new file, its
//! `mod` line and one line in the registry in `name.rs`. A codec handles one record at a time: it classifies a record
//! (`Codec::classify`), converts it to treering's format (`Codec::decode`), and writes an entry in
//! the agent's format (`Codec::encode`). It also builds the context that the agent itself would
//! send (`Codec::agent_context`). Everything that is constant is in its `Facts`. No other module
//! names an agent.

mod adapt;
pub(crate) mod agent;
#[cfg(test)]
mod battery;
pub(crate) mod blobs;
mod chimera;
mod claude;
mod codec;
mod codex;
mod copilot;
mod detect;
pub(crate) mod embed;
pub(crate) mod export;
pub(crate) mod facts;
mod gemini;
mod genai;
mod goose;
mod home;
pub(crate) mod inserted_text;
mod link;
pub(crate) mod members;
pub(crate) mod name;
mod omp;
mod opencode;
mod operator;
mod pi;
mod python;
mod qwen;
pub(crate) mod raw;
mod request_metadata;
mod shape;
pub(crate) mod split;
pub(crate) mod stored;
pub(crate) mod subagents;
mod tau;
mod uuid;
pub(crate) mod versions;

pub(crate) use adapt::adapted;
pub use agent::AgentContext;
pub(crate) use codec::{Class, Codec, Decoded, NewHeader, QuickRead, Stamp};
pub(crate) use detect::{detect, detect_start};
pub(crate) use facts::{Facts, Keys};
pub use home::{AgentPlace, BaseDir, Destination, ProjectPaths, SessionNames};
pub(crate) use link::Linker;
pub use name::{Dialect, UnknownDialect};
#[cfg(test)]
pub(crate) use pi::Pi;
pub(crate) use request_metadata::{AnswerCounts, Price, RequestMetadata};
pub use stored::{StoredSession, is_database_name, is_stored, stored_sessions};

use crate::error::{Error, Result};
use crate::header::Header;
use crate::id::fnv1a;

macro_rules! codecs {
    ($($text:literal $variant:ident $name:literal $module:ident::$codec:ident;)+) => {
        impl Dialect {
            pub(crate) fn codec(self) -> &'static dyn Codec {
                match self {
                    $(Dialect::$variant => &$module::$codec,)+
                }
            }
        }
    };
}

name::registry!(codecs);

impl Dialect {
    /// Returns whether treering appends to this agent's files.
    pub fn is_writable(self) -> bool {
        self.facts().is_writable
    }

    pub(crate) fn facts(self) -> &'static Facts {
        self.codec().facts()
    }

    /// Returns the first lines of a new session.
    pub(crate) fn first_lines(self, about: &NewHeader<'_>) -> Result<Vec<u8>> {
        let lines = self.codec().encode_header(about).ok_or(Error::ReadOnlyDialect(self))?;
        Ok([&*lines, b"\n"].concat())
    }

    /// Fails if a session of this dialect with this header must not be written.
    pub(crate) fn check_writable(self, header: &Header) -> Result<()> {
        let supported = self.facts().version;
        match header.version {
            _ if !self.is_writable() => Err(Error::ReadOnlyDialect(self)),
            version if version > supported => Err(Error::ReadOnly { version, supported }),
            _ => Ok(()),
        }
    }
}

/// Returns the changed form of a line of fixed length, fitted to that length; `None` for other
/// lines.
pub(crate) fn refitted(before: &[u8], after: &[u8]) -> Option<Vec<u8>> {
    let slots = Dialect::ALL.into_iter().filter_map(|dialect| dialect.facts().title_slot);
    slots.into_iter().find_map(|slot| (slot.refitted)(before, after))
}

/// Returns the running total in the details of a usage entry. A converted session has the details of
/// another agent, so all dialects are asked.
pub(crate) fn running_total(details: &[u8]) -> Option<[u64; 4]> {
    let mut readers = Dialect::ALL.into_iter().filter_map(|dialect| dialect.facts().running_total);
    readers.find_map(|read| read(details))
}

/// Returns the id of a header that is a node, which is derived from the session's id.
pub(crate) fn node_id(session: &str) -> String {
    crate::id::derived(session, 0, |_| false).to_string()
}

/// Returns a UUID that is derived from a text.
pub(crate) fn uuid_of(id: &str) -> String {
    let hash = |seed: u64| {
        let mut hash = fnv1a(seed, id.bytes());
        hash = (hash ^ (hash >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        hash = (hash ^ (hash >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        hash ^ (hash >> 31)
    };
    let bytes = (u128::from(hash(0)) << 64 | u128::from(hash(0x9E37_79B9_7F4A_7C15))).to_be_bytes();
    ::uuid::Builder::from_random_bytes(bytes).into_uuid().to_string()
}
