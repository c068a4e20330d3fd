//! Dialects: how each agent writes a session, and how that becomes treering's own shape.
//!
//! A dialect is a `Codec`, one file or folder each; a new agent is one new file and one line in
//! `Dialect::codec`. A codec answers questions about one record at a time: what is it
//! (`Codec::classify`), what is it in treering's shape (`Codec::decode`), how would this agent
//! have written an entry (`Codec::encode`); and what would this agent itself make of a path
//! (`Codec::agent_context`). Everything else — lines, the tree, damage, the rules of the context —
//! is the same for all and knows no dialect.

pub(crate) mod agent;
pub(crate) mod carry;
mod chimera;
pub(crate) mod claude;
mod codex;
mod detect;
mod link;
pub(crate) mod omp;
mod operator;
mod pi;
pub(crate) mod python;
mod receipt;
pub(crate) mod stringify;
mod tau;
mod uuid;
pub(crate) mod versions;

pub use agent::AgentContext;
pub(crate) use detect::detect;
pub(crate) use link::{Linker, Marks};
#[cfg(test)]
pub(crate) use pi::Pi;
pub(crate) use receipt::{Price, Receipt};

use crate::entry::head::{self, Head};
use crate::entry::{Kind, NewEntry, Role};
use crate::error::{Error, Result};
use crate::header::Header;
use crate::id::{EntryId, IdMaker};
use crate::json::{self, Members};
use std::fmt;
use std::str::FromStr;

/// The format that an agent writes its sessions in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
#[non_exhaustive]
pub enum Dialect {
    /// pi, versions 1 to 3. Version 3 is treering's own format.
    #[default]
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

impl Dialect {
    /// All of them.
    pub const ALL: [Dialect; 8] = [
        Dialect::Pi,
        Dialect::Uuid,
        Dialect::Omp,
        Dialect::Chimera,
        Dialect::Operator,
        Dialect::Tau,
        Dialect::ClaudeCode,
        Dialect::Codex,
    ];

    /// Its name in commands and reports.
    ///
    /// ```
    /// assert_eq!(treering::Dialect::ClaudeCode.name(), "claude-code");
    /// assert_eq!("omp".parse(), Ok(treering::Dialect::Omp));
    /// ```
    pub fn name(self) -> &'static str {
        match self {
            Dialect::Pi => "pi",
            Dialect::Uuid => "uuid",
            Dialect::Omp => "omp",
            Dialect::Chimera => "chimera",
            Dialect::Operator => "operator",
            Dialect::Tau => "tau",
            Dialect::ClaudeCode => "claude-code",
            Dialect::Codex => "codex",
        }
    }

    /// Whether treering appends to this agent's files.
    pub fn is_writable(self) -> bool {
        !matches!(self, Dialect::ClaudeCode | Dialect::Codex)
    }

    /// The first lines of a new session.
    pub(crate) fn start(self, about: &About<'_>) -> Result<Vec<u8>> {
        let lines = self.codec().encode_header(about).ok_or(Error::ReadOnlyDialect(self))?;
        Ok([&*lines, b"\n"].concat())
    }

    pub(crate) fn codec(self) -> &'static dyn Codec {
        match self {
            Dialect::Pi => &pi::Pi,
            Dialect::Uuid => &uuid::Uuid,
            Dialect::Omp => &omp::Omp,
            Dialect::Chimera => &chimera::Chimera,
            Dialect::Operator => &operator::Operator,
            Dialect::Tau => &tau::Tau,
            Dialect::ClaudeCode => &claude::ClaudeCode,
            Dialect::Codex => &codex::Codex,
        }
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A name that is no dialect's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "no dialect is called {0:?}; there are pi, uuid, omp, chimera, operator, tau, claude-code, codex"
)]
pub struct UnknownDialect(String);

impl FromStr for Dialect {
    type Err = UnknownDialect;

    fn from_str(name: &str) -> std::result::Result<Self, UnknownDialect> {
        let known = Dialect::ALL.into_iter().find(|dialect| dialect.name() == name);
        known.ok_or_else(|| UnknownDialect(name.to_owned()))
    }
}

/// The names of the members that place a record in the tree.
#[derive(Debug)]
pub(crate) struct Keys {
    pub id: &'static str,
    pub parent: &'static str,
    pub time: &'static str,
}

/// The class of a record, as far as the tree is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    /// The session's header.
    Header,
    /// The same, and a node of the tree as well.
    HeaderNode,
    Entry(Kind, Option<Role>),
    /// About the session, but no part of its tree.
    Side,
}

/// The result of a quick look at a line.
#[derive(Debug)]
pub(crate) enum Glance<'a> {
    /// It begins with an entry's head, which takes so many bytes.
    Entry(Head<'a>, usize),
    /// It is one record, and no entry.
    Side,
    /// It has to be read.
    Unclear,
}

/// A record in treering's shape: everything but id, parent and time, which the tree knows.
#[derive(Debug, Clone)]
pub(crate) struct Decoded {
    pub entry: NewEntry,
    /// Messages after the entry's own, where one record holds several (results of parallel calls).
    pub more: Vec<Vec<u8>>,
}

/// The parts of an entry that come from the session it is written to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stamp<'a> {
    pub id: &'a str,
    pub parent: Option<&'a str>,
    /// Unix milliseconds.
    pub millis: i64,
    /// The leaf before this entry: some dialects record which leaf was left.
    pub left: Option<&'a str>,
}

/// The content of a new session's header.
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

    /// The same for records that are no entries as well. Never of a part of a line.
    fn glance<'a>(&self, line: &'a [u8]) -> Glance<'a> {
        match self.quick(line) {
            Some((head, used)) => Glance::Entry(head, used),
            None => Glance::Unclear,
        }
    }

    /// Whether a record that is no entry says something about the session.
    fn side_matters(&self, record: &[u8]) -> bool {
        let _ = record;
        true
    }

    /// Whether the beginning of a record is enough to judge it by: then long ones need not be read.
    fn heads_stand_first(&self) -> bool {
        false
    }

    /// A record's time, in Unix milliseconds.
    fn time(&self, literal: &[u8]) -> Option<i64> {
        head::timestamp(literal)
    }

    /// Classifies a record. `type_name` is its `type`, empty if it has none.
    fn classify(&self, type_name: &str, record: &[u8]) -> Class;

    /// The types of records that this agent is known to write and treering has no kind for. What is
    /// not known is kept all the same, and reported.
    fn own_types(&self) -> &'static [&'static str] {
        &[]
    }

    /// The same for who speaks in a message.
    fn own_roles(&self) -> &'static [&'static str] {
        &[]
    }

    /// Returns facts about a record that only this dialect's linker understands.
    fn marks(&self, record: &[u8]) -> Marks {
        let _ = record;
        Marks::default()
    }

    /// Links records that their parents alone do not link.
    fn linker(&self) -> Option<Box<dyn Linker>> {
        None
    }

    /// Reads the record that says who the session is.
    fn header(&self, record: &[u8]) -> Option<Header>;

    /// The session's name, if this record is the place outside of the entries that holds it.
    fn title(&self, record: &[u8]) -> Option<String> {
        let _ = record;
        None
    }

    /// The newest version of this dialect that treering writes.
    fn version(&self) -> u64 {
        crate::header::VERSION
    }

    /// Whether sessions have no header of their own: then [`header`](Codec::header) is asked about
    /// every record until it knows.
    fn is_headerless(&self) -> bool {
        false
    }

    /// Returns whether the header is a record of its own that may be missing: then no other record says
    /// who the session is, and nothing has to be read for its sake.
    fn has_optional_header(&self) -> bool {
        false
    }

    /// Returns whether the agent writes its files with Python's `json`, which has `NaN` and `Infinity`.
    fn is_python(&self) -> bool {
        false
    }

    /// Whether a record says nothing of its place, and continues the one before it.
    fn is_chain(&self) -> bool {
        false
    }

    /// Whether a new root is a child of the header.
    fn roots_hang_on_the_header(&self) -> bool {
        false
    }

    /// Whether a leaf entry is a child of the leaf that was left, rather than of its target.
    fn leaf_hangs_on_the_left(&self) -> bool {
        false
    }

    /// Whether a root has no parent to name, rather than the name of none.
    fn leaves_out_nulls(&self) -> bool {
        false
    }

    /// A new entry id in this dialect's usual shape.
    fn make_id(&self, ids: &mut IdMaker, taken: &dyn Fn(&str) -> bool) -> EntryId {
        ids.make(taken)
    }

    /// Whether entries of this kind stand in the file in treering's own shape.
    fn is_native(&self, kind: Kind) -> bool {
        let _ = kind;
        false
    }

    /// An entry in treering's shape. Never fails: what it does not understand it carries over.
    fn decode(&self, record: &[u8]) -> Decoded;

    /// Returns metadata of the request behind a record that its entry does not have.
    fn receipt(&self, record: &[u8]) -> Receipt {
        let _ = record;
        Receipt::default()
    }

    /// An entry as this agent would have written it, without a newline. `None` if treering never
    /// writes this dialect's files.
    fn encode(&self, entry: &NewEntry, stamp: &Stamp<'_>) -> Option<Vec<u8>>;

    /// The first lines of a new session, without the last newline. `None` if treering never writes
    /// this dialect's files.
    fn encode_header(&self, about: &About<'_>) -> Option<Vec<u8>>;

    /// Returns what the agent itself would send to its model, in its own shape; `None` if that is
    /// the same as treering's own view.
    fn agent_context(&self, path: &mut agent::Path<'_>) -> Result<Option<AgentContext>>;
}

impl Decoded {
    /// An entry of one message at most.
    pub(crate) fn of(entry: NewEntry) -> Self {
        Decoded { entry, more: Vec::new() }
    }

    /// A record whose members mean what they mean in treering.
    pub(crate) fn plain(record: &[u8]) -> Self {
        Decoded::without(record, &pi::KEYS)
    }

    /// The same, where the members that place a record have other names.
    pub(crate) fn without(record: &[u8], keys: &Keys) -> Self {
        const OURS: [&str; 4] = ["type", "id", "parentId", "timestamp"];
        let mut entry = NewEntry::of_type("");
        for member in Members::new(record, json::skip_space(record, 0)) {
            if json::key_is(member.key, "type") {
                let name = json::string(&record[member.value.clone()]);
                entry.type_name = name.unwrap_or_default().into_owned().into();
            }
            let is_place = OURS.iter().chain([&keys.id, &keys.parent, &keys.time]);
            if !is_place.into_iter().any(|name| json::key_is(member.key, name)) {
                entry.fields.push(b',');
                entry.fields.extend_from_slice(&record[member.whole]);
            }
        }
        Decoded::of(entry)
    }
}

/// The id of a header that is a node: made from the session's, so that it is always the same.
pub(crate) fn node_id(session: &str) -> String {
    crate::id::derived(session, 0, |_| false).to_string()
}

/// A UUID made from a text: looks like any random one, and is always the same.
pub(crate) fn uuid_of(id: &str) -> String {
    let hash = |seed: u64| {
        let mut hash = 0xCBF2_9CE4_8422_2325_u64 ^ seed;
        for byte in id.bytes() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3);
        }
        hash = (hash ^ (hash >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        hash = (hash ^ (hash >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        hash ^ (hash >> 31)
    };
    let bytes = (u128::from(hash(0)) << 64 | u128::from(hash(0x9E37_79B9_7F4A_7C15))).to_be_bytes();
    ::uuid::Builder::from_random_bytes(bytes).into_uuid().to_string()
}
