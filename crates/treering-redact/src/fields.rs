//! The names of members, and their meaning for a redaction.

use std::sync::LazyLock;
use treering::internal::members;

/// Members of the session's own structure: ids and references, names, times. Only tokens that are
/// recognized by their format are replaced in them. The same text is then replaced in the same way
/// everywhere, so that references still match.
///
/// The names that only some agents use are those of their dialects.
pub(crate) static STRUCTURE: LazyLock<Names> = LazyLock::new(|| {
    Names::new(members::structural()).and(&[
        // treering's own format.
        "id",
        "parentId",
        "targetId",
        "fromId",
        "leafId",
        "firstKeptEntryId",
        "toolCallId",
        "responseId",
        "entry",
        "type",
        "role",
        "timestamp",
        "model",
        "modelId",
        "provider",
        "providerId",
        "api",
        "mimeType",
        "stopReason",
        "toolName",
        "customType",
        "thinkingLevel",
        "version",
        "hash",
        // The requests and answers of model providers.
        "call_id",
        "message_id",
        "tool_call_id",
        "tool_use_id",
        "request_id",
        "response_id",
        "mime_type",
        "media_type",
        "stop_reason",
    ])
});

/// The names that records have for their ids.
pub(crate) static IDS: LazyLock<Names> = LazyLock::new(|| Names::new(members::ids()));

/// The types of records whose id is the session's.
pub(crate) static HEADERS: LazyLock<Names> = LazyLock::new(|| Names::new(members::headers()));

/// Members whose value is data of a user or a tool.
pub(crate) static FREE: LazyLock<Names> = LazyLock::new(|| {
    Names::new(members::data()).and(&[
        "arguments",
        "input",
        "parameters",
        "details",
        "data",
        "metadata",
        "meta",
        "output",
        "result",
    ])
});

/// A set of names.
pub(crate) struct Names(Vec<&'static [u8]>);

impl Names {
    fn new(names: Vec<&'static str>) -> Self {
        let mut names: Vec<_> = names.into_iter().map(str::as_bytes).collect();
        names.sort_unstable();
        Names(names)
    }

    fn and(mut self, more: &[&'static str]) -> Self {
        self.0.extend(more.iter().map(|name| name.as_bytes()));
        self.0.sort_unstable();
        self
    }

    pub(crate) fn has(&self, name: &[u8]) -> bool {
        self.0.binary_search(&name).is_ok()
    }
}

/// Members that a provider derived from the text beside them. A provider refuses them once the text
/// has changed.
pub(crate) const SIGNATURES: &[&[u8]] = &[
    b"thinkingSignature",
    b"thoughtSignature",
    b"thought_signature",
    b"textSignature",
    b"signature",
    b"encrypted_content",
];

/// Returns whether a string is binary data, such as that of an image.
pub(crate) fn is_blob(key: &[u8], text: &[u8]) -> bool {
    let is_base64 =
        |text: &[u8]| text.iter().all(|byte| byte.is_ascii_alphanumeric() || b"+/=".contains(byte));
    let url = || {
        let comma = memchr::memmem::find(text.get(..text.len().min(128))?, b";base64,")?;
        text.get(comma + 8..)
    };
    match key {
        b"data" => text.len() >= 64 && is_base64(text),
        _ => text.starts_with(b"data:") && url().is_some_and(is_base64),
    }
}
