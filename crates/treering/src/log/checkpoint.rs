//! Facts about the part of a log that a reader of its end does not read.

use crate::json;

/// The length of the longest level or id that is stored with a log.
const MAX_TEXT: usize = 512;

/// The thinking level in effect at an entry, for readers that read only the end of a log. The level
/// is often set once, by the first entries, and holds for everything below them, so that finding it
/// would require reading the whole log.
///
/// A writer has read the whole log, and an append happens only at the end that the writer knows. A
/// journal can therefore store the checkpoint with the append. The checkpoint is valid as long as
/// that append is the last one, because any later line may give an old entry another parent.
///
/// ```
/// use treering::storage::Checkpoint;
/// let checkpoint = Checkpoint::new(4096, "a1b2c3d4", Some("high"));
/// assert_eq!(Checkpoint::from_json(&checkpoint.to_json()), Some(checkpoint));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    length: u64,
    entry: String,
    thinking_level: Option<String>,
    is_whole: bool,
}

impl Checkpoint {
    /// Returns a checkpoint for a log of this length: the thinking level in effect at one of its
    /// entries.
    pub fn new(length: u64, entry: &str, thinking_level: Option<&str>) -> Self {
        let thinking_level = thinking_level.map(str::to_owned);
        Checkpoint { length, entry: entry.to_owned(), thinking_level, is_whole: false }
    }

    /// Sets whether the whole path to the end of the append counts, because nothing on it is a compaction.
    ///
    /// It tells a reader how much to read, not what to answer: a wrong hint costs time and nothing else.
    #[must_use]
    pub fn whole(self, is_whole: bool) -> Self {
        Checkpoint { is_whole, ..self }
    }

    /// Returns whether the whole path counts, as far as the writer knew.
    pub fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// Returns the length of the log that the checkpoint describes.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Returns the id of the entry.
    pub fn entry(&self) -> &str {
        &self.entry
    }

    /// Returns the thinking level in effect at the entry; `None` if none was set.
    pub fn thinking_level(&self) -> Option<&str> {
        self.thinking_level.as_deref()
    }

    /// Returns whether the checkpoint is short enough to be stored with a log.
    pub(crate) fn is_short(&self) -> bool {
        let level = self.thinking_level.as_ref().map_or(0, String::len);
        self.entry.len() <= MAX_TEXT && level <= MAX_TEXT
    }

    /// Returns the checkpoint as a JSON object.
    pub fn to_json(&self) -> Vec<u8> {
        let mut out = format!("{{\"length\":{},\"entry\":", self.length).into_bytes();
        json::write_string(&mut out, &self.entry);
        out.extend_from_slice(b",\"thinkingLevel\":");
        match &self.thinking_level {
            Some(level) => json::write_string(&mut out, level),
            None => out.extend_from_slice(b"null"),
        }
        if self.is_whole {
            out.extend_from_slice(b",\"whole\":true");
        }
        out.push(b'}');
        out
    }

    /// Reads a checkpoint that [`to_json`](Checkpoint::to_json) wrote; `None` for anything else.
    pub fn from_json(json: &[u8]) -> Option<Self> {
        let length = std::str::from_utf8(json::get(json, "length")?).ok()?.parse().ok()?;
        let entry = json::get(json, "entry").and_then(json::string)?.into_owned();
        let thinking_level = match json::get(json, "thinkingLevel")? {
            b"null" => None,
            level => Some(json::string(level)?.into_owned()),
        };
        let is_whole = json::get(json, "whole") == Some(b"true");
        Some(Checkpoint { length, entry, thinking_level, is_whole })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read() {
        for level in [None, Some("high"), Some("\u{0}\"\\ é")] {
            for is_whole in [false, true] {
                let checkpoint = Checkpoint::new(7, "an \"id\"", level).whole(is_whole);
                assert_eq!(Checkpoint::from_json(&checkpoint.to_json()), Some(checkpoint));
            }
        }
    }

    #[test]
    fn anything_else_is_nothing() {
        for text in [
            "",
            "{}",
            "{\"length\":-1,\"entry\":\"a\",\"thinkingLevel\":null}",
            "{\"length\":1,\"entry\":7,\"thinkingLevel\":null}",
            "{\"length\":1,\"entry\":\"a\"}",
            "{\"length\":1,\"entry\":\"a\",\"thinkingLevel\":[]}",
        ] {
            assert_eq!(Checkpoint::from_json(text.as_bytes()), None, "{text}");
        }
    }
}
