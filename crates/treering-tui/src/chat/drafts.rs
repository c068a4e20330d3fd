//! Texts that were written but not sent.
//!
//! The text in the editor may be replaced: by a message that is edited again, or by an earlier
//! message brought back with ↑. The replaced text becomes a draft and can be restored with a key
//! until it is sent.

/// The largest number of drafts; the oldest ones are dropped.
const MAX_DRAFTS: usize = 50;

/// Drafts that were put aside, the newest last.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Drafts(Vec<String>);

impl Drafts {
    /// Keeps a text, unless it is blank or kept already.
    pub fn put_aside(&mut self, text: &str) {
        if text.trim().is_empty() {
            return;
        }
        self.0.retain(|kept| kept != text);
        self.0.push(text.to_owned());
        self.drop_oldest();
    }

    /// Exchanges the text in the editor for the newest draft. The text becomes the oldest draft, so
    /// repeated exchanges go through all of them and end where they began.
    pub(crate) fn exchange(&mut self, text: &str) -> Option<String> {
        if self.0.is_empty() && text.trim().is_empty() {
            return None;
        }
        let next = self.0.pop().unwrap_or_default();
        if !text.trim().is_empty() {
            self.0.retain(|kept| kept != text);
            self.0.insert(0, text.to_owned());
        }
        Some(next)
    }

    /// Removes a text that is in the editor again or was sent.
    pub(crate) fn remove(&mut self, text: &str) {
        self.0.retain(|kept| kept != text);
    }

    /// Returns the drafts, the newest last.
    pub fn texts(&self) -> &[String] {
        &self.0
    }

    fn drop_oldest(&mut self) {
        let excess = self.0.len().saturating_sub(MAX_DRAFTS);
        self.0.drain(..excess);
    }
}

/// Everything unsent: the text in the editor and the drafts that were put aside.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UnsentText {
    /// The text in the editor.
    pub text: String,
    /// The drafts.
    pub drafts: Drafts,
}

impl UnsentText {
    /// Puts another text into the editor; the one that was there becomes a draft.
    pub fn replace(&mut self, text: String) {
        let replaced = std::mem::replace(&mut self.text, text);
        self.drafts.put_aside(&replaced);
        self.drafts.remove(&self.text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exchanging_goes_through_all_drafts_and_loses_none() {
        let mut drafts = Drafts::default();
        assert_eq!(drafts.exchange(" "), None);
        for text in ["a", "b", " ", "a"] {
            drafts.put_aside(text);
        }
        assert_eq!(drafts.texts(), ["b", "a"]);
        let mut editor = "c".to_owned();
        let mut seen = Vec::new();
        for _ in 0..3 {
            editor = drafts.exchange(&editor).unwrap();
            seen.push(editor.clone());
        }
        assert_eq!(seen, ["a", "b", "c"]);
        assert_eq!(drafts.exchange("").as_deref(), Some("a"));
    }

    #[test]
    fn a_replaced_text_becomes_a_draft_and_the_oldest_are_dropped() {
        let mut unsent = UnsentText::default();
        unsent.replace("one".into());
        assert_eq!(unsent.drafts.texts(), [""; 0]);
        unsent.replace("two".into());
        unsent.replace("one".into());
        assert_eq!((unsent.text.as_str(), unsent.drafts.texts()), ("one", &["two".to_owned()][..]));
        for at in 0..2 * MAX_DRAFTS {
            unsent.replace(at.to_string());
        }
        assert_eq!(unsent.drafts.texts().len(), MAX_DRAFTS);
        assert_eq!(unsent.drafts.texts().last().map(String::as_str), Some("98"));
    }
}
