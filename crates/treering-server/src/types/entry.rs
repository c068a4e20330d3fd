//! Entries, trees and contexts.

use crate::schema::{Components, Schema, api_object};
use serde_json::{Value, json};

/// An entry, as the log has it.
#[derive(Debug)]
pub(crate) struct Entry;

impl Schema for Entry {
    fn schema(components: &mut Components) -> Value {
        let schema = json!({
            "type": "object",
            "description": "An entry in treering's format, whatever the dialect of the log. Its members depend on its type: docs/format.md lists them.",
            "properties": {
                "type": {"type": "string", "description": "Such as `message`, `compaction`, `label`, `leaf`; `damaged` for one that cannot be read."},
                "id": {"type": ["string", "integer"]},
                "parentId": {"type": ["string", "integer", "null"]},
            },
            "required": ["type"],
            "additionalProperties": true,
        });
        components.0.insert("Entry".to_owned(), schema);
        json!({"$ref": "#/components/schemas/Entry"})
    }
}

/// Entries to be appended.
#[derive(Debug)]
pub(crate) struct NewEntries;

impl Schema for NewEntries {
    fn schema(components: &mut Components) -> Value {
        let entry = json!({
            "type": "object",
            "description": "An entry to be appended. `id`, `parentId` and `timestamp` are decided by the server where they are missing; all other members are kept.",
            "properties": {
                "type": {"type": "string", "minLength": 1},
                "id": {"type": "string", "minLength": 1, "maxLength": 512},
                "parentId": {"type": ["string", "null"]},
                "timestamp": {"type": "string"},
                "message": {"type": "object"},
            },
            "required": ["type"],
            "additionalProperties": true,
        });
        components.0.insert("NewEntry".to_owned(), entry);
        json!({
            "type": "array",
            "items": {"$ref": "#/components/schemas/NewEntry"},
            "minItems": 1,
            "maxItems": MAX_ENTRIES,
        })
    }
}

/// The entries of one append.
pub(crate) const MAX_ENTRIES: usize = 10_000;

api_object! { answer
    /// Entries that were appended.
    Appended {
        /// The ids of the new entries.
        ids: Vec<String>,
        /// The leaf of the session after the append.
        leaf: Option<String>,
        /// The length of the log in bytes after the append.
        length: u64,
    }
}

api_object! { answer
    /// A page of entries, in the order of the log.
    EntryPage {
        /// The entries.
        entries: Vec<AnyEntry>,
        /// The last entry of this page, to be given as `after`; null if this is the last one.
        next: Option<String>,
    }
}

/// An entry in an answer.
#[derive(Debug, serde::Serialize)]
#[serde(transparent)]
pub(crate) struct AnyEntry(pub(crate) Box<serde_json::value::RawValue>);

impl Schema for AnyEntry {
    fn schema(components: &mut Components) -> Value {
        Entry::schema(components)
    }
}

api_object! { answer
    /// An entry in the tree.
    TreeRow {
        /// The id.
        id: String,
        /// The entry that it continues; null for a root.
        parent: Option<String>,
        /// The type.
        r#type: String,
        /// The role, if it is a message.
        role: Option<String>,
        /// The time.
        time: Option<String>,
        /// The label.
        label: Option<String>,
        /// One line about its content.
        preview: String,
        /// Whether it is on the path to the leaf.
        active: bool,
    }
}

api_object! { answer
    /// The tree of a session, in the order of its log.
    Tree {
        /// The leaf of the session.
        leaf: Option<String>,
        /// The entries.
        rows: Vec<TreeRow>,
    }
}

/// A context in treering's shape, or an agent's own.
#[derive(Debug)]
pub(crate) struct Context;

impl Schema for Context {
    fn schema(components: &mut Components) -> Value {
        let schema = json!({
            "type": "object",
            "description": "What the model sees. The views `treering` and `agent` have `messages` and the current settings; those of providers have `request`, the part of a request that comes from the context, and `repairs`, the changes that made it acceptable.",
            "properties": {
                "messages": {"type": "array", "items": {"type": "object"}},
                "thinkingLevel": {"type": "string"},
                "model": {"type": ["object", "null"]},
                "request": {"type": "object"},
                "repairs": {"type": "array", "items": {"type": "string"}},
            },
            "additionalProperties": true,
        });
        components.0.insert("Context".to_owned(), schema);
        json!({"$ref": "#/components/schemas/Context"})
    }
}
