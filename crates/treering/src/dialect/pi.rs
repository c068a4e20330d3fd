//! The dialect of pi, whose version 3 is treering's own format. Entries of versions 1 and 2 are
//! upgraded by [`super::versions`].

use super::agent::{AgentContext, PathRecords};
use super::facts::{Facts, NativeKinds};
use super::home::{AgentPlace, BaseDir};
use super::members::MemberNames;
use super::{Class, Codec, Decoded, NewHeader, Stamp};
use crate::entry::head::{self, Head, role_name};
use crate::entry::{Kind, NewEntry, Role};
use crate::error::Result;
use crate::header::Header;
use crate::json;

#[derive(Debug)]
pub(crate) struct Pi;

pub(super) static FACTS: Facts = Facts {
    members: MemberNames { headers: &["session"], ..MemberNames::NONE },
    is_own_format: true,
    has_own_header: true,
    shape: None,
    heads_first: true,
    native: NativeKinds::All,
    inserted_texts: &[&[("<skill name=", "</skill>")]],
    places: &[
        AgentPlace::new(
            BaseDir::VariableOrHome("PI_CODING_AGENT_DIR", "", ".pi/agent"),
            "sessions",
            1,
        ),
        AgentPlace::new(BaseDir::Variable("PI_CODING_AGENT_SESSION_DIR", ""), "", 1),
    ],
    resume: Some(&["pi", "--session", "{path}"]),
    ..Facts::DEFAULT
};

impl Codec for Pi {
    fn facts(&self) -> &'static Facts {
        &FACTS
    }

    fn quick<'a>(&self, line: &'a [u8]) -> Option<(Head<'a>, usize)> {
        head::quick(line)
    }

    fn classify(&self, type_name: &str, record: &[u8]) -> Class {
        match type_name {
            "session" => Class::Header,
            name => Class::Entry(Kind::of(name), role(Kind::of(name), record)),
        }
    }

    fn header(&self, record: &[u8]) -> Option<Header> {
        Header::parse(record)
    }

    fn decode(&self, record: &[u8]) -> Decoded {
        Decoded::plain(record)
    }

    fn encode(&self, entry: &NewEntry, stamp: &Stamp<'_>) -> Option<Vec<u8>> {
        let mut line = Vec::new();
        let time = json::quoted(&crate::time::format(stamp.millis));
        let parent = stamp.parent.map_or(b"null".to_vec(), json::quoted);
        entry.write_line(&mut line, stamp.id, &parent, &time);
        line.pop(); // The newline.
        Some(line)
    }

    fn encode_header(&self, about: &NewHeader<'_>) -> Option<Vec<u8>> {
        let mut raw =
            format!("{{\"type\":\"session\",\"version\":{}", crate::header::VERSION).into_bytes();
        let mut field = |key: &str, value: &str| {
            raw.extend_from_slice(format!(",\"{key}\":").as_bytes());
            json::write_string(&mut raw, value);
        };
        field("id", about.id);
        field("timestamp", &crate::time::format(about.created));
        field("cwd", about.cwd);
        if let Some(parent) = about.parent_session {
            field("parentSession", parent);
        }
        raw.push(b'}');
        Some(raw)
    }

    fn agent_context(&self, _: &mut dyn PathRecords) -> Result<Option<AgentContext>> {
        Ok(None)
    }
}

/// Returns the role of a message record. Version 2 called one of them `hookMessage`.
pub(crate) fn role(kind: Kind, record: &[u8]) -> Option<Role> {
    let name = (kind == Kind::Message).then(|| role_name(record)).flatten()?;
    Some(if name == "hookMessage" { Role::Custom } else { Role::of(&name) })
}
