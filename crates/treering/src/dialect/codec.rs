//! The interface that the codec of every dialect implements.

use super::agent::{AgentContext, PathRecords};
use super::facts::{Facts, Keys};
use super::link::Linker;
use super::pi;
use super::request_metadata::RequestMetadata;
use crate::entry::head::{Head, Marks};
use crate::entry::{Kind, NewEntry, Role};
use crate::error::Result;
use crate::header::Header;
use crate::json::{self, Members};
use std::fmt;

/// The role of a record in the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    /// The session's header.
    Header,
    /// The session's header, which is also a node of the tree.
    HeaderNode,
    Entry(Kind, Option<Role>),
    /// A record about the session that is not part of its tree.
    Side,
}

/// The result of a quick read of a line.
#[derive(Debug)]
pub(crate) enum QuickRead<'a> {
    /// The line begins with the head of an entry. The number is the length of the head in bytes.
    Entry(Head<'a>, usize),
    /// The line is a single record that is not an entry.
    Side,
    /// The line has to be read thoroughly.
    Unclear,
}

/// A record in treering's format: everything except id, parent and time, which the tree has.
#[derive(Debug, Clone)]
pub(crate) struct Decoded {
    pub entry: NewEntry,
    /// Further messages, if one record has several (results of parallel calls).
    pub more: Vec<Vec<u8>>,
}

/// The fields of an entry that the session adds when it is written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stamp<'a> {
    pub id: &'a str,
    pub parent: Option<&'a str>,
    /// The time in Unix milliseconds.
    pub millis: i64,
    /// The leaf before this entry, which some dialects record.
    pub left: Option<&'a str>,
}

/// The fields of a new session's header.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NewHeader<'a> {
    pub id: &'a str,
    pub cwd: &'a str,
    pub parent_session: Option<&'a str>,
    /// The time of creation in Unix milliseconds.
    pub created: i64,
}

/// Reads and writes the format of one agent. Records that are passed to a codec are complete JSON
/// objects.
pub(crate) trait Codec: Sync + fmt::Debug {
    /// Returns the constant facts about the dialect.
    fn facts(&self) -> &'static Facts;

    /// Returns the head of a line in this dialect's usual form, and the length of the head. The
    /// result must agree with [`classify`](Codec::classify); `None` is allowed for any line.
    fn quick<'a>(&self, line: &'a [u8]) -> Option<(Head<'a>, usize)> {
        let _ = line;
        None
    }

    /// Reads a line as `quick` does, including records that are not entries. The line must be
    /// complete.
    fn quick_read<'a>(&self, line: &'a [u8]) -> QuickRead<'a> {
        match self.quick(line) {
            Some((head, used)) => QuickRead::Entry(head, used),
            None => QuickRead::Unclear,
        }
    }

    /// Classifies a record. `type_name` is its `type`, empty if it has none.
    fn classify(&self, type_name: &str, record: &[u8]) -> Class;

    /// Reads the record that identifies the session.
    fn header(&self, record: &[u8]) -> Option<Header>;

    /// Returns the facts about a record that only this dialect's linker understands.
    fn marks(&self, record: &[u8]) -> Marks {
        let _ = record;
        Marks::default()
    }

    /// Returns whether a record that is not an entry has information about the session.
    fn side_matters(&self, record: &[u8]) -> bool {
        let _ = record;
        true
    }

    /// Returns whether a record in the form of a user message was not written by the user. Texts
    /// that an agent puts into messages are in [`Facts::inserted_texts`].
    fn is_inserted(&self, record: &[u8]) -> bool {
        let _ = record;
        false
    }

    /// Returns a linker, if parents alone do not define the tree.
    fn linker(&self) -> Option<Box<dyn Linker>> {
        None
    }

    /// Returns the entry in treering's format. This never fails: unknown parts are copied.
    fn decode(&self, record: &[u8]) -> Decoded;

    /// Returns the metadata of a record's request that its entry does not have.
    fn request_metadata(&self, record: &[u8]) -> RequestMetadata {
        let _ = record;
        match self.facts().has_prices {
            true => RequestMetadata::default(),
            false => RequestMetadata::without_price(),
        }
    }

    /// Returns an entry in this agent's format, without a newline; `None` if treering cannot write
    /// this dialect.
    fn encode(&self, entry: &NewEntry, stamp: &Stamp<'_>) -> Option<Vec<u8>> {
        let _ = (entry, stamp);
        None
    }

    /// Returns the first lines of a new session, without the last newline; `None` if treering
    /// cannot write this dialect.
    fn encode_header(&self, about: &NewHeader<'_>) -> Option<Vec<u8>> {
        let _ = about;
        None
    }

    /// Returns the context that the agent itself would send to its model, in its own format; `None`
    /// if that equals treering's context.
    fn agent_context(&self, path: &mut dyn PathRecords) -> Result<Option<AgentContext>>;
}

impl Decoded {
    /// Returns an entry with at most one message.
    pub(crate) fn of(entry: NewEntry) -> Self {
        Decoded { entry, more: Vec::new() }
    }

    /// Returns the entry of a record whose members have the same names as in treering.
    pub(crate) fn plain(record: &[u8]) -> Self {
        Decoded::without(record, &pi::FACTS.keys)
    }

    /// Returns the same for a record whose id, parent and time have other names.
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
