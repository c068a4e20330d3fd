//! Completes commands and their arguments.

use super::commands::{ArgumentKind, TABLE};
use treering_agent::ThinkingLevel;

/// The known values of arguments.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CompletionSources {
    /// The entries that can be named: the text to type, and a description.
    pub places: Vec<(String, String)>,
    /// The names of models.
    pub models: Vec<String>,
}

/// The completions of the word at the cursor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Completion {
    /// The beginning of the word.
    pub start: usize,
    /// The completions with their descriptions.
    pub candidates: Vec<(String, String)>,
    /// The completion that is in the editor.
    pub at: Option<usize>,
}

/// Returns the completions of the word before the cursor; `before` is the text before the cursor.
pub(crate) fn complete(before: &str, names: &CompletionSources) -> Option<Completion> {
    let rest = before.strip_prefix('/').filter(|rest| !rest.contains('\n'))?;
    let start = before.rfind(char::is_whitespace).map_or(0, |at| at + 1);
    let word = before.get(start..)?;
    let candidates: Vec<(String, String)> = match rest.split_once(' ') {
        None => {
            TABLE.iter().map(|spec| (format!("/{}", spec.name), spec.about.to_owned())).collect()
        }
        Some((name, arguments)) => {
            let spec = TABLE.iter().find(|spec| spec.name == name)?;
            let is_first = !arguments.trim_start().contains(' ');
            match spec.takes {
                ArgumentKind::Place if is_first => names.places.clone(),
                ArgumentKind::Level if is_first => unexplained(ThinkingLevel::LEVELS),
                ArgumentKind::Model if is_first => unexplained(&names.models),
                _ => return None,
            }
        }
    };
    let fits = |candidate: &(String, String)| candidate.0.starts_with(word);
    let candidates: Vec<_> = candidates.into_iter().filter(fits).collect();
    (!candidates.is_empty()).then_some(Completion { start, candidates, at: None })
}

fn unexplained<T: AsRef<str>>(words: impl IntoIterator<Item = T>) -> Vec<(String, String)> {
    words.into_iter().map(|word| (word.as_ref().to_owned(), String::new())).collect()
}

impl Completion {
    /// Returns the next completion, or the common prefix of all completions if it is longer than
    /// the word.
    pub(crate) fn next(&mut self, word: &str) -> Option<String> {
        let common = self.common();
        if self.at.is_none() && common.len() > word.len() && self.candidates.len() > 1 {
            return Some(common);
        }
        let at = self.at.map_or(0, |at| (at + 1) % self.candidates.len().max(1));
        self.at = Some(at);
        let (candidate, _) = self.candidates.get(at)?;
        let is_only = self.candidates.len() == 1;
        Some(if is_only { format!("{candidate} ") } else { candidate.clone() })
    }

    /// Returns the previous completion.
    pub(crate) fn previous(&mut self, _: &str) -> Option<String> {
        let last = self.candidates.len().checked_sub(1)?;
        let at = self.at.map_or(last, |at| at.checked_sub(1).unwrap_or(last));
        self.at = Some(at);
        self.candidates.get(at).map(|(candidate, _)| candidate.clone())
    }

    fn common(&self) -> String {
        let mut common = self.candidates.first().map_or("", |(text, _)| text);
        for (text, _) in &self.candidates {
            let same = common.char_indices().zip(text.chars()).find(|((_, a), b)| a != b);
            let end = same.map_or(common.len().min(text.len()), |((at, _), _)| at);
            common = common.get(..end).unwrap_or_default();
        }
        common.to_owned()
    }
}
