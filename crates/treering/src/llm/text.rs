//! The texts that stand for messages which no provider knows.
//!
//! The wrapper texts are shared with other agents; models have seen them in earlier turns of the same
//! sessions. They must not change by a byte.

use crate::context::ContextMessage;
use crate::entry::{MessageView, number};
use crate::json;
use std::borrow::Cow;

pub(super) const COMPACTION_BEFORE: &str = "The conversation history before this point was compacted into the following summary:\n\n<summary>\n";
pub(super) const COMPACTION_AFTER: &str = "\n</summary>";
pub(super) const BRANCH_BEFORE: &str =
    "The following is a summary of a branch that this conversation came back from:\n\n<summary>\n";
pub(super) const BRANCH_AFTER: &str = "</summary>";

/// A text under construction, as the inside of a JSON string: pieces of the session are copied as
/// they stand, so that not even half a surrogate pair changes.
#[derive(Default)]
pub(super) struct Text(Vec<u8>);

impl Text {
    pub(super) fn new(text: &str) -> Self {
        Text::default().text(text)
    }

    pub(super) fn text(self, text: &str) -> Self {
        let literal = json::quoted(text);
        self.raw(json::inside(&literal).unwrap_or_default())
    }

    pub(super) fn raw(mut self, inside: &[u8]) -> Self {
        self.0.extend_from_slice(inside);
        self
    }

    /// Returns the content of a message that is this text.
    pub(super) fn block(&self) -> Vec<u8> {
        [b"[", &*self.text_block(), b"]"].concat()
    }

    /// Returns the content of a message: this text, then the blocks of a JSON array.
    pub(super) fn blocks_with(&self, more: Option<&[u8]>) -> Vec<u8> {
        let mut blocks = vec![self.text_block()];
        blocks.extend(more.into_iter().flat_map(json::elements).map(<[u8]>::to_vec));
        [b"[", &*blocks.join(&b","[..]), b"]"].concat()
    }

    fn text_block(&self) -> Vec<u8> {
        [b"{\"type\":\"text\",\"text\":\"", &*self.0, b"\"}"].concat()
    }
}

/// Returns the inside of a string literal; nothing if there is none.
pub(super) fn inside(literal: Option<&[u8]>) -> &[u8] {
    literal.and_then(json::inside).unwrap_or_default()
}

/// Returns whether a flag is set, by JavaScript's rules.
pub(super) fn is_true(value: Option<&[u8]>) -> bool {
    value.is_some_and(|value| !matches!(value, b"false" | b"null" | b"0" | b"\"\""))
}

/// Returns the content of a custom message as blocks.
pub(super) fn content(view: MessageView<'_>) -> Vec<u8> {
    match view.get("content") {
        Some(literal) if literal.starts_with(b"\"") => {
            Text::default().raw(inside(Some(literal))).block()
        }
        Some(blocks) => blocks.to_vec(),
        None => b"[]".to_vec(),
    }
}

/// Returns a shell command and its output as text.
pub(super) fn bash(view: MessageView<'_>) -> Text {
    let field = |key: &str| inside(view.get(key));
    let text = Text::new("Ran `").raw(field("command")).text("`\n");
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
pub(super) fn python(view: MessageView<'_>) -> Text {
    let text = Text::new("Ran Python:\n```python\n").raw(inside(view.get("code"))).text("\n```\n");
    let text = output(text, view, "Output:\n```\n");
    outcome(text, view, "\n\n(execution cancelled)", "\n\nExecution failed with code ")
}

fn output(text: Text, view: MessageView<'_>, before: &str) -> Text {
    match inside(view.get("output")) {
        b"" => text.text("(no output)"),
        output => text.text(before).raw(output).text("\n```"),
    }
}

fn outcome(text: Text, view: MessageView<'_>, cancelled: &str, failed: &str) -> Text {
    let exit_code = view.get("exitCode").filter(|code| *code != b"null");
    if is_true(view.get("cancelled")) {
        return text.text(cancelled);
    }
    match exit_code.filter(|code| number(code) != Some(0.0)) {
        Some(code) => text.text(failed).raw(json::inside(code).unwrap_or(code)),
        None => text,
    }
}

/// The files that a message mentions: their texts, and the images among them.
pub(super) struct Mentions<'a> {
    texts: Vec<Text>,
    pub(super) images: Vec<&'a [u8]>,
}

impl<'a> Mentions<'a> {
    pub(super) fn of(view: MessageView<'a>) -> Self {
        let mut mentions = Mentions { texts: Vec::new(), images: Vec::new() };
        for file in view.get("files").into_iter().flat_map(json::elements) {
            let [path, content, image] = json::get_all(file, ["path", "content", "image"]);
            let mut text = Text::new("<file path=\"").raw(inside(path)).text("\">\n");
            if !inside(content).is_empty() {
                text = text.raw(inside(content)).text("\n");
            }
            mentions.texts.push(text.text("</file>"));
            mentions.images.extend(image.filter(|image| image.starts_with(b"{")));
        }
        mentions
    }

    pub(super) fn content(&self) -> Vec<u8> {
        let texts: Vec<&[u8]> = self.texts.iter().map(|text| &*text.0).collect();
        let text = Text(texts.join(&b"\\n"[..]));
        let images = [b"[", &*self.images.join(&b","[..]), b"]"].concat();
        text.blocks_with(Some(&images))
    }
}

/// Splits a message that mentions both texts and images into one for each: texts go to the model as a
/// developer's message, which cannot hold images.
pub(super) fn split_mentions(message: &ContextMessage) -> Vec<Cow<'_, ContextMessage>> {
    let view = MessageView::new(&message.json);
    let (mut texts, mut images) = (Vec::new(), Vec::new());
    if view.role_name() == "fileMention" {
        for file in view.get("files").into_iter().flat_map(json::elements) {
            let is_image = json::get(file, "image").is_some_and(|image| image.starts_with(b"{"));
            if is_image { images.push(file) } else { texts.push(file) }
        }
    }
    if texts.is_empty() || images.is_empty() {
        return vec![Cow::Borrowed(message)];
    }
    let part = |files: Vec<&[u8]>| {
        let files = [b"[", &*files.join(&b","[..]), b"]"].concat();
        let json = json::with_member(&message.json, "files", &files);
        Cow::Owned(ContextMessage { entry: message.entry.clone(), json })
    };
    vec![part(texts), part(images)]
}
