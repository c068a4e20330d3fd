//! Renders an entry as lines: its heading, its content, its usage.

use super::code::Gutter;
use super::writer::PageWriter;
use super::{StyledLine, StyledSpan, call, markdown};
use crate::theme::Tone;
use crate::time_zone::DisplayZone;
use std::borrow::Cow;
use treering::entry::{Block, Body, MessageView};
use treering::{Entry, Role, Session};
use treering_display::entry_parts::{MessageFields, message_parts};
use treering_display::line::excerpt;
use treering_display::number::{blob_name, size, tokens};
use treering_display::preview_line::{Calls, PreviewLine};
use treering_display::tool::{self, Call};
use treering_display::usage::usage_facts;

/// The number of entries above a result among which its call is searched.
const CALL_WITHIN: usize = 64;
/// The largest number of characters of a note.
const MAX_WORDS: usize = 400;

/// The facts about an entry that come from its session.
#[derive(Debug, Default)]
pub(super) struct EntryContext {
    /// The answer with the call that the entry answers.
    caller: Option<Entry>,
    label: Option<String>,
}

impl EntryContext {
    pub(super) fn of(session: &Session, entry: &Entry) -> Self {
        let label = session.tree().label(entry.id().as_str()).map(str::to_owned);
        EntryContext { caller: caller(session, entry), label }
    }
}

/// Adds an entry.
pub(super) fn write(
    writer: &mut PageWriter,
    entry: &Entry,
    around: &EntryContext,
    zone: &DisplayZone,
) {
    let (tone, name) = match (entry.role(), entry.message()) {
        (Some(role), Some(message)) => (role_tone(role), title(message).into_owned()),
        _ => (Tone::Title, entry.type_name().replace('_', " ")),
    };
    let mut facts = vec![entry.id().to_string()];
    facts.extend(entry.time().map(|time| zone.second(time)));
    let mut spans = vec![
        StyledSpan::new(tone, &excerpt(&name, 80)),
        StyledSpan::new(Tone::Dim, &format!(" · {}", facts.join(" · "))),
    ];
    let label = around.label.as_ref().map(|label| format!(" [{}]", excerpt(label, 80)));
    spans.extend(label.map(|label| StyledSpan::new(Tone::Label, &label)));
    writer.push(StyledLine::of(spans));
    write_body(writer, entry, around.caller.as_ref());
}

/// Adds the content of an entry without its heading. `caller` is the answer with the call that the
/// entry answers.
pub(super) fn write_body(writer: &mut PageWriter, entry: &Entry, caller: Option<&Entry>) {
    match entry.body() {
        Body::Message(message) => {
            write_message(writer, message, caller.and_then(Entry::message));
            if message.role() == Role::Assistant {
                write_facts(writer, message_parts(message).1);
            }
            for more in entry.more_messages() {
                writer.gap();
                writer.push(heading(more));
                write_message(writer, more, caller.and_then(Entry::message));
            }
        }
        Body::Compaction { summary, first_kept, tokens_before, .. } => {
            let mut facts = Vec::new();
            let before =
                tokens_before.filter(|before| *before >= 0.0).map(|before| tokens(before as u64));
            facts.extend(before.map(|before| format!("{before} tokens became this summary")));
            facts.push(match first_kept {
                Some(id) => format!("kept from {} on", excerpt(&id, 80)),
                None => "nothing before it was kept".to_owned(),
            });
            note(writer, &facts.join(" · "));
            markdown::write(writer, &summary, Tone::Plain);
        }
        Body::BranchSummary { from, summary, .. } => {
            if let Some(from) = from {
                note(writer, &format!("the abandoned branch ended at {}", excerpt(&from, 80)));
            }
            markdown::write(writer, &summary, Tone::Plain);
        }
        Body::CustomMessage { custom_type, text, .. } => {
            note(writer, &custom_type);
            markdown::write(writer, &text, Tone::Plain);
        }
        Body::Damaged => writer.text(Tone::Plain, &String::from_utf8_lossy(entry.raw())),
        Body::Custom { .. } | Body::Usage { .. } | Body::Other => json(writer, entry.raw()),
        _ => {
            writer.text(Tone::Plain, &PreviewLine::read(entry, &mut Calls::default()).text);
            writer.gap();
            json(writer, entry.raw());
        }
    }
}

fn json(writer: &mut PageWriter, raw: &[u8]) {
    writer.json(Gutter::NONE, raw);
}

fn note(writer: &mut PageWriter, text: &str) {
    writer.push(StyledLine::new(Tone::Dim, &excerpt(text, MAX_WORDS)));
}

/// Returns the heading of a message.
pub(super) fn heading(message: MessageView<'_>) -> StyledLine {
    StyledLine::new(role_tone(message.role()), &excerpt(&title(message), 80))
}

fn title(message: MessageView<'_>) -> Cow<'static, str> {
    match message.role() {
        Role::ToolResult => "tool result".into(),
        Role::BashExecution => "bash".into(),
        Role::BranchSummary => "branch summary".into(),
        Role::CompactionSummary => "compaction".into(),
        Role::Other => message.role_name().into_owned().into(),
        role => role.name().unwrap_or("message").into(),
    }
}

pub(super) fn role_tone(role: Role) -> Tone {
    match role {
        Role::User | Role::Custom => Tone::User,
        Role::Assistant => Tone::Assistant,
        Role::ToolResult | Role::BashExecution => Tone::Tool,
        _ => Tone::Summary,
    }
}

/// Adds the content of a message. `caller` is the message with the call that it answers.
pub(super) fn write_message(
    writer: &mut PageWriter,
    message: MessageView<'_>,
    caller: Option<MessageView<'_>>,
) {
    let (blocks, fields) = message_parts(message);
    match message.role() {
        Role::ToolResult => write_result(writer, fields, &blocks, caller),
        Role::BashExecution => write_bash(writer, message),
        Role::BranchSummary | Role::CompactionSummary => {
            markdown::write(writer, &message.field("summary").unwrap_or_default(), Tone::Plain);
        }
        Role::Assistant => {
            write_blocks(writer, &blocks);
            write_end(writer, fields);
        }
        _ => write_blocks(writer, &blocks),
    }
}

/// Adds blocks with empty lines between them.
fn write_blocks(writer: &mut PageWriter, blocks: &[Block<'_>]) {
    let mut is_first = true;
    for block in blocks {
        if matches!(block, Block::Text { text, .. } | Block::Thinking { text, .. } if text.trim().is_empty())
        {
            continue;
        }
        if !std::mem::take(&mut is_first) {
            writer.gap();
        }
        write_block(writer, block);
    }
}

fn write_block(writer: &mut PageWriter, block: &Block<'_>) {
    match block {
        Block::Text { text, .. } => markdown::write(writer, text, Tone::Plain),
        Block::Thinking { text, .. } => {
            note(writer, "thinking");
            markdown::write(writer, text, Tone::Dim);
        }
        Block::Image { mime_type, data } => {
            // Base64: four characters for three bytes.
            let bytes = blob_name(data).unwrap_or_else(|| size(data.len() as u64 / 4 * 3));
            let picture = format!("[{}, {bytes}]", excerpt(mime_type, 40));
            writer.push(StyledLine::new(Tone::Dim, &picture));
        }
        Block::ToolCall { name, arguments, .. } => call::write(writer, name, *arguments),
        Block::Other(raw) => json(writer, raw),
        _ => {}
    }
}

/// Adds the reason why an answer is incomplete.
fn write_end(writer: &mut PageWriter, fields: MessageFields<'_>) {
    if let Some(why) = fields.abnormal_end() {
        writer.gap();
        writer
            .push(StyledLine::new(Tone::Failure, &format!("ended: {}", excerpt(&why, MAX_WORDS))));
    }
}

/// Adds the model and the usage of an answer.
fn write_facts(writer: &mut PageWriter, fields: MessageFields<'_>) {
    let mut facts: Vec<String> = fields.model().into_iter().collect();
    let reason = fields.stop_reason();
    facts.extend(Some(reason.into_owned()).filter(|reason| !reason.is_empty()));
    facts.extend(fields.usage.map(usage_facts).unwrap_or_default());
    if !facts.is_empty() {
        writer.gap();
        note(writer, &facts.join(" · "));
    }
}

fn write_result(
    writer: &mut PageWriter,
    fields: MessageFields<'_>,
    blocks: &[Block<'_>],
    caller: Option<MessageView<'_>>,
) {
    let id = fields.call_id();
    let calls = caller.map(|caller| caller.blocks()).unwrap_or_default();
    let call = calls.iter().find_map(|block| match block {
        Block::ToolCall { id: called, name, arguments, .. } if *called == *id => {
            Some((name, *arguments))
        }
        _ => None,
    });
    let what = match call {
        Some((name, arguments)) => Call::new(name, arguments).label(),
        None => format!("[{}]", excerpt(&fields.tool_name(), 80)),
    };
    let mut spans = vec![StyledSpan::new(Tone::Tool, &what)];
    if fields.is_error() {
        spans.push(StyledSpan::new(Tone::Failure, " failed"));
    }
    writer.push(StyledLine::of(spans));
    // The content of a file is highlighted.
    let path = call.filter(|(name, _)| name.eq_ignore_ascii_case("read"));
    let path =
        path.and_then(|(name, arguments)| Call::new(name, arguments).path()).unwrap_or_default();
    let language = if fields.is_error() { "" } else { tool::language(&path) };
    for block in blocks {
        match block {
            Block::Text { text, .. } if language.is_empty() => {
                writer.text(Tone::Plain, text.trim_matches('\n'));
            }
            Block::Text { text, .. } => {
                writer.code(Gutter::NONE, language, text.trim_matches('\n'))
            }
            other => write_block(writer, other),
        }
    }
}

fn write_bash(writer: &mut PageWriter, message: MessageView<'_>) {
    call::write_command(writer, "", &message.field("command").unwrap_or_default());
    let output = message.field("output").unwrap_or_default();
    if !output.trim().is_empty() {
        writer.text(Tone::Plain, output.trim_matches('\n'));
    }
    if let Some(code) = message.get("exitCode").filter(|code| !matches!(*code, b"0" | b"null")) {
        let code = excerpt(&String::from_utf8_lossy(code), 20);
        writer.push(StyledLine::new(Tone::Failure, &format!("exit code {code}")));
    }
    if message.get("cancelled") == Some(b"true") {
        writer.push(StyledLine::new(Tone::Failure, "cancelled"));
    }
}

/// Returns the answer with the call that a result answers.
fn caller(session: &Session, entry: &Entry) -> Option<Entry> {
    if entry.role() != Some(Role::ToolResult) {
        return None;
    }
    let mut reader = session.reader();
    let mut above = entry.parent()?.clone();
    for _ in 0..CALL_WITHIN {
        let entry = reader.entry(above.as_str()).ok()?;
        match entry.role() {
            Some(Role::Assistant) => return Some(entry),
            _ => above = entry.parent()?.clone(),
        }
    }
    None
}
