//! A format with `uuid` and `parentUuid`, in which the header is the root of the tree.
//!
//! `{"type":"session","version":2,"uuid":…,"parentUuid":null,"id":…,"cwd":…}` is a node that has
//! both its own `uuid` and the session's `id`. Entries are pi's under other names:
//! `firstKeptEntryUuid`, `targetUuid`, `fromUuid`; `stack_summary` is a branch summary. The last
//! entry is the leaf; the parent of a `leaf` entry is its target, so that a reader that does not
//! know such entries still continues from there. Version 1 of the format is linear and the same as
//! pi's.

use super::agent::{AgentContext, PathRecords};
use super::members::MemberNames;
use super::{Class, Codec, Decoded, Facts, Keys, NewHeader, Stamp, embed, pi};
use crate::entry::head::Head;
use crate::entry::{Kind, NewEntry};
use crate::error::Result;
use crate::header::Header;
use crate::json::{self, Members};

#[derive(Debug)]
pub(crate) struct Uuid;

static FACTS: Facts = Facts {
    keys: KEYS,
    version: VERSION,
    heads_first: true,
    first_kept: "firstKeptEntryUuid",
    members: MemberNames { structural: &["fromUuid", "targetUuid"], ..MemberNames::NONE },
    roots_below_header: true,
    ..Facts::DEFAULT
};

const KEYS: Keys = Keys { id: "uuid", parent: "parentUuid", time: "timestamp" };

/// The version of the format that is a tree.
const VERSION: u64 = 2;

/// Members with different names: here, and in treering.
const NAMES: [(&str, &str); 3] = [
    ("firstKeptEntryUuid", "firstKeptEntryId"),
    ("targetUuid", "targetId"),
    ("fromUuid", "fromId"),
];

impl Codec for Uuid {
    fn facts(&self) -> &'static Facts {
        &FACTS
    }

    fn quick<'a>(&self, line: &'a [u8]) -> Option<(Head<'a>, usize)> {
        crate::entry::head::quick_named(line, b",\"uuid\":\"", b",\"parentUuid\":")
            .filter(|(head, _)| head.kind != Kind::Other)
    }

    fn classify(&self, type_name: &str, record: &[u8]) -> Class {
        match type_name {
            "session" if json::get(record, KEYS.id).is_some() => Class::HeaderNode,
            "session" => Class::Header,
            "stack_summary" => Class::Entry(Kind::BranchSummary, None),
            name => Class::Entry(Kind::of(name), pi::role(Kind::of(name), record)),
        }
    }

    fn header(&self, record: &[u8]) -> Option<Header> {
        Header::parse(record)
    }

    fn decode(&self, record: &[u8]) -> Decoded {
        // An embedded entry must have the kind that its record states.
        let type_name = json::get(record, "type").and_then(json::string);
        let is_it = |entry: &NewEntry| Some(&*entry.type_name) == type_name.as_deref();
        if let Some(entry) = embed::embedded(record).filter(is_it) {
            return Decoded::of(entry);
        }
        let mut decoded = Decoded::without(record, &KEYS);
        if decoded.entry.type_name == "stack_summary" {
            decoded.entry.type_name = "branch_summary".into();
        }
        decoded.entry.fields = renamed(&decoded.entry.fields, |key| {
            NAMES.iter().find(|(here, _)| json::key_is(key, here)).map(|(_, native)| *native)
        });
        decoded
    }

    fn encode(&self, entry: &NewEntry, stamp: &Stamp<'_>) -> Option<Vec<u8>> {
        let mut line = b"{\"type\":".to_vec();
        json::write_string(&mut line, &entry.type_name);
        line.extend_from_slice(b",\"uuid\":");
        json::write_string(&mut line, stamp.id);
        line.extend_from_slice(b",\"parentUuid\":");
        match stamp.parent {
            Some(parent) => json::write_string(&mut line, parent),
            None => line.extend_from_slice(b"null"),
        }
        line.extend_from_slice(b",\"timestamp\":");
        json::write_string(&mut line, &crate::time::format(stamp.millis));
        // A member that a caller added may have a name with another meaning here.
        let is_taken = |key: &[u8]| {
            let taken = NAMES.iter().map(|(here, _)| *here).chain([KEYS.id, KEYS.parent]);
            taken.into_iter().any(|name| json::key_is(key, name))
        };
        let fields = match embed::members(&entry.fields).any(|(key, _)| is_taken(key)) {
            true => Vec::new(),
            false => renamed(&entry.fields, |key| {
                NAMES.iter().find(|(_, native)| json::key_is(key, native)).map(|(here, _)| *here)
            }),
        };
        line.extend_from_slice(&fields);
        line.push(b'}');
        Some(match embed::same(&self.decode(&line).entry, entry) {
            true => line,
            false => embed::embed(line, entry),
        })
    }

    fn encode_header(&self, about: &NewHeader<'_>) -> Option<Vec<u8>> {
        let mut raw =
            format!("{{\"type\":\"session\",\"version\":{VERSION},\"uuid\":").into_bytes();
        json::write_string(&mut raw, &super::node_id(about.id));
        raw.extend_from_slice(b",\"parentUuid\":null");
        let created = crate::time::format(about.created);
        let fields =
            [("id", Some(about.id)), ("timestamp", Some(&created)), ("cwd", Some(about.cwd))];
        for (key, value) in fields.into_iter().chain([("parentSession", about.parent_session)]) {
            if let Some(value) = value {
                raw.extend_from_slice(format!(",\"{key}\":").as_bytes());
                json::write_string(&mut raw, value);
            }
        }
        raw.push(b'}');
        Some(raw)
    }

    fn agent_context(&self, _: &mut dyn PathRecords) -> Result<Option<AgentContext>> {
        Ok(None)
    }
}

/// Returns fields with some of their keys replaced.
fn renamed(fields: &[u8], name: impl Fn(&[u8]) -> Option<&'static str>) -> Vec<u8> {
    let object = [b"{", fields.get(1..).unwrap_or_default(), b"}"].concat();
    let mut out = Vec::with_capacity(fields.len());
    for member in Members::new(&object, 0) {
        out.push(b',');
        match name(member.key) {
            Some(name) => {
                json::write_string(&mut out, name);
                out.push(b':');
                out.extend_from_slice(&object[member.value]);
            }
            None => out.extend_from_slice(&object[member.whole]),
        }
    }
    out
}
