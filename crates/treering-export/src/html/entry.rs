//! Renders an entry as a piece of HTML. Role, time and label are in the index, and the page's
//! script adds them.

use super::batch::CallPlaceholder;
use super::{escape, markdown};
use treering::Role;
use treering::entry::{Block, Body, MessageView};
use treering_display::diff;
use treering_display::entry_parts::{EntryParts, MessageFields, message_parts};
use treering_display::json::pretty_json;
use treering_display::line::excerpt;
use treering_display::number::tokens;
use treering_display::tool::{self, Arguments, Call};

/// The number of lines above which results are folded.
const FOLD_LINES: usize = 14;
const FOLD_BYTES: usize = 1800;

/// Appends an entry.
pub(crate) fn write(
    out: &mut String,
    parts: &EntryParts<'_>,
    placeholders: &mut Vec<CallPlaceholder>,
) {
    let entry = parts.entry;
    match &parts.body {
        Body::Message(view) => {
            message(out, parts.role(), *view, (&parts.blocks, parts.fields), placeholders);
            for more in entry.more_messages() {
                let (blocks, fields) = message_parts(more);
                message(out, Some(more.role()), more, (&blocks, fields), placeholders);
            }
        }
        Body::Compaction { summary, tokens_before, .. } => {
            if let Some(before) = tokens_before.filter(|before| *before >= 0.0) {
                out.push_str("<p class=note>");
                out.push_str(&tokens(before as u64));
                out.push_str(" tokens became this summary:</p>");
            }
            markdown::render(out, summary);
        }
        Body::BranchSummary { summary, .. } => markdown::render(out, summary),
        Body::CustomMessage { custom_type, text, .. } => {
            note(out, custom_type);
            markdown::render(out, text);
        }
        Body::ModelChange { provider, model } => line(out, &format!("{provider}/{model}")),
        Body::ThinkingLevelChange { level } => line(out, level),
        Body::SessionInfo { name } => line(out, name.as_deref().unwrap_or_default()),
        Body::Label { label: Some(label), .. } => line(out, label),
        Body::Damaged => code(out, "", &String::from_utf8_lossy(entry.raw())),
        _ => json(out, &entry.type_name(), entry.raw()),
    }
}

fn message(
    out: &mut String,
    role: Option<Role>,
    message: MessageView<'_>,
    (blocks, fields): (&[Block<'_>], MessageFields<'_>),
    placeholders: &mut Vec<CallPlaceholder>,
) {
    match role {
        Some(Role::BashExecution) => bash(out, message),
        Some(Role::ToolResult) => tool_result(out, fields, blocks, placeholders),
        Some(Role::BranchSummary | Role::CompactionSummary) => {
            markdown::render(out, &message.field("summary").unwrap_or_default());
        }
        _ => blocks.iter().for_each(|part| block(out, part)),
    }
    if role == Some(Role::Assistant)
        && let Some(end) = fields.abnormal_end()
    {
        out.push_str("<p class=bad>");
        escape::text(out, &end);
        out.push_str("</p>");
    }
}

fn block(out: &mut String, block: &Block<'_>) {
    match block {
        Block::Text { text, .. } if text.trim().is_empty() => {}
        Block::Text { text, .. } => markdown::render(out, text),
        Block::Thinking { text, .. } if text.trim().is_empty() => {}
        Block::Thinking { text, .. } => {
            out.push_str("<details class=think><summary>Thinking</summary>");
            markdown::render(out, text);
            out.push_str("</details>");
        }
        Block::Image { data, mime_type } => picture(out, mime_type, data),
        Block::ToolCall { name, arguments, .. } => call(out, name, *arguments),
        Block::Other(raw) => json(out, "block", raw),
        _ => {}
    }
}

fn picture(out: &mut String, mime: &str, data: &str) {
    if !markdown::image(out, mime, data, "") {
        note(out, &format!("image of type {mime}, not shown"));
    }
}

/// Renders a call: its name and its subject, with folded arguments. Edits are not folded.
fn call(out: &mut String, name: &str, raw: Option<&[u8]>) {
    let call = Call::new(name, raw);
    let arguments = call.arguments();
    let is_open = matches!(arguments, Arguments::Edits(_) | Arguments::Patch(_));
    let has_body = arguments != Arguments::InSummary && !is_shown_in_summary(&arguments);
    out.push_str(match (has_body, is_open) {
        (false, _) => "<div class=call><div class=what><b>",
        (true, true) => "<details class=call open><summary class=what><b>",
        (true, false) => "<details class=call><summary class=what><b>",
    });
    escape::text(out, &excerpt(name, 80));
    out.push_str("</b> <code>");
    escape::text(out, &call.about(160));
    out.push_str(if has_body { "</code></summary>" } else { "</code></div>" });
    if has_body {
        show(out, &call, &arguments);
    }
    out.push_str(if has_body { "</details>" } else { "</div>" });
}

/// Returns whether the summary of a call shows all of its arguments, as for a command of one line.
fn is_shown_in_summary(arguments: &Arguments<'_>) -> bool {
    matches!(arguments, Arguments::Command(command) if !command.trim().contains('\n') && command.len() < 150)
}

fn show(out: &mut String, call: &Call<'_>, arguments: &Arguments<'_>) {
    match arguments {
        Arguments::Command(command) => code(out, "bash", command),
        Arguments::Edits(edits) => {
            for (old, new) in edits {
                show_diff(out, old, new);
            }
        }
        Arguments::Content(content) => {
            code(out, tool::language(&call.path().unwrap_or_default()), content);
        }
        Arguments::Patch(patch) => code(out, "diff", patch),
        Arguments::Json(json) => code(out, "json", json),
        Arguments::InSummary => {}
    }
}

fn show_diff(out: &mut String, old: &str, new: &str) {
    out.push_str("<pre class=diff>");
    for line in diff::lines(old, new) {
        out.push_str(match line.sign {
            '-' => "<del>",
            '+' => "<ins>",
            '⋯' => "<s>",
            _ => "<span>",
        });
        escape::text(out, line.text);
        out.push_str(match line.sign {
            '-' => "\n</del>",
            '+' => "\n</ins>",
            '⋯' => "⋯\n</s>",
            _ => "\n</span>",
        });
    }
    out.push_str("</pre>");
}

fn tool_result(
    out: &mut String,
    fields: MessageFields<'_>,
    blocks: &[Block<'_>],
    placeholders: &mut Vec<CallPlaceholder>,
) {
    let (call, otherwise) = (fields.call_id(), excerpt(&fields.tool_name(), 80));
    let mut title = |out: &mut String| {
        let (call, otherwise) = (call.clone().into_owned(), otherwise.clone());
        placeholders.push(CallPlaceholder { at: out.len(), call, otherwise });
    };
    let is_error = fields.is_error();
    for part in blocks {
        match part {
            Block::Text { text, .. } => output(out, &mut title, text, is_error),
            other => block(out, other),
        }
    }
    if blocks.is_empty() {
        output(out, &mut title, "", is_error);
    }
}

/// Writes the output of a tool, folded if it is long.
fn output(out: &mut String, title: impl FnOnce(&mut String), text: &str, is_error: bool) {
    let text = text.trim_matches('\n');
    let lines = memchr::memchr_iter(b'\n', text.as_bytes()).count() + 1;
    let size = match (text.len(), lines) {
        (0, _) => "no output".to_owned(),
        (_, 1) => format!("{} characters", text.chars().count()),
        _ => format!("{lines} lines"),
    };
    let is_long = lines > FOLD_LINES || text.len() > FOLD_BYTES;
    out.push_str(match (is_error, is_long) {
        (true, true) => "<details class=\"res err\">",
        (false, true) => "<details class=res>",
        (true, false) => "<details class=\"res err\" open>",
        (false, false) => "<details class=res open>",
    });
    out.push_str("<summary><code>");
    title(out);
    out.push_str("</code> <span>");
    out.push_str(if is_error { "failed, " } else { "" });
    out.push_str(&size);
    out.push_str("</span></summary>");
    if !text.is_empty() {
        out.push_str("<pre>");
        escape::text(out, text);
        out.push_str("</pre>");
    }
    out.push_str("</details>");
}

fn bash(out: &mut String, message: MessageView<'_>) {
    code(out, "bash", &message.field("command").unwrap_or_default());
    let code = message.get("exitCode").filter(|code| !matches!(*code, b"0" | b"null"));
    let is_error = code.is_some() || message.get("cancelled") == Some(b"true");
    let title = match code {
        Some(code) => format!("exit code {}", excerpt(&String::from_utf8_lossy(code), 20)),
        None => "output".to_owned(),
    };
    let title = |out: &mut String| escape::text(out, &title);
    output(out, title, &message.field("output").unwrap_or_default(), is_error);
}

fn code(out: &mut String, language: &str, text: &str) {
    markdown::code_start(out, language);
    escape::text(out, text.trim_end_matches('\n'));
    out.push_str("</code></pre>");
}

fn json(out: &mut String, title: &str, raw: &[u8]) {
    out.push_str("<details class=call><summary class=what><b>");
    escape::text(out, &excerpt(title, 80));
    out.push_str("</b></summary>");
    code(out, "json", &pretty_json(&String::from_utf8_lossy(raw)));
    out.push_str("</details>");
}

fn note(out: &mut String, text: &str) {
    out.push_str("<p class=note>");
    escape::text(out, &excerpt(text, 400));
    out.push_str("</p>");
}

fn line(out: &mut String, text: &str) {
    out.push_str("<p>");
    escape::text(out, &excerpt(text, 400));
    out.push_str("</p>");
}
