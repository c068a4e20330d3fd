//! Messages as model providers know them: messages of roles that exist only in sessions become
//! texts.
//!
//! The wrapper texts are shared with other agents; models have seen them in earlier turns of the same
//! sessions. They must not change by a byte.

use super::kind::Role;
use super::notice::notice;
use super::view::{MessageView, number};
use crate::json;
use std::borrow::Cow;

const COMPACTION_BEFORE: &str = "The conversation history before this point was compacted into the following summary:\n\n<summary>\n";
const COMPACTION_AFTER: &str = "\n</summary>";
const BRANCH_BEFORE: &str =
    "The following is a summary of a branch that this conversation came back from:\n\n<summary>\n";
const BRANCH_AFTER: &str = "</summary>";

/// A text under construction, in the escaped form of a JSON string: pieces of the session are
/// copied unchanged, so that not even half a surrogate pair is lost.
#[derive(Default)]
pub(crate) struct WrappedText(Vec<u8>);

impl WrappedText {
    pub(crate) fn new(text: &str) -> Self {
        WrappedText::default().text(text)
    }

    pub(crate) fn text(self, text: &str) -> Self {
        let literal = json::quoted(text);
        self.raw(json::inside(&literal).unwrap_or_default())
    }

    pub(crate) fn raw(mut self, inside: &[u8]) -> Self {
        self.0.extend_from_slice(inside);
        self
    }

    /// Returns message content that consists of this text.
    pub(crate) fn block(&self) -> Vec<u8> {
        [b"[", &*self.text_block(), b"]"].concat()
    }

    /// Returns the content of a message: this text, then the blocks of a JSON array.
    fn blocks_with(&self, more: Option<&[u8]>) -> Vec<u8> {
        let mut blocks = vec![self.text_block()];
        blocks.extend(more.into_iter().flat_map(json::elements).map(<[u8]>::to_vec));
        [b"[", &*blocks.join(&b","[..]), b"]"].concat()
    }

    pub(crate) fn text_block(&self) -> Vec<u8> {
        [b"{\"type\":\"text\",\"text\":\"", &*self.0, b"\"}"].concat()
    }
}

/// Returns the inside of a string literal; empty if there is none.
fn inside(literal: Option<&[u8]>) -> &[u8] {
    literal.and_then(json::inside).unwrap_or_default()
}

/// Returns whether a flag is set, by JavaScript's rules.
fn is_true(value: Option<&[u8]>) -> bool {
    value.is_some_and(|value| !matches!(value, b"false" | b"null" | b"0" | b"\"\""))
}

/// Returns the content of a custom message as blocks.
fn content(view: MessageView<'_>) -> Vec<u8> {
    match view.get("content") {
        Some(literal) if literal.starts_with(b"\"") => {
            WrappedText::default().raw(inside(Some(literal))).block()
        }
        Some(blocks) => blocks.to_vec(),
        None => b"[]".to_vec(),
    }
}

/// Returns a shell command and its output as text.
fn bash(view: MessageView<'_>) -> WrappedText {
    let field = |key: &str| inside(view.get(key));
    let text = WrappedText::new("Ran `").raw(field("command")).text("`\n");
    let text = output(text, view, "```\n");
    let text = outcome(text, view, "\n\n(command cancelled)", "\n\nCommand exited with code ");
    match field("fullOutputPath") {
        path if !path.is_empty() && is_true(view.get("truncated")) => {
            text.text("\n\n[Output truncated. Full output: ").raw(path).text("]")
        }
        _ => text,
    }
}

/// Returns Python code and its output as text.
fn python(view: MessageView<'_>) -> WrappedText {
    let text =
        WrappedText::new("Ran Python:\n```python\n").raw(inside(view.get("code"))).text("\n```\n");
    let text = output(text, view, "Output:\n```\n");
    outcome(text, view, "\n\n(execution cancelled)", "\n\nExecution failed with code ")
}

fn output(text: WrappedText, view: MessageView<'_>, before: &str) -> WrappedText {
    match inside(view.get("output")) {
        b"" => text.text("(no output)"),
        output => text.text(before).raw(output).text("\n```"),
    }
}

fn outcome(text: WrappedText, view: MessageView<'_>, cancelled: &str, failed: &str) -> WrappedText {
    let exit_code = view.get("exitCode").filter(|code| *code != b"null");
    let text = if is_true(view.get("cancelled")) {
        text.text(cancelled)
    } else {
        failure(text, exit_code, failed)
    };
    text.text(&view.get("meta").map(notice).unwrap_or_default())
}

fn failure(text: WrappedText, exit_code: Option<&[u8]>, failed: &str) -> WrappedText {
    match exit_code.filter(|code| number(code) != Some(0.0)) {
        Some(code) => match json::inside(code) {
            Some(code) => text.text(failed).raw(code),
            // Usually a number. The quotes of any other value must not end the text.
            None => text.text(failed).text(&String::from_utf8_lossy(code)),
        },
        None => text,
    }
}

/// The files that a message mentions: their texts, and the images among them.
struct Mentions<'a> {
    texts: Vec<WrappedText>,
    images: Vec<&'a [u8]>,
}

impl<'a> Mentions<'a> {
    fn of(view: MessageView<'a>) -> Self {
        let mut mentions = Mentions { texts: Vec::new(), images: Vec::new() };
        for file in view.get("files").into_iter().flat_map(json::elements) {
            let [path, content, image] = json::get_all(file, ["path", "content", "image"]);
            let mut text = WrappedText::new("<file path=\"").raw(inside(path)).text("\">\n");
            if !inside(content).is_empty() {
                text = text.raw(inside(content)).text("\n");
            }
            mentions.texts.push(text.text("</file>"));
            mentions.images.extend(image.filter(|image| image.starts_with(b"{")));
        }
        mentions
    }

    fn content(&self) -> Vec<u8> {
        let texts: Vec<&[u8]> = self.texts.iter().map(|text| &*text.0).collect();
        let text = WrappedText(texts.join(&b"\\n"[..]));
        let images = [b"[", &*self.images.join(&b","[..]), b"]"].concat();
        text.blocks_with(Some(&images))
    }
}

/// Returns a message as a provider knows it, or `None` if the user excluded it from the context or
/// its role is unknown.
pub(crate) fn for_provider(message: &[u8]) -> Option<Cow<'_, [u8]>> {
    let view = MessageView::new(message);
    let summary = || inside(view.get("summary"));
    let mut role = "user";
    let content = match view.role() {
        Role::System | Role::User | Role::Assistant | Role::ToolResult => {
            return Some(Cow::Borrowed(message));
        }
        _ if is_excluded(view) => return None,
        Role::BashExecution => bash(view).blocks_with(view.get("images")),
        Role::CompactionSummary => {
            WrappedText::new(COMPACTION_BEFORE).raw(summary()).text(COMPACTION_AFTER).block()
        }
        Role::BranchSummary => {
            WrappedText::new(BRANCH_BEFORE).raw(summary()).text(BRANCH_AFTER).block()
        }
        Role::Custom => content(view),
        Role::Other => match &*view.role_name() {
            "developer" => return Some(Cow::Borrowed(message)),
            "hookMessage" => {
                let content = content(view);
                if !json::elements(&content).iter().any(|block| is_image(block)) {
                    role = "developer";
                }
                content
            }
            "pythonExecution" => python(view).block(),
            "fileMention" => {
                let mentions = Mentions::of(view);
                if mentions.images.is_empty() {
                    role = "developer";
                }
                mentions.content()
            }
            _ => return None,
        },
    };
    let mut json = [b"{\"role\":\"", role.as_bytes(), b"\",\"content\":", &*content].concat();
    if let Some(timestamp) = view.get("timestamp") {
        json.extend_from_slice(b",\"timestamp\":");
        json.extend_from_slice(timestamp);
    }
    json.push(b'}');
    Some(Cow::Owned(json))
}

/// Returns whether a block of content is an image.
pub(crate) fn is_image(block: &[u8]) -> bool {
    json::get(block, "type").and_then(json::string).as_deref() == Some("image")
}

/// Returns whether the user excluded the message, a command and its output, from the context.
pub(crate) fn is_excluded(view: MessageView<'_>) -> bool {
    let is_command = || matches!(&*view.role_name(), "bashExecution" | "pythonExecution");
    is_true(view.get("excludeFromContext")) && is_command()
}
