//! Builds the contexts that Operator and Tau themselves build.
//!
//! Both build the summary of the latest compaction, the entries that it keeps, and the rest, in
//! their own message format. They differ in what a compaction keeps. Operator keeps nothing if the
//! named entry is not on the path above the compaction. Tau starts at the named entry wherever it
//! is and continues to the leaf: every compaction in between contributes its summary, the latest
//! first, and if the named entry is not on the path, the context is empty.

use super::object::{ObjectBuilder, ObjectMembers, array};
use super::{Style, kind};
use crate::dialect::agent::{AgentContext, PathRecords};
use crate::dialect::python;
use crate::entry::Kind;
use crate::error::Result;
use crate::json;
use std::ops::Range;

pub(crate) fn context(path: &mut dyn PathRecords, style: Style) -> Result<AgentContext> {
    let survey = survey(path)?;
    let mut context = AgentContext { messages: Vec::new(), settings: survey.settings(style) };
    let Some(&compaction) = survey.compactions.last() else {
        let all = 0..path.len();
        emit(path, all, &mut context.messages)?;
        return Ok(context);
    };
    let start = match &survey.first_kept {
        Some(id) => find(path, id, style, compaction)?,
        None => None,
    };
    let kept = match style {
        Style::Operator => start.unwrap_or(compaction)..path.len(),
        Style::Tau => start.unwrap_or(path.len())..path.len(),
    };
    for &at in survey.compactions.iter().rev() {
        let is_given = match style {
            Style::Operator => at == compaction,
            Style::Tau => kept.contains(&at),
        };
        if is_given {
            context.messages.extend(path.record(at)?.map(compaction_summary));
        }
    }
    emit(path, kept, &mut context.messages)?;
    Ok(context)
}

/// The result of a first pass over the path.
#[derive(Default)]
struct Survey {
    thinking_level: Option<Vec<u8>>,
    model: Option<Vec<u8>>,
    name: Option<String>,
    compactions: Vec<usize>,
    /// The first entry that the latest compaction keeps.
    first_kept: Option<String>,
}

impl Survey {
    fn settings(&self, style: Style) -> Vec<(&'static str, Vec<u8>)> {
        let null = || b"null".to_vec();
        let level = self.thinking_level.clone().unwrap_or_else(|| b"\"off\"".to_vec());
        let mut settings =
            vec![("thinkingLevel", level), ("model", self.model.clone().unwrap_or_else(null))];
        // Tau searches for the name in the whole file.
        if style == Style::Operator {
            let name = self.name.as_deref().filter(|name| !name.is_empty());
            settings.push(("name_on_path", name.map_or_else(null, json::quoted)));
        }
        settings
    }
}

fn survey(path: &mut dyn PathRecords) -> Result<Survey> {
    let mut found = Survey::default();
    for at in 0..path.len() {
        let Some(record) = path.record(at)? else { continue };
        match kind_of(record) {
            Kind::ThinkingLevelChange => {
                let level = json::get(record, "thinking_level").filter(|level| *level != b"null");
                found.thinking_level = level.map(<[u8]>::to_vec).or(found.thinking_level);
            }
            Kind::ModelChange => {
                let mut parts = ObjectMembers::of(record);
                let mut model = ObjectBuilder::new();
                model.maybe("provider", parts.take("provider_id"));
                model.maybe("modelId", parts.take("model_id"));
                found.model = Some(model.done());
            }
            Kind::SessionInfo => {
                let name = json::get(record, "name").and_then(json::string).unwrap_or_default();
                found.name = Some(stripped(&name).to_owned());
            }
            Kind::Compaction => {
                let first_kept = json::get(record, "first_kept_entry_id").and_then(json::string);
                found.first_kept = first_kept.map(|id| id.into_owned());
                found.compactions.push(at);
            }
            _ => {}
        }
    }
    Ok(found)
}

/// Returns a name without surrounding white space: for Python, this includes four separators that
/// Rust does not count.
fn stripped(name: &str) -> &str {
    name.trim_matches(|c: char| c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c))
}

fn kind_of(record: &[u8]) -> Kind {
    kind(&json::get(record, "type").and_then(json::string).unwrap_or_default())
}

/// Returns the index of the entry `id`: Operator searches above the compaction, Tau everywhere.
fn find(
    path: &mut dyn PathRecords,
    id: &str,
    style: Style,
    compaction: usize,
) -> Result<Option<usize>> {
    let end = match style {
        Style::Operator => compaction,
        Style::Tau => path.len(),
    };
    for at in 0..end {
        let Some(record) = path.record(at)? else { continue };
        if json::get(record, "id").and_then(json::string).is_some_and(|name| name == id) {
            return Ok(Some(at));
        }
    }
    Ok(None)
}

fn emit(
    path: &mut dyn PathRecords,
    range: Range<usize>,
    messages: &mut Vec<Vec<u8>>,
) -> Result<()> {
    for at in range {
        let Some(record) = path.record(at)? else { continue };
        messages.extend(match kind_of(record) {
            Kind::Message => message(record),
            Kind::CustomMessage => Some(custom(record)),
            Kind::BranchSummary => Some(branch_summary(record)),
            _ => None,
        });
    }
    Ok(())
}

/// Returns the message of a message record, without members that are `None` in the agent.
fn message(record: &[u8]) -> Option<Vec<u8>> {
    let message = json::get(record, "message").filter(|raw| raw.starts_with(b"{"))?;
    if memchr::memmem::find(message, b"null").is_none() {
        return Some(message.to_vec());
    }
    let mut out = ObjectBuilder::new();
    for member in json::Members::new(message, 0) {
        match &message[member.value] {
            b"null" => {}
            blocks if json::key_is(member.key, "contents") => {
                out.raw("contents", &contents(blocks));
            }
            _ => {
                out.member(&message[member.whole]);
            }
        }
    }
    Some(out.done())
}

/// Returns blocks without their `null` members. Values inside a member (a call's arguments) are not
/// changed.
fn contents(blocks: &[u8]) -> Vec<u8> {
    if !blocks.starts_with(b"[") {
        return blocks.to_vec();
    }
    let clean = |block: &[u8]| match block.first() {
        Some(b'{') => {
            let mut out = ObjectBuilder::new();
            out.rest(ObjectMembers::of(block), &[]);
            out.done()
        }
        _ => block.to_vec(),
    };
    array(&json::elements(blocks).into_iter().map(clean).collect::<Vec<_>>())
}

fn custom(record: &[u8]) -> Vec<u8> {
    let mut parts = ObjectMembers::of(record);
    let mut out = ObjectBuilder::new();
    out.text("role", "custom").maybe("custom_type", parts.take("custom_type"));
    out.raw("timestamp", &time(parts.take("timestamp")));
    out.raw("contents", &contents(parts.take("content").unwrap_or(b"[]")));
    out.maybe("details", parts.take("details"));
    out.done()
}

/// Returns a branch summary, even an empty one, as both agents do.
fn branch_summary(record: &[u8]) -> Vec<u8> {
    let mut parts = ObjectMembers::of(record);
    let mut out = ObjectBuilder::new();
    out.text("role", "branch_summary").maybe("summary", parts.take("summary"));
    out.maybe("from_id", parts.take("from_id"));
    out.raw("timestamp", &time(parts.take("timestamp")));
    out.done()
}

fn compaction_summary(record: &[u8]) -> Vec<u8> {
    let mut parts = ObjectMembers::of(record);
    let mut out = ObjectBuilder::new();
    out.text("role", "compaction_summary").maybe("summary", parts.take("summary"));
    out.maybe("tokens_before", parts.take("tokens_before"));
    out.raw("timestamp", &time(parts.take("timestamp")));
    out.done()
}

/// Returns a time as a number of seconds, to which both agents convert every form.
fn time(literal: Option<&[u8]>) -> Vec<u8> {
    match literal {
        Some(text) if text.starts_with(b"\"") => {
            python::millis(text).map_or_else(|| text.to_vec(), python::seconds)
        }
        Some(number) => number.to_vec(),
        None => b"null".to_vec(),
    }
}
