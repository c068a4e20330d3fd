//! All of an entry, or all that the model would see from it, as lines to scroll in.
//!
//! Pages are made where sessions are read, outside of update. What is in them is safe to show.

use crate::text::{safe_line, wrap};
use crate::theme::Tone;
use treering::{Block, Body, Context, Entry, MessageView, Role, estimate_tokens};
use treering_export::text::pretty_json;

/// A piece of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    /// What it is.
    pub tone: Tone,
    /// Safe to show.
    pub text: String,
}

/// A line of a page. May be wider than the screen.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Line {
    /// Its pieces, one after the other.
    pub spans: Vec<Span>,
    /// Where it goes on if it is broken: so many columns from the left.
    pub hang: usize,
}

impl Line {
    /// A line of one piece, made safe to show.
    pub fn new(tone: Tone, text: &str) -> Self {
        Line { spans: vec![Span { tone, text: safe_line(text) }], hang: 0 }
    }

    /// All of it, without what it looks like.
    pub fn text(&self) -> String {
        self.spans.iter().map(|span| &*span.text).collect()
    }
}

/// Lines to read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Page {
    /// Its lines.
    pub lines: Vec<Line>,
}

/// Longer lines are broken, so that one can scroll in them.
const MAX_CHARACTERS: usize = 1000;
/// A page ends here; nobody reads further on a screen.
const MAX_LINES: usize = 20_000;

impl Page {
    /// The whole of an entry.
    pub fn of_entry(entry: &Entry) -> Self {
        let mut page = Page::default();
        page.title(&format!("{} {}", entry.type_name(), entry.id()));
        if let Some(time) = entry.time() {
            page.add(Tone::Dim, &treering::format_time(time));
        }
        match entry.body() {
            Body::Message(message) => {
                page.message(message);
                entry.more_messages().for_each(|message| page.message(message));
            }
            Body::Compaction { summary, .. } | Body::BranchSummary { summary, .. } => {
                page.add(Tone::Plain, &summary);
            }
            Body::CustomMessage { text, .. } => page.add(Tone::Plain, &text),
            _ => page.json(entry.raw()),
        }
        page
    }

    /// What the model would see, message by message, with what each is estimated to take.
    pub fn of_context(context: &Context) -> Self {
        let mut page = Page::default();
        let tokens: Vec<u64> =
            context.messages.iter().map(|message| estimate_tokens(&message.json)).collect();
        let count = match tokens.len() {
            1 => "1 message".to_owned(),
            count => format!("{count} messages"),
        };
        page.title(&format!("{count}, about {} tokens", tokens.iter().sum::<u64>()));
        for (message, tokens) in context.messages.iter().zip(tokens) {
            if page.is_full() {
                break;
            }
            page.add(Tone::Plain, "");
            page.add(Tone::Dim, &format!("{} · about {tokens} tokens", message.entry));
            page.message(MessageView::new(&message.json));
        }
        page
    }

    /// What somebody wrote in Markdown.
    pub fn of_markdown(text: &str) -> Self {
        let mut page = Page::default();
        page.add(Tone::Plain, text);
        page
    }

    /// The same with lines no wider than a screen.
    pub fn wrapped(&self, width: usize) -> Self {
        let mut page = Page::default();
        for line in &self.lines {
            let tone = line.spans.first().map_or(Tone::Plain, |span| span.tone);
            let text = line.text();
            page.lines.extend(
                wrap(&text, width).into_iter().map(|piece| Line {
                    spans: vec![Span { tone, text: piece.to_owned() }],
                    hang: 0,
                }),
            );
        }
        page
    }

    /// That there is nothing to show, and why.
    pub fn of_failure(why: &str) -> Self {
        let mut page = Page::default();
        page.add(Tone::Failure, why);
        page
    }

    fn message(&mut self, message: MessageView<'_>) {
        let tone = match message.role() {
            Role::User | Role::Custom => Tone::User,
            Role::Assistant => Tone::Assistant,
            Role::ToolResult | Role::BashExecution => Tone::Tool,
            _ => Tone::Summary,
        };
        self.add(tone, &message.role_name());
        for key in ["command", "output", "summary", "errorMessage"] {
            if let Some(text) = message.field(key).filter(|text| !text.is_empty()) {
                self.add(if key == "errorMessage" { Tone::Failure } else { Tone::Plain }, &text);
            }
        }
        for block in message.blocks() {
            match block {
                Block::Text(text) => self.add(Tone::Plain, &text),
                Block::Thinking(text) => self.add(Tone::Dim, &text),
                Block::Image { mime_type, .. } => self.add(Tone::Dim, &format!("[{mime_type}]")),
                Block::ToolCall { name, arguments, .. } => {
                    self.add(Tone::Tool, &format!("→ {name}"));
                    self.json(arguments.unwrap_or_default());
                }
                Block::Other(raw) => self.json(raw),
                _ => {}
            }
        }
    }

    fn title(&mut self, text: &str) {
        self.add(Tone::Title, text);
    }

    fn json(&mut self, raw: &[u8]) {
        // No more than a page can hold: an entry may be a gigabyte.
        let raw = raw.get(..MAX_LINES * MAX_CHARACTERS / 10).unwrap_or(raw);
        self.add(Tone::Dim, &pretty_json(&String::from_utf8_lossy(raw)));
    }

    fn is_full(&self) -> bool {
        self.lines.len() >= MAX_LINES
    }

    fn add(&mut self, tone: Tone, text: &str) {
        for line in text.split('\n') {
            let mut rest = line.strip_suffix('\r').unwrap_or(line);
            loop {
                if self.lines.len() == MAX_LINES {
                    self.lines.push(Line::new(Tone::Dim, "…"));
                }
                if self.is_full() {
                    return;
                }
                let end = rest.char_indices().nth(MAX_CHARACTERS).map_or(rest.len(), |(at, _)| at);
                let (piece, more) = rest.split_at_checked(end).unwrap_or((rest, ""));
                self.lines.push(Line::new(tone, piece));
                if more.is_empty() {
                    break;
                }
                rest = more;
            }
        }
    }
}

/// Two entries, one after the other.
pub fn side_by_side(left: &Entry, right: &Entry, width: usize) -> Page {
    let mut page = Page::of_entry(left).wrapped(width);
    page.lines.extend(Page::of_entry(right).wrapped(width).lines);
    page
}

#[cfg(test)]
mod tests {
    use super::*;
    use treering::{Message, Session};

    #[test]
    fn a_page_is_bounded_and_harmless() {
        let mut page = Page::default();
        page.add(Tone::Plain, &"x\n".repeat(2 * MAX_LINES));
        assert_eq!(page.lines.len(), MAX_LINES + 1);
        assert_eq!(page.lines.last().map(Line::text).as_deref(), Some("…"));
        let mut page = Page::default();
        page.add(Tone::Plain, &format!("{}\u{1b}", "é".repeat(MAX_CHARACTERS)));
        assert_eq!(page.lines[1].text(), "\\x1b");
    }

    #[test]
    fn a_context_says_what_each_message_takes() {
        let session = Session::in_memory("/p");
        session.append(Message::user("hello")).unwrap();
        let last = session.append(Message::assistant("acme", "m", "hi there")).unwrap();
        let page = Page::of_context(&session.context_at(Some(last.as_str())).unwrap());
        let text: Vec<String> = page.lines.iter().map(Line::text).collect();
        assert_eq!(text[0], "2 messages, about 4 tokens");
        assert!(
            text.iter().any(|line| line == "hi there")
                && text.iter().any(|line| line == "assistant"),
            "{text:?}"
        );
        let entry = Page::of_entry(&session.entry(last.as_str()).unwrap());
        assert!(entry.lines.iter().any(|line| line.text() == "hi there"));
    }
}
