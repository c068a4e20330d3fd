//! The objects of the API, by topic. This module has names, problems, and shared parts.

mod branch;
mod entry;
mod log;
mod report;
mod session;
mod turn;

pub(crate) use branch::*;
pub(crate) use entry::*;
pub(crate) use log::*;
pub(crate) use report::*;
pub(crate) use session::*;
pub(crate) use turn::*;

use crate::operation::session_id_schema;
use crate::problem::Code;
use crate::schema::{Components, Schema, api_object};
use serde_json::{Value, json};
use treering::Dialect;

/// The name of a dialect.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DialectName(pub(crate) Dialect);

impl serde::Serialize for DialectName {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0.name())
    }
}

impl<'de> serde::Deserialize<'de> for DialectName {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        name.parse().map(DialectName).map_err(serde::de::Error::custom)
    }
}

impl Schema for DialectName {
    fn schema(_: &mut Components) -> Value {
        let names: Vec<&str> = Dialect::ALL.iter().map(|dialect| dialect.name()).collect();
        json!({"type": "string", "enum": names})
    }
}

/// The id of a new session.
#[derive(Debug, Clone, serde::Deserialize)]
#[serde(transparent)]
pub(crate) struct NewId(pub(crate) String);

impl Schema for NewId {
    fn schema(_: &mut Components) -> Value {
        session_id_schema()
    }
}

/// The id of an entry.
#[derive(Debug, Clone, serde::Deserialize)]
#[serde(transparent)]
pub(crate) struct EntryName(pub(crate) String);

impl Schema for EntryName {
    fn schema(_: &mut Components) -> Value {
        json!({"type": "string", "minLength": 1, "maxLength": 512})
    }
}

/// Text without control characters, such as a path or a name.
#[derive(Debug, Clone, serde::Deserialize)]
#[serde(transparent)]
pub(crate) struct ShortText(pub(crate) String);

impl Schema for ShortText {
    fn schema(_: &mut Components) -> Value {
        json!({"type": "string", "maxLength": 4096})
    }
}

api_object! { answer
    /// Whether the server is well.
    Health {
        /// `ok`.
        status: String,
    }
}

/// A problem.
#[derive(Debug)]
pub(crate) struct ProblemBody;

impl Schema for ProblemBody {
    fn schema(components: &mut Components) -> Value {
        let codes: Vec<&str> = Code::ALL.iter().map(|code| code.name()).collect();
        let schema = json!({
            "type": "object",
            "description": "A problem (RFC 9457). `code` is stable; some codes have additional members.",
            "properties": {
                "type": {"type": "string", "description": "A URN that ends with the code."},
                "title": {"type": "string"},
                "status": {"type": "integer"},
                "code": {"type": "string", "enum": codes},
                "detail": {"type": "string", "description": "What happened, for people."},
                "length": {"type": "integer", "description": "With `moved`: the length of the log."},
                "leaf": {"type": ["string", "null"], "description": "With `leaf_moved`: the leaf of the session."},
                "limit": {"type": "integer", "description": "With `body_too_large`: the number of bytes."},
            },
            "required": ["type", "title", "status", "code", "detail"],
        });
        components.0.insert("Problem".to_owned(), schema);
        json!({"$ref": "#/components/schemas/Problem"})
    }
}

/// Text of any kind.
#[derive(Debug)]
pub(crate) struct Text;

impl Schema for Text {
    fn schema(_: &mut Components) -> Value {
        json!({"type": "string"})
    }
}

/// Any JSON object, such as the OpenAPI document.
impl Schema for Value {
    fn schema(_: &mut Components) -> Value {
        json!({"type": "object"})
    }
}
