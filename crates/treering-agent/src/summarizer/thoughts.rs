//! Finds the thinking of a model behind an OpenAI-compatible server, in a field of its own or in
//! the text.
//!
//! Servers that know the model's format send its thinking beside the text, under one of several
//! names. Others pass on the text as the model writes it, with the thinking at its beginning
//! between `<think>` and `</think>`. Both reach the [`Sink`] as thinking. The signature of a block
//! is the name of its field, as pi records it; a block taken from the text has none.

use super::Sink;
use super::error::ModelError;
use serde_json::{Map, Value};

/// The names of the field, in the order in which they are tried.
const FIELDS: [&str; 4] = ["reasoning_content", "reasoning", "reasoning_text", "thinking"];
const OPEN: &str = "<think>";
const CLOSE: &str = "</think>";

/// Separates thinking from text as both arrive.
#[derive(Debug, Default)]
pub(super) struct Thoughts {
    /// The field in which the thinking so far arrived, until text follows.
    field: Option<&'static str>,
    state: TextState,
    /// Text that may turn out to be a tag.
    held: String,
}

/// The part of the text that is arriving.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum TextState {
    /// Only white space, or a part of the opening tag, has arrived.
    #[default]
    Start,
    /// The text between the tags.
    Thinking,
    /// White space after the closing tag.
    Between,
    Text,
}

impl Thoughts {
    /// Handles the members of a delta other than its text.
    pub(super) fn field(
        &mut self,
        members: &Map<String, Value>,
        sink: &mut Sink,
    ) -> Result<(), ModelError> {
        let text = |name: &'static str| Some((name, members.get(name)?.as_str()?));
        // Some servers send the same text under two names.
        let mut found = FIELDS.into_iter().filter_map(text);
        match found.find(|(_, text)| !text.is_empty()) {
            Some((name, text)) => {
                self.field = Some(name);
                sink.think(text)
            }
            None => Ok(()),
        }
    }

    /// Handles more of the text.
    pub(super) fn content(&mut self, text: &str, sink: &mut Sink) -> Result<(), ModelError> {
        if text.is_empty() {
            return Ok(());
        }
        self.end_field(sink);
        if self.state == TextState::Text {
            return sink.push(text);
        }
        self.held.push_str(text);
        let held = std::mem::take(&mut self.held);
        let mut rest = held.as_str();
        if self.state == TextState::Start {
            let begun = rest.trim_start();
            if OPEN.starts_with(begun) && begun.len() < OPEN.len() {
                self.held = held;
                return Ok(());
            }
            match begun.strip_prefix(OPEN) {
                Some(thinking) => (self.state, rest) = (TextState::Thinking, thinking),
                None => self.state = TextState::Text,
            }
        }
        if self.state == TextState::Thinking {
            match rest.split_once(CLOSE) {
                Some((thinking, text)) => {
                    sink.think(thinking)?;
                    sink.end_thinking(None);
                    (self.state, rest) = (TextState::Between, text);
                }
                None => {
                    let (thinking, mark) = rest.split_at(rest.len() - begun_mark(rest));
                    self.held = mark.to_owned();
                    return sink.think(thinking);
                }
            }
        }
        if self.state == TextState::Between {
            rest = rest.trim_start();
            if !rest.is_empty() {
                self.state = TextState::Text;
            }
        }
        sink.push(rest)
    }

    /// Passes on text that was held back, at the end of the answer.
    pub(super) fn finish(&mut self, sink: &mut Sink) -> Result<(), ModelError> {
        self.end_field(sink);
        let held = std::mem::take(&mut self.held);
        match self.state {
            TextState::Thinking => sink.think(&held),
            TextState::Start | TextState::Between | TextState::Text => sink.push(&held),
        }
    }

    fn end_field(&mut self, sink: &mut Sink) {
        if let Some(name) = self.field.take() {
            sink.end_thinking(Some(name));
        }
    }
}

/// Returns the length of the longest end of `text` that is a beginning of the closing tag.
fn begun_mark(text: &str) -> usize {
    (1..CLOSE.len()).rev().find(|&length| text.ends_with(&CLOSE[..length])).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::super::Delta;
    use super::*;
    use std::sync::{Arc, Mutex};

    /// The text and the thinking of an answer that arrives in these pieces.
    fn separated<'a>(pieces: impl IntoIterator<Item = &'a str>) -> (String, String) {
        let seen = Arc::new(Mutex::new((String::new(), String::new())));
        let sees = Arc::clone(&seen);
        let mut sink = Sink::new(Some(Box::new(move |delta| {
            let mut seen = sees.lock().unwrap();
            match delta {
                Delta::Text(text) => seen.0.push_str(text),
                Delta::Thinking(text) => seen.1.push_str(text),
                _ => {}
            }
        })));
        let mut thoughts = Thoughts::default();
        for piece in pieces {
            thoughts.content(piece, &mut sink).unwrap();
        }
        thoughts.finish(&mut sink).unwrap();
        let seen = seen.lock().unwrap().clone();
        assert_eq!(sink.finish(), seen.0.trim());
        seen
    }

    #[test]
    fn marks_are_found_however_the_text_is_cut() {
        for (whole, text, thinking) in [
            ("<think>Hm.</think>\n\nYes.", "Yes.", "Hm."),
            ("\n<think>a < b</thin></think> c </think>", "c </think>", "a < b</thin>"),
            ("<think>cut off</th", "", "cut off</th"),
            ("A <think>word</think>.", "A <think>word</think>.", ""),
            ("<thin ice", "<thin ice", ""),
            ("<", "<", ""),
            ("größer", "größer", ""),
        ] {
            let expected = (text.to_owned(), thinking.to_owned());
            assert_eq!(separated([whole]), expected, "{whole:?}");
            let letters: Vec<String> = whole.chars().map(String::from).collect();
            assert_eq!(separated(letters.iter().map(String::as_str)), expected, "{whole:?}");
        }
    }
}
