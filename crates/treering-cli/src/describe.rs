//! Entries and messages on the command line: a name, a preview line, or the whole content. Everything that
//! this module returns or writes is safe to show.

use crate::error::Failure;
use crate::output::{Output, Style};
use crate::text::{blob_name, excerpt, fit, safe_bytes, safe_line, safe_lines, size};
use std::borrow::Cow;
use std::io::Write;
use treering::entry::{Block, MessageView};
use treering::{Entry, Kind, Role};
use treering_display::entry_parts::message_parts;
use treering_display::preview_line::{Calls, PreviewKind, PreviewLine};

/// Returns the name of an entry in lists: the role of a message, the type of any other entry. The name is
/// cut, because a file may hold a name of any length.
pub(crate) fn name(entry: &Entry) -> String {
    match entry.role() {
        Some(role) => match (role.name(), entry.message()) {
            (Some(name), _) => name.to_owned(),
            (None, Some(message)) => excerpt(&message.role_name(), 30),
            (None, None) => "message".to_owned(),
        },
        None => excerpt(&entry.type_name(), 30),
    }
}

/// Returns the style of an entry's name.
pub(crate) fn style(kind: Kind, role: Option<Role>) -> Style {
    match (kind, role) {
        (Kind::Message, Some(role)) => role_style(role),
        (Kind::Compaction | Kind::BranchSummary, _) => Style::Summary,
        (Kind::CustomMessage, _) => Style::User,
        _ => Style::Dim,
    }
}

pub(crate) fn role_style(role: Role) -> Style {
    match role {
        Role::User | Role::Custom => Style::User,
        Role::Assistant => Style::Assistant,
        Role::ToolResult | Role::BashExecution => Style::Tool,
        Role::System | Role::BranchSummary | Role::CompactionSummary => Style::Summary,
        _ => Style::Dim,
    }
}

/// Returns the preview line of an entry, in at most `width` columns. It is marked if a tool result
/// failed or an answer is incomplete.
pub(crate) fn preview(entry: &Entry, calls: &mut Calls, width: usize) -> String {
    let line = PreviewLine::read(entry, calls);
    let end = match (line.kind, entry.message()) {
        (PreviewKind::FailedToolResult, _) => " failed".to_owned(),
        (PreviewKind::FailedAnswer, Some(message)) => {
            abnormal_end(message).map(|end| format!(" {end}")).unwrap_or_default()
        }
        _ => String::new(),
    };
    fit(format!("{}{end}", line.text).trim_start(), width).into_owned()
}

/// Returns the reason why an answer is incomplete, in parentheses and safe to show.
fn abnormal_end(message: MessageView<'_>) -> Option<String> {
    let (_, fields) = message_parts(message);
    fields.abnormal_end().map(|end| format!("({})", safe_line(&end)))
}

/// Returns whether a field is `true`.
fn is_true(message: MessageView<'_>, key: &str) -> bool {
    message.get(key) == Some(b"true")
}

/// The amount of a tool call that is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallDetail {
    /// The part that fits on one line.
    OneLine,
    /// The whole call.
    Whole,
}

/// Writes the content of a message.
pub(crate) fn write_message(
    out: &mut Output,
    message: MessageView<'_>,
    calls: CallDetail,
) -> Result<(), Failure> {
    match message.role() {
        Role::BashExecution => return write_bash(out, message),
        Role::BranchSummary | Role::CompactionSummary => {
            return write_text(out, &message.field("summary").unwrap_or_default());
        }
        Role::ToolResult if is_true(message, "isError") => {
            let failed = out.paint(Style::Bad, "(failed)");
            writeln!(out, "{failed}")?;
        }
        _ => {}
    }
    for block in message.blocks() {
        write_block(out, &block, calls)?;
    }
    if let Some(end) = abnormal_end(message) {
        let end = out.paint(Style::Bad, &end);
        writeln!(out, "{end}")?;
    }
    Ok(())
}

fn write_block(out: &mut Output, block: &Block<'_>, calls: CallDetail) -> Result<(), Failure> {
    let line = match block {
        Block::Text { text, .. } => return write_text(out, text),
        Block::Thinking { text, .. } => {
            let note = match calls {
                CallDetail::OneLine => format!("(thinking) {}", excerpt(text, out.width() - 12)),
                CallDetail::Whole => format!("(thinking) {}", safe_lines(text.trim_end())),
            };
            out.paint(Style::Dim, &note)
        }
        Block::ToolCall { name, arguments, .. } => {
            let call =
                format!("→ {} {}", safe_line(name), safe_bytes(arguments.unwrap_or_default()));
            let call = match calls {
                CallDetail::OneLine => fit(&call, out.width()),
                CallDetail::Whole => Cow::Borrowed(call.as_str()),
            };
            out.paint(Style::Tool, &call)
        }
        Block::Image { data, mime_type } => {
            // Base64: four characters for three bytes.
            let bytes = blob_name(data).unwrap_or_else(|| size(data.len() as u64 / 4 * 3));
            out.paint(Style::Dim, &format!("[image {}, {bytes}]", safe_line(mime_type)))
        }
        Block::Other(raw) => {
            let raw = safe_bytes(raw);
            let width = if calls == CallDetail::OneLine { out.width() } else { usize::MAX };
            out.paint(Style::Dim, &fit(&raw, width))
        }
        _ => return Ok(()),
    };
    writeln!(out, "{line}")?;
    Ok(())
}

/// Writes a text of several lines.
pub(crate) fn write_text(out: &mut Output, text: &str) -> Result<(), Failure> {
    if !text.is_empty() {
        writeln!(out, "{}", safe_lines(text.trim_end_matches(['\n', '\r'])))?;
    }
    Ok(())
}

fn write_bash(out: &mut Output, message: MessageView<'_>) -> Result<(), Failure> {
    let command = message.field("command").unwrap_or_default();
    let line = out.paint(Style::Heading, &format!("$ {}", safe_lines(&command)));
    writeln!(out, "{line}")?;
    write_text(out, &message.field("output").unwrap_or_default())?;
    let code = message.get("exitCode").filter(|code| !matches!(*code, b"0" | b"null"));
    let end = match code {
        _ if is_true(message, "cancelled") => "(cancelled)".to_owned(),
        Some(code) => format!("(exit code {})", safe_bytes(code)),
        None => return Ok(()),
    };
    let end = out.paint(Style::Bad, &end);
    writeln!(out, "{end}")?;
    Ok(())
}

/// Returns the time inside a message, in Unix milliseconds.
pub(crate) fn message_time(message: MessageView<'_>) -> Option<i64> {
    let number: f64 = std::str::from_utf8(message.get("timestamp")?).ok()?.parse().ok()?;
    number.is_finite().then_some(number as i64)
}

/// Returns JSON over several lines, safe to show.
pub(crate) fn pretty_json(raw: &[u8]) -> String {
    treering_display::json::pretty_json(&safe_bytes(raw))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_for_an_incomplete_answer_is_shown() {
        let end = |fields: &str| {
            let message = format!("{{\"role\":\"assistant\",\"content\":[]{fields}}}");
            abnormal_end(MessageView::new(message.as_bytes()))
        };
        assert_eq!(end(""), None);
        assert_eq!(end(",\"stopReason\":\"stop\""), None);
        assert_eq!(end(",\"stopReason\":\"length\"").as_deref(), Some("(length)"));
        // The terminal interface and exported pages show such an answer as incomplete, too.
        assert_eq!(end(",\"stopReason\":\"refusal\"").as_deref(), Some("(refusal)"));
        let error = ",\"stopReason\":\"error\",\"errorMessage\":\"\\u001b[1m\\nmore\"";
        assert_eq!(end(error).as_deref(), Some("(error: \\x1b[1m)"));
    }
}
