//! Previews of sessions: their totals and their last messages.
//!
//! One thread reads the end of the file, as far as needed. If several sessions are requested
//! meanwhile, only the last of them is read next.

use super::{PickerSetup, PickerSource};
use crate::page::{Page, StyledLine};
use crate::picker::PickerEvent;
use crate::runtime::background::background;
use crate::theme::Tone;
use std::sync::mpsc::{Sender, channel};
use treering::Role;
use treering::catalog::SessionInfo;
use treering::context::{ContextMessage, Model};
use treering::entry::{Block, MessageView};
use treering_display::number::{age, size, tokens};
use treering_display::text::prefix;

/// The number of entries at the end that are read, and the number of messages that are shown.
const ENTRIES: usize = 40;
const MESSAGES: usize = 8;
/// The largest part of a message that is shown, in bytes and in lines.
const MAX_TEXT: usize = 8 * 1024;
const MAX_LINES: usize = 40;

/// Files up to this size, in bytes, are read without a message.
const QUICK: u64 = 16 << 20;

/// The queue of requested previews.
#[derive(Debug)]
pub(super) struct Previews(Sender<SessionInfo>);

impl Previews {
    pub(super) fn start(setup: &PickerSetup, events: Sender<PickerEvent>) -> Self {
        let (wanted, received) = channel::<SessionInfo>();
        let (source, now) = (setup.source.clone(), setup.now);
        background(move || {
            while let Ok(session) = received.recv() {
                let session = received.try_iter().last().unwrap_or(session);
                if session.size > QUICK {
                    let mut head = head(&session, Vec::new(), now());
                    head.lines.push(StyledLine::new(Tone::Dim, "reading …"));
                    let _ = events.send(PickerEvent::Page(session.path.clone(), head));
                }
                let page = page(&source, &session, now());
                if events.send(PickerEvent::Page(session.path, page)).is_err() {
                    return;
                }
            }
        });
        Previews(wanted)
    }

    pub(super) fn want(&self, session: SessionInfo) {
        // A failure means that the picker is closing.
        let _ = self.0.send(session);
    }
}

/// Returns the preview of a session.
pub(super) fn page(source: &PickerSource, session: &SessionInfo, now: i64) -> Page {
    if session.is_partial {
        let mut page = head(session, Vec::new(), now);
        let text = "a large archive: open it to decompress and read it";
        page.lines.push(StyledLine::new(Tone::Dim, text));
        return page;
    }
    let ends = source
        .active_projection(&session.path)
        .map(|projection| projection.without_images().only_last(ENTRIES));
    let ends = ends.and_then(|ends| {
        let mut models: Vec<String> = ends.model.iter().filter_map(Model::full_name).collect();
        let messages: Vec<ContextMessage> = ends.collect::<treering::Result<_>>()?;
        messages.iter().for_each(|message| note_model(message, &mut models));
        Ok((models, messages))
    });
    match ends {
        Err(error) => {
            let mut page = head(session, Vec::new(), now);
            page.lines.push(StyledLine::new(Tone::Failure, &error.to_string()));
            page
        }
        Ok((models, messages)) => {
            let mut page = head(session, models, now);
            let pages: Vec<Page> =
                messages.iter().rev().filter_map(message_lines).take(MESSAGES).collect();
            for message in pages.into_iter().rev() {
                page.lines.push(StyledLine::new(Tone::Plain, ""));
                page.lines.extend(message.lines);
            }
            page
        }
    }
}

/// Returns the head of a preview, which does not need the file.
fn head(session: &SessionInfo, models: Vec<String>, now: i64) -> Page {
    let name = session.name.iter().map(|name| StyledLine::new(Tone::Title, name));
    let facts = facts(session, models, now);
    Page { lines: name.chain(facts.iter().map(|fact| StyledLine::new(Tone::Dim, fact))).collect() }
}

/// Returns the totals of a session, line by line.
fn facts(session: &SessionInfo, models: Vec<String>, now: i64) -> Vec<String> {
    let count = |number: usize, one: &str, many: &str| match session.is_partial {
        true => format!("{number}+ {many}"),
        false => format!("{number} {}", if number == 1 { one } else { many }),
    };
    let mut amount = vec![
        count(session.message_count, "message", "messages"),
        count(session.entry_count, "entry", "entries"),
        count(session.branch_count, "branch", "branches"),
        size(session.size),
    ];
    if session.compaction_count > 0 {
        amount.push(count(session.compaction_count, "compaction", "compactions"));
    }
    amount.extend(session.tokens.map(|number| format!("{} tokens", tokens(number))));
    amount.extend(session.cost.map(|cost| format!("${cost:.2}")));
    if session.finding_count > 0 {
        amount.push(count(session.finding_count, "finding", "findings"));
    }
    let mut origin = vec![session.agent.name().to_owned()];
    origin.extend(models);
    origin.push(session.cwd.clone());
    let ago = |time: i64| match age(now.saturating_sub(time)) {
        now if now == "now" => now,
        age => format!("{age} ago"),
    };
    let mut times = vec![format!("last used {}", ago(session.modified))];
    times.extend(session.created.map(|time| format!("created {}", ago(time))));
    let mut facts = vec![amount.join(" · "), origin.join(" · "), times.join(" · ")];
    facts.extend(session.parent_session.as_ref().map(|parent| format!("forked from {parent}")));
    facts.push(session.path.to_string_lossy().into_owned());
    facts
}

/// Adds the model of an answer.
fn note_model(message: &ContextMessage, models: &mut Vec<String>) {
    let message = MessageView::new(&message.json);
    if let (Some(provider), Some(model)) = (message.field("provider"), message.field("model")) {
        let name = format!("{provider}/{model}");
        if !models.contains(&name) {
            models.push(name);
        }
    }
}

/// Returns a message as lines; `None` if it is empty.
fn message_lines(message: &ContextMessage) -> Option<Page> {
    let message = MessageView::new(&message.json);
    let role = message.role();
    let (name, tone) = match role {
        Role::User | Role::Custom => ("user", Tone::User),
        Role::Assistant => ("assistant", Tone::Assistant),
        Role::ToolResult => ("tool", Tone::Tool),
        Role::BashExecution => ("bash", Tone::Tool),
        _ => ("summary", Tone::Summary),
    };
    let mut page = Page { lines: vec![StyledLine::new(tone, name)] };
    for key in ["command", "summary", "errorMessage"] {
        page.lines.extend(message.field(key).map(|text| text_lines(&text)).unwrap_or_default());
    }
    for block in message.blocks() {
        match block {
            Block::Text { text, .. } if role == Role::ToolResult => {
                let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
                page.lines.push(StyledLine::new(Tone::Dim, beginning(first)));
            }
            Block::Text { text, .. } => page.lines.extend(text_lines(&text)),
            Block::ToolCall { name, .. } => {
                page.lines.push(StyledLine::new(Tone::Tool, &format!("→ {}", beginning(&name))));
            }
            Block::Image { .. } => page.lines.push(StyledLine::new(Tone::Dim, "[image]")),
            _ => {}
        }
    }
    (page.lines.len() > 1).then_some(page)
}

fn text_lines(text: &str) -> Vec<StyledLine> {
    let text = beginning(text.trim());
    if text.is_empty() {
        return Vec::new();
    }
    let mut lines = Page::of_markdown(text).lines;
    if lines.len() > MAX_LINES {
        lines.truncate(MAX_LINES);
        lines.push(StyledLine::new(Tone::Dim, "…"));
    }
    lines
}

fn beginning(text: &str) -> &str {
    prefix(text, MAX_TEXT)
}
