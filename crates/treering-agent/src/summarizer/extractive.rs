//! Summarizes without a model, by quoting the messages.
//!
//! Requests are the user's own words, decisions and errors are lines with certain words, and the
//! state is the last text of the assistant. The same messages always give the same text, whose
//! length is bounded. The sections are those that a model is asked for, so that both kinds of
//! summaries can be read in the same way.

use super::{Conversation, Summarizer, Summary, SummaryFuture, SummaryRequest};
use std::collections::{BTreeMap, VecDeque};
use tokio_util::sync::CancellationToken;
use treering::Role;
use treering::entry::{Block, MessageView};

/// A summarizer that quotes the messages, and needs no model and no network.
///
/// ```
/// use treering_agent::{Extractive, Summarizer};
/// let summarizer = Extractive::new().max_items(5);
/// assert_eq!((summarizer.name(), summarizer.context_window()), ("extractive", None));
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Extractive {
    /// The maximum number of items in a list of the summary. The newest are kept, and the first
    /// request.
    pub max_items: usize,
    /// The maximum length of a quotation, in characters.
    pub max_quote: usize,
}

impl Extractive {
    /// Returns the defaults.
    pub fn new() -> Self {
        Extractive::default()
    }

    /// Sets the maximum number of items in a list of the summary.
    #[must_use]
    pub fn max_items(self, max_items: usize) -> Self {
        Extractive { max_items, ..self }
    }

    /// Sets the maximum length of a quotation, in characters.
    #[must_use]
    pub fn max_quote(self, max_quote: usize) -> Self {
        Extractive { max_quote, ..self }
    }
}

impl Default for Extractive {
    fn default() -> Self {
        Extractive { max_items: 12, max_quote: 300 }
    }
}

/// Words that mark a line as a decision. They are common words, because a wrong quotation does
/// little harm.
const DECISIONS: [&str; 8] = [
    "decided",
    "decision",
    "instead of",
    "i'll use",
    "we'll use",
    "going with",
    "chose ",
    "let's use",
];
const CONSTRAINTS: [&str; 9] = [
    "must ",
    "never ",
    "always ",
    "don't ",
    "do not ",
    "prefer",
    "make sure",
    "only use",
    "avoid ",
];
const STEPS: [&str; 5] = ["next step", "next, ", "todo", "remaining", "still need"];

/// The maximum number of tools that are named.
const MAX_TOOLS: usize = 30;

impl Extractive {
    /// Returns the summary of a conversation; empty if there is nothing to quote.
    pub fn extract(&self, conversation: &Conversation) -> String {
        let mut found = ExtractedFacts::new(self);
        for raw in &conversation.messages {
            found.message(&MessageView::new(raw));
        }
        found.write(conversation)
    }
}

impl Summarizer for Extractive {
    fn name(&self) -> &str {
        "extractive"
    }

    fn context_window(&self) -> Option<u64> {
        None
    }

    fn summarize<'a>(
        &'a self,
        request: SummaryRequest,
        cancel: &'a CancellationToken,
    ) -> SummaryFuture<'a> {
        Box::pin(async move {
            if cancel.is_cancelled() {
                return Err(super::ModelError::Canceled);
            }
            let mut sink = super::Sink::new(request.on_delta);
            sink.push(&self.extract(&request.conversation))?;
            if sink.is_empty() {
                sink.push("(No messages.)")?;
            }
            let text = sink.finish();
            Ok(Summary { text, usage: None, model: None, provider: self.name().into() })
        })
    }
}

/// A list that keeps its newest items, without duplicates.
struct Items {
    items: VecDeque<String>,
    dropped: usize,
    max: usize,
}

impl Items {
    fn new(max: usize) -> Self {
        Items { items: VecDeque::new(), dropped: 0, max }
    }

    fn push(&mut self, item: String) {
        if item.is_empty() || self.items.contains(&item) {
            return;
        }
        self.items.push_back(item);
        if self.items.len() > self.max {
            self.items.pop_front();
            self.dropped += 1;
        }
    }

    fn write(&self, out: &mut String) {
        if self.dropped > 0 {
            out.push_str(&format!("- ({} earlier left out)\n", self.dropped));
        }
        for item in &self.items {
            out.push_str(&format!("- {item}\n"));
        }
    }
}

/// Writes a heading and its content, or nothing if the content is empty.
fn section(out: &mut String, heading: &str, write: impl FnOnce(&mut String)) {
    let mut inside = String::new();
    write(&mut inside);
    if !inside.is_empty() {
        let space = if out.is_empty() { "" } else { "\n" };
        out.push_str(&format!("{space}{heading}\n{}", inside.trim_start_matches('\n')));
    }
}

/// The facts collected from the messages.
struct ExtractedFacts {
    max_quote: usize,
    first_request: Option<String>,
    requests: Items,
    constraints: Items,
    done: Items,
    errors: Items,
    decisions: Items,
    steps: Items,
    context: Items,
    last_said: String,
    /// Whether the last request has no final answer yet.
    open: bool,
    /// The number of calls of each tool. The files that they touched are listed separately.
    tools: BTreeMap<String, usize>,
}

impl ExtractedFacts {
    fn new(options: &Extractive) -> Self {
        let items = || Items::new(options.max_items);
        ExtractedFacts {
            max_quote: options.max_quote,
            first_request: None,
            requests: items(),
            constraints: items(),
            done: items(),
            errors: items(),
            decisions: items(),
            steps: items(),
            context: items(),
            last_said: String::new(),
            open: false,
            tools: BTreeMap::new(),
        }
    }

    fn message(&mut self, message: &MessageView<'_>) {
        match message.role() {
            Role::User => self.user(&message.text()),
            Role::Assistant => self.assistant(message),
            Role::ToolResult if message.get("isError") == Some(b"true") => {
                let tool = message.field("toolName").unwrap_or_default();
                let quoted = quote(&message.text(), self.max_quote);
                self.errors.push(format!("{}: {quoted}", quote(&tool, 60)));
            }
            Role::BashExecution => self.bash(message),
            Role::BranchSummary | Role::CompactionSummary => {
                let summary = message.field("summary").unwrap_or_default();
                // The fixed sentences before a summary would take the room of its content.
                let summary = treering::branch_summary::summary_substance(&summary);
                self.context.push(quote(summary, self.max_quote * 4));
            }
            Role::Custom => self.context.push(quote(&message.text(), self.max_quote)),
            _ => {}
        }
    }

    fn user(&mut self, text: &str) {
        let request = quote(text, self.max_quote);
        if request.is_empty() {
            return;
        }
        self.first_request.get_or_insert_with(|| request.clone());
        self.requests.push(request);
        lines_with(text, &CONSTRAINTS, self.max_quote, &mut self.constraints);
        self.open = true;
    }

    fn assistant(&mut self, message: &MessageView<'_>) {
        let mut calls = 0;
        for block in message.blocks() {
            match block {
                Block::Text { text, .. } => {
                    lines_with(&text, &DECISIONS, self.max_quote, &mut self.decisions);
                    lines_with(&text, &STEPS, self.max_quote, &mut self.steps);
                    if !text.trim().is_empty() {
                        self.last_said = quote(&text, self.max_quote * 4);
                    }
                }
                Block::ToolCall { name, .. } => {
                    calls += 1;
                    *self.tools.entry(quote(&name, 60)).or_default() += 1;
                }
                _ => {}
            }
        }
        if let Some(error) = message.field("errorMessage") {
            self.errors.push(quote(&error, self.max_quote));
        }
        let is_final = calls == 0 && !message.text().trim().is_empty();
        let stopped = message.field("stopReason");
        if is_final && !matches!(stopped.as_deref(), Some("aborted" | "error")) {
            self.done.push(quote(&message.text(), self.max_quote));
            self.open = false;
        }
    }

    fn bash(&mut self, message: &MessageView<'_>) {
        let command = quote(&message.field("command").unwrap_or_default(), self.max_quote);
        match message.get("exitCode") {
            Some(code) if code != b"0" && code != b"null" => {
                let code = String::from_utf8_lossy(code);
                let output = message.field("output").unwrap_or_default();
                let end = quote_end(&output, self.max_quote);
                self.errors.push(format!("`{command}` exited with {}: {end}", quote(&code, 20)));
            }
            _ => self.done.push(format!("Ran `{command}`")),
        }
    }

    fn is_empty(&self) -> bool {
        let lists = [&self.requests, &self.done, &self.errors, &self.context];
        lists.iter().all(|list| list.items.is_empty())
            && self.last_said.is_empty()
            && self.tools.is_empty()
    }

    fn write(self, conversation: &Conversation) -> String {
        let previous = conversation.previous_summary.as_deref().unwrap_or_default();
        let previous = treering::branch_summary::summary_substance(previous).trim();
        if self.is_empty() && previous.is_empty() {
            return String::new();
        }
        let mut out = String::new();
        // The first request is the goal, even if newer ones have pushed it out of the list.
        section(&mut out, "## Goal", |out| {
            let first = self.first_request.as_ref();
            if let Some(first) = first.filter(|first| !self.requests.items.contains(first)) {
                out.push_str(&format!("- {first}\n"));
            }
            self.requests.write(out);
        });
        section(&mut out, "## Constraints & Preferences", |out| self.constraints.write(out));
        section(&mut out, "## Progress", |out| self.write_progress(out));
        section(&mut out, "## Key Decisions", |out| self.decisions.write(out));
        section(&mut out, "## Next Steps", |out| self.steps.write(out));
        section(&mut out, "## Critical Context", |out| {
            self.write_context(conversation, previous, out);
        });
        out.trim_end().to_owned()
    }

    fn write_progress(&self, out: &mut String) {
        section(out, "### Done", |out| self.done.write(out));
        section(out, "### In Progress", |out| {
            if let Some(request) = self.requests.items.back().filter(|_| self.open) {
                out.push_str(&format!("- {request}\n"));
            }
        });
        section(out, "### Blocked", |out| self.errors.write(out));
    }

    fn write_context(&self, conversation: &Conversation, previous: &str, out: &mut String) {
        if let Some(focus) =
            conversation.instructions.as_deref().filter(|text| !text.trim().is_empty())
        {
            out.push_str(&format!("- Asked to focus on: {}\n", quote(focus, self.max_quote)));
        }
        if !self.last_said.is_empty() {
            out.push_str(&format!("- Last state: {}\n", self.last_said));
        }
        if !self.tools.is_empty() {
            let more = self.tools.len().saturating_sub(MAX_TOOLS);
            let mut tools: Vec<String> = self
                .tools
                .iter()
                .take(MAX_TOOLS)
                .map(|(name, times)| format!("{name} ×{times}"))
                .collect();
            tools.extend((more > 0).then(|| format!("{more} more")));
            out.push_str(&format!("- Tools used: {}\n", tools.join(", ")));
        }
        self.context.write(out);
        if !previous.is_empty() {
            // It is quoted line by line, because it has headings of its own, which must not be
            // confused with ours.
            out.push_str("\nEarlier summary:\n");
            let limit = self.max_quote * 40;
            let kept: String = previous.chars().take(limit).collect();
            for line in kept.lines() {
                out.push_str(&format!("> {line}\n"));
            }
            if kept.len() < previous.len() {
                out.push_str("> […]\n");
            }
        }
    }
}

/// Returns `text` on one line, at most `max` characters of it.
fn quote(text: &str, max: usize) -> String {
    let mut out = String::new();
    let mut room = max;
    for word in text.split_whitespace() {
        let gap = usize::from(!out.is_empty());
        let length = word.chars().take(room + 1).count() + gap;
        if length > room {
            if out.is_empty() {
                out.extend(word.chars().take(room));
            }
            out.push('…');
            break;
        }
        if gap > 0 {
            out.push(' ');
        }
        out.push_str(word);
        room -= length;
    }
    out
}

/// Returns the end of `text` on one line, where commands usually report errors.
fn quote_end(text: &str, max: usize) -> String {
    let start = text.char_indices().rev().nth(max.saturating_sub(1)).map_or(0, |(at, _)| at);
    let end = text.get(start..).unwrap_or_default();
    quote(end, max)
}

/// Collects the lines of `text` that contain one of `words`.
fn lines_with(text: &str, words: &[&str], max: usize, items: &mut Items) {
    for line in text.lines() {
        // Long lines are data, not sentences.
        if line.len() > 2000 {
            continue;
        }
        let lower = line.to_lowercase();
        if words.iter().any(|word| lower.contains(word)) {
            items.push(quote(line.trim_start_matches(['-', '*', '#', ' ']), max));
        }
    }
}

#[cfg(test)]
#[path = "extractive_tests.rs"]
mod tests;
