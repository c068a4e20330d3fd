//! Matches the texts of an entry against a query.
//!
//! The texts come from the library's views, so that the entries of all agents are searched in the
//! same way: texts, thinking, the values of a call's arguments, results, commands and their output,
//! summaries, labels, names, and data of extensions. Names of tools are not included (`tool:` finds
//! them), nor are images.

use crate::filter::Filters;
use crate::query::Query;
use std::borrow::Cow;
use std::collections::HashMap;
use treering::entry::{Block, Body, MessageView, strings};
use treering::{Entry, Role};

/// The part of an entry that a text belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Part {
    /// The text of a message.
    Text,
    /// The thinking of a model.
    Thinking,
    /// An argument of a tool call.
    Call,
    /// The result of a tool.
    Result,
    /// A command that the user ran.
    Command,
    /// The output of a command.
    Output,
    /// The summary of a compaction or a branch.
    Summary,
    /// A label.
    Label,
    /// The session's name.
    Name,
    /// The data of an extension or of an unknown kind of entry.
    Data,
    /// A string of a damaged entry.
    Damaged,
}

impl Part {
    /// Returns the name of the part in reports.
    pub fn name(self) -> &'static str {
        match self {
            Part::Text => "text",
            Part::Thinking => "thinking",
            Part::Call => "call",
            Part::Result => "result",
            Part::Command => "command",
            Part::Output => "output",
            Part::Summary => "summary",
            Part::Label => "label",
            Part::Name => "name",
            Part::Data => "data",
            Part::Damaged => "damaged",
        }
    }

    /// Returns how much a hit in this part counts for the relevance of the session.
    pub(crate) fn weight(self) -> u64 {
        match self {
            Part::Name | Part::Label => 20,
            Part::Summary => 6,
            Part::Text | Part::Command => 4,
            _ => 1,
        }
    }
}

/// A text of an entry.
#[derive(Debug)]
pub(crate) struct EntryText<'a> {
    pub part: Part,
    pub tool: Option<Cow<'a, str>>,
    pub text: Cow<'a, str>,
}

/// The names of the called tools, by the ids of the calls, because results need not name them.
#[derive(Debug, Default)]
pub(crate) struct CallNames(HashMap<String, String>);

impl CallNames {
    pub(crate) fn take(&mut self, entry: &Entry) {
        for block in entry.message().iter().flat_map(MessageView::blocks) {
            if let Block::ToolCall { id, name, .. } = block {
                self.0.insert(id.into_owned(), name.into_owned());
            }
        }
    }
}

/// Returns all texts of an entry.
pub(crate) fn pieces<'a>(entry: &'a Entry, calls: &CallNames) -> Vec<EntryText<'a>> {
    let mut out = TextCollector { out: Vec::new() };
    match entry.body() {
        Body::Message(message) => {
            out.message(message, calls);
            entry.more_messages().for_each(|message| out.message(message, calls));
        }
        Body::Compaction { summary, .. } | Body::BranchSummary { summary, .. } => {
            out.add(Part::Summary, summary);
        }
        Body::CustomMessage { custom_type, text, .. } => {
            out.add(Part::Text, text.into());
            out.add(Part::Data, custom_type);
        }
        Body::ContextEdit { replacement, .. } => {
            out.all(Part::Text, replacement.unwrap_or_default(), None);
        }
        Body::Custom { custom_type, data } => {
            out.add(Part::Data, custom_type);
            out.all(Part::Data, data.unwrap_or_default(), None);
        }
        Body::Label { label, .. } => out.add(Part::Label, label.unwrap_or_default()),
        Body::SessionInfo { name } => out.add(Part::Name, name.unwrap_or_default()),
        Body::Damaged => out.unknown(Part::Damaged, entry),
        Body::Other => out.unknown(Part::Data, entry),
        _ => {}
    }
    out.out
}

struct TextCollector<'a> {
    out: Vec<EntryText<'a>>,
}

impl<'a> TextCollector<'a> {
    fn add(&mut self, part: Part, text: Cow<'a, str>) {
        if !text.is_empty() {
            self.out.push(EntryText { part, tool: None, text });
        }
    }

    /// Adds every string in some JSON.
    fn all(&mut self, part: Part, json: &'a [u8], tool: Option<&Cow<'a, str>>) {
        let texts = strings(json).filter(|text| !text.is_empty());
        self.out.extend(texts.map(|text| EntryText { part, tool: tool.cloned(), text }));
    }

    /// Adds every string of an entry except its id, parent and time.
    fn unknown(&mut self, part: Part, entry: &'a Entry) {
        let is_place = |text: &str| {
            *entry.id() == text
                || entry.parent().is_some_and(|parent| *parent == text)
                || entry.type_name() == text
                || entry.time().is_some_and(|time| treering::time::format(time) == text)
        };
        self.all(part, entry.raw(), None);
        self.out.retain(|piece| !is_place(&piece.text));
    }

    fn message(&mut self, message: MessageView<'a>, calls: &CallNames) {
        let field = |key| message.field(key).unwrap_or_default();
        let (part, tool) = match message.role() {
            Role::BashExecution => {
                let tool = Some(Cow::Borrowed("bash"));
                let (command, output) = (field("command"), field("output"));
                self.out.push(EntryText { part: Part::Command, tool: tool.clone(), text: command });
                self.out.push(EntryText { part: Part::Output, tool, text: output });
                return;
            }
            Role::BranchSummary | Role::CompactionSummary => {
                return self.add(Part::Summary, field("summary"));
            }
            Role::ToolResult => {
                let named = message.field("toolName").filter(|name| !name.is_empty());
                let called = || calls.0.get(&*field("toolCallId")).cloned().map(Cow::Owned);
                (Part::Result, named.or_else(called))
            }
            _ => (Part::Text, None),
        };
        for block in message.blocks() {
            match block {
                Block::Text { text, .. } => {
                    self.out.push(EntryText { part, tool: tool.clone(), text })
                }
                Block::Thinking { text, .. } => self.add(Part::Thinking, text),
                Block::ToolCall { name, arguments, .. } => {
                    self.all(Part::Call, arguments.unwrap_or_default(), Some(&name));
                }
                Block::Other(raw) => self.all(Part::Data, raw, tool.as_ref()),
                _ => {}
            }
        }
        if message.role() == Role::Assistant {
            self.add(Part::Text, field("errorMessage"));
        }
    }
}

/// Returns the text to show of an entry: the one that matches most of the query. Returns `None` if
/// the entry does not match the whole query.
pub(crate) fn best<'p, 'a>(
    query: &Query,
    pieces: &'p [EntryText<'a>],
) -> Option<&'p EntryText<'a>> {
    let fits = |piece: &&EntryText<'_>| fits_tool(&query.filters, piece);
    let is_excluded =
        |piece: &EntryText<'_>| query.excluded.iter().any(|term| term.is_in(&piece.text));
    if !query.excluded.is_empty() && pieces.iter().any(is_excluded) {
        return None;
    }
    let mut found = vec![false; query.terms.len()];
    let mut best: Option<(usize, &EntryText<'_>)> = None;
    for piece in pieces.iter().filter(fits) {
        let mut count = 0;
        for (term, found) in query.terms.iter().zip(&mut found) {
            if term.is_in(&piece.text) {
                *found = true;
                count += 1;
            }
        }
        if best.is_none_or(|(most, _)| count > most) {
            best = Some((count, piece));
        }
    }
    if found.contains(&false) {
        return None;
    }
    best.map(|(_, piece)| piece)
}

fn fits_tool(filters: &Filters, piece: &EntryText<'_>) -> bool {
    filters.tools.is_empty() || piece.tool.as_deref().is_some_and(|tool| filters.fits_tool(tool))
}
