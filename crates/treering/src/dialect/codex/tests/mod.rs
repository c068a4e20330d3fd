//! Shared code of the tests of this dialect.

mod corpus;
mod entries;
mod session;

use super::*;
use serde_json::{Value, json};

fn envelope(kind: &str, payload: &Value) -> Vec<u8> {
    let record = json!({"timestamp": "2026-01-05T09:00:20.226Z", "type": kind, "payload": payload});
    record.to_string().into_bytes()
}

fn item(payload: &Value) -> Vec<u8> {
    envelope("response_item", payload)
}

fn event(payload: &Value) -> Vec<u8> {
    envelope("event_msg", payload)
}

fn class(record: &[u8]) -> Class {
    let type_name = text(record, "type").unwrap_or_default();
    Codex.classify(&type_name, record)
}

/// Returns the native entry as JSON; checks on the way that it is what `classify` says.
fn native(record: &[u8]) -> Value {
    let Decoded { entry, .. } = Codex.decode(record);
    if let Class::Entry(kind, role) = class(record) {
        let shown = String::from_utf8_lossy(record);
        assert_eq!((entry.kind(), entry.role), (kind, role), "{shown}");
    }
    let json = [b"{", entry.fields.get(1..).unwrap_or_default(), b"}"].concat();
    let mut value: Value = serde_json::from_slice(&json).unwrap();
    value["type"] = json!(entry.type_name);
    value
}

fn message(record: &[u8]) -> Value {
    let mut entry = native(record);
    assert_eq!(entry["type"], "message");
    let mut message = entry["message"].take();
    assert_eq!(message["timestamp"], 1_767_603_620_226_i64);
    let fields = message.as_object_mut().unwrap();
    fields.remove("timestamp");
    if fields["role"] == "assistant" {
        assert_eq!(fields.remove("usage").unwrap()["totalTokens"], 0);
        assert_eq!(fields.remove("api").unwrap(), "codex");
    }
    message
}
