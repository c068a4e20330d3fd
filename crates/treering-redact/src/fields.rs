//! The names of members, and their meaning for a redaction.

/// Members of the session's own structure: ids and references, names, times. Only tokens that are
/// recognized by their format are replaced in them. The same text is then replaced in the same way
/// everywhere, so that references still match.
pub(crate) const STRUCTURE: &[&[u8]] = &[
    b"id",
    b"uuid",
    b"parentId",
    b"parentUuid",
    b"parent_id",
    b"parent_uuid",
    b"logicalParentUuid",
    b"targetId",
    b"target_id",
    b"targetUuid",
    b"fromId",
    b"from_id",
    b"fromUuid",
    b"leafUuid",
    b"leafId",
    b"firstKeptEntryId",
    b"firstKeptEntryUuid",
    b"first_kept_entry_id",
    b"sessionId",
    b"session_id",
    b"messageId",
    b"message_id",
    b"toolCallId",
    b"tool_call_id",
    b"callId",
    b"call_id",
    b"tool_use_id",
    b"toolUseID",
    b"parentToolUseID",
    b"sourceToolUseID",
    b"sourceToolAssistantUUID",
    b"requestId",
    b"request_id",
    b"responseId",
    b"response_id",
    b"agentId",
    b"promptId",
    b"turn_id",
    b"entry",
    b"type",
    b"role",
    b"timestamp",
    b"updatedAt",
    b"model",
    b"modelId",
    b"model_id",
    b"provider",
    b"providerId",
    b"provider_id",
    b"api",
    b"mimeType",
    b"mime_type",
    b"media_type",
    b"stopReason",
    b"stop_reason",
    b"toolName",
    b"customType",
    b"thinkingLevel",
    b"thinking_level",
    b"version",
    b"pad",
    b"hash",
    b"commit_hash",
];

/// The types of records whose id is the session's.
pub(crate) const HEADERS: &[&[u8]] = &[b"session", b"header", b"session_meta"];

/// Members whose value is data of a user or a tool.
pub(crate) const FREE: &[&[u8]] = &[
    b"arguments",
    b"args",
    b"input",
    b"parameters",
    b"details",
    b"data",
    b"toolUseResult",
    b"metadata",
    b"meta",
    b"output",
    b"result",
];

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
