//! Dialects: how each agent writes a session, and how that becomes treering's own shape.
//!
//! A dialect is a [`Codec`], one file or folder each; a new agent is one new file and one line in
//! [`Dialect::codec`]. A codec answers questions about one record at a time: what is it
//! ([`Codec::classify`]), what is it in treering's shape ([`Codec::decode`]), how would this agent
//! have written an entry ([`Codec::encode`]); and what would this agent itself make of a path
//! ([`Codec::agent_context`]). Everything else — lines, the tree, damage, the rules of the context —
//! is the same for all and knows no dialect.

pub(crate) mod agent;
mod chimera;
mod operator;
mod omp;
mod pi;
mod tau;

use crate::entry::head::Head;
use crate::entry::{Kind, NewEntry, Role};
use crate::error::Result;
use crate::header::Header;
use agent::AgentContext;
use std::fmt;

/// Whose way of writing a session is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Dialect {
    /// pi, versions 1 to 3. Version 3 is treering's own format.
    Pi,
    /// The design with `uuid` and `parentUuid`, whose header is the root of the tree.
    Uuid,
    /// oh-my-pi.
    Omp,
    /// Chimera.
    Chimera,
    /// Operator.
    Operator,
    /// Tau, Operator's successor.
    Tau,
    /// Claude Code.
    ClaudeCode,
    /// Codex.
    Codex,
}

/// The names of the members that place a record in the tree.
#[derive(Debug)]
pub(crate) struct Keys {
    pub id: &'static str,
    pub parent: &'static str,
    pub time: &'static str,
}

/// What a record is, as far as the tree is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    /// Who the session is.
    Header,
    /// The same, and a node of the tree as well.
    HeaderNode,
    Entry(Kind, Option<Role>),
    /// About the session, but no part of its tree.
    Side,
}

/// A record in treering's shape: everything but id, parent and time, which the tree knows.
#[derive(Debug, Clone)]
pub(crate) struct Decoded {
    pub entry: NewEntry,
    /// Messages after the entry's own, where one record holds several (results of parallel calls).
    pub more: Vec<Vec<u8>>,
}

/// What an entry gets from the session it is written to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stamp<'a> {
    pub id: &'a str,
    pub parent: Option<&'a str>,
    /// Unix milliseconds.
    pub millis: i64,
    /// The leaf before this entry: some dialects record which leaf was left.
    pub left: Option<&'a str>,
}

/// What a new session's header says.
#[derive(Debug, Clone, Copy)]
pub(crate) struct About<'a> {
    pub id: &'a str,
    pub cwd: &'a str,
    pub parent_session: Option<&'a str>,
    /// Unix milliseconds.
    pub created: i64,
}

/// One agent's way of writing. Records given to a codec are whole JSON objects.
pub(crate) trait Codec: Sync + fmt::Debug {
    fn keys(&self) -> &'static Keys;

    /// The head of a line in this dialect's usual shape, and how many bytes it takes. It must say
    /// what [`classify`](Codec::classify) would, and may refuse any line.
    fn quick<'a>(&self, line: &'a [u8]) -> Option<(Head<'a>, usize)> {
        let _ = line;
        None
    }

    /// What a record is. `type_name` is its `type`, empty if it has none.
    fn classify(&self, type_name: &str, record: &[u8]) -> Class;

    /// Reads the record that says who the session is.
    fn header(&self, record: &[u8]) -> Option<Header>;

    /// An entry in treering's shape. Never fails: what it does not understand it carries over.
    fn decode(&self, record: &[u8]) -> Decoded;

    /// An entry as this agent would have written it, without a newline. `None` if treering never
    /// writes this dialect's files.
    fn encode(&self, entry: &NewEntry, stamp: &Stamp<'_>) -> Option<Vec<u8>>;

    /// The first line of a new session, without a newline. `None` if this dialect has no header.
    fn encode_header(&self, about: &About<'_>) -> Option<Vec<u8>>;

    /// What the agent itself would send to its model, in its own shape.
    fn agent_context(&self, path: &mut agent::Path<'_>) -> Result<AgentContext>;
}
