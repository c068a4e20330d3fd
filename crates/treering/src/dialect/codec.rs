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
    /// The line begins with the head of an entry, whose length in bytes follows.
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
    /// Returns the constant facts about the dialect.
    fn facts(&self) -> &'static Facts;

    /// Returns the head of a line in this dialect's usual shape, and how many bytes it takes. It must
    /// say what [`classify`](Codec::classify) would, and may refuse any line.
    fn quick<'a>(&self, line: &'a [u8]) -> Option<(Head<'a>, usize)> {
        let _ = line;
        None
    }

    /// Does the same for records that are no entries as well. Never called with a part of a line.
    fn glance<'a>(&self, line: &'a [u8]) -> Glance<'a> {
        match self.quick(line) {
            Some((head, used)) => Glance::Entry(head, used),
            None => Glance::Unclear,
        }
    }

    /// Classifies a record. `type_name` is its `type`, empty if it has none.
    fn classify(&self, type_name: &str, record: &[u8]) -> Class;

    /// Reads the record that identifies the session.
    fn header(&self, record: &[u8]) -> Option<Header>;

    /// Returns facts about a record that only this dialect's linker understands.
    fn marks(&self, record: &[u8]) -> Marks {
        let _ = record;
        Marks::default()
    }

    /// Returns whether a record that is no entry says something about the session.
    fn side_matters(&self, record: &[u8]) -> bool {
        let _ = record;
        true
    }

    /// Returns whether a record that has the form of a user message was not said by the user. Texts that an
    /// agent puts into messages are in [`Facts::asides`].
    fn is_aside(&self, record: &[u8]) -> bool {
        let _ = record;
        false
    }

    /// Returns what links records that their parents alone do not link.
    fn linker(&self) -> Option<Box<dyn Linker>> {
        None
    }

    /// Returns the entry in treering's shape. Never fails: what it does not understand it copies.
    fn decode(&self, record: &[u8]) -> Decoded;

    /// Returns metadata of the request behind a record that its entry does not have.
    fn request_metadata(&self, record: &[u8]) -> RequestMetadata {
        let _ = record;
        RequestMetadata::default()
    }

    /// Returns an entry as this agent would have written it, without a newline. `None` if treering
    /// never writes this dialect's files.
    fn encode(&self, entry: &NewEntry, stamp: &Stamp<'_>) -> Option<Vec<u8>> {
        let _ = (entry, stamp);
        None
    }

    /// Returns the first lines of a new session, without the last newline. `None` if treering never
    /// writes this dialect's files.
    fn encode_header(&self, about: &About<'_>) -> Option<Vec<u8>> {
        let _ = about;
        None
    }

    /// Returns what the agent itself would send to its model, in its own shape; `None` if that is
    /// the same as treering's own view.
    fn agent_context(&self, path: &mut dyn PathRecords) -> Result<Option<AgentContext>>;
}

impl Decoded {
    /// Returns an entry of one message at most.
    pub(crate) fn of(entry: NewEntry) -> Self {
        Decoded { entry, more: Vec::new() }
    }

    /// Returns a record whose members mean what they mean in treering.
    pub(crate) fn plain(record: &[u8]) -> Self {
        Decoded::without(record, &pi::FACTS.keys)
    }

    /// Returns the same, where the members that place a record have other names.
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
