//! Collects the files that a conversation read and changed.

use crate::entry::MessageView;
use crate::json;
use std::collections::BTreeSet;

/// The files that tool calls named, by the kind of access.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct FileOps {
    /// Files that were read.
    pub read: BTreeSet<String>,
    /// Files that were written as a whole.
    pub written: BTreeSet<String>,
    /// Files that were edited, or that an earlier summary lists as modified.
    pub edited: BTreeSet<String>,
}

/// The file lists of a summary. Each list is sorted, and no file is in both.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct FileLists {
    /// Files that were read and not modified.
    pub read: Vec<String>,
    /// Files that were modified, including those that were also read.
    pub modified: Vec<String>,
}

impl FileOps {
    /// Adds the files that an earlier summary lists, unless a hook supplied that summary: the
    /// details of such a summary belong to the hook.
    pub(crate) fn carry_on(&mut self, summary: &[u8]) {
        let is_set = |value: &[u8]| !matches!(value, b"false" | b"null" | b"0" | b"\"\"");
        if json::get(summary, "fromHook").is_some_and(is_set) {
            return;
        }
        let Some(details) = json::get(summary, "details") else { return };
        let listed = |key| json::get(details, key).map(json::elements).unwrap_or_default();
        let texts = |files: Vec<&[u8]>| -> Vec<String> {
            files.into_iter().filter_map(json::string).map(|file| file.into_owned()).collect()
        };
        self.read.extend(texts(listed("readFiles")));
        self.edited.extend(texts(listed("modifiedFiles")));
    }

    /// Adds the files of the tool calls in an assistant message.
    pub(crate) fn take_answer(&mut self, message: &[u8]) {
        // Most answers call no such tool, and a search for the word is faster than reading the
        // message.
        if memchr::memmem::find(message, b"toolCall").is_none() && !message.contains(&b'\\') {
            return;
        }
        let content = MessageView::new(message).get("content").unwrap_or_default();
        for block in json::elements(content) {
            if json::get(block, "type").and_then(json::string).as_deref() == Some("toolCall") {
                self.take_call(block);
            }
        }
    }

    /// Adds the files of the calls that a tool made itself, as its result records them.
    pub(crate) fn take_result(&mut self, message: &[u8]) {
        if memchr::memmem::find(message, b"nestedCalls").is_none() {
            return;
        }
        let calls = json::get(message, "nestedCalls").and_then(|nested| json::get(nested, "calls"));
        for call in calls.map(json::elements).unwrap_or_default() {
            self.take_call(call);
        }
    }

    fn take_call(&mut self, call: &[u8]) {
        let path = json::get(call, "arguments").and_then(|arguments| json::get(arguments, "path"));
        let path = path.and_then(json::string).filter(|path| !path.is_empty());
        let name = json::get(call, "name").and_then(json::string);
        let (Some(path), Some(name)) = (path, name) else { return };
        let files = match &*name {
            "read" => &mut self.read,
            "write" => &mut self.written,
            "edit" => &mut self.edited,
            _ => return,
        };
        files.insert(path.into_owned());
    }

    /// Returns the two lists of a summary.
    pub fn lists(&self) -> FileLists {
        let modified: BTreeSet<&String> = self.written.union(&self.edited).collect();
        let read = self.read.iter().filter(|file| !modified.contains(file));
        FileLists { read: sorted(read), modified: sorted(modified.iter().copied()) }
    }
}

impl FileLists {
    /// Returns the lists as they are appended to a summary; empty if there is nothing to list.
    ///
    /// ```
    /// let mut lists = treering::compaction::FileLists::default();
    /// lists.read.push("a".to_owned());
    /// assert_eq!(lists.to_text(), "\n\n<read-files>\na\n</read-files>");
    /// ```
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        for (tag, files) in [("read-files", &self.read), ("modified-files", &self.modified)] {
            if !files.is_empty() {
                text += &format!("\n\n<{tag}>\n{}\n</{tag}>", files.join("\n"));
            }
        }
        text
    }

    /// Returns the lists as a summary entry's `details`.
    pub fn to_json(&self) -> Vec<u8> {
        let list = |files: &[String]| {
            let files: Vec<Vec<u8>> = files.iter().map(|file| json::quoted(file)).collect();
            files.join(&b","[..])
        };
        let (read, modified) = (list(&self.read), list(&self.modified));
        [b"{\"readFiles\":[", &*read, b"],\"modifiedFiles\":[", &*modified, b"]}"].concat()
    }
}

/// Sorts by UTF-16 code units, as JavaScript does.
fn sorted<'a>(files: impl Iterator<Item = &'a String>) -> Vec<String> {
    let mut files: Vec<String> = files.cloned().collect();
    files.sort_by(|a, b| a.encode_utf16().cmp(b.encode_utf16()));
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_name_files() {
        let mut files = FileOps::default();
        files.take_answer(
            br#"{"role":"assistant","content":[
            {"type":"toolCall","name":"read","arguments":{"path":"b"}},
            {"type":"toolCall","name":"read","arguments":{"path":"a"}},
            {"type":"toolCall","name":"write","arguments":{"path":"w"}},
            {"type":"toolCall","name":"edit","arguments":{"path":"a"}},
            {"type":"toolCall","name":"read","arguments":{"path":7}},
            {"type":"toolCall","name":"read","arguments":{"path":""}},
            {"type":"toolCall","name":"bash","arguments":{"path":"x"}},
            {"type":"toolCall","name":"read"},
            {"type":"text","name":"read","arguments":{"path":"y"}}]}"#,
        );
        files.take_result(br#"{"role":"toolResult","nestedCalls":{"calls":[{"name":"read","arguments":{"path":"n"}}]}}"#);
        let lists = files.lists();
        assert_eq!(lists.read, ["b", "n"]);
        assert_eq!(lists.modified, ["a", "w"]);
        assert_eq!(
            lists.to_text(),
            "\n\n<read-files>\nb\nn\n</read-files>\n\n<modified-files>\na\nw\n</modified-files>"
        );
        assert_eq!(lists.to_json(), br#"{"readFiles":["b","n"],"modifiedFiles":["a","w"]}"#);
    }

    #[test]
    fn earlier_lists_are_carried_on_unless_from_a_hook() {
        let carried = |hook: &str| {
            let mut files = FileOps::default();
            let summary =
                format!(r#"{{"details":{{"readFiles":["r",7],"modifiedFiles":["m"]}}{hook}}}"#);
            files.carry_on(summary.as_bytes());
            files.lists()
        };
        let lists = FileLists { read: vec!["r".into()], modified: vec!["m".into()] };
        assert_eq!(carried(""), lists);
        assert_eq!(carried(r#","fromHook":false"#), lists);
        assert_eq!(carried(r#","fromHook":true"#), FileLists::default());
    }

    #[test]
    fn the_order_is_that_of_utf_16() {
        let mut files = FileOps::default();
        files.read.extend(["\u{FF21}".to_owned(), "😀".to_owned()]);
        assert_eq!(files.lists().read, ["😀", "\u{FF21}"]);
    }
}
