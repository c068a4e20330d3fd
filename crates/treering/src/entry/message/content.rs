//! The content of a message under construction.

use super::super::new::checked;
use crate::error::{Error, Result};
use crate::json;

/// Blocks of a message's content, rendered one after the other.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Content {
    blocks: Vec<u8>,
    pub(super) has_calls: bool,
}

impl Content {
    fn begin(&mut self, kind: &str) {
        if !self.blocks.is_empty() {
            self.blocks.push(b',');
        }
        self.blocks.extend_from_slice(b"{\"type\":");
        json::write_string(&mut self.blocks, kind);
    }

    fn raw(&mut self, key: &str, value: &[u8]) {
        self.blocks.push(b',');
        json::write_string(&mut self.blocks, key);
        self.blocks.push(b':');
        self.blocks.extend_from_slice(value);
    }

    fn text_member(&mut self, key: &str, text: &str) {
        let literal = json::quoted(text);
        self.raw(key, &literal);
    }

    fn end(&mut self) {
        self.blocks.push(b'}');
    }

    pub(super) fn text(&mut self, text: &str) {
        self.begin("text");
        self.text_member("text", text);
        self.end();
    }

    pub(super) fn image(&mut self, mime_type: &str, data: &str) {
        self.begin("image");
        self.text_member("data", data);
        self.text_member("mimeType", mime_type);
        self.end();
    }

    pub(super) fn thinking(&mut self, text: &str, signature: Option<&str>, is_redacted: bool) {
        self.begin("thinking");
        self.text_member("thinking", text);
        if let Some(signature) = signature {
            self.text_member("thinkingSignature", signature);
        }
        if is_redacted {
            self.raw("redacted", b"true");
        }
        self.end();
    }

    pub(super) fn tool_call(&mut self, id: &str, name: &str, arguments: &[u8]) -> Result<()> {
        let arguments = checked("arguments", arguments)?;
        if !arguments.starts_with(b"{") {
            let why = format!("the arguments of tool call {id:?} are not a JSON object");
            return Err(Error::InvalidEntry(why));
        }
        self.begin("toolCall");
        self.text_member("id", id);
        self.text_member("name", name);
        self.raw("arguments", arguments);
        self.end();
        self.has_calls = true;
        Ok(())
    }

    /// Adds a block from JSON.
    pub(super) fn block(&mut self, block: &[u8]) -> Result<()> {
        let block = checked("content", block)?;
        if json::get(block, "type").is_none_or(|kind| json::string(kind).is_none()) {
            return Err(Error::InvalidEntry("a content block is an object with a type".into()));
        }
        if !self.blocks.is_empty() {
            self.blocks.push(b',');
        }
        self.blocks.extend_from_slice(block);
        let kind = json::get(block, "type").and_then(json::string);
        self.has_calls |= kind.as_deref() == Some("toolCall");
        Ok(())
    }

    pub(super) fn to_json(&self) -> Vec<u8> {
        [b"[", &*self.blocks, b"]"].concat()
    }
}
