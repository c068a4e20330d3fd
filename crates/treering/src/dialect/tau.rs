//! Tau, Operator's successor: the same records with another order of a message's members, and
//! another idea of what a compaction keeps.

use super::agent::{AgentContext, Path};
use super::operator::{self, Style};
use super::{About, Class, Codec, Decoded, Keys, Receipt, Stamp};
use crate::entry::NewEntry;
use crate::entry::head::Head;
use crate::error::Result;
use crate::header::Header;

/// Tau's way of writing.
#[derive(Debug)]
pub(crate) struct Tau;

impl Codec for Tau {
    fn keys(&self) -> &'static Keys {
        &operator::KEYS
    }

    fn quick<'a>(&self, line: &'a [u8]) -> Option<(Head<'a>, usize)> {
        operator::quick(line)
    }

    fn time(&self, literal: &[u8]) -> Option<i64> {
        operator::Operator.time(literal)
    }

    fn leaf_hangs_on_the_left(&self) -> bool {
        true
    }

    fn is_python(&self) -> bool {
        true
    }

    fn leaves_out_nulls(&self) -> bool {
        true
    }

    fn classify(&self, type_name: &str, record: &[u8]) -> Class {
        operator::classify(type_name, record)
    }

    fn own_types(&self) -> &'static [&'static str] {
        operator::Operator.own_types()
    }

    fn header(&self, record: &[u8]) -> Option<Header> {
        operator::header(record)
    }

    fn decode(&self, record: &[u8]) -> Decoded {
        operator::decode(record)
    }

    fn receipt(&self, record: &[u8]) -> Receipt {
        operator::Operator.receipt(record)
    }

    fn encode(&self, entry: &NewEntry, stamp: &Stamp<'_>) -> Option<Vec<u8>> {
        Some(operator::encode(entry, stamp, Style::Tau))
    }

    fn encode_header(&self, about: &About<'_>) -> Option<Vec<u8>> {
        Some(operator::encode_header(about))
    }

    fn agent_context(&self, path: &mut Path<'_>) -> Result<Option<AgentContext>> {
        operator::agent::context(path, Style::Tau).map(Some)
    }
}
