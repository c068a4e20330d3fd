//! The messages that were sent before.

/// The earlier messages, oldest first, and the one that is in the editor.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct InputHistory {
    past: Vec<String>,
    /// The message that is in the editor.
    at: Option<usize>,
    /// The text that was in the editor before an earlier message replaced it.
    draft: String,
}

impl InputHistory {
    /// Returns the text that was in the editor before an earlier one was brought back.
    pub(crate) fn draft(&self) -> Option<&str> {
        self.at.map(|_| self.draft.as_str())
    }

    /// Returns whether the text in the editor is an earlier message that was changed.
    pub(crate) fn is_edited(&self, current: &str) -> bool {
        self.at.is_some_and(|at| self.past.get(at).is_none_or(|past| past != current))
    }

    /// Replaces the messages.
    pub(crate) fn replace(&mut self, past: Vec<String>) {
        *self = InputHistory { past, ..InputHistory::default() };
    }

    /// Leaves the history; the text in the editor becomes new text.
    pub(crate) fn leave(&mut self) {
        self.at = None;
        self.draft.clear();
    }

    /// Adds a message.
    pub(crate) fn add(&mut self, text: &str) {
        self.at = None;
        if self.past.last().is_none_or(|last| last != text) && !text.trim().is_empty() {
            self.past.push(text.to_owned());
        }
    }

    /// Returns the previous message, and remembers the text in the editor.
    pub(crate) fn back(&mut self, current: &str) -> Option<&str> {
        let at = match self.at {
            Some(at) => at.checked_sub(1)?,
            None => {
                let last = self.past.len().checked_sub(1)?;
                self.draft = current.to_owned();
                last
            }
        };
        self.at = Some(at);
        self.past.get(at).map(String::as_str)
    }

    /// Returns the next message; after the newest, the text that was in the editor.
    pub(crate) fn forward(&mut self) -> Option<&str> {
        let at = self.at? + 1;
        self.at = Some(at).filter(|at| *at < self.past.len());
        match self.at {
            Some(at) => self.past.get(at).map(String::as_str),
            None => Some(&self.draft),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn walking_through_the_history_ends_at_the_draft() {
        let mut history = InputHistory::default();
        assert_eq!(history.back("x"), None);
        history.replace(vec!["a".into()]);
        history.add("b");
        history.add("b");
        history.add(" ");
        assert_eq!(history.forward(), None);
        assert_eq!(history.back("draft"), Some("b"));
        assert_eq!(history.back("b"), Some("a"));
        assert_eq!(history.back("a"), None);
        assert_eq!(history.forward(), Some("b"));
        assert_eq!(history.forward(), Some("draft"));
        assert_eq!(history.forward(), None);
    }
}
