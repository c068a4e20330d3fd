//! Entries as JSON for clients: one line of valid UTF-8.

use std::borrow::Cow;
use treering::Entry;

/// Returns an entry as one line of JSON. A damaged entry has the type `damaged` and its bytes as
/// `text`.
pub(crate) fn entry_json(entry: &Entry) -> Vec<u8> {
    if entry.is_damaged() {
        let damaged = serde_json::json!({
            "type": "damaged",
            "id": entry.id().as_str(),
            "parentId": entry.parent().map(treering::EntryId::as_str),
            "text": String::from_utf8_lossy(entry.raw()),
        });
        return damaged.to_string().into_bytes();
    }
    one_line(entry.raw())
}

/// Returns JSON in which bytes that are not UTF-8 are replaced, and line breaks, which can only be
/// between its tokens, are spaces.
pub(crate) fn one_line(json: &[u8]) -> Vec<u8> {
    let mut json = match String::from_utf8_lossy(json) {
        Cow::Borrowed(_) => json.to_vec(),
        Cow::Owned(text) => text.into_bytes(),
    };
    json.iter_mut().filter(|byte| matches!(byte, b'\n' | b'\r')).for_each(|byte| *byte = b' ');
    json
}
