//! Entries and messages in words: a name, a gist of one line, or all of it. Everything that leaves
//! this module is safe to show.

use crate::error::Failure;
use crate::output::{Output, Style};
use crate::text::{blob_name, excerpt, first_line, fit, safe, safe_bytes, safe_line, size};
use std::borrow::Cow;
use std::io::Write;
use treering::branch_summary::summary_line;
use treering::entry::{Block, Body, MessageView};
use treering::{Entry, Kind, Role};

/// Returns the name of an entry in lists: the role of a message, else its type, cut to a
/// length that all known names keep, because a file may hold anything.
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

/// Returns the summary line of an entry, in at most `width` columns.
pub(crate) fn gist(entry: &Entry, width: usize) -> String {
    let text: Cow<'_, str> = match entry.body() {
        Body::Message(message) => message_gist(message, entry.role()).into(),
        Body::Compaction { summary, .. } | Body::BranchSummary { summary, .. } => {
            summary_line(&summary).to_owned().into()
        }
        Body::CustomMessage { custom_type, text, .. } => {
            format!("{}: {}", first_line(&custom_type), first_line(&text)).into()
        }
        Body::Custom { custom_type, .. } => custom_type,
        Body::Label { target, label } => match label {
            Some(label) => format!("[{}] on {target}", first_line(&label)).into(),
            None => format!("cleared on {target}").into(),
        },
        Body::Leaf { target } => match target {
            Some(target) => format!("at {target}").into(),
            None => "before the first entry".into(),
        },
        Body::ContextEdit { target, replacement } => match replacement {
            Some(_) => format!("replaces {target}").into(),
            None => format!("removes {target}").into(),
        },
        Body::ModelChange { provider, model } => format!("{provider}/{model}").into(),
        Body::ThinkingLevelChange { level } => level,
        Body::SessionInfo { name } => name.unwrap_or_default(),
        Body::Usage { .. } => entry.text("kind").unwrap_or_default(),
        Body::Damaged => "(damaged)".into(),
        _ => Cow::Borrowed(""),
    };
    excerpt(&text, width)
}

/// Every look at a message reads all of it, and a tree has many: none is taken without need.
fn message_gist(message: MessageView<'_>, role: Option<Role>) -> String {
    match role {
        Some(Role::ToolResult) => {
            let tool = message.field("toolName").unwrap_or_default();
            let error = if is_true(message, "isError") { "failed: " } else { "" };
            // Not every agent says which tool it was.
            let tool = match first_line(&tool) {
                "" => String::new(),
                tool => format!("[{tool}] "),
            };
            format!("{tool}{error}{}", blocks_gist(message))
        }
        Some(Role::BashExecution) => {
            format!("$ {}", first_line(&message.field("command").unwrap_or_default()))
        }
        Some(Role::BranchSummary | Role::CompactionSummary) => {
            summary_line(&message.field("summary").unwrap_or_default()).to_owned()
        }
        Some(Role::Assistant) => {
            let end = abnormal_end(message).map(|end| format!(" {end}"));
            format!("{}{}", blocks_gist(message), end.unwrap_or_default())
        }
        _ => blocks_gist(message),
    }
}

/// The first line of text, then what is called and attached.
fn blocks_gist(message: MessageView<'_>) -> String {
    let mut text = None;
    let mut more = String::new();
    for block in message.blocks() {
        match block {
            Block::Text(part) if text.is_none() => {
                text = Some(first_line(&part).to_owned()).filter(|line| !line.is_empty());
            }
            Block::ToolCall { name, arguments, .. } => {
                more.push(' ');
                more.push_str(&call_gist(&name, arguments));
            }
            Block::Image { .. } => more.push_str(" [image]"),
            _ => {}
        }
    }
    text.unwrap_or_default() + &more
}

/// A tool call by what it is about, which most tools say in one of a few arguments.
fn call_gist(name: &str, arguments: Option<&[u8]>) -> String {
    let arguments = MessageView::new(arguments.unwrap_or_default());
    let about = ["command", "path", "file_path", "pattern", "query", "url"]
        .iter()
        .find_map(|key| arguments.field(key))
        .unwrap_or_default();
    match first_line(&about) {
        "" => format!("→ {}", first_line(name)),
        about => format!("→ {} {about}", first_line(name)),
    }
}

/// Why an answer is not whole.
fn abnormal_end(message: MessageView<'_>) -> Option<String> {
    let reason = message.field("stopReason")?;
    match &*reason {
        "error" | "aborted" | "length" => {
            let why = message.field("errorMessage").unwrap_or_default();
            match first_line(&why) {
                "" => Some(format!("({reason})")),
                why => Some(format!("({reason}: {why})")),
            }
        }
        _ => None,
    }
}

/// JavaScript's `true`, and nothing else.
fn is_true(message: MessageView<'_>, key: &str) -> bool {
    message.get(key) == Some(b"true")
}

/// The amount of a tool call that is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Calls {
    /// The part that fits on one line.
    OneLine,
    /// All of it.
    Whole,
}

/// Writes all that a message says.
pub(crate) fn write_message(
    out: &mut Output,
    message: MessageView<'_>,
    calls: Calls,
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
        let end = out.paint(Style::Bad, &safe_line(&end));
        writeln!(out, "{end}")?;
    }
    Ok(())
}

fn write_block(out: &mut Output, block: &Block<'_>, calls: Calls) -> Result<(), Failure> {
    let line = match block {
        Block::Text(text) => return write_text(out, text),
        Block::Thinking { text, .. } => {
            let note = match calls {
                Calls::OneLine => format!("(thinking) {}", excerpt(text, out.width() - 12)),
                Calls::Whole => format!("(thinking) {}", safe(text.trim_end())),
            };
            out.paint(Style::Dim, &note)
        }
        Block::ToolCall { name, arguments, .. } => {
            let call =
                format!("→ {} {}", safe_line(name), safe_bytes(arguments.unwrap_or_default()));
            let call = match calls {
                Calls::OneLine => fit(&call, out.width()),
                Calls::Whole => Cow::Borrowed(call.as_str()),
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
            let width = if calls == Calls::OneLine { out.width() } else { usize::MAX };
            out.paint(Style::Dim, &fit(&raw, width))
        }
        _ => return Ok(()),
    };
    writeln!(out, "{line}")?;
    Ok(())
}

/// Writes text of a session over as many lines as it has.
pub(crate) fn write_text(out: &mut Output, text: &str) -> Result<(), Failure> {
    if !text.is_empty() {
        writeln!(out, "{}", safe(text.trim_end_matches(['\n', '\r'])))?;
    }
    Ok(())
}

fn write_bash(out: &mut Output, message: MessageView<'_>) -> Result<(), Failure> {
    let command = message.field("command").unwrap_or_default();
    let line = out.paint(Style::Heading, &format!("$ {}", safe(&command)));
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

/// The time inside a message, which is in Unix milliseconds.
pub(crate) fn message_time(message: MessageView<'_>) -> Option<i64> {
    let number: f64 = std::str::from_utf8(message.get("timestamp")?).ok()?.parse().ok()?;
    number.is_finite().then_some(number as i64)
}

/// JSON over several lines, harmless.
pub(crate) fn pretty_json(raw: &[u8]) -> String {
    treering_export::text::pretty_json(&safe_bytes(raw))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_named_after_what_they_are_about() {
        assert_eq!(call_gist("bash", Some(br#"{"command":"ls\n-l"}"#)), "→ bash ls");
        assert_eq!(call_gist("edit", Some(br#"{"old":"a","path":"src/x.rs"}"#)), "→ edit src/x.rs");
        assert_eq!(call_gist("think", Some(b"{}")), "→ think");
        assert_eq!(call_gist("odd", None), "→ odd");
    }
}
