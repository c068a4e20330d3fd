//! The dialect of Tau, Operator's successor: the same records with another order of a message's
//! members, and another rule for what a compaction keeps.

use super::agent::{AgentContext, PathRecords};
use super::facts::{Facts, NameRule};
use super::home::{AgentPlace, BaseDir};
use super::operator::{self, Style};
use super::{Class, Codec, Decoded, Dialect, NewHeader, RequestMetadata, Stamp};
use crate::entry::NewEntry;
use crate::entry::head::Head;
use crate::error::Result;
use crate::header::Header;

/// The dialect of Tau.
#[derive(Debug)]
pub(crate) struct Tau;

static FACTS: Facts = Facts {
    name_rule: NameRule::NeverCleared,
    // Only a message distinguishes the two.
    reads_as: Some(Dialect::Operator),
    places: &[AgentPlace::new(BaseDir::Home(".tau"), "sessions", 1)],
    resume: Some(&["tau", "--resume", "{id}"]),
    ..operator::FACTS
};

impl Codec for Tau {
    fn facts(&self) -> &'static Facts {
        &FACTS
    }

    fn quick<'a>(&self, line: &'a [u8]) -> Option<(Head<'a>, usize)> {
        operator::quick(line)
    }

    fn classify(&self, type_name: &str, record: &[u8]) -> Class {
        operator::classify(type_name, record)
    }

    fn header(&self, record: &[u8]) -> Option<Header> {
        operator::header(record)
    }

    fn decode(&self, record: &[u8]) -> Decoded {
        operator::decode(record)
    }

    fn request_metadata(&self, record: &[u8]) -> RequestMetadata {
        operator::Operator.request_metadata(record)
    }

    fn encode(&self, entry: &NewEntry, stamp: &Stamp<'_>) -> Option<Vec<u8>> {
        Some(operator::encode(entry, stamp, Style::Tau))
    }

    fn encode_header(&self, about: &NewHeader<'_>) -> Option<Vec<u8>> {
        Some(operator::encode_header(about))
    }

    fn agent_context(&self, path: &mut dyn PathRecords) -> Result<Option<AgentContext>> {
        operator::agent::context(path, Style::Tau).map(Some)
    }
}
