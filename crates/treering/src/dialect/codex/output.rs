//! Reads the output of a tool: text, blocks, or text that is JSON about a command.
//!
//! An output is a string or a list of blocks; some versions wrote objects. The string of a shell
//! command is JSON again (`{"output":…,"metadata":{"exit_code":…}}`) in older versions and a text
//! with the exit code in its first lines in newer ones. Codex stores no error flag, so only the
//! output shows whether a call failed.

use super::record::{inside, is_object, literal, members, quote};
use crate::entry::number;
use crate::json;
use std::borrow::Cow;

/// A tool's output in treering's format.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Output {
    /// The blocks of the output, as JSON.
    pub content: Vec<u8>,
    /// The other members of the output, as JSON.
    pub details: Option<Vec<u8>>,
    pub is_error: bool,
}

impl Output {
    pub(super) fn read(output: Option<&[u8]>) -> Self {
        match output {
            Some(value) if value.starts_with(b"\"") => Output::of_text(value),
            Some(value) if value.starts_with(b"[") => Output::plain(blocks(value)),
            Some(value) if is_object(value) => Output::of_object(value),
            _ => Output::plain(b"[]".to_vec()),
        }
    }

    fn plain(content: Vec<u8>) -> Self {
        Output { content, details: None, is_error: false }
    }

    fn of_text(value: &[u8]) -> Self {
        let text = json::string(value).unwrap_or_default();
        if let Some(command) = of_command(&text) {
            return command;
        }
        let is_error = exit_code(&text).is_some_and(|code| code != "0");
        Output { is_error, ..Output::plain(blocks(value)) }
    }

    fn of_object(value: &[u8]) -> Self {
        let [content, success] = members(value, ["content", "success"]);
        let is_error = success == Some(b"false");
        let is_content = |content: &&[u8]| content.starts_with(b"\"") || content.starts_with(b"[");
        let content = match (literal(value, "text"), content.filter(is_content)) {
            (Some(text), _) => blocks(text),
            (None, Some(content)) => blocks(content),
            (None, None) => blocks(&[b"[", value, b"]"].concat()),
        };
        Output { is_error, ..Output::plain(content) }
    }
}

/// Returns a text that is `{"output":"…","metadata":{…}}`.
fn of_command(text: &str) -> Option<Output> {
    let json = text.trim().as_bytes();
    if !is_object(json) || json::skip_value(json, 0) != Some(json.len()) {
        return None;
    }
    let [output, metadata] = members(json, ["output", "metadata"]);
    let output = output.filter(|output| output.starts_with(b"\""))?;
    let metadata = metadata.filter(|metadata| is_object(metadata))?;
    let code = json::get(metadata, "exit_code").and_then(number);
    Some(Output {
        content: blocks(output),
        details: Some(metadata.to_vec()),
        is_error: code.is_some_and(|code| code != 0.0),
    })
}

/// Returns the exit code in the lines above the output of a command, if the text has this form.
fn exit_code(text: &str) -> Option<&str> {
    let head = text.lines().take(6).take_while(|line| *line != "Output:");
    let mut codes = head.filter_map(|line| {
        line.strip_prefix("Exit code: ").or_else(|| line.strip_prefix("Process exited with code "))
    });
    let is_shell = text.starts_with("Exit code: ") || text.starts_with("Chunk ID: ");
    codes.next().filter(|code| is_shell && code.parse::<i64>().is_ok())
}

/// Returns some content (a string or blocks) as a list of treering's blocks.
pub(super) fn blocks(content: &[u8]) -> Vec<u8> {
    if content.starts_with(b"\"") {
        return [b"[{\"type\":\"text\",\"text\":", content, b"}]"].concat();
    }
    let blocks: Vec<Cow<'_, [u8]>> = json::elements(content).into_iter().map(block).collect();
    super::record::array(&blocks)
}

/// Converts a block to treering's format. A block without a counterpart is not changed.
fn block(raw: &[u8]) -> Cow<'_, [u8]> {
    let [kind, text, url] = members(raw, ["type", "text", "image_url"]);
    let kind = kind.and_then(json::string).unwrap_or_default();
    match &*kind {
        "input_text" | "output_text" | "text" | "summary_text" | "reasoning_text" => {
            let text = quote(inside(text));
            Cow::Owned([b"{\"type\":\"text\",\"text\":", &*text, b"}"].concat())
        }
        "input_image" => match url.and_then(image) {
            Some(image) => Cow::Owned(image),
            None => Cow::Borrowed(raw),
        },
        _ => Cow::Borrowed(raw),
    }
}

/// Returns an image block from a `data:` URL that holds base64.
fn image(url: &[u8]) -> Option<Vec<u8>> {
    let url = json::string(url)?;
    let (about, data) = url.strip_prefix("data:")?.split_once(',')?;
    let mime_type = about.strip_suffix(";base64")?.split(';').next()?;
    let image = super::record::ObjectBuilder::new().text("type", "image").text("data", data);
    Some(image.text("mimeType", mime_type).close())
}

/// Returns the texts of some content, in the escaped form of a string literal, joined by `between`.
pub(super) fn texts(content: &[u8], between: &[u8]) -> Vec<u8> {
    if content.starts_with(b"\"") {
        return inside(Some(content)).to_vec();
    }
    let texts: Vec<&[u8]> = json::elements(content)
        .into_iter()
        .map(|block| inside(literal(block, "text")))
        .filter(|text| !text.is_empty())
        .collect();
    texts.join(between)
}
