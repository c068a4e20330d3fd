//! Finds the files that an entry read or modified, and whether `file:` matches one of them.
//!
//! Tools name files in certain arguments; patches name them in certain lines; summaries list them.
//! A file matches by its whole path or by the end of it.

use crate::fragment::Fragment;
use crate::term::Case;
use treering::entry::{Block, MessageView, strings};
use treering::{Entry, Kind};

/// The path of a `file:` filter.
#[derive(Debug, Clone)]
pub(crate) struct FileFilter {
    text: String,
    case: Case,
    pub fragment: Option<Fragment>,
}

impl FileFilter {
    pub(crate) fn new(text: &str, case: Case) -> Self {
        let text = text.strip_prefix("./").unwrap_or(text).trim_end_matches('/');
        let fragment = Fragment::best(text, case);
        FileFilter { text: folded(text, case), case, fragment }
    }

    #[cfg(test)]
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Returns whether `path`, named in a session of the project `cwd`, matches: one is the end of
    /// the other, by whole components.
    pub(crate) fn is(&self, path: &str, cwd: &str) -> bool {
        let path = path.strip_prefix("./").unwrap_or(path);
        let whole = match path.starts_with('/') {
            true => path.to_owned(),
            false => format!("{}/{path}", cwd.trim_end_matches('/')),
        };
        let whole = folded(&whole, self.case);
        let before = whole.strip_suffix(self.text.as_str());
        before.is_some_and(|before| before.is_empty() || before.ends_with('/'))
    }
}

fn folded(text: &str, case: Case) -> String {
    match case {
        Case::Ignored => text.to_lowercase(),
        Case::Respected => text.to_owned(),
    }
}

/// The arguments in which tools name a file.
const PATHS: [&str; 7] =
    ["path", "file_path", "filePath", "notebook_path", "filename", "file", "target_file"];

/// The lines in which a patch names a file.
const PATCHED: [&str; 4] =
    ["*** Update File: ", "*** Add File: ", "*** Delete File: ", "*** Move to: "];

/// Returns the files that were read or modified according to an entry.
pub(crate) fn files(entry: &Entry) -> Vec<String> {
    let mut found = Vec::new();
    if let Some(message) = entry.message() {
        add_calls(message, &mut found);
    }
    entry.more_messages().for_each(|message| add_calls(message, &mut found));
    if matches!(entry.kind(), Kind::Compaction | Kind::BranchSummary)
        && let Some(details) = entry.get("details")
    {
        let details = MessageView::new(details);
        for key in ["readFiles", "modifiedFiles"] {
            let listed = details.get(key).into_iter().flat_map(strings);
            found.extend(listed.map(|file| file.into_owned()));
        }
    }
    found
}

fn add_calls(message: MessageView<'_>, found: &mut Vec<String>) {
    for block in message.blocks() {
        let Block::ToolCall { arguments: Some(arguments), .. } = block else { continue };
        let view = MessageView::new(arguments);
        found.extend(PATHS.iter().filter_map(|key| view.field(key)).map(|path| path.into_owned()));
        for text in strings(arguments).filter(|text| text.contains("*** ")) {
            let named = |line: &str| {
                PATCHED.iter().find_map(|start| line.strip_prefix(start)).map(str::to_owned)
            };
            found.extend(text.lines().filter_map(named));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_matched_by_the_end_of_its_path() {
        let is = |wanted: &str, path: &str| FileFilter::new(wanted, Case::Ignored).is(path, "/p");
        assert!(is("main.rs", "src/main.rs"));
        assert!(is("src/main.rs", "/p/src/Main.rs"));
        assert!(is("/p/src/main.rs", "src/main.rs"));
        assert!(is("./main.rs", "./main.rs"));
        assert!(!is("ain.rs", "src/main.rs"));
        assert!(!is("/main.rs", "src/main.rs"));
        assert!(!is("src/main.rs", "main.rs"));
        assert!(!FileFilter::new("A.rs", Case::Respected).is("a.rs", "/p"));
    }
}
