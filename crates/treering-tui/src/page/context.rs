//! Renders the context at an entry: every message, its source, and its share of the tokens.

use super::entry::{heading, write_message};
use super::writer::PageWriter;
use super::{StyledLine, StyledSpan};
use crate::theme::Tone;
use treering::compaction::estimate_tokens;
use treering::context::ContextMessage;
use treering::entry::MessageView;
use treering::{Context, Role};
use treering_display::line::excerpt;
use treering_display::number::short_number;

/// The columns of a bar.
const BAR: usize = 8;

/// Adds a context.
pub(super) fn write(writer: &mut PageWriter, context: &Context, is_edited: impl Fn(&str) -> bool) {
    let tokens: Vec<u64> =
        context.messages.iter().map(|message| estimate_tokens(&message.json)).collect();
    let total = tokens.iter().fold(0_u64, |sum, tokens| sum.saturating_add(*tokens));
    let count = match tokens.len() {
        1 => "1 message".to_owned(),
        count => format!("{count} messages"),
    };
    writer.push(StyledLine::new(
        Tone::Title,
        &format!("{count}, about {} tokens", short_number(total as f64)),
    ));
    let model = context.model.as_ref().map(|model| {
        let names = [&model.provider, &model.model_id].map(|name| name.as_deref());
        names.into_iter().flatten().collect::<Vec<_>>().join("/")
    });
    if let Some(model) = model.filter(|model| !model.is_empty()) {
        let settings = format!("{model} · thinking {}", context.thinking_level);
        writer.push(StyledLine::new(Tone::Dim, &excerpt(&settings, 200)));
    }
    let mut caller = None;
    for (message, tokens) in context.messages.iter().zip(tokens) {
        if writer.is_full() {
            return;
        }
        writer.gap();
        let view = MessageView::new(&message.json);
        write_head(writer, message, view, is_edited(message.entry.as_str()));
        writer.push(share(tokens, total));
        if view.role() == Role::Assistant {
            caller = Some(view);
        }
        write_message(writer, view, caller.filter(|_| view.role() == Role::ToolResult));
    }
}

/// Writes the role of a message and the entry it comes from.
fn write_head(
    writer: &mut PageWriter,
    message: &ContextMessage,
    view: MessageView<'_>,
    is_edited: bool,
) {
    let mut line = heading(view);
    line.spans.push(StyledSpan::new(Tone::Dim, &format!(" · {}", message.entry)));
    let stands_for = match view.role() {
        Role::CompactionSummary => Some("replaces the messages before it"),
        Role::BranchSummary => Some("summarizes another branch"),
        _ => None,
    };
    if let Some(what) = stands_for {
        line.spans.push(StyledSpan::new(Tone::Summary, &format!(" · {what}")));
    }
    if is_edited {
        line.spans.push(StyledSpan::new(Tone::Label, " · edited"));
    }
    writer.push(line);
}

/// Returns the share of a message in the context.
fn share(tokens: u64, total: u64) -> StyledLine {
    let part = tokens as f64 / total.max(1) as f64;
    let full = ((part * BAR as f64).round() as usize).min(BAR);
    let bar = format!("▕{}{}▏", "█".repeat(full), " ".repeat(BAR - full));
    let words =
        format!("{bar} {:.0} % · about {} tokens", part * 100.0, short_number(tokens as f64));
    StyledLine::new(Tone::Dim, &words)
}
